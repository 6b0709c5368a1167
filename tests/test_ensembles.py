"""Ensembles: what a model is, and slices that answer and know what their members do.

What an ensemble should say is worked out here from its members' own answers, in plain NumPy; the
tests of collected votes use the same models.
"""

import pickle
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError, SecateursWarning, UnsupportedEnsembleError

LABELS = {"numbers": [3, 7, 12], "text": ["ant", "bee", "cat"]}
WEIGHTS = [0.5, 3, 1, 1.5, 0.25]


def tree(depth=4, **options):
    return DecisionTreeClassifier(max_depth=depth, random_state=0, **options)


def forest(n_trees=8, **options):
    return RandomForestClassifier(n_trees, max_depth=4, random_state=0, **options)


def bagging(member=None, **options):
    return BaggingClassifier(tree() if member is None else member, 8, random_state=1, **options)


def neighbours(count):
    return KNeighborsClassifier(count, algorithm="kd_tree")  # starts no threads for so few rows


def line():
    return LogisticRegression(solver="newton-cg")  # the fastest for so few rows


def voting(*more, **options):
    members = [
        ("oak", tree(3)),
        ("bayes", GaussianNB()),
        ("line", line()),
        ("stump", tree(1)),
        ("coin", BernoulliNB()),
    ]
    return VotingClassifier([*more, *members], **options)


def some_models():
    return [tree(), GaussianNB(), line(), neighbours(5), forest(3), tree(2)]


def search(model, **grid):
    return GridSearchCV(model, {name: [value] for name, value in grid.items()}, cv=2)


MODELS = {
    "forest": forest,
    "extra trees": lambda: ExtraTreesClassifier(8, max_depth=4, bootstrap=True, random_state=0),
    "bagging": bagging,
    "bagging, half the features": lambda: bagging(max_features=0.5),
    "bagging, drawn features": lambda: bagging(bootstrap_features=True),
    "bagging, classes not seen": lambda: bagging(neighbours(2), max_samples=4),
    "bagging, no probabilities": lambda: bagging(LinearSVC(), max_features=0.75),
    "bagging of lines": lambda: bagging(line()),
    "hard voting": voting,
    "soft voting": lambda: voting(voting="soft"),
    "hard voting, weights": lambda: voting(weights=WEIGHTS),
    "soft voting, weights": lambda: voting(voting="soft", weights=WEIGHTS),
    "hard voting, one dropped": lambda: voting(("gone", "drop"), weights=[9, *WEIGHTS]),
    "soft voting, one dropped": lambda: voting(("gone", "drop"), voting="soft"),
    "boosting": lambda: AdaBoostClassifier(tree(2), n_estimators=7, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), forest()),
    "pipeline, bagging": lambda: make_pipeline(StandardScaler(), bagging(max_features=0.5)),
    "pipeline, nested": lambda: make_pipeline(
        StandardScaler(), make_pipeline(SelectKBest(k=5), voting())
    ),
    "pipeline, one step": lambda: make_pipeline(forest()),
    "pipeline, passthrough": lambda: Pipeline([("nothing", "passthrough"), ("trees", forest())]),
    "pipeline, some passthrough": lambda: make_pipeline(StandardScaler(), "passthrough", forest()),
    "search": lambda: search(forest(), max_depth=3),
    "search, pipeline": lambda: search(
        Pipeline([("scale", StandardScaler()), ("trees", bagging())]), trees__max_samples=0.7
    ),
    "frozen": lambda: FrozenEstimator(forest()),
    "frozen in a pipeline": lambda: make_pipeline(StandardScaler(), FrozenEstimator(bagging())),
    "list": some_models,
    "dict": lambda: dict(zip("abcdef", some_models())),
}
VOTERS = [name for name in MODELS if name not in ("list", "dict")]
BOOTSTRAPPED = ["forest", "extra trees", *(name for name in MODELS if name.startswith("bagging"))]
VOTINGS = [name for name in MODELS if "voting" in name]
TAKE_WEIGHTS = ["forest", "extra trees", "bagging", "bagging of lines", "boosting", *VOTINGS]
TAKE_MISSING = ["forest", "extra trees", "bagging", "bagging, half the features"]

