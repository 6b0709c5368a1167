"""Run benchmarks by name, or all of them, and print a Markdown page.

The page names the command and the machine; its numbers come from one run.
"""

import argparse
import inspect
import os
import platform
import sys
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
    command = " ".join(["python -m benchmarks", *(chosen if len(chosen) < len(PARTS) else [])])
    print("# Benchmarks\n")
    print(f"Created by `{command}` (`make benchmarks` runs everything) with Python", end=" ")
    print(f"{platform.python_version()} on {os.cpu_count()} cores of {processor()}.")
    print(
        "Ratios come from one run in which both sides are measured alternately. Other processes may"
    )
    print(
        "use the same cores, so ratios are more reliable than times. n is the number of members, d"
    )
    print("the number of samples, and k the number of selected members.")
    for name in chosen:
        title, about = name.replace("_", " ").capitalize(), inspect.getdoc(PARTS[name])
        print(f"\n## {title}\n\n{about}\n", flush=True)
        print(table(PARTS[name]()), flush=True)
        print(f"done: {name}", file=sys.stderr)


if __name__ == "__main__":
    main()
