"""Benchmarks of votes, counts, measures and pruners on one machine."""

import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numba import njit
from sklearn.metrics import log_loss

from benchmarks.report import Row, pretty, processor_time, seconds, side_by_side
from secateurs import (
    COMEP,
    DREP,
    OEP,
    PEP,
    EnsembleSelection,
    Predictions,
    ReducedErrorPruner,
    Votes,
    measures,
)
from secateurs.outputs import vote_packing

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import naive


def votes_of(n_members, n_samples, n_classes, seed=0):
    """Return votes of members of different skill on samples of different difficulty."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    skill = rng.normal(0.6, 0.3, size=n_members)
    ease = rng.normal(0, 0.7, size=n_samples)
    table = np.empty((n_samples, n_members), dtype=np.int8)
    for first in range(0, n_samples, 4096):
        rows = slice(first, first + 4096)
        luck = rng.normal(0, 0.7, size=(len(y[rows]), n_members))
        guess = rng.integers(n_classes, size=luck.shape)
        table[rows] = np.where(skill + ease[rows, None] + luck > 0, y[rows, None], guess)
    return table, y


@njit(nogil=True)
def stream(planes):
    """Read every word once and only add it up: the lower bound for the memory traffic."""
    total = np.uint64(0)
    words = planes.ravel()
    for place in range(words.size):
        total += words[place]
    return total


def streaming() -> Iterator[Row]:
    """COMEP compared with only reading the bit planes that it needs."""
    table, y = votes_of(1000, 100_000, 2)
    votes = Votes.encode(table, y)
    planes = votes.packed.cells

    def read():
        for _ in range(50):
            stream(planes)

    def fit():
        COMEP(keep=50).fit(votes)

    def relevant():
        COMEP(keep=50, start="relevance").fit(votes)

    for call in (read, fit, relevant):
        call()
    best = processor_time({"read": read, "fit": fit, "relevant": relevant}, repeats=25)
    packing = seconds(lambda: Votes.encode(table, y), repeats=3)
    speed = 50 * planes.nbytes / best["read"] / 1e9
    figures = f"{pretty(best['fit'])} against {pretty(best['read'])} ({speed:.0f} GB/s)"
    yield Row(
        "COMEP, n=1000, d=100 000, k=50, two classes: time over reading k·n·d/8 bytes",
        f"{figures}; packing the int8 table before: {pretty(packing)}",
        best["fit"] / best["read"],
        at_most=2.5,
    )
    yield Row(
        "the same, starting with the most relevant member, which needs no further reading",
        f"{pretty(best['relevant'])}",
        best["relevant"] / best["read"],
    )


def many_classes() -> Iterator[Row]:
    """Joint counts of one member with all: three implementations, and the one that is used."""
    for n_classes in (2, 3, 5, 10, 14, 16, 17, 20, 40):
        yield _one_row(n_classes, n_members=100, n_samples=100_000)


def _one_row(n_classes, n_members, n_samples):
    table, _ = votes_of(n_members, n_samples, n_classes)
    votes = Votes.encode(table)
    codes = np.ascontiguousarray(table.T).astype(np.uint8)
    bytewise = vote_packing.CodeMatrix(codes, n_classes)
    planes = vote_packing.BitPlanes(
        vote_packing.pack_bits(codes[:, None, :] == np.arange(n_classes - 1)[:, None]), n_samples
    )
    first = [0]
    ways = {
        "ours": lambda: votes.joint_counts(first),
        "planes": lambda: planes.select_members(slice(0, 1)).joint_counts(planes),
        "bytes": lambda: bytewise.select_members(slice(0, 1)).joint_counts(bytewise),
    }
    if n_classes <= 20:
        one_hot = (codes[:, None, :] == np.arange(n_classes)[:, None]).astype(np.float32)
        flat = one_hot.reshape(-1, n_samples)
        ways["sgemm"] = lambda: one_hot[0] @ flat.T
    best = {name: seconds(call, repeats=6) for name, call in ways.items()}  # each with warm caches
    fastest = min(value for name, value in best.items() if name != "ours")
    figures = ", ".join(f"{name} {pretty(value)}" for name, value in best.items())
    return Row(
        f"one row of counts, n={n_members}, d={n_samples}, {n_classes} classes: time over the "
        "fastest",
        figures,
        best["ours"] / fastest,
        at_most=1.1 if n_classes == 10 else None,
    )


def slopes() -> Iterator[Row]:
    """Growth of COMEP's processor time: the exponent over a factor of four."""
    base = {"n": 600, "d": 60_000, "k": 40}  # four times each size still fits in the cache
    for letter, value in base.items():
        times = {}
        for factor in (1, 2, 4):
            size = dict(base, **{letter: value * factor})
            votes = Votes.encode(*votes_of(size["n"], size["d"], 2))
            pruner = COMEP(keep=size["k"], start="relevance")
            pruner.fit(votes)
            times[factor] = processor_time({"": lambda p=pruner, v=votes: p.fit(v)}, repeats=9)[""]
        figures = ", ".join(f"×{factor}: {pretty(took)}" for factor, took in times.items())
        slope = np.polyfit(np.log([*times]), np.log([*times.values()]), 1)[0]
        yield Row(
            f"COMEP, growth with {letter} (exponent; 1 is linear)", figures, slope, at_most=1.2
        )


