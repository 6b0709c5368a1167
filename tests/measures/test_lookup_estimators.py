"""Estimators that look up stored predictions: what scorers can call, and what they get."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, make_scorer, roc_auc_score

from fitted_models import CHOOSE, TEST, X, Y, fitted_models
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError
from secateurs.measures.lookup_estimators import LookupClassifier, LookupRegressor
from secateurs.measures.scoring import Scoring, resolve_scorings
from secateurs.outputs.sample_rows import SampleRows

FOREST = fitted_models()["forest"]
ROWS = SampleRows(X[CHOOSE], as_ensemble(FOREST)).predicted_by(range(25))
STORED = FOREST.predict_proba(X[CHOOSE])
LOOKUP = LookupClassifier(STORED, ROWS, FOREST.classes_)


def test_stored_predictions_are_returned_for_the_samples_in_any_order():
    shuffled = np.random.default_rng(0).permutation(200)[:50]
    assert (LOOKUP.predict_proba(X[CHOOSE]) == STORED).all()
    assert (LOOKUP.predict_proba(X[CHOOSE][shuffled]) == STORED[shuffled]).all()
    assert (LOOKUP.predict(X[CHOOSE].copy()) == FOREST.predict(X[CHOOSE])).all()
    assert LOOKUP.n_features_in_ == 8
    assert LOOKUP.classes_.tolist() == ["ant", "bee", "cat"]


def test_other_samples_are_predicted_also_next_to_known_ones():
    mixed = np.concatenate([X[CHOOSE][:5], X[TEST][:5]])
    np.testing.assert_allclose(LOOKUP.predict_proba(mixed), FOREST.predict_proba(mixed))
    labels = LookupClassifier(FOREST.predict(X[CHOOSE]), ROWS, FOREST.classes_)
    assert (labels.predict(mixed) == FOREST.predict(mixed)).all()
    assert not hasattr(labels, "predict_proba")


def test_logarithms_and_log_odds_follow_from_probabilities():
    with np.errstate(divide="ignore"):
        assert (LOOKUP.predict_log_proba(X[CHOOSE]) == np.log(STORED)).all()
    assert np.isfinite(LOOKUP.decision_function(X[CHOOSE])).all()
    two = LookupClassifier(np.array([[0.25, 0.75], [1.0, 0.0]]), SampleRows(np.eye(2)), [0, 1])
    two.classes_ = np.array([0, 1])
    assert two.decision_function(np.eye(2))[0] == pytest.approx(np.log(3))
    assert np.isfinite(two.decision_function(np.eye(2))).all()


def test_regressors_return_values():
    lookup = LookupRegressor(np.array([1.5, 2.5]), SampleRows(np.eye(2)))
    assert lookup.predict(np.eye(2)[[1]]).tolist() == [2.5]


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
def test_scorers_of_every_response_method_equal_the_model(method):
    y = (Y == "ant").astype(int)
    kept = as_ensemble(fitted_models()["forest"])
    classes = np.array([0, 1])
    shares = kept.model.predict_proba(X[CHOOSE])[:, 0]
    table = np.stack([1 - shares, shares], axis=1)
    scoring = Scoring.from_scorer(make_scorer(roc_auc_score, response_method=method), classes)
    expected = roc_auc_score(y[CHOOSE], shares > 0.5 if method == "predict" else shares)
    assert scoring(table, y[CHOOSE]) == pytest.approx(expected)


def test_a_scorer_with_a_choice_uses_probabilities_as_for_a_forest():
    scorer = make_scorer(log_loss, response_method=("decision_function", "predict_proba"))
    table = np.array([[0.25, 0.75], [0.5, 0.5]])
    assert Scoring.from_scorer(scorer, [0, 1])(table, [1, 0]) == log_loss([1, 0], table)


def test_a_function_reads_the_samples_and_sample_weights():
    def on_large(estimator, X, y, sample_weight=None):
        large = X[:, 0] > 0
        return np.average((estimator.predict(X) == y)[large], weights=sample_weight[large])

    scoring = Scoring.from_scorer(on_large, FOREST.classes_)
    weights = np.random.default_rng(0).random(200)
    score = scoring(STORED, Y[CHOOSE], weights, ROWS)
    assert score == on_large(FOREST, X[CHOOSE], Y[CHOOSE], weights)


def test_a_function_that_raises_is_named_in_one_line():
    def broken(estimator, X, y):
        raise KeyError("income")

    with pytest.raises(InputError, match=r"broken.*cannot score these classes: .*income"):
        Scoring.from_scorer(broken, [0, 1])([0, 1], [0, 1])


def test_several_scores_have_keys():
    scorings = resolve_scorings({"main": "roc_auc", "hits": "accuracy"}, [0, 1])
    assert [(s.key, s.name, s.label) for s in scorings] == [
        ("main", "roc_auc", "main"),
        ("hits", "accuracy", "hits"),
    ]
    assert [s.key for s in resolve_scorings(["f1", "accuracy"], [0, 1])] == ["f1", "accuracy"]
    with pytest.raises(InputError, match="two scores called 'f1'"):
        resolve_scorings(["f1", "f1"], [0, 1])
    with pytest.raises(InputError, match="has no scores"):
        resolve_scorings([], [0, 1])
