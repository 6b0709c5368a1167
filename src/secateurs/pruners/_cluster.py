"""Clustering: keep one member of each group of members that are alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from secateurs.measures import disagreement, double_fault, nvi, oracle_disagreement
from secateurs.measures.pair_measure import Floats, safe_divide
from secateurs.objectives import VoteError
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import check_option
from secateurs.search import Choice, best_member, best_prefix, raise_if_stopped

Labels = NDArray[np.intp]

_MOST_CELLS = 1 << 20  # compared at once: 8 MB as floats

# Euclidean distances are up to a factor, √(2d) or √d for d rows, which no clustering depends on.
_DISTANCES: dict[str, Callable[[Votes], Floats]] = {
    "double_fault": lambda votes: 1 - double_fault.matrix(votes),
    "disagreement": disagreement.matrix,
    "nvi": nvi.matrix,
    "onehot": lambda votes: np.sqrt(disagreement.matrix(votes)),
    "oracle": lambda votes: np.sqrt(oracle_disagreement.matrix(votes)),
    "proba": lambda votes: np.sqrt(disagreement.matrix(votes)),  # of labels, as "onehot"
}
_LINKAGES: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "average": lambda first, second, part: part * first + (1 - part) * second,
    "single": lambda first, second, part: np.minimum(first, second),
    "complete": lambda first, second, part: np.maximum(first, second),
}


class ClusterPruner(BasePruner):
    """Cluster members that are alike, and keep one member of each cluster [1]_.

    Every member starts as a cluster of its own; the two closest clusters become one until as many
    are left as members are to be kept.

    Parameters
    ----------
    keep : int, float or None, default=None
        Number of members to keep, and of clusters: a count, or a fraction of the ensemble. None
        keeps the smallest number whose vote has the fewest errors.
    representation : {"double_fault", "disagreement", "nvi", "onehot", "oracle", "proba"}, \
default="double_fault"
        What members are compared by. Distances are 1 − the fraction of samples that both get wrong
        (the paper), the fraction of samples with different labels, the normalised variation of
        information, or the Euclidean distance of one-hot labels, of right and wrong, or of
        probabilities. The last takes labels as probabilities of 0 and 1.
    linkage : {"average", "single", "complete"}, default="average"
        Distance of two clusters: the mean, the smallest or the largest of those of their members.
    representative : {"accuracy", "distant", "medoid"}, default="accuracy"
        The member kept of each cluster: the most accurate one, the one with the largest mean
        distance to members of other clusters (the paper), or the one with the smallest mean
        distance to those of its own.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members; clusters are in the order of their first members.
    scores_ : ndarray of shape (n_kept,)
        Number of members in the cluster of each.
    labels_ : ndarray of shape (n_members,)
        Cluster of each member: the place of its representative in ``member_indices_``.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    KappaPruner : Keeps the pairs of members that agree the least.
    measures.double_fault : Fraction of samples that two members get wrong.

    Notes
    -----
    Of pairs of clusters that are equally close, the one with the lowest first members is merged.
    With ``keep=None`` a tied vote counts as 1 − 1/q errors if the true class is one of q tied ones.

    References
    ----------
    .. [1] Giacinto, Roli and Fumera. "Design of effective multiple classifier systems by
       clustering of classifiers". ICPR 2000.

    Examples
    --------
    >>> from secateurs import ClusterPruner
    >>> votes = [[0, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]]
    >>> pruner = ClusterPruner(keep=2).fit(votes, [0, 0, 1, 1])
    >>> pruner.member_indices_, pruner.labels_
    (array([0, 2]), array([0, 0, 1, 1]))
    """

    def __init__(
        self,
        keep: int | float | None = None,
        representation: str = "double_fault",
        linkage: str = "average",
        representative: str = "accuracy",
    ) -> None:
        self.keep = keep
        self.representation = representation
        self.linkage = linkage
        self.representative = representative

    @property
    def outputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the method looks at: probabilities only where members are compared by them."""
        return ("labels", "probabilities") if self.representation == "proba" else ("labels",)

    def _check_parameters(self, votes: Votes | Predictions) -> None:
        check_option("representation", self.representation, _DISTANCES)
        check_option("linkage", self.linkage, _LINKAGES)
        check_option("representative", self.representative, ("accuracy", "distant", "medoid"))

    def _select(
        self, outputs: Votes | Predictions, n_keep: int | None, rng: np.random.RandomState
    ) -> Choice:
        if isinstance(outputs, Predictions):
            votes, distances = outputs.votes, _probability_distances(outputs)
        else:
            votes, distances = outputs, _DISTANCES[self.representation](outputs)
        np.fill_diagonal(distances, 0.0)
        merges = _merge_clusters(distances, _LINKAGES[self.linkage], n_keep or 1)
        if n_keep is None:
            merges = merges[: votes.n_members - self._best_cluster_count(votes, distances, merges)]
        labels = np.arange(votes.n_members)
        for first, second in merges:
            labels[labels == second] = first
        clusters, self.labels_, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        members = [self._select_representative(votes, distances, labels == c) for c in clusters]
        return Choice(members, sizes)

    def _best_cluster_count(
        self, votes: Votes, distances: Floats, merges: list[tuple[int, int]]
    ) -> int:
        """Return the smallest number of clusters whose representatives vote best."""
        objective = VoteError(votes, ties="shared")
        labels = np.arange(votes.n_members)
        kept = dict(enumerate(range(votes.n_members)))
        objective.reset(kept)
        values = [objective.value]
        for first, second in merges:
            objective.remove(kept[first])
            objective.remove(kept.pop(second))
            labels[labels == second] = first
            kept[first] = self._select_representative(votes, distances, labels == first)
            objective.add(kept[first])
            values.append(objective.value)
        return best_prefix(values[::-1])

    def _select_representative(
        self, votes: Votes, distances: Floats, inside: NDArray[np.bool_]
    ) -> int:
        """Return the member that stands for a cluster."""
        members = np.flatnonzero(inside)
        if self.representative == "accuracy":
            scores = votes.n_right[members] / votes.n_voted[members]
        elif self.representative == "distant":
            scores = distances[members] @ ~inside / max(1, len(inside) - len(members))
        else:
            scores = -(distances[members] @ inside) / len(members)
        return int(members[best_member(scores)])


