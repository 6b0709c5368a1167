"""How far our accuracies lie from the printed ones, in the paper's standard errors.

The error of a printed mean is the printed deviation of its five folds divided by √5: two deviations
are 4.5 errors. Where our runs and the paper's are draws of the same, with like errors, the distance
has a root mean square of √2 = 1.41.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateurs.benchmarking.table_text import BOLD, PLAIN, Grid, Sheet, csv_text, format_number
from secateurs.paper._accuracy_tables import AccuracyRow, AccuracyTable
from secateurs.paper._plan import Setting
from secateurs.paper._printed_tables import (
    N_PRINTED_FOLDS,
    PAPER_METHODS,
    TABLE_OF_LEARNER,
    method_label,
    mismatch_reason,
    printed_accuracies,
)

FAR = 2.0  # standard errors of a single mean
OFFSET = 1.5  # of the mean over all methods, if all lie on the same side
CHANCE = 2**0.5  # root mean square of two runs that differ by chance alone
NOT_FOUND = "not found"
BY_CHANCE = "no more than chance"


def with_printed_accuracies(row: AccuracyRow) -> AccuracyRow:
    """Return a row with what the table of its learner prints, and without tests."""
    rows = printed_accuracies(TABLE_OF_LEARNER.get(row.source.learner, ""))
    paper = rows.get(row.source.paper_name, {})
    entries = {
        column: replace(entry, test=None, paper=paper.get(column.removesuffix("/authors")))
        for column, entry in row.entries.items()
    }
    return replace(row, entries=entries)


def standardised_differences(row: AccuracyRow) -> dict[str, float] | None:
    """Return our means less the printed ones, in the paper's standard errors, by method.

    None where not all ten methods are printed and measured on all folds.
    """
    entries = [row.entries[method] for method in PAPER_METHODS]
    if any(e.paper is None or len(e.folds) < row.n_folds for e in entries):
        return None
    root = float(np.sqrt(N_PRINTED_FOLDS))
    return {method: row.deviations_from_paper(method) * root for method in PAPER_METHODS}


def is_informative(row: AccuracyRow) -> bool:
    """Return whether distances of a row tell of settings: it is read as the paper did, and varies.

    In errors that are printed as 0.00 any difference would be beyond measure.
    """
    deviations = [entry.paper.std for entry in row.entries.values() if entry.paper]
    return row.source.established and all(deviations)


def root_mean_square(values: Any) -> float:
    """Return the root of the mean of squares."""
    return float(np.sqrt(np.mean(np.square(list(values)))))


@dataclass(frozen=True)
class SettingFit:
    """How well a setting fits the printed figures.

    Attributes
    ----------
    name : str
        Members and how many are kept, such as "17/5".
    setting : Setting
        The same with λ.
    distance_by_row : dict of str to float
        Root mean square distance over ten methods, in the paper's standard errors, by row.
    """

    name: str
    setting: Setting
    distance_by_row: dict[str, float]

    def rms_distance(self, rows: Sequence[str]) -> float:
        """Return the root mean square over some rows."""
        return root_mean_square(self.distance_by_row[row] for row in rows)


def setting_fits(tables: Mapping[Setting, AccuracyTable]) -> list[SettingFit]:
    """Return how well each setting of a plan fits the printed figures, the best first.

    Settings are compared on the rows that all of them have and that can tell; one without any is
    left out. Empty where fewer than two settings have such a row in common, and for a short form.

    Parameters
    ----------
    tables : mapping of Setting to AccuracyTable
        Those of a plan with several settings, or several ways to bag.

    Returns
    -------
    list of SettingFit
    """
    fits = []
    for setting, table in tables.items():
        if table.is_short:
            continue
        groups: dict[str, dict[str, float]] = {}
        for row in map(with_printed_accuracies, table.rows):
            found = standardised_differences(row)
            if found is not None and is_informative(row):
                learner = row.source.learner
                stratified = ", stratified" if learner.endswith("-stratified") else ""
                name = f"{setting.n_members}/{setting.keep}{stratified}"
                paper_table = TABLE_OF_LEARNER[learner].removeprefix("table-").upper()
                place = f"{row.source.paper_name} ({paper_table})"
                groups.setdefault(name, {})[place] = root_mean_square(found.values())
        fits += [SettingFit(name, setting, rows) for name, rows in groups.items()]
    rows = common_rows(fits)
    return sorted(fits, key=lambda fit: fit.rms_distance(rows)) if rows and len(fits) > 1 else []


def common_rows(fits: Sequence[SettingFit]) -> list[str]:
    """Return the rows that all settings have."""
    return [
        row
        for row in (fits[0].distance_by_row if fits else ())
        if all(row in f.distance_by_row for f in fits)
    ]


def setting_fit_sheet(tables: Mapping[Setting, AccuracyTable]) -> Sheet | None:
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
    lines = [(row, *(fit.distance_by_row[row] for fit in fits)) for row in rows]
    total = ("All rows", *(fit.rms_distance(rows) for fit in fits))
    shown = [[_mark_best(line) for line in block] for block in (lines, [total])]
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


def _mark_best(line: Sequence[Any]) -> tuple[str, ...]:
    values = [round(value, 2) for value in line[1:]]
    texts = (format_number(value) for value in values)
    best = min(values)
    marked = (
        f"{BOLD}{text}{PLAIN}" if value == best else text
        for text, value in zip(texts, values, strict=True)
    )
    return (line[0], *marked)


@dataclass(frozen=True)
class PrintedDistance:
    """A row of a table beside the printed one, in the paper's standard errors.

    Attributes
    ----------
    table, row : str
        Name of the table and the paper's name of the data set.
    difference : float
        Our mean less the printed one, mean over ten methods, in points.
    offset : float
        The same in standard errors: those of the mean printed deviation. NaN if that is 0.00.
    rms_distance : float
        Root mean square distance of the ten methods; NaN likewise.
    far_methods : tuple of str
        Methods that lie more than two standard errors away.
    is_offset : bool
        Whether all methods lie on the same side, by 1.5 standard errors on average.
    is_informative : bool
        Whether the row counts in the mean over rows.
    reason : str
        Why; or that it was not found, or that chance gives as much; empty where nothing is far.
    """

    table: str
    row: str
    difference: float
    offset: float
    rms_distance: float
    far_methods: tuple[str, ...]
    is_offset: bool
    is_informative: bool
    reason: str


def printed_distances(table: AccuracyTable) -> list[PrintedDistance]:
    """Return the rows of a table that can be compared, the furthest offset first."""
    found = []
    for row in table.rows:
        errors = standardised_differences(row)
        if errors is None:
            continue
        entries = [row.entries[method] for method in PAPER_METHODS]
        difference = float(np.mean([entry.paper_difference for entry in entries]))
        deviation = float(np.mean([entry.paper.std for entry in entries if entry.paper]))
        offset = (
            difference / (deviation or row.smallest_accuracy_step) * float(np.sqrt(N_PRINTED_FOLDS))
        )
        one_sided = len({np.sign(round(value, 9)) for value in errors.values()}) == 1
        is_offset = one_sided and abs(offset) >= OFFSET
        far = [method for method, value in errors.items() if abs(value) > FAR]
        known = mismatch_reason(
            table.name, row.source.paper_name, PAPER_METHODS if is_offset else far
        )
        names, spread = tuple(map(method_label, far)), root_mean_square(errors.values())
        unknown = NOT_FOUND if is_offset or spread > CHANCE else BY_CHANCE
        reason = (known or unknown) if is_offset or far else ""
        in_errors = (offset, spread) if deviation else (np.nan, np.nan)
        place = (table.name, row.source.paper_name, difference)
        item = PrintedDistance(*place, *in_errors, names, is_offset, is_informative(row), reason)
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
    found = [item for table in tables for item in printed_distances(table)]
    if not found:
        return None
    headings = (
        *("Table", "Data set", "Mean difference, points", "In standard errors"),
        *("Root mean square", "All methods at once", "Methods beyond 2", "Reason"),
    )
    lines = [
        (
            *(titles[item.table], item.row, format_number(item.difference, sign=True)),
            *(format_number(item.offset, 1, sign=True), format_number(item.rms_distance)),
            *("yes" if item.is_offset else "", ", ".join(item.far_methods), item.reason),
        )
        for item in found
    ]
    spreads = [item.rms_distance for item in found if item.is_informative]
    over_all = format_number(root_mean_square(spreads)) if spreads else "unknown"
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
        (
            i.table,
            i.row,
            i.difference,
            i.offset,
            i.rms_distance,
            i.is_offset,
            " ".join(i.far_methods),
            i.reason,
        )
        for i in found
    )
    text = csv_text(
        ("table", "row", "difference", "offset", "rms", "is_offset", "far", "reason"), numbers
    )
    grid = Grid(headings, tuple(lines))
    return Sheet("distances", "Distance from the printed figures", caption, grid, text)
