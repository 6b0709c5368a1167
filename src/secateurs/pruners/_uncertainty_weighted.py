"""Uncertainty weighted accuracy: add the member that is right where the vote is uncertain."""

from secateurs.objectives import UncertaintyWeighted
from secateurs.pruners._complementarity import ComplementarityPruner


class UncertaintyWeightedPruner(ComplementarityPruner):
    """Add members, one at a time, that are right where the selected members disagree [1]_.

    Starts with the member that is right most often. Each step adds the member with the largest
    uncertainty weighted accuracy: a sample that the member gets right counts for it, and a sample
    that it gets wrong counts against it. The weight of a sample is the fraction of the selected
    members that their vote overrules there: the members that are right if the vote is wrong, or the
    members that are wrong if the vote is right.

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
    ComplementarityPruner : Counts only samples on which the vote is wrong.
    ContributionPruner : Uses the votes of all members, in one step.

    Notes
    -----
    A tied vote goes to the lowest class. A sample without any vote counts as an error. A missing
    vote is neither right nor wrong. The method is also known as focused ensemble selection [2]_.

    A single member cannot disagree with itself, so that all samples have weight 0 in the second
    step, for which the papers have no rule. Of members that tie, in this and in any other step, the
    member that is right most often is added, and then the one with the lowest index.

    References
    ----------
    .. [1] Partalas, Tsoumakas and Vlahavas. "An ensemble uncertainty aware measure for directed
           hill climbing ensemble pruning". Machine Learning 81(3), 2010.
    .. [2] Partalas, Tsoumakas and Vlahavas. "Focused ensemble selection: a diversity-based method
           for greedy ensemble selection". ECAI 2008.

    Examples
    --------
    >>> from secateurs import UncertaintyWeightedPruner
    >>> votes = [[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 1]]
    >>> UncertaintyWeightedPruner(keep=3).fit(votes, [0, 0, 0, 1]).member_indices_
    array([0, 1, 3])
    """

    _objective_class = UncertaintyWeighted
