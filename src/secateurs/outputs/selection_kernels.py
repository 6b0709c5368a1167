"""Compiled loops that score the mean of a set with each member added, row by row in their order.

A member adds nothing where its value is missing; rows on which the set has no value at all count
for nothing. Sums of members' values are integers; what is summed over rows are weights, logarithms
and losses in floats, always in the order of the rows, so that batches change nothing.
"""

import math

import numpy as np

from secateurs.outputs.compiling import kernel

EPSILON = 2.0**-52  # scikit-learn keeps probabilities this far from 0 and 1 in the log loss
_SIDE = 64  # products side by side
_FACTORS = 16  # of a product, before powers are taken out: at least 2**-833 is left


@kernel
def vote_hits(codes, tally, winner, truth, weights, hits, seen):  # noqa: PLR0917
    """Weigh right and all answers of the vote with each member, by true class.

    ``codes`` are (members, samples), with the number of classes for a missing vote; ``winner``
    holds the class with the most votes, or −1 where there are none.
    """
    n_classes = tally.shape[1]
    for member in range(codes.shape[0]):
        for sample in range(codes.shape[1]):
            best = winner[sample]
            code = np.int64(codes[member, sample])
            if code < n_classes:
                if best < 0:
                    best = code
                else:
                    lead = tally[sample, code] + 1 - tally[sample, best]
                    if lead > 0 or (lead == 0 and code < best):
                        best = code
            if best >= 0:
                label = truth[sample]
                seen[member, label] += weights[sample]
                if best == label:
                    hits[member, label] += weights[sample]


@kernel
def mean_hits(  # noqa: PLR0917
    cells, missing, one, binary, sums, counts, truth, weights, hits, seen
):
    """Weigh right and all answers of the largest mean probability, by true class.

    ``one`` is the integer for probability 1; of two classes (``binary``) the second has cells.
    """
    n_members, n_components, n_samples = cells.shape
    for member in range(n_members):
        for sample in range(n_samples):
            adds = cells[member, 0, sample] != missing
            n_present = counts[sample] + (1 if adds else 0)
            if n_present == 0:
                continue
            best = 0
            if binary:
                total = sums[0, sample] + (cells[member, 0, sample] if adds else 0)
                best = 1 if 2 * total > n_present * one else 0
            else:
                most = np.int64(-1)
                for component in range(n_components):
                    total = sums[component, sample]
                    if adds:
                        total += cells[member, component, sample]
                    if total > most:
                        most = total
                        best = component
            label = truth[sample]
            seen[member, label] += weights[sample]
            if best == label:
                hits[member, label] += weights[sample]


@kernel
def mean_logs(cells, missing, one, sums, counts, weights, totals, seen):  # noqa: PLR0917
    """Sum the weighted logarithms of the mean probability of the true class, with each member.

    ``cells`` (members, samples) are of the true class.
    """
    n_members, n_samples = cells.shape
    for member in range(n_members):
        total, weight = 0.0, 0.0
        for sample in range(n_samples):
            cell = cells[member, sample]
            value, n_present = sums[sample], counts[sample]
            if cell != missing:
                value += cell
                n_present += 1
            if n_present > 0:
                share = min(max(value / (n_present * one), EPSILON), 1 - EPSILON)
                total += weights[sample] * math.log(share)
                weight += weights[sample]
        totals[member] = total
        seen[member] = weight


@kernel
def whole_mean_logs(cells, step, sums, totals):
    """Sum these logarithms where no value is missing and rows have no weights.

    A sum of logarithms is the logarithm of a product: rows are multiplied side by side into
    products of their own, from which powers of two are taken out before they get too small.
    ``step`` is what a cell of 1 adds to the mean.
    """
    n_members, n_samples = cells.shape
    n_whole = n_samples - n_samples % _SIDE
    products = np.empty(_SIDE)
    for member in range(n_members):
        row = cells[member]
        products[:] = 1.0
        powers, n_factors = 0, 0
        for start in range(0, n_whole, _SIDE):
            some_sums, some_cells = sums[start : start + _SIDE], row[start : start + _SIDE]
            for place in range(_SIDE):
                share = (some_sums[place] + some_cells[place]) * step
                products[place] *= share if share > EPSILON else EPSILON
            n_factors += 1
            if n_factors == _FACTORS:
                powers += _take_powers(products)
                n_factors = 0
        powers += _take_powers(products)
        product = 1.0
        for place in range(_SIDE):
            product *= products[place]
        total = powers * math.log(2.0) + math.log(product)
        for sample in range(n_whole, n_samples):
            total += math.log(max((sums[sample] + row[sample]) * step, EPSILON))
        totals[member] = total


@kernel
def _take_powers(products):
    """Bring products to between a half and one, and return the sum of the powers taken out."""
    powers = 0
    for place in range(products.size):
        products[place], power = math.frexp(products[place])
        powers += power
    return powers


@kernel
def mean_losses(  # noqa: PLR0917
    cells, missing, step, sums, counts, targets, weights, squared, totals, seen
):
    """Sum squared or absolute differences of the mean from the targets, with each member.

    A cell of 1 stands for ``step``; ``targets`` are (components, samples).
    """
    n_members, n_components, n_samples = cells.shape
    for member in range(n_members):
        total, weight = 0.0, 0.0
        for sample in range(n_samples):
            adds = cells[member, 0, sample] != missing
            n_present = counts[sample] + (1 if adds else 0)
            if n_present == 0:
                continue
            loss = 0.0
            for component in range(n_components):
                value = sums[component, sample]
                if adds:
                    value += cells[member, component, sample]
                off = value * step / n_present - targets[component, sample]
                loss += off * off if squared else abs(off)
            total += weights[sample] * loss
            weight += weights[sample]
        totals[member] = total
        seen[member] = weight
