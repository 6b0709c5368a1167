"""Tables of accuracy, laid out: as the paper prints them, beside the paper's numbers, as CSV."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from secateurs._text import NOTHING
from secateurs.paper._accuracy_tables import AccuracyTable, Entry, TableRow
from secateurs.paper._printed import CONTROL, PAPER_METHODS, label
from secateurs.paper._table_text import BOLD, PLAIN, Grid, Sheet, csv_text, distance, number
from secateurs.statistics import WinTieLoss

_LEGEND = (
    "The best of the ten methods is marked: highest mean, then lowest standard deviation (of a "
    "sample, as in the paper).",
    "‡ and † mark methods that DOMEP is significantly better and worse than, by a two-tailed "
    "paired t-test at 5 % over the folds; W/T/L counts how often DOMEP wins, ties and loses.",
    "Ranks come from means to two decimals, as printed; equal ones share their ranks. Random, Best "
    "and All (random members, the most accurate members, the whole ensemble) take no part in them.",
)
_CSV_HEADINGS = (
    *("table", "row", "dataset", "reading", "learner", "established", "method", "n_folds"),
    *("mean", "std", "best", "mark", "p_value", "paper_mean", "paper_std", "paper_mark"),
    *("difference", "paper_deviations", "average_rank", "win_tie_loss"),
)


def accuracy_sheet(table: AccuracyTable) -> Sheet:
    """Return a table with legend, comparison and remarks, ready to be written."""
    lines = (_csv_line(table, row, column) for row in table.rows for column in table.columns)
    found = {"Not like the paper": list(map(str, table.mismatches())), "Missing": table.notes()}
    notes = {heading: remarks for heading, remarks in found.items() if remarks}
    names, text = (table.name, table.title, table.caption), csv_text(_CSV_HEADINGS, lines)
    return Sheet(*names, _main_grid(table), text, _LEGEND, _comparison_grid(table), notes)


def _main_grid(table: AccuracyTable) -> Grid:
    """Lay a table out as the paper does: data sets, then W/T/L and average ranks."""
    columns = table.columns
    rows = [(row.name, *(_marked(row.entries[column]) for column in columns)) for row in table.rows]
    totals = [
        ("t-test (W/T/L)", *_counts(columns, table.win_tie_loss)),
        ("Average rank", *_ranks(columns, table.ranks)),
    ]
    return Grid.of_blocks(("Data set", *map(label, columns)), [rows, totals])


def _comparison_grid(table: AccuracyTable) -> Grid | None:
    """Lay out our means beside the paper's, ten methods; None where no row is the paper's."""
    rows = [_comparison(row) for row in table.rows if row.is_printed]
    if not rows:
        return None
    totals = [
        ("t-test (W/T/L)", "ours", *_counts(PAPER_METHODS, table.win_tie_loss)),
        ("", "paper", *_counts(PAPER_METHODS, table.paper_win_tie_loss)),
        ("Average rank", "ours", *_ranks(PAPER_METHODS, table.ranks)),
        ("", "paper", *_ranks(PAPER_METHODS, table.paper_ranks)),
    ]
    return Grid.of_blocks(("Data set", "", *map(label, PAPER_METHODS)), [*rows, totals])


def _comparison(row: TableRow) -> list[tuple[str, ...]]:
    entries = [row.entries[method] for method in PAPER_METHODS]
    theirs = [f"{entry.paper}{entry.paper.mark}" if entry.paper else "" for entry in entries]
    if not any(entry.folds for entry in entries):
        return [(row.name, "paper", *theirs)]
    return [
        (row.name, "ours", *map(str, entries)),
        ("", "paper", *theirs),
        ("", "difference", *(number(entry.difference, sign=True) for entry in entries)),
        ("", "in paper's std", *(distance(row.deviations(m)) for m in PAPER_METHODS)),
    ]


def _marked(entry: Entry) -> str:
    text = str(entry)
    return f"{BOLD}{text.removesuffix(entry.mark)}{PLAIN}{entry.mark}" if entry.bold else text


def _counts(names: Iterable[str], count: Callable[[str], WinTieLoss | None]) -> list[str]:
    return [NOTHING if name == CONTROL else str(count(name)) for name in names]


def _ranks(names: Iterable[str], ranks: Mapping[str, float]) -> list[str]:
    return [number(ranks.get(name)) for name in names]


def _csv_line(table: AccuracyTable, row: TableRow, column: str) -> tuple[Any, ...]:
    source, entry = row.source, row.entries[column]
    paper = (entry.paper.mean, entry.paper.std, entry.paper.mark) if entry.paper else (None,) * 3
    return (
        *(table.name, row.name, source.dataset, source.reading, source.learner),
        *(source.established, label(column), len(entry.folds), entry.mean, entry.std),
        *(entry.bold, entry.mark, entry.test.p_value if entry.test else None, *paper),
        *(entry.difference, row.deviations(column), table.ranks.get(column)),
        None if column == CONTROL else str(table.win_tie_loss(column)),
    )
