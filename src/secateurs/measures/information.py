"""Entropies of votes in bits, from relative frequencies, and measures computed from them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

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
from secateurs.outputs import code_kernels
from secateurs.outputs.base_votes import MOST_TABLE_CLASSES
from secateurs.outputs.label_coding import encode_labels, find_classes
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

# Samples up to which c log c is looked up in a table of at most 8 MB. This takes a tenth to a
# seventh of NumPy's time (docs/decisions/0014-counts-and-memory.md).
MOST_LOOKED_UP = 1 << 20
_MOST_TRUTH_CELLS = 1 << 24  # counts of votes by true label at once: 128 MB, and logarithms of them


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
    """Compute the entropy in bits of counts along an axis; exactly 0 for a constant."""
    # log N − (1/N) Σ c log c, with N ≥ 1 because members may have no sample in common.
    n_samples = np.maximum(counts.sum(axis=axis), 1)
    return _entropy_from_sums(n_samples, _count_times_log(counts).sum(axis=axis))


def joint_entropy_from_counts(labels: Counts) -> Floats:
    """Compute the joint entropy in bits of each table of label pairs."""
    return entropy_from_counts(labels, axis=(-2, -1))


def _marginal_entropies(labels: Counts) -> tuple[Floats, Floats]:
    return entropy_from_counts(labels.sum(axis=-1)), entropy_from_counts(labels.sum(axis=-2))


class PairEntropies(NamedTuple):
    """Entropies in bits of pairs of columns over the samples that both have, and counts."""

    joint: Floats
    first: Floats
    second: Floats
    n_agreed: Counts
    n_common: Counts

    @classmethod
    def from_codes(cls, codes: Array, others: Array, n_classes: int) -> PairEntropies:
        """Compute from codes (members, samples), without tables of labels × labels."""
        shape = len(codes), len(others)
        sums, agreed = np.empty((*shape, 3)), np.empty(shape, dtype=np.int64)
        common = np.empty_like(agreed)
        orders = np.argsort(codes, axis=1, kind="stable")
        values = count_times_log_table(codes.shape[1])
        code_kernels.sum_of_pair_cells(
            codes, orders, others, n_classes, values, sums, agreed, common
        )
        joint, first, second = (
            _entropy_from_sums(np.maximum(common, 1), sums[..., i]) for i in range(3)
        )
        return cls(joint, first, second, agreed, common)


def relevance_to_truth(votes: Votes) -> Floats:
    """Compute the normalised mutual information of each member with the true labels."""
    if votes.n_classes > MOST_TABLE_CLASSES:
        pairs = PairEntropies.from_codes(votes.packed.decode(), votes.truth[None], votes.n_labels)
        joint, first, second = pairs.joint[:, 0], pairs.first[:, 0], pairs.second[:, 0]
        return _normalised_information(first, second, joint)
    # NumPy sums a single table in another order, so that no block of several has one member.
    step = max(2, _MOST_TRUTH_CELLS // max(1, votes.n_classes**2))
    if votes.n_members <= step:
        return nmi.of_counts(labels=votes.truth_counts)
    starts = range(0, votes.n_members - 1, step)
    stops = [*starts[1:], votes.n_members]
    blocks = [votes.take(range(*limits)) for limits in zip(starts, stops, strict=True)]
    return np.concatenate([nmi.of_counts(labels=block.truth_counts) for block in blocks])


def _normalised_information(first: Floats, second: Floats, joint: Floats) -> Floats:
    """Return I(X;Y) / √(H(X) H(Y)); 0 if a column is constant."""
    shared = first + second - joint
    return np.clip(safe_divide(shared, np.sqrt(first * second), 0.0), 0.0, 1.0)


def _entropy_from_sums(n_samples: int | Counts, sums: Floats) -> Floats:
    """Return log N − sums / N; exactly 0 where one cell has all samples."""
    log_n_samples = np.log2(n_samples)
    is_constant = sums == n_samples * log_n_samples
    return np.where(is_constant, 0.0, log_n_samples - sums / n_samples)


def _count_times_log(counts: Counts) -> Floats:
    logarithms: Floats = np.log2(np.maximum(counts, 1))
    return counts * logarithms


@lru_cache(maxsize=4)
def count_times_log_table(most: int) -> Floats:
    """Return c log₂ c of all counts up to ``most``."""
    return _count_times_log(np.arange(most + 1))


def normalised_variation(first: Floats, second: Floats, joint: Floats) -> Floats:
    """Compute the normalised variation of information, 1 − I/H(X,Y), from entropies."""
    # 1 − (H(X) + H(Y) − H(X,Y)) / H(X,Y); two constants are 0 apart.
    return np.clip(2 - safe_divide(first + second, joint, 2.0), 0.0, 1.0)


@PairMeasure
def mutual_information(labels: Counts) -> Floats:
    """Mutual information of two columns, in bits: H(X) + H(Y) − H(X,Y).

    See Also
    --------
    nmi : Normalised to [0, 1].
    nvi : The distance that corresponds to it.

    Examples
    --------
    >>> from secateurs.measures import mutual_information
    >>> mutual_information([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    first, second = _marginal_entropies(labels)
    return np.maximum(first + second - joint_entropy_from_counts(labels), 0.0)


@PairMeasure
def nmi(labels: Counts) -> Floats:
    """Normalised mutual information: I(X;Y) / √(H(X) H(Y)); 0 if a column is constant.

    Computed with the true labels, it is the paper's relevance of a member. It measures how much
    information the votes contain about the true labels, not how often they are correct: a member
    that is always wrong on two classes has relevance 1.

    See Also
    --------
    nvi : The corresponding distance, normalised by the joint entropy.
    mutual_information : The same without normalisation.

    Examples
    --------
    >>> from secateurs.measures import nmi
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    first, second = _marginal_entropies(labels)
    return _normalised_information(first, second, joint_entropy_from_counts(labels))


@PairMeasure
def nvi(labels: Counts) -> Floats:
    """Normalised variation of information: 1 − I(X;Y) / H(X,Y).

    A distance: 0 if each column determines the other, or if both are constant, and 1 if they are
    independent. Larger values mean more diversity.

    See Also
    --------
    nmi : The corresponding similarity, normalised mutual information.
    disagreement : Fraction of samples with different labels.

    Examples
    --------
    >>> from secateurs.measures import nvi
    >>> nvi([0, 0, 1, 1], [0, 1, 0, 1])
    1.0
    """
    first, second = _marginal_entropies(labels)
    return normalised_variation(first, second, joint_entropy_from_counts(labels))


class MultiInformation(NamedTuple):
    """Decomposition of the information that all members contain about the true labels, in bits.

    total = relevancy − redundancy + conditional_redundancy.
    """

    total: float
    relevancy: float
    redundancy: float
    conditional_redundancy: float

    @property
    def diversity(self) -> float:
        """The information beyond the relevancy of the single members."""
        return self.conditional_redundancy - self.redundancy


def multi_information(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> MultiInformation:
    """Decompose the information that all members contain about the true labels [1]_ [2]_.

    Entropies are estimated from relative frequencies, so the joint entropy cannot exceed log₂ of
    the number of samples. With more than about log(samples) / log(classes) members, the
    redundancies therefore depend more on the number of samples than on the members.

    See Also
    --------
    pairwise_interaction : Diversity of second order, which does not have this bias.

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
    true_codes = voted.truth
    codes = voted.packed.decode().T
    single = entropy_from_counts(voted.sizes).sum()
    joint = _row_entropy(codes)
    single_by_class = joint_by_class = 0.0  # conditional on the true label
    for label in np.flatnonzero(np.bincount(true_codes)):
        rows = codes[true_codes == label]
        fraction = len(rows) / len(codes)
        single_by_class += fraction * entropy_from_counts(Votes.encode(rows).sizes).sum()
        joint_by_class += fraction * _row_entropy(rows)
    relevancy, redundancy = single - single_by_class, single - joint
    terms = (joint - joint_by_class, relevancy, redundancy, single_by_class - joint_by_class)
    return MultiInformation(*map(float, terms))


def pairwise_interaction(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute the diversity of second order: Σ over pairs of I(Xᵢ;Xⱼ|Y) − I(Xᵢ;Xⱼ), in bits [1]_.

    It is computed from counts of pairs only.

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
    conditional = 0.0
    for label in np.unique(voted.truth):
        rows = codes[voted.truth == label]
        conditional += len(rows) / len(codes) * mutual_information.mean(Votes.encode(rows))
    return n_pairs * (conditional - mutual_information.mean(voted))


def _row_entropy(codes: Counts) -> float:
    _, counts = np.unique(codes, axis=0, return_counts=True)
    return float(entropy_from_counts(counts))
