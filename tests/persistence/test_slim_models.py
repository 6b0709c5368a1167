"""Slim models predict the same to the last bit, and are smaller."""

import pickle
import zipfile

import numpy as np
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, export_text

from secateurs import export, load, save
from secateurs.exceptions import UnsupportedEnsembleError
from secateurs.persistence.slim_models import has_missing_splits, round_down_to_float32, slim

X, Y = make_classification(600, 8, n_informative=5, n_classes=3, random_state=0)
HOLES = np.where(np.random.RandomState(0).rand(*X.shape) < 0.1, np.nan, X)
FOREST = RandomForestClassifier(10, random_state=0)
MODELS = {
    "forest": FOREST,
    "extra": ExtraTreesClassifier(10, random_state=0),
    "bagged": BaggingClassifier(DecisionTreeClassifier(), 10, max_features=0.5, random_state=0),
    "boosted": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=5),
    "gradient": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0)),
    "voting": VotingClassifier([("a", FOREST), ("b", LogisticRegression())], voting="soft"),
    "calibrated": CalibratedClassifierCV(FOREST, cv=2),
    "tree": DecisionTreeClassifier(random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_slim_models_predict_the_same(name):
    model = MODELS[name].fit(X[:300], Y[:300])
    before = pickle.dumps(model)
    small = slim(model)
    assert type(small) is type(model)
    assert_array_equal(small.predict(X), model.predict(X))
    assert_array_equal(small.predict_proba(X), model.predict_proba(X))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(10, random_state=0),
        ExtraTreesRegressor(10, random_state=0),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
    ],
)
def test_slim_regressors_predict_the_same(model):
    samples, y = make_regression(500, 6, random_state=0)
    model.fit(samples[:250], y[:250])
    assert_array_equal(slim(model).predict(samples), model.predict(samples))


def test_missing_values_go_the_same_way_and_are_still_recognised():
    learnt = RandomForestClassifier(10, random_state=0).fit(HOLES[:300], Y[:300])
    plain = RandomForestClassifier(10, random_state=0).fit(X[:300], Y[:300])
    for model, has_missing in ((learnt, True), (plain, False)):
        small = slim(model)
        assert_array_equal(small.predict_proba(HOLES), model.predict_proba(HOLES))
        trees = [tree.tree_ for tree in small.estimators_]
        assert any(map(has_missing_splits, trees)) is has_missing
        assert any(map(has_missing_splits, [t.tree_ for t in slim(small).estimators_])) is (
            has_missing
        )


def near_float32(value):
    """Return float64 thresholds around a float32, and features at and beside it."""
    low = np.nextafter(value, np.float32(-np.inf))
    high = np.nextafter(value, np.float32(np.inf))
    return [low, value, high]


@given(
    st.floats(allow_nan=False, width=64),
    st.lists(st.floats(allow_nan=False, width=32), max_size=10),
)
def test_rounded_thresholds_split_float32_features_equally(threshold, features):
    (rounded,) = round_down_to_float32(np.array([threshold]))
    with np.errstate(over="ignore"):
        beside = near_float32(np.float32(threshold))
    values = np.array([*features, *beside, np.inf, -np.inf], dtype=np.float32).astype(float)
    assert_array_equal(values <= threshold, values <= float(rounded))


