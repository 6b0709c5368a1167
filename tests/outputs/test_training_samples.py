"""Out-of-bag votes: warnings for samples that are not the training samples in their order."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateurs import collect_predictions, collect_votes, compare, prune

RNG = np.random.default_rng(0)
LABELS = np.array(["ant", "bee", "cat"])
CODES = RNG.integers(3, size=240)
X = RNG.normal(size=(240, 4)) + np.eye(3, 4)[CODES]
Y = LABELS[CODES]
ORDER = RNG.permutation(240)
MODELS = {
    "forest": RandomForestClassifier(8, random_state=0),
    "shallow forest": RandomForestClassifier(8, max_depth=3, random_state=0),
    "weighted forest": RandomForestClassifier(8, class_weight="balanced", random_state=0),
    "extra trees": ExtraTreesClassifier(8, bootstrap=True, max_samples=0.5, random_state=0),
    "bagging": BaggingClassifier(n_estimators=8, max_features=0.5, random_state=0),
    "parts": BaggingClassifier(n_estimators=8, bootstrap=False, max_samples=0.5, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(8, random_state=0)),
}
doubted = pytest.warns(
    UserWarning, match=r"not the samples that member \d was trained on, or not in"
)


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, Y)


def test_the_training_samples_in_their_order_give_no_warning(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collect_votes(model, X, oob=True)
        prune(model, X, Y, "best", keep=2, oob=True)
        prune(model, X.astype(np.float32), Y, "best", keep=2, oob=True)


def test_shuffled_samples_give_a_warning(model):
    with doubted:
        prune(model, X[ORDER], Y[ORDER], "best", keep=2, oob=True)
    with doubted:
        compare(model, X[ORDER], Y[ORDER], ["best"], keep=2, oob=True)
    with doubted:
        collect_votes(model, X[ORDER], oob=True)


def test_other_samples_give_a_warning(model):
    with doubted:
        prune(model, X + 0.3, Y, "best", keep=2, oob=True)


def test_other_samples_give_a_warning_for_regressors():
    forest = RandomForestRegressor(8, random_state=0).fit(X, CODES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(forest, X, CODES, "best", keep=2, oob=True)
        collect_predictions(forest, X, oob=True)
    with doubted:
        prune(forest, X[ORDER], CODES[ORDER], "best", keep=2, oob=True)
    with doubted:
        collect_predictions(forest, X[ORDER], oob=True)


def test_labels_in_another_order_give_a_warning():
    with doubted:
        prune(MODELS["forest"].fit(X, Y), X, Y[ORDER], keep=2, oob=True)


def test_corrected_labels_and_sample_weights_give_no_warning():
    corrected = np.where(np.arange(240) % 40, Y, "bee")
    weighted = RandomForestClassifier(8, max_depth=2, random_state=0)
    weighted.fit(X, Y, sample_weight=np.where(Y == "ant", 0.0, np.arange(240) % 9 + 1.0))
    balanced = RandomForestClassifier(
        8, max_depth=1, class_weight={"ant": 90, "bee": 1, "cat": 1}, random_state=0
    ).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(MODELS["forest"].fit(X, Y), X, corrected, keep=2, oob=True)
        prune(weighted, X, Y, "best", keep=2, oob=True)
        prune(balanced, X, Y, "best", keep=2, oob=True)


def test_members_without_a_record_give_no_warning():
    lines = BaggingClassifier(LogisticRegression(), 8, random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(lines, X[ORDER], Y[ORDER], keep=2, oob=True)
