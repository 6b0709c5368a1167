"""Tables: test accuracy of the methods as in the paper, ours and theirs, with ranks and W/T/L."""

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
    CONTROL,
    FLOORS,
    N_PRINTED_FOLDS,
    PAPER_METHODS,
    PrintedAccuracy,
    method_label,
    mismatch_reason,
    printed_accuracies,
)
from secateurs.statistics import WinTieLoss

_TOLERATED = 2.0  # of the paper's standard deviations


@dataclass(frozen=True)
class PaperEntry(ScoreEntry):
    """Test accuracy of one method on one data set, in per cent; the control is DOMEP.

    Attributes
    ----------
    folds, test, bold, decimals
        As of `ScoreEntry`.
    paper : PrintedAccuracy or None
        What the paper prints.
    """

    paper: PrintedAccuracy | None = None

    @property
    def paper_difference(self) -> float:
        """Our mean minus the paper's."""
        return self.mean - self.paper.mean if self.paper else float("nan")


@dataclass(frozen=True)
class AccuracyRow(TableRow[PaperEntry]):
    """A data set as the paper reads it.

    Attributes
    ----------
    name, entries, ranked
        As of `TableRow`; the name is the paper's.
    source : PaperRow
        Data set, reading, learner, and whether the paper's reading is established.
    n_test : int
        Rows of a test part; 0 where nothing was measured.
    n_folds : int
        Folds that the plan asks for.
    """

    source: PaperRow
    n_test: int
    n_folds: int

    @property
    def is_printed(self) -> bool:
        """Whether the paper has it."""
        return any(entry.paper for entry in self.entries.values())

    def deviations_from_paper(self, method: str) -> float:
        """Return our mean minus the paper's, in the paper's standard deviations.

        A deviation printed as 0.00 counts as `smallest_accuracy_step`. NaN where nothing can
        be compared.
        """
        entry = self.entries[method]
        if entry.paper is None or not self.n_test:
            return float("nan")
        return (entry.mean - entry.paper.mean) / (entry.paper.std or self.smallest_accuracy_step)

    @property
    def smallest_accuracy_step(self) -> float:
        """What one more right answer in all test parts adds to a printed mean."""
        return 100 / (N_PRINTED_FOLDS * self.n_test)


@dataclass(frozen=True)
class PaperMismatch:
    """A row whose accuracies lie more than two of the paper's standard deviations from the paper's.

    Attributes
    ----------
    row : str
        Name of the row.
    methods : tuple of str
        Which methods lie outside.
    furthest_deviation : float
        The largest distance, in the paper's standard deviations.
    difference : float
        Mean difference of all ten methods, in points.
    established : bool
        Whether the paper's reading of the data is established.
    reason : str
        The reason found; empty where there is none yet.
    """

    row: str
    methods: tuple[str, ...]
    furthest_deviation: float
    difference: float
    established: bool
    reason: str

    def __str__(self) -> str:
        reason = self.reason or "No reason found yet."
        if not self.established:
            reason += " How the paper read these data is not established."
        return (
            f"{self.row}: {', '.join(self.methods)} more than two of the paper's standard "
            f"deviations away, the furthest {format_distance(self.furthest_deviation)}; on average "
            f"{format_number(self.difference, sign=True)} points. {reason}"
        )


