"""Objectives that searches maximise member by member: gains(), add(member), value.

An objective stores the members selected so far. ``gains()`` scores every member as the next one to
add (larger is better), ``add(member)`` adds a member, and ``value`` is the value of the selected
set. The loops are in `secateurs.search`.
"""

from fractions import Fraction
from typing import Protocol

from secateurs.objectives._complementarity import Complementarity, UncertaintyWeighted
from secateurs.objectives._joint_error import JointError
from secateurs.objectives._margin_distance import MarginDistance
from secateurs.objectives._mean_score import MeanScore
from secateurs.objectives._pair_objective import PairObjective
from secateurs.objectives._tdas import TDAS, Profile
from secateurs.objectives._vote_error import VoteError
from secateurs.objectives.bounds import upper_bound
from secateurs.typing import Array

__all__ = [
    "TDAS",
    "Complementarity",
    "JointError",
    "MarginDistance",
    "MeanScore",
    "Objective",
    "PairObjective",
    "Profile",
    "UncertaintyWeighted",
    "VoteError",
    "upper_bound",
]


class Objective(Protocol):
    """Interface of an objective that `secateurs.search.greedy_forward` maximises."""

    @property
    def n_members(self) -> int:
        """Number of members to select from."""

    @property
    def value(self) -> float | Fraction:
        """Value of the members selected so far."""

    def gains(self) -> Array:
        """Return the score of each member as the next member to add; larger is better."""

    def add(self, member: int) -> None:
        """Add a member."""
