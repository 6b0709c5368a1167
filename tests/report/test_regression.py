"""Reports of regressors: their sections and figures."""

import json

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score

import fitted_regressors as regressors
from secateurs import compare, prune
from secateurs.exceptions import InputError
from secateurs.report import load_run, render, report_data, write_run
from secateurs.report._report_data import SHAPES
from secateurs.report._schema import check_shape

X, Y = regressors.X, regressors.Y
CHOOSE, TEST = regressors.CHOOSE, regressors.TEST


@pytest.fixture(scope="module")
def forest():
    return regressors.fitted_regressors()["forest"]


@pytest.fixture(scope="module")
def pruning(forest):
    return prune(forest, X[CHOOSE], Y[CHOOSE], keep=5, refit=False)


@pytest.fixture(scope="module")
def data(pruning):
    return report_data(pruning, X[TEST], Y[TEST])


def check_all(data):
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    check_shape(data, SHAPES["numbers"])
    assert set(data) == set(SHAPES["numbers"])


def test_all_values_are_plain_and_survive_a_file(data, tmp_path):
    check_all(data)
    assert load_run(write_run(data, tmp_path / "run.json")) == data


def test_sections_of_classes_are_left_out(data):
    page = render(data)
    for title in ("R² against size", "Correlation of errors", "Predicted against true"):
        assert f"<h2>{title}</h2>" in page
    for title in ("What if?", "Confusion", "Agreement and error", "Changed predictions"):
        assert f"<h2>{title}</h2>" not in page
    shown = page[: page.index('<script type="application/json"')]
    assert "accura" not in shown[shown.index("<main>") :]
    assert "R² " in data["verdict"]


def test_figures_are_those_of_the_models(data, forest, pruning):
    lines = {line["figure"]: line for line in data["before_after"]}
    for model, when in ((forest, "before"), (pruning.estimator, "after")):
        predicted = model.predict(X[TEST])
        assert lines["R²"][when] == pytest.approx(r2_score(Y[TEST], predicted))
        error = mean_absolute_error(Y[TEST], predicted)
        assert lines["mean absolute error"][when] == pytest.approx(error)
    points = np.array(data["residuals"]["points"])
    assert np.allclose(points[:, 0], Y[TEST])
    assert np.allclose(points[:, 1], forest.predict(X[TEST]))
    assert np.allclose(points[:, 2], pruning.estimator.predict(X[TEST]))
    off = np.abs(pruning.estimator.predict(X[TEST]) - Y[TEST])
    assert data["residuals"]["kept"]["largest"] == pytest.approx(off.max())


def test_the_score_at_every_size_is_that_of_the_mean(data, pruning, forest):
    own = data["score_size"]
    assert own["whole"] == pytest.approx(r2_score(Y[TEST], forest.predict(X[TEST])))
    curve = own["curves"][data["chosen"]["course"]]
    assert curve["label"] == "joint"
    each = [tree.predict(X[TEST]) for tree in forest.estimators_]
    order = prune(forest, X[CHOOSE], Y[CHOOSE], keep=20).member_indices
    for size, value in zip(curve["sizes"], curve["values"], strict=True):
        mean = np.mean([each[member] for member in order[:size]], axis=0)
        assert value == pytest.approx(r2_score(Y[TEST], mean), abs=1e-6)
    labels = {curve["label"] for curve in own["curves"]}
    assert {"joint", "best", "random"} <= labels
    assert not any(label.startswith("comep") for label in labels)


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_a_comparison_of_regressors(forest, scoring):
    found = compare(forest, X[CHOOSE], Y[CHOOSE], keep=[3, 6], random_state=0, scoring=scoring)
    data = report_data(found)
    check_all(data)
    assert not any("pep" in note for note in data["notes"])
    assert "<h2>Leaderboard</h2>" in render(data)
    if scoring:
        assert all(value > 0 for value in data["score_size"]["curves"][0]["values"])


def test_out_of_bag_numbers_weights_and_tables_are_fine(forest):
    oob = prune(forest, X[regressors.FIT], Y[regressors.FIT], keep=3, oob=True)
    voting = prune(regressors.fitted_regressors()["voting"], X[CHOOSE], Y[CHOOSE], keep=2)
    table = prune(regressors.table(), y=Y[CHOOSE], keep=2)
    for pruning in (oob, voting, table):
        data = report_data(pruning)
        check_all(data)
        assert render(data).startswith("<!doctype html>")
    rows = np.array(report_data(oob)["residuals"]["points"])
    assert len(rows) < 250  # some rows no kept member has left out
    assert "weighted mean of the members" in render(report_data(voting))


def test_many_rows_are_cut_to_a_sample(pruning):
    rows = np.tile(X[TEST], (10, 1)) + 1e-9
    data = report_data(pruning, rows, np.tile(Y[TEST], 10))
    assert data["residuals"]["n_rows"] == 1800
    assert len(data["residuals"]["points"]) == 1500
    assert "a random selection of 1,500 of 1,800 samples" in render(data)


def test_runs_of_an_unknown_kind_are_refused(data, tmp_path):
    spoilt = data | {"ensemble": data["ensemble"] | {"predicts": "hearts"}}
    with pytest.raises(InputError, match=r"run\.json"):
        load_run(write_run(spoilt, tmp_path / "run.json"))


def test_notebooks_show_the_score_of_numbers(pruning):
    text = pruning._repr_html_()
    score = r2_score(Y[CHOOSE], pruning.estimator.predict(X[CHOOSE]))
    assert f"{score:.4f}" in text
    assert "R² of the mean" in text
    assert "accura" not in text
