"""Compiled functions of agglomerative clustering: the closest pair of clusters, and merging it."""

import numpy as np

from secateurs.outputs.compiling import kernel


@kernel
def nearest_in_row(between, nearest, row):
    """Return the smallest distance of a cluster to any other cluster."""
    smallest = np.inf
    for column in range(nearest.size):
        if between[row, column] < smallest and nearest[column] != np.inf:
            smallest = between[row, column]
    return smallest


@kernel
def closest_pair(between, nearest, is_bound, tie):
    """Return the closest clusters; of pairs within ``tie``, that with the lowest first members.

    ``nearest`` holds the smallest distance of each cluster, or a lower bound of it where
    ``is_bound``, and infinity for clusters that are merged into others. Bounds are replaced by
    distances only where they could decide.
    """
    n_clusters = nearest.size
    while True:
        closest = 0
        for row in range(1, n_clusters):
            if nearest[row] < nearest[closest]:
                closest = row
        if is_bound[closest]:
            nearest[closest], is_bound[closest] = nearest_in_row(between, nearest, closest), False
            continue
        limit = nearest[closest] + tie * max(1.0, abs(nearest[closest]))
        first = 0
        while nearest[first] > limit:
            first += 1
        if not is_bound[first]:
            break
        nearest[first], is_bound[first] = nearest_in_row(between, nearest, first), False
    limit = nearest[first] + tie * max(1.0, abs(nearest[first]))
    second = 0
    while between[first, second] > limit or nearest[second] == np.inf:
        second += 1
    return min(first, second), max(first, second)


@kernel
def merge_rows(between, nearest, is_bound, first, second, linkage, share):  # noqa: PLR0917
    """Replace two clusters by one, in the row and column of the first.

    The distance of a merged cluster is never below the smaller one of its parts, so that a smallest
    distance remains a lower bound.
    """
    smallest = np.inf
    for row in range(nearest.size):
        if row in (first, second) or nearest[row] == np.inf:
            continue
        a, b = between[first, row], between[second, row]
        if linkage == 0:
            merged = share * a + (1 - share) * b
        elif linkage == 1:
            merged = min(a, b)
        else:
            merged = max(a, b)
        if a <= nearest[row] or b <= nearest[row]:
            is_bound[row] = True
        if merged <= nearest[row]:  # rounding may lower a mean below both distances
            nearest[row], is_bound[row] = merged, False
        between[first, row] = between[row, first] = merged
        smallest = min(smallest, merged)
    nearest[first], is_bound[first] = smallest, False
    nearest[second], is_bound[second] = np.inf, False
