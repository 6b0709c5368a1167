"""Member diagnostics: accuracies, pairwise agreement, distances and selection steps of members."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from secateurs.measures import kappa, nvi
from secateurs.measures.group_predictions import EQUAL_WEIGHTS, GroupWeights
from secateurs.measures.pair_measure import safe_divide
from secateurs.measures.vote_counts import Counts, VotedSamples, count_correct
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.typing import BoolArray, FloatArray, IndexArray

# Bounds the n² distances that a page contains and a heat map shows.
MOST_IN_HEATMAP = 512
MOST_IN_PAIRS = 1000  # members of which all pairs are compared: half a million points
MOST_LIVE = MOST_IN_HEATMAP  # members up to which the report has the distances of all pairs
# Correlations are undefined if errors vary by rounding only, which is a few units of the last bit
# of the fixed-point values.
_ROUNDING_UNITS = 4.0


def n_right_by_group(
    votes: Votes, groups: Sequence[Sequence[int]], weights: GroupWeights = EQUAL_WEIGHTS
) -> Counts:
    """Return the number of samples that each group of members predicts correctly, by labels."""
    (block,) = VotedSamples(votes).vote_blocks()
    return count_correct(block, groups, own=False, weights=weights)[0].n_right


def member_accuracies(votes: Votes) -> FloatArray:
    """Return the accuracy of each member alone, on the samples that it has a vote on."""
    return safe_divide(votes.n_right, votes.n_voted, 0.0)


class KappaError(NamedTuple):
    """Agreement (κ) and mean error of every pair of members."""

    first: IndexArray
    second: IndexArray
    kappa: FloatArray
    error: FloatArray

    def pairs_among(self, members: Sequence[int]) -> BoolArray:
        """Return a mask of the pairs whose members are both among these."""
        return np.isin(self.first, members) & np.isin(self.second, members)

    @property
    def pareto_front(self) -> BoolArray:
        """Mask of the Pareto-optimal pairs: no other pair agrees less with fewer errors."""
        order = np.lexsort((self.error, self.kappa))
        error = self.error[order]
        lowest = np.minimum.accumulate(np.concatenate([[np.inf], error[:-1]]))
        front = np.zeros(len(order), dtype=bool)
        front[order] = error < lowest
        return front


def kappa_error(votes: Votes, kept: Sequence[int] = ()) -> KappaError:
    """Return κ and the mean error of all pairs of members, or of a subset if there are very many.

    A subset contains the kept members.
    """
    members = _member_subset(votes.n_members, kept, MOST_IN_PAIRS)
    rows, columns = np.triu_indices(len(members), 1)
    first, second = members[rows], members[columns]
    errors = 1 - member_accuracies(votes)
    values = kappa.matrix(votes.take(members))[rows, columns]
    return KappaError(first, second, values, (errors[first] + errors[second]) / 2)


class PairDistances(NamedTuple):
    """Distances between members, and an order in which similar members are neighbours."""

    members: IndexArray  # all, or a subset if there are very many
    values: FloatArray  # normalised variation of information, (len(members), len(members))
    order: IndexArray  # positions in ``members``, by clusters
    # 1st and 99th percentile of the distances without the diagonal: the range of colours, which
    # single outliers do not widen.
    low: float
    high: float


def pair_distances(votes: Votes, kept: Sequence[int]) -> PairDistances:
    """Return the distances of all pairs of members, or of a subset if there are very many."""
    members = _member_subset(votes.n_members, kept, MOST_IN_HEATMAP)
    values = nvi.matrix(votes.take(members))
    np.fill_diagonal(values, 0.0)
    distances = values[np.triu_indices(len(members), 1)]
    low, high = np.percentile(distances, [1, 99]) if len(distances) else (0.0, 1.0)
    return PairDistances(members, values, cluster_order(values), float(low), float(high))


def _member_subset(n_members: int, kept: Sequence[int], most: int) -> IndexArray:
    """Return all members; if there are very many, kept members and evenly spaced other members."""
    members = np.arange(n_members)
    if n_members <= most:
        return members
    first = np.array(list(kept)[: most // 2], dtype=np.intp)
    rest = np.setdiff1d(members, first)
    spaced = rest[np.linspace(0, len(rest) - 1, most - len(first)).astype(int)]
    return np.sort(np.concatenate([first, spaced]))


class ErrorCorrelations(NamedTuple):
    """Correlation of errors, and mean root mean squared error, of pairs of regressors."""

    first: IndexArray
    second: IndexArray
    correlation: FloatArray
    error: FloatArray


def error_correlations(predictions: Predictions, kept: Sequence[int]) -> ErrorCorrelations:
    """Return the correlations of errors of pairs, on the samples for which both have a prediction.

    If there are very many members, a subset is used. The correlation is 0 if the errors of a
    member are all equal, except for rounding.
    """
    predictions = predictions.completed
    members = _member_subset(predictions.n_members, kept, MOST_IN_HEATMAP)
    present = np.stack([~predictions.is_missing(m) for m in members]).astype(float)
    errors = np.stack([predictions.values(m) - predictions.truth for m in members]) * present
    # Centred errors have smaller sums, and so smaller rounding errors.
    errors -= present * safe_divide(errors.sum(axis=1), present.sum(axis=1), 0.0)[:, None]
    n_both = present @ present.T
    # In row i and column j: the mean error of member i where member j has a prediction.
    mean = safe_divide(errors @ present.T, n_both, 0.0)
    variance = safe_divide(errors**2 @ present.T, n_both, 0.0) - mean**2
    covariance = safe_divide(errors @ errors.T, n_both, 0.0) - mean * mean.T
    rounding = np.ldexp(_ROUNDING_UNITS, -predictions.exponent)
    varies = np.minimum(variance, variance.T) > rounding**2
    scale = np.sqrt(np.where(varies, variance * variance.T, 1.0))
    correlation = np.where(varies, covariance / scale, 0.0)
    first, second = np.triu_indices(len(members), 1)
    error = np.sqrt(predictions.squared_errors[members])
    return ErrorCorrelations(
        members[first],
        members[second],
        np.clip(correlation[first, second], -1.0, 1.0),
        (error[first] + error[second]) / 2,
    )


def cluster_order(distances: FloatArray) -> IndexArray:
    """Return an order in which similar members are neighbours, by average linkage."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(distances) < 2:
        return np.arange(len(distances))
    return leaves_list(linkage(squareform(distances, checks=False), "average")).astype(np.intp)