every_model = pytest.mark.parametrize("name", MODELS)
every_voter = pytest.mark.parametrize("name", VOTERS)
every_kind_of_label = pytest.mark.parametrize("labels", LABELS)
every_number_of_classes = pytest.mark.parametrize("n_classes", [2, 3])


def data(n_classes=3, labels="text", missing=False):
    """Rows to train on, their labels, and further rows."""
    return _data(n_classes, labels, missing)


@cache
def _data(n_classes, labels, missing):
    X, codes = make_classification(
        240, 8, n_informative=5, n_classes=n_classes, flip_y=0.1, random_state=n_classes
    )
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X[:150], np.array(LABELS[labels])[codes[:150]], X[150:]


def fit(model, X, y, **options):
    """Fit a model, or all in a list or dict; the first of those never sees the first label."""
    if isinstance(model, dict):
        return dict(zip(model, fit(list(model.values()), X, y)))
    if isinstance(model, list):
        rest = y != np.unique(y)[0]
        return [model[0].fit(X[rest], y[rest]), *(one.fit(X, y) for one in model[1:])]
    if isinstance(model, FrozenEstimator):
        return FrozenEstimator(fit(model.estimator, X, y))
    if isinstance(model, Pipeline) and isinstance(model[-1], FrozenEstimator):
        model.steps[-1] = ("frozen", fit(model[-1], X, y))
    return model.fit(X, y, **options)


def fitted(name, n_classes=3, labels="text", weighted=False, missing=False):
    """One of the models, fitted once."""
    return _fitted(name, n_classes, labels, weighted, missing)


@cache
def _fitted(name, n_classes, labels, weighted, missing):
    X, y, _ = data(n_classes, labels, missing)
    options = {"sample_weight": np.linspace(0.5, 3, len(y))} if weighted else {}
    return fit(MODELS[name](), X, y, **options)


def fit_with_oob(model, X, y, **options):
    """Fit a model that scores itself out of bag, be there rows that all its members saw."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.set_params(oob_score=True).fit(X, y, **options)


def grown_bagging(X, y):
    """Bagging of three members, and of two more by a second fit."""
    model = bagging(max_features=0.5).set_params(warm_start=True, n_estimators=3).fit(X, y)
    return model.set_params(n_estimators=5).fit(X, y)


def unwrapped(model, X=None):
    """The ensemble inside pipelines, searches and the like, and X as it arrives there."""
    if isinstance(model, GridSearchCV):
        return unwrapped(model.best_estimator_, X)
    if isinstance(model, FrozenEstimator):
        return unwrapped(model.estimator, X)
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            X = X if X is None or step == "passthrough" else step.transform(X)
        return unwrapped(model.steps[-1][1], X)
    return model, X


def members_of(model):
    ensemble, _ = unwrapped(model)
    if isinstance(ensemble, dict):
        return list(ensemble.values())
    return ensemble if isinstance(ensemble, list) else ensemble.estimators_


def classes_of(model):
    ensemble, _ = unwrapped(model)
    if isinstance(ensemble, (list, dict)):
        return np.unique(np.concatenate([member.classes_ for member in members_of(model)]))
    return ensemble.classes_


def weights_of(model):
    """Weights of the members in the model's own vote."""
    ensemble, _ = unwrapped(model)
    if isinstance(ensemble, AdaBoostClassifier):
        return ensemble.estimator_weights_
    if getattr(ensemble, "weights", None) is not None:
        pairs = zip(ensemble.estimators, ensemble.weights)
        return np.array([weight for (_, member), weight in pairs if member != "drop"], dtype=float)
    return np.ones(len(members_of(ensemble)))


def asked(model, X):
    """Each member of a model with the columns of X that it sees."""
    ensemble, X = unwrapped(model, X)
    if isinstance(ensemble, BaggingClassifier):
        parts = [X[:, features] for features in ensemble.estimators_features_]
        return zip(ensemble.estimators_, parts)
    return [(member, X) for member in members_of(ensemble)]


