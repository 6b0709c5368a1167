"""Tables: test accuracy of the methods as in the paper, ours and theirs, with ranks and W/T/L."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from secateurs._text import NOTHING
from secateurs.paper._plan import PaperRow, Plan, Setting
from secateurs.paper._printed import (
    CONTROL,
    FLOORS,
    MARKS,
    PAPER_METHODS,
    Printed,
    label,
    printed,
    reason_for,
)
from secateurs.paper._results import results_by_row, where
from secateurs.paper._table_text import distance, number
from secateurs.statistics import (
    PairedTest,
    WinTieLoss,
    average_ranks,
    paired_t_test,
    win_tie_loss,
)

_TOLERATED = 2.0  # of the paper's standard deviations


@dataclass(frozen=True)
class Entry:
    """Test accuracy of one method on one data set, in per cent.

    Attributes
    ----------
    folds : mapping of int to float
        Accuracy per fold, mean over seeds.
    test : PairedTest or None
        Paired t-test of DOMEP against this method; None where they share fewer than two folds, and
        for DOMEP itself.
    bold : bool
        Whether it is the best of the paper's ten: highest mean, then lowest standard deviation.
    paper : Printed or None
        What the paper prints.
    """

    folds: Mapping[int, float]
    test: PairedTest | None = None
    bold: bool = False
    paper: Printed | None = None

    @property
    def mean(self) -> float:
        """Mean over folds."""
        return float(np.mean(list(self.folds.values()))) if self.folds else float("nan")

    @property
    def std(self) -> float:
        """Standard deviation over folds, that of a sample as in the paper."""
        several = len(self.folds) > 1
        return float(np.std(list(self.folds.values()), ddof=1)) if several else float("nan")

    def __str__(self) -> str:
        return f"{self.mean:.2f}±{number(self.std)}{self.mark}" if self.folds else NOTHING

    @property
    def mark(self) -> str:
        """The paper's mark: ‡ where DOMEP is significantly better, † where it is worse."""
        return MARKS[self.test.verdict] if self.test else ""

    @property
    def difference(self) -> float:
        """Our mean minus the paper's."""
        return self.mean - self.paper.mean if self.paper else float("nan")


@dataclass(frozen=True)
class TableRow:
    """A data set as the paper reads it.

    Attributes
    ----------
    name : str
        The paper's name of the data set, and what else tells the row from others.
    source : PaperRow
        Data set, reading, learner, and whether the paper's reading is established.
    entries : mapping of str to Entry
        By column.
    n_test : int
        Rows of a test part; 0 where nothing was measured.
    n_folds : int
        Folds that the plan asks for.
    """

    name: str
    source: PaperRow
    entries: Mapping[str, Entry]
    n_test: int
    n_folds: int

    @property
    def is_ranked(self) -> bool:
        """Whether all ten methods were measured, on the same folds."""
        measured = {frozenset(self.entries[method].folds) for method in PAPER_METHODS}
        return len(measured) == 1 and bool(next(iter(measured)))

    @property
    def is_printed(self) -> bool:
        """Whether the paper has it."""
        return any(entry.paper for entry in self.entries.values())

    def deviations(self, method: str) -> float:
        """Return our mean minus the paper's, in the paper's standard deviations.

        A deviation printed as 0.00 counts as the smallest step that a mean can make: one more right
        answer in five test parts. NaN where there is nothing to compare.
        """
        entry = self.entries[method]
        if entry.paper is None or not self.n_test:
            return float("nan")
        return (entry.mean - entry.paper.mean) / (entry.paper.std or 100 / (5 * self.n_test))


