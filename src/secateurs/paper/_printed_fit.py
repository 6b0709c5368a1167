"""How far our accuracies lie from the printed ones, in the paper's standard errors.

The error of a printed mean is the printed deviation of its five folds divided by √5: two deviations
are 4.5 errors. Where our runs and the paper's are draws of the same, with like errors, the distance
has a root mean square of √2 = 1.41.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateurs.benchmarking._table_text import BOLD, PLAIN, Grid, Sheet, csv_text, number
from secateurs.paper._accuracy_tables import AccuracyRow, AccuracyTable
from secateurs.paper._plan import Setting
from secateurs.paper._printed import (
    N_PRINTED_FOLDS,
    PAPER_METHODS,
    TABLE_OF_LEARNER,
    label,
    printed,
    reason_for,
)

FAR = 2.0  # standard errors of a single mean
OFFSET = 1.5  # of the mean over all methods, if all lie on the same side
CHANCE = 2**0.5  # root mean square of two runs that differ by chance alone
NOT_FOUND = "not found"
BY_CHANCE = "no more than chance"


def beside_paper(row: AccuracyRow) -> AccuracyRow:
    """Return a row with what the table of its learner prints, and without tests."""
    rows = printed(TABLE_OF_LEARNER.get(row.source.learner, ""))
    paper = rows.get(row.source.paper_name, {})
    entries = {
        column: replace(entry, test=None, paper=paper.get(column.removesuffix("/authors")))
        for column, entry in row.entries.items()
    }
    return replace(row, entries=entries)


def errors_of(row: AccuracyRow) -> dict[str, float] | None:
    """Return our means less the printed ones, in the paper's standard errors, by method.

    None where not all ten methods are printed and measured on all folds.
    """
    entries = [row.entries[method] for method in PAPER_METHODS]
    if any(e.paper is None or len(e.folds) < row.n_folds for e in entries):
        return None
    root = float(np.sqrt(N_PRINTED_FOLDS))
    return {method: row.deviations(method) * root for method in PAPER_METHODS}


def can_tell(row: AccuracyRow) -> bool:
    """Return whether distances of a row tell of settings: it is read as the paper did, and varies.

    In errors that are printed as 0.00 any difference would be beyond measure.
    """
    deviations = [entry.paper.std for entry in row.entries.values() if entry.paper]
    return row.source.established and all(deviations)


def root_mean_square(values: Any) -> float:
    """Return the root of the mean of squares."""
    return float(np.sqrt(np.mean(np.square(list(values)))))


@dataclass(frozen=True)
class Fit:
    """How well a setting fits the printed figures.

    Attributes
    ----------
    name : str
        Members and how many are kept, such as "17/5".
    setting : Setting
        The same with λ.
    by_row : dict of str to float
        Root mean square distance over ten methods, in the paper's standard errors, by row.
    """

    name: str
    setting: Setting
    by_row: dict[str, float]

    def over(self, rows: Sequence[str]) -> float:
        """Return the root mean square over some rows."""
        return root_mean_square(self.by_row[row] for row in rows)


def setting_fits(tables: Mapping[Setting, AccuracyTable]) -> list[Fit]:
    """Return how well each setting of a plan fits the printed figures, the best first.

    Settings are compared on the rows that all of them have and that can tell; one without any is
    left out. Empty where fewer than two settings have such a row in common, and for a short form.

    Parameters
    ----------
    tables : mapping of Setting to AccuracyTable
        Those of a plan with several settings, or several ways to bag.

    Returns
    -------
    list of Fit
    """
    fits = []
    for setting, table in tables.items():
        if table.is_short:
            continue
        groups: dict[str, dict[str, float]] = {}
        for row in map(beside_paper, table.rows):
            found = errors_of(row)
            if found is not None and can_tell(row):
                learner = row.source.learner
                stratified = ", stratified" if learner.endswith("-stratified") else ""
                name = f"{setting.n_members}/{setting.keep}{stratified}"
                paper_table = TABLE_OF_LEARNER[learner].removeprefix("table-").upper()
                place = f"{row.source.paper_name} ({paper_table})"
                groups.setdefault(name, {})[place] = root_mean_square(found.values())
        fits += [Fit(name, setting, rows) for name, rows in groups.items()]
    rows = common_rows(fits)
    return sorted(fits, key=lambda fit: fit.over(rows)) if rows and len(fits) > 1 else []


def common_rows(fits: Sequence[Fit]) -> list[str]:
    """Return the rows that all settings have."""
    return [row for row in (fits[0].by_row if fits else ()) if all(row in f.by_row for f in fits)]


def fit_sheet(tables: Mapping[Setting, AccuracyTable]) -> Sheet | None:
    """Show which setting fits the printed figures best, row by row.

    Parameters
    ----------
    tables : mapping of Setting to AccuracyTable
        Those of a plan with several settings, or several ways to bag.

    Returns
    -------
    Sheet or None
        None where fewer than two settings have a printed row in common.
    """
    fits = setting_fits(tables)
    if not fits:
        return None
    rows = common_rows(fits)
    lines = [(row, *(fit.by_row[row] for fit in fits)) for row in rows]
    total = ("All rows", *(fit.over(rows) for fit in fits))
    shown = [[_best_marked(line) for line in block] for block in (lines, [total])]
    headings = ("Data set", *(fit.name for fit in fits))
    caption = (
        f"Distance of our means from the printed ones, root mean square over ten methods, in the "
        f"paper's standard errors; by members and how many are kept. {fits[0].name} fits best over "
        f"all {len(rows)} rows. Two runs that differ by chance alone would come to about 1.41. "
        "Rows whose reading is not established, or printed with a deviation of 0.00, are left out."
    )
    any_table = tables[fits[0].setting]
    title = f"{any_table.title}: which fits the printed figures"
    text = csv_text(headings, [*lines, total])
    return Sheet(f"{any_table.name}-fit", title, caption, Grid.of_blocks(headings, shown), text)


def _best_marked(line: Sequence[Any]) -> tuple[str, ...]:
    values = [round(value, 2) for value in line[1:]]
    texts = (number(value) for value in values)
    best = min(values)
    marked = (
        f"{BOLD}{text}{PLAIN}" if value == best else text
        for text, value in zip(texts, values, strict=True)
    )
    return (line[0], *marked)


@dataclass(frozen=True)
class Distance:
    """A row of a table beside the printed one, in the paper's standard errors.

    Attributes
    ----------
    table, row : str
        Name of the table and the paper's name of the data set.
    difference : float
        Our mean less the printed one, mean over ten methods, in points.
    offset : float
        The same in standard errors: those of the mean printed deviation. NaN if that is 0.00.
    spread : float
        Root mean square distance of the ten methods; NaN likewise.
    far : tuple of str
        Methods that lie more than two standard errors away.
    is_offset : bool
        Whether all methods lie on the same side, by 1.5 standard errors on average.
    can_tell : bool
        Whether the row counts in the mean over rows.
    reason : str
        Why; or that it was not found, or that chance gives as much; empty where nothing is far.
    """

    table: str
    row: str
    difference: float
    offset: float
    spread: float
    far: tuple[str, ...]
    is_offset: bool
    can_tell: bool
    reason: str


def distances(table: AccuracyTable) -> list[Distance]:
    """Return the rows of a table that can be compared, the furthest offset first."""
    found = []
    for row in table.rows:
        errors = errors_of(row)
        if errors is None:
            continue
        entries = [row.entries[method] for method in PAPER_METHODS]
        difference = float(np.mean([entry.difference for entry in entries]))
        deviation = float(np.mean([entry.paper.std for entry in entries if entry.paper]))
        offset = difference / (deviation or row.smallest_step) * float(np.sqrt(N_PRINTED_FOLDS))
        one_sided = len({np.sign(round(value, 9)) for value in errors.values()}) == 1
        is_offset = one_sided and abs(offset) >= OFFSET
        far = [method for method, value in errors.items() if abs(value) > FAR]
        known = reason_for(table.name, row.source.paper_name, PAPER_METHODS if is_offset else far)
        names, spread = tuple(map(label, far)), root_mean_square(errors.values())
        unknown = NOT_FOUND if is_offset or spread > CHANCE else BY_CHANCE
        reason = (known or unknown) if is_offset or far else ""
        in_errors = (offset, spread) if deviation else (np.nan, np.nan)
        place = (table.name, row.source.paper_name, difference)
        item = Distance(*place, *in_errors, names, is_offset, can_tell(row), reason)
        found.append((abs(offset), item))
    return [item for _, item in sorted(found, key=lambda pair: -pair[0])]


def distance_sheet(tables: Sequence[AccuracyTable]) -> Sheet | None:
    """Show how far each row lies from the printed one, and offsets over all methods at once.

    Parameters
    ----------
    tables : sequence of AccuracyTable
        Tables of the paper.

    Returns
    -------
    Sheet or None
        None where no row can be compared.
    """
    titles = {table.name: table.title for table in tables}
    found = [item for table in tables for item in distances(table)]
    if not found:
        return None
    headings = (
        *("Table", "Data set", "Mean difference, points", "In standard errors"),
        *("Root mean square", "All methods at once", "Methods beyond 2", "Reason"),
    )
    lines = [
        (
            *(titles[item.table], item.row, number(item.difference, sign=True)),
            *(number(item.offset, 1, sign=True), number(item.spread)),
            *("yes" if item.is_offset else "", ", ".join(item.far), item.reason),
        )
        for item in found
    ]
    spreads = [item.spread for item in found if item.can_tell]
    over_all = number(root_mean_square(spreads)) if spreads else "unknown"
    offsets = sum(item.is_offset for item in found)
    caption = (
        "Our means less the printed ones, in the paper's standard errors (a printed deviation "
        "divided by √5; – where all are 0.00), the furthest first in each table. Over the "
        f"{len(spreads)} rows that are read as in the paper and printed with deviations above "
        f"0.00, the root mean square is {over_all}; chance alone would give about 1.41. {offsets} "
        "rows are off with all ten methods at once, by 1.5 errors or more on average: no matter "
        "of methods, but of data, members or folds."
    )
    numbers = (
        (i.table, i.row, i.difference, i.offset, i.spread, i.is_offset, " ".join(i.far), i.reason)
        for i in found
    )
    text = csv_text(
        ("table", "row", "difference", "offset", "rms", "is_offset", "far", "reason"), numbers
    )
    grid = Grid(headings, tuple(lines))
    return Sheet("distances", "Distance from the printed figures", caption, grid, text)
