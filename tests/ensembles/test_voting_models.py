"""Lists and dicts of models as one model that predicts: the same answers as the members' own."""

import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs import load, prune, save
from secateurs.ensembles._voting_models import hard_voting_classifier
from secateurs.exceptions import UnsupportedEnsembleError

X, CODES = make_classification(
    420, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.2, random_state=1
)
FIT, CHOOSE, TEST = slice(0, 120), slice(120, 270), slice(270, 420)
LABELS = {
    "codes": [0, 1, 2],
    "numbers": [3, 7, 9],
    "text": ["ant", "bee", "wasp"],
    "objects": np.array(["ant", "bee", "wasp"], dtype=object),
    "two": ["no", "yes", "no"],
    "bool": [False, True, False],
}


def fitted(models, labels):
    y = np.asarray(LABELS[labels])[CODES[FIT]]
    return [model.fit(X[FIT], y) for model in models]


def with_probabilities(labels):
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 3, 6)]
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    return fitted([*trees, scaled, GaussianNB(), RandomForestClassifier(3, random_state=0)], labels)


def without_probabilities(labels):
    margin = make_pipeline(StandardScaler(), LinearSVC())
    return [*with_probabilities(labels)[:4], *fitted([margin, RidgeClassifier()], labels)]


def with_a_class_missing(labels):
    y = np.asarray(LABELS[labels])[CODES]
    seen = np.flatnonzero(CODES[FIT] != 0)
    return [*with_probabilities(labels)[1:], GaussianNB().fit(X[seen], y[seen])]


def boosted_elsewhere(labels):
    xgboost, lightgbm = (pytest.importorskip(name) for name in ("xgboost", "lightgbm"))
    small = {"n_estimators": 4, "max_depth": 2, "n_jobs": 1}
    others = [xgboost.XGBClassifier(**small), lightgbm.LGBMClassifier(**small, verbose=-1)]
    return [*with_probabilities(labels)[:3], *fitted(others, labels)]


def told(model, rows, classes, soft):
    """What a model says for each class: its probabilities, or 1 for its label."""
    if soft:
        return model.predict_proba(rows).astype(float)
    return np.equal.outer(np.asarray(model.predict(rows)), classes).astype(float)


def check(pruning, models, soft, labels):
    """Compare what is served with a vote of the members, computed one by one."""
    classes = np.unique(np.asarray(LABELS[labels]))
    kept = np.sort(pruning.member_indices)
    assert [id(model) for model in pruning.members] == [id(models[member]) for member in kept]
    weights = np.ones(len(kept)) if pruning.weights is None else pruning.weights
    order = np.argsort(pruning.member_indices)
    weights = [Fraction(float(one)).limit_denominator(1000) for one in weights[order]]
    shares = sum(
        float(weight / sum(weights)) * told(models[member], X[TEST], classes, soft)
        for member, weight in zip(kept, weights)
    )
    best = classes[(shares > shares.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)]
    served = pruning.estimator
    np.testing.assert_array_equal(served.predict(X[TEST]), best)
    np.testing.assert_array_equal(served.classes_, classes)
    assert hasattr(served, "predict_proba") == soft
    assert type(served) is VotingClassifier
    if soft:
        np.testing.assert_allclose(served.predict_proba(X[TEST]), shares, atol=1e-12)
    assert served.n_features_in_ == 6


CASES = [
    *((with_probabilities, labels, True) for labels in LABELS),
    *((without_probabilities, labels, False) for labels in LABELS),
    *((with_a_class_missing, labels, False) for labels in ("codes", "text")),
    (boosted_elsewhere, "codes", True),
]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("made", "labels", "soft"), CASES)
@pytest.mark.parametrize("given", [{"pruner": "caruana"}, {"pruner": "best", "keep": 4}])
def test_a_list_is_served_as_its_members_vote(tmp_path, made, labels, soft, given):
    models = made(labels)
    y = np.asarray(LABELS[labels])[CODES]
    before = pickle.dumps(models)
    pruning = prune(models, X[CHOOSE], y[CHOOSE], **given)
    assert (pruning.weights is not None) == (given["pruner"] == "caruana")
    check(pruning, models, soft, labels)
    assert pickle.dumps(models) == before
    again = pickle.loads(pickle.dumps(pruning.estimator))
    np.testing.assert_array_equal(again.predict(X[TEST]), pruning.estimator.predict(X[TEST]))
    clone(pruning.estimator)
    if made is not boosted_elsewhere:
        loaded = load(save(pruning.estimator, tmp_path / "voting.skops"))
        np.testing.assert_array_equal(loaded.predict(X[TEST]), again.predict(X[TEST]))


def test_a_dict_names_the_members_of_the_voting_ensemble():
    models = dict(zip("abcdef", with_probabilities("text")))
    y = np.array(LABELS["text"])[CODES]
    pruning = prune(models, X[CHOOSE], y[CHOOSE], "best", keep=2)
    names = sorted(pruning.member_names)
    assert pruning.members == {name: models[name] for name in names}
    assert list(pruning.estimator.named_estimators_) == names
    assert [name for name, _ in pruning.estimator.estimators] == names


def test_names_of_columns_are_those_of_the_members():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    y = np.array(LABELS["text"])[CODES]
    models = [DecisionTreeClassifier(max_depth=d).fit(frame[FIT], y[FIT]) for d in (1, 2, 3)]
    served = prune(models, frame[CHOOSE], y[CHOOSE], "best", keep=2).estimator
    assert served.feature_names_in_.tolist() == list("abcdef")
    assert served.predict(frame[TEST]).shape == (150,)


