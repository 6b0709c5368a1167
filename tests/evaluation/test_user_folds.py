"""Cross-validated scores in the user's folds equal scikit-learn's, for real samples and scorers."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_validate,
)

from fitted_models import CHOOSE, FIT, TEST, X, Y
from secateurs import (
    Predictions,
    PrunedClassifier,
    collect_predictions,
    compare,
    make_pruner,
    prune,
)
from secateurs.exceptions import InputError
from secateurs.problem import Problem

GROUPS = np.arange(200) // 4
PLAIN = RandomForestClassifier(12, random_state=0).fit(X[FIT], Y[FIT])
BINARY = RandomForestClassifier(12, random_state=0).fit(X[FIT], Y[FIT] == "ant")
NUMBERS = X[:, 0] + X[:, 1] ** 2
REGRESSOR = RandomForestRegressor(12, random_state=0).fit(X[FIT], NUMBERS[FIT])


FORESTS = {"classes": PLAIN, "binary": BINARY, "numbers": REGRESSOR}


class SelectAndPredict(BaseEstimator):
    """Selects members of a fitted forest by their predictions on the training part of a fold."""

    def __init__(self, name=None, keep=4):
        self.name = name
        self.keep = keep

    @property
    def forest(self):
        return FORESTS[self.name]

    def fit(self, X, y):
        classes = getattr(self.forest, "classes_", None)
        outputs = Predictions.encode(collect_predictions(self.forest, X), y, classes)
        pruner = make_pruner("joint", keep=self.keep).fit(outputs)
        members = sorted(pruner.member_indices_)
        self.members_ = [self.forest.estimators_[member] for member in members]
        return self


class SelectClassifier(ClassifierMixin, SelectAndPredict):
    def fit(self, X, y):
        self.classes_ = self.forest.classes_
        return super().fit(X, y)

    def predict_proba(self, X):
        return np.mean([member.predict_proba(np.asarray(X)) for member in self.members_], axis=0)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class SelectRegressor(RegressorMixin, SelectAndPredict):
    def predict(self, X):
        return np.mean([member.predict(np.asarray(X)) for member in self.members_], axis=0)


def on_positive(estimator, X, y):
    column = X["f0"] if hasattr(X, "columns") else np.asarray(X)[:, 0]
    return accuracy_score(y[np.asarray(column) > 0], estimator.predict(X)[np.asarray(column) > 0])


def robustness(estimator, X, y):
    """Negative mean change of the probabilities if a feature is shuffled."""
    changed = np.array(X)
    changed[:, 0] = np.random.RandomState(0).permutation(changed[:, 0])
    return -np.abs(estimator.predict_proba(X) - estimator.predict_proba(changed)).mean()


def score_and_reference(forest, X, y, scorer, cv, groups=None):  # noqa: PLR0917
    """Return our cross-validated score of four members, and scikit-learn's, weighted by folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(
            *(forest, X, y, ["joint"], [4]),
            scoring=scorer,
            cv=cv,
            groups=groups,
            random_state=0,
        )
    is_regression = isinstance(forest, RandomForestRegressor)
    (name,) = [name for name, one in FORESTS.items() if one is forest]
    model = (SelectRegressor if is_regression else SelectClassifier)(name)
    scoring = get_scorer(scorer) if isinstance(scorer, str) else scorer
    theirs = cross_validate(
        model, X, y, groups=groups, cv=cv, scoring=scoring, error_score="raise"
    )["test_score"]
    sizes = [len(held_out) for _, held_out in cv.split(X, y, groups)]
    board = found.leaderboard().set_index(["method", "keep"])
    ours = board.loc[("joint", 4), found.score]
    return ours, np.average(theirs, weights=sizes)


SPLITTERS = [
    (KFold(4), None),
    (TimeSeriesSplit(3), None),
    (GroupKFold(5), GROUPS),
    (ShuffleSplit(3, test_size=0.4, random_state=0), None),
]


@pytest.mark.parametrize(("cv", "groups"), SPLITTERS)
@pytest.mark.parametrize("scorer", ["accuracy", "neg_log_loss", on_positive, robustness])
def test_scores_of_classes_equal_cross_validate(scorer, cv, groups):
    ours, theirs = score_and_reference(PLAIN, X[CHOOSE], Y[CHOOSE], scorer, cv, groups)
    assert ours == pytest.approx(theirs, abs=2e-4)  # probabilities are stored in steps of 2**-14


