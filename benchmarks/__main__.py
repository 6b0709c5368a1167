"""Run benchmarks by name, or all, and print a Markdown page.

The page says how it was made; figures are of one run on the machine named in it.
"""

import argparse
import inspect
import os
import platform
import sys

from benchmarks import core, distributed, ensembles, first_call, scores
from benchmarks.report import table

MODULES = (first_call, core, scores, ensembles, distributed)
PARTS = {part.__name__: part for module in MODULES for part in module.PARTS}


def processor() -> str:
    """Name the processor, where the system tells."""
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of: {', '.join(PARTS)} (default: all)")
    chosen = parser.parse_args().parts or list(PARTS)
    unknown = sorted(set(chosen) - set(PARTS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}. Choose from: {', '.join(PARTS)}")
    command = " ".join(["python -m benchmarks", *(chosen if len(chosen) < len(PARTS) else [])])
    print("# Benchmarks\n")
    print(f"Made by `{command}` (`make benchmarks` runs it all) with Python", end=" ")
    print(f"{platform.python_version()} on {os.cpu_count()} cores of {processor()}.")
    print("Ratios are of one run, both sides measured in turn; the cores may be shared, so")
    print("seconds are worth less than ratios. n members, d samples, k members kept.")
    for name in chosen:
        title, about = name.replace("_", " ").capitalize(), inspect.getdoc(PARTS[name])
        print(f"\n## {title}\n\n{about}\n", flush=True)
        print(table(PARTS[name]()), flush=True)
        print(f"done: {name}", file=sys.stderr)


if __name__ == "__main__":
    main()
