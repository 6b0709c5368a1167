"""Votes: labels of any type, and exact counts."""

import dataclasses
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import cases, make
from secateurs import Votes
from secateurs.outputs.vote_packing import MOST_PLANE_CLASSES, BitPlanes, CodeMatrix

LABELS = {
    "text": ["ant", "bee", "cat"],
    "negative": [-7, -1, 3],
    "far apart": [-(10**12), 5, 10**15],
    "whole floats": [-1.0, 0.0, 2.0],
    "huge floats": [0.0, 1e300, 2e300],
    "booleans": [False, True],
    "unsigned": [2**63, 2**63 + 1, 2**64 - 1],
}


def decoded(votes):
    return votes.classes[votes.packed.decode()].T


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("container", [list, np.array, pd.DataFrame, "object"])
def test_labels_of_any_type_are_decoded_unchanged(labels, container):
    case = make(3, 70, len(labels), ["noisy"] * 4, labels)
    table = np.array(case.votes, dtype=np.array(labels).dtype)
    given_votes = table.astype(object) if container == "object" else container(table.tolist())
    votes = Votes.encode(given_votes, case.y)
    assert (decoded(votes) == table).all()
    assert votes.classes.tolist() == labels
    assert votes.classes[votes.truth].tolist() == case.y


@pytest.mark.parametrize("n_classes", [1, 2, MOST_PLANE_CLASSES, MOST_PLANE_CLASSES + 1, 300])
def test_few_classes_are_planes_and_many_are_codes(n_classes):
    case = make(0, 2000, n_classes, ["random"] * 3)
    votes = Votes.encode(case.votes, case.y)
    assert type(votes.packed) is (BitPlanes if n_classes <= MOST_PLANE_CLASSES else CodeMatrix)
    assert decoded(votes).tolist() == case.votes


def test_planes_have_one_bit_per_vote_and_class_except_the_last():
    case = make(0, 4096, 3, ["random"] * 5)
    assert Votes.encode(case.votes).nbytes == 5 * 4096 * 2 / 8


def test_memory_order_and_strides_do_not_matter():
    table = np.array(make(1, 130, 3, ["noisy"] * 6).votes)
    expected = Votes.encode(table).packed.decode()
    wide = np.repeat(table, 2, axis=1)
    for same in (np.asfortranarray(table), wide[:, ::2], table.astype(np.int8)):
        assert (Votes.encode(same).packed.decode() == expected).all()


def test_blocks_of_samples_are_encoded_as_one_block(monkeypatch):
    case = make(2, 300, 3, ["noisy"] * 5)
    expected = Votes.encode(case.votes, case.y)
    monkeypatch.setattr("secateurs.labels._BLOCK_VALUES", 64)
    blocked = Votes.encode(case.votes, case.y)
    assert (blocked.packed.cells == expected.packed.cells).all()
    text = np.array(["a", "b", "c"])[np.array(case.votes)]
    assert (Votes.encode(text).packed.cells == expected.packed.cells).all()


@given(cases())
def test_counts_agree_with_a_loop(case):
    votes = Votes.encode(case.votes, case.y)
    codes = votes.packed.decode()
    tables = votes.joint_counts(slice(0, 1))[0]
    expected = np.zeros_like(tables)
    for member in range(votes.n_members):
        np.add.at(expected[member], (codes[0], codes[member]), 1)
    assert (tables == expected).all()
    truth = np.zeros_like(tables)
    for member in range(votes.n_members):
        np.add.at(truth[member], (codes[member], votes.truth), 1)
    assert (votes.truth_counts == truth).all()
    right = codes == votes.truth
    assert (votes.n_right == right.sum(axis=1)).all()
    assert (votes.oracle.packed.decode() == ~right).all()
    assert (votes.sizes == tables.sum(axis=1)).all()


@given(cases(), st.data())
def test_is_right_agrees_with_a_count(case, data):
    table = case.votes
    members = data.draw(st.lists(st.integers(0, len(table[0]) - 1), min_size=1, unique=True))
    right = Votes.encode(case.votes, case.y).is_right(members).tolist()
    samples = range(len(case.y))
    assert right == [naive.vote(table, members, s) == case.y[s] for s in samples]