def all_pairs() -> Iterator[Row]:
    """All pairs of members with two classes, compared with a matrix product."""
    table, _ = votes_of(1000, 100_000, 2)
    votes = Votes.encode(table)
    codes = np.ascontiguousarray(table.T)
    one_column = codes.astype(np.float32)
    both = np.concatenate([1 - one_column, one_column])
    ways = {
        "kappa.matrix": lambda: measures.kappa.matrix(votes),
        "sgemm, one-hot": lambda: both @ both.T,
        "sgemm, one column per member": lambda: one_column @ one_column.T,
    }
    for call in ways.values():
        call()
    best = side_by_side(ways, repeats=3)
    figures = ", ".join(f"{name} {pretty(value)}" for name, value in best.items())
    what = "all pairs, n=1000, d=100 000, two classes: {} (all threads) over ours (one thread)"
    yield Row(
        what.format("one-hot sgemm"),
        figures,
        best["sgemm, one-hot"] / best["kappa.matrix"],
        at_least=5,
    )
    yield Row(
        what.format("sgemm of one column per member"),
        "as above",
        best["sgemm, one column per member"] / best["kappa.matrix"],
    )


def twins() -> Iterator[Row]:
    """Methods compared with their naive implementations, with the same votes and results."""
    n_members, n_samples, n_keep = 60, 600, 10  # with more, the naive implementations take minutes
    table, y = votes_of(n_members, n_samples, 2)
    votes = Votes.encode(table, y)
    rows, truth = table.tolist(), y.tolist()
    pairs = {
        "COMEP": (
            COMEP(n_keep, start=0),
            lambda: naive.comep(rows, truth, n_keep, 0.5, 0),
            1000,
        ),
        "reduced error": (
            ReducedErrorPruner(n_keep),
            lambda: naive.reduced_error(rows, truth, n_keep),
            100,
        ),
        "DREP": (DREP(n_keep), lambda: naive.drep(rows, truth, 0.3, keep=n_keep), 100),
        "OEP": (OEP(n_keep), lambda: naive.oep(rows, truth, n_keep), 100),
    }
    for name, (pruner, twin, wanted) in pairs.items():
        pruner.fit(votes)
        ours = seconds(lambda p=pruner: p.fit(votes), repeats=5)
        answers = []
        theirs = seconds(lambda t=twin, a=answers: a.append(t()))
        assert pruner.member_indices_.tolist() == answers[0], name
        yield Row(
            f"{name}, n={n_members}, d={n_samples}, k={n_keep}: naive implementation over ours",
            f"{pretty(theirs)} against {pretty(ours)}, the same members",
            theirs / ours,
            at_least=wanted,
        )


