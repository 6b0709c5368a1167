"""Reduced-error pruning: add the member that helps the vote the most."""

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
        After each addition go through the chosen members, the oldest first, and exchange each for
        the member that gives the fewest errors in its place, until a whole round changes nothing
        (at most 100 rounds). Slower, and often fewer errors.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order they were chosen; an exchanged member takes the place of
        the one it replaced.
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote after each step.
    objective_ : float
        Error rate of the kept members' vote.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    OEP : Tied votes are shared, and it may decide its own size.
    BestMembersPruner : Looks at each member alone.
    DREP : Looks only at members that differ from those chosen.

    Notes
    -----
    A tied vote goes to the lowest class.

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
