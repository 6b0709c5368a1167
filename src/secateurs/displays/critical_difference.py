"""Critical-difference diagram: methods on an axis of average ranks, joined if not different."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from secateurs.displays._base_display import BaseDisplay
from secateurs.exceptions import import_extra
from secateurs.pruners.parameters import check_option
from secateurs.statistics import Pairwise, nemenyi, wilcoxon_holm
from secateurs.typing import AxesLike

if TYPE_CHECKING:
    from matplotlib.font_manager import FontProperties

_TESTS: dict[str, Callable[..., Pairwise]]
_TESTS = {"nemenyi": nemenyi, "wilcoxon-holm": wilcoxon_holm, "wilcoxon": wilcoxon_holm}
# Vertical positions are in units of the diagram: the axis is at 0, and names and bars are below it.
_STEP = 0.30  # between lines of text
_BAR = 0.5  # height of the bar of the critical difference, above the numbers of the ranks
# Sizes in inches, chosen for small letters (8.33 points).
_LINE = 0.21  # height of a line of text
_MARGIN = 0.12  # between names and lines, and at the edges
_GAP = 0.08  # least gap between the numbers of ranks
_TICK = 0.3  # width of one rank in a new figure
_LEAST_AXIS = 2.5  # width of the axis in a new figure, at least
_AXIS_SHARE = 0.35  # share of the width of given axes that the axis of ranks keeps, at least


class CriticalDifferenceDisplay(BaseDisplay):
    """Critical-difference diagram [1]_ of methods compared over data sets.

    Methods are drawn at their average ranks, the best on the left. A bar joins methods of which no
    two differ significantly.

    Create it with `from_scores`, which draws it on ``ax_`` of ``figure_``. The constructor takes
    the result of a test.

    Parameters
    ----------
    pairs : Pairwise
        Result of `secateurs.statistics.nemenyi`, or of `secateurs.statistics.wilcoxon_holm` for all
        pairs.

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
        cls, scores: ArrayLike, *, test: str = "nemenyi", alpha: float = 0.05, ax: AxesLike = None
    ) -> CriticalDifferenceDisplay:
        """Compare all methods and draw the diagram.

        Parameters
        ----------
        scores : DataFrame or array of shape (n_sets, n_methods)
            Higher is better.
        test : {"nemenyi", "wilcoxon-holm", "wilcoxon"}, default="nemenyi"
            Test of pairs. Nemenyi's test compares average ranks. Wilcoxon's test, with Holm's
            correction under both names, compares the differences of scores.
        alpha : float, default=0.05
            Significance level, for all pairs together.
        ax : matplotlib Axes, optional
            Axes to draw on; by default the axes of a new figure.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        check_option("test", test, _TESTS)
        return cls(_TESTS[test](scores, alpha=alpha)).plot(ax=ax)

    def plot(self, ax: AxesLike = None) -> CriticalDifferenceDisplay:
        """Draw the figure; see `Display.plot`.

        A new figure is as large as the names need. On given axes, the letters are made smaller if
        they do not fit.
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
        """Return the width and height of the axes."""
        box, dpi = self.ax_.get_window_extent(), self.figure_.dpi
        return box.width / dpi, box.height / dpi

    def _write_text(
        self, x: float, y: float, text: str, layout: _DiagramLayout, **alignment: Any
    ) -> None:
        # Names may contain dollar signs, which are not formulas.
        self.ax_.text(x, y, text, fontsize=layout.font_points, parse_math=False, **alignment)

    def _draw_axis(self, layout: _DiagramLayout) -> None:
        n_methods = len(self.pairs.ranks)
        self.ax_.plot([1, n_methods], [0, 0], color="black", linewidth=1)
        for rank in range(1, n_methods + 1):
            is_labelled = (rank - 1) % layout.tick_step == 0
            length = 0.07 if is_labelled else 0.04
            self.ax_.plot([rank, rank], [0, length], color="black", linewidth=1)
            if is_labelled:
                self._write_text(rank, 0.12, str(rank), layout, ha="center", va="bottom")
        self.ax_.set_axis_off()

    def _draw_names(self, layout: _DiagramLayout) -> None:
        """Write the better half on the left and the other half on the right; lines do not cross."""
        ranks, order = self.pairs.ranks, self.pairs.order
        n_methods = len(order)
        for index, name in enumerate(order):
            is_left = index < layout.n_left
            line = index if is_left else n_methods - 1 - index
            depth = -layout.bars_depth - _STEP * (line + 0.6)
            edge = 1 - layout.name_offset if is_left else n_methods + layout.name_offset
            points = [ranks[name], ranks[name], edge]
            self.ax_.plot(points, [0, depth, depth], color="0.35", linewidth=0.8)
            text, side = _rank_label(name, ranks[name], is_left), "right" if is_left else "left"
            self._write_text(edge, depth, text, layout, ha=side, va="center")

    def _draw_critical_difference(self, layout: _DiagramLayout) -> None:
        """Write the name of the test, and draw the critical difference if it fits the axis."""
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
    """Positions in units of the diagram: ranks from left to right, heights from the axis up."""

    title: str
    name_widths: tuple[float, float]  # of the longest name on the left and right, in inches
    n_methods: int
    n_levels: int  # of bars
    axis_inches: float  # width of the axis of ranks
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
        axis = max(_LEAST_AXIS, _TICK * len(order), _text_inches(title, points) - sum(widths))
        return cls(title, (widths[0], widths[1]), len(order), n_levels, axis, points)

    def fit_within(self, width: float, height: float) -> _DiagramLayout:
        """Return the layout on axes of a given size, with smaller letters if needed."""
        names_inches = sum(self.name_widths) + 4 * _MARGIN
        lines = self.upper_extent + self.lower_extent
        scale = min(
            1.0,
            (1 - _AXIS_SHARE) * width / names_inches,
            height / (lines * _LINE / _STEP),
            width / (_text_inches(self.title, self.font_points) + _MARGIN),
        )
        widths = (self.name_widths[0] * scale, self.name_widths[1] * scale)
        axis, points = width - sum(widths) - 4 * _MARGIN, self.font_points * scale
        return replace(self, name_widths=widths, axis_inches=axis, font_points=points)

    @property
    def figsize(self) -> tuple[float, float]:
        """Size of a new figure, in inches."""
        width = sum(self.name_widths) + self.axis_inches + 4 * _MARGIN
        return width, (self.upper_extent + self.lower_extent) * _LINE / _STEP + 2.5 * _LINE

    @property
    def n_left(self) -> int:
        """Number of names on the left."""
        return (self.n_methods + 1) // 2

    @property
    def rank_inches(self) -> float:
        """Width of one rank, in inches."""
        return self.axis_inches / max(1, self.n_methods - 1)

    @property
    def name_offset(self) -> float:
        """Distance from the ends of the axis to the names."""
        return _MARGIN / self.rank_inches

    @property
    def left_extent(self) -> float:
        """Distance from the first rank to the left edge."""
        return (self.name_widths[0] + 2 * _MARGIN) / self.rank_inches

    @property
    def right_extent(self) -> float:
        """Distance from the last rank to the right edge."""
        return (self.name_widths[1] + 2 * _MARGIN) / self.rank_inches

    @property
    def bars_depth(self) -> float:
        """Distance from the axis to the names, which leaves space for the bars."""
        return _STEP * (0.5 + 0.5 * self.n_levels)

    @property
    def lower_extent(self) -> float:
        """Distance from the axis to the lower edge."""
        return self.bars_depth + _STEP * (self.n_left + 0.3)

    @property
    def upper_extent(self) -> float:
        """Distance from the axis to the upper edge."""
        return _BAR + 0.1 + _STEP

    @property
    def tick_step(self) -> int:
        """Distance in ranks between two ranks that are labelled."""
        label_inches = _text_inches("00", self.font_points) + _GAP
        return max(1, math.ceil(label_inches / self.rank_inches))


