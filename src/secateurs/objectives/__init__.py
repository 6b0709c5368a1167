"""What a sub-ensemble is worth, member by member: gains(), add(member), value.

An objective knows the members chosen so far. ``gains()`` says for every member what the worth
would be led by if that member joined, larger being better; ``add(member)`` lets it join; ``value``
is the worth now. `secateurs.search` runs the loops.
"""

from typing import Any, Protocol

from secateurs._labels import Array
from secateurs.objectives._bounds import tdas_upper_bound
from secateurs.objectives._tdas import TDAS, Profile
from secateurs.objectives._vote_error import VoteError

__all__ = ["TDAS", "Objective", "Profile", "VoteError", "tdas_upper_bound"]


class Objective(Protocol):
    """What `secateurs.search.greedy_forward` asks of an objective."""

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""

    @property
    def value(self) -> Any:
        """Worth of the members chosen so far."""

    def gains(self) -> Array:
        """Score of each member as the next one; larger is better."""

    def add(self, member: int) -> None:
        """Let a member join."""
