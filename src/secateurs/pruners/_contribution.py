"""Individual contributions: order members by their contribution to the ensemble's vote."""

import numpy as np
from numpy.typing import NDArray

from secateurs.outputs.missing_answers import counts_as_wrong, with_valid_first
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, ranking


class ContributionPruner(BasePruner):
    """Keep the members that contribute most to the vote of the full ensemble (EPIC) [1]_.

    A right vote contributes more if it is in the minority. A wrong vote takes away more if fewer
    members are right. Members are ordered by the sum over all samples.

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
        The contributions of all members, measured in votes.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    UncertaintyWeightedPruner : Uses the votes of the members selected so far.
    OrientationOrderingPruner : Also orders members in one step.

    Notes
    -----
    Let v(c) be the number of members that vote for class c, and a and b the largest and the second
    largest of these numbers. A vote for class c on a sample of class y contributes 2a − v(c) if it
    is right and another class has the majority, b if it is right and has the majority, and
    v(y) − v(c) − a if it is wrong. If the true class ties for the majority, both formulas for a
    right vote give the same value. A missing vote contributes nothing.

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
        order = with_valid_first(ranking(self.contributions_).tolist(), votes)
        return Choice(order[:n_keep], self.contributions_[order[:n_keep]])


def _vote_contributions(votes: Votes) -> NDArray[np.int32]:
    """Return the contribution of a vote for each class on each sample: (classes, samples)."""
    tally, truth, samples = votes.tally(), votes.truth, np.arange(votes.n_samples)
    majority = tally.argmax(axis=1)
    most, for_truth = tally[samples, majority], tally[samples, truth]
    contributions = np.zeros((votes.packed.n_classes, votes.n_samples), dtype=np.int32)
    contributions[: votes.n_classes] = for_truth - most - tally.T
    if counts_as_wrong(votes):  # an abstention is no better than the worst vote
        wrong = tally.copy()
        wrong[samples, truth] = 1  # a vote counts itself
        contributions[votes.n_classes] = for_truth - most - wrong.max(axis=1)
    tally[samples, majority] = 0
    second = tally.max(axis=1)  # equal to `most` if classes tie
    contributions[truth, samples] = np.where(for_truth == most, second, 2 * most - for_truth)
    return contributions
