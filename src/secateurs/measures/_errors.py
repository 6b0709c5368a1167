"""Errors of members, and sums of products of two members' errors: integers, which add up exactly.

The error of a member on a sample is what it predicts less the truth: a one-hot label, a vector of
probabilities or a number. The mean squared error of an average of members is a mean of such
products, member by member.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from secateurs._labels import Array
from secateurs.measures._pair import Counts, Floats, ratio
from secateurs.measures._pairwise import n_agreed
from secateurs.outputs import _score_kernels
from secateurs.outputs._fixed_point import (
    NUMBER_BITS,
    PROBABILITY_BITS,
    exponent_for,
    missing_of,
)
from secateurs.outputs._scores import Scores
from secateurs.outputs._votes import Votes, VoteTable

_SUM_BITS = 62  # of a sum over all samples


class PairSums(NamedTuple):
    """Sums of products of two members' errors, and the number of samples that both have."""

    sums: Counts
    counts: Counts

    def means(self) -> Floats:
        """Return the mean products; 0 where two members have no sample in common."""
        return ratio(self.sums, self.counts, 0.0)

    def plus(self, more: PairSums) -> PairSums:
        """Return the sums over these samples and others."""
        return PairSums(self.sums + more.sums, self.counts + more.counts)

    @classmethod
    def beside(cls, parts: Sequence[PairSums]) -> PairSums:
        """Return the sums with several blocks of members, side by side."""
        return cls(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))


class Errors(ABC):
    """Errors of members in steps of a power of two.

    Attributes
    ----------
    places : int
        A step is ``2.0**-places``.
    """

    places: int
    n_members: int

    @property
    @abstractmethod
    def exponent(self) -> int:
        """Mean products are in units of ``2.0**exponent``."""

    @abstractmethod
    def own(self) -> PairSums:
        """Return the products of each member's errors with themselves."""

    @abstractmethod
    def pairs(self, others: Any, block: slice = slice(None)) -> PairSums:
        """Return the products of members held elsewhere with a block of those here."""

    @abstractmethod
    def take(self, members: Any) -> Any:
        """Return what some members predict."""


class VoteErrors(Errors):
    """Errors of labels: of the one-hot label, less the true one."""

    places = 0
    exponent = 0

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self.n_members = votes.n_members

    def own(self) -> PairSums:
        votes = self._votes
        return PairSums(2 * (votes.n_voted - votes.n_right), votes.n_voted)

    def pairs(self, others: Votes, block: slice = slice(None)) -> PairSums:
        votes, oracle = self._votes, replace(others, y=self._votes.truth).oracle
        first, last, _ = block.indices(self.n_members)
        parts = []
        for part in votes.member_blocks(first, others.n_members):
            if part.start < last:
                small = slice(part.start, min(part.stop, last))
                tables = votes.joint_counts_of(others, small)
                agreed, counts = n_agreed(tables), tables.sum(axis=(-2, -1))
                both = votes.oracle.joint_counts_of(oracle, small)
                # A product is 1 where both are wrong, 2 with the same label, and otherwise 0.
                parts.append(PairSums(agreed - both[..., 0, 0] + both[..., 1, 1], counts))
        return PairSums.beside(parts)

    def take(self, members: Any) -> Votes:
        return self._votes.take(members)