@pytest.mark.parametrize(
    "scorer",
    [
        *("roc_auc", "average_precision", "neg_brier_score", "f1", "balanced_accuracy"),
        *("jaccard", "matthews_corrcoef", "precision", "recall"),
        make_scorer(roc_auc_score, response_method="decision_function"),
        make_scorer(roc_auc_score, response_method=("decision_function", "predict_proba")),
    ],
)
def test_every_kind_of_scorer_equals_scikit_learn(scorer):
    cv = KFold(3)
    y = Y[CHOOSE] == "ant"
    if not isinstance(scorer, str) and scorer._response_method == "decision_function":
        # A forest has no decision function. Ours are log odds, which rank like probabilities.
        found = compare(BINARY, X[CHOOSE], y, ["joint"], [4], scoring=scorer, cv=cv, random_state=0)
        ours = found.leaderboard().set_index(["method", "keep"]).loc[("joint", 4), found.score]
        _, theirs = score_and_reference(BINARY, X[CHOOSE], y, "roc_auc", cv)
    else:
        ours, theirs = score_and_reference(BINARY, X[CHOOSE], y, scorer, cv)
    assert ours == pytest.approx(theirs, abs=1e-3)


@pytest.mark.parametrize("scorer", ["neg_mean_absolute_error", "neg_median_absolute_error"])
@pytest.mark.parametrize(("cv", "groups"), SPLITTERS[:3])
def test_scores_of_numbers_equal_cross_validate(scorer, cv, groups):
    given = REGRESSOR, X[CHOOSE], NUMBERS[CHOOSE]
    ours, theirs = score_and_reference(*given, scorer, cv, groups)
    assert ours == pytest.approx(theirs, rel=1e-6)


FORMS = {
    "frame": lambda rows: pd.DataFrame(
        X[rows], columns=[f"f{i}" for i in range(8)], index=[f"row {i}" for i in range(200)]
    ),
    "polars": lambda rows: pl.DataFrame(X[rows], schema=[f"f{i}" for i in range(8)]),
    "sparse": lambda rows: sparse.csr_matrix(X[rows]),
}


@pytest.mark.parametrize("form", FORMS)
def test_scorers_receive_the_samples_in_their_own_form(form):
    seen = []

    def scorer(estimator, samples, y):
        seen.append(samples)
        return accuracy_score(y, estimator.predict(samples))

    given = FORMS[form](CHOOSE)
    model = RandomForestClassifier(12, random_state=0).fit(FORMS[form](slice(0, 200)), Y[:200])
    pruning = prune(model, given, Y[CHOOSE], "joint", tolerance=0.05, scoring=scorer, cv=2)
    assert {type(samples) for samples in seen} == {type(given)}
    assert {samples.shape[1] for samples in seen} == {8}
    if form == "frame":
        assert all(set(samples.index) <= set(given.index) for samples in seen)
    table = pruning.summary(FORMS[form](TEST), Y[TEST])
    expected = accuracy_score(Y[TEST], pruning.estimator.predict(FORMS[form](TEST)))
    assert table.loc["scorer", "after"] == expected == table.loc["accuracy", "after"]


def test_the_summary_without_a_test_set_scores_the_samples_too():
    pruning = prune(PLAIN, X[CHOOSE], Y[CHOOSE], "joint", 4, scoring=on_positive, cv=KFold(4))
    ours, _ = score_and_reference(PLAIN, X[CHOOSE], Y[CHOOSE], on_positive, KFold(4))
    assert pruning.summary().loc["on positive", "after"] == pytest.approx(ours)


def test_a_scorer_decides_by_the_samples_that_it_reads():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    group = rng.integers(2, size=300)
    samples = np.stack([group, rng.normal(size=300)], axis=1)
    right_in = [np.where(group == side, y, 1 - y) for side in (0, 1)]
    votes = np.stack([*right_in, rng.integers(2, size=300)], axis=1)
    for side in (0, 1):

        def score(estimator, X, y, side=side):
            return accuracy_score(y[X[:, 0] == side], estimator.predict(X)[X[:, 0] == side])

        pruning = prune(votes, samples, y, "caruana", keep=1, scoring=score)
        assert pruning.member_indices.tolist() == [side]


