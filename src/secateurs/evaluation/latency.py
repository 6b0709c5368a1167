"""How long one row takes to predict, by the number of members: a line through a few timings."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Latency:
    """Seconds to predict one row, measured with a few numbers of members.

    Members of one kind take equally long, so a line is fitted: its slope is the median of the
    slopes of all pairs (Theil and Sen), which one bad timing does not move. Members of several
    kinds differ, and their timings are joined as they are, each at least as long as the one before.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of members, ascending; the first is 1, the last all.
    seconds : ndarray of shape (n_sizes,)
        Median of the timings of each.
    preprocessing_seconds : float
        Seconds of these that steps before the ensemble take, whatever the number of members.
    is_homogeneous : bool
        Whether all members are of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation.latency import Latency
    >>> latency = Latency(np.array([1, 4, 10, 40]), np.array([3.0, 6.0, 99.0, 42.0]), 1.5, True)
    >>> latency.seconds_for(20), latency.max_members(22.5)
    (22.0, 20)
    """

    sizes: NDArray[np.intp]
    seconds: NDArray[np.float64]
    preprocessing_seconds: float
    is_homogeneous: bool

    @cached_property
    def per_member(self) -> float:
        """Seconds that each further member takes."""
        pairs = list(combinations(zip(self.sizes, self.seconds, strict=True), 2))
        slopes = [(later - sooner) / (more - fewer) for (fewer, sooner), (more, later) in pairs]
        return max(0.0, float(np.median(slopes))) if slopes else 0.0

    @cached_property
    def _seconds_without_members(self) -> float:
        """Seconds without any member; never less than preprocessing, whatever the noise."""
        return max(
            self.preprocessing_seconds,
            float(np.median(self.seconds - self.per_member * self.sizes)),
        )

    def seconds_for(self, n_members: int) -> float:
        """Return the seconds of so many members."""
        if self.is_homogeneous:
            return self._seconds_without_members + self.per_member * n_members
        return float(np.interp(n_members, self.sizes, np.maximum.accumulate(self.seconds)))

    def max_members(self, limit: float) -> int:
        """Return the most members within a limit; 0 if not even one is."""
        everybody = range(1, int(self.sizes[-1]) + 1)
        return sum(self.seconds_for(n_members) <= limit for n_members in everybody)
