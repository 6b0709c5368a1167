"""Clustering: keep one member of each cluster of similar members."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secateurs.measures import disagreement, double_fault, nvi, oracle_disagreement
from secateurs.measures.pair_measure import Floats, safe_divide
from secateurs.objectives import VoteError
from secateurs.outputs import cluster_kernels
from secateurs.outputs.missing_answers import first_members, with_valid_first
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import check_option
from secateurs.search import TIE, Choice, best_member, best_prefix, raise_if_stopped
from secateurs.typing import BoolArray

_MOST_CELLS = 1 << 20  # bounds the memory of one block of cells to 8 MB of floats


# In place: allocating a second matrix took more than half of the time for 5,000 members.
def _complement(matrix: Floats) -> Floats:
    return np.subtract(1.0, matrix, out=matrix)


def _square_root(matrix: Floats) -> Floats:
    return np.sqrt(matrix, out=matrix)


# Euclidean distances lack a factor of √(2d) or √d for d samples, which does not affect clusters.
_DISTANCES: dict[str, Callable[[Votes], Floats]] = {
    "double_fault": lambda votes: _complement(double_fault.matrix(votes)),
    "disagreement": disagreement.matrix,
    "nvi": nvi.matrix,
    "onehot": lambda votes: _square_root(disagreement.matrix(votes)),
    "oracle": lambda votes: _square_root(oracle_disagreement.matrix(votes)),
    "proba": lambda votes: _square_root(disagreement.matrix(votes)),  # of labels, as "onehot"
}
_LINKAGES = ("average", "single", "complete")  # in the order of `cluster_kernels.merge_rows`


class ClusterPruner(BasePruner):
    """Cluster similar members, and keep one member of each cluster [1]_.

    Every member starts as its own cluster. The two closest clusters are merged until the number of
    clusters is the number of members to keep.

    Parameters
    ----------
    keep : int, float or None, default=None
        Number of members to keep, which is the number of clusters: a count, or a fraction of the
        ensemble. None keeps the smallest number of members whose vote has the fewest errors.
    representation : {"double_fault", "disagreement", "nvi", "onehot", "oracle", "proba"}, \
default="double_fault"
        How members are compared. The distance is 1 − the fraction of samples that both members get
        wrong (as in the paper), the fraction of samples with different labels, the normalised
        variation of information, or the Euclidean distance between one-hot labels, between
        vectors of right and wrong, or between probabilities. For "proba", labels count as
        probabilities of 0 and 1.
    linkage : {"average", "single", "complete"}, default="average"
        Distance of two clusters: the mean, the smallest or the largest distance of their members.
    representative : {"accuracy", "distant", "medoid"}, default="accuracy"
        The member to keep from each cluster: the most accurate member, the member with the largest
        mean distance to members of other clusters (as in the paper), or the member with the
        smallest mean distance to members of its own cluster.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members; clusters are in the order of their first members.
    scores_ : ndarray of shape (n_kept,)
        Number of members in the cluster of each kept member.
    labels_ : ndarray of shape (n_members,)
        Cluster of each member: the index of its representative in ``member_indices_``.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    KappaPruner : Keeps the pairs of members that agree the least.
    measures.double_fault : Fraction of samples that two members get wrong.

    Notes
    -----
    Among equally close pairs of clusters, the pair with the lowest first members is merged. With
    ``keep=None`` a tied vote counts as 1 − 1/q errors if the true class is one of q tied classes.

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
        """Kinds of predictions: probabilities only if members are compared by them."""
        return ("labels", "probabilities") if self.representation == "proba" else ("labels",)

    def _check_parameters(self, votes: Votes | Predictions) -> None:
        check_option("representation", self.representation, _DISTANCES)
        check_option("linkage", self.linkage, _LINKAGES)
        check_option("representative", self.representative, ("accuracy", "distant", "medoid"))

    def _select(
        self, outputs: Votes | Predictions, n_keep: int | None, rng: np.random.RandomState
    ) -> Choice:
        if isinstance(outputs, Predictions):
            votes, distances = outputs.votes, _probability_distances(outputs.completed)
        else:
            votes, distances = outputs, _DISTANCES[self.representation](outputs)
        np.fill_diagonal(distances, 0.0)
        # Only the other representatives need the distances again; a copy of them takes long.
        needs_distances = self.representative != "accuracy"
        between = distances.copy() if needs_distances else distances
        merges = _merge_clusters(between, self.linkage, n_keep or 1)
        if n_keep is None:
            merges = merges[: votes.n_members - self._best_cluster_count(votes, distances, merges)]
        labels = np.arange(votes.n_members)
        for first, second in merges:
            labels[labels == second] = first
        clusters, self.labels_, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        all_sums, own_sums = distances.sum(axis=1), np.zeros(votes.n_members)
        members = []
        for cluster in clusters:
            in_cluster = labels == cluster
            if needs_distances:
                own_sums[in_cluster] = distances[np.ix_(in_cluster, in_cluster)].sum(axis=1)
            members.append(self._select_representative(votes, in_cluster, own_sums, all_sums))
        members = with_valid_first(members, votes)
        return Choice(members, sizes[self.labels_[members]])

    def _best_cluster_count(
        self, votes: Votes, distances: Floats, merges: list[tuple[int, int]]
    ) -> int:
        """Return the smallest number of clusters whose representatives have the best vote."""
        objective = VoteError(votes, ties="shared")
        labels = np.arange(votes.n_members)
        representatives = dict(enumerate(range(votes.n_members)))
        objective.reset(representatives)
        values = [objective.value]
        # Sums of distances are updated, as computing them for each cluster would be cubic.
        own_sums = np.zeros(votes.n_members)
        all_sums = distances.sum(axis=1)
        for first, second in merges:
            objective.remove(representatives[first])
            objective.remove(representatives.pop(second))
            if self.representative != "accuracy":
                parts = np.flatnonzero(labels == first), np.flatnonzero(labels == second)
                block = distances[np.ix_(*parts)]
                own_sums[parts[0]] += block.sum(axis=1)
                own_sums[parts[1]] += block.sum(axis=0)
            labels[labels == second] = first
            representatives[first] = self._select_representative(
                votes, labels == first, own_sums, all_sums
            )
            objective.add(representatives[first])
            values.append(objective.value)
        return best_prefix(values[::-1])

    def _select_representative(
        self, votes: Votes, in_cluster: BoolArray, own_sums: Floats, all_sums: Floats
    ) -> int:
        """Return the member to keep from a cluster, given sums of distances to it and to all."""
        members, n_own = np.flatnonzero(in_cluster), int(in_cluster.sum())
        is_first = first_members(votes)[members]
        if self.representative != "accuracy" and is_first.any():
            members = members[is_first]
        if self.representative == "accuracy":
            scores = votes.n_right[members] / votes.n_voted[members]
        elif self.representative == "distant":
            n_others = max(1, len(in_cluster) - n_own)
            scores = (all_sums[members] - own_sums[members]) / n_others
        else:
            scores = -own_sums[members] / n_own
        return int(members[best_member(scores)])


