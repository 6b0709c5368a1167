"""Predictions in fixed point: integers, so that sums do not depend on the order of addition.

A cell of 1 stands for a step, which is a power of two. Probabilities are rounded to the nearest
step. Regression values are rounded down: a shift to the right, which makes steps larger, then gives
the same result as rounding once, so that batches with different largest values join exactly.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.outputs.input_checks import check_magnitude
from secateurs.typing import Array, FloatArray

PROBABILITY_BITS = 14  # 1 is 2**14, which fits into 16 bits with its sign
NUMBER_BITS = 30  # of the largest value, which fits into 32 bits with its sign
FINEST = 1023  # the largest exponent, also used if all values are zero: 2.0**1023 is finite
PROBABILITY_TOLERANCE = 1e-3  # deviation of a sum of probabilities from 1 that rounding may cause
_LARGEST_UNIT = 1000  # weights that are multiples of 1/1000 or more are whole numbers of a unit
_UNIT_ROUNDING = 1e-12  # deviation from a whole number that rounding of weights may cause


def missing_cell_value(cells: Array) -> int:
    """Return the integer that stands for a missing prediction."""
    return int(np.iinfo(cells.dtype).min)


def fixed_probabilities(values: ArrayLike, whose: str) -> NDArray[np.int16]:
    """Return probabilities (samples, classes) in steps of 2⁻¹⁴: (components, samples).

    With two classes, only the second class has a component.
    """
    floats = np.asarray(values, dtype=float)
    totals = floats.sum(axis=1)
    has_wrong_sum = ~(np.abs(totals - 1) <= PROBABILITY_TOLERANCE)  # true for NaN as well
    is_invalid = has_wrong_sum | (floats.min(axis=1) < 0)
    if is_invalid.any():
        sample = int(np.argmax(is_invalid))
        raise InputError(
            f"{whose} gives sample {sample} the probabilities {floats[sample]}, which must be 0 or "
            "more with a sum of 1. Pass the output of predict_proba."
        )
    components = floats[:, 1:] if floats.shape[1] == 2 else floats
    return np.rint(components.T / totals * (1 << PROBABILITY_BITS)).astype(np.int16)


def fixed_point_exponent(largest: float) -> int:
    """Return the number of binary places for values up to this absolute value."""
    return min(FINEST, NUMBER_BITS - int(np.frexp(largest)[1])) if largest > 0 else FINEST


def fixed_values(values: ArrayLike, whose: str) -> tuple[NDArray[np.int32], int]:
    """Return regression values in steps of a power of two, rounded down, and the exponent."""
    floats = np.asarray(values, dtype=float)
    is_invalid = ~np.isfinite(floats)
    if is_invalid.any():
        value = float(floats[is_invalid][0])
        raise InputError(
            f"{whose} holds {'NaN' if np.isnan(value) else value}: predictions must be finite. "
            "Drop or mask those samples."
        )
    check_magnitude(floats, whose)
    exponent = fixed_point_exponent(float(np.abs(floats).max(initial=0.0)))
    return np.floor(np.ldexp(floats, exponent)).astype(np.int32), exponent


def coarsen_steps(cells: Array, n_bits: int) -> Array:
    """Return cells with steps that are ``2**n_bits`` times as large; missing ones stay missing."""
    if n_bits == 0:
        return cells
    missing = cells == missing_cell_value(cells)
    # A shift by all bits of the type is undefined; NUMBER_BITS + 1 bits leave the sign alone.
    return np.where(missing, cells, cells >> min(n_bits, NUMBER_BITS + 1))


def whole_number_weights(weights: FloatArray) -> FloatArray:
    """Return weights as whole numbers if they are multiples of a common unit, else as they are.

    Sums of fixed-point predictions with such weights are exact, so that equal means are equal
    floats. The weights of ensemble selection are multiples, such as 1/3 and 2/3.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.outputs.fixed_point import whole_number_weights
    >>> whole_number_weights(np.array([0.5, 1 / 3, 1 / 6]))
    array([3., 2., 1.])
    """
    total = weights.sum()
    if not 0 < total < np.inf:
        return weights
    shares = weights / total
    smallest = shares[shares > 0].min()
    for count in range(1, int(_LARGEST_UNIT * smallest * (1 + _UNIT_ROUNDING)) + 1):
        multiples = shares * (count / smallest)
        whole: FloatArray = np.rint(multiples)
        if np.abs(multiples - whole).max() < _UNIT_ROUNDING * _LARGEST_UNIT:
            return whole
    return weights


def mean_from_sums(total: FloatArray, total_weight: FloatArray) -> FloatArray:
    """Return the mean from weighted sums over members, and the weight of the present members.

    Probabilities are divided by their sum, because each was rounded; without any present member,
    all classes have the same probability.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if total.ndim == 1:
            return total / total_weight
        mean = total / total.sum(axis=1, keepdims=True)
    mean[total_weight == 0] = 1 / total.shape[1]
    return mean
