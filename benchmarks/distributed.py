"""Benchmarks of EPFD, several processes and vote stores, compared with one process."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.report import Row, pretty, seconds, side_by_side
from secateurs import COMEP, DOMEP, EPFD, OEP, ReducedErrorPruner, Votes, VoteStore

N, D, K, C = 20_000, 50_000, 20, 5
REPEATS = 2


def made_votes(n_members: int, n_samples: int, n_classes: int = 2, seed: int = 0) -> Votes:
    """Return votes of members that are right on seven of ten samples."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples, dtype=np.uint8)
    codes = np.empty((n_members, n_samples), dtype=np.uint8)
    for row in codes:
        wrong = rng.random(n_samples, dtype=np.float32) > 0.7
        row[:] = (y + wrong * rng.integers(1, n_classes, n_samples, dtype=np.uint8)) % n_classes
    return Votes.from_codes(codes, np.arange(n_classes), y)


def epfd_overhead() -> Iterator[Row]:
    """Overhead of EPFD in one process over its pruner's own work, both timed in the same runs."""
    for pruner, votes in (
        (COMEP(K), made_votes(N, D)),
        (COMEP(K), made_votes(N // 2, D // 2, C)),
        (ReducedErrorPruner(K), made_votes(N // 4, D // 2)),
        (OEP(K), made_votes(N // 10, D // 5, C)),
    ):
        stopwatch = _timed(pruner)
        epfd = EPFD(stopwatch, random_state=0)
        runs = []
        for _ in range(10):
            stopwatch.own_work.clear()
            whole = seconds(lambda e=epfd, v=votes: e.fit(v))
            runs.append((whole / sum(stopwatch.own_work), whole))
        ratio, whole = sorted(runs)[len(runs) // 2]
        yield Row(
            f"EPFD({type(pruner).__name__}) over its pruner's own work, n={votes.n_members}, "
            f"d={votes.n_samples}, k={K}, {votes.n_classes} classes",
            f"{pretty(whole)}, of which {pretty(whole - whole / ratio)} are EPFD's; median of "
            f"{len(runs)} runs, {min(runs)[0]:.3f} to {max(runs)[0]:.3f}",
            ratio,
            at_most=1.05,
        )


def _timed(pruner: Any) -> Any:
    """Return a pruner with the same parameters that records the time of each fit."""

    class Timed(type(pruner)):  # type: ignore[misc]
        own_work: ClassVar[list[float]] = []

        def fit(self, *args: Any) -> Any:
            self.own_work.append(seconds(lambda: super(Timed, self).fit(*args)))
            return self

    return Timed(**pruner.get_params())


def two_processes() -> Iterator[Row]:
    """A store of votes, pruned by two processes and by two Dask workers, compared with one process.

    The votes have five classes. With two classes, one process takes a quarter of a second, which
    is less than the communication with other processes.
    """
    votes = made_votes(N, D, C)
    domep, exact = DOMEP(K, random_state=0), COMEP(K, shard="members")
    one_core, by_rows = COMEP(K), COMEP(K, shard="rows")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(2) as pool,
        dask_workers(2) as client,
    ):
        store = VoteStore.from_votes(Path(folder) / "votes", votes)
        calls = {
            "DOMEP": lambda: domep.fit(store),
            "DOMEP, 2 processes": lambda: domep.fit(store, executor=pool),
            "DOMEP, 2 Dask workers": lambda: domep.fit(store, executor=client),
            "COMEP": lambda: one_core.fit(store),
            "COMEP, members shared by 2 processes": lambda: exact.fit(store, executor=pool),
            "COMEP, rows shared by 2 processes": lambda: by_rows.fit(store, executor=pool),
            "COMEP, members shared by 2 Dask workers": lambda: exact.fit(store, executor=client),
        }
        side_by_side(calls, 1)  # not counted: processes import and compile at their first task
        times = side_by_side(calls, REPEATS)
    same = (exact.member_indices_ == one_core.member_indices_).all()
    for name, base, wanted in (
        ("DOMEP, 2 processes", "DOMEP", 1.6),
        ("DOMEP, 2 Dask workers", "DOMEP", 1.4),
        ("COMEP, members shared by 2 processes", "COMEP", 1.6),
        ("COMEP, rows shared by 2 processes", "COMEP", None),
        ("COMEP, members shared by 2 Dask workers", "COMEP", None),
    ):
        yield Row(
            f"{name}: speed-up over one process; n={N}, d={D}, k={K}, {C} classes",
            f"{pretty(times[base])} against {pretty(times[name])}",
            times[base] / times[name],
            at_least=wanted,
        )
    yield Row(
        "exact COMEP selected different members than one process", "", float(not same), at_most=0
    )


def store() -> Iterator[Row]:
    """Writing and reading a store, compared with copying the packed votes in memory."""
    votes = made_votes(N // 4, D)
    with tempfile.TemporaryDirectory() as folder:
        paths = iter(range(1000))
        calls = {
            "copy": votes.packed.cells.copy,
            "write": lambda: VoteStore.from_votes(Path(folder) / str(next(paths)), votes),
        }
        times = side_by_side(calls, 2)
        written = VoteStore.open(Path(folder) / "0")
        times |= side_by_side(
            {"read": written.load, "read unchecked": written.unverified().load}, REPEATS
        )
    size = votes.nbytes / 1e9
    for name in ("write", "read", "read unchecked"):
        yield Row(
            f"{name} {size * 1e3:.0f} MB",
            f"{size / times[name]:.2f} GB/s",
            times[name] / times["copy"],
        )


@contextmanager
def dask_workers(n_workers: int) -> Iterator[Any]:
    """Start a Dask cluster of single-thread worker processes on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


PARTS = (epfd_overhead, two_processes, store)
