"""Votes collected into a store, a few members at a time: the same votes, also after a crash."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from processes import with_path
from secateurs import Votes, VoteStore, collect_votes
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError
from secateurs.outputs import store_base as store
from secateurs.outputs._collect_store import ensemble_fingerprint
from secateurs.outputs.collect import collect_encoded_votes
from secateurs.outputs.vote_packing import empty_packed_votes
from test_ensembles import (
    BOOTSTRAPPED,
    data,
    every_kind_of_label,
    every_number_of_classes,
    fitted,
)


def small_tiles(monkeypatch, n_members, n_samples=150, n_codes=3):
    """Let a store have tiles of a few members."""
    member_bytes = empty_packed_votes(n_samples, 1, n_codes).nbytes
    monkeypatch.setattr(store, "_TILE_BYTES", n_members * member_bytes)


@every_kind_of_label
@every_number_of_classes
@pytest.mark.parametrize(
    "name", ["forest", "bagging", "soft voting", "boosting", "pipeline", "dict"]
)
def test_a_store_is_filled_with_the_same_votes(tmp_path, monkeypatch, name, n_classes, labels):
    small_tiles(monkeypatch, 3, n_codes=n_classes)
    X, y, _ = data(n_classes, labels)
    model = fitted(name, n_classes, labels)
    expected = collect_encoded_votes(as_ensemble(model), X, y)
    kept = collect_votes(model, X, store=tmp_path / "votes", y=y)
    assert kept.n_tiles == -(-expected.n_members // 3)
    loaded = VoteStore.open(tmp_path / "votes").load()
    assert np.array_equal(loaded.packed.cells, expected.packed.cells)
    assert loaded.classes.tolist() == expected.classes.tolist()
    assert loaded.y.tolist() == expected.y.tolist()
    assert loaded.names.tolist() == expected.names.tolist()
    assert (kept.load().vote() == Votes.encode(collect_votes(model, X)).vote()).all()


@pytest.mark.parametrize("name", BOOTSTRAPPED[:3])
def test_a_store_holds_out_of_bag_votes(tmp_path, monkeypatch, name):
    small_tiles(monkeypatch, 3)
    X, y, _ = data()
    expected = collect_encoded_votes(as_ensemble(fitted(name)), X, y, oob=True)
    kept = collect_votes(fitted(name), X, oob=True, store=tmp_path / "votes", y=y)
    assert kept.n_tiles > 1
    assert kept.has_missing
    assert np.array_equal(kept.load().packed.cells, expected.packed.cells)
    assert kept.n_answered.tolist() == expected.n_answered.tolist()


def test_a_store_accepts_labels_unknown_to_the_ensemble(tmp_path):
    X, y, _ = data(2)
    truth = np.where(y == "ant", "aphid", y)
    kept = collect_votes(fitted("forest", 2), X, store=tmp_path / "votes", y=truth)
    assert kept.classes.tolist() == ["ant", "aphid", "bee"]
    assert (kept.classes[kept.truth] == truth).all()
    codes = kept.load().codes(range(kept.n_members))
    assert (collect_votes(fitted("forest", 2), X) == kept.classes[codes].T).all()


def test_true_labels_are_accepted_only_with_a_store(tmp_path):
    X, y, _ = data()
    with pytest.raises(InputError, match="y is only used with store"):
        collect_votes(fitted("forest"), X, y=y)
    with pytest.raises(InputError, match="150 samples but y has 149 labels"):
        collect_votes(fitted("forest"), X, store=tmp_path / "votes", y=y[:-1])


class Asked:
    """A member that records each call of predict."""

    classes_ = np.array([0, 1])

    def __init__(self, number, told):
        self.number, self._told = number, told

    def predict(self, X):
        self._told(self.number)
        return (np.asarray(X)[:, 0] * 7 + self.number).astype(int) % 2


ROWS = np.random.default_rng(0).normal(size=(100, 2)) * 10


def holds_the_votes_of_all(kept):
    answers = [Asked(t, lambda t: None).predict(ROWS) for t in range(18)]
    return np.array_equal(answers, kept.load().codes(range(18)))


def test_members_predict_one_tile_at_a_time(tmp_path, monkeypatch):
    small_tiles(monkeypatch, 4, 100, 2)
    log = tmp_path / "votes" / "tiles.jsonl"
    asked = []
    members = [
        Asked(t, lambda t: asked.append((t, len(log.read_text().splitlines())))) for t in range(18)
    ]
    kept = collect_votes(members, ROWS, store=tmp_path / "votes")
    assert sorted(t for t, _ in asked) == list(range(18))
    for tile in range(5):  # a tile is predicted after the tile before it was written
        assert {t for t, n_written in asked if n_written == tile} == set(kept.members_of(tile))
    assert holds_the_votes_of_all(kept)


def test_a_half_filled_store_is_completed(tmp_path, monkeypatch):
    small_tiles(monkeypatch, 4, 100, 2)
    asked = []

    def tell(t):
        asked.append(t)
        if len(asked) == 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect_votes([Asked(t, tell) for t in range(18)], ROWS, store=tmp_path / "votes")
    half = VoteStore.resume(tmp_path / "votes")
    assert len(half.missing) == 2
    left = np.concatenate(half.missing).tolist()
    asked.clear()
    kept = collect_votes([Asked(t, asked.append) for t in range(18)], ROWS, store=half.path)
    assert sorted(asked[1:]) == sorted(left)
    assert asked[0] not in left  # one shows that these are the same votes
    assert holds_the_votes_of_all(kept)
    asked.clear()
    again = collect_votes([Asked(t, asked.append) for t in range(18)], ROWS, store=half.path)
    assert len(asked) == 1
    assert again.verify() == []


FILLED = """
import os, signal, sys
from secateurs.outputs import store_base as store
from secateurs.outputs._collect_store import ensemble_fingerprint
from secateurs.outputs.vote_packing import empty_packed_votes
from secateurs import collect_votes
from test_collect_store import ROWS, Asked