def member_labels(model, X):
    """Every member's label for every row: (samples, members)."""
    ensemble, _ = unwrapped(model)
    columns = np.stack([member.predict(part) for member, part in asked(model, X)], axis=1)
    if isinstance(ensemble, (AdaBoostClassifier, list, dict)):
        return columns
    return ensemble.classes_[columns.astype(int)]


def adds_probabilities(model):
    ensemble, _ = unwrapped(model)
    if isinstance(ensemble, BaggingClassifier):
        return hasattr(ensemble.estimator_, "predict_proba")
    is_forest = isinstance(ensemble, (RandomForestClassifier, ExtraTreesClassifier))
    return is_forest or getattr(ensemble, "voting", "hard") == "soft"


def member_shares(model, X):
    """What every member says for every class, without weights: (members, samples, classes)."""
    if not adds_probabilities(model):
        return (member_labels(model, X).T[:, :, None] == classes_of(model)).astype(float)
    shares = []
    for member, part in asked(model, X):
        share = np.zeros((len(part), len(classes_of(model))))
        share[:, member.classes_.astype(int)] = member.predict_proba(part)
        shares.append(share)
    return np.array(shares)


def expected_answers(model, X, members):
    """The labels and probabilities of a vote of some members."""
    weights = weights_of(model)[members]
    total = (weights[:, None, None] * member_shares(model, X)[members]).sum(axis=0)
    probabilities = total / weights.sum()
    n_classes = len(classes_of(model))
    if isinstance(unwrapped(model)[0], AdaBoostClassifier):
        scores = (probabilities * n_classes - 1) / (n_classes - 1) ** 2
        probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return classes_of(model)[total.argmax(axis=1)], probabilities


def slices(model):
    """Some members of a model, and the slice of these: one, three in another order, all."""
    for members in ([3], [4, 0, 2], list(range(len(members_of(model))))):
        yield members, as_ensemble(model).slice(members)


def check_answers(model, members, sliced, X):
    labels, probabilities = expected_answers(model, X, members)
    assert (sliced.predict(X) == labels).all()
    if hasattr(model, "predict_proba"):
        assert np.allclose(sliced.predict_proba(X), probabilities, rtol=0, atol=1e-12)
    else:
        assert not hasattr(sliced, "predict_proba")


@every_kind_of_label
@every_number_of_classes
@every_voter
def test_a_slice_predicts_the_vote_of_its_members(name, n_classes, labels):
    model = fitted(name, n_classes, labels)
    whole = getattr(model, "best_estimator_", model)
    whole = whole.estimator if isinstance(whole, FrozenEstimator) else whole
    for members, sliced in slices(model):
        assert type(sliced) is type(whole)
        check_answers(model, members, sliced, data(n_classes, labels)[2])


@every_number_of_classes
@pytest.mark.parametrize("name", TAKE_WEIGHTS)
def test_a_slice_predicts_the_vote_after_training_with_sample_weights(name, n_classes):
    model = fitted(name, n_classes, weighted=True)
    for members, sliced in slices(model):
        check_answers(model, members, sliced, data(n_classes)[2])


@every_number_of_classes
@pytest.mark.parametrize("name", TAKE_MISSING)
def test_a_slice_predicts_the_vote_with_missing_values(name, n_classes):
    model = fitted(name, n_classes, missing=True)
    X = data(n_classes, missing=True)[2]
    assert np.isnan(X).any()
    for members, sliced in slices(model):
        check_answers(model, members, sliced, X)


@every_kind_of_label
def test_some_of_the_bagged_members_lack_a_class(labels):
    members = fitted("bagging, classes not seen", 3, labels).estimators_
    assert {len(member.classes_) for member in members} >= {2, 3}


@every_model
def test_members_are_the_same_objects_in_the_order_given(name):
    model = fitted(name)
    for members, sliced in slices(model):
        kept = members_of(sliced)
        assert len(kept) == len(members)
        assert all(one is members_of(model)[member] for one, member in zip(kept, members))


@every_model
def test_members_may_be_given_as_an_array(name):
    ensemble = as_ensemble(fitted(name))
    kept, same = (members_of(ensemble.slice(kind([4, 0, 2]))) for kind in (np.array, list))
    assert len(kept) == 3
    assert all(member is other for member, other in zip(kept, same))


