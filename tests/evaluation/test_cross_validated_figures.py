"""Cross-validated scores of prunings without a test set."""

import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.metrics import balanced_accuracy_score, log_loss, r2_score
from sklearn.tree import DecisionTreeClassifier

import cases
import naive
from fitted_models import CHOOSE, CODES, FIT, X, Y
from secateurs import EnsembleSelection, LeafRefit, Predictions, collect_votes, compare, prune
from secateurs.evaluation import held_out_figures
from secateurs.exceptions import InputError
from secateurs.outputs.stratified_folds import stratified_fold_indices

TURNS = "Cross-validated: selected on four fifths, scored on the remaining fifth, five times."


def parts(truth):
    """Return samples to select on and held-out samples, as the package draws them."""
    return list(stratified_fold_indices(np.asarray(truth), np.random.RandomState(0)))


def majority(votes, members):
    """The label with the most votes, the lowest of those that tie."""
    labels = sorted({label for row in votes for label in row})
    return [max(labels, key=[row[m] for m in members].count) for row in votes]


def test_labels_are_scored_on_held_out_samples():
    votes, y = cases.plain(9, 60, 3)
    votes, y = np.asarray(votes), np.asarray(y)
    after = np.empty_like(y)
    for chosen_on, held_out in parts(y):
        members = naive.comep(votes[chosen_on].tolist(), y[chosen_on].tolist(), 3, 0.5, "spread")
        after[held_out] = majority(votes[held_out].tolist(), members)
    before = np.array(majority(votes.tolist(), range(9)))
    table = prune(votes, None, y, "comep", 3).summary()
    assert table.index.name == "validation set (60 samples), cross-validated"
    assert table.attrs["remarks"] == [TURNS]
    assert list(table.index) == ["members", "accuracy", "balanced accuracy"]  # no models: no costs
    right, still = before == y, after == y
    assert table.loc["accuracy", ["before", "after"]].tolist() == [right.mean(), still.mean()]
    worth = still.astype(float) - right
    half = 1.959964 * math.sqrt(worth.var() / 60)
    expected = [worth.mean(), worth.mean() - half, worth.mean() + half]
    np.testing.assert_allclose(table.loc["accuracy", ["change", "low", "high"]], expected, 1e-5)
    for column, said in (("before", before), ("after", after)):
        expected = balanced_accuracy_score(y, said)
        np.testing.assert_allclose(table.loc["balanced accuracy", column], expected)


@pytest.fixture(scope="module")
def shares(forest):
    """Probabilities of each tree: (members, rows, classes)."""
    return np.stack([tree.predict_proba(X[CHOOSE]) for tree in forest.estimators_])


def best_on(forest, rows, keep):
    """Members that are right most often on some rows, the first of those that tie first."""
    right = [(tree.predict(X[CHOOSE][rows]) == CODES[CHOOSE][rows]).sum() for tree in forest]
    return sorted(range(len(right)), key=lambda member: -right[member])[:keep]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("known", ["scores", "rows"])
def test_a_forest_is_judged_by_its_own_vote(forest, shares, known, weighted):
    weight = np.random.RandomState(1).rand(200) if weighted else None
    scoring = "neg_log_loss" if known == "scores" else None
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "best", 4, scoring=scoring, sample_weight=weight)
    given = {} if known == "scores" else {"X": X[CHOOSE]}
    table = pruning.summary(**given)
    whole, after = shares.mean(axis=0), np.empty_like(shares[0])
    for chosen_on, held_out in parts(CODES[CHOOSE]):
        after[held_out] = shares[best_on(forest, chosen_on, 4)][:, held_out].mean(axis=0)
    for column, said in (("before", whole), ("after", after)):
        loss = log_loss(Y[CHOOSE], said, labels=forest.classes_, sample_weight=weight)
        np.testing.assert_allclose(table.loc["log loss", column], loss, rtol=1e-3)
        right = forest.classes_[said.argmax(axis=1)] == Y[CHOOSE]
        np.testing.assert_allclose(
            table.loc["accuracy", column], np.average(right, weights=weight), rtol=1e-12
        )
    assert table.loc["megabytes", "after"] == len(pickle.dumps(pruning.estimator)) / 1e6
    assert table.loc["ms for 1 row", "after"] > 0
    assert ("ms for 1000 rows" in table.index) == (known == "rows")
    blind = "Sample weights are used in scores, but not in the selection by best."
    assert table.attrs["remarks"] == [TURNS] + [blind] * weighted


