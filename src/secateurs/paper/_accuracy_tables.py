"""Accuracy tables: test accuracies of all methods, ours and the paper's, with ranks and W/T/L."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import cast

import numpy as np
import pandas as pd

from secateurs.benchmarking.score_tables import (
    MARKS,
    ScoreEntry,
    ScoreTable,
    TableRow,
    control_test,
    mean_folds,
)
from secateurs.benchmarking.table_text import format_distance, format_number
from secateurs.paper._data_registry import DATASETS
from secateurs.paper._plan import PaperRow, Plan, Setting
from secateurs.paper._plan_results import RowResults, results_by_row, rows_where
from secateurs.paper._printed_tables import (
    BASELINES,
    CONTROL,
    N_PRINTED_FOLDS,
    PAPER_METHODS,
    PrintedAccuracy,
    method_label,
    mismatch_reason,
    printed_accuracies,
)
from secateurs.statistics import WinTieLoss

# In the paper's standard deviations. A difference beyond is reported, with the reason if known.
_TOLERATED_DEVIATIONS = 2.0


@dataclass(frozen=True)
class PaperEntry(ScoreEntry):
    """Test accuracy of one method on one data set, in per cent; the control is DOMEP."""

    paper: PrintedAccuracy | None = None  # the printed accuracy, if any

    @property
    def paper_difference(self) -> float:
        """Our mean minus the paper's."""
        return self.mean - self.paper.mean if self.paper else float("nan")


@dataclass(frozen=True)
class AccuracyRow(TableRow[PaperEntry]):
    """Accuracies of all methods on one data set; the name is the paper's."""

    source: PaperRow
    n_test: int  # samples of a test set; 0 if nothing was measured
    n_folds: int  # folds of the plan

    @property
    def is_printed(self) -> bool:
        """Whether the paper prints the row."""
        return any(entry.paper for entry in self.entries.values())

    def deviations_from_paper(self, method: str) -> float:
        """Return our mean minus the paper's, in the paper's standard deviations.

        A standard deviation printed as 0.00 is replaced by `smallest_accuracy_step`. NaN if there
        is nothing to compare.
        """
        entry = self.entries[method]
        if entry.paper is None or not self.n_test:
            return float("nan")
        return (entry.mean - entry.paper.mean) / (entry.paper.std or self.smallest_accuracy_step)

    @property
    def smallest_accuracy_step(self) -> float:
        """Change of a printed mean by one more correct prediction in all test sets together."""
        return 100 / (N_PRINTED_FOLDS * self.n_test)


@dataclass(frozen=True)
class PaperMismatch:
    """A row with accuracies more than two of the paper's standard deviations from the paper's."""

    row: str
    methods: tuple[str, ...]  # the methods that differ
    furthest_deviation: float  # the largest distance, in the paper's standard deviations
    difference: float  # mean difference of all ten methods, in points
    established: bool  # whether it is established how the paper read the data
    reason: str  # empty if unknown

    def __str__(self) -> str:
        reason = self.reason or "No reason found yet."
        if not self.established:
            reason += " It is not established how the paper read these data."
        return (
            f"{self.row}: more than two of the paper's standard deviations away for "
            f"{', '.join(self.methods)}. The largest distance is "
            f"{format_distance(self.furthest_deviation)} standard deviations, and the mean "
            f"difference is {format_number(self.difference, sign=True)} points. {reason}"
        )


@dataclass(frozen=True, eq=False)
class AccuracyTable(ScoreTable):
    """A table of the paper as measured here.

    The columns are the paper's ten methods, then the baselines (``random``, ``best``, ``full``) and
    other variants, which are not ranked.
    """

    rows: tuple[AccuracyRow, ...]
    heading: str = ""  # the title, with the number of the paper's table
    is_short: bool = False  # short forms are not compared with the paper

    @cached_property
    def paper_scores(self) -> pd.DataFrame:
        """The paper's printed means of all its rows."""
        return self.rounded_means(printed_accuracies(self.name))

    @property
    def paper_ranks(self) -> dict[str, float]:
        """The paper's average ranks; empty for a table that it does not print."""
        return self.ranks_of(self.paper_scores)

    def paper_win_tie_loss(self, method: str) -> WinTieLoss | None:
        """Return DOMEP's wins, ties and losses in the paper; None for methods that it omits."""
        marks = [
            entries[method].mark
            for entries in printed_accuracies(self.name).values()
            if method in entries
        ]
        return WinTieLoss(*(marks.count(mark) for mark in MARKS.values())) if marks else None

    @property
    def comparable_rows(self) -> list[AccuracyRow]:
        """The rows that can be compared with the paper's: complete rows of a full table."""
        return [
            row
            for row in self.rows
            if row.is_printed
            and not self.is_short
            and all(len(row.entries[method].folds) == row.n_folds for method in PAPER_METHODS)
        ]

    def paper_mismatches(self) -> list[PaperMismatch]:
        """Return the rows that differ from the paper's."""
        mismatches = []
        for row in self.comparable_rows:
            deviations = {m: row.deviations_from_paper(m) for m in PAPER_METHODS}
            far = {m: d for m, d in deviations.items() if abs(d) > _TOLERATED_DEVIATIONS}
            if far:
                differences = [row.entries[method].paper_difference for method in PAPER_METHODS]
                numbers = max(far.values(), key=abs), float(np.nanmean(differences))
                reason = mismatch_reason(self.name, row.source.paper_name, far)
                names, established = tuple(map(method_label, far)), row.source.established
                mismatches.append(PaperMismatch(row.name, names, *numbers, established, reason))
        return mismatches

    def missing_notes(self) -> list[str]:
        """Return a note for each row with missing results."""
        return [note for row in self.rows if (note := _missing_note(row))]