def test_a_pruned_list_can_be_pruned_again():
    y = np.array(LABELS["text"])[CODES]
    first = prune(with_probabilities("text"), X[CHOOSE], y[CHOOSE], "best", keep=4).estimator
    second = prune(first, X[CHOOSE], y[CHOOSE], "best", keep=2)
    shares = [first.estimators_[m].predict_proba(X[TEST]) for m in second.member_indices]
    np.testing.assert_allclose(second.estimator.predict_proba(X[TEST]), np.mean(shares, axis=0))


@pytest.mark.parametrize("given", [{"pruner": "caruana"}, {"pruner": "joint", "keep": 3}])
def test_regressors_are_served_by_their_weighted_mean(tmp_path, given):
    rows, y = make_regression(300, 5, noise=30.0, random_state=0)
    wide = LinearRegression().fit(rows[:100, :], y[:100, None])  # predicts (n_samples, 1)
    models = [
        wide,
        Ridge(1000.0),
        KNeighborsRegressor(3, algorithm="brute"),
        DecisionTreeRegressor(max_depth=4),
    ]
    models = [wide, *(model.fit(rows[:100], y[:100]) for model in models[1:])]
    pruning = prune(models, rows[100:200], y[100:200], **given)
    kept = np.sort(pruning.member_indices)
    weights = None
    if pruning.weights is not None:
        weights = pruning.weights[np.argsort(pruning.member_indices)]
    answers = [models[member].predict(rows[200:]).ravel() for member in kept]
    expected = np.average(answers, axis=0, weights=weights)
    assert 0 in kept
    assert type(pruning.estimator) is VotingRegressor
    np.testing.assert_allclose(pruning.estimator.predict(rows[200:]), expected)
    loaded = load(save(pruning.estimator, tmp_path / "mean.skops"))
    np.testing.assert_allclose(loaded.predict(rows[200:]), expected)


class Wide(LinearSVC):
    """A classifier that predicts (n_samples, 1), and has no probabilities."""

    def predict(self, X):
        return super().predict(X)[:, None]


def test_labels_in_a_table_of_one_column_are_refused():
    models = fitted([Wide(), LinearSVC()], "text")
    y = np.array(LABELS["text"])[CODES]
    with pytest.raises(UnsupportedEnsembleError, match=r"Member 0, a Wide, predicts \(n_samples"):
        prune(models, X[CHOOSE], y[CHOOSE], "best", keep=2)


HIDING = """
import pickle
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "secateurs":
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Hidden())
with open("in.pickle", "rb") as file:
    models, rows = pickle.load(file)
with open("out.pickle", "wb") as file:
    pickle.dump([(type(model).__name__, model.predict(rows)) for model in models], file)
assert "secateurs" not in sys.modules
"""


@pytest.mark.parametrize("labels", ["text", "objects", "numbers", "bool", "codes"])
def test_voting_ensembles_predict_where_secateurs_is_not_installed(tmp_path, labels):
    y = np.asarray(LABELS[labels])[CODES]
    prunings = []
    for made in (with_probabilities, without_probabilities):
        for given in ({"pruner": "caruana"}, {"pruner": "best", "keep": 1}):
            prunings.append(prune(made(labels), X[CHOOSE], y[CHOOSE], **given))
    served = [pruning.estimator for pruning in prunings]
    (tmp_path / "in.pickle").write_bytes(pickle.dumps((served, X[TEST])))
    subprocess.run([sys.executable, "-c", HIDING], cwd=tmp_path, check=True, timeout=300)
    for pruning, (name, predicted) in zip(
        prunings, pickle.loads((tmp_path / "out.pickle").read_bytes()), strict=True
    ):
        assert name == "VotingClassifier"
        np.testing.assert_array_equal(predicted, pruning.estimator.predict(X[TEST]))
        if len(pruning.members) == 1:
            np.testing.assert_array_equal(predicted, pruning.members[0].predict(X[TEST]))


@pytest.mark.parametrize("labels", LABELS)
def test_only_labels_other_than_codes_need_pipelines_in_a_hard_vote(labels):
    models = without_probabilities(labels)
    y = np.asarray(LABELS[labels])[CODES]
    pruning = prune(models, X[CHOOSE], y[CHOOSE], "best", keep=2)
    for model, member in zip(pruning.members, pruning.estimator.estimators_, strict=True):
        if labels in ("codes", "bool"):
            assert member is model
        else:
            assert type(member) is Pipeline
            assert member[0].estimators_ == [model]


def test_a_hard_vote_can_be_pruned_again():
    y = np.array(LABELS["text"])[CODES]
    models = without_probabilities("text")
    first = prune(models, X[CHOOSE], y[CHOOSE], "best", keep=4)
    second = prune(first.estimator, X[CHOOSE], y[CHOOSE], "best", keep=1)
    (member,) = second.member_indices
    original = first.members[member]
    assert type(second.estimator) is VotingClassifier
    np.testing.assert_array_equal(second.estimator.predict(X[TEST]), original.predict(X[TEST]))


def test_a_vote_with_a_single_class_works():
    models = [DecisionTreeClassifier().fit(X[:20], ["only"] * 20) for _ in range(2)]
    served = hard_voting_classifier([("a", models[0]), ("b", models[1])], None, np.array(["only"]))
    assert isinstance(served, VotingClassifier)
    assert served.predict(X[:3]).tolist() == ["only"] * 3
