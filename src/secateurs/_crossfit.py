"""Choosing on some rows and scoring on others: folds, and accuracy on rows held out."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs.exceptions import InputError
from secateurs.votes import Votes

N_FOLDS = 5

Rows = NDArray[np.intp]


def folds(y: Array, rng: np.random.RandomState) -> Iterator[tuple[Rows, Rows]]:
    """Cut rows into rows to choose on and rows held out, five times, classes in proportion."""
    if len(y) < 2:
        raise InputError(
            "Choosing by cross-fitting needs at least 2 rows. Give more, or set a value."
        )
    shuffled = rng.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    n_folds = min(N_FOLDS, len(y))
    part = np.empty(len(y), dtype=np.intp)
    part[by_class] = np.arange(len(y)) % n_folds
    for fold in range(n_folds):
        yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)


def split_votes(votes: Votes, rng: np.random.RandomState) -> list[tuple[Votes, Votes]]:
    """Cut votes into those to choose by and those held out, five times."""
    return [
        (votes.rows(chosen_on), votes.rows(rest)) for chosen_on, rest in folds(votes.truth, rng)
    ]


def held_out_accuracy(
    parts: Sequence[tuple[Votes, Votes]], choose: Callable[[Votes], Sequence[int]]
) -> float:
    """Accuracy of the vote of members chosen by the other rows."""
    right = n_rows = 0
    for chosen_on, held_out in parts:
        voted = held_out.vote(choose(chosen_on))
        right += int(np.count_nonzero(voted == held_out.classes[held_out.truth]))
        n_rows += held_out.n_samples
    return right / n_rows
