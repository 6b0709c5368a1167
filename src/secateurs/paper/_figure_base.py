"""What the paper's figures share: their parts, and how its methods look."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from secateurs._methods import METHODS, Style
from secateurs.benchmarking.pictures import COLOURS, Picture
from secateurs.paper._plan import PaperRow, Plan
from secateurs.paper._printed_tables import OURS, method_label
from secateurs.paper.claims import Judge


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: how its numbers, drawings and verdicts are made.

    Attributes
    ----------
    plan : str
        Name of the plan that measures it.
    make_series : callable
        Called as ``make_series(plan, frame)``; returns the numbers that are drawn and judged.
    make_pictures : callable
        Called as ``make_pictures(plan, series)``; returns the drawings, none where there are no
        numbers.
    judges : tuple of callable
        Called with the series; each returns a claim with its verdict.
    """

    plan: str
    make_series: Callable[[Plan, pd.DataFrame], Sequence[Any]]
    make_pictures: Callable[[Plan, Any], list[Picture]]
    judges: tuple[Judge, ...] = ()


@dataclass(frozen=True, eq=False)
class RowSeries:
    """Numbers of one row of a plan.

    Attributes
    ----------
    row : str
        Name of the row: the paper's name of the data set, and what else tells rows apart.
    source : PaperRow
        The row of the plan.
    """

    row: str
    source: PaperRow


def series_by_row(prefix: str, series: Sequence[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield each row's name, the name of its figure's files, and its series."""
    for row in dict.fromkeys(item.row for item in series):
        mine = [item for item in series if item.row == row]
        source = mine[0].source
        yield row, f"{prefix}-{source.dataset}-{source.reading}-{source.learner}", mine


def method_style(method: str) -> Style:
    """Return the style of a method, derived from its place in the registry where it has none.

    Any two methods differ in more than colour.
    """
    known, place = METHODS[method].style, list(METHODS).index(method)
    if known is not None:
        return known
    n_sides, shape = 5 + place // 3, place % 3  # polygon, star or asterisk
    dashes = (2.0 + n_sides, 1.0, 1.0 + shape, 1.0)
    return Style(list(COLOURS)[place % len(COLOURS)], dashes, (n_sides, shape, 0))


def method_line_style(method: str) -> dict[str, Any]:
    """Return how the line of a method looks; the paper's own stand out."""
    style = method_style(method)
    own = method in OURS
    return {
        "color": COLOURS[style.colour],
        "linestyle": (0, style.dashes) if style.dashes else "-",
        "marker": style.marker,
        "linewidth": 1.6 if own else 0.9,
        "zorder": 3 if own else 2,
        "label": method_label(method),
    }