def test_labels_are_counted_with_a_remark_if_probabilities_are_unknown(forest):
    table = prune(forest, X[CHOOSE], Y[CHOOSE], "comep", 4).summary()
    labels = np.stack([tree.predict(X[CHOOSE]) for tree in forest.estimators_], axis=1)
    right = np.mean(np.array(majority(labels.tolist(), range(25))) == CODES[CHOOSE])
    assert table.loc["accuracy", "before"] == right
    _, remark = table.attrs["remarks"]
    assert "Labels are counted" in remark


def test_regressors_are_judged_by_their_scores():
    rng = np.random.RandomState(0)
    rows = rng.rand(160, 4)
    numbers = rows @ [3.0, 1.0, 0.0, -2.0] + 0.1 * rng.randn(160)
    model = RandomForestRegressor(12, max_depth=4, random_state=0).fit(rows[:80], numbers[:80])
    chosen, truth = rows[80:], numbers[80:]
    pruning = prune(model, chosen, truth, "best", 3)
    said = np.stack([tree.predict(chosen) for tree in model.estimators_])
    after = np.empty(80)
    for chosen_on, held_out in parts(truth):
        errors = ((said[:, chosen_on] - truth[chosen_on]) ** 2).mean(axis=1)
        after[held_out] = said[np.argsort(errors, kind="stable")[:3]][:, held_out].mean(axis=0)
    table = pruning.summary()
    expected = [r2_score(truth, said.mean(axis=0)), r2_score(truth, after)]
    np.testing.assert_allclose(table.loc["R²", ["before", "after"]], expected, rtol=1e-6)
    off = np.abs(after - truth).mean()
    np.testing.assert_allclose(table.loc["mean absolute error", "after"], off, rtol=1e-6)
    assert table.loc["ms for 1 row", "before"] > 0
    assert f"{expected[1]:.4f}" in pruning._repr_html_()


def test_weights_of_members_count_on_rows_held_out(forest, shares):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "caruana", 4, scoring="neg_log_loss")
    after = np.empty_like(shares[0])
    for chosen_on, held_out in parts(CODES[CHOOSE]):
        some = Predictions.encode(shares[:, chosen_on].transpose(1, 0, 2), CODES[CHOOSE][chosen_on])
        chosen = EnsembleSelection(4, scoring="neg_log_loss").fit(some)
        picked = shares[chosen.member_indices_][:, held_out]
        after[held_out] = np.einsum("mnc,m->nc", picked, chosen.weights_)
    loss = log_loss(Y[CHOOSE], after.clip(0, 1), labels=forest.classes_)
    np.testing.assert_allclose(pruning.summary().loc["log loss", "after"], loss, rtol=2e-2)


def test_boosted_models_are_judged_on_all_rows():
    model = GradientBoostingClassifier(n_estimators=9, random_state=0).fit(X[FIT], Y[FIT])
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], keep=4)
    table = pruning.summary()
    assert table.index.name == "validation set (200 samples)"
    for column, served in (("before", model), ("after", pruning.estimator)):
        assert table.loc["accuracy", column] == served.score(X[CHOOSE], Y[CHOOSE])
    assert "The first rounds are kept" in pruning._repr_html_()


def test_scores_of_refitted_trees_have_a_remark(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "best", 4, refit=LeafRefit(1))
    table = pruning.summary()
    assert any("before they were refitted" in remark for remark in table.attrs["remarks"])
    assert table.loc["megabytes", "after"] == len(pickle.dumps(pruning.estimator)) / 1e6


def test_out_of_bag_summaries_say_that_scores_of_few_members_are_low(forest):
    """A single tree predicts a third of the samples, and the others would count as wrong."""
    pruning = prune(forest, X[FIT], Y[FIT], "joint", 4, oob=True, random_state=0)
    table = pruning.summary()
    pattern = r"Out-of-bag: a member predicts about 3\d % of the samples, so that the scores of few"
    assert any(re.match(pattern, remark) for remark in table.attrs["remarks"])
    assert "best single member" not in table.attrs["baselines"]
    tested = pruning.summary(X[CHOOSE], Y[CHOOSE])
    assert not any("Out-of-bag" in remark for remark in tested.attrs["remarks"])
    assert "best single member" in tested.attrs["baselines"]


