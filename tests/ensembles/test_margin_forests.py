"""Forests of XGBoost and LightGBM: a slice answers as the mean of its trees.

What trees say is taken from the libraries' own tables of leaves, and averaged here.
"""

import json
import pickle
from functools import cache

import numpy as np
import pytest
from scipy.special import logit, softmax
from sklearn.metrics import get_scorer
from threadpoolctl import threadpool_limits

from boosted_models import CHOOSE, FIT, TASKS, TEST, of_library, rows_for
from secateurs import (
    EnsembleSelection,
    JointErrorPruner,
    collect_predictions,
    collect_votes,
    compare,
    prune,
)
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.measures.scoring import Scoring
from secateurs.objectives import MeanScore
from secateurs.outputs.collect import collect_encoded_predictions

N_TREES = 12
KEPT = [1, 4, 5, 10]


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def _kind(task):
    return "Regressor" if task == "numbers" else "Classifier"


def xgboost_forest(task, **options):
    options = {"n_estimators": N_TREES, "max_depth": 4, "random_state": 0} | options
    return of_library("xgboost", f"XGBRF{_kind(task)}", n_jobs=1, **options)


def one_round_of_xgboost(task):
    options = {"n_estimators": 1, "num_parallel_tree": N_TREES, "subsample": 0.7, "max_depth": 4}
    return of_library("xgboost", f"XGB{_kind(task)}", n_jobs=1, learning_rate=1, **options)


def lightgbm_forest(task, **options):
    options = {"n_estimators": N_TREES, "subsample": 0.6, "subsample_freq": 1} | options
    return of_library(
        *("lightgbm", f"LGBM{_kind(task)}"),
        boosting_type="rf",
        num_leaves=8,
        n_jobs=1,
        verbose=-1,
        **options,
    )


def margins_of_xgboost(model, X):
    """What each tree says, and for each class: (members, rows, margins)."""
    booster = model.get_booster()
    table = booster.trees_to_dataframe()
    leaves = table[table.Feature == "Leaf"].set_index(["Tree", "Node"])["Gain"]
    reached = model.apply(X).reshape(len(X), -1).astype(int)
    added = np.stack([leaves[tree].loc[reached[:, tree]] for tree in range(reached.shape[1])])
    learner = json.loads(booster.save_config())["learner"]
    base = np.array(json.loads(learner["learner_model_param"]["base_score"]), ndmin=1)
    if learner["objective"]["name"] == "binary:logistic":
        base = logit(base)
    by_class = added.reshape(len(base), N_TREES, len(X))
    return N_TREES * by_class.transpose(1, 2, 0) + base


def margins_of_lightgbm(model, X):
    """What each tree says, and for each class: (members, rows, margins)."""
    booster, found = model.booster_, []
    for place in range(N_TREES):
        one = booster.predict(X, raw_score=True, start_iteration=place, num_iteration=1)
        found.append(one.reshape(len(X), -1))
    return np.stack(found)


FORESTS = {
    "xgboost": (xgboost_forest, margins_of_xgboost, "xgboost"),
    "a round of xgboost": (one_round_of_xgboost, margins_of_xgboost, "xgboost"),
    "lightgbm": (lightgbm_forest, margins_of_lightgbm, "lightgbm"),
}


@cache
def fitted_forest(name, task):
    make, margins, library = FORESTS[name]
    X, y = rows_for(library, task)
    return make(task).fit(X[FIT], y[FIT]), margins, X, y


def answer(margins):
    """The probabilities, or numbers, that the mean of margins stands for."""
    mean = margins.mean(axis=0)
    if mean.shape[1] == 1:
        mean = np.concatenate([np.zeros_like(mean), mean], axis=1)
    return softmax(mean, axis=1)


@pytest.fixture(params=FORESTS)
def name(request):
    return request.param


