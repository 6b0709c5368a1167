"""Tables that the paper does not have: settings that it leaves open, and its authors' settings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from secateurs.benchmarking.table_text import Grid, Sheet, csv_text, format_distance, format_number
from secateurs.paper._accuracy_sheets import accuracy_sheet
from secateurs.paper._accuracy_tables import AccuracyRow, AccuracyTable, make_accuracy_table
from secateurs.paper._bagging_protocol import STRATIFIED
from secateurs.paper._plan import Plan, Setting
from secateurs.paper._plan_results import results_by_row
from secateurs.paper._printed_fit import with_printed_accuracies
from secateurs.paper._printed_tables import (
    CONTROL,
    PAPER_METHODS,
    method_label,
    printed_accuracies,
)
from secateurs.text_format import NOTHING

_AUTHORS_HEADINGS = (
    *("row", "method", "paper_mean", "paper_std", "library_mean", "library_std"),
    *("library_deviations", "authors_mean", "authors_std", "authors_deviations"),
)


def settings_sheet(tables: Mapping[Setting, AccuracyTable]) -> Sheet | None:
    """Return the table of ranks by number of members and number kept.

    None if no data set has results of all ten methods with any setting.
    """
    lines = [
        (setting.n_members, setting.keep, len(table.scores), *_setting_summary(table))
        for setting, table in tables.items()
        if len(table.scores)
    ]
    if not lines:
        return None
    headings = ("Members", "Kept", "Rows", *map(method_label, PAPER_METHODS), "W/T/L")
    shown = tuple(
        tuple(format_number(value) if isinstance(value, float) else str(value) for value in line)
        for line in lines
    )
    caption = (
        "Average ranks of the ten methods, and DOMEP's wins, ties and losses against the nine "
        "others by t-test."
    )
    any_table = next(iter(tables.values()))
    names, grid = (any_table.name, any_table.title), Grid(headings, shown)
    return Sheet(*names, caption, grid, csv_text(headings, lines))


def _setting_summary(table: AccuracyTable) -> tuple[float | str, ...]:
    counts = [table.win_tie_loss(method) for method in PAPER_METHODS if method != CONTROL]
    totals = (sum(getattr(c, name) for c in counts) for name in ("wins", "ties", "losses"))
    ranks = (table.ranks[method] for method in PAPER_METHODS)
    return (*ranks, "/".join(map(str, totals)))


def measured_sheet(tables: Mapping[Setting, AccuracyTable]) -> Sheet | None:
    """Return the accuracies of a plan at its first setting; None if nothing was measured.

    It is used for plans that are not tables of the paper, such as learners that the paper only
    names.
    """
    table = next(iter(tables.values()))
    is_measured = any(entry.folds for row in table.rows for entry in row.entries.values())
    return accuracy_sheet(table) if is_measured else None


def credit_sheet(plan: Plan, frame: pd.DataFrame) -> Sheet | None:
    """Return the accuracy of each variant by seed, beside the printed one; None without results.

    The accuracy of a seed is the mean over its folds and the ten methods.
    """
    lines = []
    for _, source, mine in results_by_row(plan, frame):
        seeds = 100 * mine.groupby("seed")["accuracy"].mean().to_numpy(float)
        if not len(seeds):
            continue
        coding = {"": "absent", "01": "as 0 and 1", "pm1": "as −1 and 1"}
        label = coding[source.reading.partition("+")[2]]
        bags = "class by class" if source.learner.endswith(STRATIFIED) else "from all samples"
        folds = 100 * mine.groupby(["seed", "method"])["accuracy"].std().to_numpy(float)
        ends = (float(np.min(seeds)), float(np.mean(seeds)), float(np.max(seeds)))
        lines.append((label, bags, len(seeds), *ends, float(np.mean(folds))))
    if not lines:
        return None
    printed = printed_accuracies("table-svm").get(plan.rows[0].paper_name)
    caption = (
        "Test accuracy in per cent, mean over the ten methods and the folds of a seed; ensembles "
        f"of {plan.settings[0]}. All variants of a seed have the same folds."
    )
    if printed:
        mean, std = (
            np.mean([getattr(entry, name) for entry in printed.values()])
            for name in ("mean", "std")
        )
        caption += f" The printed mean is {mean:.2f}, with a standard deviation of {std:.2f}."
    headings = (
        *("Label among the features", "Bags", "Seeds", "Lowest seed", "Mean"),
        *("Highest seed", "Standard deviation over folds"),
    )
    shown = tuple((*line[:2], str(line[2]), *map(format_number, line[3:])) for line in lines)
    names, grid = (plan.name, plan.title, caption), Grid(headings, shown)
    return Sheet(*names, grid, csv_text(headings, lines))


def authors_sheet(plan: Plan, frame: pd.DataFrame) -> Sheet | None:
    """Return printed accuracies beside those of the library's and of the authors' settings.

    The plan has the variant "authors". None if nothing was measured.
    """
    table = make_accuracy_table(replace(plan, variants=("library", *plan.variants)), frame)
    sides = {"library": plan.methods, "authors' settings": [f"{m}/authors" for m in plan.methods]}
    authors = sides["authors' settings"]
    rows = [
        with_printed_accuracies(row)
        for row in table.rows
        if any(row.entries[c].folds for c in authors)
    ]
    if not rows:
        return None
    headings = ("Data set", "", *map(method_label, plan.methods))
    grid = Grid.of_blocks(headings, [_authors_lines(row, sides) for row in rows])
    numbers = [
        _authors_csv_line(row, *pair)
        for row in rows
        for pair in zip(*sides.values(), strict=True)
        if row.entries[pair[1]].folds
    ]
    text = csv_text(_AUTHORS_HEADINGS, numbers)
    return Sheet(plan.name, plan.title, table.caption, grid, text)


def _authors_lines(row: AccuracyRow, sides: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    lines = [(side, *(str(row.entries[c]) for c in columns)) for side, columns in sides.items()]
    printed = [row.entries[method].paper for method in sides["library"]]
    if any(printed):
        lines.insert(0, ("paper", *(str(accuracy or NOTHING) for accuracy in printed)))
        for side, columns in sides.items():
            distances = (format_distance(row.deviations_from_paper(column)) for column in columns)
            lines.append((f"{side}, in paper's std", *distances))
    return [("" if n else row.name, *line) for n, line in enumerate(lines)]


def _authors_csv_line(row: AccuracyRow, method: str, authors: str) -> tuple[object, ...]:
    printed = row.entries[method].paper
    library, theirs = (
        (row.entries[c].mean, row.entries[c].std, row.deviations_from_paper(c))
        for c in (method, authors)
    )
    paper = (printed.mean, printed.std) if printed else (None, None)
    return (row.name, method_label(method), *paper, *library, *theirs)
