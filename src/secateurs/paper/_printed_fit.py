"""Distances of our accuracies from the printed ones, in the paper's standard errors.

The standard error of a printed mean is the printed standard deviation of its five folds divided by
√5, so two standard deviations are 4.5 standard errors. The distance between two seeds of the same
protocol, where both were measured, shows how large a distance is by chance.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

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

FAR = 2.0  # standard errors, for the mean of a single method
OFFSET = (
    1.5  # the same for the mean over all methods; smaller, because all ten have to agree in sign
)
NOT_FOUND = "not found"
BY_CHANCE = "within the range of chance"


def with_printed_accuracies(row: AccuracyRow) -> AccuracyRow:
    """Return a row with the printed accuracies of its learner's table, and without tests."""
    rows = printed_accuracies(TABLE_OF_LEARNER.get(row.source.learner, ""))
    paper = rows.get(row.source.paper_name, {})
    entries = {
        column: replace(entry, test=None, paper=paper.get(column.removesuffix("/authors")))
        for column, entry in row.entries.items()
    }
    return replace(row, entries=entries)


def standardised_differences(row: AccuracyRow) -> dict[str, float] | None:
    """Return our means minus the printed ones, in the paper's standard errors, by method.

    None unless all ten methods are printed and measured on all folds.
    """
    entries = [row.entries[method] for method in PAPER_METHODS]
    if any(e.paper is None or len(e.folds) < row.n_folds for e in entries):
        return None
    root = float(np.sqrt(N_PRINTED_FOLDS))
    return {method: row.deviations_from_paper(method) * root for method in PAPER_METHODS}


def is_informative(row: AccuracyRow) -> bool:
    """Return whether the data are read as in the paper and no printed standard deviation is 0.00.

    With a standard error of 0.00, any difference would be infinitely large.
    """
    deviations = [entry.paper.std for entry in row.entries.values() if entry.paper]
    return row.source.established and all(deviations)


def root_mean_square(values: Iterable[float]) -> float:
    """Return the square root of the mean square."""
    return float(np.sqrt(np.mean(np.square(list(values)))))


@dataclass(frozen=True)
class SettingFit:
    """Distances between the results of a setting and the printed figures."""

    name: str  # numbers of members and of kept members, such as "17/5"
    setting: Setting
    distance_by_row: dict[str, float]  # RMS over ten methods, in the paper's standard errors

    def rms_distance(self, rows: Sequence[str]) -> float:
        """Return the root mean square distance over rows."""
        return root_mean_square(self.distance_by_row[row] for row in rows)


@dataclass(frozen=True)
class SeedDistance:
    """Distances between the means of two seeds, in the paper's standard errors."""

    by_row: dict[
        tuple[str, str], float
    ]  # RMS over ten methods and pairs of seeds, of a table's row

    @property
    def overall(self) -> float | None:
        """Root mean square over rows; None if fewer than two seeds were measured."""
        return root_mean_square(self.by_row.values()) if self.by_row else None

    def __str__(self) -> str:
        if self.overall is None:
            return (
                "How far two seeds are from each other is unknown, because the results have only "
                "one"
            )
        low, high = min(self.by_row.values()), max(self.by_row.values())
        return (
            f"Two seeds of this protocol are {self.overall:.2f} from each other ({low:.2f} to "
            f"{high:.2f} by row)"
        )


def seed_distance(tables_by_seed: Sequence[Sequence[AccuracyTable]]) -> SeedDistance:
    """Return the distances between seeds on informative rows, from the tables of each seed."""
    rows: dict[tuple[str, str], list[AccuracyRow]] = {}
    for tables in tables_by_seed:
        for table in tables:
            for row in map(with_printed_accuracies, table.rows):
                if standardised_differences(row) is not None and is_informative(row):
                    rows.setdefault((table.name, row.source.paper_name), []).append(row)
    by_row = {}
    for key, seeds in rows.items():
        sides = [[row.deviations_from_paper(m) for m in PAPER_METHODS] for row in seeds]
        differences = [
            np.sqrt(N_PRINTED_FOLDS) * (np.array(first) - second)
            for first, second in itertools.combinations(sides, 2)
        ]
        if differences:
            by_row[key] = root_mean_square(np.concatenate(differences))
    return SeedDistance(by_row)


