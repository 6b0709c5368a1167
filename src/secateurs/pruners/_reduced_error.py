"""Reduced-error pruning: add the member that improves the vote the most."""

from functools import partial

import numpy as np

from secateurs.objectives import VoteError
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, backfit, greedy_forward


class ReducedErrorPruner(BasePruner):
    """Keep the members that, added one at a time, most improve the vote [1]_.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.
    backfit : bool, default=False
        After each addition, go through the selected members, the oldest first, and replace each by
        the member with which the vote has the fewest errors, until a round changes nothing (at most
        100 rounds). This is slower, and often gives fewer errors.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of selection. With ``backfit``, a member that replaces
        another has the index of the replaced member.
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote after each step.
    objective_ : float
        Error rate of the kept members' vote.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    OEP : Counts tied votes as fractions of errors, and may decide its own size.
    BestMembersPruner : Evaluates each member separately.
    DREP : Considers only members that differ from the selected members.

    Notes
    -----
    A tied vote goes to the lowest class. A sample without any vote counts as an error.

    References
    ----------
    .. [1] Margineantu and Dietterich. "Pruning adaptive boosting". ICML 1997.

    Examples
    --------
    >>> from secateurs import ReducedErrorPruner
    >>> votes = [[0, 0, 1], [1, 0, 1], [0, 0, 0], [1, 1, 1]]
    >>> ReducedErrorPruner(keep=1).fit(votes, [0, 1, 0, 1]).get_support()
    array([ True, False, False])
    """

    def __init__(self, keep: int | float = 0.1, backfit: bool = False) -> None:
        self.keep = keep
        self.backfit = backfit

    @property
    def is_nested(self) -> bool:  # type: ignore[override]
        """Whether the members for a smaller ``keep`` are a prefix of those for a larger one."""
        return not self.backfit

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        objective = VoteError(votes, ties="lowest")
        settle = partial(backfit, objective) if self.backfit else None
        members, values = greedy_forward(objective, n_keep, settle=settle)
        rates = objective.error_rates(values)
        self.objective_ = float(rates[-1])
        return Choice(members, rates)
