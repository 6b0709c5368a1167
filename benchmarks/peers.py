"""Benchmarks beside other libraries, where they are installed: processor time on one thread."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import sklearn.utils
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

from benchmarks.report import Row, pretty, processor_time
from benchmarks.waiting import forest_and_samples
from secateurs import EnsembleSelection, Predictions, collect_predictions, make_pruner
from secateurs.ensembles import as_ensemble
from secateurs.outputs.tree_walk import TreeWalk

PYPRUNING: Path | None = None  # the folder that contains the package, set by the command line


def walking_trees() -> Iterator[Row]:
    """Leaves of 50 000 samples in 200 trees: ours, treelite's GTIL and scikit-learn's `apply`."""
    X, y = make_classification(55_000, 20, n_informative=10, n_classes=3, random_state=0)
    rows = np.ascontiguousarray(X[5000:], dtype=np.float32)
    models = {
        "RandomForestClassifier": RandomForestClassifier(200, random_state=0),
        "ExtraTreesClassifier": ExtraTreesClassifier(200, random_state=0),
        "RandomForestRegressor": RandomForestRegressor(200, max_features=0.33, random_state=0),
        "BaggingClassifier": BaggingClassifier(n_estimators=200, random_state=0),
    }
    for name, model in models.items():
        target = y + X[:, 0] if name.endswith("Regressor") else y
        fitted = as_ensemble(model.fit(X[:5000], target[:5000]))

        def walk(fitted=fitted):
            trees = TreeWalk(fitted, rows)
            return np.stack([trees.leaf_indices(t) for t in range(fitted.n_members)], axis=1)

        def apply(fitted=fitted):
            return np.stack([tree.apply(rows) for tree in fitted.members], axis=1)

        calls = {"ours": walk, "apply": apply}
        treelite_leaves = _treelite_leaves(model, rows)
        if treelite_leaves is not None:
            calls["treelite"] = treelite_leaves
        assert (walk() == apply()).all()
        best = processor_time(calls, repeats=2)
        figures = ", ".join(f"{way} {pretty(took)}" for way, took in best.items())
        for way in [way for way in calls if way != "ours"]:
            yield Row(
                f"{name}: time of {way} over ours", figures, best[way] / best["ours"], at_least=1
            )


def _treelite_leaves(model, rows):
    """Return a function that finds the leaves by treelite; None if it cannot."""
    if isinstance(model, BaggingClassifier):  # treelite imports forests only
        return None
    try:
        import treelite
    except ImportError:
        return None
    imported = treelite.sklearn.import_model(model)
    return lambda: treelite.gtil.predict_leaf(imported, rows, nthread=1)


def autogluon() -> Iterator[Row]:
    """Greedy selection with replacement of AutoGluon, if it is installed, and ours: 20 steps."""
    try:
        from autogluon.core.metrics import accuracy, log_loss
        from autogluon.core.models.greedy_ensemble.ensemble_selection import (
            EnsembleSelection as Peer,
        )
    except ImportError:
        yield Row("AutoGluon's EnsembleSelection", "autogluon.core is not installed")
        return
    forest, X, y = forest_and_samples(200, 2000)
    probabilities = np.asarray(collect_predictions(forest, X))
    tables = list(np.ascontiguousarray(probabilities.transpose(1, 0, 2)))
    for scoring, metric in (("accuracy", accuracy), ("neg_log_loss", log_loss)):

        def fit_peer(metric=metric):
            peer = Peer(20, "multiclass", metric, random_state=np.random.RandomState(0))
            peer.fit(tables, y)

        def fit_ours(scoring=scoring):
            predictions = Predictions.encode(probabilities, y)
            EnsembleSelection(20, scoring=scoring, random_state=0).fit(predictions)

        fit_ours()
        best = processor_time({"theirs": fit_peer, "ours": fit_ours}, repeats=2)
        yield Row(
            f"AutoGluon's EnsembleSelection over ours, 200 trees, d=2000, three classes, {scoring}",
            f"{pretty(best['theirs'])} against {pretty(best['ours'])}, with encoding",
            best["theirs"] / best["ours"],
            at_least=1,
        )


def pypruning() -> Iterator[Row]:
    """Orderings of PyPruning (`--pypruning DIR`) and ours: 20 of 200 trees, d=2000.

    PyPruning's orderings average probabilities, ours count votes.
    """
    if PYPRUNING is None:
        yield Row("PyPruning's orderings", "pass --pypruning DIR, a copy of its repository")
        return
    greedy, rank = _pypruning_modules(PYPRUNING)
    forest, X, y = forest_and_samples(200, 2000)
    probabilities = np.asarray(collect_predictions(forest, X))
    tables = np.ascontiguousarray(probabilities.transpose(1, 0, 2))
    predictions = Predictions.encode(probabilities, y)
    peers = {
        "re": greedy.GreedyPruningClassifier(20, greedy.reduced_error, n_jobs=1),
        "comp": greedy.GreedyPruningClassifier(20, greedy.complementariness, n_jobs=1),
        "best": rank.RankPruningClassifier(20, rank.individual_error, n_jobs=1),
    }
    for name, peer in peers.items():

        def fit_ours(name=name):
            make_pruner(name, keep=20).fit(predictions.votes)

        fit_ours()
        calls = {"theirs": lambda peer=peer: peer.prune_(tables, y), "ours": fit_ours}
        best = processor_time(calls, repeats=2)
        yield Row(
            f"PyPruning's {peer.metric.__name__} over our {name!r}",
            f"{pretty(best['theirs'])} against {pretty(best['ours'])}",
            best["theirs"] / best["ours"],
            at_least=1,
        )


def _pypruning_modules(folder):
    """Import PyPruning's orderings without its other methods, which need a solver."""
    package = ModuleType("PyPruning")
    package.__path__ = [str(folder / "PyPruning")]
    sys.modules["PyPruning"] = package
    if not hasattr(sklearn.utils, "axis0_safe_slice"):  # removed; imported there, but not used
        sklearn.utils.axis0_safe_slice = None
    names = "GreedyPruningClassifier", "RankPruningClassifier"
    return [import_module(f"PyPruning.{name}") for name in names]


PARTS = (walking_trees, autogluon, pypruning)
