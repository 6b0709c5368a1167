"""What a member adds to the vote of those chosen, by where it and the vote are right."""

import numpy as np

from secateurs.measures.pair_measure import Floats
from secateurs.objectives._vote_error import VoteError
from secateurs.outputs.votes import Votes
from secateurs.typing import Array


class Complementarity:
    """Number of samples that a member gets right and the vote of those chosen gets wrong.

    The value of those chosen is minus the errors of their vote; a tie goes to the lowest class.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.

    Examples
    --------
    >>> from secateurs import Votes
    >>> from secateurs.objectives import Complementarity
    >>> votes = Votes.encode([[0, 1, 0], [1, 1, 0], [0, 1, 1]], [0, 1, 1])
    >>> objective = Complementarity(votes)
    >>> objective.add(0)
    >>> objective.gains()
    array([0, 1, 1])
    """

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self._vote_error = VoteError(votes, ties="lowest")

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return self._votes.n_members

    @property
    def value(self) -> int | float:
        """Minus the errors of the vote of those chosen; −∞ for no members."""
        return self._vote_error.value

    def gains(self) -> Array:
        """Return the score of each member as the next one."""
        right, wrong = self._right_wrong_weights()
        missing = [np.zeros_like(right)] * self._votes.has_missing
        return self._votes.oracle.packed.weighted_sums(np.stack([right, wrong, *missing]))

    def add(self, member: int) -> None:
        """Add a member."""
        self._vote_error.add(member)

    def error_rates(self, values: list[int]) -> Floats:
        """Return values as error rates of the vote."""
        return self._vote_error.error_rates(values)

    def _right_wrong_weights(self) -> tuple[Array, Array]:
        """Return what it counts to be right, and to be wrong, on each sample."""
        missed = (~self._vote_error.is_vote_right()).astype(np.int32)
        return missed, np.zeros_like(missed)


class UncertaintyWeighted(Complementarity):
    """Samples that a member gets right, less those it gets wrong, by how split those chosen are.

    A sample counts as often as there are chosen members that are right, where their vote is wrong,
    and chosen members that are wrong, where it is right.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.

    Examples
    --------
    >>> from secateurs import Votes
    >>> from secateurs.objectives import UncertaintyWeighted
    >>> votes = Votes.encode([[0, 1, 0, 0], [0, 1, 0, 1], [1, 1, 1, 0]], [0, 1, 1])
    >>> objective = UncertaintyWeighted(votes)
    >>> objective.add(0)
    >>> objective.add(1)  # wrong on the first sample, where the tied vote is right
    >>> objective.gains()
    array([0, 0, 0, 2])
    """

    def _right_wrong_weights(self) -> tuple[Array, Array]:
        split = self._vote_error.n_overruled()
        return split, -split
