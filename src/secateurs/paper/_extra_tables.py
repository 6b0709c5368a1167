"""Tables that the paper lacks: how its open settings matter, and what its authors' settings do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from secateurs._text import NOTHING
from secateurs.paper._accuracy_tables import AccuracyTable, Entry, TableRow, deviations, make_table
from secateurs.paper._figure_ranks import judge_best_ranks, judge_not_worse
from secateurs.paper._plan import Plan
from secateurs.paper._printed import (
    CONTROL,
    PAPER_METHODS,
    TABLE_OF_LEARNER,
    Printed,
    label,
    printed,
)
from secateurs.paper._table_text import Grid, Sheet, csv_text, distance, number

if TYPE_CHECKING:
    import pandas as pd

_AUTHORS_HEADINGS = (
    *("row", "method", "paper_mean", "paper_std", "library_mean", "library_std"),
    *("library_deviations", "authors_mean", "authors_std", "authors_deviations"),
)


def settings_sheet(plan: Plan, frame: pd.DataFrame) -> Sheet | None:
    """Show how ranks and verdicts depend on the number of members and the rate.

    Parameters
    ----------
    plan : Plan
        One with several settings.
    frame : DataFrame
        Results, one row per cell.

    Returns
    -------
    Sheet or None
        None where no data set has results of all ten methods at any setting.
    """
    tables = {setting: make_table(plan, frame, setting) for setting in plan.settings}
    lines = [
        (setting.n_members, setting.keep, len(table.scores), *_summary(table))
        for setting, table in tables.items()
        if len(table.scores)
    ]
    if not lines:
        return None
    names = map(label, PAPER_METHODS)
    headings = ("Members", "Kept", "Data sets", *names, "W/T/L", "Not worse", "Best ranks")
    shown = tuple(
        tuple(number(value) if isinstance(value, float) else str(value) for value in line)
        for line in lines
    )
    caption = (
        "Average ranks of the ten methods, DOMEP's wins, ties and losses against the nine others "
        "by t-test, and whether two claims hold: DOMEP is not significantly worse than the others; "
        "COMEP and DOMEP have the best ranks."
    )
    return Sheet(plan.name, plan.title, caption, Grid(headings, shown), csv_text(headings, lines))


def _summary(table: AccuracyTable) -> tuple[Any, ...]:
    counts = [table.win_tie_loss(method) for method in PAPER_METHODS if method != CONTROL]
    totals = (sum(getattr(c, name) for c in counts) for name in ("wins", "ties", "losses"))
    verdicts = (judge([table]).verdict for judge in (judge_not_worse, judge_best_ranks))
    ranks = (table.ranks[method] for method in PAPER_METHODS)
    return (*ranks, "/".join(map(str, totals)), *verdicts)


def authors_sheet(plan: Plan, frame: pd.DataFrame) -> Sheet | None:
    """Show what settings near those of the authors' program change, beside the printed numbers.

    Parameters
    ----------
    plan : Plan
        One of the variant "authors".
    frame : DataFrame
        Results, one row per cell; those of the library's own settings are used if there.

    Returns
    -------
    Sheet or None
        None where nothing was measured.
    """
    table = make_table(replace(plan, variants=("library", *plan.variants)), frame)
    compared = [_Compared.of(row, method) for row in table.rows for method in plan.methods]
    measured = [item for item in compared if item.authors.folds]
    if not measured:
        return None
    headings = ("Data set", "", *map(label, plan.methods))
    names = dict.fromkeys(item.row.name for item in measured)
    blocks = [_lines([item for item in compared if item.row.name == name]) for name in names]
    lines = tuple(line for block in blocks for line in block)
    rules = frozenset(sum(len(block) for block in blocks[:n]) for n in range(1, len(blocks)))
    numbers = csv_text(_AUTHORS_HEADINGS, [item.numbers() for item in measured])
    return Sheet(plan.name, plan.title, table.caption, Grid(headings, lines, rules), numbers)


@dataclass(frozen=True)
class _Compared:
    """A method on a data set: as printed, by the library, and with the authors' settings."""

    row: TableRow
    method: str
    paper: Printed | None
    library: Entry
    authors: Entry

    @classmethod
    def of(cls, row: TableRow, method: str) -> _Compared:
        rows = printed(TABLE_OF_LEARNER.get(row.source.learner, ""))
        paper = rows.get(row.source.paper_name, {}).get(method)
        entries = (replace(row.entries[c], test=None) for c in (method, f"{method}/authors"))
        return cls(row, method, paper, *entries)

    def distance(self, entry: Entry) -> float:
        return deviations(entry.mean, self.paper, self.row.n_test)

    def numbers(self) -> tuple[Any, ...]:
        paper = (self.paper.mean, self.paper.std) if self.paper else (None, None)
        sides = ((e.mean, e.std, self.distance(e)) for e in (self.library, self.authors))
        return (self.row.name, label(self.method), *paper, *(value for s in sides for value in s))


def _lines(items: Sequence[_Compared]) -> list[tuple[str, ...]]:
    lines = [
        ("library", *(str(item.library) for item in items)),
        ("authors' settings", *(str(item.authors) for item in items)),
    ]
    if any(item.paper for item in items):
        library, authors = (
            [distance(i.distance(getattr(i, side))) for i in items]
            for side in ("library", "authors")
        )
        lines = [
            ("paper", *(str(item.paper or NOTHING) for item in items)),
            *lines,
            ("library, in paper's std", *library),
            ("authors' settings, in paper's std", *authors),
        ]
    return [("" if n else items[0].row.name, *line) for n, line in enumerate(lines)]
