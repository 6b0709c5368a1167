"""Collected votes: equal to the prediction of every member for every sample."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError
from secateurs.outputs import tree_walk
from secateurs.outputs.collect import collect_encoded_votes, collect_votes
from test_ensembles import (
    BOOTSTRAPPED,
    MODELS,
    TAKE_MISSING,
    TAKE_WEIGHTS,
    bagging,
    data,
    every_kind_of_label,
    every_model,
    every_number_of_classes,
    fit,
    fit_with_oob,
    fitted,
    forest,
    grown_bagging,
    member_labels,
    tree,
    voting,
)


def voting_trees():
    return VotingClassifier([("oak", tree()), ("fir", ExtraTreeClassifier(random_state=0))])


def listed_trees():
    return [tree(), ExtraTreeClassifier(random_state=0), DecisionTreeClassifier(max_features=2)]


TREES = {
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(5, random_state=0),
    "bagging": lambda: BaggingClassifier(DecisionTreeClassifier(), 5, random_state=0),
    "bagging, drawn features": lambda: BaggingClassifier(
        ExtraTreeClassifier(), 5, max_features=0.5, bootstrap_features=True, random_state=0
    ),
    "voting": voting_trees,
    "boosting": lambda: AdaBoostClassifier(tree(2), n_estimators=5, random_state=0),
    "list": listed_trees,
}
every_kind_of_trees = pytest.mark.parametrize("make", TREES.values(), ids=TREES)


def check_votes(model, X, asked_with=None):
    """Compare with the members' own answers, to X or to the same rows in another form."""
    votes = collect_votes(model, X)
    expected = member_labels(model, X if asked_with is None else asked_with)
    assert votes.shape == expected.shape
    assert (votes == expected).all()
    return votes


@every_kind_of_label
@every_number_of_classes
@every_model
def test_votes_are_the_predictions_of_the_members(name, n_classes, labels):
    model = fitted(name, n_classes, labels)
    votes = check_votes(model, data(n_classes, labels)[2])
    assert votes.dtype == as_ensemble(model).classes.dtype


@pytest.mark.parametrize(
    "relabel",
    [
        lambda y: y.astype(object),
        lambda y: pd.Series(y, dtype="category"),
        lambda y: y == "ant",
        lambda y: (y == "ant") * 2.0 - 1,
        lambda y: np.full(len(y), 5),
    ],
    ids=["objects", "categories", "booleans", "floats", "one label"],
)
@every_kind_of_trees
def test_labels_may_be_of_any_kind(make, relabel):
    X, y, further = data()
    labels = relabel(y)
    model = make()
    model = [one.fit(X, labels) for one in model] if make is listed_trees else model.fit(X, labels)
    votes = check_votes(model, further)
    assert set(votes.ravel()) <= set(labels)


@pytest.mark.parametrize("name", TAKE_WEIGHTS)
def test_votes_are_right_after_training_with_sample_weights(name):
    check_votes(fitted(name, weighted=True), data()[2])


@every_model
def test_threads_and_ensemble_objects_do_not_change_votes(name):
    model, X = fitted(name), data()[2]
    votes = collect_votes(model, X, n_jobs=1)
    assert (collect_votes(model, X, n_jobs=2) == votes).all()
    assert (collect_votes(as_ensemble(model), X) == votes).all()


@pytest.mark.parametrize("name", ["forest", "bagging", "hard voting", "boosting", "list"])
def test_any_number_of_samples_is_accepted(name):
    for n_rows in (1, 15, 16, 17, 33):
        check_votes(fitted(name), data()[2][:n_rows])


@every_kind_of_trees
def test_memory_order_and_number_type_do_not_matter(make):
    X, y, further = data()
    whole = np.round(further * 3)
    model = fit(make(), np.round(X * 3), y)
    expected = member_labels(model, whole)
    wide = np.repeat(whole, 2, axis=1)
    others = (np.asfortranarray(whole), wide[:, ::2], whole.astype(np.float32), whole.astype(int))
    for same in (*others, whole.tolist()):
        assert (collect_votes(model, same) == expected).all()


