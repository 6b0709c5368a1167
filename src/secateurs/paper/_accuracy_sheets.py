"""Sheets of the accuracy tables: in the paper's layout, compared with the paper, and as CSV."""

from secateurs.benchmarking.table_text import Grid, Sheet, csv_text, format_distance, format_number
from secateurs.paper._accuracy_tables import AccuracyRow, AccuracyTable
from secateurs.paper._printed_tables import CONTROL, PAPER_METHODS, method_label

_LEGEND = (
    "The best of the ten methods is marked: highest mean, then lowest standard deviation (of a "
    "sample, as in the paper).",
    "‡ and † mark methods that DOMEP is significantly better and worse than, by a two-tailed "
    "paired t-test at 5 % over the folds; W/T/L counts how often DOMEP wins, ties and loses.",
    "Ranks come from means to two decimals, as printed; equal ones share their ranks. Random, Best "
    "and All (random members, the most accurate members, the full ensemble) take no part in them.",
)
_CSV_HEADINGS = (
    *("table", "row", "dataset", "reading", "learner", "established", "method", "n_folds"),
    *("mean", "std", "best", "mark", "p_value", "paper_mean", "paper_std", "paper_mark"),
    *("difference", "paper_deviations", "average_rank", "win_tie_loss"),
)


def accuracy_sheet(table: AccuracyTable) -> Sheet:
    """Return the sheet of an accuracy table, with legend, comparison and notes."""
    lines = (_csv_line(table, row, column) for row in table.rows for column in table.columns)
    all_notes = {
        "Differences from the paper": list(map(str, table.paper_mismatches())),
        "Missing": table.missing_notes(),
    }
    notes = {heading: lines for heading, lines in all_notes.items() if lines}
    names, text = (table.name, table.heading, table.caption), csv_text(_CSV_HEADINGS, lines)
    return Sheet(*names, table.grid(), text, _LEGEND, _comparison_grid(table), notes)


def _comparison_grid(table: AccuracyTable) -> Grid | None:
    """Return our means beside the paper's for ten methods; None if the paper prints no row."""
    rows = [_comparison_lines(row) for row in table.rows if row.is_printed]
    if not rows:
        return None
    totals = [
        table.count_line(PAPER_METHODS, table.win_tie_loss, "ours"),
        ("", *table.count_line(PAPER_METHODS, table.paper_win_tie_loss, "paper")[1:]),
        table.rank_line(PAPER_METHODS, table.ranks, "ours"),
        ("", *table.rank_line(PAPER_METHODS, table.paper_ranks, "paper")[1:]),
    ]
    return Grid.of_blocks(("Data set", "", *map(method_label, PAPER_METHODS)), [*rows, totals])


def _comparison_lines(row: AccuracyRow) -> list[tuple[str, ...]]:
    entries = [row.entries[method] for method in PAPER_METHODS]
    theirs = [f"{entry.paper}{entry.paper.mark}" if entry.paper else "" for entry in entries]
    if not any(entry.folds for entry in entries):
        return [(row.name, "paper", *theirs)]
    return [
        (row.name, "ours", *map(str, entries)),
        ("", "paper", *theirs),
        (
            "",
            "difference",
            *(format_number(entry.paper_difference, sign=True) for entry in entries),
        ),
        (
            "",
            "in paper's std",
            *(format_distance(row.deviations_from_paper(m)) for m in PAPER_METHODS),
        ),
    ]


def _csv_line(table: AccuracyTable, row: AccuracyRow, column: str) -> tuple[object, ...]:
    source, entry = row.source, row.entries[column]
    paper = (entry.paper.mean, entry.paper.std, entry.paper.mark) if entry.paper else (None,) * 3
    return (
        *(table.name, row.name, source.dataset, source.reading, source.learner),
        *(source.established, method_label(column), len(entry.folds), entry.mean, entry.std),
        *(entry.bold, entry.mark, entry.test.p_value if entry.test else None, *paper),
        *(entry.paper_difference, row.deviations_from_paper(column), table.ranks.get(column)),
        None if column == CONTROL else str(table.win_tie_loss(column)),
    )
