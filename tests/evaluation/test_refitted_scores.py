"""Comparisons of refitted members: their scores are those of the models that prune returns."""

import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from fitted_models import CHOOSE, FIT, TEST, X, Y
from secateurs import LeafRefit, compare, make_pruner
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError, SecateursError
from secateurs.problem import Problem
from secateurs.refitting.refit import RefitTask
from secateurs.refitting.teacher import LabelledSamples

FOREST = RandomForestClassifier(20, max_depth=5, random_state=0).fit(X[FIT], Y[FIT])
REFIT = LeafRefit(synthetic_ratio=2)
HELD_OUT = {"X_test": X[TEST], "y_test": Y[TEST]}


def line_of(found, method, keep):
    return found.leaderboard().set_index(["method", "keep"]).loc[(method, keep)]


def test_scores_on_a_test_set_are_those_of_the_refitted_model():
    given = {"scoring": ["neg_log_loss", "accuracy"], "refit": REFIT, "random_state": 0}
    found = compare(FOREST, X[CHOOSE], Y[CHOOSE], ["best"], [3, 6], **HELD_OUT, **given)
    for keep in (3, 6):
        line, plain = (line_of(found, name, keep) for name in ("best, refitted", "best"))
        pruning = found.pruning("best, refitted", keep)
        model = pruning.estimator
        assert pruning.problem.refitted is not None
        expected = -log_loss(Y[TEST], model.predict_proba(X[TEST]))
        assert line["neg_log_loss"] == pytest.approx(expected, abs=1e-6)
        assert line["accuracy"] == accuracy_score(Y[TEST], model.predict(X[TEST]))
        assert line["neg_log_loss"] != plain["neg_log_loss"]
        assert found.members("best, refitted", keep) == found.members("best", keep)


def test_leaves_are_refitted_in_each_fold():
    cv = KFold(3)
    given = {"cv": cv, "refit": REFIT, "random_state": 0}
    found = compare(FOREST, X[CHOOSE], Y[CHOOSE], ["best"], [4], **given)
    votes = Problem.from_input(FOREST, X[CHOOSE], Y[CHOOSE]).predictions
    n_right = 0
    for training, held_out in cv.split(X[CHOOSE]):
        fitted = make_pruner("best", keep=4).fit(votes.rows(training))
        members = sorted(fitted.member_indices_.tolist())
        samples = LabelledSamples(X[CHOOSE][training], Y[CHOOSE][training])
        task = RefitTask.from_input(as_ensemble(FOREST), members, samples, None, REFIT, 0)
        model = task.refitted_ensemble().as_predictor(members)
        n_right += (model.predict(X[CHOOSE][held_out]) == Y[CHOOSE][held_out]).sum()
    assert line_of(found, "best, refitted", 4)["accuracy"] == n_right / 200


def test_regressors_are_refitted_too(tmp_path):
    y = X[:, 0] + X[:, 1] ** 2
    forest = RandomForestRegressor(15, max_depth=4, random_state=0).fit(X[FIT], y[FIT])
    test = {"X_test": X[TEST], "y_test": y[TEST]}
    found = compare(forest, X[CHOOSE], y[CHOOSE], ["joint"], [4], refit=True, **test)
    model = found.pruning("joint, refitted", 4).estimator
    assert line_of(found, "joint, refitted", 4)["r2"] == pytest.approx(
        model.score(X[TEST], y[TEST])
    )
    page = found.report(tmp_path / "page.html").read_text("utf-8")
    assert "joint, refitted" in page


def test_refitting_that_is_not_possible_is_rejected_in_one_line():
    with pytest.raises(InputError, match="cannot be cross-validated with out-of-bag votes"):
        compare(FOREST, X[FIT], Y[FIT], ["best"], [4], oob=True, refit=True)
    models = [GaussianNB().fit(X[FIT], Y[FIT]), GaussianNB(var_smoothing=1).fit(X[FIT], Y[FIT])]
    with pytest.raises(SecateursError, match="cannot be refitted"):
        compare(models, X[CHOOSE], Y[CHOOSE], ["best"], [1], refit=True)
