"""Measure how much TDAS DOMEP loses against COMEP, on bagged trees for each data set."""

import argparse
import statistics
import warnings
from pathlib import Path

from secateurs import COMEP, DOMEP
from secateurs.paper import datasets
from secateurs.paper._bagging_protocol import cast_votes
from secateurs.paper._plan import Bag


def losses(name: str, folder: Path, n_members: int, n_keep: int, n_seeds: int) -> list[float]:
    """Return the loss for each random partition of the members, relative to COMEP's value."""
    bag = Bag(name, datasets.DATASETS[name].task, "dt", n_members, 0, 0)
    votes = cast_votes(bag, folder).validation
    full = COMEP(n_keep).fit(votes).objective_
    return [
        1 - DOMEP(n_keep, random_state=seed).fit(votes).objective_ / full for seed in range(n_seeds)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loss", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--keep", type=int, default=20)
    parser.add_argument(
        "--seeds", type=int, default=10, help="random partitions of the members per data set"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data set | mean loss | worst |\n| --- | --- | --- |")
    every: list[float] = []
    for entry in datasets.status(options.data):
        if entry["source"] != "folder":
            continue
        lost = losses(entry["name"], options.data, options.members, options.keep, options.seeds)
        every += lost
        line = [entry["name"], f"{statistics.mean(lost):.3%}", f"{max(lost):.3%}"]
        print("| " + " | ".join(line) + " |", flush=True)
    print(f"| all | {statistics.mean(every):.3%} | {max(every):.3%} |")


if __name__ == "__main__":
    main()
