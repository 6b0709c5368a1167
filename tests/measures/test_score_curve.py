"""Score curves: any score by size on held-out samples."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    make_scorer,
    r2_score,
)
from sklearn.naive_bayes import GaussianNB

from secateurs import EnsembleSelection, compare, prune
from secateurs.exceptions import InputError
from secateurs.outputs.stratified_folds import stratified_fold_indices
from secateurs.problem import Problem
from secateurs.report import report_data

SCORES = ["balanced_accuracy", "neg_log_loss", "neg_brier_score", "roc_auc", "f1"]
N_TRAIN, N_CHOOSE = 300, 600


@pytest.fixture(scope="module")
def rare():
    """A forest, and rows with a rare class."""
    X, y = make_classification(900, 12, n_informative=6, weights=[0.85], random_state=0)
    return RandomForestClassifier(30, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN]), X, y


@pytest.fixture(scope="module")
def numbers():
    X, y = make_regression(900, 8, noise=30, random_state=0)
    return RandomForestRegressor(30, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN]), X, y


def rows(X, y):
    return X[N_TRAIN:N_CHOOSE], y[N_TRAIN:N_CHOOSE]


def held_out(X, y):
    return {"X_test": X[N_CHOOSE:], "y_test": y[N_CHOOSE:]}


@pytest.mark.parametrize("name", [*SCORES, make_scorer(f1_score, average="macro")])
def test_lines_have_the_score_that_the_pruned_model_has(rare, name):
    forest, X, y = rare
    found = compare(forest, *rows(X, y), ["best"], keep=[3, 9], scoring=name, **held_out(X, y))
    board, scorer = found.leaderboard().query("members > 0"), get_scorer(name)
    for line in board.to_dict("records"):
        model = forest
        if line["method"] != "all members":
            model = found.pruning(line["method"], line["keep"]).estimator
        expected = scorer(model, X[N_CHOOSE:], y[N_CHOOSE:])
        np.testing.assert_allclose(line[found.score], expected, rtol=0.01, atol=1e-3)
        assert line["low"] <= line["change"] <= line["high"]
    assert board[found.score].is_monotonic_decreasing


@pytest.mark.parametrize("name", ["r2", "neg_mean_absolute_error", "neg_mean_squared_error"])
def test_lines_of_regressors_have_the_score_that_the_pruned_model_has(numbers, name):
    forest, X, y = numbers
    found = compare(forest, *rows(X, y), ["best"], keep=[3, 9], scoring=name, **held_out(X, y))
    scorer = get_scorer(name)
    for line in found.leaderboard().query("members > 0").to_dict("records"):
        model = forest
        if line["method"] != "all members":
            model = found.pruning(line["method"], line["keep"]).estimator
        expected = scorer(model, X[N_CHOOSE:], y[N_CHOOSE:])
        np.testing.assert_allclose(line[name], expected, rtol=1e-6)


def test_weights_of_rows_count_in_held_out_figures(rare):
    forest, X, y = rare
    weight = np.where(y == 1, 7.0, 1.0)
    weights = {
        "sample_weight": weight[N_TRAIN:N_CHOOSE],
        "sample_weight_test": weight[N_CHOOSE:],
    }
    found = compare(forest, *rows(X, y), ["best"], keep=[5], **held_out(X, y), **weights)
    for line in found.leaderboard().query("members > 0").to_dict("records"):
        model = forest
        if line["method"] != "all members":
            model = found.pruning(line["method"], line["keep"]).estimator
        expected = model.score(X[N_CHOOSE:], y[N_CHOOSE:], weight[N_CHOOSE:])
        np.testing.assert_allclose(line["accuracy"], expected)
    assert any("not in the selection by best, es, random and sin" in note for note in found.notes)
    table = found.pruning("best", 5).summary(
        X[N_CHOOSE:], y[N_CHOOSE:], sample_weight=weight[N_CHOOSE:]
    )
    expected = forest.score(X[N_CHOOSE:], y[N_CHOOSE:], weight[N_CHOOSE:])
    np.testing.assert_allclose(table.loc["accuracy", "before"], expected)
    assert table.loc["accuracy", "low"] <= table.loc["accuracy", "change"]


def test_weights_of_rows_enter_the_choice_of_methods_that_look_at_them(rare):
    forest, X, y = rare
    rows_on, weight = rows(X, y), np.where(rows(X, y)[1] == 1, 7.0, 1.0)
    found = compare(forest, *rows_on, ["caruana"], keep=[5], sample_weight=weight, random_state=0)
    pruned = prune(forest, *rows_on, "caruana", keep=5, sample_weight=weight, random_state=0)
    assert found.pruning("caruana", 5).member_indices.tolist() == pruned.member_indices.tolist()
    without = prune(forest, *rows_on, "caruana", keep=5, random_state=0)
    assert without.member_indices.tolist() != pruned.member_indices.tolist()
    table = pruned.summary()
    assert table.attrs["remarks"][-1] == "Sample weights are used in scores and in the selection."
    line = found.leaderboard().set_index("method").loc["caruana"]
    assert line["accuracy"] == pytest.approx(table.loc["accuracy", "after"])
    # Chosen on each four fifths by the weights of these rows.
    scores, right = Problem.from_input(forest, *rows_on).soft_predictions, np.zeros(len(weight))
    for on, off in stratified_fold_indices(scores.truth, np.random.RandomState(0)):
        chosen = EnsembleSelection(5).fit(scores.rows(on), sample_weight=weight[on])
        right[off] = chosen.predict(scores.rows(off)) == rows_on[1][off]
    assert table.loc["accuracy", "after"] == pytest.approx(np.average(right, weights=weight))


def test_accuracy_beside_another_score_has_the_weights_of_rows(rare):
    forest, X, y = rare
    rows_on, weight = rows(X, y), np.where(rows(X, y)[1] == 1, 7.0, 1.0)
    given = {"scoring": "neg_log_loss", "sample_weight": weight, "random_state": 0}
    pruned = prune(forest, *rows_on, "es", keep=6, **given)
    first = pruned.estimator
    expected = [model.score(*rows_on, weight) for model in (forest, first)]  # on every fold
    figures = pruned.summary()
    assert figures.loc["accuracy", ["before", "after"]].tolist() == pytest.approx(expected)
    told = "Sample weights are used in scores, but not in the selection by es."
    assert told in figures.attrs["remarks"]
    assert told in pruned.summary(X[N_CHOOSE:], y[N_CHOOSE:]).attrs["remarks"]
    data = report_data(pruned, X=rows_on[0])
    lines = {line["figure"]: line for line in data["before_after"]}
    assert lines["accuracy"]["after"] == pytest.approx(expected[1])
    balanced = balanced_accuracy_score(rows_on[1], first.predict(rows_on[0]), sample_weight=weight)
    assert lines["balanced accuracy"]["after"] == pytest.approx(balanced)
    board = compare(forest, *rows_on, ["es"], keep=[6], **given).leaderboard()
    found = board.set_index("method").loc[["all members", "es"], "accuracy"].tolist()
    assert found == pytest.approx(expected)


def test_a_report_on_test_rows_has_their_weights(rare):
    forest, X, y = rare
    pruned = prune(forest, *rows(X, y), "es", keep=6)
    held = held_out(X, y)
    weight = np.where(held["y_test"] == 1, 7.0, 1.0)
    data = report_data(pruned, **held, sample_weight=weight)
    line = next(line for line in data["before_after"] if line["figure"] == "accuracy")
    assert line["before"] == pytest.approx(forest.score(*held.values(), weight))
    assert line["after"] == pytest.approx(pruned.estimator.score(*held.values(), weight))


def test_the_score_asked_for_has_an_interval(rare):
    forest, X, y = rare
    pruned = prune(forest, *rows(X, y), "es", keep=6, scoring="balanced_accuracy")
    for found in (pruned.summary(), pruned.summary(X[N_CHOOSE:], y[N_CHOOSE:])):
        line = found.loc["balanced accuracy"]
        assert line["low"] < line["change"] < line["high"]


def test_another_score_asks_for_another_size(rare):
    forest, X, y = rare
    kept = {
        name: len(
            prune(
                forest, *rows(X, y), "best", tolerance=0.01, scoring=name, random_state=0
            ).member_indices
        )
        for name in ("accuracy", "neg_log_loss")
    }
    assert kept["accuracy"] < kept["neg_log_loss"]


def test_cross_fitted_scores_are_the_mean_over_folds(numbers):
    forest, X, y = numbers
    name = "neg_mean_squared_error"
    found = compare(forest, *rows(X, y), ["es"], keep=[6], scoring=name, random_state=0)
    board = found.leaderboard().set_index("method")
    first_six = np.mean([tree.predict(rows(X, y)[0]) for tree in forest.estimators_[:6]], axis=0)
    expected = -np.mean((first_six - rows(X, y)[1]) ** 2)  # the first members on every fold
    np.testing.assert_allclose(board.loc["es", name], expected, rtol=1e-6)


def test_auto_takes_what_scores_best_by_the_score_asked_for(rare):
    forest, X, y = rare
    chosen = {
        name: prune(forest, *rows(X, y), "auto", keep=4, scoring=name, random_state=0)
        for name in ("accuracy", "roc_auc")
    }
    scorer = get_scorer("roc_auc")
    best = scorer(chosen["roc_auc"].estimator, *rows(X, y))
    assert best >= scorer(chosen["accuracy"].estimator, *rows(X, y)) - 0.05


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"scoring": "neg_mean_squared_error"},
            "regression score, but the members",
        ),
        ({"scoring": "acuracy"}, "Did you mean 'accuracy'"),
        ({"sample_weight": [1, 2]}, r"shape \(2,\)\. Pass a weight for each of the 300 samples"),
        ({"sample_weight": -np.ones(300)}, r"is -1 for sample 0\. Pass .* zero or more"),
        ({"sample_weight": [*[1] * 299, np.nan]}, r"is nan for sample 299\. Pass .* finite"),
        ({"sample_weight": np.zeros(300)}, "is 0 everywhere"),
        ({"sample_weight": ["a"] * 300}, "not numbers"),
    ],
)
def test_what_cannot_be_scored_is_refused(rare, given, told):
    forest, X, y = rare
    with pytest.raises(InputError, match=told):
        Problem.from_input(forest, *rows(X, y), **given)


def test_a_score_of_probabilities_needs_a_soft_vote(rare):
    _, X, y = rare
    voting = VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())]).fit(X, y)
    with pytest.raises(InputError, match="but VotingClassifier votes by labels"):
        prune(voting, X, y, keep=1, scoring="roc_auc")


def test_a_target_of_numbers_is_refused_for_classifiers(rare):
    forest, X, y = rare
    with pytest.raises(InputError, match=r"not a label: .* continuous target, but the members"):
        prune(forest, X, y + 0.5, keep=3)


def test_cross_fitted_r2_is_that_of_all_rows_together(numbers):
    forest, X, y = numbers
    found = compare(forest, *rows(X, y), ["es"], keep=[6], random_state=0).leaderboard()
    first_six = np.mean([tree.predict(rows(X, y)[0]) for tree in forest.estimators_[:6]], axis=0)
    expected = r2_score(rows(X, y)[1], first_six)
    np.testing.assert_allclose(found.set_index("method").loc["es", "r2"], expected, rtol=1e-6)


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_few_rows_are_enough_for_regressors(numbers, n_rows):
    forest, X, y = numbers
    few = X[N_TRAIN : N_TRAIN + n_rows], y[N_TRAIN : N_TRAIN + n_rows]
    assert len(prune(forest, *few, "best", tolerance=0.1).member_indices) >= 1
    table = prune(forest, *few, "caruana", keep=3).summary(X[N_CHOOSE:][:1], y[N_CHOOSE:][:1])
    assert table.loc["members", "after"] <= 3
