"""A client to be killed: ``python client.py FOLDER SEED ENGINE`` tells of its steps in a folder."""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paths  # noqa: F401
from executors import processes
from fits import draw, quick_limits


def main(folder, seed, engine):
    """Fit, slowly."""
    quick_limits()
    fit = draw(random.Random(seed), folder, stored=True)

    def callback(done, total, best):
        (folder / f"step-{done}").touch()
        time.sleep(0.05)

    if engine.startswith("tcp"):
        from distributed import Client

        with Client(engine) as client:
            fit.run(executor=client, callback=callback)
    else:
        with processes() if engine == "processes" else ThreadPoolExecutor(2) as pool:
            fit.run(executor=pool, callback=callback)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
