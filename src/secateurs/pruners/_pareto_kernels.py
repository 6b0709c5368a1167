"""Compiled loops of ParetoCOMEP's search: greedy sets, sums of sets, and swaps of members."""

import numpy as np

from secateurs.outputs.compiling import inlined, kernel

# Bins of relevance by which most dominated swaps are dropped. Without it, sorting the swaps took
# two thirds of the time of a search among 200 members.
N_BINS = 128
_MARGIN = 1e-6  # larger differences are never ties, in spite of rounding


@kernel
def grow_set(distances, tie, sums, members):
    """Fill in members one at a time, each with the largest sum of distances to those before it.

    The first member is given. ``sums`` are passed as zeros; those of selected members become −∞.
    Sums within ``tie`` of the largest (relative to it if it is above 1)
    are equal, and the lowest index is selected, as in `secateurs.search.best_member`.
    """
    n_members = distances.shape[0]
    for step in range(1, members.size):
        last = members[step - 1]
        sums[last] = -np.inf
        largest = -np.inf
        for member in range(n_members):
            sums[member] += distances[last, member]
            largest = max(largest, sums[member])
        least = largest - tie * max(1.0, abs(largest))
        for member in range(n_members):
            if sums[member] >= least:
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
    sets, relevance, distances, front, floors, scale, tie, work, found, sums
):
    """Find the swaps of one member that lead to a set beyond the front; return their number.

    Fills in ``found`` with the set, the position of the leaving member and the entering member of
    each swap, and ``sums`` with the relevance and the diversity after it. ``front`` has the
    relevance and the diversity of its sets, from the most relevant to the most diverse. Most swaps
    are rejected by ``floors``: the diversity that the front reaches at least, by the relevance
    below the largest, times ``scale``. ``work`` is memory for 3 numbers per member and for the
    bins: an array that is created here takes long to compile.
    """
    n_keep, n_members = sets.shape[1], distances.shape[0]
    last_floor = float(floors.size - 1)
    distance_sums, free_sums, beyond, bins = work[0], work[1], work[2], work[3]
    n_found = 0
    for index in range(sets.shape[0]):
        total, apart = 0.0, 0.0
        for member in range(n_members):
            distance_sums[member] = 0.0
        for i in range(n_keep):
            out = sets[index, i]
            total += relevance[out]
            for member in range(n_members):
                distance_sums[member] += distances[out, member]
        for member in range(n_members):
            free_sums[member] = distance_sums[member]
        for i in range(n_keep):
            out = sets[index, i]
            apart += distance_sums[out]
            free_sums[out] = -np.inf
        first_found = n_found
        for i in range(n_keep):
            out = np.uintp(sets[index, i])  # unsigned: no test for negative indices below
            base = apart / 2 - distance_sums[out]
            start = front[0, 0] - total + relevance[out]
            for member in range(np.uintp(0), np.uintp(n_members)):  # no branches: vectorised
                depth = min(max((start - relevance[member]) * scale, 0.0), last_floor)
                swapped = base + free_sums[member] - distances[out, member]
                beyond[member] = swapped - floors[np.uint32(depth)]
            for member in range(n_members):
                if beyond[member] > -_MARGIN:
                    new_relevance = total + relevance[member] - relevance[out]
                    pair = distances[out, member]
                    new_diversity = apart / 2 + distance_sums[member] - distance_sums[out] - pair
                    n_above = _count_above(front, new_relevance - tie)
                    if n_above == 0 or new_diversity > front[1, n_above - 1] + tie:
                        found[n_found, 0], found[n_found, 1], found[n_found, 2] = index, i, member
                        sums[n_found, 0], sums[n_found, 1] = new_relevance, new_diversity
                        n_found += 1
        n_found = _drop_dominated(found, sums, first_found, n_found, bins)
    return n_found


@inlined
def _count_above(front, least):
    """Return how many sets of a front are at least as relevant as ``least``."""
    low, high = 0, front.shape[1]
    while low < high:
        middle = (low + high) // 2
        if front[0, middle] >= least:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _drop_dominated(found, sums, first, last, most_diverse):
    """Drop most swaps from ``first`` on that another swap dominates; return the new end.

    A swap is dropped if a swap of a bin of larger relevance, not the next one, is more diverse. The
    others remain in their order.
    """
    low, high = np.inf, -np.inf
    for index in range(first, last):
        low, high = min(low, sums[index, 0]), max(high, sums[index, 0])
    end = last
    if last - first >= N_BINS and high - low >= N_BINS * _MARGIN:
        scale = (N_BINS - 1) / (high - low)
        for place in range(N_BINS):
            most_diverse[place] = -np.inf
        for index in range(first, last):
            place = int((high - sums[index, 0]) * scale)
            most_diverse[place] = max(most_diverse[place], sums[index, 1])
        for place in range(1, N_BINS):
            most_diverse[place] = max(most_diverse[place], most_diverse[place - 1])
        end = first
        for index in range(first, last):
            place = int((high - sums[index, 0]) * scale)
            if place < 2 or sums[index, 1] > most_diverse[place - 2] - _MARGIN:
                for i in range(3):
                    found[end, i] = found[index, i]
                sums[end, 0], sums[end, 1] = sums[index, 0], sums[index, 1]
                end += 1
    return end