@pytest.mark.parametrize(
    "name", [*TAKE_MISSING, "hard voting", "soft voting, one dropped", "boosting", "pipeline"]
)
def test_data_frames_give_no_warning(name):
    X, y, further = data(missing=name in TAKE_MISSING)
    columns = [f"column {index}" for index in range(X.shape[1])]
    frame = pd.DataFrame(further, columns=columns)
    model = fit(MODELS[name](), pd.DataFrame(X, columns=columns), y)
    keeps_names = "voting" in name or name == "pipeline"
    check_votes(model, frame, asked_with=frame if keeps_names else further)


@pytest.mark.parametrize("name", TAKE_MISSING)
@every_number_of_classes
def test_missing_values_follow_the_split_of_the_tree(name, n_classes):
    X = data(n_classes, missing=True)[2]
    assert np.isnan(X).any()
    check_votes(fitted(name, n_classes, missing=True), X)
    check_votes(fitted(name, n_classes), X)  # never met in training


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@every_kind_of_trees
def test_sparse_samples_are_accepted(make, form):
    X, y, further = (np.where(np.abs(X) < 1, 0, X) if X.ndim == 2 else X for X in data())
    check_votes(fit(make(), form(X), y), form(further), asked_with=further)


def around(values):
    """The values, and numbers beside them that float32 cannot tell from them, or just can."""
    single = values.astype(np.float32)
    steps = [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
    nearly = [np.nextafter(values, end) for end in (-np.inf, np.inf)]
    return np.concatenate([values, single, *steps, *nearly, values + 1e-9, values - 1e-9])


GRIDS = {
    "tenths": np.arange(-8, 9) * 0.1,
    "neighbours near 1": 1 + np.arange(16) * 2.0**-23,
    "neighbours near -1": np.arange(-16, 0) * 2.0**-23 - 1,
    "neighbours near 1000": 1000 + np.arange(16) * 2.0**-14,
    "beyond float32": 1 + np.arange(32) * 2.0**-24.3,
}


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@every_kind_of_trees
def test_values_near_a_threshold_are_split_as_by_the_tree(make, grid):
    rng = np.random.default_rng(0)
    X = rng.choice(grid, size=(200, 6))
    y = np.searchsorted(grid, X[:, 0]) % 2 + np.searchsorted(grid, X[:, 1]) % 2
    model = fit(make(), X, y)
    thresholds = [
        member.tree_.threshold[member.tree_.feature >= 0]
        for member in as_ensemble(model).members
        if hasattr(member, "tree_")
    ]
    values = around(np.unique(np.concatenate([grid, *thresholds])))
    X = rng.choice(values, size=(3000, 6))
    check_votes(model, X)


def test_a_tree_may_be_a_single_leaf():
    X, y, further = data()
    model = forest().set_params(min_samples_leaf=len(y)).fit(X, y)
    assert {member.tree_.node_count for member in model.estimators_} == {1}
    check_votes(model, further)
    check_votes([DecisionTreeClassifier().fit(X, np.full(len(y), 5))], further)


def test_a_tree_may_be_deep():
    X = np.arange(300.0)[:, None]
    model = DecisionTreeClassifier(random_state=0).fit(X, np.arange(300) % 2)
    assert model.get_depth() > 100
    check_votes([model], np.vstack([X, X + 0.5, X - 0.5]))


@pytest.mark.parametrize("make", [TREES["forest"], TREES["bagging"], listed_trees])
@pytest.mark.parametrize("n_classes", [256, 257, 300])
def test_there_may_be_more_classes_than_a_byte_holds(make, n_classes):
    y = np.tile(np.arange(n_classes), 2)
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
    votes = check_votes(fit(make(), X, y), X)
    assert votes.max() == n_classes - 1


def test_more_classes_than_codes_are_refused():
    y = np.arange(70_000)
    model = DummyClassifier(strategy="constant", constant=69_999).fit(y[:, None], y)
    with pytest.raises(ValueError, match="70000"):
        collect_votes([model], y[:2, None])


@pytest.mark.parametrize("name", ["forest", "extra trees", "bagging", "boosting"])
def test_predict_of_trees_is_not_called(monkeypatch, name):
    X = data()[2]
    expected = member_labels(fitted(name), X)
    monkeypatch.delattr("sklearn.tree.BaseDecisionTree.predict")
    assert (collect_votes(fitted(name), X) == expected).all()


class Contrarian(DecisionTreeClassifier):
    """A tree that says something else than its leaves."""

    def predict(self, X, check_input=True):
        places = np.searchsorted(self.classes_, super().predict(X, check_input))
        return self.classes_[(places + 1) % len(self.classes_)]


def test_predict_of_a_subclass_of_a_tree_is_called():
    X, y, further = data()
    plain, other = (kind(random_state=0).fit(X, y) for kind in (DecisionTreeClassifier, Contrarian))
    votes = check_votes([plain, other, plain], further)
    assert (votes[:, 0] != votes[:, 1]).all()
    check_votes(bagging(Contrarian(max_depth=3), max_features=0.5).fit(X, y), further)


class Oracle:
    """A classifier that owes nothing to scikit-learn."""

    classes_ = np.array(["ant", "cat"])

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_a_member_of_another_library_is_accepted():
    X, y, further = data()
    check_votes([Oracle(), tree().fit(X, y)], further)


@pytest.mark.parametrize("n_rows", [1, 7, 90, 1000])
@pytest.mark.parametrize("name", TAKE_MISSING)
def test_blocks_of_samples_give_the_same_leaves(monkeypatch, name, n_rows):
    X = data(missing=True)[2]
    monkeypatch.setattr(tree_walk, "_BLOCK_ROWS", n_rows)
    check_votes(fitted(name, missing=True), X)
    check_votes(fitted(name), sparse.csr_matrix(data()[2]), asked_with=data()[2])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("change", [lambda X: X[:, :3], lambda X: np.hstack([X, X])])
@every_kind_of_trees
def test_a_wrong_number_of_features_is_refused(make, change, form):
    X, y, further = data()
    model = fit(make(), X, y)
    with pytest.raises(ValueError, match=r"X has (3|16) features, but .* is expecting 8"):
        collect_votes(model, form(change(further)))


@every_kind_of_trees
def test_columns_in_another_order_are_refused(make):
    X, y, further = data()
    columns = list("abcdefgh")
    model = fit(make(), pd.DataFrame(X, columns=columns), y)
    frame = pd.DataFrame(further, columns=columns)[columns[::-1]]
    with pytest.raises(ValueError, match="feature names should match"):
        collect_votes(model, frame)


@every_kind_of_trees
def test_infinite_values_are_rejected(make):
    X, y, further = data()
    model = fit(make(), X, y)
    for value in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="infinity"):
            collect_votes(model, np.where(further == further[3, 3], value, further))


