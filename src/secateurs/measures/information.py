"""Entropies and measures computed from them, in bits, from relative frequencies."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from secateurs.labels import as_labels
from secateurs.measures.pair_measure import (
    Counts,
    Floats,
    PairMeasure,
    as_complete_votes,
    safe_divide,
)
from secateurs.outputs import bit_kernels
from secateurs.outputs.label_coding import encode_labels, find_classes
from secateurs.outputs.votes import Votes

_MOST_LOOKED_UP = 1 << 20  # samples up to which c log c is kept in a list


def entropy(labels: ArrayLike) -> float:
    """Compute the entropy of a column of labels, in bits.

    Examples
    --------
    >>> from secateurs.measures import entropy
    >>> entropy(["a", "b", "a", "b"])
    1.0
    """
    column = as_labels(labels, "labels").reshape(-1, 1)
    counts = np.bincount(encode_labels(column, find_classes(column)).ravel())
    return float(entropy_from_counts(counts))


def entropy_from_counts(counts: Counts, axis: int | tuple[int, int] = -1) -> Floats:
    """Compute the entropy in bits from counts along the axis: log N − (1/N) Σ c log c.

    It is exactly 0 where one label has all samples, so that constants can be recognised by it.
    """
    n_samples = np.maximum(counts.sum(axis=axis), 1)  # members may have no sample in common
    return _entropy_from_sums(n_samples, _count_times_log(counts).sum(axis=axis))


def joint_entropy_from_counts(labels: Counts) -> Floats:
    """Compute the entropy in bits of the label pairs of each table."""
    return entropy_from_counts(labels, axis=(-2, -1))


def joint_entropies(tables: Counts, n_samples: int) -> Floats:
    """Compute the entropy in bits of the label pairs of each table (rows, columns, …, …).

    All tables have the same number of samples, so that c log c can be looked up.
    """
    if n_samples > _MOST_LOOKED_UP:
        return joint_entropy_from_counts(tables)
    sums = np.zeros(tables.shape[:2])
    bit_kernels.sum_of_cells(tables, _count_times_log_table(n_samples), sums)
    return _entropy_from_sums(n_samples, sums)


def _entropy_from_sums(n_samples: Any, weighted: Floats) -> Floats:
    whole = np.log2(n_samples)
    return np.where(weighted == n_samples * whole, 0.0, whole - weighted / n_samples)


def _count_times_log(counts: Counts) -> Floats:
    logarithms: Any = np.log2(np.maximum(counts, 1))
    return counts * logarithms


@lru_cache(maxsize=4)
def _count_times_log_table(most: int) -> Floats:
    return _count_times_log(np.arange(most + 1))


def normalised_variation(first: Floats, second: Floats, joint: Floats) -> Floats:
    """Compute the normalised variation of information: 1 − I/H(X,Y); 0 for two constants."""
    return np.clip(2 - safe_divide(first + second, joint, 2.0), 0.0, 1.0)


@PairMeasure
def mutual_information(labels: Counts) -> Floats:
    """Mutual information of two columns, in bits: H(X) + H(Y) − H(X,Y).

    See Also
    --------
    nmi : Normalised to [0, 1].
    nvi : A distance: what the two columns do not share.

    Examples
    --------
    >>> from secateurs.measures import mutual_information
    >>> mutual_information([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    first, second = (
        entropy_from_counts(labels.sum(axis=-1)),
        entropy_from_counts(labels.sum(axis=-2)),
    )
    return np.maximum(first + second - joint_entropy_from_counts(labels), 0.0)


@PairMeasure
def nmi(labels: Counts) -> Floats:
    """Normalised mutual information: I(X;Y) / √(H(X) H(Y)); 0 with a constant.

    With the true labels it is the paper's relevance of a member. It measures how much a member
    tells about the truth, not how often it is right: a two-class member that is always wrong has 1.

    See Also
    --------
    nvi : The distance that goes with it, normalised by the joint entropy.
    mutual_information : Not normalised.

    Examples
    --------
    >>> from secateurs.measures import nmi
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    first, second = (
        entropy_from_counts(labels.sum(axis=-1)),
        entropy_from_counts(labels.sum(axis=-2)),
    )
    shared = first + second - joint_entropy_from_counts(labels)
    return np.clip(safe_divide(shared, np.sqrt(first * second), 0.0), 0.0, 1.0)


@PairMeasure
def nvi(labels: Counts) -> Floats:
    """Normalised variation of information: 1 − I(X;Y) / H(X,Y); more is more diverse.

    A distance: 0 when each column determines the other, 1 when they are independent; 0 for two
    constants.

    See Also
    --------
    nmi : The similarity: normalised mutual information.
    disagreement : Fraction of samples with different labels.

    Examples
    --------
    >>> from secateurs.measures import nvi
    >>> nvi([0, 0, 1, 1], [0, 1, 0, 1])
    1.0
    """
    first, second = (
        entropy_from_counts(labels.sum(axis=-1)),
        entropy_from_counts(labels.sum(axis=-2)),
    )
    return normalised_variation(first, second, joint_entropy_from_counts(labels))


class MultiInformation(NamedTuple):
    """Information of all members together about the true labels, decomposed, in bits.

    total = relevancy − redundancy + conditional_redundancy.
    """

    total: float
    relevancy: float
    redundancy: float
    conditional_redundancy: float

    @property
    def diversity(self) -> float:
        """The part beyond the members' own relevancy."""
        return self.conditional_redundancy - self.redundancy


def multi_information(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> MultiInformation:
    """Decompose what all members together tell about the true labels [1]_ [2]_.

    Estimated from relative frequencies, the joint entropy cannot exceed log₂ of the number of
    samples, so with more than about log(samples) / log(classes) members the redundancies say
    more about the sample than about the members.

    See Also
    --------
    pairwise_interaction : Diversity of second order, which small samples do not bias this way.

    References
    ----------
    .. [1] Zhou and Li. "Multi-information ensemble diversity". MCS 2010.
    .. [2] Brown. "An information theoretic perspective on multiple classifier systems". MCS 2009.

    Examples
    --------
    >>> from secateurs.measures import multi_information
    >>> parts = multi_information([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> parts.total, parts.relevancy, parts.diversity
    (1.0, 0.0, 1.0)
    """
    voted = as_complete_votes(votes, y)
    truth = voted.truth
    codes = voted.packed.decode().T
    alone = entropy_from_counts(voted.sizes).sum()
    together = _row_entropy(codes)
    counts = np.bincount(truth)
    within_alone = within_together = 0.0
    for label in np.flatnonzero(counts):
        rows = codes[truth == label]
        fraction = len(rows) / len(codes)
        within_alone += fraction * entropy_from_counts(Votes.encode(rows).sizes).sum()
        within_together += fraction * _row_entropy(rows)
    relevancy, redundancy = alone - within_alone, alone - together
    parts = (together - within_together, relevancy, redundancy, within_alone - within_together)
    return MultiInformation(*map(float, parts))


def pairwise_interaction(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute the diversity of second order: Σ over pairs of I(Xᵢ;Xⱼ|Y) − I(Xᵢ;Xⱼ), in bits [1]_.

    It needs counts of pairs only.

    See Also
    --------
    multi_information : Diversity of all orders.

    References
    ----------
    .. [1] Brown. "An information theoretic perspective on multiple classifier systems". MCS 2009.

    Examples
    --------
    >>> from secateurs.measures import pairwise_interaction
    >>> pairwise_interaction([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    1.0
    """
    voted = as_complete_votes(votes, y)
    n_pairs = voted.n_members * (voted.n_members - 1) / 2
    if n_pairs == 0:
        return 0.0
    codes = voted.packed.decode().T
    given = 0.0
    for label in np.unique(voted.truth):
        rows = codes[voted.truth == label]
        given += len(rows) / len(codes) * mutual_information.mean(Votes.encode(rows))
    return n_pairs * (given - mutual_information.mean(voted))


def _row_entropy(codes: Counts) -> float:
    _, counts = np.unique(codes, axis=0, return_counts=True)
    return float(entropy_from_counts(counts))
