"""Diversity measures of an ensemble, computed from counts of correct and of equal votes.

There are T members and N samples. On sample n, lₙ members are correct and V[n, c] members vote for
class c. A measure that would be 0/0 has the value that means no diversity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from secateurs.measures.pair_measure import Counts, Floats, as_complete_votes, as_votes
from secateurs.measures.pairwise_measures import disagreement
from secateurs.outputs.votes import Votes


def _right_counts(votes: ArrayLike | Votes, y: ArrayLike | None) -> tuple[Counts, int, int]:
    """Return the number of members that are correct on each sample (lₙ), T and N."""
    voted = as_complete_votes(votes, y)
    return voted.oracle.tally()[:, 0].astype(np.int64), voted.n_members, voted.n_samples


def _failure_distribution(votes: ArrayLike | Votes, y: ArrayLike | None) -> tuple[Floats, int]:
    """Return the fractions of samples on which exactly i members are wrong (i = 0 … T), and T."""
    right, n_members, n_samples = _right_counts(votes, y)
    return np.bincount(n_members - right, minlength=n_members + 1) / n_samples, n_members


def kohavi_wolpert(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute the Kohavi–Wolpert variance of correct votes: Σ lₙ(T − lₙ) / (N T²) [1]_.

    Larger values mean more diversity.

    See Also
    --------
    label_kohavi_wolpert : The variance of the labels.

    References
    ----------
    .. [1] Kohavi and Wolpert. "Bias plus variance decomposition for zero-one loss functions".
       ICML 1996.

    Examples
    --------
    >>> from secateurs.measures import kohavi_wolpert
    >>> kohavi_wolpert([[0, 1], [1, 1]], [0, 1])
    0.125
    """
    right, n_members, n_samples = _right_counts(votes, y)
    return float((right * (n_members - right)).sum() / (n_samples * n_members**2))


def label_kohavi_wolpert(votes: ArrayLike | Votes) -> float:
    """Compute the Kohavi–Wolpert variance of the labels: mean of (1 − Σ (V/T)²) / 2.

    Larger values mean more diversity.

    See Also
    --------
    kohavi_wolpert : The variance of correct votes.

    Examples
    --------
    >>> from secateurs.measures import label_kohavi_wolpert
    >>> label_kohavi_wolpert([[0, 1], [1, 1]])
    0.125
    """
    voted = as_complete_votes(votes)
    squares = (voted.tally().astype(np.int64) ** 2).sum()
    return float((1 - squares / (voted.n_samples * voted.n_members**2)) / 2)


