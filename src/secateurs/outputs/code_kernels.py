"""Compiled functions on pairs of columns of codes, without tables of classes × classes."""

import numpy as np

from secateurs.outputs.compiling import kernel


@kernel
def count_agreed(codes, others, n_classes, agreed, common):
    """Count for each pair of members the samples that both predict, and their equal labels.

    Codes of ``n_classes`` and more are missing votes.
    """
    for i in range(codes.shape[0]):
        for j in range(others.shape[0]):
            n_agreed, n_common = 0, 0
            for sample in range(codes.shape[1]):
                is_common = codes[i, sample] < n_classes and others[j, sample] < n_classes
                n_common += is_common
                n_agreed += is_common and codes[i, sample] == others[j, sample]
            agreed[i, j], common[i, j] = n_agreed, n_common


@kernel
def count_agreed_by_chance(codes, others, n_classes, expected):
    """Sum for each pair of members the products of their numbers of votes for each class.

    Only samples that both members predict are counted, as in `count_agreed`.
    """
    first = np.zeros(n_classes, dtype=np.int64)
    second = np.zeros(n_classes, dtype=np.int64)
    for i in range(codes.shape[0]):
        for j in range(others.shape[0]):
            first[:] = 0
            second[:] = 0
            for sample in range(codes.shape[1]):
                label, other = codes[i, sample], others[j, sample]
                if label < n_classes and other < n_classes:
                    first[label] += 1
                    second[other] += 1
            total = 0
            for label in range(n_classes):
                total += first[label] * second[label]
            expected[i, j] = total


@kernel
def _sort_in_place(labels):
    """Sort labels; few labels by insertion, which takes a third of the time of NumPy's sort."""
    if labels.size > 16:
        labels.sort()
        return
    for place in range(1, labels.size):
        label, before = labels[place], place - 1
        while before >= 0 and labels[before] > label:
            labels[before + 1] = labels[before]
            before -= 1
        labels[before + 1] = label


@kernel
def sum_of_pair_cells(  # noqa: PLR0917
    codes, orders, others, n_classes, values, sums, agreed, common
):
    """Add ``values[count]`` over the cells of each pair's table of labels, without the table.

    ``orders[i]`` sorts the samples by the labels of member i. ``sums[i, j]`` are the sums over the
    cells, over the labels of member i and over the labels of member j. Cells are added in the order
    of a complete table, where empty cells add 0, so that the sums are equal to the last bit.
    """
    n_samples = codes.shape[1]
    counts = np.zeros(n_classes, dtype=np.int64)
    totals = np.zeros(n_classes, dtype=np.int64)
    found = np.empty(n_classes, dtype=np.int64)
    for i in range(codes.shape[0]):
        for j in range(others.shape[0]):
            totals[:] = 0
            cell_sum, first_sum, second_sum, n_common, n_agreed = 0.0, 0.0, 0.0, 0, 0
            start = 0
            while start < n_samples and codes[i, orders[i, start]] < n_classes:
                label = codes[i, orders[i, start]]
                stop, n_found, n_group = start, 0, 0
                while stop < n_samples and codes[i, orders[i, stop]] == label:
                    other = others[j, orders[i, stop]]
                    if other < n_classes:
                        if counts[other] == 0:
                            found[n_found] = other
                            n_found += 1
                        counts[other] += 1
                        n_group += 1
                        n_agreed += other == label
                    stop += 1
                _sort_in_place(found[:n_found])
                for place in range(n_found):
                    other = found[place]
                    cell_sum += values[counts[other]]
                    totals[other] += counts[other]
                    counts[other] = 0
                first_sum += values[n_group]
                n_common += n_group
                start = stop
            for other in range(n_classes):
                second_sum += values[totals[other]]
            sums[i, j, 0], sums[i, j, 1], sums[i, j, 2] = cell_sum, first_sum, second_sum
            agreed[i, j], common[i, j] = n_agreed, n_common