def selection() -> Iterator[Row]:
    """Ensemble selection by log loss, compared with the loop of AutoGluon in plain NumPy."""
    rng = np.random.default_rng(0)
    n_members, n_samples = 200, 2000
    rows = np.arange(n_samples)

    def in_numpy(y, probabilities):
        of_truth = np.clip(probabilities[rows, y], 2.0**-52, 1 - 2.0**-52)
        return -np.log(of_truth).mean()

    cases = (2, log_loss, 3), (2, in_numpy, 50), (10, in_numpy, 50)
    for n_classes, loss, n_steps in cases:
        y = rng.integers(n_classes, size=n_samples)
        raised = rng.normal(size=(n_members, n_samples, n_classes))
        raised[:, rows, y] += rng.normal(1, 0.4, size=(n_members, n_samples))
        parts = np.exp(raised)
        scores = Predictions.encode((parts / parts.sum(axis=2, keepdims=True)).swapaxes(0, 1), y)
        tables = [scores.values(member) for member in range(n_members)]  # in the same steps
        pruner = EnsembleSelection(scoring="neg_log_loss", max_models=n_steps)
        found = []

        def select_in_loop(t=tables, y=y, f=loss, n=n_steps, found=found):
            found.append(greedy_by(f, t, y, n))

        pruner.fit(scores)
        ours = processor_time({"": lambda p=pruner, s=scores: p.fit(s)}, repeats=7)[""]
        theirs = processor_time({"": select_in_loop}, repeats=1)[""]
        assert pruner.runs_[0].members == found[0]
        name = "scikit-learn's log_loss" if loss is log_loss else "three calls of NumPy"
        yield Row(
            f"EnsembleSelection, log loss, n=200, d=2000, {n_classes} classes, {n_steps} steps: "
            f"the loop with {name} over ours",
            f"{pretty(theirs)} against {pretty(ours)}, the same steps",
            theirs / ours,
            at_least=20,
        )


def greedy_by(loss, tables, y, n_steps):
    """Return members selected greedily by the loss of their mean, as AutoGluon does it."""
    chosen, total = [], np.zeros_like(tables[0])
    for _ in range(n_steps):
        losses = [loss(y, (total + table) / (len(chosen) + 1)) for table in tables]
        chosen.append(int(np.argmin(losses)))
        total += tables[chosen[-1]]
    return chosen


def pareto() -> Iterator[Row]:
    """PEP with its full budget."""
    for n_classes in (2, 5):
        votes = Votes.encode(*votes_of(100, 1000, n_classes))
        pruner = PEP(random_state=0)
        PEP(n_iterations=20, random_state=0).fit(votes)
        took = seconds(lambda p=pruner, v=votes: p.fit(v))
        yield Row(
            f"PEP, n=100, d=1000, {n_classes} classes, all {pruner.n_iter_} rounds",
            f"{pretty(took)}: {pruner.n_iter_ / took:.0f} rounds a second",
        )


_MEMORY = """
import numpy as np
from secateurs import COMEP

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

rng = np.random.default_rng(0)
y = rng.integers(2, size=100_000, dtype=np.int8)
votes = np.empty((100_000, 5000), dtype=np.int8)
for first in range(0, len(votes), 1000):
    block = votes[first:first + 1000]
    block[:] = (rng.random(block.shape, dtype=np.float32) < 0.7) == y[first:first + 1000, None]
before = peak()
pruner = COMEP(keep=50).fit(votes, y)
print(before, peak(), pruner._predictions.nbytes)
"""


def memory() -> Iterator[Row]:
    """Peak memory of a process that creates and prunes a large table of votes."""
    before, peak, packed = (int(word) for word in _python(_MEMORY).split())
    yield Row(
        "n=5000, d=100 000, two classes: peak memory in GB, including the table of int8 (0.5 GB)",
        f"{before / 1e6:.2f} GB before pruning, packed votes {packed / 1e9:.3f} GB",
        peak / 1e6,
        at_most=1.5,
    )


def imports() -> Iterator[Row]:
    """Import time, in CPU seconds of new processes."""
    statements = {
        "scikit-learn": "import sklearn.feature_selection",
        "package": "import secateurs",
        "pruner": "from secateurs import COMEP",
    }
    best = dict.fromkeys(statements, float("inf"))
    for _ in range(5):
        for name, statement in statements.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            _python(statement)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best[name] = min(best[name], spent)
    figures = f"against {pretty(best['scikit-learn'])} for sklearn.feature_selection"
    for name in ("package", "pruner"):
        yield Row(
            f"`{statements[name]}`: time over the import of scikit-learn's feature selection",
            f"{pretty(best[name])} {figures}",
            best[name] / best["scikit-learn"],
            at_most=1.5,
        )


def _python(code, *args):
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


warnings.simplefilter("ignore")
PARTS = (streaming, many_classes, slopes, all_pairs, twins, selection, pareto, memory, imports)