def interrater_agreement(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute the interrater agreement κ of correct votes [1]_.

    1 − Σ lₙ(T − lₙ) / (N T (T − 1) p̄ (1 − p̄)), with mean accuracy p̄; smaller is more diverse.

    See Also
    --------
    fleiss_kappa : Agreement of the labels.
    kappa : Cohen's κ of two members.

    References
    ----------
    .. [1] Kuncheva and Whitaker. "Measures of diversity in classifier ensembles and their
       relationship with the ensemble accuracy". Machine Learning 2003.

    Examples
    --------
    >>> from secateurs.measures import interrater_agreement
    >>> interrater_agreement([[0, 1], [1, 1], [0, 0]], [0, 1, 1])
    0.3333333333333333
    """
    right, n_members, n_samples = _right_counts(votes, y)
    n_votes, n_right = n_samples * n_members, int(right.sum())
    # Python integers: the products can exceed 64 bits.
    disagreements = int((right * (n_members - right)).sum())
    by_chance = (n_members - 1) * n_right * (n_votes - n_right)
    return 1.0 if by_chance == 0 else (by_chance - disagreements * n_votes) / by_chance


def fleiss_kappa(votes: ArrayLike | Votes) -> float:
    """Compute Fleiss' κ of the labels, without the true labels; smaller is more diverse [1]_.

    See Also
    --------
    interrater_agreement : Agreement of correct and wrong votes.
    kappa : Cohen's κ of two members.

    References
    ----------
    .. [1] Fleiss. "Measuring nominal scale agreement among many raters". Psychological
       Bulletin 1971.

    Examples
    --------
    >>> from secateurs.measures import fleiss_kappa
    >>> fleiss_kappa([[0, 0], [1, 1], [0, 0]])
    1.0
    """
    voted = as_complete_votes(votes)
    n_samples, n_members = voted.n_samples, voted.n_members
    by_class = voted.sizes.sum(axis=0)
    by_chance = sum(n**2 for n in by_class.tolist()) / (n_samples * n_members) ** 2
    if n_members == 1 or np.count_nonzero(by_class) == 1:
        return 1.0
    squares = (voted.tally().astype(np.int64) ** 2).sum()
    agreed = (squares / n_samples - n_members) / (n_members * (n_members - 1))
    return float((agreed - by_chance) / (1 - by_chance))


def kuncheva_entropy(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute Kuncheva's entropy of the votes: mean of min(lₙ, T − lₙ) / (T − ⌈T/2⌉) [1]_.

    0 if all members are correct on the same samples, 1 if half of them are correct on each sample.

    See Also
    --------
    vote_entropy : Cunningham and Carney's entropy of the labels.

    References
    ----------
    .. [1] Kuncheva and Whitaker. "Measures of diversity in classifier ensembles and their
       relationship with the ensemble accuracy". Machine Learning 2003.

    Examples
    --------
    >>> from secateurs.measures import kuncheva_entropy
    >>> kuncheva_entropy([[0, 1], [1, 1]], [0, 1])
    0.5
    """
    right, n_members, n_samples = _right_counts(votes, y)
    if n_members == 1:
        return 0.0
    smaller = np.minimum(right, n_members - right).sum()
    return float(smaller / (n_samples * (n_members - math.ceil(n_members / 2))))


def vote_entropy(votes: ArrayLike | Votes, base: float = math.e, normalise: bool = False) -> float:
    """Compute the entropy of the votes: mean of −Σ (V/T) log(V/T); larger is more diverse [1]_.

    Parameters
    ----------
    votes : array-like of shape (n_samples, n_members) or Votes
        Labels that the members predict.
    base : float, default=e
        Base of the logarithm; the literature uses several.
    normalise : bool, default=False
        Whether to divide by the largest possible value, log min(classes, members).

    Returns
    -------
    float
        The entropy, which does not depend on the true labels.

    See Also
    --------
    kuncheva_entropy : Entropy of correct and wrong votes.

    References
    ----------
    .. [1] Cunningham and Carney. "Diversity versus quality in classification ensembles based on
       feature selection". ECML 2000.

    Examples
    --------
    >>> from secateurs.measures import vote_entropy
    >>> vote_entropy([[0, 1], [1, 1]], base=2)
    0.5
    """
    voted = as_complete_votes(votes)
    shares = voted.tally() / voted.n_members
    logs = np.log(np.where(shares > 0, shares, 1.0))
    nats = 0.0 - (shares * logs).sum() / voted.n_samples  # not −0.0
    if not normalise:
        return float(nats / math.log(base))
    n_voted_classes = int(np.count_nonzero(voted.sizes.sum(axis=0)))
    largest = math.log(min(n_voted_classes, voted.n_members))
    return float(nats / largest) if largest > 0 else 0.0


def difficulty(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute the difficulty θ: the variance of the fraction of correct members [1]_.

    Smaller values mean more diversity.

    References
    ----------
    .. [1] Hansen and Salamon. "Neural network ensembles". TPAMI 1990.

    Examples
    --------
    >>> from secateurs.measures import difficulty
    >>> difficulty([[0, 0], [1, 1]], [0, 0])
    0.25
    """
    right, n_members, _ = _right_counts(votes, y)
    return float(np.var(right / n_members))


def generalised_diversity(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute the generalised diversity: 1 − p(2) / p(1) [1]_.

    p(1) is the probability that a random member fails on a random sample, and p(2) that two random
    members both fail. Larger values mean more diversity. 0 if no member ever fails.

    References
    ----------
    .. [1] Partridge and Krzanowski. "Software diversity: practical statistics for its measurement
       and exploitation". Information and Software Technology 1997.

    Examples
    --------
    >>> from secateurs.measures import generalised_diversity
    >>> generalised_diversity([[0, 1], [1, 0]], [0, 0])
    1.0
    """
    fractions, n_members = _failure_distribution(votes, y)
    n_wrong = np.arange(n_members + 1)
    one_fails = (n_wrong / n_members * fractions).sum()
    if n_members == 1 or one_fails == 0:
        return 0.0
    both_fail = (n_wrong * (n_wrong - 1) / (n_members * (n_members - 1)) * fractions).sum()
    return float(1 - both_fail / one_fails)


def coincident_failure(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
    """Compute the coincident failure diversity: how rarely members fail on the same sample [1]_.

    1 if at most one member fails on any sample, 0 if all members fail together or none ever fails.

    References
    ----------
    .. [1] Partridge and Krzanowski. "Software diversity: practical statistics for its measurement
       and exploitation". Information and Software Technology 1997.

    Examples
    --------
    >>> from secateurs.measures import coincident_failure
    >>> coincident_failure([[0, 1], [1, 0]], [0, 0])
    1.0
    """
    fractions, n_members = _failure_distribution(votes, y)
    failed, n_wrong = fractions[1:], np.arange(1, n_members + 1)
    if n_members == 1 or failed.sum() == 0:
        return 0.0
    return float(((n_members - n_wrong) / (n_members - 1) * failed).sum() / failed.sum())


def label_ambiguity(votes: ArrayLike | Votes) -> float:
    """Compute the fraction of votes that differ from the ensemble's; larger is more diverse [1]_.

    References
    ----------
    .. [1] Zenobi and Cunningham. "Using diversity in preparing ensembles of classifiers based on
       different feature subsets to minimize generalization error". ECML 2001.

    Examples
    --------
    >>> from secateurs.measures import label_ambiguity
    >>> label_ambiguity([[0, 0, 1], [1, 1, 1]])
    0.16666666666666666
    """
    voted = as_complete_votes(votes)
    n_votes = voted.n_samples * voted.n_members
    return float((n_votes - voted.tally().max(axis=1).sum()) / n_votes)


class LossAmbiguity(NamedTuple):
    """Gain in accuracy of the vote over the average member: total = good − bad."""

    total: float
    good: float
    bad: float


def loss_ambiguity(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> LossAmbiguity:
    """Compute the ambiguity of the 0/1 loss: mean error minus error of the vote [1]_ [2]_.

    Good diversity is the fraction of wrong members where the vote is correct. Bad diversity is the
    fraction of correct members where the vote is wrong. Both are averaged over all samples.

    References
    ----------
    .. [1] Chen. "Diversity and regularization in neural network ensembles". PhD thesis 2008.
    .. [2] Brown and Kuncheva. "'Good' and 'bad' diversity in majority vote ensembles". MCS 2010.

    Examples
    --------
    >>> from secateurs.measures import loss_ambiguity
    >>> loss_ambiguity([[0, 0, 1, 0], [1, 1, 0, 1]], [0, 0])
    LossAmbiguity(total=0.0, good=0.125, bad=0.125)
    """
    voted = as_complete_votes(votes, y)
    vote_right = as_votes(votes, y).is_right()  # members that abstain do not vote
    fraction_right = voted.oracle.tally()[:, 0] / voted.n_members
    good = float(np.where(vote_right, 1 - fraction_right, 0.0).mean())
    bad = float(np.where(vote_right, 0.0, fraction_right).mean())
    return LossAmbiguity(float(vote_right.mean() - fraction_right.mean()), good, bad)


def disagreement_error_ratio(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float | None:
    """Compute the disagreement–error ratio; above 1, voting is expected to help [1]_.

    It is the mean disagreement of two independently drawn members, divided by the mean error. None
    if no member ever fails.

    References
    ----------
    .. [1] Theisen et al. "When are ensembles really effective?". NeurIPS 2023.

    Examples
    --------
    >>> from secateurs.measures import disagreement_error_ratio
    >>> disagreement_error_ratio([[0, 1], [1, 0]], [0, 0])
    1.0
    """
    voted = as_complete_votes(votes, y)
    n_members = voted.n_members
    error = 1 - voted.n_right.sum() / (voted.n_samples * n_members)
    if voted.n_right.sum() == voted.n_samples * n_members:
        return None
    return float(disagreement.mean(voted) * (n_members - 1) / n_members / error)


def c_bound(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float | None:
    """Compute the C-bound on the error of the vote: 1 − (E M)² / E M² [1]_.

    The margin M is the fraction of correct members minus the fraction of wrong members. None if its
    mean is not positive, because the bound does not hold then.

    References
    ----------
    .. [1] Germain et al. "Risk bounds for the majority vote". JMLR 2015.

    Examples
    --------
    >>> from secateurs.measures import c_bound
    >>> c_bound([[0, 0, 1], [0, 1, 0]], [0, 0])
    0.0
    """
    right, n_members, n_samples = _right_counts(votes, y)
    margins = 2 * right - n_members
    if margins.sum() <= 0:
        return None
    # Python integers: with many votes the products exceed 64 bits.
    scaled_second_moment = n_samples * int((margins**2).sum())
    return float(1 - int(margins.sum()) ** 2 / scaled_second_moment)
