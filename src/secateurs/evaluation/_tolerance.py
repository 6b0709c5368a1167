"""Tolerance: the smallest size whose score is close enough to that of the full ensemble."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secateurs.typing import BoolArray, FloatArray, IndexArray

# Share of the larger sizes that must be within the tolerance too. On 12 data sets, the first size
# within it was often there by chance and lost 0.52 points on test samples; with 0.9 it is 0.09
# points (docs/decisions/0019-the-plain-call.md).
STEADY_SHARE = 0.9
_ROUNDING = 1e-12  # scores are means of floats: a loss equal to the tolerance must be within it


class ToleratedSize(NamedTuple):
    """The smallest size within a tolerance."""

    size: int
    # If that is the full ensemble: the smallest tolerance that would leave members out.
    least_tolerance: float | None = None


def smallest_tolerated_size(
    sizes: IndexArray,
    scores: FloatArray,
    tolerance: float,
    share: float = STEADY_SHARE,
) -> ToleratedSize:
    """Return the smallest size within a tolerance, together with a share of the larger sizes.

    The last size is the full ensemble.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation._tolerance import smallest_tolerated_size
    >>> sizes, scores = np.array([1, 2, 3]), np.array([0.5, 0.75, 1.0])
    >>> smallest_tolerated_size(sizes, scores, 0.25), smallest_tolerated_size(sizes, scores, 0.125)
    (ToleratedSize(size=2, least_tolerance=None), ToleratedSize(size=3, least_tolerance=0.25))
    """

    def smallest(loss: float) -> int:
        good = scores >= scores[-1] - loss - _ROUNDING
        return int(sizes[good & (good_larger_share(good) >= share)][0])

    size = smallest(tolerance)
    if size < sizes[-1] or len(sizes) == 1:
        return ToleratedSize(size)
    losses = np.unique(scores[-1] - scores[:-1])
    losses = losses[losses > tolerance]
    return ToleratedSize(size, next(float(loss) for loss in losses if smallest(loss) < sizes[-1]))


def good_larger_share(good: BoolArray) -> FloatArray:
    """Return, for each size, the share of good sizes among it and the larger sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation._tolerance import good_larger_share
    >>> good_larger_share(np.array([True, False, True, True]))
    array([0.75      , 0.66666667, 1.        , 1.        ])
    """
    return np.cumsum(good[::-1])[::-1] / np.arange(len(good), 0, -1)