def test_a_slice_of_a_list_is_a_list_and_of_a_dict_a_dict_with_its_names():
    models = fitted("dict")
    assert as_ensemble(models).slice([4, 1]) == {"e": models["e"], "b": models["b"]}
    assert list(as_ensemble(models).slice([4, 1])) == ["e", "b"]
    assert type(as_ensemble(fitted("list")).slice([4, 1])) is list


@every_model
def test_the_original_stays_as_it_is(name):
    model = fitted(name)
    ensemble, _ = unwrapped(model)
    keys, before = list(getattr(ensemble, "__dict__", ensemble)), pickle.dumps(model)
    as_ensemble(model).slice([4, 0, 2])
    assert list(getattr(ensemble, "__dict__", ensemble)) == keys
    assert pickle.dumps(model) == before


@every_voter
def test_a_slice_counts_its_members(name):
    for members, sliced in slices(fitted(name)):
        ensemble, _ = unwrapped(sliced)
        assert len(ensemble.estimators_) == len(members)
        for counted in (ensemble, clone(ensemble)):
            if isinstance(counted, VotingClassifier):
                assert len(counted.estimators) == len(members)
            else:
                assert counted.n_estimators == len(members)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", BOOTSTRAPPED)
def test_a_slice_records_the_training_samples_of_its_members(name, weighted):
    model = fitted(name, weighted=weighted and name in TAKE_WEIGHTS)
    rows = model.estimators_samples_
    for members, sliced in slices(model):
        assert len(sliced.estimators_samples_) == len(members)
        for member, seen in zip(members, sliced.estimators_samples_):
            assert (seen == rows[member]).all()


@pytest.mark.parametrize("name", [name for name in BOOTSTRAPPED if name.startswith("bagging")])
def test_sliced_bagging_has_the_columns_and_seeds_of_its_members(name):
    model = fitted(name)
    for members, sliced in slices(model):
        assert len(sliced.estimators_features_) == len(sliced._seeds) == len(members)
        assert (sliced._seeds == model._seeds[members]).all()
        for member, features in zip(members, sliced.estimators_features_):
            assert features is model.estimators_features_[member]


@pytest.mark.parametrize("name", VOTINGS)
def test_sliced_voting_has_the_names_and_weights_of_its_members(name):
    model = fitted(name)
    unfitted = [pair for pair in model.estimators if pair[1] != "drop"]
    for members, sliced in slices(model):
        names = [unfitted[member][0] for member in members]
        assert sliced.estimators == [unfitted[member] for member in members]
        assert list(sliced.named_estimators_) == names
        assert all(
            sliced.named_estimators_[name] is model.named_estimators_[name] for name in names
        )
        if model.weights is None:
            assert sliced.weights is None
        else:
            assert sliced.weights == weights_of(model)[members].tolist()


@pytest.mark.parametrize(
    ("options", "weights", "kept"),
    [
        ({"voting": "soft"}, [1, 0, 0, 2, 0], [1, 4]),
        ({"voting": "soft"}, [1, 0, 2, -2, 0], [2, 3]),
        ({}, [1, 0, 0, 2, 0], [2]),
    ],
)
def test_members_without_weight_are_not_kept_alone(options, weights, kept):
    X, y, _ = data(labels="numbers")
    model = voting(weights=weights, **options).fit(X, y)
    with pytest.raises(
        InputError, match=r"kept members, \[.*\], sum to 0\. Keep more members, or remove the"
    ):
        as_ensemble(model).slice(kept)
    assert set(as_ensemble(model).slice([0, *kept]).predict(X)) <= set(y)
    model.weights = None
    assert set(as_ensemble(model).slice(kept).predict(X)) <= set(y)


def test_sliced_voting_can_be_fitted_again():
    X, y, further = data()
    sliced = as_ensemble(fitted("hard voting, one dropped")).slice([3, 1])
    again = clone(sliced).fit(X, y)
    assert (again.predict(further) == sliced.predict(further)).all()