@pytest.mark.parametrize("task", TASKS)
def test_a_slice_predicts_the_mean_of_its_trees(name, task):
    model, margins_of, X, _ = fitted_forest(name, task)
    margins = margins_of(model, X[TEST])
    for kept in (list(range(N_TREES)), KEPT, [7]):
        sliced = as_ensemble(model).slice(kept)
        assert type(sliced) is type(model)
        if task == "numbers":
            expected = margins[kept].mean(axis=0).ravel()
            np.testing.assert_allclose(sliced.predict(X[TEST]), expected, rtol=1e-4, atol=1e-4)
        else:
            expected = answer(margins[kept])
            np.testing.assert_allclose(sliced.predict_proba(X[TEST]), expected, atol=1e-5)
            labels = model.classes_[expected.argmax(axis=1)]
            assert np.array_equal(sliced.predict(X[TEST]), labels)


@pytest.mark.parametrize("task", TASKS)
def test_weights_are_in_the_leaves(name, task):
    model, margins_of, X, _ = fitted_forest(name, task)
    margins = margins_of(model, X[TEST])[KEPT]
    weights = np.zeros(N_TREES)
    weights[KEPT] = [0.1, 0.2, 0.3, 0.4]
    sliced = as_ensemble(model).with_member_weights(weights).slice(KEPT)
    mean = np.average(margins, axis=0, weights=weights[KEPT])
    if task == "numbers":
        np.testing.assert_allclose(sliced.predict(X[TEST]), mean.ravel(), rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_allclose(sliced.predict_proba(X[TEST]), answer(mean[None]), atol=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_members_predict_as_their_trees(name, task):
    model, margins_of, X, _ = fitted_forest(name, task)
    margins = margins_of(model, X[TEST])
    scores = collect_predictions(model, X[TEST])
    if task == "numbers":
        np.testing.assert_allclose(scores, margins[:, :, 0].T, rtol=1e-4, atol=1e-4)
        return
    expected = np.stack([answer(margins[[member]]) for member in range(N_TREES)], axis=1)
    np.testing.assert_allclose(scores, expected, atol=2e-3)
    votes = collect_votes(model, X[TEST])
    assert np.array_equal(votes, model.classes_[expected.argmax(axis=2)])


@pytest.mark.parametrize("task", TASKS)
def test_the_scores_of_a_pruning_are_those_of_its_model(name, task):
    model, _, X, y = fitted_forest(name, task)
    options = {} if task == "numbers" else {"scoring": "neg_log_loss"}
    pruning = prune(model, X[CHOOSE], y[CHOOSE], "joint", keep=5, **options)
    kept = sorted(pruning.member_indices.tolist())
    outputs = pruning.problem.soft_predictions.average(kept)
    own = pruning.estimator.predict if task == "numbers" else pruning.estimator.predict_proba
    np.testing.assert_allclose(outputs, own(X[CHOOSE]), rtol=1e-4, atol=2e-3)
    assert as_ensemble(pruning.estimator).n_members == 5
    summary = pruning.summary(X[TEST], y[TEST])
    assert summary.loc["members"].tolist()[:2] == [N_TREES, 5]


def test_accuracy_on_rows_held_out_is_that_of_the_models(name):
    model, _, X, y = fitted_forest(name, "three labels")
    found = compare(model, X[FIT], y[FIT], ["re"], keep=4, X_test=X[TEST], y_test=y[TEST])
    board = found.leaderboard().set_index("method")
    small = found.pruning("re", 4).estimator
    assert board.loc["re", "accuracy"] == np.mean(small.predict(X[TEST]) == y[TEST])
    assert board.loc["all members", "accuracy"] == np.mean(model.predict(X[TEST]) == y[TEST])


def test_the_original_stays_and_slices_are_models_of_their_own(name):
    model, _, X, _ = fitted_forest(name, "two labels")
    before, params = model.predict_proba(X), model.get_params()
    sliced = as_ensemble(model).slice(KEPT)
    assert np.array_equal(model.predict_proba(X), before)
    assert model.get_params() == params
    again = as_ensemble(sliced).slice([0, 2])
    expected = as_ensemble(model).slice([KEPT[0], KEPT[2]]).predict_proba(X)
    np.testing.assert_allclose(again.predict_proba(X), expected, atol=1e-6)
    loaded = pickle.loads(pickle.dumps(sliced))
    assert np.array_equal(loaded.predict_proba(X), sliced.predict_proba(X))
    assert len(pickle.dumps(sliced)) < len(pickle.dumps(model))
    assert len(KEPT) in (sliced.n_estimators, sliced.get_params().get("num_parallel_tree"))


def test_names_of_columns_stay(name):
    import pandas as pd

    make, _, library = FORESTS[name]
    X, y = rows_for(library, "two labels")
    table = pd.DataFrame(X, columns=list("abcdef"))
    model = make("two labels").fit(table[FIT], y[FIT])
    sliced = as_ensemble(model).slice(KEPT)
    assert list(sliced.feature_names_in_) == list("abcdef")
    expected = as_ensemble(make("two labels").fit(X[FIT], y[FIT])).slice(KEPT)
    assert np.array_equal(sliced.predict(table[TEST]), expected.predict(X[TEST]))


REFUSED = {
    "numbers by their logarithm": lambda: (xgboost_forest("numbers", objective="count:poisson"), 1),
    "linear trees": lambda: (lightgbm_forest("numbers", linear_tree=True), 1),
    "two outputs": lambda: (xgboost_forest("numbers"), 2),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_forests_that_do_not_average_their_trees_are_refused(make):
    model, n_outputs = make()
    X, y = rows_for("xgboost", "numbers")
    truth = abs(y) if n_outputs == 1 else np.stack([y, -y], axis=1)
    model.fit(np.nan_to_num(X[FIT]), truth[FIT])
    with pytest.raises(UnsupportedEnsembleError, match="does not predict the mean of its trees"):
        prune(model, X[CHOOSE], y[CHOOSE], keep=3)


def test_margins_are_not_stored(tmp_path):
    model, _, X, _ = fitted_forest("lightgbm", "two labels")
    with pytest.raises(InputError, match="averages margins, which stores cannot hold"):
        collect_predictions(model, X, store=tmp_path / "scores")
    store = collect_votes(model, X[TEST], store=tmp_path / "votes")
    assert store.n_members == N_TREES


def test_out_of_bag_votes_are_rejected(name):
    model, _, X, y = fitted_forest(name, "two labels")
    with pytest.raises(InputError, match="does not record which samples"):
        prune(model, X[FIT], y[FIT], oob=True)


CLASS_TASKS = [task for task in TASKS if task != "numbers"]
# Margins are stored in steps of 2⁻¹⁴ of their range, which is below 30 here.
WITHIN = 1e-3


def brier_score(model, X, y):
    """Squared error of probabilities, summed over the classes."""
    return ((model.predict_proba(X) - (y[:, None] == model.classes_)) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("task", CLASS_TASKS)
@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "accuracy"])
def test_the_objective_of_caruana_is_the_score_of_the_returned_model(name, task, scoring):
    model, _, X, y = fitted_forest(name, task)
    pruner = EnsembleSelection(keep=4, scoring=scoring, max_models=8)
    found = prune(model, X[CHOOSE], y[CHOOSE], pruner, scoring=scoring)
    if scoring == "neg_brier_score":  # scikit-learn halves it for two classes
        factor = 0.5 if len(model.classes_) == 2 else 1.0
        expected = -factor * brier_score(found.estimator, X[CHOOSE], y[CHOOSE])
    else:
        expected = get_scorer(scoring)(found.estimator, X[CHOOSE], y[CHOOSE])
    assert found.pruner.objective_ == pytest.approx(expected, abs=WITHIN)


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("task", CLASS_TASKS)
def test_joint_adds_the_member_that_lowers_the_error_of_the_model_the_most(name, task, refine):
    model, margins_of, X, y = fitted_forest(name, task)
    margins = margins_of(model, X[CHOOSE])
    is_true = y[CHOOSE][:, None] == model.classes_

    def error(members):
        return ((answer(margins[members]) - is_true) ** 2).sum(axis=1).mean()

    pruner = JointErrorPruner(keep=4, refine=refine)
    found = prune(model, X[CHOOSE], y[CHOOSE], pruner)
    members, scores = found.member_indices.tolist(), found.pruner.scores_
    assert found.pruner.objective_ == scores[-1]
    assert found.pruner.objective_ == pytest.approx(
        brier_score(found.estimator, X[CHOOSE], y[CHOOSE]), abs=WITHIN
    )
    assert scores == pytest.approx([error(members[: k + 1]) for k in range(4)], abs=WITHIN)
    if refine:
        swaps = [
            [*members[:place], other, *members[place + 1 :]]
            for place in range(4)
            for other in set(range(N_TREES)) - set(members)
        ]
        assert error(members) <= min(map(error, swaps)) + WITHIN
    else:
        for k in range(4):
            others = [error([*members[:k], m]) for m in set(range(N_TREES)) - set(members[:k])]
            assert error(members[: k + 1]) <= min(others) + WITHIN
    assert found.pruner.lower_bound_ == 0.0


@pytest.mark.parametrize("task", CLASS_TASKS)
def test_weights_are_optimised_for_the_score_of_the_returned_model(name, task):
    model, margins_of, X, y = fitted_forest(name, task)
    options = {"scoring": "neg_log_loss", "keep": 4}
    plain, weighted = (
        prune(model, X[CHOOSE], y[CHOOSE], "re", weights=weights, **options)
        for weights in (False, True)
    )
    score = get_scorer("neg_log_loss")
    scores = [score(found.estimator, X[CHOOSE], y[CHOOSE]) for found in (plain, weighted)]
    assert scores[1] >= scores[0] - WITHIN
    encoded = collect_encoded_predictions(as_ensemble(model), X[CHOOSE], y[CHOOSE])
    objective = MeanScore.for_predictions(
        encoded, Scoring.from_scorer("neg_log_loss", encoded.classes)
    )
    for member in KEPT:
        objective.add(member)
        objective.add(member)
    mean = answer(margins_of(model, X[CHOOSE])[KEPT])
    expected = np.log(mean[y[CHOOSE][:, None] == model.classes_]).mean()
    assert objective.value == pytest.approx(expected, abs=WITHIN)


@pytest.mark.parametrize("task", CLASS_TASKS)
@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_gains_are_the_scores_of_the_linked_means(name, task, scoring):
    model, _, X, y = fitted_forest(name, task)
    encoded = collect_encoded_predictions(as_ensemble(model), X[CHOOSE], y[CHOOSE])
    weights = np.random.default_rng(0).random(encoded.n_samples)
    scored = Scoring.from_scorer(scoring, encoded.classes)
    objective = MeanScore.for_predictions(encoded, scored, weights)
    for selected in ([], [3], [3, 7]):
        gains = objective.gains()
        for member in range(N_TREES):
            mean = encoded.average([*selected, member])
            expected = scored(mean, y[CHOOSE], weights)
            assert gains[member] == pytest.approx(expected, abs=1e-4)  # shares sum to about 1
        by_sample = np.empty((2, N_TREES))
        objective._fill_losses_by_sample(slice(None), *by_sample)
        np.testing.assert_allclose(gains, by_sample[0] / by_sample[1], rtol=1e-12)
        objective.add([3, 7, 1][len(selected)])


def test_shrinking_pairs_is_refused():
    model, _, X, y = fitted_forest("lightgbm", CLASS_TASKS[0])
    with pytest.raises(InputError, match=r"shrink=0.5 changes sums over pairs"):
        prune(model, X[CHOOSE], y[CHOOSE], JointErrorPruner(keep=3, shrink=0.5))
