"""Expected accuracy of the vote of any k members, for members that are exchangeable.

Samples of one language model at the same settings are exchangeable: no member is better than
another. The question is then how many members to ask, not which ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import comb

from secateurs.exceptions import InputError
from secateurs.measures._plurality_kernels import count_plurality_wins
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.outputs.votes import Votes
from secateurs.typing import FloatArray, IndexArray

_MOST_MEMBERS = 1000  # binomial coefficients of more members exceed the largest float


@dataclass(frozen=True, eq=False)
class ExpectedVotes:
    """Expected accuracy of the vote of k members that are drawn at random, for every k."""

    sizes: IndexArray  # 1, 2, …
    values: FloatArray
    standard_errors: FloatArray  # over samples

    def describe(self, size: int) -> str:
        """Return the expected accuracy of a size with its 95 % interval, in words."""
        value, error = self.values[size - 1], self.standard_errors[size - 1]
        return f"{value:.4f} ± {NORMAL_97_5 * error:.4f}"


def expected_votes(votes: Votes, sample_weight: FloatArray | None = None) -> ExpectedVotes:
    """Return the expected accuracy of the plurality vote of k members, drawn without replacement.

    The expectation is over all sets of k members. It follows from the number of votes for each
    class, so no set is drawn: the numbers of drawn votes have a multivariate hypergeometric
    distribution. Ties go to the lowest class, and a sample without votes is not correct.

    Parameters
    ----------
    votes : Votes
        Labels of the members, with the true labels.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the samples.

    Returns
    -------
    ExpectedVotes

    Examples
    --------
    >>> from secateurs import Votes
    >>> from secateurs.measures.expected_votes import expected_votes
    >>> expected_votes(Votes.encode([[1, 1, 0], [0, 1, 0]], [1, 0])).values
    array([0.66666667, 0.66666667, 1.        ])
    """
    n_members, n_classes = votes.n_members, votes.n_classes
    if n_members > _MOST_MEMBERS:
        raise InputError(
            f"There are {n_members:,} exchangeable members, more than {_MOST_MEMBERS:,}. Pass "
            "fewer members: their expected score hardly changes."
        )
    tally = votes.tally().astype(np.int64)
    truth = votes.truth
    # Votes for the true class, for lower classes (descending, so that equal patterns coincide),
    # for higher classes, and missing votes.
    own = tally[np.arange(len(truth)), truth]
    is_lower = np.arange(n_classes) < truth[:, None]
    is_higher = np.arange(n_classes) > truth[:, None]
    lower, higher = (-np.sort(-np.where(mask, tally, 0)) for mask in (is_lower, is_higher))
    patterns = np.column_stack([own, lower, higher, n_members - tally.sum(axis=1)])
    unique, inverse = np.unique(patterns, axis=0, return_inverse=True)
    sizes = np.arange(1, n_members + 1)
    binomials = comb(np.arange(n_members + 1)[:, None], np.arange(n_members + 1))
    wins = np.zeros((len(unique), n_members + 1))
    work = np.zeros((2, n_members + 1))
    count_plurality_wins(unique, n_classes, binomials, work, wins)
    shares = (wins / binomials[n_members])[inverse.ravel(), 1:]
    weights = np.ones(len(truth)) if sample_weight is None else sample_weight
    weights = weights / weights.sum()
    values = weights @ shares
    errors = np.sqrt(weights**2 @ (shares - values) ** 2)
    return ExpectedVotes(sizes, values, errors)