@every_kind_of_trees
def test_missing_values_in_sparse_rows_are_refused(make):
    model = fit(make(), *data()[:2])
    with pytest.raises(ValueError, match="NaN"):
        collect_votes(model, sparse.csr_matrix(data(missing=True)[2]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", BOOTSTRAPPED)
def test_votes_on_training_samples_of_a_member_are_masked(name, weighted):
    model = fitted(name, weighted=weighted and name in TAKE_WEIGHTS)
    X = data()[0]
    votes = collect_votes(model, X, oob=True)
    seen = [np.isin(np.arange(len(X)), rows) for rows in model.estimators_samples_]
    assert (np.ma.getmaskarray(votes) == np.stack(seen, axis=1)).all()
    assert (votes.data == collect_votes(model, X)).all()


def test_out_of_bag_votes_come_through_pipelines_searches_and_slices():
    X, y, _ = data()
    scaled = StandardScaler().fit(X)
    model = make_pipeline(scaled, forest()).fit(X, y)
    alone = collect_votes(model[-1], scaled.transform(X), oob=True)
    for same in (model, fitted("pipeline")):
        votes = collect_votes(same, X, oob=True)
        assert (votes.mask == alone.mask).all()
        assert (votes.data == alone.data).all()
    for name in ("forest", "bagging, half the features"):
        whole = collect_votes(fitted(name), X, oob=True)
        part = collect_votes(as_ensemble(fitted(name)).slice([4, 0, 2]), X, oob=True)
        assert (part.mask == whole.mask[:, [4, 0, 2]]).all()
        assert (part.data == whole.data[:, [4, 0, 2]]).all()


VOTING_BY_LABEL = {  # members whose probabilities are 0 and 1, so that they vote as if by label
    "forest": lambda: RandomForestClassifier(4, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(4, bootstrap=True, random_state=0),
    "bagging": lambda: BaggingClassifier(DecisionTreeClassifier(), 4, random_state=0),
    "no probabilities": lambda: BaggingClassifier(LinearSVC(), 4, random_state=0),
}


@pytest.mark.parametrize("weighted", [False, True])
@every_number_of_classes
@pytest.mark.parametrize("make", VOTING_BY_LABEL.values(), ids=VOTING_BY_LABEL)
def test_out_of_bag_votes_decide_as_the_ensemble_does(make, n_classes, weighted):
    X, y, _ = data(n_classes)
    options = {"sample_weight": np.linspace(0.5, 3, len(y))} if weighted else {}
    model = fit_with_oob(make(), X, y, **options)
    votes = collect_votes(model, X, oob=True)
    tally = np.stack([(votes == label).filled(False).sum(axis=1) for label in model.classes_], 1)
    n_votes = tally.sum(axis=1)
    voted = n_votes > 0
    assert 0 < voted.sum() < len(y)
    assert np.allclose(model.oob_decision_function_[voted], (tally.T / n_votes.clip(1)).T[voted])
    winner = tally[voted].argmax(axis=1)
    assert (model.oob_decision_function_[voted].argmax(axis=1) == winner).all()


@pytest.mark.parametrize(
    ("make", "n_rows", "message"),
    [
        (
            lambda: ExtraTreesClassifier(2),
            150,
            "ExtraTreesClassifier was trained with bootstrap=False.* Use a validation set",
        ),
        (
            lambda: BaggingClassifier(tree(), 2, bootstrap=False),
            150,
            "BaggingClassifier was trained with bootstrap=False.* or bootstrap=True",
        ),
        (voting, 150, "VotingClassifier does not record .* other ensembles, use a validation set"),
        (TREES["boosting"], 150, "AdaBoostClassifier does not record"),
        (listed_trees, 150, "list does not record"),
        (
            forest,
            149,
            "need the 150 samples .* trained on; X has 149 samples. Pass the training samples",
        ),
        (
            bagging,
            149,
            "need the 150 samples .* trained on; X has 149 samples. Pass the training samples",
        ),
        (
            lambda: make_pipeline(StandardScaler(), forest()),
            149,
            "need the 150 samples .*; X has 149",
        ),
    ],
)
def test_missing_out_of_bag_votes_are_rejected(make, n_rows, message):
    X, y, _ = data()
    model = fit(make(), X, y)
    with pytest.raises(InputError, match=message):
        collect_votes(model, X[:n_rows], oob=True)
    with pytest.raises(InputError, match=message):
        collect_encoded_votes(as_ensemble(model), X[:n_rows], oob=True)


def test_bagging_without_the_samples_of_its_first_members_is_rejected():
    X, y, _ = data()
    with pytest.raises(InputError, match="warm_start"):
        collect_votes(grown_bagging(X, y), X, oob=True)


@every_number_of_classes
@every_model
def test_packed_votes_are_the_same_votes(name, n_classes):
    X, y, _ = data(n_classes)
    model = fitted(name, n_classes)
    ensemble = as_ensemble(model)
    for votes in (
        collect_encoded_votes(ensemble, X),
        collect_encoded_votes(ensemble, X, y, n_jobs=2),
    ):
        codes = votes.codes(range(votes.n_members))
        assert (collect_votes(model, X) == votes.classes[codes].T).all()
        assert votes.names.tolist() == ensemble.member_names
    assert (votes.classes[votes.truth] == y).all()


@pytest.mark.parametrize("name", BOOTSTRAPPED)
def test_packed_votes_are_missing_where_collected_ones_are_masked(name):
    X, y, _ = data()
    votes = collect_encoded_votes(as_ensemble(fitted(name)), X, y, oob=True)
    expected = collect_votes(fitted(name), X, oob=True)
    codes = votes.codes(range(votes.n_members)).T
    assert votes.has_missing
    assert ((codes == votes.n_classes) == expected.mask).all()
    assert (votes.classes[codes[~expected.mask]] == expected.compressed()).all()


def test_packed_votes_accept_labels_unknown_to_the_ensemble():
    X, y, _ = data(2)
    votes = collect_encoded_votes(
        as_ensemble(fitted("forest", 2)), X, np.where(y == "ant", "aphid", y)
    )
    assert votes.classes.tolist() == ["ant", "aphid", "bee"]
    codes = votes.codes(range(votes.n_members))
    assert (collect_votes(fitted("forest", 2), X) == votes.classes[codes].T).all()
