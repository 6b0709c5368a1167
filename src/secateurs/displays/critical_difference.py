"""Methods along a line of average ranks, joined by bars where no difference is significant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from secateurs.displays._base_display import BaseDisplay
from secateurs.exceptions import import_extra
from secateurs.pruners.parameters import check_option
from secateurs.statistics import Pairwise, nemenyi, wilcoxon_holm

_TESTS: dict[str, Callable[..., Pairwise]] = {
    **{"nemenyi": nemenyi, "wilcoxon-holm": wilcoxon_holm, "wilcoxon": wilcoxon_holm}
}
_STEP = 0.30  # between lines of text, in units of the diagram; the axis lies at 0, above all else
_BAR = 0.5  # where the critical difference is drawn
_LINE = 0.21  # height of a line of text, in inches; all others are widths
_MARGIN = 0.12
_GAP = 0.08
_TICK = 0.3  # a rank in a new figure
_LEAST_AXIS = 2.5
_AXIS_SHARE = 0.35  # of given axes, at least


class CriticalDifferenceDisplay(BaseDisplay):
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
        test : {"nemenyi", "wilcoxon-holm", "wilcoxon"}, default="nemenyi"
            How pairs are compared. Nemenyi's test compares average ranks, Wilcoxon's, with Holm's
            correction under either name, the differences of scores.
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
        """Draw; see `Display.plot`.

        A new figure is as large as the names need. On given axes, letters get smaller if they must.
        """
        ranks, bars, layout = self.pairs.ranks, self._stacked_bars, self._figure_layout
        self._set_up_axes(ax, figsize=layout.figsize)
        if ax is not None:
            layout = layout.fit_within(*self._axes_inches())
        self._draw_axis(layout)
        for first, last, level in bars:
            depth = -_STEP * (0.5 + 0.5 * level)
            self.ax_.plot([first - 0.04, last + 0.04], [depth] * 2, color="black", linewidth=2.5)
        self._draw_names(layout)
        self._draw_critical_difference(layout)
        self.ax_.set_xlim(1 - layout.left_extent, len(ranks) + layout.right_extent)
        self.ax_.set_ylim(-layout.lower_extent, layout.upper_extent)
        return self

    @property
    def figsize(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return self._figure_layout.figsize

    @property
    def _stacked_bars(self) -> list[tuple[float, float, int]]:
        ranks = self.pairs.ranks
        return _stack_bars([(ranks[run[0]], ranks[run[-1]]) for run in self.pairs.alike()])

    @property
    def _figure_layout(self) -> _DiagramLayout:
        return _DiagramLayout.for_new_figure(
            self.pairs, max((level + 1 for _, _, level in self._stacked_bars), default=0)
        )

    def _axes_inches(self) -> tuple[float, float]:
        """Return width and height of the axes."""
        box, dpi = self.ax_.get_window_extent(), self.figure_.dpi
        return box.width / dpi, box.height / dpi

    def _write_text(
        self, x: float, y: float, text: str, layout: _DiagramLayout, **place: Any
    ) -> None:
        self.ax_.text(x, y, text, fontsize=layout.font_points, parse_math=False, **place)

    def _draw_axis(self, layout: _DiagramLayout) -> None:
        n_methods = len(self.pairs.ranks)
        self.ax_.plot([1, n_methods], [0, 0], color="black", linewidth=1)
        for rank in range(1, n_methods + 1):
            named = (rank - 1) % layout.tick_step == 0
            self.ax_.plot([rank, rank], [0, 0.07 if named else 0.04], color="black", linewidth=1)
            if named:
                self._write_text(rank, 0.12, str(rank), layout, ha="center", va="bottom")
        self.ax_.set_axis_off()

    def _draw_names(self, layout: _DiagramLayout) -> None:
        """Write the better half to the left and the others to the right, without crossing lines."""
        ranks, order = self.pairs.ranks, self.pairs.order
        n_methods = len(order)
        for place, name in enumerate(order):
            left = place < layout.n_left
            line = place if left else n_methods - 1 - place
            depth = -layout.bars_depth - _STEP * (line + 0.6)
            edge = 1 - layout.name_offset if left else n_methods + layout.name_offset
            points = [ranks[name], ranks[name], edge]
            self.ax_.plot(points, [0, depth, depth], color="0.35", linewidth=0.8)
            text, side = _rank_label(name, ranks[name], left), "right" if left else "left"
            self._write_text(edge, depth, text, layout, ha=side, va="center")

    def _draw_critical_difference(self, layout: _DiagramLayout) -> None:
        """Write which test it is, and draw the critical difference where it fits the axis."""
        pairs, n_methods = self.pairs, len(self.pairs.ranks)
        self.ax_.set_title(layout.title, fontsize=layout.font_points, parse_math=False)
        length = pairs.critical_difference
        if length is None:
            return
        text = f"critical difference {length:.2f}"
        self._write_text(1, _BAR + 0.1, text, layout, ha="left", va="bottom")
        if length <= n_methods - 1:
            self.ax_.plot([1, 1 + length], [_BAR, _BAR], color="black", linewidth=1)
            for end in (1, 1 + length):
                self.ax_.plot([end, end], [_BAR - 0.06, _BAR + 0.06], color="black", linewidth=1)


@dataclass(frozen=True)
class _DiagramLayout:
    """Where things stand, in units of the diagram: ranks to the right, lines of text down.

    Attributes
    ----------
    title : str
        What is written above.
    name_widths : tuple of float
        Width of the longest name to the left, and to the right, in inches.
    n_methods, n_levels : int
        Number of methods, and of levels of bars.
    axis_inches : float
        Width of the line of ranks, in inches.
    font_points : float
        Size of letters.
    """

    title: str
    name_widths: tuple[float, float]
    n_methods: int
    n_levels: int
    axis_inches: float
    font_points: float

    @classmethod
    def for_new_figure(cls, pairs: Pairwise, n_levels: int) -> _DiagramLayout:
        """Return the layout of a new figure."""
        order, ranks, points = pairs.order, pairs.ranks, _small_font_points()
        title = f"{pairs.test}, α = {pairs.alpha:g}, {pairs.n_sets} data sets"
        n_left = (len(order) + 1) // 2
        widths = [
            max((_text_inches(_rank_label(n, ranks[n], left), points) for n in names), default=0.0)
            for left, names in ((True, order[:n_left]), (False, order[n_left:]))
        ]
        least = max(_LEAST_AXIS, _TICK * len(order), _text_inches(title, points) - sum(widths))
        return cls(title, (widths[0], widths[1]), len(order), n_levels, least, points)

    def fit_within(self, width: float, height: float) -> _DiagramLayout:
        """Return the layout on axes of this size: with smaller letters if they do not fit."""
        names = sum(self.name_widths) + 4 * _MARGIN
        lines = self.upper_extent + self.lower_extent
        most = min(
            1.0,
            (1 - _AXIS_SHARE) * width / names,
            height / (lines * _LINE / _STEP),
            width / (_text_inches(self.title, self.font_points) + _MARGIN),
        )
        widths = (self.name_widths[0] * most, self.name_widths[1] * most)
        axis = width - sum(widths) - 4 * _MARGIN
        return replace(
            self, name_widths=widths, axis_inches=axis, font_points=self.font_points * most
        )

    @property
    def figsize(self) -> tuple[float, float]:
        """Size of a new figure, in inches."""
        width = sum(self.name_widths) + self.axis_inches + 4 * _MARGIN
        return width, (self.upper_extent + self.lower_extent) * _LINE / _STEP + 2.5 * _LINE

    @property
    def n_left(self) -> int:
        """Number of names to the left."""
        return (self.n_methods + 1) // 2

    @property
    def rank_inches(self) -> float:
        """One rank, in inches."""
        return self.axis_inches / max(1, self.n_methods - 1)

    @property
    def name_offset(self) -> float:
        """From the ends of the line of ranks to the names."""
        return _MARGIN / self.rank_inches

    @property
    def left_extent(self) -> float:
        """From the first rank to the left edge."""
        return (self.name_widths[0] + 2 * _MARGIN) / self.rank_inches

    @property
    def right_extent(self) -> float:
        """From the last rank to the right edge."""
        return (self.name_widths[1] + 2 * _MARGIN) / self.rank_inches

    @property
    def bars_depth(self) -> float:
        """From the line of ranks to the names: room for the bars."""
        return _STEP * (0.5 + 0.5 * self.n_levels)

    @property
    def lower_extent(self) -> float:
        """From the line of ranks to the lower edge."""
        return self.bars_depth + _STEP * (self.n_left + 0.3)

    @property
    def upper_extent(self) -> float:
        """From the line of ranks to the upper edge."""
        return _BAR + 0.1 + _STEP

    @property
    def tick_step(self) -> int:
        """How many ranks lie between two that are written."""
        wide = _text_inches("00", self.font_points) + _GAP
        return max(1, math.ceil(wide / self.rank_inches))


def _rank_label(name: Any, rank: float, left: bool) -> str:
    return f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}"


def _small_font_points() -> float:
    """Return the size of small letters."""
    manager = import_extra("matplotlib.font_manager", "plot", "drawing")
    return float(manager.FontProperties(size="small").get_size_in_points())


def _text_inches(text: str, points: float) -> float:
    """Return the width of text in inches, with some room: renderers differ a little."""
    paths = import_extra("matplotlib.textpath", "plot", "drawing")
    size, _, _ = paths.text_to_path.get_text_width_height_descent(
        text, _font_properties(points), ismath=False
    )
    return 1.05 * float(size) / 72


def _font_properties(points: float) -> Any:
    return import_extra("matplotlib.font_manager", "plot", "drawing").FontProperties(size=points)


def _stack_bars(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float, int]]:
    """Return bars with their levels: bars that would touch go on different ones."""
    ends: list[float] = []
    placed = []
    for first, last in spans:
        level = next((level for level, end in enumerate(ends) if end + 0.2 < first), len(ends))
        ends[level : level + 1] = [last]
        placed.append((first, last, level))
    return placed
