"""Compiled loops over scores in fixed point: products of errors, added up in 64 bits.

As in `secateurs.outputs._pair_kernels`: arrays in, integers out, no threads, and plain Python with
``NUMBA_DISABLE_JIT=1``.
"""

import numpy as np
from numba import njit

_BLOCK = 1 << 14  # samples of the one member that stay near the processor


@njit(nogil=True, cache=True)
def dot(values, others):
    """Sum of products of two runs of integers (whole arrays: bounded ranges do not vectorise)."""
    total = np.int64(0)
    for i in range(values.size):
        total += np.int64(values[i]) * np.int64(others[i])
    return total


@njit(nogil=True, cache=True)
def dots(values, table, sums):
    """Add to sums the products of values (components, samples) with each member of a table."""
    n_samples = values.shape[1]
    for first in range(0, n_samples, _BLOCK):
        last = min(n_samples, first + _BLOCK)
        for component in range(values.shape[0]):
            block = values[component, first:last]
            for member in range(table.shape[0]):
                sums[member] += dot(block, table[member, component, first:last])


@njit(nogil=True, cache=True)
def error_dot(errors, cells, truth, shift, missing):
    """Sum of products of errors with those of one member, on the samples that it has."""
    total = np.int64(0)
    for i in range(errors.size):
        error = np.int64(cells[i] >> shift) - np.int64(truth[i])
        total += np.int64(errors[i]) * error * (cells[i] != missing)
    return total


@njit(nogil=True, cache=True)
def n_both(present, cells, missing):
    """Count the samples that are present and not missing."""
    total = np.int64(0)
    for i in range(cells.size):
        total += present[i] & (cells[i] != missing)
    return total


@njit(nogil=True, cache=True)
def error_dots(errors, present, cells, truth, shift, missing, sums, counts):  # noqa: PLR0917
    """Add to sums the products of errors with those of each member, and count common samples.

    ``errors`` (components, samples) are 0 where the one member is not ``present``; an error of
    ``cells`` (members, components, samples) is what is left of a cell, shifted to the right, after
    the truth (components, samples).
    """
    n_samples = errors.shape[1]
    for first in range(0, n_samples, _BLOCK):
        last = min(n_samples, first + _BLOCK)
        for component in range(errors.shape[0]):
            block = errors[component, first:last]
            true = truth[component, first:last]
            for member in range(cells.shape[0]):
                run = cells[member, component, first:last]
                sums[member] += error_dot(block, run, true, shift, missing)
                if component == 0:
                    counts[member] += n_both(present[first:last], run, missing)


@njit(nogil=True, cache=True)
def error_squares(cells, truth, shift, missing, sums, counts):  # noqa: PLR0917
    """Add up the squared errors of each member, and count the samples that it has."""
    for member in range(cells.shape[0]):
        for component in range(cells.shape[1]):
            for sample in range(cells.shape[2]):
                cell = cells[member, component, sample]
                if cell != missing:
                    error = np.int64(cell >> shift) - np.int64(truth[component, sample])
                    sums[member] += error * error
                    counts[member] += component == 0


@njit(nogil=True, cache=True)
def largest_error(cells, truth, shift, missing):
    """Return the largest absolute error."""
    largest = np.int64(0)
    for member in range(cells.shape[0]):
        for component in range(cells.shape[1]):
            for sample in range(cells.shape[2]):
                cell = cells[member, component, sample]
                if cell != missing:
                    error = np.int64(cell >> shift) - np.int64(truth[component, sample])
                    largest = max(largest, abs(error))
    return largest
