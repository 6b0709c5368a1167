"""Boosted models of four libraries, rows with missing values, and what each library predicts.

`TRUNCATED` has, for each library, its own way to predict with the first rounds.
"""

from functools import cache
from importlib import import_module
from itertools import islice

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

N_ROUNDS = 20
FIT, CHOOSE, TEST = slice(0, 300), slice(300, 600), slice(600, 800)
X, CODES = make_classification(
    800, 6, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.1,
    random_state=3,
)  # fmt: skip
NUMBERS = make_friedman1(800, 6, noise=1.0, random_state=0)
LABELS = {
    "two labels": np.array(["no", "yes"])[(CODES > 0).astype(int)],
    "three labels": np.array(["ant", "bee", "cat"])[CODES],
    "rare labels": np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 2.8).astype(int)],
}
TASKS = (*LABELS, "numbers")


def of_library(package, name, **options):
    """Return a model of another library; the test is skipped where it is not installed."""
    pytest.importorskip(package)
    return getattr(import_module(package), name)(**options)


def _xgboost(kind, **options):
    return of_library("xgboost", f"XGB{kind}", n_jobs=1, n_estimators=N_ROUNDS, **options)


def _lightgbm(kind, **options):
    options = {"n_estimators": N_ROUNDS, "num_leaves": 6, "verbose": -1} | options
    return of_library("lightgbm", f"LGBM{kind}", n_jobs=1, **options)


def _catboost(kind, **options):
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return of_library("catboost", f"CatBoost{kind}", n_estimators=N_ROUNDS, **quiet, **options)


def _scikit_learn(kind, **options):
    known = {"Classifier": GradientBoostingClassifier, "Regressor": GradientBoostingRegressor}
    return known[kind](n_estimators=N_ROUNDS, random_state=0, **options)


def _histograms(kind, **options):
    known = {
        "Classifier": HistGradientBoostingClassifier,
        "Regressor": HistGradientBoostingRegressor,
    }
    return known[kind](max_iter=N_ROUNDS, random_state=0, **options)


LIBRARIES = {
    "scikit-learn": _scikit_learn,
    "histograms": _histograms,
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "catboost": _catboost,
}


def _by_stage(model, X, n_rounds, method):
    return next(islice(getattr(model, f"staged_{method}")(X), n_rounds - 1, None))


TRUNCATED = {
    "scikit-learn": _by_stage,
    "histograms": _by_stage,
    "xgboost": lambda m, X, n, method: getattr(m, method)(X, iteration_range=(0, n)),
    "lightgbm": lambda m, X, n, method: getattr(m, method)(X, num_iteration=n),
    "catboost": lambda m, X, n, method: getattr(m, method)(X, ntree_end=n),
}


def rows_for(library, task):
    """Return rows and their true values, as the library takes them."""
    if task == "numbers":
        rows, y = NUMBERS
    else:
        rows, y = X, LABELS[task]
        if library == "xgboost":  # takes no text
            y = np.unique(y, return_inverse=True)[1]
    rows = rows.copy()
    if library != "scikit-learn":  # it takes no missing values
        rows[::7, 1] = np.nan
    return rows, y


@cache
def fitted_boosted(library, task, **options):
    """Return a fitted model, and the rows and true values that it was fitted on some of."""
    rows, y = rows_for(library, task)
    kind = "Regressor" if task == "numbers" else "Classifier"
    return LIBRARIES[library](kind, **options).fit(rows[FIT], y[FIT]), rows, y


def methods_of(task):
    """Return the methods that answer for a task."""
    return ("predict",) if task == "numbers" else ("predict", "predict_proba")