def _rank_label(name: object, rank: float, is_left: bool) -> str:
    return f"{name}  {rank:.2f} " if is_left else f" {rank:.2f}  {name}"


def _small_font_points() -> float:
    """Return matplotlib's size of small letters, in points."""
    manager = import_extra("matplotlib.font_manager", "plot", "drawing")
    return float(manager.FontProperties(size="small").get_size_in_points())


def _text_inches(text: str, points: float) -> float:
    """Return the width of text in inches, with a reserve of 5 %, because renderers differ."""
    paths = import_extra("matplotlib.textpath", "plot", "drawing")
    width, _, _ = paths.text_to_path.get_text_width_height_descent(
        text, _font_properties(points), ismath=False
    )
    return 1.05 * float(width) / 72


def _font_properties(points: float) -> FontProperties:
    return import_extra("matplotlib.font_manager", "plot", "drawing").FontProperties(size=points)


def _stack_bars(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float, int]]:
    """Return bars with their levels; bars that would touch are on different levels."""
    ends: list[float] = []  # of the last bar on each level
    bars = []
    for first, last in spans:
        # Bars extend their ranks by 0.04 on both sides, so 0.2 leaves a visible gap.
        level = next((level for level, end in enumerate(ends) if end + 0.2 < first), len(ends))
        ends[level : level + 1] = [last]
        bars.append((first, last, level))
    return bars
