"""Errors of members, and sums of products of two members' errors, as exact integers.

The error of a member on a sample is its prediction (a one-hot label, a vector of probabilities or a
value) minus the true one. The mean squared error of an average of members is the mean of such
products over all pairs of its members. Integer sums do not depend on the order of the samples, so
batches and shards give the same result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from secateurs.measures.pair_measure import Counts, Floats, safe_divide
from secateurs.outputs import prediction_kernels
from secateurs.outputs.base_votes import BaseVotes
from secateurs.outputs.fixed_point import (
    NUMBER_BITS,
    PROBABILITY_BITS,
    fixed_point_exponent,
    missing_cell_value,
)
from secateurs.outputs.label_coding import MOST_BY_NUMPY
from secateurs.outputs.missing_answers import counts_as_wrong
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import EncodedPredictions
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, IndexArray, MemberIndices

_ROWS_AT_ONCE = 16  # members whose errors are multiplied with others in one pass over these
_SUM_BITS = 62  # limit of a sum over all samples, so that 64-bit integers never overflow

OutputsT = TypeVar("OutputsT", Votes, Predictions)


class ErrorProducts(NamedTuple):
    """Sums of products of two members' errors, and the numbers of samples that both predict."""

    sums: Counts
    counts: Counts

    def mean_products(self) -> Floats:
        """Return the mean products; 0 if two members have no sample in common."""
        return safe_divide(self.sums, self.counts, 0.0)

    def combined_with(self, other: ErrorProducts) -> ErrorProducts:
        """Return the sums over the samples of both objects."""
        return ErrorProducts(self.sums + other.sums, self.counts + other.counts)

    @classmethod
    def concatenate_blocks(cls, blocks: Sequence[ErrorProducts]) -> ErrorProducts:
        """Return the sums of several blocks of members, joined along the last axis."""
        return cls(*(np.concatenate(arrays, axis=1) for arrays in zip(*blocks, strict=True)))


class MemberErrors(ABC, Generic[OutputsT]):
    """Errors of members as integers, in steps of a power of two."""

    binary_places: int  # a step is 2.0**-binary_places

    def __init__(self, outputs: OutputsT) -> None:
        self._outputs: OutputsT = outputs
        self.n_members = outputs.n_members

    @property
    @abstractmethod
    def product_exponent(self) -> int:
        """Exponent of the unit of mean products, ``2.0**product_exponent``."""

    @abstractmethod
    def self_products(self) -> ErrorProducts:
        """Return the sums of each member's squared errors."""

    @abstractmethod
    def pair_products(self, others: OutputsT, block: slice = slice(None)) -> ErrorProducts:
        """Return the products of other members' errors with those of a block of these members."""

    def member_predictions(self, members: MemberIndices) -> OutputsT:
        """Return the predictions of some members."""
        return self._outputs.take(members)


class VoteErrors(MemberErrors[Votes]):
    """Errors of labels: the predicted minus the true one-hot label."""

    binary_places = 0
    product_exponent = 0

    def self_products(self) -> ErrorProducts:
        """Return the sums of each member's squared errors."""
        votes = self._outputs
        return ErrorProducts(2 * (votes.n_voted - votes.n_right), votes.n_voted)

    def pair_products(self, others: Votes, block: slice = slice(None)) -> ErrorProducts:
        """Return the products of other members' errors with those of a block of these members."""
        votes, oracle = self._outputs, replace(others, y=self._outputs.truth).oracle
        first, last, _ = block.indices(self.n_members)
        blocks = []
        for members in votes.oracle.member_blocks(first, others.n_members):
            if members.start < last:
                columns = slice(members.start, min(members.stop, last))
                pairs = votes.agreement_counts(others, columns)
                oracle_tables = votes.oracle.joint_counts_of(oracle, columns)
                both_right, both_wrong = oracle_tables[..., 0, 0], oracle_tables[..., 1, 1]
                # A product is 1 if both are wrong, 2 if with the same label, and otherwise 0.
                products = pairs["n_agreed"] - both_right + both_wrong
                blocks.append(ErrorProducts(products, pairs["n_common"]))
        return ErrorProducts.concatenate_blocks(blocks)


