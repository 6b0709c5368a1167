"""Fit and prune in one estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from secateurs import COMEP, PrunedClassifier, collect_votes, make_pruner
from secateurs.exceptions import InputError, UnsupportedEnsembleError

X, Y = load_iris(return_X_y=True)
FOREST = RandomForestClassifier(12, random_state=0)

pytestmark = pytest.mark.filterwarnings("ignore:.*(chance would|1 member|one class)")


@parametrize_with_checks(
    [
        PrunedClassifier(RandomForestClassifier(7, random_state=0), COMEP(keep=3), random_state=0),
        PrunedClassifier(
            BaggingClassifier(LogisticRegression(), 4, random_state=0),
            make_pruner("re", keep=2),
            random_state=0,
        ),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_rows_are_held_out_of_every_class_in_proportion():
    pruned = PrunedClassifier(FOREST, validation=0.2, random_state=0)
    for seed in range(20):
        fit, held_out = pruned._split(Y, np.random.RandomState(seed))
        assert sorted([*fit, *held_out]) == list(range(150))
        assert len(held_out) == pytest.approx(30, abs=1)
        assert np.bincount(Y[held_out]) == pytest.approx([10, 10, 10], abs=1)


def test_a_class_of_one_row_is_there_to_fit_on():
    labels = np.array([0] * 20 + [1] * 20 + [2])
    for seed in range(20):
        fit, _ = PrunedClassifier(FOREST)._split(labels, np.random.RandomState(seed))
        assert 2 in labels[fit]


def test_the_pruned_ensemble_is_a_plain_one():
    pruned = PrunedClassifier(FOREST, COMEP(keep=4), random_state=0).fit(X, Y)
    assert type(pruned.estimator_) is RandomForestClassifier
    assert len(pruned.estimator_.estimators_) == 4
    assert (pruned.predict(X) == pruned.estimator_.predict(X)).all()
    assert (pruned.predict_proba(X) == pruned.estimator_.predict_proba(X)).all()
    assert not hasattr(FOREST, "estimators_")


def test_out_of_bag_votes_need_no_rows_held_out():
    pruned = PrunedClassifier(FOREST, COMEP(keep=4), validation="oob", random_state=0).fit(X, Y)
    whole = clone(FOREST).fit(X, Y)
    votes = collect_votes(whole, X, oob=True)
    expected = COMEP(keep=4).fit(votes, Y).member_indices_.tolist()
    assert pruned.pruning_.member_indices.tolist() == expected
    assert pruned.pruning_.votes.n_samples == 150


def test_a_frozen_ensemble_is_pruned_without_fitting():
    fitted = clone(FOREST).fit(X[::2], Y[::2])
    pruned = PrunedClassifier(FrozenEstimator(fitted), COMEP(keep=3)).fit(X[1::2], Y[1::2])
    assert set(pruned.estimator_.estimators_) <= set(fitted.estimators_)
    assert pruned.pruning_.votes.n_samples == 75


def test_weights_go_to_the_rows_fitted_on():
    weights = np.where(Y == 0, 0.0, 1.0)  # so the forest never hears of class 0
    pruned = PrunedClassifier(FOREST, COMEP(keep=3), random_state=0)
    predicted = pruned.fit(X, Y, sample_weight=weights).predict(X)
    assert set(predicted) == {1, 2}


def test_methods_and_sizes_are_found_by_grid_search():
    grid = {"pruner__keep": [2, 4], "pruner__diversity_weight": [0.1, 0.9]}
    search = GridSearchCV(PrunedClassifier(FOREST, COMEP(), random_state=0), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.8
    pipeline = make_pipeline(StandardScaler(), PrunedClassifier(FOREST, random_state=0))
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.8


def test_probabilities_are_there_only_if_the_ensemble_has_them():
    bagging = BaggingClassifier(FOREST, 3, random_state=0)
    assert hasattr(PrunedClassifier(bagging), "predict_proba")
    alone = PrunedClassifier(LinearSVC())
    assert not hasattr(alone, "predict_proba")


@pytest.mark.parametrize("share", [0, 1, -0.1, "all", None, True])
def test_validation_is_a_share_or_out_of_bag(share):
    with pytest.raises(InputError, match="is not a valid fraction of the rows"):
        PrunedClassifier(FOREST, validation=share).fit(X, Y)


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match="none can be held out"):
        PrunedClassifier(FOREST).fit(X[::60], Y[::60])


def test_ensembles_that_cannot_be_pruned_are_refused():
    with pytest.raises(UnsupportedEnsembleError, match="increments of a score"):
        PrunedClassifier(GradientBoostingClassifier(n_estimators=3)).fit(X, Y)
