"""Distance of a set's margins from a small positive target, compared exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from secateurs._labels import Array
from secateurs.measures._pairwise import n_agreed
from secateurs.outputs._votes import Votes

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
        self._own = 2 * votes.n_right - votes.n_voted
        self._n_voted = votes.n_voted
        self._along = np.zeros(votes.n_members, dtype=np.int64)
        self._n_chosen = 0
        self._total = 0
        self._squares = 0

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return self._oracle.n_members

    @property
    def value(self) -> Fraction:
        """Minus the squared distance, from the target of the last step, times n_members²."""
        reach = self._reach(self._n_chosen)
        away = self._squares - 2 * reach * self._total + reach**2 * self._oracle.n_samples
        return -away

    def gains(self) -> Array:
        """Return how much closer each member brings the mean, as integers of one scale."""
        reach = self._reach(self._n_chosen + 1)
        closer = self._own.astype(object) * (2 * reach.numerator)
        return closer - (2 * self._along + self._n_voted).astype(object) * reach.denominator

    def add(self, member: int) -> None:
        """Add a member."""
        self._squares += int(2 * self._along[member] + self._n_voted[member])
        self._total += int(self._own[member])
        self._n_chosen += 1
        tables = self._oracle.joint_counts([member])[0]
        self._along += 2 * n_agreed(tables) - tables.sum(axis=(-2, -1))

    def distances(self, values: list[Fraction]) -> Array:
        """Return values as distances."""
        return np.array([math.sqrt(-value) / self.n_members for value in values])

    def _reach(self, step: int) -> Fraction:
        """Return the target of a step times the number of members."""
        if self._target is not None:
            return self._target * self.n_members
        return Fraction(math.isqrt(8 * step << 2 * _BITS), 1 << _BITS)
