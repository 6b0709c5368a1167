"""Tables that the paper lacks: what its open settings change, and what its authors' settings do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from secateurs.paper._paper import CONTROL, METHODS, TABLE_OF_LEARNER, Printed, label, printed
from secateurs.paper._plan import Plan
from secateurs.paper._rank_claims import judge_best_ranks, judge_not_worse
from secateurs.paper._selection import settings_of
from secateurs.paper._table_text import Grid, csv_text, distance, number, plain
from secateurs.paper._tables import Entry, Table, TableRow, deviations, make_table

if TYPE_CHECKING:
    import pandas as pd

_AUTHORS_HEADINGS = (
    *("row", "method", "paper_mean", "paper_std", "library_mean", "library_std"),
    *("library_deviations", "authors_mean", "authors_std", "authors_deviations"),
)


@dataclass(frozen=True)
class Listing:
    """A table of another form than the paper's.

    Attributes
    ----------
    name, title, caption : str
        Short name, heading, and what it shows.
    grid : Grid
        What it says, as text.
    csv : str
        The numbers.
    """

    name: str
    title: str
    caption: str
    grid: Grid
    csv: str


def settings_listing(plan: Plan, frame: "pd.DataFrame") -> Listing | None:
    """Show how ranks and verdicts depend on the number of members and the rate.

    Parameters
    ----------
    plan : Plan
        One with several settings.
    frame : DataFrame
        Results, one row a cell.

    Returns
    -------
    Listing or None
        None where no data set has results of all ten methods at any setting.
    """
    tables = {setting: make_table(plan, frame, setting) for setting in settings_of(plan)}
    ranked = {setting: table for setting, table in tables.items() if len(table.scores)}
    if not ranked:
        return None
    lines = [
        (setting.n_members, setting.keep, len(table.scores), *_summary(table))
        for setting, table in ranked.items()
    ]
    names = [label(method) for method in METHODS]
    headings = ("Members", "Kept", "Data sets", *names, "W/T/L", "Not worse", "Best ranks")
    shown = tuple(tuple(_text(value) for value in line) for line in lines)
    caption = (
        "Average ranks of the ten methods, DOMEP's wins, ties and losses against the nine others "
        "by t-test, and whether two claims hold: DOMEP is not significantly worse than the others; "
        "COMEP and DOMEP have the best ranks."
    )
    return Listing(plan.name, plan.title, caption, Grid(headings, shown), csv_text(headings, lines))


def _summary(table: Table) -> tuple[Any, ...]:
    counts = [table.win_tie_loss(method) for method in METHODS if method != CONTROL]
    totals = (sum(getattr(c, name) for c in counts) for name in ("wins", "ties", "losses"))
    verdicts = (judge([table]).verdict for judge in (judge_not_worse, judge_best_ranks))
    ranks = (table.ranks[method] for method in METHODS)
    return (*ranks, "/".join(map(str, totals)), *verdicts)


def authors_listing(plan: Plan, frame: "pd.DataFrame") -> Listing | None:
    """Show what settings near those of the authors' program change, beside the printed figures.

    Parameters
    ----------
    plan : Plan
        One of the variant "authors".
    frame : DataFrame
        Results, one row a cell; those of the library's own settings are taken if they are there.

    Returns
    -------
    Listing or None
        None where nothing was measured.
    """
    table = make_table(replace(plan, variants=("library", *plan.variants)), frame)
    compared = [_Compared.of(row, method) for row in table.rows for method in plan.methods]
    measured = [item for item in compared if item.authors.folds]
    if not measured:
        return None
    headings = ("Data set", "", *(label(method) for method in plan.methods))
    names = dict.fromkeys(item.row.name for item in measured)
    blocks = [_lines([item for item in compared if item.row.name == name]) for name in names]
    lines = tuple(line for block in blocks for line in block)
    rules = frozenset(sum(len(block) for block in blocks[:n]) for n in range(1, len(blocks)))
    grid = Grid(headings, lines, rules)
    rows = [item.numbers() for item in measured]
    return Listing(plan.name, plan.title, table.caption, grid, csv_text(_AUTHORS_HEADINGS, rows))


@dataclass(frozen=True)
class _Compared:
    """A method on a data set: as printed, by the library, and with the authors' settings."""

    row: TableRow
    method: str
    paper: Printed | None
    library: Entry
    authors: Entry

    @classmethod
    def of(cls, row: TableRow, method: str) -> "_Compared":
        figures = printed(TABLE_OF_LEARNER.get(row.source.learner, ""))
        paper = figures.get(row.source.paper_name, {}).get(method)
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
        ("", "library", *(plain(item.library) for item in items)),
        ("", "authors' settings", *(plain(item.authors) for item in items)),
    ]
    if any(item.paper for item in items):
        papers = (f"{i.paper.mean:.2f}±{i.paper.std:.2f}" if i.paper else "–" for i in items)
        library, authors = (
            [distance(i.distance(getattr(i, side))) for i in items]
            for side in ("library", "authors")
        )
        lines = [
            ("", "paper", *papers),
            *lines,
            ("", "library, in paper's std", *library),
            ("", "authors' settings, in paper's std", *authors),
        ]
    return [(items[0].row.name, *lines[0][1:]), *lines[1:]]


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
