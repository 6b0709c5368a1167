"""Joint error: the squared error of an average of members, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateurs.measures.member_errors import ErrorProducts, member_errors
from secateurs.measures.pair_measure import Floats, pair_matrix
from secateurs.objectives._pair_objective import PairObjective
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.typing import MemberIndices

_ROWS = 16  # rows of pairs that are held at once


class JointError(PairObjective):
    """Squared error of the average of a set: a sum over its pairs [1]_.

    With G, the mean products of two members' errors over the samples that both have, the average
    over k members S has the squared error Σ G(i, j) / k² over i and j in S. To make it small is to
    make −Σ G(i, j)/2, what this objective is worth, large.

    Parameters
    ----------
    outputs : Votes or Predictions
        What members predict, with the truth.
    shrink : float in [0, 1]
        How far gains and rows move G(i, j) of different members towards row mean + column mean −
        mean. Needs the mean of every row, so all pairs once.

    References
    ----------
    .. [1] Zhou, Wu and Tang. "Ensembling neural networks: many could be better than all".
       Artificial Intelligence 2002.

    Examples
    --------
    >>> from secateurs import Predictions
    >>> from secateurs.objectives import JointError
    >>> objective = JointError(Predictions.encode([[2.5, 1.0], [0.5, 2.0]], y=[2.0, 1.0]))
    >>> objective.squared_error([0, 1])  # the average is 1.75 and 1.25
    0.0625
    """

    def __init__(self, outputs: Votes | Predictions, shrink: float = 0.0) -> None:
        self._errors = member_errors(outputs)
        self._init_state(self._errors.self_products(), self._errors.product_exponent, shrink)

    def _init_state(self, own: ErrorProducts, exponent: int, shrink: float) -> None:
        self._exponent, self._shrink = exponent, shrink
        self._start_empty(-own.mean_products() / 2)
        self._means = self._row_means() if shrink else self.member_values

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return self._errors.n_members

    def matrix_rows(self, members: Sequence[int] | slice) -> Floats:
        """Return −G of some members with all, shrunken: (members, all members)."""
        chosen = np.arange(self.n_members)[members] if isinstance(members, slice) else members
        values = super().matrix_rows(members)
        if self._shrink:
            model = self._means[chosen][:, None] + self._means - self._means.mean()
            values = (1 - self._shrink) * values + self._shrink * model
            values[np.arange(len(chosen)), chosen] = 0.0
        return values

    def matrix(self) -> Floats:
        """Return −G of all pairs, as it is."""
        values = pair_matrix(self, self._block_values)
        np.fill_diagonal(values, 0.0)
        return values

    def gains(self) -> Floats:
        """Return by how much each member lowers half the sum of G, shrunken."""
        if not self._shrink:
            return super().gains()
        means = self._means
        model = means[self._chosen].sum() + len(self._chosen) * (means - means.mean())
        return (1 - self._shrink) * self._sums + self._shrink * model + self.member_values

    def squared_error(self, members: Sequence[int]) -> float:
        """Return the squared error of the average of a set."""
        return float(self.prefix_errors(self.prefix_values(members))[-1])

    def prefix_values(self, members: Sequence[int]) -> Floats:
        """Return what the first 1, 2, … members are worth."""
        pairs = np.tril(self.exact_matrix_rows(members)[:, members], -1).sum(axis=1)
        worths: Floats = np.cumsum(pairs + self.member_values[list(members)])
        return worths

    def prefix_errors(self, worths: Any) -> Floats:
        """Return squared errors, from what the first 1, 2, … members are worth."""
        sizes = np.arange(1, len(worths) + 1)
        return self.value_to_error(np.asarray(worths), sizes)

    def value_to_error(self, worth: Any, n_members: Any) -> Any:
        """Return the squared error of a set that is worth this."""
        return np.ldexp(-2.0 * worth / n_members**2 + 0.0, self._exponent)

    def error_to_value(self, error: float, n_members: int) -> float:
        """Return what a set is worth whose average has this squared error."""
        return float(np.ldexp(error, -self._exponent) * n_members**2 / -2.0)

    def _compute_rows(self, members: MemberIndices) -> Floats:
        return -self._errors.pair_products(self._errors.member_predictions(members)).mean_products()

    def _block_values(self, members: slice, others: slice) -> Floats:
        chosen = self._errors.member_predictions(np.arange(self.n_members)[members])
        return -self._errors.pair_products(chosen, others).mean_products()

    def _row_means(self) -> Floats:
        """Return the mean of each row of −G, without the diagonal."""
        n_members = self.n_members
        means = np.zeros(n_members)
        for first in range(0, n_members if n_members > 1 else 0, _ROWS):
            members = range(first, min(n_members, first + _ROWS))
            for member, row in zip(members, self.exact_matrix_rows(members), strict=True):
                means[member] = row.sum() / (n_members - 1)
        return means
