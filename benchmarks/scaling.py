"""Estimate the cost of pruning 10⁶ members on 10⁷ samples from measured constants.

Prints the tables of docs/scaling.md.
"""

import argparse
import math
import statistics
import time
import zlib
from dataclasses import dataclass

import numpy as np

from benchmarks.distributed import dask_workers, made_votes
from benchmarks.report import seconds
from secateurs.objectives import TDAS
from secateurs.outputs.votes import Votes

K = 100
SPREAD_ROWS = 32  # additional rows of distances of the start "spread"


@dataclass(frozen=True)
class Constants:
    """The measured constants, on one core."""

    pair_sample: dict[int, float]  # seconds to count one pair of members on one sample, by classes
    score: dict[int, float]  # seconds from a table of counts to a distance, by classes
    checksum: float  # seconds per byte
    task: float  # seconds of Dask's scheduler per task
    round_trip: float  # seconds from sending a task to receiving its result


@dataclass(frozen=True)
class Machines:
    """The assumed cluster."""

    number: int = 100
    cores: int = 32
    memory: float = 100e9  # bytes per second and machine, as the next two
    storage: float = 1e9
    network: float = 10e9 / 8


def measure() -> Constants:
    """Return the measured constants."""
    pair, score = {}, {}
    for n_classes in (2, 10):
        pair[n_classes], score[n_classes] = _count_and_score(n_classes)
    data = made_votes(500, 100_000).packed.cells
    checksum = seconds(lambda: [zlib.crc32(row) for row in data], 5) / data.nbytes
    with dask_workers(2) as client:
        client.submit(abs, 1, pure=False).result()
        trips = [seconds(lambda: client.submit(abs, 1, pure=False).result()) for _ in range(50)]
        start = time.perf_counter()
        client.gather(client.map(abs, range(1000), pure=False))
        task = (time.perf_counter() - start) / 1000
    return Constants(pair, score, checksum, task, statistics.median(trips))


def _count_and_score(n_classes: int) -> tuple[float, float]:
    long, short = made_votes(500, 100_000, n_classes), made_votes(500, 64, n_classes)
    score = seconds(lambda: _row(short), 20) / 500
    return (seconds(lambda: _row(long), 10) / 500 - score) / 100_000, score


_objectives: dict[int, TDAS] = {}


def _row(votes: Votes) -> np.ndarray:
    objective = _objectives.setdefault(id(votes), TDAS(votes, 0.5))
    return objective.matrix_rows([0])


def costs(n: int, d: int, n_classes: int, given: Constants, on: Machines) -> list[list[str]]:
    """Return a line with bytes and seconds for each of three methods."""
    steps = K + SPREAD_ROWS
    bytes_a_member = d * (n_classes - 1) / 8
    whole = n * bytes_a_member
    cores = on.number * on.cores
    reading = max(whole / on.number / on.storage, whole * given.checksum / cores)
    compute = n * (d * given.pair_sample[n_classes] + given.score[n_classes])
    one_pass = max(compute / cores, whole / on.number / on.memory)
    talk = given.round_trip + on.number * given.task
    out, back = on.number * bytes_a_member, 8.0 * n
    members = one_pass + talk + (out + back) / on.network
    tables = on.number * n * n_classes**2 * 4.0
    score_here = n * given.score[n_classes]
    rows = one_pass + talk + tables / on.network + score_here
    groups = round(math.sqrt(n / K))
    group = compute / groups * steps
    union = groups * K
    second = union * (d * given.pair_sample[n_classes] + given.score[n_classes]) * steps
    gathered = union * bytes_a_member / min(on.storage, on.network)
    epfd_reading = whole / groups * max(1 / on.storage, given.checksum)
    return [
        [
            "members shared, exact",
            _size(whole / on.number),
            f"{_time(reading)} + {steps} × {_time(members)}",
            _size(steps * (out + back)),
            f"**{_time(reading + steps * members)}**",
        ],
        [
            "rows shared, exact",
            _size(whole / on.number),
            f"{_time(reading)} + {steps} × {_time(rows)}",
            _size(steps * tables),
            f"**{_time(reading + steps * rows)}**",
        ],
        [
            f"EPFD, {groups} groups, one core each",
            _size(whole / groups),
            f"{_time(epfd_reading + group)}, then {_time(gathered + second)} for {union:,} members",
            _size(union * bytes_a_member),
            f"**{_time(epfd_reading + group + gathered + second)}**",
        ],
    ]


def _time(duration: float) -> str:
    for limit, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if duration >= limit:
            return f"{duration / limit:.3g} {unit}"
    return f"{duration:.3g} s" if duration >= 1 else f"{duration * 1e3:.3g} ms"


def _size(n_bytes: float) -> str:
    power = min(4, int(math.log10(max(n_bytes, 1)) // 3))
    return f"{n_bytes / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def _crossing(n: int, n_classes: int) -> float:
    """Return the number of samples above which sharing rows sends less than sharing members."""
    return n * n_classes**2 * 4 * 8 / (n_classes - 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--members", type=float, default=1e6)
    parser.add_argument("--rows", type=float, default=1e7)
    options = parser.parse_args()
    n, d, on = int(options.members), int(options.rows), Machines()
    given = measure()
    print("| constant | two classes | ten classes |\n| --- | --- | --- |")
    pair, score = given.pair_sample, given.score
    print(f"| count one pair on one sample | {pair[2] * 1e9:.4f} ns | {pair[10] * 1e9:.3f} ns |")
    print(f"| from counts to a distance | {score[2] * 1e6:.2f} µs | {score[10] * 1e6:.2f} µs |")
    print(f"| checksum | {1e-9 / given.checksum:.2f} GB/s | |")
    print(f"| Dask: one of many tasks | {given.task * 1e3:.2f} ms | |")
    print(f"| Dask: round trip | {given.round_trip * 1e3:.1f} ms | |")
    headings = ["method", "memory per machine or core", "time", "data sent", "total"]
    for n_classes in (2, 10):
        print(f"\n{n:,} members × {d:,} samples, {n_classes} classes, k = {K}:\n")
        lines = [headings, ["---"] * len(headings), *costs(n, d, n_classes, given, on)]
        print("\n".join("| " + " | ".join(line) + " |" for line in lines))
    print(
        f"\nSharing rows sends less data than sharing members above {_crossing(n, 2):.2g} samples"
    )
    print(f"with two classes, and above {_crossing(n, 10):.2g} samples with ten.")


if __name__ == "__main__":
    main()
