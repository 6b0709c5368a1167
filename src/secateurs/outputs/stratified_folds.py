"""Stratified cross-validation folds of votes, and cross-validated accuracy."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from secateurs.exceptions import InputError
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, IndexArray

N_FOLDS = 5


def stratified_fold_indices(
    y: Array, rng: np.random.RandomState
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the indices of training and held-out samples of five folds, stratified by class."""
    if len(y) < 2:
        raise InputError("Cross-validation needs at least 2 samples. Pass more, or set a value.")
    n_folds = min(N_FOLDS, len(y))
    fold_of_sample = np.empty(len(y), dtype=np.intp)
    fold_of_sample[shuffled_by_class(y, rng)] = np.arange(len(y)) % n_folds
    for fold in range(n_folds):
        yield np.flatnonzero(fold_of_sample != fold), np.flatnonzero(fold_of_sample == fold)


def shuffled_by_class(y: Array, rng: np.random.RandomState) -> IndexArray:
    """Return the sample indices ordered by class, in random order within each class."""
    shuffled = rng.permutation(len(y))
    return shuffled[np.argsort(y[shuffled], kind="stable")]


def split_vote_folds(votes: Votes, rng: np.random.RandomState) -> list[tuple[Votes, Votes]]:
    """Return the votes on the training and the held-out samples of five folds."""
    return [
        (votes.rows(training), votes.rows(held_out))
        for training, held_out in stratified_fold_indices(votes.truth, rng)
    ]


def cross_validated_accuracy(
    folds: Sequence[tuple[Votes, Votes]], select_members: Callable[[Votes], Sequence[int]]
) -> float:
    """Return the accuracy on held-out samples of members selected on the training samples."""
    n_right = n_samples = 0
    for training, held_out in folds:
        n_right += int(np.count_nonzero(held_out.is_right(select_members(training))))
        n_samples += held_out.n_samples
    return n_right / n_samples