def test_collapses_before_refitting_are_a_note(forest):
    """Refitting often makes them good: a warning would be a false alarm."""
    pruning = prune(forest, X[FIT], Y[FIT], "joint", 2, oob=True, refit=True, random_state=0)
    alarms = pruning.summary().attrs["alarms"]
    assert not any(alarm.startswith("Warning: Scores other") for alarm in alarms)
    assert any(
        re.match(r"Before refitting, scores other than accuracy are much worse: log loss", alarm)
        for alarm in alarms
    )


def test_the_score_of_the_mean_of_the_target_is_zero():
    values = X[:, 0] + X[:, 1]
    table = np.stack([values, values + X[:, 2], values - X[:, 3]], axis=1)
    text = repr(prune(table, None, values - values.mean(), keep=2).summary())
    assert "mean of the target 0.0000," in text


def test_the_notebook_shows_what_the_summary_says_and_works_it_out_once(forest, monkeypatch):
    asked = []
    judge = held_out_figures.evaluate_with_alternatives
    monkeypatch.setattr(
        held_out_figures,
        "evaluate_with_alternatives",
        lambda *a, **k: asked.append(a) or judge(*a, **k),
    )
    pruning = prune(forest, X[FIT], Y[FIT], "comep", 4, oob=True)
    shown = [pruning._repr_html_() for _ in range(3)]
    assert shown[0] == shown[1] == shown[2]
    table = pruning.summary()
    assert len(asked) == 1
    assert f'<td class="number">{table.loc["accuracy", "after"]:.4f}</td>' in shown[0]
    for word in ("cross-validated", "MB as pickle", "ms for 1 row", "4 of 25 members"):
        assert word in shown[0]
    again = pickle.loads(pickle.dumps(pruning)).summary()
    pd.testing.assert_frame_equal(again, table)
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["best"], 3).pruning("best", 3)
    assert "ms for 1 row" in found.summary().index


def test_a_notebook_does_not_wait_for_slow_methods(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "best", 4)
    pruning.pruner._selection_seconds = 60.0
    assert "pruning.summary() computes cross-validated scores" in pruning._repr_html_()
    pruning.summary()
    assert "cross-validated: selected on" in pruning._repr_html_()


@pytest.mark.filterwarnings("ignore:y has one class")
def test_with_too_few_samples_the_notebook_shows_the_rest():
    pruning = prune([[0, 1, 1]], None, [1], "re", 2)
    assert "2 of 3 members" in pruning._repr_html_()
    with pytest.raises(InputError, match="at least 2 samples"):
        pruning.summary()


@pytest.mark.parametrize("kind", ["AdaBoost", "weighted vote"])
def test_weights_of_votes_count_without_the_samples(kind):
    """A pruning does not store the samples, but the votes and their weights."""
    X, y = make_classification(900, 20, n_informative=8, random_state=5)
    y = np.array(["no", "yes"])[y]
    train, rest = slice(0, 300), slice(300, 900)
    if kind == "AdaBoost":
        model = AdaBoostClassifier(n_estimators=30, random_state=0)
    else:
        trees = [
            (f"t{i}", DecisionTreeClassifier(max_features=1, random_state=i)) for i in range(9)
        ]
        model = VotingClassifier(trees, weights=[9, 5, 3, 2, 1, 1, 1, 1, 1])
    model.fit(X[train], y[train])
    pruning = prune(model, X[rest], y[rest], "es", keep=7)
    for summary in (pruning.summary(), pruning.summary(X=X[rest])):
        assert summary.loc["accuracy", "before"] == model.score(X[rest], y[rest])
        assert summary.loc["accuracy", "after"] == pruning.estimator.score(X[rest], y[rest])
    votes = collect_votes(model, X[rest])
    assert np.mean((votes == "yes").mean(axis=1) > 0.5) != np.mean(model.predict(X[rest]) == "yes")
