"""Best members: keep the most accurate members, which is often done by hand."""

import numpy as np

from secateurs.outputs.missing_answers import with_valid_first
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, ranking


class BestMembersPruner(BasePruner):
    """Keep the members with the highest accuracy, regardless of how similar they are.

    For regression, keep the members with the smallest mean squared error.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, the most accurate first.
    scores_ : ndarray of shape (n_kept,)
        Their accuracies; for regression, their negative mean squared errors.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    ReducedErrorPruner : Selects members by the errors of their joint vote.
    RandomPruner : Keeps random members.

    Examples
    --------
    >>> from secateurs import BestMembersPruner
    >>> votes = [[0, 0, 1], [1, 0, 1], [0, 0, 0], [1, 1, 1]]
    >>> BestMembersPruner(keep=2).fit(votes, [0, 1, 0, 1]).member_indices_
    array([0, 1])
    """

    def __init__(self, keep: int | float = 0.1) -> None:
        self.keep = keep

    def _select(
        self, votes: Votes | Predictions, n_keep: int, rng: np.random.RandomState
    ) -> Choice:
        if isinstance(votes, Predictions):
            scores = -votes.squared_errors
            # Ties are within 1e-12 of errors up to 1. Scaling by a power of two keeps the digits,
            # so that the unit of small values does not matter.
            scale = max(0, -int(np.frexp(votes.squared_errors.max())[1]))
            order = ranking(np.ldexp(scores, scale)).tolist()
            # The mean of y, for a missing value, is better than the values of poor members.
            best = (with_valid_first(order, votes) if votes.is_numbers else order)[:n_keep]
            return Choice(best, scores[best])
        accuracies = votes.n_right / votes.n_voted
        # Unless missing votes are left out, integer counts are ranked, so that ties are exact.
        best = ranking(accuracies if votes.leaves_out_missing else votes.n_right)[:n_keep]
        return Choice(best.tolist(), accuracies[best])
