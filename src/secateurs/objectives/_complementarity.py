"""How well a member complements the vote of the selected members."""

import numpy as np

from secateurs.measures.pair_measure import Floats
from secateurs.objectives._vote_error import VoteError
from secateurs.outputs.votes import Votes
from secateurs.typing import Array


class Complementarity:
    """Number of samples on which a member is correct and the vote of the selected set is wrong.

    The value of a set is minus the errors of its vote; a tie goes to the lowest class.

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
        """Number of members to select from."""
        return self._votes.n_members

    @property
    def value(self) -> int | float:
        """Minus the errors of the vote of the selected members; −∞ for no members."""
        return self._vote_error.value

    def gains(self) -> Array:
        """Return the score of each member as the next member to add."""
        right, wrong = self._right_wrong_weights()
        # A missing vote has no weight if it is left out, and else that of a wrong vote.
        missing = [np.zeros_like(right)] * self._votes.leaves_out_missing
        return self._votes.oracle.packed.weighted_sums(np.stack([right, wrong, *missing]))

    def add(self, member: int) -> None:
        """Add a member."""
        self._vote_error.add(member)

    def error_rates(self, values: list[int]) -> Floats:
        """Convert values to error rates of the vote."""
        return self._vote_error.error_rates(values)

    def _right_wrong_weights(self) -> tuple[Array, Array]:
        """Return the weight of a correct vote, and of a wrong vote, on each sample."""
        is_vote_wrong = (~self._vote_error.is_vote_right()).astype(np.int32)
        return is_vote_wrong, np.zeros_like(is_vote_wrong)


class UncertaintyWeighted(Complementarity):
    """Weighted correct votes of a member minus its weighted wrong votes.

    The weight of a sample is the number of selected members that disagree with the outcome of their
    vote: the correct members if the vote is wrong, and the wrong members if it is correct. Of the
    members that tie, the one with the most correct votes is best: a single selected member cannot
    disagree with itself, so that all members tie in the second step.

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
    >>> objective.add(1)  # wrong on the first sample, where the tied vote is correct
    >>> objective.gains()  # 0, 0, 0 and 2, times 4, and two correct votes of each member
    array([ 2,  2,  2, 10])
    """

    def gains(self) -> Array:
        """Return the score of each member, times the samples + 1, and its correct votes."""
        weighted = super().gains().astype(np.int64)
        return weighted * (self._votes.n_samples + 1) + self._votes.n_right

    def _right_wrong_weights(self) -> tuple[Array, Array]:
        n_overruled = self._vote_error.n_overruled()
        return n_overruled, -n_overruled