class PredictionErrors(MemberErrors[Predictions]):
    """Errors of probabilities or values, with the places that `exact_binary_places` returns."""

    def __init__(self, predictions: Predictions, places: int) -> None:
        predictions = predictions.completed
        super().__init__(predictions)
        self.binary_places = places
        self._cells = np.ascontiguousarray(predictions.cells)  # usually contiguous: no copy
        self._shift = _cell_shift(predictions, places)
        self._truth = fixed_point_truth(predictions, places)
        self._missing_code = missing_cell_value(self._cells)

    @property
    def product_exponent(self) -> int:
        """Exponent of the unit of mean products, ``2.0**product_exponent``."""
        return product_exponent(self._outputs, self.binary_places)

    def self_products(self) -> ErrorProducts:
        """Return the sums of each member's squared errors."""
        sums = np.zeros(self.n_members, dtype=np.int64)
        if self._cells.size <= MOST_BY_NUMPY:
            for member, cells in enumerate(self._cells):
                errors = self._member_errors(cells).astype(np.int64)
                sums[member] = np.vdot(errors, errors)
        else:
            prediction_kernels.error_squares(*self._kernel_arguments(slice(None)), sums)
        return ErrorProducts(sums, self._outputs.n_voted)

    def pair_products(self, others: Predictions, block: slice = slice(None)) -> ErrorProducts:
        """Return the products of other members' errors with those of a block of these members."""
        others, n_members = others.completed, len(range(*block.indices(self.n_members)))
        sums = np.zeros((others.n_members, n_members), dtype=np.int64)
        if self.are_inner_products:
            members, starts = np.arange(self.n_members)[block], np.zeros(n_members, dtype=np.intp)
            for first in range(0, others.n_members, _ROWS_AT_ONCE):
                rows = slice(first, first + _ROWS_AT_ONCE)
                errors = self._member_errors(others.cells[rows])
                truth_products = self._truth_products(errors)
                sums[rows] = self.products(errors, truth_products, members, starts)
        else:
            for member, cells in enumerate(others.cells):
                errors = self._member_errors(cells)
                arguments = self._kernel_arguments(block)
                prediction_kernels.error_dots(errors, *arguments, sums[member])
        if not self._outputs.has_missing:
            return ErrorProducts(sums, np.full(sums.shape, self._outputs.n_samples))
        common = others.present.joint_counts(self._outputs.present.select_members(block))
        return ErrorProducts(sums, common[..., 0, 0])

    @property
    def are_inner_products(self) -> bool:
        """Whether members have an error in 16 bits for each sample."""
        return not (self._outputs.is_numbers or self._outputs.has_missing)

    @property
    def n_cells(self) -> int:
        """Number of errors of all members."""
        return self._cells.size

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self._outputs.n_samples

    def errors_of_members(self, members: Sequence[int]) -> tuple[Array, Counts]:
        """Return the errors of some members, and their products with the true values."""
        errors = self._member_errors(self._cells[members])
        return errors, self._truth_products(errors)

    def products(
        self, errors: Array, truth_products: Counts, members: IndexArray, starts: IndexArray
    ) -> Counts:
        """Return the products of rows of errors with the errors of some members.

        A member is multiplied with the rows from its start on; starts are ascending.
        """
        # Σ e·(p − t) = Σ e·p − Σ e·t: the last sum is the same for all members.
        sums = _dot_products(errors, self._cells, members, starts)
        sums -= truth_products[:, None]
        return sums

    def _truth_products(self, errors: Array) -> Counts:
        """Return the products of rows of errors with the true values."""
        return _dot_products(errors, self._truth[None], *np.zeros((2, 1), dtype=np.intp))[:, 0]

    def _member_errors(self, cells: Array) -> Array:
        """Return one member's errors, in the type of the cells; 0 where a cell is missing."""
        errors = (cells >> self._shift) - self._truth
        if self._outputs.is_numbers or self._outputs.has_missing:
            errors[cells == self._missing_code] = 0
        return errors

    def _kernel_arguments(self, block: slice) -> tuple[Array, Array, int, int]:
        """Return the kernel arguments for the errors of a block of members."""
        return self._cells[block], self._truth, self._shift, self._missing_code


