"""Compile all kernels ahead of their first use: ``secateurs warm``.

Kernels are compiled for the types of their arguments. They are called here by ordinary work on
small data of every kind: labels of few and many classes, with and without missing predictions,
probabilities, regression, trees, weights, batches and large tables.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from secateurs import measures
from secateurs._methods import METHODS
from secateurs.comparison import compare
from secateurs.objectives.panel_scores import AccuracyPanels
from secateurs.outputs.label_coding import MOST_BY_NUMPY
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.vote_store import VoteStore
from secateurs.outputs.votes import Votes
from secateurs.progress import open_stage
from secateurs.pruners import make_pruner
from secateurs.pruners.selector import fit_pruner
from secateurs.pruning import frontier, prune
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array

_N_SAMPLES, _N_MEMBERS = 90, 6
# Votes for up to 16 classes are stored as bits, for up to 256 in one byte, for more in two bytes.
_CLASS_COUNTS = (2, 3, 20, 300)
_LABEL_TYPES = (bool, *np.typecodes["AllInteger"], float)
_BRIER = "neg_brier_score"
_SCORES = {
    "probabilities": (None, "neg_log_loss", "neg_brier_score", "roc_auc_ovr"),
    "numbers": (None, "neg_mean_absolute_error"),
}


def compile_kernels() -> None:
    """Compile the kernels for all types that the package uses, unless they are in the cache."""
    tasks = list(_tasks())
    with open_stage("compiling", len(tasks)) as stage, record_warnings():  # about the small data
        for task in tasks:
            task()
            stage.step()


def _tasks() -> Iterator[Callable[[], object]]:
    for n_classes, has_missing in product(_CLASS_COUNTS, (False, True)):
        yield partial(_append_votes, n_classes, has_missing)
        for name in METHODS:
            yield partial(_select_by_votes, name, n_classes, has_missing)
    for name, method in METHODS.items():
        for kind, scores in _SCORES.items():
            if kind in method.traits.outputs:
                yield from (partial(_select_by_predictions, name, kind, s) for s in scores)
    yield from (partial(_encode_large_table, dtype) for dtype in _LABEL_TYPES)
    yield from (
        _measure_pairs,
        _count_large_planes,
        _prune_in_shards,
        _prune_classifier,
        _prune_regressor,
    )
    yield _search_panels


def _make_votes(n_classes: int, has_missing: bool) -> Votes:
    rng = np.random.default_rng(n_classes)
    y = np.arange(max(_N_SAMPLES, 2 * n_classes)) % n_classes
    labels = rng.integers(n_classes, size=(len(y), _N_MEMBERS))
    table: Array = np.where(rng.random(labels.shape) < 0.7, y[:, None], labels)
    if has_missing:
        table = np.ma.masked_array(table, rng.random(table.shape) < 0.1)
    return Votes.encode(table, y)


def _make_predictions(kind: str, has_missing: bool) -> Predictions:
    rng = np.random.default_rng(0)
    n_classes, shape = 3, (_N_SAMPLES, _N_MEMBERS)
    mask = rng.random(shape) < 0.1
    if kind == "numbers":
        y: Array = rng.normal(size=_N_SAMPLES)
        table: Array = y[:, None] + rng.normal(size=shape)
    else:
        y = np.arange(_N_SAMPLES) % n_classes
        table = rng.dirichlet(np.ones(n_classes), size=shape)
        mask = np.repeat(mask[:, :, None], n_classes, axis=2)
    return Predictions.encode(np.ma.masked_array(table, mask) if has_missing else table, y)


def _append_votes(n_classes: int, has_missing: bool) -> None:
    votes = _make_votes(n_classes, has_missing)
    joined = votes.append(votes)
    joined.vote()
    joined.vote(weights=np.linspace(1, 2, _N_MEMBERS))
    joined.accuracy([0, 1, 2])


def _select_by_votes(name: str, n_classes: int, has_missing: bool) -> None:
    if has_missing and not METHODS[name].traits.takes_missing:
        return
    votes = _make_votes(n_classes, has_missing)
    parameters = {"n_iterations": 5} if METHODS[name].traits.most_rounds else {}
    for weights in (None, np.linspace(0.5, 1.5, votes.n_samples)):
        fit_pruner(make_pruner(name, keep=3, **parameters), votes, sample_weight=weights)


def _select_by_predictions(name: str, kind: str, score: str | None) -> None:
    pruner = make_pruner(name, keep=3)
    if score is not None:
        if not hasattr(pruner, "scoring"):
            return
        pruner.set_params(scoring=score)
    for has_missing in (False, METHODS[name].traits.takes_missing):
        predictions = _make_predictions(kind, has_missing)
        for weights in (None, np.linspace(0.5, 1.5, predictions.n_samples)):
            fit_pruner(pruner, predictions, sample_weight=weights)


def _encode_large_table(dtype: str | type) -> None:
    n_members = 1000  # NumPy encodes smaller tables
    labels = (np.arange(MOST_BY_NUMPY + 2 * n_members) % 2).astype(dtype)
    table = labels[: labels.size // n_members * n_members].reshape(-1, n_members)
    Votes.encode(table, table[:, 0]).take(np.arange(n_members))


def _measure_pairs() -> None:
    for n_classes in _CLASS_COUNTS:
        votes = _make_votes(n_classes, has_missing=False)
        single, (first, second) = votes.take(np.array([0])), votes.packed.decode()[:2]
        for measure in (measures.kappa, measures.oracle_kappa, measures.double_fault, measures.nmi):
            measure.matrix(votes)
            measure.mean(votes)
            measure.matrix(single)  # a single pair has an array type of its own
            measure(first, second, votes.truth if measure.needs_truth else None)
        single.truth_counts.sum()
        fit_pruner(make_pruner("joint", keep=1), single)  # many classes are read by single members


def _count_large_planes() -> None:
    n_members, n_samples = 64, 1 << 17  # fewer votes are counted by other kernels
    codes = np.zeros((n_samples, n_members), dtype=np.uint8)
    codes[::3] = 1
    votes = Votes.encode(codes, codes[:, 0])
    votes.joint_counts(np.arange(n_members // 2))
    fit_pruner(make_pruner("comep", keep=1, start=0), votes)


def _prune_in_shards() -> None:
    with ThreadPoolExecutor(2) as threads, TemporaryDirectory() as folder:
        executor: Any = threads
        for name, shard in product(("comep", "joint"), ("members", "rows")):
            votes, pruner = (
                _make_votes(3, has_missing=False),
                make_pruner(name, keep=3, shard=shard),
            )
            fit_pruner(pruner, votes, executor=executor)
            table = votes.classes[votes.packed.decode()].T
            store = VoteStore.from_table(f"{folder}/{name}-{shard}", table, votes.truth)
            fit_pruner(pruner, store, executor=executor)


def _prune_classifier() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * _N_SAMPLES, 3))
    for n_classes in (2, 3):
        y = np.digitize(X[:, 0] + X[:, 1], [0, 1][: n_classes - 1])
        forest = RandomForestClassifier(_N_MEMBERS, random_state=0).fit(X[::2], y[::2])
        samples = X[1::2], y[1::2]
        pruning = prune(forest, *samples, random_state=0)
        pruning.summary()
        pruning.featured(*samples)
        prune(forest, *samples, "comep", 2, weights=True)
        prune(forest, *samples, "joint", 2, refit=True, random_state=0)
        prune(forest, X[::2], y[::2], "joint", 2, oob=True)
        compare(forest, *samples, ["re", "best"], [2, 3], random_state=0).leaderboard()


def _search_panels() -> None:
    votes, shares = _make_votes(3, has_missing=False), _make_predictions("probabilities", False)
    y = votes.classes[votes.truth]
    labels = votes.classes[votes.packed.decode()].T
    for table, scoring in ((labels, None), (shares.decode(), None), (shares.decode(), _BRIER)):
        frontier(table, y=y, scoring=scoring, random_state=0).table()
    # More members than all panels are scored of, and votes with weights.
    frontier(np.tile(labels, 4), y=y, random_state=0)
    AccuracyPanels(votes, np.linspace(1, 2, _N_MEMBERS)).score_all()
    prune(labels, y=y, exchangeable=True)


def _prune_regressor() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * _N_SAMPLES, 3))
    y = X[:, 0] + rng.normal(size=len(X))
    forest = RandomForestRegressor(_N_MEMBERS, random_state=0).fit(X[::2], y[::2])
    pruning = prune(forest, X[1::2], y[1::2], random_state=0)
    pruning.summary()
    prune(forest, X[1::2], y[1::2], "joint", 2, weights=True)
    prune(forest, X[::2], y[::2], "joint", 2, oob=True)
