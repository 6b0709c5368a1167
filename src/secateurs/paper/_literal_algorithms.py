"""COMEP and DOMEP as printed (Algorithms 1 and 2): their numbers of distances, and plain programs.

The library computes each distance once, and compiled code counts votes as bits, so that its times
say little about the printed algorithms. These are counted and timed here as they are printed.
"""

import numpy as np
from numpy.typing import NDArray

from secateurs.measures.information import nmi, nvi
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

# Plain programs take about 0.2 ms per distance; beyond this number only the count is reported.
MOST_TIMED_DISTANCES = 50_000


def count_distances(n_members: int, keep: int, incremental: bool = False) -> int:
    """Return how many distances COMEP computes.

    As printed, step i sums the distances of each of the n − i + 1 candidates to all i − 1 selected
    members. The incremental form adds only the distance to the member selected last.

    Examples
    --------
    >>> from secateurs.paper._literal_algorithms import count_distances
    >>> count_distances(100, 10), count_distances(100, 10, incremental=True)
    (4215, 855)
    """
    steps = np.arange(2, min(keep, n_members) + 1)
    return int(np.sum((n_members - steps + 1) * (1 if incremental else steps - 1)))


def counted_speedup(n_members: int, keep: int, n_groups: int, incremental: bool = False) -> float:
    """Return the distances of COMEP divided by those of DOMEP with one machine per group.

    These are the distances of the largest group, of the second round, and of the comparison of all
    results: by equation 5, the objective of k members needs k (k − 1) distances. The incremental
    form knows the objectives from its sums.

    Examples
    --------
    >>> from secateurs.paper._literal_algorithms import counted_speedup
    >>> round(counted_speedup(100, 10, 2), 2)
    1.48
    """
    largest = -(-n_members // n_groups)
    sizes = [largest - (group >= n_members % n_groups > 0) for group in range(n_groups)]
    kept = [min(keep, size) for size in sizes]
    domep = sum(count_distances(size, keep, incremental) for size in (largest, sum(kept)))
    if not incremental:
        domep += sum(size * (size - 1) for size in (*kept, min(keep, sum(kept))))
    # A single member needs no distance.
    return max(count_distances(n_members, keep, incremental), 1) / max(domep, 1)


def literal_comep(votes: Votes, keep: int, weight: float) -> list[int]:
    """Select members by Algorithm 1 as printed, from the first member on, without stored distances.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.
    keep : int
        Number of members to select.
    weight : float
        λ, the weight of diversity.

    Returns
    -------
    list of int
    """
    selected, rest = [0], list(range(1, votes.n_members))
    while len(selected) < keep and rest:
        sums = [sum(_tdac(votes, i, j, weight) for j in selected) for i in rest]
        selected.append(rest.pop(int(np.argmax(np.round(sums, 12)))))
    return selected


def literal_tdas(votes: Votes, weight: float) -> float:
    """Return the objective of all members by equation 5, as printed: over all ordered pairs."""
    members = range(votes.n_members)
    return sum(_tdac(votes, i, j, weight) for i in members for j in members if i != j) / 2


def _tdac(votes: Votes, i: int, j: int, weight: float) -> float:
    """Return the distance of two members (equation 4)."""
    (first, second), truth = votes.codes([i, j]), votes.truth
    if np.array_equal(first, second):
        return 0.0
    relevance = [
        float(nmi.of_counts(labels=_pair_counts(labels, truth, votes.n_classes)))
        for labels in (first, second)
    ]
    variation = float(nvi.of_counts(labels=_pair_counts(first, second, votes.n_classes)))
    return weight * variation + (1 - weight) * sum(relevance) / 2


def _pair_counts(first: Array, second: Array, n_classes: int) -> NDArray[np.int64]:
    cells = first.astype(np.intp) * n_classes + second
    counts = np.bincount(cells, minlength=n_classes**2).astype(np.int64)
    return counts.reshape(n_classes, n_classes)
