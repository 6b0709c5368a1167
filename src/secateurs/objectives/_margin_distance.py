"""Distance of a set's margins from a small positive target, compared exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from secateurs.measures.pairwise_measures import n_agreed
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

_BITS = 128  # of √(8u) behind the point: far more than decides between sums of signatures


class MarginDistance:
    """Distance from the target to the mean signature, over all members, of those chosen.

    A signature is +1 where a member is right, −1 where it is wrong and 0 without a vote. With s
    the sum of the signatures chosen and r the target times the number of members, adding c changes
    the squared distance by 2⟨c, s⟩ + ⟨c, c⟩ − 2r⟨c, 1⟩: counts of pairs, and one factor r.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.
    target : Fraction or None
        Where the mean is to be on each sample. None moves it away: 2√(2u) / n at step u.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from secateurs import Votes
    >>> from secateurs.objectives import MarginDistance
    >>> votes = Votes.encode([[0, 1], [1, 1], [1, 1]], [0, 1, 1])
    >>> objective = MarginDistance(votes, Fraction(1, 4))
    >>> objective.add(1)  # the mean is −1/2, 1/2 and 1/2
    >>> objective.value
    Fraction(-11, 4)
    """

    def __init__(self, votes: Votes, target: Fraction | None) -> None:
        self._oracle = votes.oracle
        self._target = target
        self._signature_sums = 2 * votes.n_right - votes.n_voted
        self._n_voted = votes.n_voted
        self._inner_products = np.zeros(votes.n_members, dtype=np.int64)
        self._n_chosen = 0
        self._signature_total = 0
        self._squared_norm = 0

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return self._oracle.n_members

    @property
    def value(self) -> Fraction:
        """Minus the squared distance, from the target of the last step, times n_members²."""
        reach = self._scaled_target(self._n_chosen)
        away = (
            self._squared_norm
            - 2 * reach * self._signature_total
            + reach**2 * self._oracle.n_samples
        )
        return -away

    def gains(self) -> Array:
        """Return how much closer each member brings the mean, as integers of one scale."""
        reach = self._scaled_target(self._n_chosen + 1)
        closer = self._signature_sums.astype(object) * (2 * reach.numerator)
        return (
            closer - (2 * self._inner_products + self._n_voted).astype(object) * reach.denominator
        )

    def add(self, member: int) -> None:
        """Add a member."""
        self._squared_norm += int(2 * self._inner_products[member] + self._n_voted[member])
        self._signature_total += int(self._signature_sums[member])
        self._n_chosen += 1
        tables = self._oracle.joint_counts([member])[0]
        self._inner_products += 2 * n_agreed(tables) - tables.sum(axis=(-2, -1))

    def as_distances(self, values: list[Fraction]) -> Array:
        """Return values as distances."""
        return np.array([math.sqrt(-value) / self.n_members for value in values])

    def _scaled_target(self, step: int) -> Fraction:
        """Return the target of a step times the number of members."""
        if self._target is not None:
            return self._target * self.n_members
        return Fraction(math.isqrt(8 * step << 2 * _BITS), 1 << _BITS)