def test_sliced_adaboost_has_the_weights_and_errors_of_its_members():
    model = fitted("boosting")
    for members, sliced in slices(model):
        assert (sliced.estimator_weights_ == model.estimator_weights_[members]).all()
        assert (sliced.estimator_errors_ == model.estimator_errors_[members]).all()
        assert sliced.feature_importances_.sum() == pytest.approx(1)


def test_boosting_that_stopped_early_has_weights_for_the_members_it_has():
    X, y, _ = data(2)
    model = AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=5).fit(X, y)
    ensemble = as_ensemble(model)
    assert ensemble.n_members == len(ensemble.weights) == 1
    assert (ensemble.slice([0]).predict(X) == y).all()


@pytest.mark.parametrize("make", [forest, bagging])
def test_scores_of_the_full_ensemble_are_removed(make):
    X, y, _ = data()
    model = fit_with_oob(make(), X, y)
    sliced = as_ensemble(model).slice([0, 1])
    for stale in ("oob_score_", "oob_decision_function_"):
        assert hasattr(model, stale)
        assert not hasattr(sliced, stale)


@pytest.mark.parametrize("name", ["forest", "extra trees"])
def test_all_methods_of_a_sliced_forest_work(name):
    model, X = fitted(name), data()[2]
    members = [4, 0, 2]
    sliced = as_ensemble(model).slice(members)
    kept = [model.estimators_[member] for member in members]
    importances = np.mean([member.feature_importances_ for member in kept], axis=0)
    assert np.allclose(sliced.feature_importances_, importances / importances.sum())
    assert (sliced.apply(X) == np.stack([member.apply(X) for member in kept], axis=1)).all()
    indicator, starts = sliced.decision_path(X)
    assert np.diff(starts).tolist() == [member.tree_.node_count for member in kept]
    assert indicator.shape == (len(X), starts[-1])


def test_a_sliced_forest_grows_by_warm_start():
    X, y, further = data()
    model = fitted("forest")
    before = pickle.dumps(model)
    sliced = as_ensemble(model).slice([4, 0, 2])
    kept = list(sliced.estimators_)
    grown = sliced.set_params(warm_start=True, n_estimators=6).fit(X, y)
    assert len(grown.estimators_) == 6
    assert all(member is same for member, same in zip(grown.estimators_, kept))
    assert (grown.predict(further) == expected_answers(grown, further, list(range(6)))[0]).all()
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("members", [[0], [4, 2], [4, 0, 2]])
def test_bagging_that_grew_by_warm_start_is_sliced_like_any(members):
    X, y, further = data()
    model = grown_bagging(X, y)
    sliced = as_ensemble(model).slice(members)
    check_answers(model, members, sliced, further)
    # It kept the seeds of the last members only: better to know no rows than those of others.
    assert not hasattr(sliced, "estimators_samples_")


SEES_NO_SECATEURS = """
import pickle, sys
sys.modules["secateurs"] = None
with open(sys.argv[1], "rb") as file:
    for name, (model, X, labels) in pickle.load(file).items():
        assert (model.predict(X) == labels).all(), name
"""