@dataclass(frozen=True)
class Mismatch:
    """A row whose accuracies lie more than two of the paper's standard deviations from the paper's.

    Attributes
    ----------
    row : str
        Name of the row.
    methods : tuple of str
        Which methods lie outside.
    furthest : float
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
    furthest: float
    difference: float
    established: bool
    reason: str

    def __str__(self) -> str:
        reason = self.reason or "No reason found yet."
        if not self.established:
            reason += " How the paper read these data is not established."
        return (
            f"{self.row}: {', '.join(self.methods)} more than two of the paper's standard "
            f"deviations away, the furthest {distance(self.furthest)}; on average "
            f"{number(self.difference, sign=True)} points. {reason}"
        )


@dataclass(frozen=True, eq=False)
class AccuracyTable:
    """A table of the paper, as measured here.

    Attributes
    ----------
    name, title, caption : str
        Short name, heading, and a sentence with the settings.
    rows : tuple of TableRow
        In the paper's order, also those without results.
    columns : tuple of str
        The paper's ten methods, then floors and ceiling (``random``, ``best``, ``full``) and other
        variants, which take no part in ranks.
    """

    name: str
    title: str
    caption: str
    rows: tuple[TableRow, ...]
    columns: tuple[str, ...]

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Means of the ten methods to two decimals, data sets × methods; ranked rows only."""
        return _scores({row.name: row.entries for row in self.rows if row.is_ranked})

    @cached_property
    def paper_scores(self) -> pd.DataFrame:
        """The same of the paper's printed means, all its rows."""
        return _scores(printed(self.name))

    @property
    def ranks(self) -> dict[str, float]:
        """Average rank of each of the ten methods; empty where no row could be ranked."""
        return _ranks(self.scores)

    @property
    def paper_ranks(self) -> dict[str, float]:
        """Average ranks of the paper; empty for a table that it does not print."""
        return _ranks(self.paper_scores)

    def win_tie_loss(self, column: str) -> WinTieLoss:
        """Count how often DOMEP wins, ties and loses against a method, by the paired t-test."""
        tests = (row.entries[column].test for row in self.rows)
        return win_tie_loss(test for test in tests if test)

    def paper_win_tie_loss(self, method: str) -> WinTieLoss | None:
        """Count the same of the paper; None where it prints no such method."""
        marks = [
            entries[method].mark for entries in printed(self.name).values() if method in entries
        ]
        return WinTieLoss(*(marks.count(mark) for mark in MARKS.values())) if marks else None

    @property
    def comparable(self) -> list[TableRow]:
        """The rows that can be compared with the paper's: the complete ones."""
        return [
            row
            for row in self.rows
            if row.is_printed
            and all(len(row.entries[method].folds) == row.n_folds for method in PAPER_METHODS)
        ]

    def mismatches(self) -> list[Mismatch]:
        """Return the rows that differ from the paper's; those without results are in `notes`."""
        found = []
        for row in self.comparable:
            far = {m: d for m in PAPER_METHODS if abs(d := row.deviations(m)) > _TOLERATED}
            if far:
                differences = [row.entries[method].difference for method in PAPER_METHODS]
                numbers = max(far.values(), key=abs), float(np.nanmean(differences))
                reason = reason_for(self.name, row.source.paper_name, far)
                names, established = tuple(map(label, far)), row.source.established
                found.append(Mismatch(row.name, names, *numbers, established, reason))
        return found

    def notes(self) -> list[str]:
        """Return what is missing, row by row."""
        return [note for row in self.rows if (note := _missing(self, row))]


def make_table(plan: Plan, frame: pd.DataFrame, setting: Setting | None = None) -> AccuracyTable:
    """Return a table of the paper as measured.

    Parameters
    ----------
    plan : Plan
        Which rows, methods and folds the table has.
    frame : DataFrame
        Results, one row per cell, in any order; what the plan does not ask for is ignored.
    setting : Setting, optional
        Which setting of the plan; by default the first.

    Returns
    -------
    AccuracyTable
        Missing cells leave their entries empty or with fewer folds.
    """
    chosen = setting or plan.settings[0]
    rows = tuple(
        _row(plan, name, source, where(mine, **asdict(chosen)))
        for name, source, mine in results_by_row(plan, frame)
    )
    caption = (
        f"Test accuracy in per cent, mean ± standard deviation over {len(plan.folds)} folds; "
        f"ensembles of {chosen}."
    )
    return AccuracyTable(plan.name, plan.title, caption, rows, _columns(plan))


