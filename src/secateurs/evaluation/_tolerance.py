"""A tolerated loss: the smallest size whose score on rows held out is near enough to the whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STEADY_SHARE = 0.9  # share of larger sizes that must be within a tolerance too


class ToleratedSize(NamedTuple):
    """The smallest size within a tolerance.

    Attributes
    ----------
    size : int
        The size.
    least_tolerance : float or None
        Where that is the whole ensemble: the smallest tolerance that leaves members out.
    """

    size: int
    least_tolerance: float | None = None


def smallest_tolerated_size(
    sizes: NDArray[np.intp],
    scores: NDArray[np.float64],
    tolerance: float,
    share: float = STEADY_SHARE,
) -> ToleratedSize:
    """Return the smallest size within a tolerance, as are a share of the larger ones.

    The last size is the whole ensemble.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation._tolerance import smallest_tolerated_size
    >>> sizes, scores = np.array([1, 2, 3]), np.array([0.5, 0.75, 1.0])
    >>> smallest_tolerated_size(sizes, scores, 0.25), smallest_tolerated_size(sizes, scores, 0.125)
    (ToleratedSize(size=2, least_tolerance=None), ToleratedSize(size=3, least_tolerance=0.25))
    """

    def smallest(loss: float) -> int:
        good = scores >= scores[-1] - loss - 1e-12
        return int(sizes[good & (good_larger_share(good) >= share)][0])  # not one by luck

    found = smallest(tolerance)
    if found < sizes[-1] or len(sizes) == 1:
        return ToleratedSize(found)
    losses = np.unique(scores[-1] - scores[:-1])
    losses = losses[losses > tolerance]
    return ToleratedSize(found, next(float(loss) for loss in losses if smallest(loss) < sizes[-1]))


def good_larger_share(good: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of good sizes among each size and those behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation._tolerance import good_larger_share
    >>> good_larger_share(np.array([True, False, True, True]))
    array([0.75      , 0.66666667, 1.        , 1.        ])
    """
    return np.cumsum(good[::-1])[::-1] / np.arange(len(good), 0, -1)
