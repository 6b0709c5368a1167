"""Fresh forests: compared with forests that the tests train themselves, with scikit-learn alone."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateurs import compare
from secateurs.exceptions import InputError, SecateursWarning, UnsupportedEnsembleError

pytestmark = pytest.mark.filterwarnings("ignore:.*do not have OOB scores:UserWarning")
SIZES = (6, 15)
LEAVES = (1, 3, 5, 10)


@pytest.fixture(scope="module")
def samples():
    X, y = make_classification(600, 12, n_informative=5, n_classes=3, flip_y=0.15, random_state=1)
    return X, np.array(["ape", "bee", "cat"])[y]


@pytest.fixture(scope="module")
def forest(samples):
    X, y = samples
    return RandomForestClassifier(30, max_features=3, random_state=2).fit(X[:250], y[:250])


def best_of_leaves(forest, size, seed, X, y, *, sample_weight=None, chosen=None):
    """Train forests of all leaf sizes; return the best by scikit-learn's out-of-bag accuracy.

    A chosen leaf size may be worse by the samples on which two classes tie up to rounding.
    """
    trained, scores = {}, {}
    for leaf in LEAVES:
        trained[leaf] = clone(forest).set_params(
            n_estimators=size, min_samples_leaf=leaf, random_state=seed, oob_score=True
        )
        trained[leaf].fit(X, y, sample_weight)
        shares = grown(trained[leaf]).fit(X, y, sample_weight).oob_decision_function_
        has_votes = shares.sum(axis=1) > 0
        right = trained[leaf].classes_[shares.argmax(axis=1)] == y
        weight = None if sample_weight is None else sample_weight[has_votes]
        scores[leaf] = np.average(right[has_votes], weights=weight)
    best = max(scores, key=scores.get)
    assert chosen is None or scores[chosen] >= scores[best] - 2.5 / len(y)
    return trained[best if chosen is None else chosen]


def grown(forest):
    """A forest in which about as many trees as in the given one are out of bag for a sample."""
    return clone(forest).set_params(n_estimators=int(np.ceil(np.e * forest.n_estimators)))


def rows_by_size(comparison):
    board = comparison.leaderboard()
    return board[board["method"] == "fresh forest"].set_index("keep")


def twin_of(comparison, size, forest, X, y, **options):
    """Train the fresh forest of a comparison again."""
    found = comparison.fresh.forests[size]
    seed, chosen = found.model.random_state, found.min_samples_leaf
    return best_of_leaves(forest, size, seed, X, y, chosen=chosen, **options)


def seed_of(comparison, size):
    return comparison.fresh.forests[size].model.random_state


def run(forest, X, y, **options):
    return compare(forest, X, y, ["joint"], keep=SIZES, fresh=True, random_state=0, **options)


@pytest.mark.parametrize("oob", [True, False])
def test_with_a_test_set_it_is_the_forest_that_scikit_learn_trains(samples, forest, oob):
    X, y = samples
    test = {"X_test": X[400:], "y_test": y[400:]}
    if oob:
        end = 250
        comparison = run(forest, X[:250], y[:250], oob=True, **test)
    else:
        end = 400
        training = {"X_train": X[:250], "y_train": y[:250]}
        comparison = run(forest, X[250:400], y[250:400], **training, **test)
    rows = rows_by_size(comparison)
    assert list(rows.index.sort_values()) == list(SIZES)
    for size in SIZES:
        twin = twin_of(comparison, size, forest, X[:end], y[:end])
        assert rows["accuracy"][size] == pytest.approx(twin.score(X[400:], y[400:]))
        assert rows["change"][size] == pytest.approx(
            twin.score(X[400:], y[400:]) - forest.score(X[400:], y[400:])
        )
        found = comparison.fresh.forests[size]
        assert (found.model.predict_proba(X[400:]) == twin.predict_proba(X[400:])).all()
        assert rows["bytes"][size] == len(pickle.dumps(found.model))
        assert rows["members"][size] == size


def test_without_a_test_set_training_samples_are_scored_out_of_bag(samples, forest):
    X, y = samples[0][:250], samples[1][:250]
    comparison = run(forest, X, y, oob=True)
    for size in SIZES:
        twin = twin_of(comparison, size, forest, X, y)
        shares = twin.oob_decision_function_
        has_vote = shares.sum(axis=1) > 0  # a sample without any vote counts as wrong
        votes = twin.classes_[shares.argmax(axis=1)]
        expected = np.mean(has_vote & (votes == y))
        found = rows_by_size(comparison)["accuracy"][size]
        assert found == pytest.approx(expected, abs=1.5 / len(y))  # a tie up to rounding
        assert expected < twin.score(X, y) - 0.1  # far from the score on its training samples


def test_without_a_test_set_held_out_samples_are_cross_validated(samples, forest):
    X, y = samples
    X_train, y_train, X_val, y_val = X[:250], y[:250], X[250:400], y[250:400]
    folds = list(KFold(3).split(X_val))
    comparison = run(forest, X_val, y_val, X_train=X_train, y_train=y_train, cv=folds)
    for size in SIZES:
        n_right, seed = 0, seed_of(comparison, size)
        for selected, held_out in folds:
            X_all, y_all = np.r_[X_train, X_val[selected]], np.r_[y_train, y_val[selected]]
            twin = best_of_leaves(forest, size, seed, X_all, y_all)
            n_right += (twin.predict(X_val[held_out]) == y_val[held_out]).sum()
        assert rows_by_size(comparison)["accuracy"][size] == pytest.approx(n_right / len(y_val))


def test_the_leaf_size_and_the_rows_follow_the_score_that_is_asked_for(samples, forest):
    X, y = samples
    comparison = run(
        forest,
        X[:250],
        y[:250],
        oob=True,
        scoring=["neg_log_loss", "accuracy"],
        X_test=X[400:],
        y_test=y[400:],
    )
    size = 15
    losses = {}
    for leaf in LEAVES:
        twin = clone(forest).set_params(
            n_estimators=size,
            min_samples_leaf=leaf,
            random_state=seed_of(comparison, size),
            oob_score=True,
        )
        shares = grown(twin.fit(X[:250], y[:250])).fit(X[:250], y[:250]).oob_decision_function_
        known = np.isfinite(shares).all(axis=1) & (shares.sum(axis=1) > 0)
        losses[leaf] = log_loss(y[:250][known], shares[known]), twin
    leaf = min(losses, key=lambda leaf: losses[leaf][0])
    row = rows_by_size(comparison).loc[size]
    assert comparison.fresh.forests[size].min_samples_leaf == leaf
    expected = log_loss(y[400:], losses[leaf][1].predict_proba(X[400:]))
    assert row["neg_log_loss"] == pytest.approx(-expected)
    assert row["accuracy"] == pytest.approx(losses[leaf][1].score(X[400:], y[400:]))


def test_weights_of_training_samples_are_used_for_training(samples, forest):
    X, y = samples[0][:250], samples[1][:250]
    weight = np.where(y == "ape", 9.0, 1.0)
    test = {"X_test": samples[0][400:], "y_test": samples[1][400:]}
    comparison = run(forest, X, y, oob=True, sample_weight=weight, **test)
    twin = twin_of(comparison, 15, forest, X, y, sample_weight=weight)
    found = comparison.fresh.forests[15].model
    assert (found.predict_proba(X) == twin.predict_proba(X)).all()


def test_the_forest_of_a_pipeline_is_trained_with_its_preprocessing(samples):
    X, y = pd.DataFrame(samples[0]).add_prefix("column "), samples[1]
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0))
    pipeline.fit(X[:250], y[:250])
    training = {"X_train": X[:250], "y_train": y[:250]}
    comparison = run(pipeline, X[250:400], y[250:400], X_test=X[400:], y_test=y[400:], **training)
    found = comparison.fresh.forests[15].model
    assert found[0].n_samples_seen_ == 400
    assert list(found[0].feature_names_in_) == list(X.columns)
    expected = found.score(X[400:], y[400:])
    assert rows_by_size(comparison)["accuracy"][15] == pytest.approx(expected)


def test_sparse_samples_are_stacked(samples, forest):
    X, y = sparse.csr_matrix(samples[0]), samples[1]
    training = {"X_train": X[:250], "y_train": y[:250]}
    comparison = run(forest, X[250:400], y[250:400], X_test=X[400:], y_test=y[400:], **training)
    dense = twin_of(comparison, 15, forest, samples[0][:400], y[:400])
    expected = dense.score(samples[0][400:], y[400:])
    assert rows_by_size(comparison)["accuracy"][15] == pytest.approx(expected)


def test_regressors_are_trained_as_well():
    X, y = make_regression(400, 6, noise=40, random_state=0)
    forest = RandomForestRegressor(20, random_state=0).fit(X[:200], y[:200])
    comparison = run(forest, X[:200], y[:200], oob=True, X_test=X[200:], y_test=y[200:])
    twins = {}
    for leaf in LEAVES:
        twin = clone(forest).set_params(
            n_estimators=15,
            min_samples_leaf=leaf,
            random_state=seed_of(comparison, 15),
            oob_score=True,
        )
        predicted = grown(twin.fit(X[:200], y[:200])).fit(X[:200], y[:200]).oob_prediction_
        known = predicted != 0
        twins[r2_score(y[:200][known], predicted[known])] = twin
    expected = twins[max(twins)].score(X[200:], y[200:])
    assert rows_by_size(comparison)["r2"][15] == pytest.approx(expected)


def test_it_is_no_candidate_for_the_best_method(samples, forest):
    X, y = samples[0][:250], samples[1][:250]
    comparison = run(forest, X, y, oob=True)
    without = compare(forest, X, y, ["joint"], keep=SIZES, oob=True, random_state=0)
    assert comparison.best == without.best
    size = comparison.best[1]
    score = rows_by_size(comparison)["accuracy"][size]
    fresh = f"; a fresh forest of {size} trees: accuracy {score:.3f}"
    assert comparison.advice == without.advice + fresh
    assert comparison.members("fresh forest", 6) == []
    board = comparison.leaderboard()
    others = board[board["method"] != "fresh forest"].drop(columns=["ms", "seconds", "pareto"])
    expected = without.leaderboard().drop(columns=["ms", "seconds", "pareto"])
    pd.testing.assert_frame_equal(others.reset_index(drop=True), expected)
    assert without.fresh is None
    assert any("min_samples_leaf" in note for note in comparison.notes)


def test_the_report_lists_it(samples, forest, tmp_path):
    X, y = samples[0][:250], samples[1][:250]
    page = run(forest, X, y, oob=True).report(tmp_path / "page.html").read_text("utf-8")
    assert "fresh forest" in page


def refusal(error, *given, **options):
    with pytest.raises(error) as caught:
        compare(*given, methods=["es"], keep=3, fresh=True, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_it_needs_a_forest_and_its_training_samples(samples, forest):
    X, y = samples
    held_out = X[250:400], y[250:400]
    line = refusal(InputError, forest, *held_out)
    assert "Pass X_train, or oob=True" in line
    line = refusal(InputError, forest, *held_out, X_train=X[:250])
    assert line == "X_train has no labels. Pass y_train."
    line = refusal(InputError, forest, *held_out, X_train=X[:250], y_train=y[:20])
    assert "X_train has 250 samples, but y_train has 20 labels" in line
    line = refusal(InputError, forest, X[:250], y[:250], oob=True, X_train=X, y_train=y)
    assert "exclude each other" in line
    weight = np.ones(150)
    line = refusal(InputError, forest, *held_out, X_train=X, y_train=y, sample_weight=weight)
    assert "weights for all training samples" in line
    extra = ExtraTreesClassifier(10, random_state=0).fit(X[:250], y[:250])
    line = refusal(UnsupportedEnsembleError, extra, *held_out, X_train=X, y_train=y)
    assert "bootstrap=False" in line
    bagging = BaggingClassifier(n_estimators=10, random_state=0).fit(X[:250], y[:250])
    line = refusal(UnsupportedEnsembleError, bagging, X[:250], y[:250], oob=True)
    assert "trains forests only, not BaggingClassifier" in line
    calibrated = CalibratedClassifierCV(FrozenEstimator(forest), ensemble=False).fit(*held_out)
    with pytest.warns(SecateursWarning, match="calibrator"):
        refusal(UnsupportedEnsembleError, calibrated, *held_out, X_train=X, y_train=y)
    line = refusal(UnsupportedEnsembleError, np.array([y, y, y, y]).T, y=y)
    assert "not predictions" in line


def test_training_samples_without_fresh_are_an_error(samples, forest):
    X, y = samples
    with pytest.raises(InputError, match="X_train is for fresh=True only"):
        compare(forest, X[250:400], y[250:400], ["es"], 3, X_train=X[:250], y_train=y[:250])