def setting_fits(tables: Mapping[Setting, AccuracyTable]) -> list[SettingFit]:
    """Return the fits of all settings of a plan to the printed figures, the best fit first.

    Settings are compared on the informative rows that all of them have. Settings without such a row
    are left out. The list is empty for short forms, or if fewer than two settings have one in
    common.
    """
    fits = []
    for setting, table in tables.items():
        if table.is_short:
            continue
        groups: dict[str, dict[str, float]] = {}
        for row in map(with_printed_accuracies, table.rows):
            errors = standardised_differences(row)
            if errors is not None and is_informative(row):
                learner = row.source.learner
                stratified = ", stratified" if learner.endswith("-stratified") else ""
                name = f"{setting.n_members}/{setting.keep}{stratified}"
                paper_table = TABLE_OF_LEARNER[learner].removeprefix("table-").upper()
                row_name = f"{row.source.paper_name} ({paper_table})"
                groups.setdefault(name, {})[row_name] = root_mean_square(errors.values())
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
    """Return the table of distances from the printed figures by setting; None if there are none.

    Settings may differ in the number of members, the number kept, and the way to draw bags.
    """
    fits = setting_fits(tables)
    if not fits:
        return None
    rows = common_rows(fits)
    distances = {row: [fit.distance_by_row[row] for fit in fits] for row in rows}
    totals = [fit.rms_distance(rows) for fit in fits]
    lines = [_mark_best(row, values) for row, values in distances.items()]
    shown = [lines, [_mark_best("All rows", totals)]]
    headings = ("Data set", *(fit.name for fit in fits))
    caption = (
        f"Distance of our means from the printed ones, root mean square over ten methods, in the "
        f"paper's standard errors; by members and how many are kept. {fits[0].name} fits best over "
        f"all {len(rows)} rows. "
        "Rows whose reading is not established, or printed with a deviation of 0.00, are left out."
    )
    any_table = tables[fits[0].setting]
    title = f"{any_table.title}: which fits the printed figures"
    numbers = [*((row, *values) for row, values in distances.items()), ("All rows", *totals)]
    text = csv_text(headings, numbers)
    return Sheet(f"{any_table.name}-fit", title, caption, Grid.of_blocks(headings, shown), text)


def _mark_best(name: str, distances: Sequence[float]) -> tuple[str, ...]:
    """Return a line of the table with the smallest distances in bold."""
    values = [round(value, 2) for value in distances]
    texts = (format_number(value) for value in values)
    best = min(values)
    marked = (
        f"{BOLD}{text}{PLAIN}" if value == best else text
        for text, value in zip(texts, values, strict=True)
    )
    return (name, *marked)


@dataclass(frozen=True)
class PrintedDistance:
    """Distance of a row from the printed one, in the paper's standard errors."""

    table: str
    row: str  # the paper's name of the data set
    difference: float  # our mean minus the printed one, mean over ten methods, in points
    offset: float  # `difference` in mean printed standard errors; NaN if these are 0.00
    rms_distance: float  # root mean square over ten methods; NaN if `offset` is
    far_methods: tuple[str, ...]  # more than two standard errors away
    is_offset: bool  # all methods differ in the same direction, by 1.5 standard errors on average
    is_informative: bool  # counts in the mean over rows
    reason: str  # of the difference, or NOT_FOUND or BY_CHANCE; empty if no method is far


def printed_distances(
    table: AccuracyTable, seeds: SeedDistance | None = None
) -> list[PrintedDistance]:
    """Return the rows of a table that can be compared, with the largest offset first.

    A distance without a known reason is within the range of chance if it is not larger than the
    distance between two seeds on the same row; without two seeds, this is never stated.
    """
    chance = seeds.by_row if seeds else {}
    by_offset = []
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
        is_one_sided = len({np.sign(round(value, 9)) for value in errors.values()}) == 1
        is_offset = is_one_sided and abs(offset) >= OFFSET
        far = [method for method, value in errors.items() if abs(value) > FAR]
        known_reason = mismatch_reason(
            table.name, row.source.paper_name, PAPER_METHODS if is_offset else far
        )
        names, distance = tuple(map(method_label, far)), root_mean_square(errors.values())
        by_chance = chance.get((table.name, row.source.paper_name), 0.0)
        default_reason = NOT_FOUND if is_offset or distance > by_chance else BY_CHANCE
        reason = (known_reason or default_reason) if is_offset or far else ""
        in_errors = (offset, distance) if deviation else (np.nan, np.nan)
        labels = (table.name, row.source.paper_name, difference)
        item = PrintedDistance(*labels, *in_errors, names, is_offset, is_informative(row), reason)
        by_offset.append((abs(offset), item))
    return [item for _, item in sorted(by_offset, key=lambda pair: -pair[0])]


def distance_sheet(
    tables: Sequence[AccuracyTable], tables_by_seed: Sequence[Sequence[AccuracyTable]] = ()
) -> Sheet | None:
    """Return the table of distances from the printed rows; None if no row can be compared."""
    seeds = seed_distance(tables_by_seed)
    titles = {table.name: table.title for table in tables}
    distances = [item for table in tables for item in printed_distances(table, seeds)]
    if not distances:
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
        for item in distances
    ]
    informative = [item.rms_distance for item in distances if item.is_informative]
    overall = format_number(root_mean_square(informative)) if informative else "unknown"
    n_offsets = sum(item.is_offset for item in distances)
    caption = (
        "Our means minus the printed means, in the paper's standard errors (a printed standard "
        "deviation divided by √5; – where all are 0.00), the largest first in each table. Over the "
        f"{len(informative)} rows that are read as in the paper and printed with deviations above "
        f"0.00, the root mean square is {overall}. {seeds}. In {n_offsets} rows all ten methods "
        "differ in the same direction, by 1.5 standard errors or more on average. Such a "
        "difference is caused by the data, the members or the folds, not by the methods."
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
        for i in distances
    )
    text = csv_text(
        ("table", "row", "difference", "offset", "rms", "is_offset", "far", "reason"), numbers
    )
    grid = Grid(headings, tuple(lines))
    return Sheet("distances", "Distance from the printed figures", caption, grid, text)
