"""Weighted, refitted and listed models in files: they predict there as they do in memory."""

import joblib
import numpy as np
import onnxruntime
import pytest
import treelite
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs import LeafRefit, export, load, prune, save

X, CODES = make_classification(
    600, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.2, random_state=3
)
X = X.astype(np.float32)
FIT, CHOOSE, CHECK, OTHER = slice(0, 200), slice(200, 400), slice(400, 500), slice(500, 600)
TRUTHS = {
    "two": np.array(["no", "yes", "no"])[CODES],
    "three": np.array(["ant", "bee", "wasp"])[CODES],
    "numbers": X[:, 0] * X[:, 1] + CODES,
}
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
STEPS = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4, 6)]
CLASSIFIERS = {
    "forest": RandomForestClassifier(12, max_depth=5, random_state=0),
    "extra trees": ExtraTreesClassifier(12, max_depth=5, random_state=0),
    "bagged trees": BaggingClassifier(TREE, 9, max_features=0.7, random_state=0),
    "bagged lines": BaggingClassifier(LogisticRegression(), 6, random_state=0),
    "voting": VotingClassifier([(f"{n}", one) for n, one in enumerate(STEPS)], voting="soft"),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(9, random_state=0)),
    "list": [*STEPS, GaussianNB(), LogisticRegression()],
}
REGRESSORS = {
    "forest": RandomForestRegressor(12, max_depth=5, random_state=0),
    "bagged trees": BaggingRegressor(DecisionTreeRegressor(max_depth=4), 9, random_state=0),
}
CASES = [
    *((name, kind) for name in CLASSIFIERS for kind in ("two", "three")),
    *((name, "numbers") for name in REGRESSORS),
]
WAYS = {
    "weights": {"pruner": "caruana", "keep": 4},
    "refitted": {"pruner": "best", "keep": 4, "refit": LeafRefit(2)},
}


def pruned(name, kind, way):
    y = TRUTHS[kind]
    model = (REGRESSORS if kind == "numbers" else CLASSIFIERS)[name]
    if isinstance(model, list):
        model = [clone(one).fit(X[FIT], y[FIT]) for one in model]
    else:
        model = clone(model).fit(X[FIT], y[FIT])
    scoring = "r2" if kind == "numbers" else "neg_log_loss"
    return prune(model, X[CHOOSE], y[CHOOSE], scoring=scoring, random_state=0, **WAYS[way])


def said(model, rows):
    ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    return getattr(model, ask)(rows)


@pytest.mark.parametrize(
    ("name", "kind", "way"),
    [
        *((*case, "weights") for case in CASES),
        *((*c, "refitted") for c in CASES if c[0] in ("forest", "bagged trees", "pipeline")),
    ],
)
def test_files_predict_as_the_model_in_memory(tmp_path, name, kind, way):
    pruning = pruned(name, kind, way)
    if way == "weights":
        assert np.ptp(pruning.weights) > 0
    model = pruning.estimator
    expected = said(model, X[OTHER])
    for suffix in (".skops", ".joblib"):
        path = pruning.save(tmp_path / f"{suffix[1:]}{suffix}")
        loaded = load(path) if suffix == ".skops" else joblib.load(path)
        np.testing.assert_array_equal(said(loaded, X[OTHER]), expected)
    path = export(model, tmp_path / "model.onnx", X[CHECK])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    answers = session.run(None, {"X": X[OTHER]})
    found = answers[0].ravel() if kind == "numbers" else answers[1]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    if "forest" in name or "extra" in name:
        path = export(model, tmp_path / "model.treelite", X[CHECK])
        shares = treelite.gtil.predict(treelite.Model.deserialize(path), X[OTHER])
        np.testing.assert_allclose(shares.reshape(expected.shape), expected, atol=1e-5)


def test_a_weighted_forest_of_two_members_is_checked_and_loaded(tmp_path):
    y = TRUTHS["three"]
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X[FIT], y[FIT])
    for tree, factor in zip(forest.estimators_, (1.5, 0.5)):
        tree.tree_.value[:] *= factor
    loaded = load(save(forest, tmp_path / "forest.skops"))
    np.testing.assert_array_equal(loaded.predict_proba(X[OTHER]), forest.predict_proba(X[OTHER]))