def make_accuracy_table(plan: Plan, frame: pd.DataFrame) -> AccuracyTable:
    """Return the table of a plan at its first setting; entries may be empty or have fewer folds."""
    return _build_table(plan, plan.settings[0], results_by_row(plan, frame))


def tables_by_setting(plan: Plan, frame: pd.DataFrame) -> dict[Setting, AccuracyTable]:
    """Return a table for each setting of a plan."""
    results = list(results_by_row(plan, frame))
    return {setting: _build_table(plan, setting, results) for setting in plan.settings}


def _build_table(plan: Plan, setting: Setting, results: Iterable[RowResults]) -> AccuracyTable:
    rows = tuple(
        _build_row(plan, name, source, rows_where(mine, **asdict(setting)))
        for name, source, mine in results
    )
    caption = (
        f"Test accuracy in per cent, mean ± standard deviation over {len(plan.folds)} folds; "
        f"ensembles of {setting}."
    )
    columns = _table_columns(plan)
    labels = {column: method_label(column) for column in columns}
    names = (plan.name, plan.title, caption)
    return AccuracyTable(
        *(*names, rows, columns, PAPER_METHODS, labels, CONTROL),
        heading=plan.heading,
        is_short=plan.quick,
    )


def _table_columns(plan: Plan) -> tuple[str, ...]:
    baselines = [method for method in BASELINES if method in plan.methods]
    methods = [method for method in plan.methods if method not in BASELINES]
    variants = [
        f"{m}/{variant}" for variant in plan.variants if variant != "library" for m in methods
    ]
    return (*PAPER_METHODS, *baselines, *variants)


def _build_row(plan: Plan, name: str, source: PaperRow, frame: pd.DataFrame) -> AccuracyRow:
    """Return a row of an accuracy table, with the paper's printed accuracies."""
    paper = printed_accuracies(plan.name).get(source.paper_name, {})
    measured = {
        method if variant == "library" else f"{method}/{variant}": folds
        for (method, variant), folds in mean_folds(
            frame, ["method", "variant"], "accuracy", 100
        ).items()
    }
    folds = {column: measured.get(column, {}) for column in _table_columns(plan)}
    entries = {
        column: PaperEntry(scores, control_test(folds, CONTROL, column), paper=paper.get(column))
        for column, scores in folds.items()
    }
    n_test = int(frame["n_test"].iloc[0]) if len(frame) else 0
    row = AccuracyRow(name, entries, PAPER_METHODS, source, n_test, len(plan.folds))
    return cast(AccuracyRow, row.with_best())


def _missing_note(row: AccuracyRow) -> str:
    counts = {column: len(entry.folds) for column, entry in row.entries.items()}
    if not any(counts.values()):
        dataset = DATASETS.get(row.source.dataset)
        # Only data sets that are not available have an unknown size; their note gives the reason.
        reason = dataset.note if dataset and dataset.n_rows is None else ""
        return f"{row.name}: no results. {reason}".strip()
    gaps = [column for column, count in counts.items() if count < row.n_folds]
    if not gaps:
        return ""
    if len(set(counts.values())) == 1:
        return f"{row.name}: {counts[CONTROL]} of {row.n_folds} folds."
    short = ", ".join(f"{method_label(c)} {counts[c]}" for c in gaps)
    ranked = "" if row.is_ranked else " It is not ranked."
    return f"{row.name}: incomplete, folds of {row.n_folds}: {short}.{ranked}"


def combined_scores(tables: Sequence[AccuracyTable], *, paper: bool = False) -> pd.DataFrame:
    """Return the scores of all tables in one frame, ours or the paper's."""
    parts = {table.title: table.paper_scores if paper else table.scores for table in tables}
    filled = {title: part for title, part in parts.items() if len(part)}
    names = [method_label(method) for method in PAPER_METHODS]
    return pd.concat(filled) if filled else pd.DataFrame(columns=names, dtype=float)


def data_set_scores(tables: Sequence[AccuracyTable], *, paper: bool = False) -> pd.DataFrame:
    """Return one line per data set: the mean over its rows in all tables, ours or the paper's.

    The tables repeat data sets with other learners and readings. Their rows share samples, so that
    a test over rows would count a data set several times.
    """
    scores = combined_scores(tables, paper=paper)
    names = {
        (table.title, row.name): row.source.paper_name for table in tables for row in table.rows
    }
    data_sets = [names.get(key, key[-1]) for key in scores.index]
    return scores.groupby(data_sets, sort=False).mean() if len(scores) else scores
