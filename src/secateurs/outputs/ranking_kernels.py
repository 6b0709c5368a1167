"""Compiled loops for scores of rankings: areas under ROC curves, and average precision.

Means are ranked by integers, so that equal means tie exactly. Each sample has a *kind*, which
stands for its true class and its weight. Samples without weights have as many kinds as there are
classes, and pairs of them are counted exactly.
"""

import numpy as np

from secateurs.outputs.compiling import kernel

_FEW_SAMPLES = 2048  # a table of 2048 counts takes longer to clear than as many samples to sort


@kernel
def mean_rankings(  # noqa: PLR0917
    cells, sums, scale, kind_bits, kinds, kind_labels, kind_weights, won, precisions
):
    """Rank the samples by their mean probability of each class, with each candidate.

    ``cells`` are (members, classes, samples); with two classes, only the second has cells.
    ``won[member, c, j]`` becomes the weight of the pairs of samples of the classes c and j in
    which the sample of class c has the larger probability of class c; ties count half.
    ``precisions[member, c]`` becomes the average precision for class c. Probabilities are divided
    by their sum, which varies by rounding. ``scale`` is a power of two, above twice the square of
    the largest sum, so that different quotients have different keys. The last bits of a key, as
    many as ``kind_bits``, hold the kind.
    """
    n_members, n_components, n_samples = cells.shape
    totals = np.ones(n_samples, dtype=np.int64)
    keys = np.empty(n_samples, dtype=np.int64)
    other_keys = np.empty(n_samples, dtype=np.int64)
    for member in range(n_members):
        has_equal_totals = True
        if n_components > 1:
            totals[:] = 0
            for component in range(n_components):
                for sample in range(n_samples):
                    totals[sample] += sums[component, sample] + cells[member, component, sample]
            for sample in range(n_samples):
                has_equal_totals &= totals[sample] == totals[0]
        for component in range(n_components):
            for sample in range(n_samples):
                keys[sample] = sums[component, sample] + cells[member, component, sample]
            if not has_equal_totals:
                for sample in range(n_samples):
                    keys[sample] = np.int64(keys[sample] / max(totals[sample], 1) * scale)
            for sample in range(n_samples):
                keys[sample] = (keys[sample] << kind_bits) | kinds[sample]
            keys, other_keys = _sort_keys(keys, other_keys, kind_bits)
            label = 1 if n_components == 1 else component
            precisions[member, label] = compare_classes(
                keys, kind_bits, kind_labels, kind_weights, label, won[member, label]
            )


@kernel
def _sort_keys(keys, other_keys, shift):
    """Return the keys sorted by their bits from ``shift`` on, and the other array: a radix sort."""
    n_bits = 8 if keys.size < _FEW_SAMPLES else 11
    mask = (1 << n_bits) - 1
    starts = np.empty(mask + 2, dtype=np.int64)
    largest = keys.max()
    while largest >> shift > 0:
        starts[:] = 0
        for key in keys:
            starts[((key >> shift) & mask) + 1] += 1
        for digit in range(mask):
            starts[digit + 1] += starts[digit]
        for key in keys:
            digit = (key >> shift) & mask
            other_keys[starts[digit]] = key
            starts[digit] += 1
        keys, other_keys = other_keys, keys
        shift += n_bits
    return keys, other_keys


@kernel
def compare_classes(keys, kind_bits, kind_labels, kind_weights, label, won):  # noqa: PLR0917
    """Compare the samples of a class with those of all classes, and return the average precision.

    ``keys`` are sorted. ``won[j]`` increases by the weight of the pairs in which the sample of the
    class has a larger key than the sample of class j; ties count half.
    """
    mask = (1 << kind_bits) - 1
    above, total, precision = 0.0, 0.0, 0.0
    stop = keys.size
    while stop > 0:
        start, value, tied = stop, keys[stop - 1] >> kind_bits, 0.0
        while start > 0 and keys[start - 1] >> kind_bits == value:
            start -= 1
            kind = keys[start] & mask
            tied += kind_weights[kind] if kind_labels[kind] == label else 0.0
            total += kind_weights[kind]
        for index in range(start, stop):
            kind = keys[index] & mask
            won[kind_labels[kind]] += kind_weights[kind] * (above + 0.5 * tied)
        above += tied
        if total > 0:  # the first samples may have weight 0
            precision += tied * above / total
        stop = start
    return precision / above if above > 0 else 0.0
