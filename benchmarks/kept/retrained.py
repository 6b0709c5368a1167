"""Models that a user could train instead of pruning: LightGBM and a new forest of the same size."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

LIGHTGBM, NEW_FOREST = "LightGBM, as many nodes", "new forest, as many nodes"
_LEAVES, _RATES = (8, 31), (0.1, 0.3)
_LEAST_SAMPLES = (1, 2, 5, 10)  # in a leaf of a new forest

Train = Callable[[Any, Any], Any]


def retrained(X: Any, y: Any, n_nodes: int, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield names and models with about a number of nodes, with the best of a few parameters.

    A quarter of the training samples selects the parameters; then all of them train the model.
    """
    labels, counts = np.unique(y, return_counts=True)
    stratify = y if counts.min() > 1 else None
    X_most, X_rest, y_most, y_rest = train_test_split(
        X, y, test_size=0.25, random_state=seed, stratify=stratify
    )
    ways = {LIGHTGBM: _boosted(len(labels), n_nodes, seed), NEW_FOREST: _forests(n_nodes, seed)}
    for name, candidates in ways.items():
        losses = [_loss(train(X_most, y_most), X_rest, y_rest) for train in candidates]
        if candidates:  # many classes need more nodes than a small limit allows
            yield name, candidates[int(np.argmin(losses))](X, y)


def _loss(model: Any, X: Any, y: Any) -> float:
    known = np.isin(y, model.classes_)
    return log_loss(y[known], model.predict_proba(X[known]).clip(1e-3), labels=model.classes_)


def _boosted(n_classes: int, n_nodes: int, seed: int) -> list[Train]:
    from lightgbm import LGBMClassifier

    trees_per_round = 1 if n_classes == 2 else n_classes
    rounds = {n: n_nodes // ((2 * n - 1) * trees_per_round) for n in _LEAVES}
    return [
        LGBMClassifier(
            **{"n_estimators": n_rounds, "num_leaves": n_leaves, "learning_rate": rate},
            **{"random_state": seed, "n_jobs": 1, "verbose": -1},
        ).fit
        for n_leaves, n_rounds in rounds.items()
        for rate in _RATES
        if n_rounds
    ]


def _forests(n_nodes: int, seed: int) -> list[Train]:
    return [partial(_new_forest, n_nodes, seed, n_least) for n_least in _LEAST_SAMPLES]


def _new_forest(n_nodes: int, seed: int, n_least: int, X: Any, y: Any) -> Any:
    """Train a forest with as many trees as the nodes allow, by the size of the first five."""
    given = {"min_samples_leaf": n_least, "random_state": seed}
    first = RandomForestClassifier(5, **given).fit(X, y)
    size = np.mean([tree.tree_.node_count for tree in first.estimators_])
    return RandomForestClassifier(max(1, int(n_nodes / size)), **given).fit(X, y)