class SelectionStep(NamedTuple):
    """One step of a selection, with accuracies on the validation samples, counting labels."""

    member: int
    score: float  # the method's objective after this step
    accuracy: float  # of the vote after this step
    alone: float  # accuracy of this member alone
    distance: float  # mean variation of information to the previous members; NaN for the first
    weight: float = np.nan  # in the vote; NaN if all members have the same weight


def selection_steps(
    votes: Votes, members: Sequence[int], scores: Sequence[float], weights: FloatArray | None = None
) -> list[SelectionStep]:
    """Return the steps of a selection, whose members may have weights."""
    order = list(members)
    groups = [order[: n + 1] for n in range(len(order))]
    group_weights = {} if weights is None else {n: weights[: n + 1] for n in range(len(order))}
    accuracies = n_right_by_group(votes, groups, group_weights) / votes.n_samples
    alone = member_accuracies(votes)[order]
    distances = nvi.matrix(votes.take(order))
    mean_distances = [np.nan, *(distances[n, :n].mean() for n in range(1, len(order)))]
    step_weights = np.full(len(order), np.nan) if weights is None else weights
    steps = zip(order, scores, accuracies, alone, mean_distances, step_weights, strict=True)
    return [SelectionStep(int(member), *map(float, figures)) for member, *figures in steps]
