"""Tolerance: the smallest size whose scores are close enough to the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from secateurs.search import best_member
from secateurs.typing import BoolArray, FloatArray, IndexArray

# Share of the larger sizes that must be within the tolerance too. On 12 data sets, the first size
# within it was often there by chance and lost 0.52 points on test samples; with 0.9 it is 0.09
# points (docs/decisions/0019-the-plain-call.md).
STEADY_SHARE = 0.9
_ROUNDING = 1e-12  # scores are means of floats: a loss equal to the tolerance must be within it
RELATIVE_TO = ("best", "full")  # what losses are relative to


def tolerances_by_key(
    tolerance: float | Mapping[str, float] | None, main_key: str
) -> dict[str, float]:
    """Return the tolerated loss of each score, by its key; a number is for the first score."""
    if tolerance is None or isinstance(tolerance, Mapping):
        return dict(tolerance or {})
    return {main_key: tolerance}


class ToleratedLoss(NamedTuple):
    """The scores of one metric by size, and its tolerated loss."""

    name: str
    scores: FloatArray
    tolerance: float


class ToleratedSize(NamedTuple):
    """The smallest size within all tolerances."""

    size: int
    # If that is the full ensemble: the smallest tolerance that would leave members out.
    least_tolerance: float | None = None
    decided_by: str = ""  # the score or subgroup that needs the largest size, if there are several
    reference_size: int | None = None  # whose score the losses are relative to


def smallest_tolerated_size(
    sizes: IndexArray,
    limits: Sequence[ToleratedLoss],
    share: float = STEADY_SHARE,
    relative_to: str = "full",
) -> ToleratedSize | None:
    """Return the smallest size within all tolerances, together with a share of the larger sizes.

    The last size is the full ensemble. Losses are relative to its score or, with "best", to the
    best score of any size; larger sizes than the best are then not considered. Returns None if no
    size is within all tolerances.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation.tolerance import ToleratedLoss, smallest_tolerated_size
    >>> sizes, scores = np.array([1, 2, 3]), np.array([0.5, 0.75, 1.0])
    >>> smallest_tolerated_size(sizes, [ToleratedLoss("accuracy", scores, 0.25)]).size
    2
    >>> smallest_tolerated_size(sizes, [ToleratedLoss("accuracy", scores, 0.125)]).least_tolerance
    0.25
    """
    ends = [_reference_index(limit.scores, relative_to) for limit in limits]
    last = max(ends)

    def smallest(within: BoolArray) -> int | None:
        good = within[: last + 1]
        steady = np.flatnonzero(good & (good_larger_share(good) >= share))
        return int(steady[0]) if len(steady) else None

    def is_within(limit: ToleratedLoss, end: int, loss: float) -> BoolArray:
        return limit.scores >= limit.scores[end] - loss - _ROUNDING

    masks = [
        is_within(limit, end, limit.tolerance) for limit, end in zip(limits, ends, strict=True)
    ]
    index = smallest(np.all(masks, axis=0))
    if index is None:
        return None
    alone = [smallest(mask) for mask in masks]
    needed = [len(sizes) if size is None else size for size in alone]
    decided = limits[int(np.argmax(needed))].name if len(limits) > 1 else ""
    found = ToleratedSize(int(sizes[index]), None, decided, int(sizes[last]))
    if found.size < sizes[-1] or len(sizes) == 1 or len(limits) > 1:
        return found
    scores, tolerance = limits[0].scores, limits[0].tolerance
    losses = np.unique(scores[-1] - scores[:-1])
    losses = losses[losses > tolerance]
    for loss in losses:
        size = smallest(is_within(limits[0], last, loss))
        if size is not None and sizes[size] < sizes[-1]:
            return found._replace(least_tolerance=float(loss))
    return found


def _reference_index(scores: FloatArray, relative_to: str) -> int:
    """Return the index of the size whose score losses are relative to."""
    best = best_member(scores)
    is_better = relative_to == "best" and scores[best] > scores[-1] + _ROUNDING
    return best if is_better else len(scores) - 1


def good_larger_share(good: BoolArray) -> FloatArray:
    """Return, for each size, the share of good sizes among it and the larger sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation.tolerance import good_larger_share
    >>> good_larger_share(np.array([True, False, True, True]))
    array([0.75      , 0.66666667, 1.        , 1.        ])
    """
    return np.cumsum(good[::-1])[::-1] / np.arange(len(good), 0, -1)
