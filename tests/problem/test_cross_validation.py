"""Folds: the parameters cv and groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, TimeSeriesSplit

from secateurs.exceptions import InputError
from secateurs.problem.cross_validation import CrossValidation

Y = np.arange(60) % 3


def folds_of(cv=None, groups=None, y=Y, seed=0):
    return list(CrossValidation.from_parameters(cv, groups, len(y)).split(y, None, seed))


def test_by_default_five_folds_hold_out_every_sample_once():
    folds = folds_of()
    assert len(folds) == 5
    assert sorted(np.concatenate([held_out for _, held_out in folds])) == list(range(60))
    for training, held_out in folds:
        assert np.bincount(Y[held_out]).tolist() == [4, 4, 4]
        assert not set(training) & set(held_out)


@pytest.mark.parametrize("splitter", [KFold(4), TimeSeriesSplit(3), RepeatedKFold(n_repeats=2)])
def test_splitters_are_used_as_they_are(splitter):
    if isinstance(splitter, RepeatedKFold):
        splitter.random_state = 0
    for ours, theirs in zip(folds_of(splitter), splitter.split(Y[:, None], Y), strict=True):
        for part, expected in zip(ours, theirs, strict=True):
            assert part.tolist() == expected.tolist()
    assert CrossValidation(splitter).n_folds(Y, None) == len(folds_of(splitter))


@given(st.integers(2, 9), st.integers(1, 6), st.integers(0, 99), st.booleans())
def test_groups_stay_together_and_equal_groups_get_the_folds_of_samples(
    n_folds, size, seed, is_regression
):
    rng = np.random.default_rng(seed)
    y = rng.random(23) if is_regression else rng.integers(3, size=23)
    once = folds_of(n_folds, None, y, seed)
    names = np.array([f"patient {number}" for number in rng.permutation(23)])
    repeated = folds_of(n_folds, np.repeat(names, size), np.repeat(y, size), seed)
    for (_, expected), (training, held_out) in zip(once, repeated, strict=True):
        assert np.unique(held_out // size).tolist() == expected.tolist()
        assert not set(training // size) & set(held_out // size)


@given(st.lists(st.integers(0, 6), min_size=8, max_size=60), st.integers(0, 9))
def test_groups_of_any_size_are_held_out_once(groups, seed):
    if len(set(groups)) < 2:
        return
    groups = np.array(groups)
    folds = folds_of(None, groups, np.arange(len(groups)) % 2, seed)
    assert len(folds) == min(5, len(set(groups)))
    held_out = np.concatenate([part for _, part in folds])
    assert sorted(held_out) == list(range(len(groups)))
    for training, part in folds:
        assert not set(groups[training]) & set(groups[part])


def test_folds_of_groups_are_balanced():
    sizes = [20, 20, 12, 8, 8, 8, 4, 4, 4, 4, 4, 4]
    folds = folds_of(5, np.repeat(np.arange(12), sizes), np.zeros(100, dtype=int))
    assert max(len(held_out) for _, held_out in folds) == 20


def test_a_splitter_receives_the_groups():
    groups = np.arange(60) // 10
    for _, held_out in folds_of(GroupKFold(3), groups):
        assert len(held_out) == 20
        assert len(set(groups[held_out])) == 2


def test_index_pairs_may_be_masks_or_lists():
    mask = np.arange(60) < 40
    ((training, held_out),) = folds_of([(mask, ~mask)])
    assert training.tolist() == list(range(40))
    assert held_out.tolist() == list(range(40, 60))
    assert folds_of(iter([([0, 1], [2])]))[0][1].tolist() == [2]


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (1, None, "is too small"),
        ("five", None, "is not valid. Pass a number of folds"),
        (2.5, None, "is not valid"),
        ([], None, "has no folds"),
        ([([0, 1], [])], None, "has no held-out samples in fold 1"),
        ([([], [1])], None, "has no training samples in fold 1"),
        ([([0, 1], [60])], None, "has the index 60 in fold 1"),
        ([([0, -1], [2])], None, "has the index -1"),
        ([([0, 1], [1])], None, "in both parts of fold 1"),
        ([(["a"], [1])], None, "no pair of index arrays for fold 1"),
        ([3], None, "no pair of index arrays"),
        (None, [1, 2], "has shape \\(2,\\), but there are 60 samples"),
        (None, np.zeros(60), "has a single group"),
    ],
)
def test_bad_folds_and_groups_give_one_line(cv, groups, message):
    with pytest.raises(InputError, match=message) as caught:
        folds_of(cv, groups)
    assert "\n" not in str(caught.value)


def test_a_splitter_that_fails_is_named():
    with pytest.raises(InputError, match=r"GroupKFold.*cannot split these samples"):
        folds_of(GroupKFold(3))
    with pytest.raises(InputError, match=r"TimeSeriesSplit.*cannot split"):
        folds_of(TimeSeriesSplit(100))
