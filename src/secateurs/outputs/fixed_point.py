"""Numbers as integers: steps of a power of two, so that sums do not depend on their order.

Probabilities are rounded to the nearest step. Numbers are rounded down: going to larger steps by a
shift to the right then gives just what rounding once would have given, so that batches whose
largest numbers differ can be joined exactly.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError
from secateurs.outputs.input_checks import check_magnitude
from secateurs.typing import Array

PROBABILITY_BITS = 14
NUMBER_BITS = 30
FINEST = 1023  # exponent for numbers that are all zero
_OFF = 1e-3  # by how much probabilities may miss a sum of 1


def missing_cell_value(cells: Array) -> int:
    """Return the integer that stands for a missing value."""
    return int(np.iinfo(cells.dtype).min)


def fixed_probabilities(values: Any, whose: str) -> NDArray[np.int16]:
    """Return probabilities (samples, classes) as steps of 2⁻¹⁴: (components, samples).

    Of two classes only the second has a component.
    """
    floats = np.asarray(values, dtype=float)
    totals = floats.sum(axis=1)
    bad = ~(np.abs(totals - 1) <= _OFF) | (floats.min(axis=1) < 0)  # NaN as well
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{whose} gives sample {row} the probabilities {floats[row]}, which are not all 0 or "
            "more with a sum of 1. Give the output of predict_proba."
        )
    shown = floats[:, 1:] if floats.shape[1] == 2 else floats
    return np.rint(shown.T / totals * (1 << PROBABILITY_BITS)).astype(np.int16)


def fixed_point_exponent(largest: float) -> int:
    """Return the number of binary places for numbers up to this absolute value."""
    return min(FINEST, NUMBER_BITS - int(np.frexp(largest)[1])) if largest > 0 else FINEST


def fixed_values(values: Any, whose: str) -> tuple[NDArray[np.int32], int]:
    """Return numbers as steps of a power of two, rounded down, and the exponent of the step."""
    floats = np.asarray(values, dtype=float)
    bad = ~np.isfinite(floats)
    if bad.any():
        value = float(floats[bad][0])
        raise InputError(
            f"{whose} holds {'NaN' if np.isnan(value) else value}: numbers must be finite. Drop "
            "those rows, or mask them."
        )
    check_magnitude(floats, whose)
    exponent = fixed_point_exponent(float(np.abs(floats).max(initial=0.0)))
    return np.floor(np.ldexp(floats, exponent)).astype(np.int32), exponent


def coarsen_steps(cells: Array, by: int) -> Array:
    """Return numbers with steps that are ``2**by`` times as large; missing ones stay missing."""
    if by == 0:
        return cells
    missing = cells == missing_cell_value(cells)
    return np.where(missing, cells, cells >> min(by, NUMBER_BITS + 1))


def mean_from_sums(total: NDArray[np.float64], present: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean from sums over members, and the total weight of those that have a value.

    Probabilities sum to 1 again, although each was rounded; where no member has any, all classes
    have the same.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if total.ndim == 1:
            return total / present
        mean = total / total.sum(axis=1, keepdims=True)
    mean[present == 0] = 1 / total.shape[1]
    return mean
