"""The ensembles that are pruned, and the numbers of members to keep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import discriminant_analysis, naive_bayes, neighbors, tree
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Build = Callable[[Any, Any, int], Any]


@dataclass(frozen=True)
class Situation:
    """An ensemble, the samples on which members are selected, and the numbers of members."""

    name: str  # identifies the situation in the records
    build: Build  # ``build(X, y, seed)`` trains the ensemble, once for all situations that share it
    sizes: tuple[int, ...]  # numbers of members to keep
    oob: bool = False  # whether members are selected out of bag instead of on the validation set
    is_regression: bool = False


def _forest(X: Any, y: Any, seed: int) -> Any:
    return RandomForestClassifier(200, random_state=seed).fit(X, y)


def _extra_trees(X: Any, y: Any, seed: int) -> Any:
    return ExtraTreesClassifier(200, random_state=seed).fit(X, y)


def _bagged(X: Any, y: Any, seed: int) -> Any:
    X, y = X[:2000], y[:2000]
    return BaggingClassifier(n_estimators=100, random_state=seed).fit(X, y)


def _boosted(X: Any, y: Any, seed: int) -> Any:
    X, y = X[:2000], y[:2000]
    member = tree.DecisionTreeClassifier(max_depth=4)
    return AdaBoostClassifier(member, n_estimators=100, random_state=seed).fit(X, y)


def _forest_regressor(X: Any, y: Any, seed: int) -> Any:
    return RandomForestRegressor(200, max_features=0.4, random_state=seed).fit(X, y)


def _extra_trees_regressor(X: Any, y: Any, seed: int) -> Any:
    return ExtraTreesRegressor(200, max_features=0.4, random_state=seed).fit(X, y)


def _library(X: Any, y: Any, seed: int) -> Any:
    """Train 24 models of many kinds, good and bad, and return them in random order."""
    X, y = X[:2000], y[:2000]
    depths = (1, 3, 6, None)
    models = [
        *(tree.DecisionTreeClassifier(max_depth=depth, random_state=seed) for depth in depths),
        *(make_pipeline(StandardScaler(), neighbors.KNeighborsClassifier(k)) for k in (1, 7, 31)),
        naive_bayes.GaussianNB(),
        make_pipeline(StandardScaler(), naive_bayes.BernoulliNB()),
        *(make_pipeline(StandardScaler(), LogisticRegression(C=c)) for c in (0.01, 1.0, 100.0)),
        make_pipeline(StandardScaler(), discriminant_analysis.LinearDiscriminantAnalysis()),
        make_pipeline(StandardScaler(), neighbors.KNeighborsClassifier(5, weights="distance", p=1)),
        make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=seed)),
        make_pipeline(
            *(StandardScaler(), Nystroem(n_components=min(100, len(X)), random_state=seed)),
            LogisticRegression(C=10.0),
        ),
        make_pipeline(StandardScaler(), MLPClassifier((30,), max_iter=60, random_state=seed)),
        make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=60, random_state=seed)),
        RandomForestClassifier(50, random_state=seed),
        RandomForestClassifier(50, max_depth=3, random_state=seed),
        ExtraTreesClassifier(50, random_state=seed),
        GradientBoostingClassifier(n_estimators=20, random_state=seed),
        HistGradientBoostingClassifier(max_iter=40, random_state=seed),
        AdaBoostClassifier(n_estimators=30, random_state=seed),
    ]
    order = np.random.RandomState(seed).permutation(len(models))
    return [models[index].fit(X, y) for index in order]


SITUATIONS = (
    Situation("forest, out of bag", _forest, (20, 40), oob=True),
    Situation("forest, held out", _forest, (20, 40)),
    Situation("extra trees", _extra_trees, (20, 40)),
    Situation("bagged trees", _bagged, (10, 20)),
    Situation("AdaBoost", _boosted, (10, 20)),
    Situation("library", _library, (6,)),
    Situation("forest of numbers", _forest_regressor, (20, 40), is_regression=True),
    Situation("extra trees of numbers", _extra_trees_regressor, (20, 40), is_regression=True),
)