folder, last = sys.argv[1], int(sys.argv[2])
asked = []

def tell(t):
    asked.append(t)
    if len(asked) == last:
        os.kill(os.getpid(), signal.SIGKILL)

store._TILE_BYTES = 4 * empty_packed_votes(100, 1, 2).nbytes
collect_votes([Asked(t, tell) for t in range(18)], ROWS, store=folder)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_store_is_completed_after_the_process_was_killed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FILLED, str(tmp_path / "votes"), "11"],
        check=False,
        env=with_path(*Path(__file__).parents[:2]),
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(InputError, match="half-written: 3 of its 5 tiles"):
        VoteStore.open(tmp_path / "votes")
    members = [Asked(t, lambda t: None) for t in range(18)]
    kept = collect_votes(members, ROWS, store=tmp_path / "votes")
    assert kept.verify() == []
    assert holds_the_votes_of_all(kept)


def test_a_store_with_other_votes_is_rejected(tmp_path, monkeypatch):
    small_tiles(monkeypatch, 3)
    X = data()[0]
    kept = collect_votes(fitted("forest"), X, store=tmp_path / "votes")
    content = {path.name: path.read_bytes() for path in kept.path.iterdir()}
    for model, rows in [
        (fitted("extra trees"), X),
        (fitted("forest"), X[::-1]),
        (fitted("forest"), X[1:]),
        (fitted("boosting"), X),
    ]:
        with pytest.raises(InputError, match="holds votes of another ensemble or on other samples"):
            collect_votes(model, rows, store=kept.path)
    with pytest.raises(InputError, match="another ensemble"):
        collect_votes(fitted("forest"), X, oob=True, store=kept.path)
    assert {path.name: path.read_bytes() for path in kept.path.iterdir()} == content


def test_other_samples_with_equal_votes_of_the_first_member_are_rejected(tmp_path):
    X = data()[0]
    forest = fitted("forest")
    others = X.copy()
    unused = np.setdiff1d(np.arange(X.shape[1]), forest.estimators_[0].tree_.feature)
    others[:, unused] = 0
    kept = collect_votes(forest, X, store=tmp_path / "votes")
    assert (collect_votes(forest, others) != collect_votes(forest, X)).any()
    with pytest.raises(InputError, match="on other samples"):
        collect_votes(forest, others, store=kept.path)


def test_different_true_labels_are_rejected_and_new_labels_used(tmp_path):
    X, y, _ = data()
    forest = fitted("forest")
    bare = collect_votes(forest, X, store=tmp_path / "bare")
    assert bare.y is None
    labelled = collect_votes(forest, X, store=tmp_path / "bare", y=y)
    kept = collect_votes(forest, X, store=tmp_path / "votes", y=y)
    assert labelled.truth.tolist() == kept.truth.tolist()
    assert collect_votes(forest, X, store=tmp_path / "votes", y=y).truth.tolist() == y_codes(y)
    with pytest.raises(InputError, match="holds other true labels than y"):
        collect_votes(forest, X, store=tmp_path / "votes", y=y[::-1])


def y_codes(y):
    return np.unique(y, return_inverse=True)[1].tolist()


