"""Figures of ranks over data sets, ours beside the paper's."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from secateurs.displays._critical_difference import CriticalDifferenceDisplay
from secateurs.paper import _drawing as look
from secateurs.paper._drawing import Picture
from secateurs.paper._paper import CONTROL, METHODS, label
from secateurs.paper._tables import Table, all_scores
from secateurs.statistics import aggregated_ranks, nemenyi

if TYPE_CHECKING:
    import pandas as pd

_NAMES = [label(method) for method in METHODS]


def rank_pictures(tables: Sequence[Table]) -> list[Picture]:
    """List the figures of ranks: over all tables, then for each table."""
    pictures = []
    if len(tables) > 1:
        sides = _sides(all_scores(tables), all_scores(tables, paper=True))
        pictures += _of_scores("all", "all tables", "tables", sides)
        if sides:
            pictures.append(_sums(tables))
    for table in tables:
        sides = _sides(table.scores, table.paper_scores)
        pictures += _of_scores(table.name, table.title.lower(), table.name, sides)
    return pictures


def _sides(ours: "pd.DataFrame", paper: "pd.DataFrame") -> dict[str, "pd.DataFrame"]:
    """Give what can be ranked, ours first; nothing where ours cannot."""
    if ours.empty:
        return {}
    return {"ours": ours} | ({} if paper.empty else {"the paper's": paper})


def _of_scores(
    name: str, title: str, group: str, sides: dict[str, "pd.DataFrame"]
) -> list[Picture]:
    if not sides:
        return []
    tests = {side: nemenyi(scores) for side, scores in sides.items()}
    headings = ("method", *(f"average rank, {side}" for side in tests))
    rows = tuple((m, *(float(test.ranks[m]) for test in tests.values())) for m in _NAMES)
    counted = ", ".join(f"{test.n_sets} data sets {side}" for side, test in tests.items())
    intervals = Picture(
        f"friedman-{name}",
        group,
        f"Friedman chart: {title}",
        f"Average ranks ({counted}) with intervals as long as Nemenyi's critical difference at "
        "5 %: methods whose intervals do not overlap differ. The band is DOMEP's.",
        headings,
        rows,
        partial(_draw_intervals, tests),
        2.1,
    )
    diagram = Picture(
        f"critical-difference-{name}",
        group,
        f"Critical differences: {title}",
        f"Average ranks ({counted}). A bar joins methods of which no two differ by Nemenyi's test "
        "at 5 %.",
        headings,
        rows,
        partial(_draw_diagrams, tests),
        2.3 * len(tests),
    )
    return [intervals, diagram]


def _draw_intervals(tests: dict[str, Any], figure: Any) -> None:
    panels = figure.subplots(1, len(tests), sharex=True, sharey=True, squeeze=False)[0]
    for panel, (side, test) in zip(panels, tests.items(), strict=True):
        half = test.critical_difference / 2
        own = test.ranks[label(CONTROL)]
        panel.axvspan(own - half, own + half, color="#e8eef4", linewidth=0)
        for place, name in enumerate(_NAMES):
            rank = test.ranks[name]
            colour = look.ORANGE if name == label(CONTROL) else look.BLUE
            panel.plot([rank - half, rank + half], [place] * 2, color=colour, linewidth=1.4)
            panel.plot([rank], [place], "D" if name == label(CONTROL) else "o", color=colour)
        panel.set_title(side)
        panel.set_xlabel("average rank")
    look.level_rows(panels, _NAMES)


def _draw_diagrams(tests: dict[str, Any], figure: Any) -> None:
    panels = figure.subplots(len(tests), 1, squeeze=False)[:, 0]
    for panel, (side, test) in zip(panels, tests.items(), strict=True):
        CriticalDifferenceDisplay(test).plot(ax=panel)
        panel.set_title(f"{side}: {panel.get_title()}")


def _sums(tables: Sequence[Table]) -> Picture:
    sides = {
        side: {
            table.title: aggregated_ranks(scores)
            for table in tables
            if len(scores := table.paper_scores if paper else table.scores)
        }
        for side, paper in (("ours", False), ("the paper's", True))
    }
    headings = ("method", *(f"{side}: {title}" for side, parts in sides.items() for title in parts))
    rows = tuple(
        (name, *(float(ranks[name]) for parts in sides.values() for ranks in parts.values()))
        for name in _NAMES
    )
    caption = (
        "Ranks of a method added up over the data sets of all tables; the smaller, the better. "
        "Data sets that were not measured lack on our side."
    )
    draw = partial(_draw_sums, sides, [table.title for table in tables])
    title = "Aggregated ranks"
    return Picture("aggregated-ranks", "tables", title, caption, headings, rows, draw, 2.6)


def _draw_sums(
    sides: dict[str, dict[str, "pd.Series"]], titles: Sequence[str], figure: Any
) -> None:
    panels = figure.subplots(1, len(sides), sharey=True)
    looks = ((look.BLUE, ""), (look.AMBER, "////"), (look.GREEN, "...."))
    styles = dict(zip(titles, looks, strict=False))
    for panel, (side, parts) in zip(panels, sides.items(), strict=True):
        left = [0.0] * len(_NAMES)
        for title, ranks in parts.items():
            colour, hatch = styles[title]
            widths = [float(ranks[name]) for name in _NAMES]
            panel.barh(range(len(_NAMES)), widths, 0.75, left=left, color=colour, hatch=hatch,
                       label=title, edgecolor="white", linewidth=0.3)  # fmt: skip
            left = [start + width for start, width in zip(left, widths, strict=True)]
        panel.set_title(side)
        panel.set_xlabel("sum of ranks")
    look.level_rows(panels, _NAMES)
    look.legend_below(figure, panels[-1], 1)