def _probability_distances(scores: Predictions) -> Floats:
    """Return the Euclidean distances of members' probabilities, per sample that both have.

    They are integers, whose products add up exactly: the order of the samples changes nothing.
    """
    n_members, n_components, n_samples = scores.cells.shape
    products = np.zeros((n_members, n_members), dtype=np.int64)
    squares, common = np.zeros_like(products), np.zeros_like(products)
    missing = np.stack([scores.is_missing(member) for member in range(n_members)])
    step = max(1, _MOST_CELLS // (n_members * n_components))
    for first in range(0, n_samples, step):
        rows = slice(first, first + step)
        present = (~missing[:, rows]).astype(float)
        cells = scores.cells[..., rows] * present[:, None]
        flat = cells.reshape(n_members, -1)
        products += (flat @ flat.T).astype(np.int64)
        squares += ((cells**2).sum(axis=1) @ present.T).astype(np.int64)
        common += (present @ present.T).astype(np.int64)
    apart = safe_divide(squares + squares.T - 2 * products, common, 0.0)
    return np.ldexp(np.sqrt(apart), -scores.exponent)


def _merge_clusters(
    distances: Floats, join: Callable[[Floats, Floats, float], Floats], n_clusters: int
) -> list[tuple[int, int]]:
    """Return the clusters that are merged, step by step, each named by its first member.

    SciPy's linkage leaves ties to rounding and to the order of its search; here they go to the
    lowest members, as everywhere.
    """
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1)
    sizes = np.ones(len(apart))
    merges = []
    for _ in range(len(apart) - n_clusters):
        raise_if_stopped()
        row = best_member(-nearest)
        first, second = sorted((row, best_member(-apart[row])))
        merges.append((first, second))
        changed = (apart[first] <= nearest) | (apart[second] <= nearest)
        both = sizes[first] + sizes[second]
        joined = join(apart[first], apart[second], sizes[first] / both)
        sizes[first] = both
        apart[first] = apart[:, first] = joined
        apart[first, first] = apart[second] = apart[:, second] = np.inf
        changed[[first, second]] = True
        nearest[changed] = apart[changed].min(axis=1)
    return merges
