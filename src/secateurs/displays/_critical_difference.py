"""Methods along a line of average ranks, joined by bars where no difference is significant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from secateurs.displays._base import Drawn
from secateurs.pruners._parameters import check_option
from secateurs.statistics import Pairwise, nemenyi, wilcoxon_holm

_TESTS: dict[str, Callable[..., Pairwise]] = {"nemenyi": nemenyi, "wilcoxon-holm": wilcoxon_holm}
_STEP = 0.30  # between lines of text, in units of the diagram; the axis lies at 0, above all else


class CriticalDifferenceDisplay(Drawn):
    """Critical-difference diagram [1]_ of methods compared over data sets.

    Methods stand at their average ranks, the best to the left. A bar joins methods of which no two
    differ significantly.

    Create it with `from_scores`, which draws it on ``ax_`` of ``figure_``; the constructor takes
    the numbers to draw.

    Parameters
    ----------
    pairs : Pairwise
        Outcome of `secateurs.statistics.nemenyi` or `secateurs.statistics.wilcoxon_holm` (of all
        pairs).

    References
    ----------
    .. [1] Demšar. "Statistical comparisons of classifiers over multiple data sets". JMLR 7, 2006.

    Examples
    --------
    >>> from secateurs.displays import CriticalDifferenceDisplay
    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.5, 0.6]]
    >>> display = CriticalDifferenceDisplay.from_scores(scores)
    >>> display.pairs.alike()
    [[0, 1, 2]]
    """

    def __init__(self, pairs: Pairwise) -> None:
        self.pairs = pairs

    @classmethod
    def from_scores(
        cls, scores: Any, *, test: str = "nemenyi", alpha: float = 0.05, ax: Any = None
    ) -> CriticalDifferenceDisplay:
        """Compare all methods and draw the diagram.

        Parameters
        ----------
        scores : DataFrame or array of shape (n_sets, n_methods)
            Higher is better.
        test : {"nemenyi", "wilcoxon-holm"}, default="nemenyi"
            How pairs are compared. Nemenyi's test compares average ranks, Wilcoxon's the
            differences of scores.
        alpha : float, default=0.05
            Level of the test, for all pairs together.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        check_option("test", test, _TESTS)
        return cls(_TESTS[test](scores, alpha=alpha)).plot(ax=ax)

    def plot(self, ax: Any = None) -> CriticalDifferenceDisplay:
        """Draw; see `Display.plot`."""
        self._begin(ax, figsize=(6.0, 1.2 + 0.14 * len(self.pairs.ranks)))
        ranks = self.pairs.ranks
        bars = _stack([(ranks[run[0]], ranks[run[-1]]) for run in self.pairs.alike()])
        below = _STEP * (1 + 0.5 * max((level for _, _, level in bars), default=0))
        self._draw_axis()
        for first, last, level in bars:
            depth = -_STEP * (0.5 + 0.5 * level)
            self.ax_.plot([first - 0.04, last + 0.04], [depth] * 2, color="black", linewidth=2.5)
        self._draw_names(below)
        self._draw_critical_difference()
        return self

    def _draw_axis(self) -> None:
        n_methods = len(self.pairs.ranks)
        self.ax_.plot([1, n_methods], [0, 0], color="black", linewidth=1)
        for rank in range(1, n_methods + 1):
            self.ax_.plot([rank, rank], [0, 0.07], color="black", linewidth=1)
            self.ax_.text(rank, 0.12, str(rank), ha="center", va="bottom", fontsize="small")
        self.ax_.set_axis_off()

    def _draw_names(self, below: float) -> None:
        """Write the better half to the left and the others to the right, without crossing lines."""
        ranks, order = self.pairs.ranks, self.pairs.order
        n_methods = len(order)
        n_left = (n_methods + 1) // 2
        reach = 0.08 * n_methods
        for place, name in enumerate(order):
            left = place < n_left
            depth = -below - _STEP * ((place if left else n_methods - 1 - place) + 0.6)
            edge = 1 - reach if left else n_methods + reach
            line = [ranks[name], ranks[name], edge]
            self.ax_.plot(line, [0, depth, depth], color="0.35", linewidth=0.8)
            text = f"{name}  {ranks[name]:.2f} " if left else f" {ranks[name]:.2f}  {name}"
            side = "right" if left else "left"
            self.ax_.text(edge, depth, text, ha=side, va="center", fontsize="small")
        width = reach + 0.22 * n_methods  # room for the names
        self.ax_.set_xlim(1 - width, n_methods + width)
        self.ax_.set_ylim(-below - _STEP * (n_left + 0.3), 0.8)

    def _draw_critical_difference(self) -> None:
        pairs = self.pairs
        told = f"{pairs.test}, α = {pairs.alpha:g}, {pairs.n_sets} data sets"
        self.ax_.set_title(told, fontsize="small")
        length = pairs.critical_difference
        if length is not None:
            self.ax_.plot([1, 1 + length], [0.6, 0.6], color="black", linewidth=1)
            for end in (1, 1 + length):
                self.ax_.plot([end, end], [0.54, 0.66], color="black", linewidth=1)
            label = f" critical difference {length:.2f}"
            self.ax_.text(1 + length, 0.6, label, ha="left", va="center", fontsize="small")


def _stack(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float, int]]:
    """Return bars with their levels: bars that would touch go on different ones."""
    ends: list[float] = []
    placed = []
    for first, last in spans:
        level = next((level for level, end in enumerate(ends) if end + 0.2 < first), len(ends))
        ends[level : level + 1] = [last]
        placed.append((first, last, level))
    return placed