class ScoreErrors(Errors):
    """Errors of probabilities or numbers.

    Parameters
    ----------
    scores : Scores
        Scores with the truth.
    places : int
        Binary places of the errors, as of `places_of`.
    """

    def __init__(self, scores: Scores, places: int) -> None:
        self._scores, self.places = scores, places
        self._cells = np.ascontiguousarray(scores.cells)  # as they are made, so without a copy
        self.n_members = scores.n_members
        self._shift = _shift_of(scores, places)
        self._truth = fixed_truth(scores, places)
        self._missing = missing_of(self._cells)

    @property
    def exponent(self) -> int:
        """Mean products are in units of ``2.0**exponent``."""
        return exponent_of(self._scores, self.places)

    def own(self) -> PairSums:
        sums = np.zeros(self.n_members, dtype=np.int64)
        _score_kernels.error_squares(*self._held(slice(None)), sums)
        return PairSums(sums, self._scores.n_voted)

    def pairs(self, others: Scores, block: slice = slice(None)) -> PairSums:
        n_members = len(range(*block.indices(self.n_members)))
        sums = np.zeros((others.n_members, n_members), dtype=np.int64)
        for member in range(others.n_members):
            self._add(others.cells[member], block, sums[member])
        if not self._scores.has_missing:
            return PairSums(sums, np.full(sums.shape, self._scores.n_samples))
        common = others.present.joint_counts(self._scores.present.take(block))
        return PairSums(sums, common[..., 0, 0])

    def _add(self, one: Array, block: slice, sums: Counts) -> None:
        """Add the products of one member's errors with those of a block."""
        errors = (one >> self._shift) - self._truth
        if self._scores.is_numbers or self._scores.has_missing:
            errors[one == self._missing] = 0
            _score_kernels.error_dots(errors, *self._held(block), sums)
        else:
            _score_kernels.dots(errors, self._cells[block], sums)
            sums -= int(np.vdot(errors.astype(np.int64), self._truth.astype(np.int64)))

    def _held(self, block: slice) -> tuple[Array, Array, int, int]:
        """Return what kernels need to compute the errors of a block of members."""
        return self._cells[block], self._truth, self._shift, self._missing

    def take(self, members: Any) -> Scores:
        return self._scores.take(members)


def errors_of(outputs: Votes | Scores, places: int | None = None) -> Errors:
    """Return the errors of votes or scores, with their own number of places or the one given."""
    if isinstance(outputs, Votes):
        return VoteErrors(outputs)
    if places is None:
        finest = finest_places(outputs)
        places = places_of(outputs, finest, largest_error(outputs, finest))
    return ScoreErrors(outputs, places)


def finest_places(outputs: Any) -> int:
    """Return the binary places that predictions and truth have, in memory or in a store."""
    if isinstance(outputs, VoteTable):
        return 0
    if not outputs.is_numbers:
        return PROBABILITY_BITS
    return min(outputs.exponent, exponent_for(float(np.abs(outputs.truth).max())))


def largest_error(outputs: Votes | Scores, places: int) -> int:
    """Return the largest absolute error, in steps."""
    if isinstance(outputs, Votes) or not outputs.is_numbers:
        return 1 << places
    cells, missing = outputs.cells, missing_of(outputs.cells)
    shift, truth = _shift_of(outputs, places), fixed_truth(outputs, places)
    return int(_score_kernels.largest_error(cells, truth, shift, missing))


def places_of(outputs: Any, finest: int, largest: int) -> int:
    """Return as many of the finest places as let sums over all samples fit into 62 bits.

    It follows from the largest error of all members and the number of all samples, and so is the
    same however they are cut into batches or shards.
    """
    if isinstance(outputs, VoteTable) or not outputs.is_numbers:
        return finest
    n_bits = (_SUM_BITS - (outputs.n_samples - 1).bit_length()) // 2
    return finest - max(0, largest.bit_length() - n_bits)


def exponent_of(outputs: Any, places: int) -> int:
    """Return the e for which mean products of errors are in units of ``2.0**e``."""
    one_of_two = not isinstance(outputs, VoteTable) and outputs.n_classes == 2
    return -2 * places + one_of_two  # the other class has the same error, negative


def _shift_of(scores: Scores, places: int) -> int:
    return min(scores.exponent - places, NUMBER_BITS + 1)


def fixed_truth(scores: Scores, places: int) -> Array:
    """Return the truth as cells (components, samples): one-hot labels, or numbers rounded down."""
    truth = scores.truth
    if scores.is_numbers:
        return np.floor(np.ldexp(truth, places)).astype(np.int32)[None, :]
    labels = np.arange(scores.n_classes)[1 if scores.n_classes == 2 else 0 :]
    return (truth == labels[:, None]).astype(scores.cells.dtype) << PROBABILITY_BITS
