"""Objectives that searches maximise, member by member: gains(), add(member), value.

An objective knows the members chosen so far. ``gains()`` returns a score of every member as the
next one, larger being better; ``add(member)`` adds it; ``value`` is the value of those chosen.
`secateurs.search` runs the loops.
"""

from typing import Any, Protocol

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
    """What `secateurs.search.greedy_forward` needs of an objective."""

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""

    @property
    def value(self) -> Any:
        """Value of the members chosen so far."""

    def gains(self) -> Array:
        """Return the score of each member as the next one; larger is better."""

    def add(self, member: int) -> None:
        """Add a member."""
