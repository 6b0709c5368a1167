"""Base classes of the paper's figures, and the line styles of its methods."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pandas as pd

from secateurs._methods import METHODS, Style
from secateurs.benchmarking.pictures import COLOURS, Picture
from secateurs.paper._plan import PaperRow, Plan
from secateurs.paper._printed_tables import OURS, method_label
from secateurs.paper.claims import Judge

Series = TypeVar("Series")
RowSeriesT = TypeVar("RowSeriesT", bound="RowSeries")


@dataclass(frozen=True)
class PaperFigure(Generic[Series]):
    """A figure of the paper: functions that make its series, drawings and claims."""

    plan: str  # name of the plan that measures it
    make_series: Callable[[Plan, pd.DataFrame], Sequence[Series]]  # from the results of the plan
    make_pictures: Callable[[Plan, Sequence[Series]], list[Picture]]  # none without series
    judges: tuple[Judge[Series], ...] = ()


@dataclass(frozen=True, eq=False)
class RowSeries:
    """Measurements of one row of a plan."""

    row: str  # unique name of the row, see `Plan.row_names`
    source: PaperRow


def series_by_row(
    prefix: str, series: Sequence[RowSeriesT]
) -> Iterator[tuple[str, str, list[RowSeriesT]]]:
    """Yield the name of each row, the file name of its figure, and its series."""
    for row in dict.fromkeys(item.row for item in series):
        mine = [item for item in series if item.row == row]
        source = mine[0].source
        yield row, f"{prefix}-{source.dataset}-{source.reading}-{source.learner}", mine


def method_style(method: str) -> Style:
    """Return the registered style of a method, or else a style derived from its position there.

    Any two methods differ in more than colour, for readers who cannot distinguish colours.
    """
    registered, index = METHODS[method].style, list(METHODS).index(method)
    if registered is not None:
        return registered
    n_sides, shape = 5 + index // 3, index % 3  # polygon, star or asterisk
    dashes = (2.0 + n_sides, 1.0, 1.0 + shape, 1.0)
    return Style(list(COLOURS)[index % len(COLOURS)], dashes, (n_sides, shape, 0))


def method_line_style(method: str) -> dict[str, Any]:
    """Return the line style of a method; the paper's own methods have thicker lines."""
    style = method_style(method)
    is_own = method in OURS
    return {
        "color": COLOURS[style.colour],
        "linestyle": (0, style.dashes) if style.dashes else "-",
        "marker": style.marker,
        "linewidth": 1.6 if is_own else 0.9,
        "zorder": 3 if is_own else 2,
        "label": method_label(method),
    }
