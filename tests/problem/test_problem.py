"""The problem to solve: what is checked, recognised and kept."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import make_scorer, mean_squared_error

import fitted_regressors as regressors
from fitted_models import CHOOSE, FIT, TEST, X, Y
from secateurs import collect_votes, compare, prune
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.outputs.training_samples import row_hashes
from secateurs.problem import Problem


def test_rows_of_whole_numbers_are_told_apart():
    """Their bits differ in few places, which a weak hash of rows would mix up."""
    rows = np.random.default_rng(0).integers(0, 17, size=(20_000, 64)).astype(float)
    assert len(np.unique(row_hashes(rows))) == len(np.unique(rows, axis=0))
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 1]})
    assert len(np.unique(row_hashes(frame))) == 2
    assert len(np.unique(row_hashes(sparse.csr_matrix(np.eye(3)[[0, 1, 0]])))) == 2


def test_rows_and_labels_to_measure_on_go_together(forest):
    with pytest.raises(InputError, match="X_test has 5 samples but y_test has 4 labels"):
        prune(forest, X[CHOOSE], Y[CHOOSE], keep=3).summary(X[:5], Y[:4])


def test_training_rows_are_warned_of(forest, fitted):
    for model in (forest, fitted["bagging"]):
        with pytest.warns(UserWarning, match="validation set looks like the training set"):
            prune(model, X[FIT], Y[FIT], keep=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(forest, X[FIT], Y[FIT], keep=3, oob=True)
        prune(forest, X[350:650], Y[350:650], keep=3)  # as many, but others


def test_training_rows_of_regressors_are_warned_of():
    models, rows = regressors.fitted_regressors(), regressors.X
    for name in ("forest", "extra trees", "bagging"):
        with pytest.warns(UserWarning, match="validation set looks like the training set"):
            prune(models[name], rows[regressors.FIT], regressors.Y[regressors.FIT], keep=3)
    heavy = regressors.Y + 1e3 * (np.arange(600) % 100 == 0)  # errors of few rows count
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (regressors.Y, heavy):
            prune(models["forest"], rows[:250], y[:250], "best", keep=3, oob=True)
            for start in (250, 300, 350):  # as many, but others
                prune(models["forest"], rows[start : start + 250], y[start : start + 250], keep=3)


def test_bagging_that_grew_is_pruned_on_any_rows():
    grown = BaggingClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X[FIT], Y[FIT])
    grown.set_params(n_estimators=5).fit(X[FIT], Y[FIT])
    assert len(prune(grown, X[FIT], Y[FIT], "best", 2).estimator.estimators_) == 2


def test_parts_without_replacement_leave_rows_out_of_the_bag():
    parts = BaggingClassifier(n_estimators=6, max_samples=0.5, bootstrap=False, random_state=0)
    pruning = prune(parts.fit(X[FIT], Y[FIT]), X[FIT], Y[FIT], keep=2, oob=True)
    assert pruning.votes.n_voted.tolist() == [150] * 6


def test_bad_predictions_are_refused():
    with pytest.raises(InputError, match="has 2 samples, but the predictions have 3"):
        prune(np.zeros((3, 2), int), X[:2], [0, 1, 0])
    with pytest.raises(InputError, match="do not sum to 1"):
        prune(np.full((3, 2, 2), 0.7), y=[0, 1, 0])
    with pytest.raises(InputError, match="not all finite numbers"):
        prune(np.full((3, 2, 2), np.inf), y=[0, 1, 0])
    with pytest.raises(InputError, match="All predictions are missing"):
        prune(np.full((3, 2, 2), np.nan), y=[0, 1, 0])
    with pytest.raises(InputError, match="max_latency needs models"):
        prune(np.zeros((3, 2), int), y=[0, 1, 0], max_latency=1)


def test_a_problem_is_made_once_and_used_by_all(forest):
    problem = Problem.from_input(forest, X[CHOOSE], Y[CHOOSE], X_test=X[TEST], y_test=Y[TEST])
    alone = prune(forest, X[CHOOSE], Y[CHOOSE], "re", tolerance=0.02, random_state=0)
    pruning = prune(problem, pruner="re", tolerance=0.02, random_state=0)
    assert pruning.member_indices.tolist() == alone.member_indices.tolist()
    assert pruning.votes is problem.predictions
    given = {"methods": ["re"], "keep": 3, "random_state": 0}
    columns = ["method", "accuracy", "low", "bytes"]
    found = compare(problem, **given).leaderboard()
    rows = {"X_test": X[TEST], "y_test": Y[TEST]}
    again = compare(forest, X[CHOOSE], Y[CHOOSE], **given, **rows).leaderboard()
    assert found[columns].equals(again[columns])


def test_a_pruning_keeps_votes_and_hashes_but_no_rows(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=3)
    assert pruning.problem.X is None
    assert len(pruning.problem.row_hashes) == 200
    again = pickle.loads(pickle.dumps(pruning))
    assert (
        again.summary(X[TEST], Y[TEST])
        .loc["accuracy"]
        .equals(pruning.summary(X[TEST], Y[TEST]).loc["accuracy"])
    )


def test_test_votes_are_collected_once(forest):
    problem = Problem.from_input(
        forest, X[CHOOSE], Y[CHOOSE], X_test=X[TEST], y_test=Y[TEST].tolist()
    )
    assert problem.test_predictions is problem.test_predictions
    assert (problem.test_predictions.vote([0]) == collect_votes(forest, X[TEST])[:, 0]).all()
    assert problem.n_reused_samples == 0
    assert problem.with_test_set(X[400:600], Y[400:600]).n_reused_samples == 100
    assert problem.with_test_set(None, None) is problem
    assert not problem.without_samples().has_test_set


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_scorers_receive_a_data_frame_of_predictions_as_it_was_passed(library):
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(2, size=80)]
    columns = {name: np.where(rng.random(80) < 0.8, y, "no") for name in "abc"}
    frame = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)

    def agrees_with_b(estimator, X, y):
        return float(np.mean(np.asarray(X["b"]) == estimator.predict(X)))

    pruning = prune(frame, y=y, pruner="caruana", keep=1, scoring=agrees_with_b)
    assert pruning.member_names == ["b"]
    assert pruning.summary(frame[:40], y[:40]).loc["agrees with b", "after"] == 1
    assert pruning.summary().loc["agrees with b", "after"] == 1


@pytest.mark.parametrize("missing", [False, True])
def test_a_test_table_that_is_the_validation_table_is_noticed(missing):
    votes = np.ma.array(np.random.default_rng(0).integers(0, 3, (50, 4)))
    if missing:
        votes[::7, 1] = np.ma.masked
    y = np.arange(50) % 3
    frame = pd.DataFrame(votes.astype(float).filled(np.nan), columns=list("abcd"))
    problem = Problem.from_input(frame, y=y)
    assert problem.with_test_set(frame[list("dbca")], y).n_reused_samples == 50
    other = frame.copy()
    other.loc[3, "a"] = (other.loc[3, "a"] + 1) % 3
    assert problem.with_test_set(other, y).n_reused_samples == 0
    assert problem.with_test_set(frame, np.roll(y, 1)).n_reused_samples == 0
    assert problem.with_test_set(frame[:20], y[:20]).n_reused_samples == 0


@pytest.mark.parametrize("kind", [str, object])
def test_a_class_that_the_model_never_saw_is_told_once_with_its_rows(forest, kind):
    y, y_test = Y[CHOOSE].astype(object), Y[TEST].astype(object)
    y[[3, 8, 20]], y_test[7] = "owl", "yak"
    told = (
        r"^y has labels that the model was not trained on and cannot predict: "
        r"'owl' \(3 samples\)\."
    )
    with pytest.warns(SecateursWarning, match=told) as caught:
        pruning = prune(forest, X[CHOOSE], y.astype(kind), "re", keep=3)
    assert len(caught) == 1
    with pytest.warns(SecateursWarning, match=r"^y_test has .*: 'yak' \(1 sample\)\.") as caught:
        pruning.summary(X[TEST], y_test.astype(kind))
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": None}, "y is missing"),
        ({"X": None}, "X is missing"),
        ({"X_test": X[TEST]}, "X_test and y_test go together"),
        ({"y_test": Y[TEST]}, "X_test and y_test go together"),
        ({"X_test": X[TEST], "y_test": Y[:7]}, "X_test has 200 samples but y_test has 7 labels"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_refused(forest, given, message):
    arguments = {"X": X[CHOOSE], "y": Y[CHOOSE]} | given
    with pytest.raises(InputError, match=message) as caught:
        Problem.from_input(forest, **arguments)
    assert set(given) & {caught.value.parameter, *caught.value.parameters}


def test_rows_to_choose_on_can_be_given_again(forest):
    problem = Problem.from_input(forest, X[CHOOSE], Y[CHOOSE]).without_samples()
    assert problem.with_validation_set(X[CHOOSE]).X is not None
    with pytest.raises(InputError, match="X has 3 samples, but the members were selected on 200"):
        problem.with_validation_set(X[:3])


def test_tables_of_numbers_are_recognised_in_every_form():
    table, y = regressors.table(), regressors.Y[regressors.CHOOSE]
    named = {f"tree {member}": pd.Series(column) for member, column in enumerate(table.T)}
    forest = regressors.fitted_regressors()["forest"]
    kept = prune(forest, regressors.X[regressors.CHOOSE], y, keep=4).member_indices.tolist()
    for form in (table, pd.DataFrame(named), named, list(table.T), np.ma.array(table)):
        pruning = prune(form, y=y, keep=4)
        assert pruning.problem.is_regression
        assert pruning.member_indices.tolist() == kept
    assert list(prune(named, y=y, keep=4).members) == [f"tree {n}" for n in sorted(kept)]
    mixed = named | {"tree 0": np.rint(table[:, 0]).astype(int)}
    assert prune(mixed, y=y, keep=2).problem.is_regression


def test_tables_of_numbers_are_tested_on_others():
    table, y = regressors.table(), regressors.Y[regressors.CHOOSE]
    test, truth = regressors.table(rows=regressors.TEST), regressors.Y[regressors.TEST]
    pruning = prune(table, y=y, pruner="joint", keep=4)
    figures = pruning.summary(test, truth)
    off = test[:, pruning.member_indices].mean(axis=1) - truth
    assert figures.loc["mean absolute error", "after"] == pytest.approx(np.abs(off).mean())
    holes = np.ma.array(test, mask=np.random.default_rng(0).random(test.shape) < 0.6)
    mean = np.ma.getdata(holes[:, pruning.member_indices].mean(axis=1))
    known = ~np.ma.getmaskarray(holes)[:, pruning.member_indices].all(axis=1)
    assert not known.all()
    mean = np.where(known, mean, y.mean())  # samples that no kept member predicts
    found = pruning.summary(holes, truth).loc["mean absolute error", "after"]
    assert found == pytest.approx(np.abs(mean - truth).mean())
    board = compare(table, y=y, X_test=test, y_test=truth, keep=4).leaderboard()
    line = board.set_index("method").loc["joint"]
    assert line["r2"] == pytest.approx(figures.loc["R²", "after"], abs=1e-6)
    with pytest.raises(
        InputError, match="has probabilities of 0, 1, but the validation table has values"
    ):
        pruning.summary(np.full((len(truth), 20, 2), 0.5), truth)


def test_whole_numbers_are_numbers_with_a_score_of_numbers():
    table = np.rint(regressors.table()).astype(int)
    y = np.rint(regressors.Y[regressors.CHOOSE]).astype(int)
    assert not prune(table, y=y, keep=3).problem.is_regression
    for scoring in ("r2", make_scorer(mean_squared_error, greater_is_better=False)):
        assert prune(table, y=y, keep=3, scoring=scoring).problem.is_regression
    assert prune(table, y=y + 0.5, keep=3).problem.is_regression


def test_fractions_that_are_no_numbers_of_regressors_are_refused():
    shares = np.random.default_rng(0).random((40, 3))
    with pytest.raises(InputError, match=r"there are 3 different labels\. Pass labels, or a prob"):
        prune(shares, y=np.array(["no", "yes", "perhaps", "no"] * 10))
    with pytest.raises(InputError, match="are not all numbers"):
        prune([["a", "b"]] * 4, y=[0.5, 1, 2, 3])
    gaps = prune(np.where(shares == shares[3, 1], np.nan, shares), y=shares[:, 0], keep=2)
    assert gaps.votes.n_answered.tolist() == [40, 39, 40]
    with pytest.raises(InputError, match="X_test has 3 samples but y_test has 2 values"):
        prune(shares, y=shares[:, 0], keep=2).summary(shares[:3], [0.5, 1.5])