@dataclass(frozen=True, eq=False)
class AccuracyTable(ScoreTable):
    """A table of the paper, as measured here.

    The columns are the paper's ten methods, then floors and ceiling (``random``, ``best``,
    ``full``) and other variants, which take no part in ranks.

    Attributes
    ----------
    heading : str
        The title, with the number of the paper's table.
    is_short : bool
        Whether it is the short form, which is not held against the paper.
    """

    rows: tuple[AccuracyRow, ...]
    heading: str = ""
    is_short: bool = False

    @cached_property
    def paper_scores(self) -> pd.DataFrame:
        """The paper's printed means, all its rows."""
        return self.rounded_means(printed_accuracies(self.name))

    @property
    def paper_ranks(self) -> dict[str, float]:
        """Average ranks of the paper; empty for a table that it does not print."""
        return self.ranks_of(self.paper_scores)

    def paper_win_tie_loss(self, method: str) -> WinTieLoss | None:
        """Count the same of the paper; None where it prints no such method."""
        marks = [
            entries[method].mark
            for entries in printed_accuracies(self.name).values()
            if method in entries
        ]
        return WinTieLoss(*(marks.count(mark) for mark in MARKS.values())) if marks else None

    @property
    def comparable_rows(self) -> list[AccuracyRow]:
        """The rows that can be compared with the paper's: the complete ones of a whole table."""
        return [
            row
            for row in self.rows
            if row.is_printed
            and not self.is_short
            and all(len(row.entries[method].folds) == row.n_folds for method in PAPER_METHODS)
        ]

    def paper_mismatches(self) -> list[PaperMismatch]:
        """Return the rows that differ from the paper's; `missing_notes` has those not measured."""
        found = []
        for row in self.comparable_rows:
            far = {
                m: d for m in PAPER_METHODS if abs(d := row.deviations_from_paper(m)) > _TOLERATED
            }
            if far:
                differences = [row.entries[method].paper_difference for method in PAPER_METHODS]
                numbers = max(far.values(), key=abs), float(np.nanmean(differences))
                reason = mismatch_reason(self.name, row.source.paper_name, far)
                names, established = tuple(map(method_label, far)), row.source.established
                found.append(PaperMismatch(row.name, names, *numbers, established, reason))
        return found

    def missing_notes(self) -> list[str]:
        """Return what is missing, row by row."""
        return [note for row in self.rows if (note := _missing_note(row))]


def make_accuracy_table(plan: Plan, frame: pd.DataFrame) -> AccuracyTable:
    """Return a table of the paper as measured, at the first setting of its plan.

    Parameters
    ----------
    plan : Plan
        Which rows, methods and folds the table has.
    frame : DataFrame
        Results, one row per cell, in any order; what the plan does not ask for is ignored.

    Returns
    -------
    AccuracyTable
        Missing cells leave their entries empty or with fewer folds.
    """
    return _build_table(plan, plan.settings[0], results_by_row(plan, frame))


def tables_by_setting(plan: Plan, frame: pd.DataFrame) -> dict[Setting, AccuracyTable]:
    """Return a table for each setting of a plan, as `make_accuracy_table` does for the first."""
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
    floors = [method for method in FLOORS if method in plan.methods]
    methods = [method for method in plan.methods if method not in FLOORS]
    others = [
        f"{m}/{variant}" for variant in plan.variants if variant != "library" for m in methods
    ]
    return (*PAPER_METHODS, *floors, *others)


def _build_row(plan: Plan, name: str, source: PaperRow, frame: pd.DataFrame) -> AccuracyRow:
    paper = printed_accuracies(plan.name).get(source.paper_name, {})
    measured = {
        method if variant == "library" else f"{method}/{variant}": folds
        for (method, variant), folds in mean_folds(
            frame, ["method", "variant"], "accuracy", 100
        ).items()
    }
    folds = {column: measured.get(column, {}) for column in _table_columns(plan)}
    entries = {
        column: PaperEntry(found, control_test(folds, CONTROL, column), paper=paper.get(column))
        for column, found in folds.items()
    }
    n_test = int(frame["n_test"].iloc[0]) if len(frame) else 0
    row = AccuracyRow(name, entries, PAPER_METHODS, source, n_test, len(plan.folds))
    return cast(AccuracyRow, row.with_best())


def _missing_note(row: AccuracyRow) -> str:
    counts = {column: len(entry.folds) for column, entry in row.entries.items()}
    if not any(counts.values()):
        known = DATASETS.get(row.source.dataset)
        reason = known.note if known and known.n_rows is None else ""  # such data cannot be had
        return f"{row.name}: no results. {reason}".strip()
    gaps = [column for column, count in counts.items() if count < row.n_folds]
    if not gaps:
        return ""
    if len(set(counts.values())) == 1:
        return f"{row.name}: {counts[CONTROL]} of {row.n_folds} folds."
    short = ", ".join(f"{method_label(c)} {counts[c]}" for c in gaps)
    ranked = "" if row.is_ranked else " It takes no part in ranks."
    return f"{row.name}: incomplete, folds of {row.n_folds}: {short}.{ranked}"


def combined_scores(tables: Sequence[AccuracyTable], *, paper: bool = False) -> pd.DataFrame:
    """Return the scores of all tables as one, ours or the paper's."""
    parts = {table.title: table.paper_scores if paper else table.scores for table in tables}
    filled = {title: part for title, part in parts.items() if len(part)}
    names = [method_label(method) for method in PAPER_METHODS]
    return pd.concat(filled) if filled else pd.DataFrame(columns=names, dtype=float)
