"""Boosted models: truncated models predict as each library does."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from boosted_models import (
    CHOOSE,
    FIT,
    LIBRARIES,
    N_ROUNDS,
    TASKS,
    TEST,
    TRUNCATED,
    fitted_boosted,
    methods_of,
    of_library,
    rows_for,
)
from secateurs import collect_predictions, collect_votes, prune
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.outputs.collect import collect_encoded_predictions, collect_encoded_votes

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("n_rounds", [1, 7, N_ROUNDS])
@pytest.mark.parametrize("task", TASKS)
def test_truncated_models_predict_as_the_library_does(library, task, n_rounds):
    model, X, _ = fitted_boosted(library, task)
    first = as_ensemble(model).slice(range(n_rounds))
    assert type(first) is type(model)
    for method in methods_of(task):
        expected = TRUNCATED[library](model, X[TEST], n_rounds, method)
        assert np.array_equal(getattr(first, method)(X[TEST]), expected)


@pytest.mark.parametrize("task", TASKS)
def test_predictions_by_round_are_those_of_the_library(library, task):
    model, X, y = fitted_boosted(library, task)
    ensemble = as_ensemble(model)
    assert ensemble.n_members == N_ROUNDS
    scores = collect_encoded_predictions(ensemble, X[CHOOSE], y[CHOOSE])
    votes = None if task == "numbers" else collect_encoded_votes(ensemble, X[CHOOSE], y[CHOOSE])
    for last in range(N_ROUNDS):
        answers = {
            method: np.asarray(TRUNCATED[library](model, X[CHOOSE], last + 1, method))
            for method in methods_of(task)
        }
        labels = answers["predict"].ravel()
        if votes is None:
            np.testing.assert_allclose(scores.average(range(last + 1)), labels, atol=1e-6)
            continue
        assert np.array_equal(votes.vote(range(last + 1)), labels)
        assert votes.accuracy(range(last + 1)) == np.mean(labels == y[CHOOSE])
        expected = answers["predict_proba"]
        np.testing.assert_allclose(scores.average(range(last + 1)), expected, atol=2**-14)


def test_the_original_stays_as_it_is(library):
    model, X, _ = fitted_boosted(library, "three labels")
    before, params = model.predict_proba(X), copy.deepcopy(model.get_params())
    as_ensemble(model).slice(range(3))
    assert np.array_equal(model.predict_proba(X), before)
    assert model.get_params() == params
    assert as_ensemble(model).n_members == N_ROUNDS


def test_a_truncated_model_is_independent_of_the_original(library):
    model, X, _ = fitted_boosted(library, "two labels")
    first = as_ensemble(model).slice(range(5))
    assert as_ensemble(first).n_members == 5
    again = as_ensemble(first).slice(range(2))
    expected = TRUNCATED[library](model, X, 2, "predict_proba")
    assert np.array_equal(again.predict_proba(X), expected)
    loaded = pickle.loads(pickle.dumps(first))
    assert np.array_equal(loaded.predict_proba(X), first.predict_proba(X))
    assert len(pickle.dumps(first)) < len(pickle.dumps(model))
    if library != "catboost":  # whose parameters cannot be changed
        counts = {"n_estimators", "max_iter"} & set(first.get_params())
        assert [first.get_params()[name] for name in counts] == [5]


def test_truncated_gradient_boosting_keeps_the_scores_of_its_rounds():
    model, X, y = fitted_boosted("scikit-learn", "numbers", subsample=0.5)
    first = as_ensemble(model).slice(range(6))
    assert np.array_equal(first.train_score_, model.train_score_[:6])
    assert np.array_equal(first.oob_improvement_, model.oob_improvement_[:6])
    assert first.oob_score_ == model.oob_scores_[5]
    assert first.n_estimators_ == 6
    assert first.feature_importances_.shape == (X.shape[1],)
    grown = first.set_params(warm_start=True, n_estimators=8).fit(X[FIT], y[FIT])
    assert len(grown.estimators_) == 8


def test_truncated_histogram_boosting_keeps_the_scores_of_its_rounds():
    model, _, _ = fitted_boosted("histograms", "two labels", early_stopping=True)
    first = as_ensemble(model).slice(range(6))
    assert first.n_iter_ == 6
    assert np.array_equal(first.train_score_, model.train_score_[:7])
    assert np.array_equal(first.validation_score_, model.validation_score_[:7])


def stopped_early(library, X, y):
    fit = {"eval_set": [(X[CHOOSE], y[CHOOSE])]}
    if library == "xgboost":
        model = of_library("xgboost", "XGBClassifier", n_estimators=300, early_stopping_rounds=4)
        fit["verbose"] = False
    elif library == "lightgbm":
        model = of_library("lightgbm", "LGBMClassifier", n_estimators=300, verbose=-1, n_jobs=1)
        fit = {"eval_X": X[CHOOSE], "eval_y": y[CHOOSE]}
        fit["callbacks"] = [sys.modules["lightgbm"].early_stopping(4, verbose=False)]
    else:
        model = of_library(
            *("catboost", "CatBoostClassifier"),
            n_estimators=300,
            early_stopping_rounds=4,
            verbose=False,
            allow_writing_files=False,
        )
    return model.fit(X[FIT], y[FIT], **fit)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_after_early_stopping_only_the_best_rounds_are_members(library):
    X, y = rows_for("xgboost", "three labels")  # LightGBM compares text labels as numbers
    model = stopped_early(library, X, y)
    ensemble = as_ensemble(model)
    assert 8 < ensemble.n_members < 300
    whole = ensemble.slice(range(ensemble.n_members))
    assert np.array_equal(whole.predict_proba(X[TEST]), model.predict_proba(X[TEST]))
    votes = collect_encoded_votes(ensemble, X[TEST], y[TEST])
    assert np.array_equal(votes.vote(), model.predict(X[TEST]).ravel())
    first = ensemble.slice(range(5))
    expected = TRUNCATED[library](model, X[TEST], 5, "predict_proba")
    assert np.array_equal(first.predict_proba(X[TEST]), expected)


OBJECTIVES = ("poisson", "tweedie", "gamma", "huber", "quantile", "regression_l1")


@pytest.mark.parametrize("options", [{"objective": name} for name in OBJECTIVES], ids=OBJECTIVES)
def test_lightgbm_predictions_follow_its_objective(options):
    model, X, y = fitted_boosted("lightgbm", "numbers")
    model = clone(model).set_params(**options).fit(X[FIT], 1 + abs(y[FIT]))
    scores = collect_encoded_predictions(as_ensemble(model), X[TEST], y[TEST])
    expected = model.predict(X[TEST], num_iteration=4)
    np.testing.assert_allclose(scores.average(range(4)), expected, rtol=1e-6)


def test_lightgbm_predictions_follow_its_square_roots_and_sigmoids():
    model, X, y = fitted_boosted("lightgbm", "numbers", reg_sqrt=True)
    scores = collect_encoded_predictions(as_ensemble(model), X[TEST], y[TEST])
    expected = model.predict(X[TEST], num_iteration=4)
    np.testing.assert_allclose(scores.average(range(4)), expected, rtol=1e-6)
    model, X, y = fitted_boosted("lightgbm", "two labels", sigmoid=2.5)
    scores = collect_encoded_predictions(as_ensemble(model), X[TEST], y[TEST])
    expected = model.predict_proba(X[TEST], num_iteration=4)
    np.testing.assert_allclose(scores.average(range(4)), expected, atol=2**-14)


def own_objective(truth, predicted):
    return predicted - truth, np.ones_like(truth)


REFUSED = {
    "lightgbm with an objective of its own": (
        lambda: fitted_boosted("lightgbm", "numbers", objective=own_objective),
        "objective",
    ),
    "lightgbm with dart": (
        lambda: fitted_boosted("lightgbm", "numbers", boosting_type="dart"),
        "its booster, dart, changes the weights of its first trees in later rounds. Train fewer",
    ),
    "xgboost with dart": (
        lambda: fitted_boosted("xgboost", "numbers", booster="dart"),
        "its booster, dart, changes the weights of its first trees",
    ),
    "xgboost without trees": (
        lambda: fitted_boosted("xgboost", "numbers", booster="gblinear"),
        "its booster, gblinear, has no trees",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of the library
def test_rounds_that_cannot_be_cut_are_refused(make, message):
    model, X, y = make()
    with pytest.raises(UnsupportedEnsembleError, match=message):
        collect_encoded_predictions(as_ensemble(model), X[TEST], y[TEST])


def test_several_outputs_are_refused():
    model = of_library("xgboost", "XGBRegressor", n_estimators=3, n_jobs=1)
    X, y = rows_for("xgboost", "numbers")
    model.fit(X[FIT], np.stack([y, -y], axis=1)[FIT])
    with pytest.raises(UnsupportedEnsembleError, match="2 values per sample; pruning needs one"):
        collect_encoded_predictions(as_ensemble(model), X[TEST], y[TEST])


def test_models_that_are_not_fitted_are_refused(library):
    model = LIBRARIES[library]("Classifier")
    with pytest.raises(NotFittedError, match="not fitted"):
        as_ensemble(model)


def test_other_rounds_than_the_first_cannot_be_kept(library):
    model, _, _ = fitted_boosted(library, "two labels")
    with pytest.raises(InputError, match="only keep its first rounds: each tree corrects the tree"):
        as_ensemble(model).slice([0, 2])


def test_votes_of_single_rounds_are_rejected():
    model, X, _ = fitted_boosted("scikit-learn", "two labels")
    for collect in (collect_votes, collect_predictions):
        with pytest.raises(InputError, match="do not predict on their own: each tree corrects"):
            collect(model, X)


def test_no_library_is_imported_for_a_model_of_another():
    program = """
        import sys
        from sklearn.datasets import load_iris
        from sklearn.ensemble import GradientBoostingClassifier
        from secateurs import prune
        X, y = load_iris(return_X_y=True)
        model = GradientBoostingClassifier(n_estimators=3).fit(X[::2], y[::2])
        prune(model, X[1::2], y[1::2])
        assert not {"xgboost", "lightgbm", "catboost"} & set(sys.modules)
    """
    lines = "\n".join(line.strip() for line in program.splitlines())
    subprocess.run([sys.executable, "-c", lines], check=True, timeout=600)


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_native_models_are_refused_with_a_way_out(package, tmp_path):
    library = pytest.importorskip(package)
    X, y = load_iris(return_X_y=True)
    if package == "xgboost":
        booster = library.train({}, library.DMatrix(X, y), num_boost_round=4)
        way_out = r"model = xgboost.XGBClassifier\(\) or XGBRegressor\(\), model.load_model\(path\)"
    else:
        booster = library.train({"verbose": -1}, library.Dataset(X, y), num_boost_round=4)
        way_out = r"model_to_string\(num_iteration=n_rounds\)"
    with pytest.raises(UnsupportedEnsembleError, match=f"Booster is a native model.*{way_out}"):
        prune(booster, X, y)
    if package == "xgboost":  # the ways out work as the messages describe them
        booster.save_model(tmp_path / "model.json")
        model = library.XGBRegressor()
        model.load_model(tmp_path / "model.json")
        assert prune(model, X, y, keep=2).estimator.predict(X).shape == y.shape
        assert booster[:2].num_boosted_rounds() == 2
    else:
        first = library.Booster(model_str=booster.model_to_string(num_iteration=2))
        assert np.allclose(first.predict(X), booster.predict(X, num_iteration=2))
