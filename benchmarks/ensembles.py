"""Benchmarks of real ensembles: collecting votes, pruning end to end, and the gains."""

import pickle
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.core import _python
from benchmarks.report import Row, pretty, seconds, side_by_side
from secateurs import COMEP, prune
from secateurs.ensembles import as_ensemble
from secateurs.outputs.collect import collect_encoded_votes, collect_vote_codes


def data(n_rows):
    return make_classification(n_rows, 20, n_informative=10, n_classes=3, random_state=0)


def collecting() -> Iterator[Row]:
    """Collecting the votes of a forest of 200 trees on 50 000 samples."""
    X, y = data(60_000)
    forest = RandomForestClassifier(200, random_state=0, n_jobs=2).fit(X[:10_000], y[:10_000])
    known, rows = as_ensemble(forest), X[10_000:]
    ways = {
        "one by one": lambda: np.stack([tree.predict(rows) for tree in forest.estimators_]),
        "one thread": lambda: collect_vote_codes(known, rows, 1),
        "two threads": lambda: collect_vote_codes(known, rows, 2),
    }
    assert (ways["one by one"]() == ways["one thread"]()).all()
    best = side_by_side(ways, repeats=3)
    figures = ", ".join(f"{name} {pretty(value)}" for name, value in best.items())
    yield Row(
        "`[tree.predict(X) for tree in …]` over collect_votes on one thread",
        figures,
        best["one by one"] / best["one thread"],
        at_least=2,
    )
    yield Row(
        "one thread over two threads",
        "as above, on two cores",
        best["one thread"] / best["two threads"],
    )


# By name, and the default, which compares methods and refits leaves.
_CALLS: dict[str, dict[str, str]] = {'pruner="comep"': {"pruner": "comep"}, "the default": {}}


def end_to_end() -> Iterator[Row]:
    """Time and memory of prune() on that forest."""
    X, y = data(60_000)
    forest = RandomForestClassifier(200, random_state=0, n_jobs=2).fit(X[:10_000], y[:10_000])
    known, rows, truth = as_ensemble(forest), X[10_000:], y[10_000:]
    times, parts = dict.fromkeys(_CALLS, float("inf")), float("inf")
    for _ in range(3):
        for name, options in _CALLS.items():
            whole = seconds(partial(prune, forest, rows, truth, keep=20, **options))
            times[name] = min(times[name], whole)
        parts = min(parts, seconds(lambda: collect_encoded_votes(known, rows, truth)))
    for name, whole in times.items():
        yield Row(
            f"share of collecting votes in the time of prune(forest, keep=20), {name}, one thread",
            f"{pretty(parts)} of {pretty(whole)}",
            parts / whole,
            at_least=0.9 if _CALLS[name] else None,
        )
    for name, options in _CALLS.items():
        code = _MEMORY.replace("OPTIONS", repr(options))
        more, table, x_bytes = (int(word) for word in _python(code).split())
        yield Row(
            f"additional peak memory over (2 × vote matrix + X), {name}",
            f"{more / 1e6:.0f} MB; vote matrix {table / 1e6:.0f} MB, X {x_bytes / 1e6:.0f} MB",
            more / (2 * table + x_bytes),
            at_most=1 if options else None,
        )


_MEMORY = """
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from secateurs import prune

def status(name):
    with open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

X, y = make_classification(410_000, 20, n_informative=10, n_classes=3, random_state=0)
forest = RandomForestClassifier(200, max_samples=2000, random_state=0).fit(X[:10_000], y[:10_000])
rows, truth = X[10_000:].copy(), y[10_000:].copy()
del X, y
prune(forest, rows[:1000], truth[:1000], keep=20, **OPTIONS)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak so far
before = status("VmRSS")
prune(forest, rows, truth, keep=20, **OPTIONS)
print(status("VmHWM") - before, len(rows) * 200, rows.nbytes)
"""


def gains() -> Iterator[Row]:
    """Size and speed of a forest of 500 trees pruned to 50."""
    X, y = data(12_000)
    forest = RandomForestClassifier(500, random_state=0).fit(X[:6000], y[:6000])
    pruning = prune(forest, X[6000:9000], y[6000:9000], keep=50)
    small, test = pruning.estimator, (X[9000:], y[9000:])
    sizes = len(pickle.dumps(forest)), len(pickle.dumps(small))
    yield Row(
        "500 → 50 trees: factor in size (pickle)",
        f"{sizes[0] / 1e6:.1f} MB to {sizes[1] / 1e6:.1f} MB; test accuracy "
        f"{forest.score(*test):.4f} to {small.score(*test):.4f}",
        sizes[0] / sizes[1],
        at_least=8,
    )
    for n_rows in (1, 1000):
        rows = test[0][:n_rows]
        ways = {"500": lambda r=rows: forest.predict(r), "50": lambda r=rows: small.predict(r)}
        best = side_by_side(ways, repeats=15)
        yield Row(
            f"500 → 50 trees: factor in speed, {n_rows} samples",
            f"{pretty(best['500'])} to {pretty(best['50'])}",
            best["500"] / best["50"],
            at_least=8,
        )


def other_members() -> Iterator[Row]:
    """Bagged members other than trees: time to collect votes, and in total."""
    X, y = data(9000)
    for base in (LogisticRegression(), GaussianNB(), KNeighborsClassifier()):
        bagging = BaggingClassifier(base, 50, random_state=0, n_jobs=2).fit(X[:4000], y[:4000])
        known, rows = as_ensemble(bagging), X[4000:]
        took = seconds(lambda k=known, r=rows: collect_vote_codes(k, r, 1), repeats=3)
        chosen = seconds(
            lambda k=known, r=rows: COMEP(keep=5).fit(collect_encoded_votes(k, r, y[4000:]))
        )
        yield Row(
            f"50 bagged {type(base).__name__}, 5000 samples, one thread",
            f"{pretty(took)} for the votes, {pretty(chosen)} with packing and COMEP",
        )


PARTS = (collecting, end_to_end, gains, other_members)