def test_thresholds_between_float32_values_split_equally():
    """Two features are neighbours in float32; the threshold between them is no float32."""
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    samples = np.array([[low], [high]], dtype=np.float32)
    tree = DecisionTreeClassifier(random_state=0).fit([[0.0], [2.0]], [0, 1])
    for threshold in (float(low), (float(low) + float(high)) / 2, 1.0 + 1e-8, np.nextafter(1.0, 2)):
        tree.tree_.threshold[0] = threshold
        small = slim(tree)
        assert_array_equal(tree.predict(samples), [0, 1])
        assert_array_equal(small.predict(samples), [0, 1])
        assert small.tree_.threshold[0] == low


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, 1e39, -1e39, 3.4028235e38, 1e-46, -1e-46])
def test_thresholds_beyond_float32_split_equally(threshold):
    largest = np.finfo(np.float32).max
    samples = np.array([[-largest], [-1e-45], [0.0], [1e-45], [largest]], dtype=np.float32)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(samples, [0, 0, 0, 1, 1])
    tree.tree_.threshold[0] = threshold
    assert_array_equal(slim(tree).predict(samples), tree.predict(samples))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (HistGradientBoostingClassifier(max_iter=3), "HistGradientBoostingClassifier cannot"),
        (IsolationForest(n_estimators=3), "IsolationForest cannot"),
        (LogisticRegression(), "has no fitted decision trees"),
        (
            VotingClassifier([("a", FOREST), ("b", HistGradientBoostingClassifier(max_iter=3))]),
            "HistGradientBoostingClassifier cannot",
        ),
    ],
)
def test_other_models_are_refused_with_the_reason(model, told):
    model.fit(X, Y)
    with pytest.raises(UnsupportedEnsembleError, match=told) as caught:
        slim(model)
    assert "\n" not in str(caught.value)


def test_classes_of_other_libraries_are_refused():
    class Odd(RandomForestClassifier):
        """A forest whose predictions may read anything."""

    with pytest.raises(UnsupportedEnsembleError, match="may need more than the leaves"):
        slim(Odd(3).fit(X, Y))
    lightgbm = pytest.importorskip("lightgbm")
    with pytest.raises(UnsupportedEnsembleError, match="float32"):
        slim(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, Y))


@pytest.mark.parametrize(("suffix", "factor"), [(".skops", 1.7), (".joblib", 2.0)])
def test_slim_files_are_smaller_and_load(tmp_path, suffix, factor):
    samples, y = make_classification(2000, 20, n_informative=8, random_state=0)
    forest = RandomForestClassifier(30, random_state=0).fit(samples, y)
    whole = save(forest, tmp_path / f"whole{suffix}")
    small = save(forest, tmp_path / f"small{suffix}", slim=True)
    assert whole.stat().st_size > factor * small.stat().st_size
    again = load(small, trust="pickle")
    assert_array_equal(again.predict_proba(samples), forest.predict_proba(samples))


def test_unused_bytes_of_slim_nodes_are_zero():
    tree = slim(FOREST.fit(X, Y)).estimators_[0].tree_
    nodes = tree.__getstate__()["nodes"]
    used = np.zeros(nodes.itemsize, dtype=bool)
    for dtype, offset in nodes.dtype.fields.values():
        used[offset : offset + dtype.itemsize] = True
    raw = np.frombuffer(nodes.tobytes(), dtype=np.uint8).reshape(len(nodes), -1)
    assert not raw[:, ~used].any()


def test_slim_skops_files_load_with_plain_skops_and_store_class_labels_once(tmp_path):
    labels = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    forest = RandomForestClassifier(10, random_state=0).fit(X, labels)
    path = save(forest, tmp_path / "small.skops", slim=True)
    again = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    assert len({id(tree.classes_) for tree in again.estimators_}) == 1
    with zipfile.ZipFile(path) as archive:  # nodes, values and number of classes of each tree
        assert len(archive.namelist()) <= 3 * 10 + 4


def test_slim_models_can_be_shown_wrapped_and_exported(tmp_path):
    model = RandomForestClassifier(10, random_state=0).fit(X[:300], Y[:300])
    small = slim(model)
    assert export_text(small.estimators_[0])
    frozen = slim(FrozenEstimator(model))
    assert_array_equal(frozen.predict(X), model.predict(X))
    for suffix, needs in ((".onnx", "onnxruntime"), (".treelite", "treelite")):
        pytest.importorskip(needs)
        export(small, tmp_path / f"small{suffix}", X[300:])  # compares predictions
