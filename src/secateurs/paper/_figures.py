"""What the figures of the paper share; each stands in its own file ``_figure_*.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secateurs.paper._claims import Judge
from secateurs.paper._drawing import Picture
from secateurs.paper._plan import PaperRow, Plan

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: how its numbers, drawings and verdicts are made.

    Attributes
    ----------
    plan : str
        Name of the plan that measures it.
    series : callable
        Called as ``series(plan, frame)``; returns the numbers that are drawn and judged.
    pictures : callable
        Called as ``pictures(plan, series)``; returns the drawings, none where there are no numbers.
    judges : tuple of callable
        Called with the series; each returns a claim with its verdict.
    """

    plan: str
    series: Callable[[Plan, pd.DataFrame], Sequence[Any]]
    pictures: Callable[[Plan, Any], list[Picture]]
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


def by_row(prefix: str, series: Sequence[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield each row's name, the name of its figure's files, and its series."""
    for row in dict.fromkeys(item.row for item in series):
        mine = [item for item in series if item.row == row]
        source = mine[0].source
        yield row, f"{prefix}-{source.dataset}-{source.reading}-{source.learner}", mine
