"""Benchmarks beside other libraries, where they are installed: processor time on one thread."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import sklearn.utils
from scipy.special import softmax
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

# Folders of the libraries, set by the command line.
PYPRUNING: Path | None = None
AUTOGLUON: Path | None = None


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
    """Greedy selection with replacement of AutoGluon (`--autogluon DIR`, or installed), and ours.

    Our times include the encoding of the predictions.
    """
    modules = autogluon_modules(AUTOGLUON)
    if modules is None:
        yield Row(
            "AutoGluon's EnsembleSelection",
            "pass --autogluon DIR, a copy of its repository, or install autogluon.core",
        )
        return
    yield from (_select_with_both(*modules, *case) for case in _SELECTIONS)


def _select_with_both(selection, metrics, *case) -> Row:
    scoring, n_classes, n_members, n_samples, n_steps = case
    probabilities, y = _library(n_classes, n_members, n_samples)
    tables = list(np.ascontiguousarray(probabilities.transpose(1, 0, 2)))
    if n_classes == 2:
        tables = [np.ascontiguousarray(table[:, 1]) for table in tables]
    kind = "binary" if n_classes == 2 else "multiclass"
    metric = getattr(metrics, {"neg_log_loss": "log_loss"}.get(scoring, scoring))
    selected = {}

    def fit_peer():
        peer = selection.EnsembleSelection(
            n_steps, kind, metric, random_state=np.random.RandomState(0)
        )
        selected["theirs"] = peer.fit(tables, y).indices_

    def fit_ours():
        pruner = EnsembleSelection(scoring=scoring, max_models=n_steps)
        selected["ours"] = pruner.fit(Predictions.encode(probabilities, y)).runs_[0].members

    fit_ours()
    best = processor_time({"theirs": fit_peer, "ours": fit_ours}, repeats=2)
    # AutoGluon rounds scores to six decimals and breaks ties at random.
    n_equal = sum(a == b for a, b in zip(selected["theirs"], selected["ours"], strict=False))
    return Row(
        f"AutoGluon's EnsembleSelection over ours, {scoring}, n={n_members}, d={n_samples}, "
        f"{n_classes} classes, {n_steps} steps",
        f"{pretty(best['theirs'])} against {pretty(best['ours'])}; {n_equal} of its "
        f"{len(selected['theirs'])} steps are equal",
        best["theirs"] / best["ours"],
        at_least=1 if scoring == "accuracy" else 5,
    )


_SELECTIONS = (
    *(("accuracy", 3, 200, 2000, 20), ("neg_log_loss", 3, 200, 2000, 20)),
    *(("roc_auc", 2, 60, 300, 50), ("roc_auc", 2, 400, 6000, 10)),
    *(("roc_auc_ovr", 3, 60, 300, 20), ("roc_auc_ovr", 3, 400, 6000, 2)),
    *(("roc_auc_ovo", 3, 60, 300, 20), ("average_precision", 2, 60, 300, 50)),
)


def _library(n_classes, n_members, n_samples):
    """Return probabilities of members of different skill, with errors in common, and y."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_samples)
    logits = rng.normal(size=(n_samples, 1, n_classes))
    logits = logits + rng.normal(size=(n_samples, n_members, n_classes))
    logits[np.arange(n_samples), :, y] += rng.normal(1.0, 0.4, size=n_members)
    return softmax(logits, axis=2), y


def autogluon_modules(folder):
    """Return AutoGluon's selection and metrics, without importing the rest; None if not found."""
    core, selection = "autogluon.core", "autogluon.core.models.greedy_ensemble.ensemble_selection"
    if folder is not None:
        source = {name: folder / name / "src/autogluon" / name for name in ("core", "common")}
        if (folder / "autogluon/core").is_dir():  # installed by pip install --target
            source = {name: folder / "autogluon" / name for name in source}
        packages = {"autogluon": folder, core: source["core"], "autogluon.common": source["common"]}
        for path in ("utils", "models", "models/greedy_ensemble"):
            packages[f"{core}.{path.replace('/', '.')}"] = source["core"] / path
        packages["autogluon.common.utils"] = source["common"] / "utils"
        for name, path in packages.items():
            package = ModuleType(name)
            package.__path__ = [str(path)]
            sys.modules[name] = package
        version = ModuleType("autogluon.common.version")  # written when AutoGluon is built
        version.__version__ = "unknown"
        sys.modules[version.__name__] = version
        utils = import_module(f"{core}.utils.utils")
        sys.modules[f"{core}.utils"].get_pred_from_proba = utils.get_pred_from_proba
    try:
        return import_module(selection), import_module(f"{core}.metrics")
    except ImportError:
        return None


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
