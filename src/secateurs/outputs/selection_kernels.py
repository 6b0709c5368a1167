"""Compiled loops that score a set of members together with each candidate member.

A candidate adds nothing where its prediction is missing; samples without any prediction are left
out of the score. Sums over members are integers. Sums over samples (of weights, logarithms and
losses) are floats, always added in the order of the samples, so that batches give equal results.
"""

import math

import numpy as np

from secateurs.outputs.compiling import kernel

EPSILON = 2.0**-52  # scikit-learn's log loss clips probabilities to this distance from 0 and 1
_SIDE = 64  # number of products side by side, so that the compiler vectorises their loop
# Factors of a product before its power of two is taken out. Each factor is at least EPSILON, so
# that a product is at least 2**-833 and does not underflow.
_FACTORS = 16


@kernel
def vote_hits(codes, tally, winner, truth, weights, hits, seen):  # noqa: PLR0917
    """Sum the weights of correct votes and of all votes with each candidate, by true class.

    ``codes`` are (members, samples), with the number of classes for a missing vote; ``winner``
    holds the class with the most votes, or −1 for a sample without votes.
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
    """Sum the weights of correct predictions and of all predictions with each candidate, by class.

    The prediction is the class with the largest mean probability. ``one`` is the integer for
    probability 1; with two classes (``binary``), only the second class has cells.
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
def unweighted_mean_hits(cells, total, binary, sums, truth, hits):  # noqa: PLR0917
    """Count the correct predictions with each candidate by true class, as `mean_hits` does.

    They are counted for all classes together if ``hits`` has one column. For data without missing
    predictions and without weights. ``total`` is the integer for the sum of the probabilities of
    all members, including the candidate. Samples are compared side by side.
    """
    n_members, n_components, n_samples = cells.shape
    most = np.empty(_SIDE, dtype=np.int32)
    best = np.empty(_SIDE, dtype=np.int32)
    for member in range(n_members):
        for start in range(0, n_samples, _SIDE):
            stop = min(start + _SIDE, n_samples)
            for component in range(n_components):
                block_sums = sums[component, start:stop]
                block_cells = cells[member, component, start:stop]
                label = np.int32(1 if binary else component)
                if component == 0:
                    best[:] = 0
                    for lane in range(block_sums.size):
                        value = block_sums[lane] + np.int32(block_cells[lane])
                        most[lane] = total - value if binary else value
                if component > 0 or binary:
                    for lane in range(block_sums.size):
                        value = block_sums[lane] + np.int32(block_cells[lane])
                        best[lane] = label if value > most[lane] else best[lane]
                        most[lane] = max(value, most[lane])
            block_truth = truth[start:stop]
            if hits.shape[1] == 1:  # vectorised: three times as fast as the loop by class
                n_right = np.int32(0)
                for lane in range(block_truth.size):
                    n_right += np.int32(best[lane] == block_truth[lane])
                hits[member, 0] += n_right
            else:
                for lane in range(block_truth.size):
                    label = block_truth[lane]
                    hits[member, label] += 1.0 if best[lane] == label else 0.0


@kernel
def mean_logs(cells, missing, one, sums, counts, weights, totals, seen):  # noqa: PLR0917
    """Sum the weighted logarithms of the true class's mean probability with each candidate.

    ``cells`` (members, samples) hold the probability of the true class.
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
def unweighted_mean_logs(cells, step, sums, totals):
    """Sum the same logarithms for data without missing predictions and without weights.

    A sum of logarithms is the logarithm of a product. Samples are multiplied into several products
    side by side, from which powers of two are taken out before they get too small. ``step`` is the
    value that a cell of 1 adds to the mean.
    """
    n_members, n_samples = cells.shape
    n_whole = n_samples - n_samples % _SIDE
    products = np.empty(_SIDE)
    for member in range(n_members):
        row = cells[member]
        products[:] = 1.0
        powers, n_factors = 0, 0
        for start in range(0, n_whole, _SIDE):
            block_sums, block_cells = sums[start : start + _SIDE], row[start : start + _SIDE]
            for lane in range(_SIDE):
                share = (block_sums[lane] + block_cells[lane]) * step
                products[lane] *= share if share > EPSILON else EPSILON
            n_factors += 1
            if n_factors == _FACTORS:
                powers += _take_powers(products)
                n_factors = 0
        powers += _take_powers(products)
        product = 1.0
        for lane in range(_SIDE):
            product *= products[lane]
        total = powers * math.log(2.0) + math.log(product)
        for sample in range(n_whole, n_samples):
            total += math.log(max((sums[sample] + row[sample]) * step, EPSILON))
        totals[member] = total


@kernel
def _take_powers(products):
    """Scale products to between a half and one, and return the sum of the powers taken out."""
    powers = 0
    for lane in range(products.size):
        products[lane], power = math.frexp(products[lane])
        powers += power
    return powers


@kernel
def mean_losses(  # noqa: PLR0917
    cells, missing, step, sums, counts, targets, weights, squared, totals, seen
):
    """Sum squared or absolute differences of the mean from the targets with each candidate.

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


@kernel
def margin_losses(cells, factors, powers, truth, weights, is_log, totals):  # noqa: PLR0917
    """Sum the weighted log or negative Brier score of the linked mean with each candidate.

    The exponential of a mean margin is the product of ``powers`` (components, samples) of the
    selected members and ``factors[cell]`` of the candidate. With a single component, the mean is
    the margin of the first of two classes against the second.
    """
    n_members, n_components, n_samples = cells.shape
    for member in range(n_members):
        total = 0.0
        for sample in range(n_samples):
            label = truth[sample]
            if n_components == 1:
                odds = powers[0, sample] * factors[cells[member, 0, sample]]
                share = 1.0 / (1.0 + odds)  # of the second class
                of_true = share if label == 1 else 1.0 - share
                loss = -(1.0 - of_true) * (1.0 - of_true)
            else:
                norm, squares, of_true = 0.0, 0.0, 0.0
                for component in range(n_components):
                    share = powers[component, sample] * factors[cells[member, component, sample]]
                    norm += share
                    squares += share * share
                    if component == label:
                        of_true = share
                of_true /= norm
                # Σ (p − 1)² over the classes, where 1 is for the true class only.
                loss = -(squares / (norm * norm) - 2.0 * of_true + 1.0)
            if is_log:
                loss = math.log(min(max(of_true, EPSILON), 1.0 - EPSILON))
            total += weights[sample] * loss
        totals[member] = total
