"""Boosted models on the command line: the first rounds are kept, judged and written."""

import joblib
import numpy as np
import pandas as pd
import pytest
from command_line import FEATURES, TARGET, make_rows, type_in
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from boosted_models import LIBRARIES, TRUNCATED
from secateurs import load, prune, save

PRUNE = ("prune", "model.joblib", "val.csv", "--target", TARGET, "--trust-pickle")


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def written(model):
    X, y = make_rows(150, 0)
    joblib.dump(model.fit(X, y), "model.joblib")
    return model


WITH_TEXT_LABELS = [name for name in LIBRARIES if name != "xgboost"]


@pytest.mark.parametrize("library", WITH_TEXT_LABELS)
def test_a_boosted_model_is_cut(desk, library):
    model = written(LIBRARIES[library]("Classifier"))
    ended = type_in(
        *PRUNE, "--test", "test.csv", "-o", "small.joblib", "--json", "--tolerance", 0.05
    )
    assert ended.code == 0, ended.err
    rows, test = pd.read_csv("val.csv"), pd.read_csv("test.csv")
    kept = len(prune(model, rows[FEATURES], rows[TARGET], tolerance=0.05).member_indices)
    assert ended.json["members"] == list(range(kept))
    assert ended.json["method"] == "es"
    small = load("small.joblib", trust="pickle")
    assert type(small) is type(model)
    expected = np.ravel(TRUNCATED[library](model, test[FEATURES], kept, "predict"))
    assert np.array_equal(np.ravel(small.predict(test[FEATURES])), expected)
    figures = ended.json["figures"]["accuracy"]
    assert figures["pruned"] == pytest.approx(np.mean(expected == test[TARGET]))
    assert figures["full"] == pytest.approx(
        np.mean(np.ravel(model.predict(test[FEATURES])) == test[TARGET])
    )


def test_without_test_rows_the_rows_to_choose_on_are_judged_on(desk):
    model = written(GradientBoostingClassifier(n_estimators=9, random_state=0))
    ended = type_in(*PRUNE, "-k", "4", "-o", "small.joblib", "--json")
    rows = pd.read_csv("val.csv")
    first = prune(model, rows[FEATURES], rows[TARGET], keep=4).estimator
    right = np.mean(first.predict(rows[FEATURES]) == rows[TARGET])
    assert ended.json["figures"]["accuracy"]["pruned"] == pytest.approx(right)
    assert ended.json["measured_on"].startswith("validation set (120 samples). ")


def test_a_pipeline_around_a_boosted_model_is_written_as_skops(desk):
    X, y = make_rows(150, 0)
    scaled = make_column_transformer((StandardScaler(), FEATURES[:2]), remainder="passthrough")
    model = make_pipeline(scaled, GradientBoostingClassifier(n_estimators=9, random_state=0))
    save(model.fit(X, y), "boosted.skops")
    ended = type_in("prune", "boosted.skops", "val.csv", "--target", TARGET, "-k", "4", "--json")
    assert ended.code == 0, ended.err
    small, rows = load("boosted-pruned.skops"), pd.read_csv("val.csv")
    expected = prune(model, rows[FEATURES], rows[TARGET], keep=4).estimator
    assert np.array_equal(small.predict_proba(X), expected.predict_proba(X))


def test_categories_of_catboost_are_read_as_text(desk):
    model = LIBRARIES["catboost"]("Classifier", cat_features=["town"])
    towns = np.array(["Ulm", "Rom", "Wien"])
    (X, y), (more, truth) = make_rows(150, 0), make_rows(120, 1)
    X["town"], more["town"] = towns[np.arange(150) % 3], towns[np.arange(120) % 3]
    joblib.dump(model.fit(X, y), "model.joblib")
    more.assign(**{TARGET: truth}).to_csv("val.csv", index=False)
    ended = type_in(*PRUNE, "-k", "4", "-o", "small.joblib", "--json")
    assert ended.code == 0, ended.err
    small = load("small.joblib", trust="pickle")
    assert np.array_equal(small.predict_proba(more), model.predict_proba(more, ntree_end=4))


def test_a_calibrated_forest_is_pruned(desk):
    X, y = make_rows(150, 0)
    forest = RandomForestClassifier(9, random_state=0)
    model = CalibratedClassifierCV(forest, cv=2, ensemble=False).fit(X, y)
    joblib.dump(model, "model.joblib")
    ended = type_in(*PRUNE, "-k", "4", "-o", "small.joblib", "--test", "test.csv", "--json")
    assert ended.code == 0, ended.err
    assert ended.out.count("calibrator was fitted to the predictions of the full") == 1
    small, rows = load("small.joblib", trust="pickle"), pd.read_csv("test.csv")
    assert type(small) is CalibratedClassifierCV
    (only,) = small.calibrated_classifiers_
    assert len(only.estimator.estimators_) == 4
    right = np.mean(small.predict(rows[FEATURES]) == rows[TARGET])
    assert ended.json["figures"]["accuracy"]["pruned"] == pytest.approx(right)


REFUSED = {
    "another method": (("--pruner", "comep"), "each tree corrects the trees before it"),
    "a report": (("--report", "page.html"), "members that predict on their own"),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_what_rounds_of_boosting_do_not_allow(desk, words, message):
    written(GradientBoostingClassifier(n_estimators=9, random_state=0))
    ended = type_in(*PRUNE, "-k", "4", "-o", "small.joblib", *words)
    assert ended.code == 3
    assert message in ended.err.splitlines()[-1]
    assert not (desk / "small.joblib").exists()
    assert not (desk / "page.html").exists()


def test_comparing_is_refused_with_the_reason(desk):
    written(GradientBoostingClassifier(n_estimators=9, random_state=0))
    ended = type_in("compare", *PRUNE[1:])
    assert ended.code == 3
    assert "cannot be compared: only its first rounds" in ended.err.splitlines()[-1]
