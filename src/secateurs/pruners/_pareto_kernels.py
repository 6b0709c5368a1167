"""Compiled loops of ParetoCOMEP's search: greedy sets, sums of sets, and swaps of members."""

import numpy as np

from secateurs.outputs.compiling import kernel

# Bins of relevance by which most dominated swaps are dropped. Without it, sorting the swaps took
# two thirds of the time of a search among 200 members.
_N_BINS = 128
_MARGIN = 1e-6  # differences above this are no ties, whatever the rounding


@kernel
def grow_set(distances, tie, members):
    """Fill in members one at a time, each with the largest sum of distances to those before it.

    The first member is given. Sums within ``tie`` of the largest (relative to it if it is above 1)
    are equal, and the lowest index is selected, as in `secateurs.search.best_member`.
    """
    n_members = distances.shape[0]
    sums = np.zeros(n_members)
    free = np.ones(n_members, dtype=np.bool_)
    for step in range(1, members.size):
        last = members[step - 1]
        free[last] = False
        largest = -np.inf
        for member in range(n_members):
            sums[member] += distances[last, member]
            if free[member] and sums[member] > largest:
                largest = sums[member]
        least = largest - tie * max(1.0, abs(largest))
        for member in range(n_members):
            if free[member] and sums[member] >= least:
                members[step] = member
                break


@kernel
def gather_pairs(sets, distances, pairs):
    """Fill in the distances between the members of each set: (sets, members, members)."""
    n_keep = sets.shape[1]
    for index in range(sets.shape[0]):
        for i in range(n_keep):
            row = distances[sets[index, i]]
            for j in range(n_keep):
                pairs[index, i, j] = row[sets[index, j]]


@kernel
def find_improving_swaps(  # noqa: PLR0917
    sets, relevance, distances, front_relevance, front_diversity, floors, scale, tie, found, sums
):
    """Find the swaps of one member that lead to a set beyond the front; return their number.

    Fills in ``found`` with the set, the position of the leaving member and the entering member of
    each swap, and ``sums`` with the relevance and the diversity after it. The front goes from the
    most relevant to the most diverse set. Most swaps are rejected by ``floors``: the diversity
    that the front reaches at least, by the relevance below the largest, times ``scale``.
    """
    n_keep, n_members = sets.shape[1], distances.shape[0]
    last_floor = float(floors.size - 1)
    depths = relevance * scale
    distance_sums = np.empty(n_members)
    free_sums = np.empty(n_members)
    beyond = np.empty(n_members)
    n_found = 0
    for index in range(sets.shape[0]):
        members = sets[index]
        distance_sums[:] = 0.0
        total, apart = 0.0, 0.0
        for out in members:
            total += relevance[out]
            row = distances[out]
            for member in range(n_members):
                distance_sums[member] += row[member]
        free_sums[:] = distance_sums
        for out in members:
            apart += distance_sums[out]
            free_sums[out] = -np.inf
        first_found = n_found
        for i in range(n_keep):
            out = members[i]
            row = distances[out]
            base = apart / 2 - distance_sums[out]
            depth_of_zero = (front_relevance[0] - total + relevance[out]) * scale
            for member in range(n_members):  # without branches, so that it is vectorised
                depth = min(max(depth_of_zero - depths[member], 0.0), last_floor)
                beyond[member] = base + free_sums[member] - row[member] - floors[np.int32(depth)]
            for member in range(n_members):
                if beyond[member] > -_MARGIN:
                    new_relevance = total + relevance[member] - relevance[out]
                    new_diversity = (
                        apart / 2 + distance_sums[member] - distance_sums[out] - row[member]
                    )
                    n_above = _count_above(front_relevance, new_relevance - tie)
                    if n_above == 0 or new_diversity > front_diversity[n_above - 1] + tie:
                        found[n_found, 0], found[n_found, 1], found[n_found, 2] = index, i, member
                        sums[n_found, 0], sums[n_found, 1] = new_relevance, new_diversity
                        n_found += 1
        n_found = _drop_dominated(found, sums, first_found, n_found)
    return n_found


@kernel
def _count_above(descending, least):
    """Return how many of some descending values are at least as large as ``least``."""
    low, high = 0, descending.size
    while low < high:
        middle = (low + high) // 2
        if descending[middle] >= least:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _drop_dominated(found, sums, first, last):
    """Drop most swaps from ``first`` on that another one dominates; return the new end.

    A swap is dropped if a swap of a bin of larger relevance, not the next one, is more diverse. The
    others remain in their order.
    """
    if last - first < _N_BINS:
        return last
    low, high = np.inf, -np.inf
    for index in range(first, last):
        low, high = min(low, sums[index, 0]), max(high, sums[index, 0])
    if high - low < _N_BINS * _MARGIN:
        return last
    scale = (_N_BINS - 1) / (high - low)
    most_diverse = np.full(_N_BINS, -np.inf)
    for index in range(first, last):
        place = int((high - sums[index, 0]) * scale)
        most_diverse[place] = max(most_diverse[place], sums[index, 1])
    for place in range(1, _N_BINS):
        most_diverse[place] = max(most_diverse[place], most_diverse[place - 1])
    end = first
    for index in range(first, last):
        place = int((high - sums[index, 0]) * scale)
        if place < 2 or sums[index, 1] > most_diverse[place - 2] - _MARGIN:
            found[end] = found[index]
            sums[end] = sums[index]
            end += 1
    return end
