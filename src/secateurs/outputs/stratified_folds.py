"""Cross-fitting: choose on four fifths of the rows and score on the fifth, five times."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

N_FOLDS = 5

Indices = NDArray[np.intp]


def stratified_fold_indices(
    y: Array, rng: np.random.RandomState
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the rows to choose on and those held out, five times, classes in proportion."""
    if len(y) < 2:
        raise InputError(
            "Choosing by cross-fitting needs at least 2 rows. Give more, or set a value."
        )
    n_folds = min(N_FOLDS, len(y))
    part = np.empty(len(y), dtype=np.intp)
    part[shuffled_by_class(y, rng)] = np.arange(len(y)) % n_folds
    for fold in range(n_folds):
        yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)


def shuffled_by_class(y: Array, rng: np.random.RandomState) -> Indices:
    """Return the rows ordered by class, at random within each."""
    shuffled = rng.permutation(len(y))
    return shuffled[np.argsort(y[shuffled], kind="stable")]


def iter_vote_folds(votes: Votes, rng: np.random.RandomState) -> Iterator[tuple[Votes, Indices]]:
    """Yield the votes to choose by and the rows held out, five times."""
    for chosen_on, held_out in stratified_fold_indices(votes.truth, rng):
        yield votes.rows(chosen_on), held_out


def split_vote_folds(votes: Votes, rng: np.random.RandomState) -> list[tuple[Votes, Votes]]:
    """Return the votes to choose by and those on the rows held out, five times."""
    return [(part, votes.rows(held_out)) for part, held_out in iter_vote_folds(votes, rng)]


def cross_validated_accuracy(
    parts: Sequence[tuple[Votes, Votes]], choose: Callable[[Votes], Sequence[int]]
) -> float:
    """Return the accuracy, on the rows held out, of members chosen by the other rows."""
    right = n_rows = 0
    for chosen_on, held_out in parts:
        right += int(np.count_nonzero(held_out.is_right(choose(chosen_on))))
        n_rows += held_out.n_samples
    return right / n_rows
