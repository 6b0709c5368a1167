"""Unfitted models are selected by out-of-fold predictions, and fitted to all samples."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs import compare, prune
from secateurs.exceptions import InputError

X, CODES = make_classification(300, 8, n_informative=5, random_state=0)
Y = np.array(["no", "yes"])[CODES]
TRAIN, TEST = np.arange(200), np.arange(200, 300)
GROUPS = np.arange(200) // 4


def classifiers():
    return {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
        "bayes": GaussianNB(),
        "nearest": KNeighborsClassifier(7),
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
    }


FOLDS = {
    "stratified": (StratifiedKFold(4, shuffle=True, random_state=1), None),
    "groups": (GroupKFold(5), GROUPS),
    "pairs": (list(KFold(4).split(X[TRAIN])), None),
}


@pytest.mark.parametrize("form", FOLDS)
def test_members_are_selected_as_by_a_table_of_cross_val_predict(form):
    cv, groups = FOLDS[form]
    table = {
        name: cross_val_predict(
            model, X[TRAIN], Y[TRAIN], cv=cv, groups=groups, method="predict_proba"
        )
        for name, model in classifiers().items()
    }
    options = {"pruner": "caruana", "keep": 2, "cv": cv, "groups": groups}
    expected = prune(table, y=Y[TRAIN], classes=["no", "yes"], **options)
    pruning = prune(classifiers(), X[TRAIN], Y[TRAIN], **options)
    assert pruning.member_names == expected.member_names
    np.testing.assert_allclose(pruning.weights, expected.weights)
    scores = ["accuracy", "log loss"]
    own, other = (result.summary().loc[scores].to_numpy() for result in (pruning, expected))
    np.testing.assert_allclose(own, other)


def test_the_result_is_a_voting_ensemble_fitted_to_all_samples():
    models = classifiers()
    pruning = prune(models, X[TRAIN], Y[TRAIN], pruner="caruana", keep=2, cv=4)
    voting = pruning.estimator
    assert type(voting) is VotingClassifier
    assert list(pruning.members) == [name for name in models if name in pruning.member_names]
    kept = {name: clone(models[name]) for name in pruning.members}
    judge = VotingClassifier(list(kept.items()), voting="soft", weights=voting.weights)
    judge.fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(voting.predict_proba(X[TEST]), judge.predict_proba(X[TEST]))
    summary = pruning.summary(X[TEST], Y[TEST])
    assert summary.loc["accuracy", "after"] == judge.score(X[TEST], Y[TEST])
    note = "selected by out-of-fold predictions (4 folds, 200 samples) and then fitted to all"
    assert any(note in remark for remark in summary.attrs["remarks"])
    assert not hasattr(models["bayes"], "classes_")


def test_models_without_probabilities_vote_by_label():
    models = [RidgeClassifier(), GaussianNB(), DecisionTreeClassifier(max_depth=1)]
    cv = KFold(4)
    table = np.stack([cross_val_predict(m, X[TRAIN], Y[TRAIN], cv=cv) for m in models], axis=1)
    expected = prune(table, y=Y[TRAIN], pruner="re", keep=2, cv=cv).member_indices.tolist()
    pruning = prune(models, X[TRAIN], Y[TRAIN], pruner="re", keep=2, cv=cv)
    assert pruning.member_indices.tolist() == expected
    for keep in (1, 2, 3):
        pruning = prune(models, X[TRAIN], Y[TRAIN], pruner="re", keep=keep, cv=cv)
        voting = pruning.estimator
        assert type(voting) is VotingClassifier
        kept = [(str(index), clone(models[index])) for index in sorted(pruning.member_indices)]
        judge = VotingClassifier(kept).fit(X[TRAIN], Y[TRAIN])
        np.testing.assert_array_equal(voting.predict(X[TEST]), judge.predict(X[TEST]))
        again = clone(voting).fit(X[TRAIN], Y[TRAIN])
        np.testing.assert_array_equal(again.predict(X[TEST]), judge.predict(X[TEST]))


def test_regressors_are_averaged():
    target = X[:, 0] * 3 + X[:, 1] ** 2
    models = {
        "ridge": Ridge(),
        "tree": DecisionTreeRegressor(max_depth=3, random_state=0),
        "nearest": KNeighborsRegressor(),
    }
    cv = KFold(5)
    table = {
        name: cross_val_predict(m, X[TRAIN], target[TRAIN], cv=cv) for name, m in models.items()
    }
    expected = prune(table, y=target[TRAIN], pruner="caruana", keep=2, cv=cv)
    pruning = prune(models, X[TRAIN], target[TRAIN], pruner="caruana", keep=2, cv=cv)
    assert type(pruning.estimator) is VotingRegressor
    assert pruning.member_names == expected.member_names
    own = [model.fit(X[TRAIN], target[TRAIN]).predict(X[TEST]) for model in models.values()]
    kept = np.sort(pruning.member_indices)
    mean = np.average(np.array(own)[kept], axis=0, weights=pruning.estimator.weights)
    np.testing.assert_allclose(pruning.estimator.predict(X[TEST]), mean)


def test_folds_of_a_time_series_use_the_samples_that_they_hold_out():
    cv = TimeSeriesSplit(4)
    pruning = prune(classifiers(), X[TRAIN], Y[TRAIN], pruner="best", keep=2, cv=cv)
    held_out = np.concatenate([held for _, held in cv.split(X[TRAIN])])
    assert pruning.votes.n_samples == len(held_out) == 160
    assert any("160 of 200 samples" in note for note in pruning.summary().attrs["remarks"])
    right = []
    for model in classifiers().values():
        folds = cv.split(X[TRAIN])
        parts = [clone(model).fit(X[a], Y[a]).predict(X[b]) == Y[b] for a, b in folds]
        right.append(int(np.concatenate(parts).sum()))
    assert pruning.votes.n_right.tolist() == right


class Weighted(ClassifierMixin, BaseEstimator):
    """Predict the class with the larger sum of weights in training."""

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        self.winner_ = max(self.classes_, key=lambda label: weights[y == label].sum())
        return self

    def predict(self, X):
        return np.repeat(self.winner_, len(X))


def test_sample_weights_reach_the_models_that_accept_them():
    weights = np.where(Y == "yes", 9.0, 1.0)
    models = {"weighted": Weighted(), "nearest": KNeighborsClassifier(), "bayes": GaussianNB()}
    pruning = prune(models, X, Y, pruner="best", keep=3, sample_weight=weights)
    assert pruning.members["weighted"].winner_ == "yes"
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        piped = make_pipeline(scaler, Weighted().set_fit_request(sample_weight=True))
        models = {"piped": piped, "bayes": GaussianNB()}
        pruning = prune(models, X, Y, pruner="best", keep=2, sample_weight=weights)
    assert pruning.members["piped"][-1].winner_ == "yes"


def test_methods_are_compared_by_out_of_fold_predictions():
    rows = compare(classifiers(), X[TRAIN], Y[TRAIN], methods=["best"], keep=2, cv=KFold(4))
    table = rows.leaderboard()
    out_of_fold = np.mean(
        [
            cross_val_predict(m, X[TRAIN], Y[TRAIN], cv=KFold(4), method="predict_proba")
            for m in classifiers().values()
        ],
        axis=0,
    )
    accuracy = (np.array(["no", "yes"])[out_of_fold.argmax(axis=1)] == Y[TRAIN]).mean()
    full = table.loc[table.method == "all members", "accuracy"].item()
    assert full == pytest.approx(accuracy, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": RepeatedKFold(n_splits=3, n_repeats=2)}, "holds out sample 0 in several folds"),
        ({"oob": True}, "oob=True needs a fitted ensemble"),
        ({"cv": 1}, "cv=1 is too small"),
        ({"names": ["a", "b", "c", "d"]}, "names is for predictions only"),
    ],
)
def test_parameters_that_do_not_apply_are_rejected(change, message):
    with pytest.raises(InputError, match=message):
        prune(classifiers(), X, Y, keep=2, **change)


def test_fitted_and_unfitted_models_do_not_mix():
    models = {"bayes": GaussianNB().fit(X, Y), "nearest": KNeighborsClassifier()}
    with pytest.raises(InputError, match="Member 'bayes' is fitted, and member 'nearest' is not"):
        prune(models, X, Y, keep=1)