def test_a_table_without_samples_is_passed_itself():
    votes = np.array([["a", "b"], ["b", "b"], ["a", "a"], ["b", "a"]] * 10)
    truth = votes[:, 0]

    def score(estimator, X, y):
        assert X.shape[1] == 2
        return accuracy_score(y, X[:, 0])

    pruning = prune(votes, None, truth, "best", keep=1, scoring=score)
    assert pruning.summary().loc["score", "after"] == 1.0
    with pytest.raises(InputError, match="has 3 samples, but the predictions have 40"):
        prune(votes, np.zeros((3, 1)), truth, "best", keep=1)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr"])
def test_rows_repeated_in_groups_score_as_the_rows_once(scoring):
    options = {"scoring": scoring, "random_state": 3}
    once = compare(PLAIN, X[CHOOSE], Y[CHOOSE], ["joint"], [3], **options)
    rows = np.tile(np.arange(300, 500), 8)
    eight = compare(PLAIN, X[rows], Y[rows], ["joint"], [3], groups=rows, **options)
    both = [found.leaderboard().set_index(["method", "keep"]) for found in (once, eight)]
    score = [board.loc[("joint", 3), scoring] for board in both]
    assert score[0] == pytest.approx(score[1], abs=1e-12)
    errors = [board.loc[("joint", 3), "standard_error"] for board in both]
    assert errors[1] == pytest.approx(errors[0], rel=0.5)  # not √8 times smaller
    without = compare(PLAIN, X[rows], Y[rows], ["joint"], [3], **options).leaderboard()
    naive_error = without.set_index(["method", "keep"]).loc[("joint", 3), "standard_error"]
    assert naive_error < errors[0] / 2


def test_one_group_in_each_fold_still_has_a_standard_error():
    found = compare(
        *(PLAIN, X[CHOOSE], Y[CHOOSE], ["best"], [3]),
        cv=LeaveOneGroupOut(),
        groups=np.arange(200) // 20,
    )
    row = found.leaderboard().set_index("method").loc["best"]
    by_group = []
    problem = Problem.from_input(PLAIN, X[CHOOSE], Y[CHOOSE])
    for group in range(10):
        held_out = np.arange(200) // 20 == group
        votes = problem.predictions.rows(np.flatnonzero(~held_out))
        members = sorted(make_pruner("best", keep=3).fit(votes).member_indices_)
        shares = np.mean(
            [PLAIN.estimators_[m].predict_proba(X[CHOOSE][held_out]) for m in members], axis=0
        )
        labels = PLAIN.classes_[shares.argmax(axis=1)]
        by_group.append(accuracy_score(Y[CHOOSE][held_out], labels))
    assert row["accuracy"] == pytest.approx(np.mean(by_group))
    assert row["standard_error"] == pytest.approx(np.std(by_group, ddof=1) / np.sqrt(10))


@pytest.mark.parametrize(
    "validation", [GroupKFold(3), TimeSeriesSplit(3), [(range(200), range(200, 300))]]
)
def test_pruned_classifiers_take_splitters_and_pairs(validation):
    groups = np.arange(300) // 5
    pruned = PrunedClassifier(
        RandomForestClassifier(8, random_state=0), "joint", validation=validation, random_state=0
    ).fit(X[FIT], Y[FIT], groups=groups)
    splits = validation
    if not isinstance(validation, list):
        is_grouped = isinstance(validation, GroupKFold)
        splits = validation.split(X[FIT], Y[FIT], groups if is_grouped else None)
    _, held_out = list(splits)[-1]
    assert pruned.pruning_.problem.predictions.n_samples == len(held_out)
    kept = pruned.pruning_.problem.cross_validation.groups
    assert kept.tolist() == groups[np.asarray(held_out)].tolist()


def test_a_share_of_whole_groups_is_held_out():
    groups = np.arange(300) // 5
    forest = RandomForestClassifier(8, random_state=0)
    pruned = PrunedClassifier(forest, "joint", random_state=0).fit(X[FIT], Y[FIT], groups=groups)
    held_out = pruned.pruning_.problem.cross_validation.groups
    assert len(held_out) == 60
    assert set(np.bincount(held_out).tolist()) == {0, 5}


def test_a_fold_without_a_class_gives_one_line():
    y = np.where(np.arange(200) < 100, "ant", "bee")
    forest = RandomForestClassifier(5, random_state=0).fit(X[FIT][:200], y)
    with pytest.raises(InputError, match=r"roc_auc.*is not defined on these samples: y holds one"):
        compare(forest, X[CHOOSE], y, ["best"], [2], scoring="roc_auc", cv=KFold(2))