def _probability_distances(predictions: Predictions) -> Floats:
    """Return the Euclidean distances of members' probabilities, per sample that both have."""
    # Probabilities are stored as integers, whose products add up exactly: the order of the samples
    # does not matter.
    n_members, n_components, n_samples = predictions.cells.shape
    products = np.zeros((n_members, n_members), dtype=np.int64)
    squares, n_common = np.zeros_like(products), np.zeros_like(products)
    missing = np.stack([predictions.is_missing(member) for member in range(n_members)])
    step = max(1, _MOST_CELLS // (n_members * n_components))
    for first in range(0, n_samples, step):
        samples = slice(first, first + step)
        present = (~missing[:, samples]).astype(float)
        cells = predictions.cells[..., samples] * present[:, None]
        flat = cells.reshape(n_members, -1)
        products += (flat @ flat.T).astype(np.int64)
        squares += ((cells**2).sum(axis=1) @ present.T).astype(np.int64)
        n_common += (present @ present.T).astype(np.int64)
    mean_squares = safe_divide(squares + squares.T - 2 * products, n_common, 0.0)
    return np.ldexp(np.sqrt(mean_squares), -predictions.exponent)


def _merge_clusters(between: Floats, linkage: str, n_clusters: int) -> list[tuple[int, int]]:
    """Return the clusters that each step merges, each named by its first member.

    The distances ``between`` members are overwritten by those between clusters.
    """
    # SciPy's linkage breaks ties by rounding and by the order of its search; here ties go to the
    # lowest members, as in all methods (docs/decisions/0005-readings-of-the-methods.md). Counts
    # on few samples make most distances equal, so that its clusters would be others.
    np.fill_diagonal(between, np.inf)
    nearest = between.min(axis=1)
    is_bound = np.zeros(len(between), dtype=bool)
    sizes = np.ones(len(between))
    merges = []
    for _ in range(len(between) - n_clusters):
        raise_if_stopped()
        first, second = cluster_kernels.closest_pair(between, nearest, is_bound, TIE)
        merges.append((first, second))
        merged_size = sizes[first] + sizes[second]
        share = sizes[first] / merged_size
        sizes[first] = merged_size
        pair = first, second, _LINKAGES.index(linkage), share
        cluster_kernels.merge_rows(between, nearest, is_bound, *pair)
    return merges
