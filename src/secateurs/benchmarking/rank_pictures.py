"""Figures of average ranks over data sets: Friedman chart and critical differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from secateurs import statistics as stats
from secateurs.benchmarking import pictures as look
from secateurs.displays.critical_difference import CriticalDifferenceDisplay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tests = Mapping[str, stats.Pairwise]  # by the title of a panel


def rank_pictures(
    name: str,
    title: str,
    group: str,
    sides: Mapping[str, pd.DataFrame],
    control: str | None = None,
    *,
    in_column: bool = False,
    unit: str = "data sets",
) -> list[look.Picture]:
    """Return the figures of ranks for tables of scores, which become panels.

    ``sides`` has scores (data sets × methods) of the same methods by panel title; ``control`` is
    highlighted. With ``in_column`` figures are as wide as a column of a paper, otherwise as wide as
    the names need. ``unit`` is the name of the rows of the tables.
    """
    tests = {side: stats.nemenyi(scores) for side, scores in sides.items()}
    methods = list(next(iter(sides.values())).columns)
    headings = ("method", *(f"average rank{_comma_prefixed(side)}" for side in tests))
    rows = tuple((m, *(float(test.ranks[m]) for test in tests.values())) for m in methods)
    counted = ", ".join(f"{test.n_sets} {unit} {side}".rstrip() for side, test in tests.items())
    band = f" The band is {control}'s." if control else ""
    if in_column:
        sizes = [(look.COLUMN, 2.1), (look.COLUMN, 2.3 * len(tests))]
    else:
        diagrams = [CriticalDifferenceDisplay(test).figsize for test in tests.values()]
        widest, tallest = (max(size) for size in zip(*diagrams, strict=True))
        rows_high = 0.9 + 0.16 * len(methods)
        sizes = [(look.COLUMN + widest / 3, rows_high), (widest, tallest * len(tests))]
    charts: tuple[tuple[str, str, Callable[[Tests, Figure], None], str], ...] = (
        ("friedman", "Friedman chart", partial(_draw_intervals, methods, control),
         " with intervals as long as Nemenyi's critical difference at 5 %: methods whose intervals "
         f"do not overlap differ.{band}"),
        ("critical-difference", "Critical differences", partial(_draw_diagrams, unit),
         ". A bar joins methods of which no two differ by Nemenyi's test at 5 %."),
    )  # fmt: skip
    return [
        look.Picture(
            name=f"{kind}-{name}",
            group=group,
            title=f"{heading}: {title}",
            caption=f"Average ranks ({counted}){explanation}",
            headings=headings,
            rows=rows,
            draw=partial(draw, tests),
            height=height,
            width=width,
        )
        for (kind, heading, draw, explanation), (width, height) in zip(charts, sizes, strict=True)
    ]


def _comma_prefixed(side: str) -> str:
    return f", {side}" if side else ""


def _draw_intervals(methods: list[str], control: str | None, tests: Tests, figure: Figure) -> None:
    """Draw the rank of each method with half the critical difference on both sides."""
    panels = figure.subplots(1, len(tests), sharex=True, sharey=True, squeeze=False)[0]
    for panel, (side, test) in zip(panels, tests.items(), strict=True):
        assert test.critical_difference is not None  # Nemenyi's test has one
        half = test.critical_difference / 2
        if control is not None:
            rank = test.ranks[control]
            panel.axvspan(rank - half, rank + half, color="#e8eef4", linewidth=0)
        for position, name in enumerate(methods):
            rank = test.ranks[name]
            colour = look.ORANGE if name == control else look.BLUE
            panel.plot([rank - half, rank + half], [position] * 2, color=colour, linewidth=1.4)
            panel.plot([rank], [position], "D" if name == control else "o", color=colour)
        panel.set_title(side)
        panel.set_xlabel("average rank")
    look.label_rows(panels, methods)


def _draw_diagrams(unit: str, tests: Tests, figure: Figure) -> None:
    """Draw a critical-difference diagram of the ranks for each comparison."""
    panels = figure.subplots(len(tests), 1, squeeze=False)[:, 0]
    for panel, (side, test) in zip(panels, tests.items(), strict=True):
        CriticalDifferenceDisplay(test).plot(ax=panel)
        title = panel.get_title().replace("data sets", unit)
        panel.title.set_text(f"{side}: {title}" if side else title)