def test_slices_are_loaded_where_secateurs_is_not_installed(tmp_path):
    X = data()[2]
    slices = {name: as_ensemble(fitted(name)).slice([4, 0, 2]) for name in VOTERS}
    answers = {name: (sliced, X, sliced.predict(X)) for name, sliced in slices.items()}
    file = tmp_path / "slices.pickle"
    file.write_bytes(pickle.dumps(answers))
    command = [sys.executable, "-c", SEES_NO_SECATEURS, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


@every_kind_of_label
@every_number_of_classes
@every_model
def test_shares_add_up_to_the_vote_of_the_model(name, n_classes, labels):
    model, X = fitted(name, n_classes, labels), data(n_classes, labels)[2]
    ensemble = as_ensemble(model)
    prepared = ensemble.prepare_input(X)
    shares = [ensemble.vote_contribution(prepared, member) for member in range(ensemble.n_members)]
    weighted = weights_of(model)[:, None, None] * member_shares(model, X)
    assert np.allclose(shares, weighted, rtol=0, atol=1e-12)
    everybody = list(range(ensemble.n_members))
    vote = model.predict(X) if name in VOTERS else expected_answers(model, X, everybody)[0]
    assert (ensemble.classes[np.sum(shares, axis=0).argmax(axis=1)] == vote).all()


@every_model
def test_an_ensemble_has_members_and_a_kind_of_vote(name):
    model = fitted(name)
    ensemble = as_ensemble(model)
    assert ensemble.n_members == len(members_of(model)) == len(ensemble.member_names)
    assert ensemble.classes.tolist() == LABELS["text"]
    assert ensemble.is_soft == adds_probabilities(model)
    weights = np.ones(ensemble.n_members) if ensemble.weights is None else ensemble.weights
    assert (weights == weights_of(model)).all()


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("forest", [f"member {index}" for index in range(8)]),
        ("list", [f"member {index}" for index in range(6)]),
        ("dict", list("abcdef")),
        ("hard voting", ["oak", "bayes", "line", "stump", "coin"]),
        ("soft voting, one dropped", ["oak", "bayes", "line", "stump", "coin"]),
        ("pipeline, nested", ["oak", "bayes", "line", "stump", "coin"]),
    ],
)
def test_members_have_names(name, names):
    assert as_ensemble(fitted(name)).member_names == names


def fitted_on_rows(model):
    X, y, _ = data(labels="numbers")
    return model.fit(X, y)


def two_outputs(model):
    X, y, _ = data(labels="numbers")
    return model.fit(X, np.stack([y, -y], axis=1))


def tuned_threshold(model):
    X, y, _ = data(labels="numbers")
    return TunedThresholdClassifierCV(model, cv=2).fit(X, y == y[0])


def text_labels(model):
    return model.fit(*data(labels="text")[:2])


REFUSED = {
    "stacking": (
        lambda: fitted_on_rows(StackingClassifier([("a", tree()), ("b", GaussianNB())], cv=2)),
        UnsupportedEnsembleError,
        "final estimator was trained on .* all members. Prune the list model.estimators_",
    ),
    "a forest for each class": (
        lambda: fitted_on_rows(OneVsRestClassifier(forest(2))),
        UnsupportedEnsembleError,
        "OneVsRestClassifier cannot be pruned: it holds a model for each class .* fit one directly",
    ),
    "a forest for each pair of classes": (
        lambda: fitted_on_rows(OneVsOneClassifier(forest(2))),
        UnsupportedEnsembleError,
        "OneVsOneClassifier cannot be pruned: it holds a model for each class or pair",
    ),
    "a calibrated forest for each fold": (
        lambda: fitted_on_rows(CalibratedClassifierCV(forest(2), cv=2)),
        UnsupportedEnsembleError,
        "holds 2 models, one per fold. Prune a model that was fitted to all samples, "
        "then calibrate",
    ),
    "an unfitted calibration": (
        lambda: CalibratedClassifierCV(forest(2)),
        NotFittedError,
        "not fitted yet",
    ),
    "boosted regressors": (
        lambda: fitted_on_rows(AdaBoostRegressor()),
        UnsupportedEnsembleError,
        "AdaBoostRegressor cannot be pruned: it predicts a weighted median",
    ),
    "targets that are transformed": (
        lambda: fitted_on_rows(TransformedTargetRegressor(RandomForestRegressor(2))),
        UnsupportedEnsembleError,
        r"Prune the model inside.*Then set model.regressor_ = pruning.estimator",
    ),
    "a tuned threshold": (
        lambda: tuned_threshold(forest(2)),
        UnsupportedEnsembleError,
        "TunedThresholdClassifierCV has a threshold that was set for the full ensemble. Prune",
    ),
    "several outputs": (
        lambda: two_outputs(MultiOutputClassifier(forest(2))),
        UnsupportedEnsembleError,
        r"MultiOutputClassifier holds a model for each output. Prune each of model.estimators_",
    ),
    "two outputs": (
        lambda: two_outputs(forest(2)),
        UnsupportedEnsembleError,
        "has 2 outputs; pruning needs one target per sample, .* Fit one ensemble per output",
    ),
    "an unfitted forest": (forest, NotFittedError, "not fitted yet"),
    "an unfitted pipeline": (lambda: make_pipeline(forest()), NotFittedError, "not fitted yet"),
    "an unfitted search": (lambda: search(forest()), NotFittedError, "not fitted yet"),
    "a search without refit": (
        lambda: fitted_on_rows(search(forest(2), max_depth=1).set_params(refit=False)),
        InputError,
        "no best_estimator_. Run it with refit=True",
    ),
    "an unrelated object": (
        object,
        UnsupportedEnsembleError,
        "object is not an ensemble .* Pass one of: a RandomForest",
    ),
    "a single classifier": (
        lambda: fitted_on_rows(LogisticRegression()),
        UnsupportedEnsembleError,
        "LogisticRegression is not an ensemble .* a list or dict of fitted classifiers",
    ),
    "a list with a regressor": (
        lambda: [fitted_on_rows(tree()), fitted_on_rows(DecisionTreeRegressor())],
        UnsupportedEnsembleError,
        "Member 1 is a regressor, and member 0 is not. Pass classifiers only",
    ),
    "a list with an unfitted model": (
        lambda: [fitted_on_rows(tree()), tree()],
        UnsupportedEnsembleError,
        "Member 1, a DecisionTreeClassifier, has no classes_: it is not fitted.* Fit it",
    ),
    "a list with something that cannot predict": (
        lambda: [fitted_on_rows(tree()), object()],
        UnsupportedEnsembleError,
        "Member 1, a object, has no predict. Pass fitted models",
    ),
    "a list with a model of two outputs": (
        lambda: [fitted_on_rows(tree()), two_outputs(tree())],
        UnsupportedEnsembleError,
        "Member 1.* outputs",
    ),
    "a list with labels that are text and numbers": (
        lambda: [fitted_on_rows(tree()), text_labels(tree())],
        ValueError,
        "text .* numbers",
    ),
    "an empty list": (list, InputError, "empty. Pass at least one fitted model"),
    "an empty dict": (dict, InputError, "empty. Pass at least one fitted model"),
    "voting changed after fitting": (
        lambda: fitted_on_rows(voting()).set_params(oak="drop"),
        InputError,
        "[Ff]it it again",
    ),
}


