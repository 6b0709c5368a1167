"""Individual contributions: order members by what their votes add to that of the ensemble."""

import numpy as np
from numpy.typing import NDArray

from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, ranking


class ContributionPruner(BasePruner):
    """Keep the members that contribute most to the vote of the whole ensemble (EPIC) [1]_.

    A right vote contributes more where it is in the minority, and a wrong one takes away more
    the fewer members are right. Members are ordered by the sum over all samples.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of decreasing contribution.
    scores_ : ndarray of shape (n_kept,)
        Their contributions.
    contributions_ : ndarray of shape (n_members,)
        The contributions of all members, in votes.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    UncertaintyWeightedPruner : Looks at the votes of those chosen so far.
    OrientationOrderingPruner : Orders members in one step as well.

    Notes
    -----
    With v the number of members that vote for a class, a and b the largest and the second largest
    of them, a vote for class c on a sample of class y contributes 2a − v(c) if it is right and
    another class has the majority, b if it is right and has the majority, and v(y) − v(c) − a if
    it is wrong. Where the true class ties for the majority, both readings of a right vote give the
    same. A missing vote contributes nothing.

    References
    ----------
    .. [1] Lu, Wu, Zhu and Bongard. "Ensemble pruning via individual contribution ordering".
           KDD 2010.

    Examples
    --------
    >>> from secateurs import ContributionPruner
    >>> votes = [[0, 0, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]]
    >>> pruner = ContributionPruner(keep=1).fit(votes, [0, 1, 0, 1])
    >>> pruner.contributions_
    array([ 4, -2, -4])
    """

    def __init__(self, keep: int | float = 0.1) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        self.contributions_ = votes.packed.weighted_sums(_vote_contributions(votes))
        best = ranking(self.contributions_)[:n_keep]
        return Choice(best.tolist(), self.contributions_[best])


def _vote_contributions(votes: Votes) -> NDArray[np.int32]:
    """Return the contribution of a vote for each class on each sample: (classes, samples)."""
    tally, truth, samples = votes.tally(), votes.truth, np.arange(votes.n_samples)
    majority = tally.argmax(axis=1)
    most, for_truth = tally[samples, majority], tally[samples, truth]
    contributions = np.zeros((votes.packed.n_classes, votes.n_samples), dtype=np.int32)
    contributions[: votes.n_classes] = for_truth - most - tally.T
    tally[samples, majority] = 0
    second = tally.max(axis=1)  # as many as the most, where classes tie
    contributions[truth, samples] = np.where(for_truth == most, second, 2 * most - for_truth)
    return contributions