def _columns(plan: Plan) -> tuple[str, ...]:
    floors = [method for method in FLOORS if method in plan.methods]
    methods = [method for method in plan.methods if method not in FLOORS]
    others = [
        f"{m}/{variant}" for variant in plan.variants if variant != "library" for m in methods
    ]
    return (*PAPER_METHODS, *floors, *others)


def _row(plan: Plan, name: str, source: PaperRow, frame: pd.DataFrame) -> TableRow:
    paper, measured = printed(plan.name).get(source.paper_name, {}), _folds(frame)
    folds = {column: measured.get(column, {}) for column in _columns(plan)}
    entries = {c: Entry(v, _test(folds, c), False, paper.get(c)) for c, v in folds.items()}
    n_test = int(frame["n_test"].iloc[0]) if len(frame) else 0
    row = TableRow(name, source, entries, n_test, len(plan.folds))
    best = {method: replace(entries[method], bold=True) for method in _best(row)}
    return replace(row, entries=entries | best)


def _folds(frame: pd.DataFrame) -> dict[str, dict[int, float]]:
    """Return accuracy per column and fold, in per cent, mean over seeds."""
    found: dict[str, dict[int, float]] = {}
    key: Any
    for key, seeds in frame.groupby(["method", "variant", "fold"])["accuracy"]:
        column = key[0] if key[1] == "library" else "/".join(key[:2])
        found.setdefault(column, {})[int(key[2])] = float(np.mean(100 * seeds.to_numpy(float)))
    return found


def _test(folds: Mapping[str, Mapping[int, float]], column: str) -> PairedTest | None:
    shared = sorted(set(folds[CONTROL]) & set(folds[column]))
    if column == CONTROL or len(shared) < 2:
        return None
    first, second = ([folds[name][fold] for fold in shared] for name in (CONTROL, column))
    return paired_t_test(first, second)


def _best(row: TableRow) -> list[str]:
    """Return the methods of the highest mean, then the lowest std; none if all means are equal."""
    if not row.is_ranked:
        return []
    shown = {
        method: (-round(entry.mean, 2), float(np.nan_to_num(round(entry.std, 2))))
        for method, entry in row.entries.items()
        if method in PAPER_METHODS
    }
    if len({mean for mean, _ in shown.values()}) < 2:
        return []
    best = min(shown.values())
    return [method for method, value in shown.items() if value == best]


def _scores(rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    values = [[round(entries[m].mean, 2) for m in PAPER_METHODS] for entries in rows.values()]
    names = [label(method) for method in PAPER_METHODS]
    return pd.DataFrame(values, index=list(rows), columns=names, dtype=float)


def _ranks(scores: pd.DataFrame) -> dict[str, float]:
    if scores.empty:
        return {}
    ranks = average_ranks(scores)
    return {method: float(ranks[label(method)]) for method in PAPER_METHODS}


def _missing(table: AccuracyTable, row: TableRow) -> str:
    counts = {column: len(entry.folds) for column, entry in row.entries.items()}
    if not any(counts.values()):
        reason = reason_for(table.name, row.source.paper_name, PAPER_METHODS)
        return f"{row.name}: no results. {reason}".strip()
    gaps = [column for column, count in counts.items() if count < row.n_folds]
    if not gaps:
        return ""
    if len(set(counts.values())) == 1:
        return f"{row.name}: {counts[CONTROL]} of {row.n_folds} folds."
    short = ", ".join(f"{label(c)} {counts[c]}" for c in gaps)
    ranked = "" if row.is_ranked else " It takes no part in ranks."
    return f"{row.name}: incomplete, folds of {row.n_folds}: {short}.{ranked}"


def all_scores(tables: Sequence[AccuracyTable], *, paper: bool = False) -> pd.DataFrame:
    """Return the scores of all tables as one, ours or the paper's."""
    parts = {table.title: table.paper_scores if paper else table.scores for table in tables}
    filled = {title: part for title, part in parts.items() if len(part)}
    return pd.concat(filled) if filled else _scores({})