def test_a_loaded_model_completes_the_store_of_the_saved_model(tmp_path, monkeypatch):
    small_tiles(monkeypatch, 3)
    X = data()[0]
    for name in ("forest", "bagging", "soft voting", "boosting", "pipeline", "dict"):
        model = fitted(name)
        kept = collect_votes(model, X, store=tmp_path / name)
        (kept.path / "tile-00000.npy").unlink()
        again = pickle.loads(pickle.dumps(model))
        votes = collect_votes(again, X.copy(), store=tmp_path / name)
        assert np.array_equal(
            votes.load().packed.cells, collect_encoded_votes(as_ensemble(model), X).packed.cells
        )


@pytest.mark.parametrize("classes", [["ant", "bee"], ["ant", "bee", "cow"], [1, 2, 3]])
def test_an_empty_store_with_other_classes_is_rejected(tmp_path, classes):
    empty = VoteStore.create(tmp_path / "votes", 8, 150, classes)
    with pytest.raises(ValueError, match=r"the label 'cat'|Labels are coded differently"):
        collect_votes(fitted("forest"), data()[0], store=empty.path)
    assert len(VoteStore.resume(empty.path).missing) == 1


def test_a_damaged_tile_is_reported_and_can_be_written_again(tmp_path, monkeypatch):
    small_tiles(monkeypatch, 3)
    X, y, _ = data()
    kept = collect_votes(fitted("forest"), X, store=tmp_path / "votes", y=y)
    expected = kept.load()
    tile = kept.path / "tile-00001.npy"
    tile.write_bytes(tile.read_bytes()[:-1] + b"x")
    assert len(kept.verify()) == 1
    tile.unlink()
    again = collect_votes(fitted("forest"), X, store=tmp_path / "votes", y=y)
    assert np.array_equal(again.load().packed.cells, expected.packed.cells)


@pytest.mark.parametrize("name", [*BOOTSTRAPPED[:3], "soft voting", "boosting", "pipeline", "dict"])
def test_a_fingerprint_is_unchanged_after_pickling_and_predicting(name):
    X = data()[0]
    model = fitted(name)
    first = ensemble_fingerprint(as_ensemble(model), X)
    collect_votes(model, X)
    again = pickle.loads(pickle.dumps(model))
    assert (
        ensemble_fingerprint(as_ensemble(again), X.copy())
        == ensemble_fingerprint(as_ensemble(model), X)
        == first
    )
    assert ensemble_fingerprint(as_ensemble(model), np.asfortranarray(X)) == first


@pytest.mark.parametrize("name", ["forest", "bagging", "soft voting", "boosting", "dict"])
def test_another_member_or_row_has_another_fingerprint(name):
    X = data()[0]
    model = as_ensemble(fitted(name))
    first = ensemble_fingerprint(model, X)
    changed = X.copy()
    changed[7, 1] += 1e-3
    assert ensemble_fingerprint(model, changed) != first
    other = fitted(name)
    other = pickle.loads(pickle.dumps(other))
    known = as_ensemble(other)
    members = list(known.members)
    members[1], members[2] = members[2], members[1]
    known.members = members
    assert ensemble_fingerprint(known, X) != first


def test_members_with_other_parameters_have_another_fingerprint():
    X = data()[0]
    models = fitted("dict")
    first = ensemble_fingerprint(as_ensemble(models), X)
    for name, attribute in (("b", "theta_"), ("c", "coef_"), ("d", "_fit_X")):
        changed = pickle.loads(pickle.dumps(models))
        getattr(changed[name], attribute)[0, 0] += 1
        assert ensemble_fingerprint(as_ensemble(changed), X) != first


@pytest.mark.parametrize("member", ["trees", "neighbours", "linear", "mixed"])
def test_samples_are_compared_in_full_except_for_trees(tmp_path, member):
    """Trees of forests round samples to 32 bits, and predict the same for both."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    changed = X.copy()
    changed[7, 1] *= 1 + 1e-12
    model = {
        "trees": RandomForestClassifier(3, random_state=0),
        "neighbours": BaggingClassifier(KNeighborsClassifier(), 3, random_state=0),
        "linear": BaggingClassifier(LogisticRegression(), 3, random_state=0),
        "mixed": VotingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier())]),
    }[member].fit(X, y)
    kept = collect_votes(model, X, store=tmp_path / "votes")
    if member == "trees":
        again = collect_votes(model, changed, store=tmp_path / "votes")
        assert np.array_equal(again.load().packed.cells, kept.load().packed.cells)
        assert np.array_equal(collect_votes(model, changed), collect_votes(model, X))
    else:
        with pytest.raises(InputError, match="of another ensemble or on other samples"):
            collect_votes(model, changed, store=tmp_path / "votes")
