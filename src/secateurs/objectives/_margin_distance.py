"""Distance of the margins of a set from a small positive target, compared exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from secateurs.outputs.base_votes import count_agreed
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

_BITS = 128  # binary places of √(8u): far more than are needed to compare sums of signatures


class MarginDistance:
    """Distance of the sum of the selected signatures, divided by n_members, from a target.

    A signature is +1 where a member is correct, −1 where it is wrong and 0 without a vote. Let s be
    the sum of the selected signatures and r the target times the number of members. Adding c
    changes the squared distance by 2⟨c, s⟩ + ⟨c, c⟩ − 2r⟨c, 1⟩, which consists of counts of pairs
    and one factor r.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.
    target : Fraction or None
        Target on each sample. None for a moving target, 2√(2u) / n at step u.

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
        self._n_selected = 0
        self._signature_total = 0
        self._squared_norm = 0

    @property
    def n_members(self) -> int:
        """Number of members to select from."""
        return self._oracle.n_members

    @property
    def value(self) -> Fraction:
        """Minus the squared distance from the target of the last step, times n_members²."""
        target = self._scaled_target(self._n_selected)
        change = target**2 * self._oracle.n_samples - 2 * target * self._signature_total
        return -(self._squared_norm + change)

    def gains(self) -> Array:
        """Return how much closer to the target each member moves the mean, as scaled integers."""
        # Python integers: with 128 binary places the products exceed 64 bits.
        target = self._scaled_target(self._n_selected + 1)
        growth = (2 * self._inner_products + self._n_voted).astype(object)
        gained = self._signature_sums.astype(object) * (2 * target.numerator)
        return gained - growth * target.denominator

    def add(self, member: int) -> None:
        """Add a member."""
        self._squared_norm += int(2 * self._inner_products[member] + self._n_voted[member])
        self._signature_total += int(self._signature_sums[member])
        self._n_selected += 1
        tables = self._oracle.joint_counts([member])[0]
        self._inner_products += 2 * count_agreed(tables) - tables.sum(axis=(-2, -1))

    def as_distances(self, values: list[Fraction]) -> Array:
        """Convert values to distances."""
        return np.array([math.sqrt(-value) / self.n_members for value in values])

    def _scaled_target(self, step: int) -> Fraction:
        """Return the target of a step, times the number of members."""
        if self._target is not None:
            return self._target * self.n_members
        return Fraction(math.isqrt(8 * step << 2 * _BITS), 1 << _BITS)
