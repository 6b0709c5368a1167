"""Prediction stores: the same predictions for any tiles, and errors that name damaged files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from score_cases import KINDS, make_scores, score_cases
from secateurs import (
    JointErrorPruner,
    Predictions,
    PredictionStore,
    VoteStore,
    collect_predictions,
    collect_votes,
)
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError
from secateurs.outputs import store_base
from secateurs.outputs.collect import collect_encoded_predictions

SOFT = KINDS[1:]


def same(found, expected):
    assert found.exponent == expected.exponent
    assert_array_equal(found.cells, expected.cells)
    assert_array_equal(found.classes, expected.classes)
    assert_array_equal(found.y, expected.y)
    assert found.has_missing == expected.has_missing
    return True


@given(case=score_cases(SOFT), data=st.data())
def test_a_store_holds_the_predictions_written(tmp_path_factory, case, data):
    folder = tmp_path_factory.mktemp("stores") / "scores"
    options = {"tile_members": data.draw(st.integers(1, 7)), "shuffle": data.draw(st.booleans())}
    PredictionStore.from_scores(folder, case.given, **options)
    store = PredictionStore.open(folder)
    assert same(store.load(), case.given)
    assert store.nbytes == case.given.nbytes
    assert store.n_answered.tolist() == case.given.n_answered.tolist()
    chosen = data.draw(st.permutations(range(case.n_members)))
    assert same(store.take(chosen), case.given.take(chosen))
    cut = data.draw(st.integers(0, len(case.y) - 1))
    assert same(store.rows(slice(cut, None)), case.given.rows(slice(cut, None)))
    for tile in range(store.n_tiles):
        assert same(store.mapped(tile), case.given.take(store.members_of(tile)))
    assert store.verify() == []


def test_values_of_tiles_with_different_steps_equal_those_of_one_table(tmp_path):
    table = np.array([[1e-3, 5.0, 3e6, -0.7], [2e-5, -7.1, 4e5, 0.0], [-3e-4, 0.3, -1e6, 1.0]])
    y = [0.5, 1.5, -2.5]
    store = PredictionStore.create(tmp_path / "scores", 4, 3, y=y, tile_members=1)
    for members in store.missing:
        store.write(members, table[:, members])
    assert same(store.load(), Predictions.encode(table, y))
    assert same(store.take([1, 0]), Predictions.encode(table, y).take([1, 0]))
    assert same(store.rows(slice(1, 3)), Predictions.encode(table, y).rows(slice(1, 3)))


def test_probabilities_are_written_as_arrays(tmp_path):
    case = make_scores(0, "probabilities", 5, 20, 3)
    store = PredictionStore.create(tmp_path / "scores", 5, 20, [0, 1, 2], y=case.y, tile_members=2)
    for members in store.missing:
        store.write(members, case.table[:, members])
    assert same(PredictionStore.open(store.path).load(), case.given)
    assert repr(store) == "PredictionStore(20 samples, 5 members, 3 classes)"


@pytest.mark.parametrize("kind", SOFT)
def test_methods_select_the_same_members_from_a_store_as_from_memory(tmp_path, kind):
    case = make_scores(1, kind, 13, 90, 3, share_missing=0.2)
    store = PredictionStore.from_scores(tmp_path / "scores", case.given, tile_members=4)
    alone, stored = (JointErrorPruner(4).fit(given) for given in (case.given, store))
    assert stored.member_indices_.tolist() == alone.member_indices_.tolist()
    assert stored.scores_.tolist() == alone.scores_.tolist()
    assert stored.lower_bound_ == alone.lower_bound_
    assert_array_equal(stored.predict(store), alone.predict(case.given))


def test_other_true_values_replace_those_in_the_folder(tmp_path):
    case = make_scores(2, "numbers", 6, 30)
    store = PredictionStore.from_scores(tmp_path / "scores", case.given)
    other = np.arange(30.0)
    expected = JointErrorPruner(3).fit(case.given.with_labels(other))
    assert JointErrorPruner(3).fit(store, other).scores_.tolist() == expected.scores_.tolist()


@pytest.fixture(scope="module", params=["two", "three", "numbers"])
def fitted(request):
    if request.param == "numbers":
        X, y = make_regression(120, 6, noise=5, random_state=0)
        return RandomForestRegressor(9, max_depth=4, random_state=0).fit(X, y), X, y
    n_classes = {"two": 2, "three": 3}[request.param]
    X, y = make_classification(120, 6, n_informative=4, n_classes=n_classes, random_state=0)
    y = np.array(["ant", "bee", "cat"])[y]
    return RandomForestClassifier(9, max_depth=4, random_state=0).fit(X, y), X, y


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(store_base, "_TILE_BYTES", 1000)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("oob", [False, True])
def test_a_store_is_filled_with_the_predictions_of_an_ensemble(fitted, tmp_path, oob):
    model, X, y = fitted
    kept = collect_predictions(model, X, oob=oob, store=tmp_path / "scores", y=y)
    assert kept.n_tiles > 1
    assert same(kept.load(), collect_encoded_predictions(as_ensemble(model), X, y, oob=oob))


@pytest.mark.usefixtures("small_tiles")
def test_collecting_resumes_after_an_interruption(fitted, tmp_path):
    model, X, y = fitted
    kept = collect_predictions(model, X, store=tmp_path / "scores", y=y)
    log = kept.path / "tiles.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:2]))
    with pytest.raises(
        InputError, match=r"half-written.*PredictionStore\.resume.*collect_predictions"
    ):
        PredictionStore.open(kept.path)
    again = collect_predictions(model, X, store=kept.path)
    assert not again.missing
    assert same(again.load(), collect_encoded_predictions(as_ensemble(model), X, y))


@pytest.mark.usefixtures("small_tiles")
def test_a_store_of_another_ensemble_is_rejected(fitted, tmp_path):
    model, X, y = fitted
    kept = collect_predictions(model, X, store=tmp_path / "scores", y=y)
    with pytest.raises(
        InputError, match="holds predictions of another ensemble or on other samples"
    ):
        collect_predictions(model, X[::-1], store=kept.path)
    with pytest.raises(InputError, match="holds other true labels than y"):
        collect_predictions(model, X, store=kept.path, y=y[::-1])
    with pytest.raises(InputError, match="y is only used with store"):
        collect_predictions(model, X, y=y)


def test_labels_unknown_to_the_members_are_added_to_the_classes(tmp_path):
    X, y = make_classification(60, 5, random_state=0)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    truth = np.where(np.arange(60) == 7, 5, y)
    kept = collect_predictions(forest, X, store=tmp_path / "scores", y=truth)
    assert kept.classes.tolist() == [0, 1, 5]
    assert same(kept.load(), collect_encoded_predictions(as_ensemble(forest), X, truth))


def test_vote_stores_and_prediction_stores_are_distinguished(tmp_path):
    X, y = make_classification(60, 5, random_state=0)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    votes, scores = tmp_path / "votes", tmp_path / "scores"
    collect_votes(forest, X, store=votes)
    collect_predictions(forest, X, store=scores)
    with pytest.raises(InputError, match="describes a VoteStore, not a PredictionStore"):
        PredictionStore.open(votes)
    with pytest.raises(
        InputError,
        match="describes a PredictionStore, not a VoteStore",
    ):
        VoteStore.open(scores)


@pytest.mark.parametrize("kind", SOFT)
def test_damaged_members_are_named(tmp_path, kind):
    case = make_scores(3, kind, 6, 40)
    store = PredictionStore.from_scores(tmp_path / "scores", case.given, tile_members=2)
    tile = store.path / "tile-00001.npy"
    content = bytearray(tile.read_bytes())
    content[-1] ^= 1
    tile.write_bytes(content)
    damaged = store.members_of(1)[-1]
    with pytest.raises(
        InputError, match=f"is damaged: the predictions of member {damaged} are not"
    ):
        PredictionStore.open(store.path).load()
    (fault,) = store.verify()
    assert "tile-00001.npy" in fault


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda store: store.write([0], np.eye(2)[[[0], [1]]]), "are not a complete tile"),
        (lambda store: store.write([0, 1], [[0.5, 1.0], [2.0, 3.0]]), "store holds probabilities"),
        (
            lambda store: store.write([0, 1], np.ma.masked_less(np.eye(2)[[[0, 1], [1, 0]]], 1)),
            "has_missing=True",
        ),
        (
            lambda store: store.write([0, 1], Predictions.encode(np.eye(3)[[[0, 1], [1, 2]]])),
            "label 2, which is not one of the store's 2",
        ),
    ],
)
def test_tiles_that_do_not_fit_are_rejected(tmp_path, write, told):
    store = PredictionStore.create(tmp_path / "scores", 2, 2, [0, 1], shuffle=False)
    with pytest.raises(InputError, match=told):
        write(store)
    assert len(store.missing) == 1


def test_a_folder_that_exists_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"exists\. Pass a new folder, or use PredictionStore"):
        PredictionStore.create(tmp_path, 2, 2)
