"""OEP: order members greedily by the errors of the vote, and keep the best prefix."""

import numpy as np

from secateurs.objectives import VoteError
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, best_prefix, greedy_forward


class OEP(BasePruner):
    """Ordering-based ensemble pruning: order members by the vote and keep the best prefix [1]_.

    Parameters
    ----------
    keep : int, float or None, default=None
        Number of members to keep: a count, or a fraction of the ensemble. None keeps the shortest
        prefix of the order whose vote has the fewest errors.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote after each step.
    objective_ : float
        Error rate of the kept members' vote.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    ReducedErrorPruner : Tied votes go to the lowest class, and the size is fixed.
    SEP : Random search for few errors.
    PEP : Random search for few errors and few members.

    Notes
    -----
    If q classes tie for the most votes and the true class is among them, the vote counts as 1 − 1/q
    errors. In `ReducedErrorPruner`, in contrast, a tied vote goes to the lowest class.

    References
    ----------
    .. [1] Qian, Yu and Zhou. "Pareto ensemble pruning". AAAI 2015.

    Examples
    --------
    >>> from secateurs import OEP
    >>> votes = [[0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 1]]
    >>> OEP().fit(votes, [0, 1, 0, 1]).member_indices_
    array([0])
    """

    def __init__(self, keep: int | float | None = None) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        objective = VoteError(votes, ties="shared")
        members, values = greedy_forward(objective, n_keep or votes.n_members)
        n_kept = n_keep or best_prefix(values)
        rates = objective.error_rates(values[:n_kept])
        self.objective_ = float(rates[-1])
        return Choice(members[:n_kept], rates)
