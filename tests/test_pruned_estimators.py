"""Fit and prune in one estimator."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from secateurs import (
    COMEP,
    BestMembersPruner,
    PrunedClassifier,
    PrunedRegressor,
    collect_predictions,
    collect_votes,
    make_pruner,
)
from secateurs.exceptions import InputError, UnsupportedEnsembleError

X, Y = load_iris(return_X_y=True)
FOREST = RandomForestClassifier(12, random_state=0)
ROWS, NUMBERS = load_diabetes(return_X_y=True)
REGRESSION_FOREST = RandomForestRegressor(12, max_depth=4, random_state=0)

pytestmark = pytest.mark.filterwarnings("ignore:.*(chance would|1 member|one class)")


@parametrize_with_checks(
    [
        PrunedClassifier(RandomForestClassifier(7, random_state=0), COMEP(keep=3), random_state=0),
        PrunedClassifier(
            BaggingClassifier(LogisticRegression(), 4, random_state=0),
            make_pruner("re", keep=2),
            random_state=0,
        ),
        PrunedRegressor(RandomForestRegressor(7, random_state=0), random_state=0),
        PrunedRegressor(
            BaggingRegressor(LinearRegression(), 4, random_state=0),
            BestMembersPruner(keep=2),
            random_state=0,
        ),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_rows_are_held_out_of_every_class_in_proportion():
    pruned = PrunedClassifier(FOREST, validation=0.2, random_state=0)
    for seed in range(20):
        fit, held_out = pruned._split_samples(X, Y, np.random.RandomState(seed), {})
        assert sorted([*fit, *held_out]) == list(range(150))
        assert len(held_out) == pytest.approx(30, abs=1)
        assert np.bincount(Y[held_out]) == pytest.approx([10, 10, 10], abs=1)


def test_a_class_of_one_row_is_there_to_fit_on():
    labels = np.array([0] * 20 + [1] * 20 + [2])
    for seed in range(20):
        fit, _ = PrunedClassifier(FOREST)._split_samples(
            labels[:, None], labels, np.random.RandomState(seed), {}
        )
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


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ((X, Y), "validation is a tuple of arrays. For samples with labels, fit the ensemble"),
        ([(X, Y)], "validation has no pair of index arrays for fold 1"),
        ([([0, 1], [1, 2])], "validation has samples in both parts of fold 1"),
        ([], "validation has no folds"),
    ],
)
def test_validation_that_is_none_is_refused_by_its_name(validation, message):
    with pytest.raises(InputError, match=message):
        PrunedClassifier(FOREST, validation=validation).fit(X, Y)


@pytest.mark.parametrize("share", [0, 1, -0.1, "all", None, True])
def test_validation_is_a_share_or_out_of_bag(share):
    with pytest.raises(InputError, match="is not a valid fraction of the samples"):
        PrunedClassifier(FOREST, validation=share).fit(X, Y)


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match="too few to hold out samples"):
        PrunedClassifier(FOREST).fit(X[::60], Y[::60])


def test_ensembles_that_cannot_be_pruned_are_refused():
    stacked = StackingClassifier([("forest", FOREST), ("line", LinearSVC())], cv=2)
    with pytest.raises(UnsupportedEnsembleError, match="final estimator was trained on"):
        PrunedClassifier(stacked).fit(X, Y)


def test_rows_for_regressors_are_held_out_at_random():
    pruned = PrunedRegressor(REGRESSION_FOREST, validation=0.25)
    seen = set()
    for seed in range(10):
        fit, held_out = pruned._split_samples(X, NUMBERS, np.random.RandomState(seed), {})
        assert sorted([*fit, *held_out]) == list(range(len(NUMBERS)))
        assert len(held_out) == len(NUMBERS) // 4
        seen.add(tuple(held_out))
    assert len(seen) == 10


def test_the_pruned_regressor_is_a_plain_one():
    pruned = PrunedRegressor(REGRESSION_FOREST, BestMembersPruner(keep=4), random_state=0)
    pruned.fit(ROWS, NUMBERS)
    assert type(pruned.estimator_) is RandomForestRegressor
    assert len(pruned.estimator_.estimators_) == 4
    assert (pruned.predict(ROWS) == pruned.estimator_.predict(ROWS)).all()
    assert not hasattr(pruned, "classes_")


def test_out_of_bag_predictions_of_regressors():
    pruned = PrunedRegressor(REGRESSION_FOREST, BestMembersPruner(keep=4), validation="oob")
    kept = pruned.fit(ROWS, NUMBERS).pruning_.member_indices.tolist()
    off = collect_predictions(clone(REGRESSION_FOREST).fit(ROWS, NUMBERS), ROWS, oob=True)
    errors = ((off - NUMBERS[:, None]) ** 2).mean(axis=0)
    assert kept == np.argsort(errors, kind="stable")[:4].tolist()


def test_a_frozen_ensemble_of_regressors_is_pruned_without_fitting():
    fitted = clone(REGRESSION_FOREST).fit(ROWS[::2], NUMBERS[::2])
    frozen = FrozenEstimator(fitted)
    pruned = PrunedRegressor(frozen, refit=False).fit(ROWS[1::2], NUMBERS[1::2])
    assert set(pruned.estimator_.estimators_) <= set(fitted.estimators_)
    assert pruned.pruning_.votes.n_samples == len(NUMBERS) // 2


def test_sizes_of_pruned_regressors_are_found_by_grid_search():
    grid = {"pruner__keep": [2, 6], "validation": [0.3, "oob"]}
    pruned = PrunedRegressor(REGRESSION_FOREST, BestMembersPruner(), random_state=0)
    search = GridSearchCV(pruned, grid, cv=3).fit(ROWS, NUMBERS)
    assert search.best_score_ > 0.3
    assert search.best_params_["pruner__keep"] == 6


def mixed_table():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(ROWS[:, :3], columns=["age", "sex", "bmi"])
    frame.loc[rng.rand(len(frame)) < 0.1, "bmi"] = np.nan
    frame["town"] = rng.choice(["Ulm", "Köln", "Bonn"], len(frame))
    frame.loc[rng.rand(len(frame)) < 0.1, "town"] = None
    return frame


def test_pipelines_of_mixed_columns_with_missing_values():
    frame = mixed_table()
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer((words, ["town"]), remainder="passthrough")
    ensemble = make_pipeline(columns, REGRESSION_FOREST)
    pruned = PrunedRegressor(ensemble, BestMembersPruner(keep=3), random_state=0)
    pruned.fit(frame, NUMBERS)
    assert pruned.feature_names_in_.tolist() == ["age", "sex", "bmi", "town"]
    assert len(pruned.estimator_[-1].estimators_) == 3
    assert pruned.score(frame, NUMBERS) > 0.2


def test_weights_are_used_in_fitting_and_on_rows_held_out():
    heavy = np.median(NUMBERS) < NUMBERS
    weights = np.where(heavy, 1.0, 0.0)
    pruned = PrunedRegressor(REGRESSION_FOREST, random_state=0)
    predicted = pruned.fit(ROWS, NUMBERS, sample_weight=weights).predict(ROWS)
    assert predicted.min() > np.median(NUMBERS)  # the forest never heard of the others
    problem = pruned.pruning_.problem
    assert (
        problem.sample_weight.tolist() == (problem.predictions.truth > np.median(NUMBERS)).tolist()
    )


def test_the_score_asked_for_is_that_of_the_figures():
    scoring = "neg_median_absolute_error"
    pruned = PrunedRegressor(REGRESSION_FOREST, scoring=scoring, validation=0.5, random_state=0)
    figures = pruned.fit(ROWS, NUMBERS).pruning_.summary(ROWS[:50] + 1e-9, NUMBERS[:50])
    off = np.median(np.abs(pruned.predict(ROWS[:50] + 1e-9) - NUMBERS[:50]))
    assert figures.loc["median absolute error", "after"] == pytest.approx(off)


def test_methods_of_pruned_estimators_are_given_by_name_too():
    pruned = PrunedRegressor(REGRESSION_FOREST, "auto", random_state=0).fit(ROWS, NUMBERS)
    assert "numbers" in pruned.pruning_.pruner.outputs
    pruned = PrunedClassifier(FOREST, "re", random_state=0).fit(X, Y)
    assert type(pruned.pruning_.pruner).__name__ == "ReducedErrorPruner"


def test_the_other_kind_of_ensemble_is_refused():
    with pytest.raises(InputError, match=r"is a classifier\. Pass it to PrunedClassifier"):
        PrunedRegressor(FOREST).fit(X, Y)
    with pytest.raises(InputError, match=r"is a regressor\. Pass it to PrunedRegressor"):
        PrunedClassifier(REGRESSION_FOREST).fit(X, Y)
    with pytest.raises(InputError, match=r"estimator is of type list\. Pass an ensemble such as"):
        PrunedClassifier([FOREST]).fit(X, Y)
    with pytest.raises(InputError, match="Pass numeric target values"):
        PrunedRegressor(REGRESSION_FOREST).fit(X, Y.astype(str))


def test_methods_that_need_classes_are_refused_with_those_that_do_not():
    with pytest.raises(InputError, match=r"needs classes, but these are continuous values\..*best"):
        PrunedRegressor(REGRESSION_FOREST, COMEP()).fit(ROWS, NUMBERS)


def test_metadata_is_routed_in_pipelines_and_searches():
    weights, groups = np.random.default_rng(0).random(len(Y)), np.arange(len(Y)) // 5
    with config_context(enable_metadata_routing=True):
        forest = RandomForestClassifier(6, random_state=0).set_fit_request(sample_weight=True)
        pruned = (
            PrunedClassifier(forest, COMEP(keep=3), random_state=0)
            .set_fit_request(sample_weight=True, groups=True)
            .set_score_request(sample_weight=True)
        )
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, pruned).fit(X, Y, sample_weight=weights, groups=groups)
        search = GridSearchCV(pruned, {"pruner__keep": [2, 3]}, cv=GroupKFold(3))
        search.fit(X, Y, sample_weight=weights, groups=groups)
        plain = PrunedClassifier(RandomForestClassifier(6), COMEP(keep=3))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            plain.fit(X, Y, sample_weight=weights)
        routing = pruned.get_metadata_routing()
    assert "estimator" in str(routing)
    problem = pipeline[-1].pruning_.problem
    held_out = problem.cross_validation.groups
    assert set(np.bincount(held_out)[np.unique(held_out)]) == {5}
    expected = [weights[groups == group] for group in dict.fromkeys(held_out)]
    assert sorted(problem.sample_weight) == pytest.approx(sorted(np.concatenate(expected)))
    assert search.best_estimator_.pruning_.problem.sample_weight is not None


def test_weights_and_groups_are_used_without_routing():
    weights, groups = np.random.default_rng(0).random(len(Y)), np.arange(len(Y)) // 5
    pruned = PrunedClassifier(FOREST, COMEP(keep=3), random_state=0)
    pruned.fit(X, Y, sample_weight=weights, groups=groups)
    assert pruned.pruning_.problem.sample_weight is not None
    assert pruned.pruning_.problem.cross_validation.groups is not None
