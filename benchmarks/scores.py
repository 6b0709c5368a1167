"""Benchmarks of joint error pruning, and of the memory of a forest's probabilities."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.core import _python
from benchmarks.report import Row, pretty, processor_time
from secateurs import JointErrorPruner, Predictions


def probabilities(n_members, n_samples):
    """Return probabilities of two classes from members of different skill."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n_samples)
    cells = np.empty((n_members, 1, n_samples), dtype=np.int16)
    ease = rng.normal(size=n_samples)
    for row in cells:
        logit = (2 * y - 1) * rng.normal(0.6, 0.3) + ease + rng.normal(size=n_samples)
        row[0] = np.rint((1 << 14) / (1 + np.exp(-logit)))
    return Predictions(cells, np.array([0, 1]), y)


def joint_error() -> Iterator[Row]:
    """Joint error compared with one float32 matrix product of the same pairs, on one thread.

    The product uses all k members at once; joint error finds each member from the previous one.
    """
    scores = probabilities(1000, 100_000)
    chosen = JointErrorPruner(keep=50).fit(scores).member_indices_
    errors = (scores.cells[:, 0] - (scores.y << 14)).astype(np.float32)

    def fit():
        JointErrorPruner(keep=50).fit(scores)

    def multiply():
        errors[chosen] @ errors.T

    with threadpool_limits(1):
        best = processor_time({"fit": fit, "product": multiply}, repeats=9)
    yield Row(
        "joint error, n=1000, d=100 000, k=50, two classes: time over the matrix product",
        f"{pretty(best['fit'])} against {pretty(best['product'])}",
        best["fit"] / best["product"],
        at_most=2.5,
    )
    complete = scores.take(range(200))
    cells = np.where(complete.cells % 3 == 0, np.int16(-(1 << 15)), complete.cells)
    kinds = {
        "complete": complete,
        "gaps": replace(complete, cells=cells, has_missing=True),
        "values": Predictions.encode(complete.cells[:, 0].T / 3.0, scores.y),
    }

    def fit_call(predictions):
        return lambda: JointErrorPruner(keep=10).fit(predictions)

    best = processor_time({name: fit_call(values) for name, values in kinds.items()}, repeats=5)
    for name, kind in (
        ("gaps", "with a third of the values missing"),
        ("values", "for regression"),
    ):
        yield Row(
            f"joint error {kind}, n=200, d=100 000, k=10: time over two classes without gaps",
            f"{pretty(best[name])} against {pretty(best['complete'])}",
            best[name] / best["complete"],
        )


_SCORES = """
import sys
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from secateurs.ensembles import as_ensemble
from secateurs.outputs.collect import collect_encoded_predictions

def peak():
    with open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

n_classes = int(sys.argv[1])
X, y = make_classification(
    100_000, 20, n_informative=10, n_classes=n_classes, n_clusters_per_class=1, random_state=0
)
forest = RandomForestClassifier(500, max_depth=12, random_state=0, n_jobs=2).fit(X[:5000], y[:5000])
before = peak()
scores = collect_encoded_predictions(as_ensemble(forest), X, y, n_jobs=2)
print(before, peak(), scores.nbytes)
"""


def memory_of_scores() -> Iterator[Row]:
    """Peak memory of a process that collects probabilities of 500 trees on 100 000 samples."""
    for n_classes in (2, 10):
        before, peak, held = (int(word) for word in _python(_SCORES, str(n_classes)).split())
        yield Row(
            f"500 trees, d=100 000, {n_classes} classes: peak memory in GB, including forest and "
            "data",
            f"{before / 1e9:.2f} GB before; the probabilities take {held / 1e9:.2f} GB",
            peak / 1e9,
            at_most=1.5,
        )


PARTS = (joint_error, memory_of_scores)
