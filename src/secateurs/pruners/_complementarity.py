"""Complementarity: add the member that is right where the vote is wrong."""

import numpy as np

from secateurs.objectives import Complementarity
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, best_member, greedy_forward


class ComplementarityPruner(BasePruner):
    """Keep the members that, added one at a time, are right where the vote is wrong [1]_.

    Starts with the member that is right most often. Each step adds the member that is right on the
    most samples on which the vote of the selected members is wrong.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

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
    UncertaintyWeightedPruner : Weights samples by how much the selected members disagree.
    ReducedErrorPruner : Counts the errors of the vote after the addition.

    Notes
    -----
    A tied vote goes to the lowest class. A sample without any vote counts as an error. Once the
    vote is right on all samples, members are added in the order of their indices.

    References
    ----------
    .. [1] Martínez-Muñoz and Suárez. "Aggregation ordering in bagging". IASTED International
           Conference on Artificial Intelligence and Applications, 2004.

    Examples
    --------
    >>> from secateurs import ComplementarityPruner
    >>> votes = [[0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]]
    >>> ComplementarityPruner(keep=2).fit(votes, [0, 1, 0, 1]).member_indices_
    array([0, 2])
    """

    _objective_class = Complementarity

    def __init__(self, keep: int | float = 0.1) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        objective = self._objective_class(votes)
        members, values = greedy_forward(objective, n_keep, [best_member(votes.n_right)])
        rates = objective.error_rates(values)
        self.objective_ = float(rates[-1])
        return Choice(members, rates)
