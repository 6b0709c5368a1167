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

from secateurs.measures.pair_measure import Counts, Floats, safe_divide
from secateurs.measures.pairwise_measures import n_agreed
from secateurs.outputs import prediction_kernels
from secateurs.outputs.fixed_point import (
    NUMBER_BITS,
    PROBABILITY_BITS,
    fixed_point_exponent,
    missing_cell_value,
)
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import BaseVotes, Votes
from secateurs.typing import Array

_SUM_BITS = 62  # of a sum over all samples


class ErrorProducts(NamedTuple):
    """Sums of products of two members' errors, and the number of samples that both have."""

    sums: Counts
    counts: Counts

    def mean_products(self) -> Floats:
        """Return the mean products; 0 where two members have no sample in common."""
        return safe_divide(self.sums, self.counts, 0.0)

    def combined_with(self, more: ErrorProducts) -> ErrorProducts:
        """Return the sums over these samples and others."""
        return ErrorProducts(self.sums + more.sums, self.counts + more.counts)

    @classmethod
    def concatenate_blocks(cls, parts: Sequence[ErrorProducts]) -> ErrorProducts:
        """Return the sums with several blocks of members, side by side."""
        return cls(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))


class MemberErrors(ABC):
    """Errors of members in steps of a power of two.

    Attributes
    ----------
    binary_places : int
        A step is ``2.0**-binary_places``.
    """

    binary_places: int
    n_members: int

    @property
    @abstractmethod
    def product_exponent(self) -> int:
        """Mean products are in units of ``2.0**product_exponent``."""

    @abstractmethod
    def self_products(self) -> ErrorProducts:
        """Return the products of each member's errors with themselves."""

    @abstractmethod
    def pair_products(self, others: Any, block: slice = slice(None)) -> ErrorProducts:
        """Return the products of members held elsewhere with a block of those here."""

    @abstractmethod
    def member_predictions(self, members: Any) -> Any:
        """Return what some members predict."""


class VoteErrors(MemberErrors):
    """Errors of labels: of the one-hot label, less the true one."""

    binary_places = 0
    product_exponent = 0

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self.n_members = votes.n_members

    def self_products(self) -> ErrorProducts:
        votes = self._votes
        return ErrorProducts(2 * (votes.n_voted - votes.n_right), votes.n_voted)

    def pair_products(self, others: Votes, block: slice = slice(None)) -> ErrorProducts:
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
                parts.append(ErrorProducts(agreed - both[..., 0, 0] + both[..., 1, 1], counts))
        return ErrorProducts.concatenate_blocks(parts)

    def member_predictions(self, members: Any) -> Votes:
        return self._votes.take(members)


