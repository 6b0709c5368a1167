"""Tables of scores (data sets × methods) with best scores, ranks and wins against a control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd

from secateurs.benchmarking.table_text import BOLD, PLAIN, Grid, format_number
from secateurs.statistics import PairedTest, WinTieLoss, average_ranks, paired_t_test, win_tie_loss
from secateurs.text_format import NOTHING

MARKS = {"win": "‡", "tie": "", "loss": "†"}  # of the control against a method

FoldScores = Mapping[str, Mapping[int, float]]  # scores by column and fold


@dataclass(frozen=True)
class ScoreEntry:
    """Score of one method on one data set."""

    folds: Mapping[int, float]  # score per fold, mean over seeds; accuracies in per cent
    # Paired t-test of the control against this method; None for the control itself, without a
    # control, and if they share fewer than two folds.
    test: PairedTest | None = None
    bold: bool = False  # whether it is the best: highest mean, then lowest standard deviation
    decimals: int = 2

    @property
    def mean(self) -> float:
        """Mean over folds."""
        return float(np.mean(list(self.folds.values()))) if self.folds else float("nan")

    @property
    def std(self) -> float:
        """Sample standard deviation over folds."""
        several = len(self.folds) > 1
        return float(np.std(list(self.folds.values()), ddof=1)) if several else float("nan")

    def __str__(self) -> str:
        if not self.folds:
            return NOTHING
        mean, std = (format_number(value, self.decimals) for value in (self.mean, self.std))
        return f"{mean}±{std}{self.mark}"

    @property
    def marked_text(self) -> str:
        """The text of the cell; the best score is between `BOLD` and `PLAIN`."""
        text = str(self)
        return f"{BOLD}{text.removesuffix(self.mark)}{PLAIN}{self.mark}" if self.bold else text

    @property
    def mark(self) -> str:
        """‡ if the control is significantly better, † if it is significantly worse."""
        return MARKS[self.test.verdict] if self.test else ""


E = TypeVar("E", bound=ScoreEntry)


class HasMean(Protocol):
    """A measured or printed score."""

    @property
    def mean(self) -> float:
        """Mean over folds."""


@dataclass(frozen=True)
class TableRow(Generic[E]):
    """The scores of all methods on a data set."""

    name: str  # unique in the table: the data set, with the ensemble if there are several
    entries: Mapping[str, E]  # by column
    ranked: tuple[str, ...]  # columns that are ranked

    @property
    def is_ranked(self) -> bool:
        """Whether all ranked methods were measured on the same folds."""
        measured = {frozenset(self.entries[method].folds) for method in self.ranked}
        return len(measured) == 1 and bool(next(iter(measured)))

    def with_best(self) -> TableRow[E]:
        """Return the row with its best entries in bold; none if all means are equal."""
        best = {name: replace(self.entries[name], bold=True) for name in self._best_methods()}
        return replace(self, entries={**self.entries, **best})

    def _best_methods(self) -> list[str]:
        """Return the methods with the highest mean, then the lowest standard deviation."""
        if not self.is_ranked:
            return []
        shown = {}
        for name in self.ranked:
            entry = self.entries[name]
            rounded = (round(value, entry.decimals) for value in (-entry.mean, entry.std))
            shown[name] = tuple(float(value) for value in np.nan_to_num(list(rounded)))
        if len({mean for mean, _ in shown.values()}) < 2:
            return []
        best = min(shown.values())
        return [name for name, value in shown.items() if value == best]


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of methods on data sets with the same settings."""

    name: str  # short, for file names
    title: str
    caption: str
    rows: tuple[TableRow[Any], ...]  # including rows without results
    columns: tuple[str, ...]  # ranked methods, then others
    ranked: tuple[str, ...]  # methods that are ranked
    labels: Mapping[str, str]  # displayed names of columns
    control: str | None = None  # the method that all others are compared with
    decimals: int = 2  # means are rounded to them before they are ranked

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Rounded means of the ranked methods, data sets × methods; ranked rows only."""
        return self.rounded_means({row.name: row.entries for row in self.rows if row.is_ranked})

    def rounded_means(self, rows: Mapping[str, Mapping[str, HasMean]]) -> pd.DataFrame:
        """Return the rounded means of the ranked methods, by row."""
        values = [
            [round(entries[name].mean, self.decimals) for name in self.ranked]
            for entries in rows.values()
        ]
        names = [self.labels[name] for name in self.ranked]
        return pd.DataFrame(values, index=list(rows), columns=names, dtype=float)

    @property
    def ranks(self) -> dict[str, float]:
        """Average rank of each ranked method; empty if no row can be ranked."""
        return self.ranks_of(self.scores)

    def ranks_of(self, scores: pd.DataFrame) -> dict[str, float]:
        """Return the average rank of each ranked method; empty if there are no scores."""
        if scores.empty:
            return {}
        ranks = average_ranks(scores)
        return {name: float(ranks[self.labels[name]]) for name in self.ranked}

    def win_tie_loss(self, column: str) -> WinTieLoss:
        """Count how often the control wins, ties and loses against a method, by t-test."""
        tests = (row.entries[column].test for row in self.rows)
        return win_tie_loss(test for test in tests if test)

    def grid(self) -> Grid:
        """Return the cells of the table: data sets, then W/T/L and average ranks."""
        rows = [(r.name, *(r.entries[c].marked_text for c in self.columns)) for r in self.rows]
        totals = [self.rank_line(self.columns, self.ranks)]
        if self.control is not None:
            totals.insert(0, self.count_line(self.columns, self.win_tie_loss))
        headings = ("Data set", *(self.labels[column] for column in self.columns))
        return Grid.of_blocks(headings, [rows, totals])

    def count_line(
        self, columns: Iterable[str], count: Callable[[str], WinTieLoss | None], *more: str
    ) -> tuple[str, ...]:
        """Return the line of wins, ties and losses of the control."""
        counts = (NOTHING if name == self.control else str(count(name)) for name in columns)
        return ("t-test (W/T/L)", *more, *counts)

    def rank_line(
        self, columns: Iterable[str], ranks: Mapping[str, float], *more: str
    ) -> tuple[str, ...]:
        """Return the line of average ranks."""
        return ("Average rank", *more, *(format_number(ranks.get(name)) for name in columns))


def mean_folds(
    frame: pd.DataFrame, columns: Sequence[str], score: str, factor: float = 1.0
) -> dict[tuple[str, ...], dict[int, float]]:
    """Return the score per fold, mean over seeds, by the values of the given columns."""
    means: dict[tuple[str, ...], dict[int, float]] = {}
    key: Any  # pandas-stubs type the key of several columns as a scalar
    for key, seeds in frame.groupby([*columns, "fold"])[score]:
        mean = float(np.mean(factor * seeds.to_numpy(float)))
        means.setdefault(tuple(key[:-1]), {})[int(key[-1])] = mean
    return means


def control_test(folds: FoldScores, control: str | None, column: str) -> PairedTest | None:
    """Compare the control with a method on their shared folds; None if there are fewer than two."""
    shared = sorted(set(folds.get(control or "", ())) & set(folds[column]))
    if control is None or column == control or len(shared) < 2:
        return None
    first, second = ([folds[name][fold] for fold in shared] for name in (control, column))
    return paired_t_test(first, second)