@given(cases(), st.data())
def test_appended_samples_equal_one_encoding(case, data):
    cut = data.draw(st.integers(0, len(case.y)))
    cuts = sorted({0, cut, data.draw(st.integers(0, len(case.y))), len(case.y)})
    batches = [slice(first, last) for first, last in pairwise(cuts)]
    votes = Votes.encode(case.votes[batches[0]], case.y[batches[0]])
    for batch in batches[1:]:
        votes = votes.append(case.votes[batch], case.y[batch])
    whole = Votes.encode(case.votes, case.y)
    assert votes.classes.tolist() == whole.classes.tolist()
    assert (votes.packed.decode() == whole.packed.decode()).all()
    assert (votes.y == whole.y).all()
    assert type(votes.packed) is type(whole.packed)
    assert (votes.joint_counts([0]) == whole.joint_counts([0])).all()


@given(cases(), st.data())
def test_weights_of_votes_are_added_up(case, data):
    packed = Votes.encode(case.votes).packed
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    low, high = sorted(data.draw(st.tuples(st.integers(-300, 300), st.integers(-300, 300))))
    shape = (packed.n_classes, packed.n_samples)
    weights = rng.integers(low, high + 1, size=shape).astype(np.int32)
    kept = weights.copy()
    expected = [
        sum(int(weights[code, n]) for n, code in enumerate(codes)) for codes in packed.decode()
    ]
    assert packed.weighted_sums(weights).tolist() == expected
    assert (weights == kept).all()


def test_members_are_taken_in_the_given_order():
    frame = pd.DataFrame({"ada": [0, 1], "bob": [1, 1], "cyd": [0, 0]})
    taken = Votes.encode(frame, [0, 1]).take([2, 0])
    assert decoded(taken).tolist() == [[0, 0], [0, 1]]
    assert taken.names.tolist() == ["cyd", "ada"]
    assert taken.sizes.tolist() == [[2, 0], [1, 1]]


def test_members_are_taken_by_positive_and_negative_index():
    for n_classes in (1, 2, 20):
        votes = Votes.encode(make(0, 200, n_classes, ["random"] * 6).votes)
        assert (decoded(votes.take([-1, 2])) == decoded(votes)[:, [5, 2]]).all()
        assert votes.take([]).n_members == 0
        with pytest.raises(IndexError):
            votes.take([6])


def test_counts_of_one_thread_are_not_disturbed_by_another():
    votes = Votes.encode(make(0, 300, 3, ["random"] * 40).votes)
    counted = threading.Barrier(4)

    def count(member):
        tables = votes.joint_counts_of(votes.take([member]), slice(0, 40))
        counted.wait(timeout=300)
        return (tables == votes.joint_counts([member])).all()

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(count, range(4)))


def test_votes_are_frozen():
    votes = Votes.encode([[0, 1], [1, 1]], [0, 1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        votes.y = None
    with pytest.raises(ValueError, match="read-only"):
        votes.packed.cells[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        votes.y[0] = 1


def test_votes_survive_pickling():
    votes = pickle.loads(pickle.dumps(Votes.encode([["a", "b"], ["b", "b"]], ["a", "b"])))
    assert decoded(votes).tolist() == [["a", "b"], ["b", "b"]]


def test_true_labels_can_be_added_to_votes_later():
    votes = Votes.encode([["a", "b"], ["c", "c"]])
    labelled = votes.with_labels(["b", "d"])
    assert labelled.classes.tolist() == ["a", "b", "c", "d"]
    assert labelled.n_right.tolist() == [0, 1]
    with pytest.raises(ValueError, match="2 samples but y has 3 labels"):
        votes.with_labels(["a", "b", "c"])


def test_the_vote_goes_to_the_lowest_of_tied_classes():
    votes = Votes.encode([["b", "a", "c"], ["c", "c", "a"]])
    assert votes.vote().tolist() == ["a", "c"]
    assert votes.vote([0, 2]).tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (([[0, 1]], [0]), ([[0, 1, 1]], [0]), "have 3 members, the earlier votes 2"),
        (([[0, 1]], [0]), ([[0, 1]], None), "with all batches of votes, or with none"),
        (([[0, 1]], [0]), ([["a", "b"]], ["a"]), "coded differently"),
    ],
)
def test_batches_that_do_not_match_are_rejected(first, second, message):
    with pytest.raises(ValueError, match=message):
        Votes.encode(*first).append(*second)
