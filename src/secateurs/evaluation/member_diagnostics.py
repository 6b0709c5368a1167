"""The numbers behind the figures of members, for the report and the displays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation.evaluation_plan import VotedSamples
from secateurs.evaluation.score_curve import EQUAL_WEIGHTS, Floats, GroupWeights
from secateurs.evaluation.size_curves import count_correct
from secateurs.measures import kappa, nvi
from secateurs.measures.pair_measure import safe_divide
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes

Counts = NDArray[np.int64]

MOST_IN_HEATMAP = 512
MOST_LIVE = MOST_IN_HEATMAP  # members up to which the report has the distances of all pairs


def n_right_by_group(
    votes: Votes, groups: Sequence[Sequence[int]], weights: GroupWeights = EQUAL_WEIGHTS
) -> Counts:
    """Return the number of rows that each group of members gets right, counting labels."""
    (ballots,) = VotedSamples(votes).vote_blocks()
    return count_correct(ballots, groups, own=False, weights=weights)[0].n_right


def member_accuracies(votes: Votes) -> Floats:
    """Return the accuracy of each member alone, on the rows it has a vote on."""
    return safe_divide(votes.n_right, votes.n_voted, 0.0)


class KappaError(NamedTuple):
    """Agreement (κ) and mean error of every pair of members."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    kappa: Floats
    error: Floats

    def pairs_among(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """Return a mask of the pairs of two of these members."""
        return np.isin(self.first, members) & np.isin(self.second, members)

    @property
    def pareto_front(self) -> NDArray[np.bool_]:
        """Mask of the pairs that no other pair beats: agreeing less, with fewer errors."""
        order = np.lexsort((self.error, self.kappa))
        error = self.error[order]
        lowest = np.minimum.accumulate(np.concatenate([[np.inf], error[:-1]]))
        front = np.zeros(len(order), dtype=bool)
        front[order] = error < lowest
        return front


def kappa_error(votes: Votes) -> KappaError:
    """Compute κ and the mean error of all pairs of members."""
    first, second = np.triu_indices(votes.n_members, 1)
    errors = 1 - member_accuracies(votes)
    return KappaError(
        first, second, kappa.matrix(votes)[first, second], (errors[first] + errors[second]) / 2
    )


class PairDistances(NamedTuple):
    """Distances between members, and an order in which close ones are neighbours.

    Attributes
    ----------
    members : ndarray
        The members: all, or some where there are very many.
    values : ndarray of shape (len(members), len(members))
        Normalised variation of information.
    order : ndarray
        Positions in ``members``, by clusters.
    low, high : float
        The 1st and 99th percentile of the distances without the diagonal: the range of colours.
    """

    members: NDArray[np.intp]
    values: Floats
    order: NDArray[np.intp]
    low: float
    high: float


def pair_distances(votes: Votes, kept: Sequence[int]) -> PairDistances:
    """Compute the distances of all pairs; of very many members, those of the kept and some more."""
    members = _some_members(votes.n_members, kept)
    values = nvi.matrix(votes.take(members))
    np.fill_diagonal(values, 0.0)
    off = values[np.triu_indices(len(members), 1)]
    low, high = np.percentile(off, [1, 99]) if len(off) else (0.0, 1.0)
    return PairDistances(members, values, cluster_order(values), float(low), float(high))


def _some_members(n_members: int, kept: Sequence[int]) -> NDArray[np.intp]:
    """Return all members; of very many, those kept and some more."""
    members = np.arange(n_members)
    if n_members <= MOST_IN_HEATMAP:
        return members
    first = np.array(list(kept)[: MOST_IN_HEATMAP // 2])
    others = np.setdiff1d(members, first)
    spread = others[np.linspace(0, len(others) - 1, MOST_IN_HEATMAP - len(first)).astype(int)]
    return np.sort(np.concatenate([first, spread]))


class ErrorCorrelations(NamedTuple):
    """Correlation of errors, and mean of the root mean squared errors, of pairs of regressors."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    correlation: Floats
    error: Floats


def error_correlations(scores: Predictions, kept: Sequence[int]) -> ErrorCorrelations:
    """Compute how alike pairs err, on the rows that both have; of very many members, of some.

    A member whose errors are all the same, but for rounding, is correlated with none: 0.
    """
    members = _some_members(scores.n_members, kept)
    present = np.stack([~scores.is_missing(m) for m in members]).astype(float)
    off = np.stack([scores.values(m) - scores.truth for m in members]) * present
    off -= present * safe_divide(off.sum(axis=1), present.sum(axis=1), 0.0)[:, None]  # smaller sums
    n_both = present @ present.T
    mean = safe_divide(
        off @ present.T, n_both, 0.0
    )  # of the row's member, where the other has a number
    spread = safe_divide(off**2 @ present.T, n_both, 0.0) - mean**2
    together = safe_divide(off @ off.T, n_both, 0.0) - mean * mean.T
    rounding = np.ldexp(4.0, -scores.exponent)
    varies = np.minimum(spread, spread.T) > rounding**2
    scale = np.sqrt(np.where(varies, spread * spread.T, 1.0))
    correlation = np.where(varies, together / scale, 0.0)
    first, second = np.triu_indices(len(members), 1)
    error = np.sqrt(scores.squared_errors[members])
    return ErrorCorrelations(
        members[first],
        members[second],
        np.clip(correlation[first, second], -1.0, 1.0),
        (error[first] + error[second]) / 2,
    )


def cluster_order(distances: Floats) -> NDArray[np.intp]:
    """Return an order in which close members are neighbours, by average linkage."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(distances) < 2:
        return np.arange(len(distances))
    return leaves_list(linkage(squareform(distances, checks=False), "average")).astype(np.intp)


class SelectionStep(NamedTuple):
    """One step of the choice.

    Attributes
    ----------
    member : int
        The member chosen.
    score : float
        The method's score of the set after it.
    accuracy : float
        Accuracy of the vote after it, on the rows chosen on, counting labels.
    alone : float
        Accuracy of the member alone there.
    distance : float
        Its mean variation of information to the members chosen before; NaN for the first.
    weight : float
        Its weight in the vote; NaN where all count the same.
    """

    member: int
    score: float
    accuracy: float
    alone: float
    distance: float
    weight: float = np.nan


def selection_steps(
    votes: Votes, members: Sequence[int], scores: Sequence[float], weights: Floats | None = None
) -> list[SelectionStep]:
    """Return the steps of a choice, whose members may have weights."""
    order = list(members)
    groups = [order[: n + 1] for n in range(len(order))]
    inside = {} if weights is None else {n: weights[: n + 1] for n in range(len(order))}
    after = n_right_by_group(votes, groups, inside) / votes.n_samples
    alone = member_accuracies(votes)[order]
    apart = nvi.matrix(votes.take(order))
    distance = [np.nan, *(apart[n, :n].mean() for n in range(1, len(order)))]
    each = np.full(len(order), np.nan) if weights is None else weights
    lines = zip(order, scores, after, alone, distance, each, strict=True)
    return [SelectionStep(int(member), *map(float, figures)) for member, *figures in lines]
