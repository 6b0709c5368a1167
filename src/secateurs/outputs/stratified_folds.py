"""Stratified cross-validation folds of samples or of groups, and cross-validated accuracy."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from secateurs.exceptions import InputError
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, IndexArray

N_FOLDS = 5


def stratified_fold_indices(
    y: Array, rng: np.random.RandomState, n_folds: int = N_FOLDS, groups: IndexArray | None = None
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the indices of training and held-out samples of folds, stratified by class.

    With ``groups``, numbered from 0 in the order of their first samples, all samples of a group are
    in the same fold. Groups of equal size get the same folds as single samples.
    """
    if len(y) < 2:
        raise InputError("Cross-validation needs at least 2 samples. Pass more samples.")
    if groups is None:
        n_folds = min(n_folds, len(y))
        fold_of_sample = np.empty(len(y), dtype=np.intp)
        fold_of_sample[shuffled_by_class(y, rng)] = np.arange(len(y)) % n_folds
    else:
        n_folds = min(n_folds, int(groups.max()) + 1)
        fold_of_sample = _fold_of_group(y, groups, n_folds, rng)[groups]
    for fold in range(n_folds):
        yield np.flatnonzero(fold_of_sample != fold), np.flatnonzero(fold_of_sample == fold)


def _fold_of_group(
    y: Array, groups: IndexArray, n_folds: int, rng: np.random.RandomState
) -> IndexArray:
    """Return the fold of each group: the fold with the fewest samples of the group's class."""
    sizes = np.bincount(groups)
    if y.dtype.kind == "f":  # regression: groups are ordered by their mean, as samples by y
        target = np.bincount(groups, weights=y) / sizes
        strata = np.zeros(len(sizes), dtype=np.intp)
    else:
        codes = stratification_keys(y)
        counts = np.zeros((len(sizes), codes.max() + 1), dtype=np.intp)
        np.add.at(counts, (groups, codes), 1)
        target = strata = counts.argmax(axis=1)
    order = shuffled_by_class(target, rng)
    # Larger groups of a class first, so that smaller groups can even out the sizes of the folds.
    order = order[np.lexsort([np.arange(len(order)), -sizes[order], strata[order]])]
    in_class = np.zeros((strata.max() + 1, n_folds), dtype=np.intp)
    in_fold = np.zeros(n_folds, dtype=np.intp)
    folds = np.empty(len(sizes), dtype=np.intp)
    for group in order:
        fold = np.lexsort([in_fold, in_class[strata[group]]])[0]  # ties go to the lowest fold
        folds[group] = fold
        in_class[strata[group], fold] += sizes[group]
        in_fold[fold] += sizes[group]
    return folds


def shuffled_by_class(y: Array, rng: np.random.RandomState) -> IndexArray:
    """Return the sample indices ordered by class, in random order within each class."""
    shuffled = rng.permutation(len(y))
    return shuffled[np.argsort(stratification_keys(y)[shuffled], kind="stable")]


def stratification_keys(y: Array) -> Array:
    """Return the keys by which samples are sorted to stratify them.

    Classes are numbered in the order in which they first occur, as in scikit-learn's
    ``StratifiedKFold``, so that their names do not matter. Values of a regression are unchanged.
    """
    if y.dtype.kind == "f":
        return y
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes.ravel()]


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