class PredictionErrors(MemberErrors):
    """Errors of probabilities or numbers.

    Parameters
    ----------
    scores : Predictions
        Scores with the truth.
    places : int
        Binary places of the errors, as of `exact_binary_places`.
    """

    def __init__(self, scores: Predictions, places: int) -> None:
        self._scores, self.binary_places = scores, places
        self._cells = np.ascontiguousarray(scores.cells)  # as they are made, so without a copy
        self.n_members = scores.n_members
        self._shift = _cell_shift(scores, places)
        self._truth = fixed_point_truth(scores, places)
        self._missing_code = missing_cell_value(self._cells)

    @property
    def product_exponent(self) -> int:
        """Mean products are in units of ``2.0**product_exponent``."""
        return product_exponent(self._scores, self.binary_places)

    def self_products(self) -> ErrorProducts:
        sums = np.zeros(self.n_members, dtype=np.int64)
        prediction_kernels.error_squares(*self._kernel_arguments(slice(None)), sums)
        return ErrorProducts(sums, self._scores.n_voted)

    def pair_products(self, others: Predictions, block: slice = slice(None)) -> ErrorProducts:
        n_members = len(range(*block.indices(self.n_members)))
        sums = np.zeros((others.n_members, n_members), dtype=np.int64)
        for member in range(others.n_members):
            self._add_products(others.cells[member], block, sums[member])
        if not self._scores.has_missing:
            return ErrorProducts(sums, np.full(sums.shape, self._scores.n_samples))
        common = others.present.joint_counts(self._scores.present.select_members(block))
        return ErrorProducts(sums, common[..., 0, 0])

    def _add_products(self, one: Array, block: slice, sums: Counts) -> None:
        """Add the products of one member's errors with those of a block."""
        errors = (one >> self._shift) - self._truth
        if self._scores.is_numbers or self._scores.has_missing:
            errors[one == self._missing_code] = 0
            prediction_kernels.error_dots(errors, *self._kernel_arguments(block), sums)
        else:
            prediction_kernels.add_dot_products(errors, self._cells[block], sums)
            sums -= int(np.vdot(errors.astype(np.int64), self._truth.astype(np.int64)))

    def _kernel_arguments(self, block: slice) -> tuple[Array, Array, int, int]:
        """Return what kernels need to compute the errors of a block of members."""
        return self._cells[block], self._truth, self._shift, self._missing_code

    def member_predictions(self, members: Any) -> Predictions:
        return self._scores.take(members)


def member_errors(outputs: Votes | Predictions, places: int | None = None) -> MemberErrors:
    """Return the errors of votes or scores, with their own number of places or the one given."""
    if isinstance(outputs, Votes):
        return VoteErrors(outputs)
    if places is None:
        finest = finest_binary_places(outputs)
        places = exact_binary_places(outputs, finest, largest_error(outputs, finest))
    return PredictionErrors(outputs, places)


def finest_binary_places(outputs: Any) -> int:
    """Return the binary places that predictions and truth have, in memory or in a store."""
    if isinstance(outputs, BaseVotes):
        return 0
    if not outputs.is_numbers:
        return PROBABILITY_BITS
    return min(outputs.exponent, fixed_point_exponent(float(np.abs(outputs.truth).max())))


def largest_error(outputs: Votes | Predictions, places: int) -> int:
    """Return the largest absolute error, in steps."""
    if isinstance(outputs, Votes) or not outputs.is_numbers:
        return 1 << places
    cells, missing = outputs.cells, missing_cell_value(outputs.cells)
    shift, truth = _cell_shift(outputs, places), fixed_point_truth(outputs, places)
    return int(prediction_kernels.largest_error(cells, truth, shift, missing))


def exact_binary_places(outputs: Any, finest: int, largest: int) -> int:
    """Return as many of the finest places as let sums over all samples fit into 62 bits.

    It follows from the largest error of all members and the number of all samples, and so is the
    same however they are cut into batches or shards.
    """
    if isinstance(outputs, BaseVotes) or not outputs.is_numbers:
        return finest
    n_bits = (_SUM_BITS - (outputs.n_samples - 1).bit_length()) // 2
    return finest - max(0, largest.bit_length() - n_bits)


def product_exponent(outputs: Any, places: int) -> int:
    """Return the e for which mean products of errors are in units of ``2.0**e``."""
    one_of_two = not isinstance(outputs, BaseVotes) and outputs.n_classes == 2
    return -2 * places + one_of_two  # the other class has the same error, negative


def _cell_shift(scores: Predictions, places: int) -> int:
    return min(scores.exponent - places, NUMBER_BITS + 1)


def fixed_point_truth(scores: Predictions, places: int) -> Array:
    """Return the truth as cells (components, samples): one-hot labels, or numbers rounded down."""
    truth = scores.truth
    if scores.is_numbers:
        return np.floor(np.ldexp(truth, places)).astype(np.int32)[None, :]
    labels = np.arange(scores.n_classes)[1 if scores.n_classes == 2 else 0 :]
    return (truth == labels[:, None]).astype(scores.cells.dtype) << PROBABILITY_BITS
