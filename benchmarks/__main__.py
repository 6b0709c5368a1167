"""Run benchmarks by name, or all of them, and print a Markdown page.

The page names the command and the machine; its numbers come from one run.
"""

import argparse
import inspect
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks import core, distributed, ensembles, first_call, peers, scores, waiting
from benchmarks.report import table

MODULES = (first_call, waiting, core, scores, ensembles, peers, distributed)
PARTS = {part.__name__: part for module in MODULES for part in module.PARTS}


def processor() -> str:
    """Return the name of the processor, if the system provides it."""
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of: {', '.join(PARTS)} (default: all)")
    parser.add_argument(
        "--pypruning",
        metavar="DIR",
        type=Path,
        help="a copy of PyPruning to compare orderings with",
    )
    parser.add_argument(
        "--autogluon",
        metavar="DIR",
        type=Path,
        help="a copy of AutoGluon's repository to compare ensemble selection with",
    )
    options = parser.parse_args()
    peers.PYPRUNING, peers.AUTOGLUON = options.pypruning, options.autogluon
    chosen = options.parts or list(PARTS)
    unknown = sorted(set(chosen) - set(PARTS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}. Pass any of: {', '.join(PARTS)}")
    peer_options = [f"--{name} DIR" for name in ("pypruning", "autogluon") if vars(options)[name]]
    command = " ".join(["python -m benchmarks", *options.parts, *peer_options])
    machine = f"{platform.python_version()} on {os.cpu_count()} cores of {processor()}"
    print(_HEAD.format(command=command, machine=machine))
    for name in chosen:
        title = _TITLES.get(name, name.replace("_", " ").capitalize())
        about = inspect.getdoc(PARTS[name])
        print(f"\n## {title}\n\n{about}\n", flush=True)
        start, start_processor = time.perf_counter(), _processor_seconds()
        print(table(PARTS[name]()), flush=True)
        spent = time.perf_counter() - start, _processor_seconds() - start_processor
        print("done: {}, {:.0f} s, {:.0f} s of the processor".format(name, *spent), file=sys.stderr)


_TITLES = {"auc": "AUC", "autogluon": "AutoGluon", "pypruning": "PyPruning"}
_HEAD = """# Benchmarks

Created by `{command}` with Python {machine}.
Results are ratios, except limits with a unit. Ratios come from one run in which both sides are
measured alternately. Other processes may use the same cores, so ratios are more reliable than
times. n is the number of members, d the number of samples, and k the number of selected members."""


def _processor_seconds() -> float:
    """Return the processor time of this process and of the processes that it has waited for."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