CALIBRATED = {
    "frozen": lambda model: CalibratedClassifierCV(FrozenEstimator(text_labels(model))),
    "in folds": lambda model: CalibratedClassifierCV(model, cv=2, ensemble=False),
    "isotonic": lambda model: CalibratedClassifierCV(
        model, cv=2, ensemble=False, method="isotonic"
    ),
}


@pytest.mark.parametrize("inside", [forest, lambda: make_pipeline(StandardScaler(), forest())])
@pytest.mark.parametrize("name", CALIBRATED)
def test_a_slice_of_a_calibrated_forest_keeps_the_calibrator(name, inside):
    X, y, _ = data(labels="text")
    whole = make_pipeline(StandardScaler(), CALIBRATED[name](inside()).fit(X, y))
    whole[0].fit(X)
    before = whole.predict_proba(X)
    with pytest.warns(SecateursWarning, match="calibrator was fitted to .* calibrate again"):
        sliced = as_ensemble(whole).slice([1, 4, 6])
    (only,) = sliced[-1].calibrated_classifiers_
    trees = as_ensemble(only.estimator).members
    assert len(trees) == 3
    rows = whole[0].transform(X)
    expected = only.predict_proba(rows)
    assert np.array_equal(sliced.predict_proba(X), expected)
    (calibrated,) = whole[-1].calibrated_classifiers_
    assert only.calibrators is calibrated.calibrators
    uncalibrated = as_ensemble(calibrated.estimator).slice([1, 4, 6])
    assert np.array_equal(only.estimator.predict_proba(rows), uncalibrated.predict_proba(rows))
    assert not np.array_equal(expected, uncalibrated.predict_proba(rows))
    assert np.array_equal(whole.predict_proba(X), before)


@pytest.mark.parametrize(("make", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_models_that_cannot_be_pruned_are_rejected_with_an_alternative(make, error, message):
    model = make()
    with pytest.raises(error, match=message):
        as_ensemble(model)