def _dot_products(errors: Array, table: Array, members: IndexArray, starts: IndexArray) -> Counts:
    """Return the dot products of rows of errors with members of a table, from their starts on."""
    # The kernel multiplies four members at once: the last one is repeated.
    places = np.minimum(np.arange(-(-len(members) // 4) * 4), len(members) - 1)
    sums = np.zeros((len(errors), len(places)), dtype=np.int64)
    # Read-only and other arrays would be compiled separately.
    read_only = table.view()
    read_only.flags.writeable = False
    prediction_kernels.add_dot_products(errors, read_only, members[places], starts[places], sums)
    return sums[:, : len(members)]


def member_errors(outputs: Votes | Predictions, places: int | None = None) -> MemberErrors[Any]:
    """Return the errors of votes or predictions, by default with as many places as stay exact."""
    if isinstance(outputs, Votes):
        return VoteErrors(outputs)
    if places is None:
        finest = finest_binary_places(outputs)
        places = exact_binary_places(outputs, finest, largest_error(outputs, finest))
    return PredictionErrors(outputs, places)


def finest_binary_places(outputs: EncodedPredictions) -> int:
    """Return the number of binary places of predictions and true values, in memory or stored."""
    if isinstance(outputs, BaseVotes):
        return 0
    if not outputs.is_numbers:
        return PROBABILITY_BITS
    return min(outputs.exponent, fixed_point_exponent(float(np.abs(outputs.truth).max())))


def largest_error(outputs: Votes | Predictions, places: int) -> int:
    """Return the largest absolute error of any member, in steps."""
    if isinstance(outputs, Votes) or not outputs.is_numbers:
        return 1 << places
    outputs = outputs.completed
    cells, missing = outputs.cells, missing_cell_value(outputs.cells)
    shift, truth = _cell_shift(outputs, places), fixed_point_truth(outputs, places)
    return int(prediction_kernels.largest_error(cells, truth, shift, missing))


def exact_binary_places(outputs: EncodedPredictions, finest: int, largest: int) -> int:
    """Return the largest number of binary places with which sums over all samples fit 62 bits."""
    # Computed from the largest error and the number of samples overall, so that the result is the
    # same for any batches or shards.
    if isinstance(outputs, BaseVotes) or not outputs.is_numbers:
        return finest
    n_bits = (_SUM_BITS - (outputs.n_samples - 1).bit_length()) // 2
    return finest - max(0, largest.bit_length() - n_bits)


def product_exponent(outputs: EncodedPredictions, places: int) -> int:
    """Return the exponent e of the unit ``2.0**e`` of mean products of errors."""
    # Only the second of two classes is stored. The first one has the same error with the opposite
    # sign, so products double.
    if isinstance(outputs, BaseVotes):
        return 0
    # Missing predictions that are wrong are a further class.
    has_one_of_two_classes = outputs.n_classes + counts_as_wrong(outputs) == 2
    return -2 * places + has_one_of_two_classes


def _cell_shift(predictions: Predictions, places: int) -> int:
    # A shift by more than all bits of a cell would be undefined in compiled code.
    return min(predictions.exponent - places, NUMBER_BITS + 1)


def fixed_point_truth(predictions: Predictions, places: int) -> Array:
    """Return true labels (one-hot) or values (rounded down) as cells: (components, samples)."""
    truth = predictions.truth
    if predictions.is_numbers:
        return np.floor(np.ldexp(truth, places)).astype(np.int32)[None, :]
    labels = np.arange(predictions.n_classes)[1 if predictions.n_classes == 2 else 0 :]
    return (truth == labels[:, None]).astype(predictions.cells.dtype) << PROBABILITY_BITS
