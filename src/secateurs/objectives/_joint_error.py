"""Joint error: the squared error of an average of members, as a sum over pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secateurs.measures.member_errors import (
    ErrorProducts,
    MemberErrors,
    PredictionErrors,
    member_errors,
)
from secateurs.measures.pair_measure import Floats, pair_matrix
from secateurs.objectives._lazy_sums import LazySums
from secateurs.objectives._pair_objective import PairObjective
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, MemberIndices

_BLOCK_ROWS = 16  # rows computed at once: bounds their memory to 16 floats per member
_LEAST_LAZY = 1 << 24  # errors of all members: fewer are in the cache, where pairs are quick


class JointError(PairObjective):
    """Squared error of the average of a set, as a sum over its pairs [1]_.

    G(i, j) is the mean product of the errors of members i and j over the samples that both predict.
    The average of a set S of k members has the squared error Σ G(i, j) / k² over i and j in S. The
    objective, −Σ G(i, j) / 2, is largest where this error is smallest.

    Parameters
    ----------
    outputs : Votes or Predictions
        Predictions of the members, with the true labels or values.
    shrink : float in [0, 1]
        How far gains and rows shrink G(i, j) of different members towards row mean + column mean −
        mean. Any value above 0 requires the mean of every row, and thus all pairs once.

    References
    ----------
    .. [1] Zhou, Wu and Tang. "Ensembling neural networks: many could be better than all".
       Artificial Intelligence 2002.

    Examples
    --------
    >>> from secateurs import Predictions
    >>> from secateurs.objectives import JointError
    >>> objective = JointError(Predictions.encode([[2.5, 1.0], [0.5, 2.0]], y=[2.0, 1.0]))
    >>> objective.prefix_errors(objective.prefix_values([0, 1]))  # the average is 1.75 and 1.25
    array([0.25  , 0.0625])
    """

    _lazy_sums: LazySums | None = None

    def __init__(self, outputs: Votes | Predictions, shrink: float = 0.0) -> None:
        self._errors: MemberErrors[Any] = member_errors(outputs)
        self._init_state(self._errors.self_products(), self._errors.product_exponent, shrink)
        errors = self._errors
        if isinstance(errors, PredictionErrors) and errors.are_inner_products and not shrink:
            is_large = errors.n_cells >= _LEAST_LAZY
            self._lazy_sums = LazySums(errors, self.member_values) if is_large else None

    def _init_state(self, self_products: ErrorProducts, exponent: int, shrink: float) -> None:
        self._exponent, self._shrink = exponent, shrink
        self._start_empty(-self_products.mean_products() / 2)
        self._means = self._row_means() if shrink else self.member_values

    @property
    def n_members(self) -> int:
        """Number of members to select from."""
        return self._errors.n_members

    def matrix_rows(self, members: Sequence[int] | slice) -> Floats:
        """Return the shrunken −G of some members with all members: (members, all members)."""
        indices = np.arange(self.n_members)[members] if isinstance(members, slice) else members
        values = super().matrix_rows(members)
        if self._shrink:
            model = self._means[indices][:, None] + self._means - self._means.mean()
            values = (1 - self._shrink) * values + self._shrink * model
            values[np.arange(len(indices)), indices] = 0.0
        return values

    def matrix(self) -> Floats:
        """Return −G of all pairs, without shrinkage."""
        values = pair_matrix(self, self._block_values)
        np.fill_diagonal(values, 0.0)
        return values

    def gains(self) -> Floats:
        """Return how much each member lowers half the sum of the shrunken G."""
        self._stop_lazy_sums()
        if not self._shrink:
            return super().gains()
        means = self._means
        model = means[self._selected].sum() + len(self._selected) * (means - means.mean())
        return (1 - self._shrink) * self._sums + self._shrink * model + self.member_values

    def leading_gains(self, free: BoolArray) -> Floats:
        """Return the gains of the free members that may be the best; others may be −∞."""
        if self._lazy_sums is None or self._lazy_sums.is_slow:
            return self.gains()
        return self._lazy_sums.gains(free)

    def add(self, member: int) -> None:
        """Add a member."""
        if self._lazy_sums is None:
            super().add(member)
            return
        self._lazy_sums.complete(np.array([member]))
        self.value += float(self._lazy_sums.sums[member] + self.member_values[member])
        self._lazy_sums.add(member)
        self._selected.append(member)

    def _stop_lazy_sums(self) -> None:
        """Complete all sums, and compute all pairs from now on."""
        if self._lazy_sums is not None:
            self._lazy_sums.complete(np.arange(self.n_members))
            self._sums, self._lazy_sums = self._lazy_sums.sums, None

    def prefix_values(self, members: Sequence[int]) -> Floats:
        """Return the values of the sets of the first 1, 2, … members."""
        pair_sums = np.tril(self.exact_matrix_rows(members)[:, members], -1).sum(axis=1)
        values: Floats = np.cumsum(pair_sums + self.member_values[list(members)])
        return values

    def prefix_errors(self, values: ArrayLike) -> Floats:
        """Convert the values of the sets of the first 1, 2, … members to squared errors."""
        floats = np.asarray(values, dtype=float)
        return self.value_to_error(floats, np.arange(1, len(floats) + 1))

    def value_to_error(self, value: float | Floats, n_members: int | Array) -> Floats:
        """Convert the value of a set to the squared error of its average."""
        # + 0.0 turns −0.0 into 0.0.
        return np.ldexp(-2.0 * value / n_members**2 + 0.0, self._exponent)

    def error_to_value(self, error: float, n_members: int) -> float:
        """Convert the squared error of the average of a set to the value of the set."""
        return float(np.ldexp(error, -self._exponent) * n_members**2 / -2.0)

    def _compute_rows(self, members: MemberIndices) -> Floats:
        return -self._errors.pair_products(self._errors.member_predictions(members)).mean_products()

    def _block_values(self, members: slice, others: slice) -> Floats:
        predictions = self._errors.member_predictions(np.arange(self.n_members)[members])
        return -self._errors.pair_products(predictions, others).mean_products()

    def _row_means(self) -> Floats:
        """Return the mean of each row of −G, without the diagonal."""
        n_members = self.n_members
        means = np.zeros(n_members)
        for first in range(0, n_members if n_members > 1 else 0, _BLOCK_ROWS):
            members = range(first, min(n_members, first + _BLOCK_ROWS))
            for member, row in zip(members, self.exact_matrix_rows(members), strict=True):
                means[member] = row.sum() / (n_members - 1)
        return means
