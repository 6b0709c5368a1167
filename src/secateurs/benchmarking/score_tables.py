"""Tables of scores: data sets × methods, the best marked, ranks, wins against a control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from secateurs.benchmarking.table_text import BOLD, PLAIN, Grid, format_number
from secateurs.statistics import (
    PairedTest,
    WinTieLoss,
    average_ranks,
    paired_t_test,
    win_tie_loss,
)
from secateurs.text_format import NOTHING

MARKS = {"win": "‡", "tie": "", "loss": "†"}  # of the control against a method

FoldScores = Mapping[str, Mapping[int, float]]  # scores by column and fold


@dataclass(frozen=True)
class ScoreEntry:
    """Score of one method on one data set.

    Attributes
    ----------
    folds : mapping of int to float
        Score per fold, mean over seeds; accuracies in per cent.
    test : PairedTest or None
        Paired t-test of the control against this method; None where they share fewer than two
        folds, for the control itself, and without one.
    bold : bool
        Whether it is the best of those ranked: highest mean, then lowest standard deviation.
    decimals : int
        How many are shown.
    """

    folds: Mapping[int, float]
    test: PairedTest | None = None
    bold: bool = False
    decimals: int = 2

    @property
    def mean(self) -> float:
        """Mean over folds."""
        return float(np.mean(list(self.folds.values()))) if self.folds else float("nan")

    @property
    def std(self) -> float:
        """Standard deviation over folds, that of a sample."""
        several = len(self.folds) > 1
        return float(np.std(list(self.folds.values()), ddof=1)) if several else float("nan")

    def __str__(self) -> str:
        if not self.folds:
            return NOTHING
        return f"{format_number(self.mean, self.decimals)}±{format_number(self.std, self.decimals)}{self.mark}"

    @property
    def marked_text(self) -> str:
        """The text, with what is the best between `BOLD` and `PLAIN`."""
        text = str(self)
        return f"{BOLD}{text.removesuffix(self.mark)}{PLAIN}{self.mark}" if self.bold else text

    @property
    def mark(self) -> str:
        """‡ where the control is significantly better, † where it is worse."""
        return MARKS[self.test.verdict] if self.test else ""


E = TypeVar("E", bound=ScoreEntry)


@dataclass(frozen=True)
class TableRow(Generic[E]):
    """The scores of all methods on a data set.

    Attributes
    ----------
    name : str
        Name of the data set, and what else tells the row from others.
    entries : mapping of str to Entry
        By column.
    ranked : tuple of str
        The columns that are ranked.
    """

    name: str
    entries: Mapping[str, E]
    ranked: tuple[str, ...]

    @property
    def is_ranked(self) -> bool:
        """Whether all methods to rank were measured, on the same folds."""
        measured = {frozenset(self.entries[method].folds) for method in self.ranked}
        return len(measured) == 1 and bool(next(iter(measured)))

    def with_best(self) -> TableRow[E]:
        """Return the row with its best entries bold; none if all means are equal."""
        best = {name: replace(self.entries[name], bold=True) for name in self._best_methods()}
        return replace(self, entries={**self.entries, **best})

    def _best_methods(self) -> list[str]:
        """Return the methods of the highest mean, then the lowest standard deviation."""
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
    """Scores of methods on data sets, at one setting.

    Attributes
    ----------
    name, title, caption : str
        Short name, heading, and a sentence with the settings.
    rows : tuple of TableRow
        In order, also those without results.
    columns : tuple of str
        Those ranked, then others.
    ranked : tuple of str
        The methods that are ranked.
    labels : mapping of str to str
        Names of columns as they are shown.
    control : str or None
        The method that all others are compared with.
    decimals : int
        How many are shown; ranks come from means as shown.
    """

    name: str
    title: str
    caption: str
    rows: tuple[TableRow[Any], ...]
    columns: tuple[str, ...]
    ranked: tuple[str, ...]
    labels: Mapping[str, str]
    control: str | None = None
    decimals: int = 2

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Means of the ranked methods as shown, data sets × methods; ranked rows only."""
        return self.rounded_means({row.name: row.entries for row in self.rows if row.is_ranked})

    def rounded_means(self, rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
        """Return the means of the ranked methods as shown, by row."""
        values = [
            [round(entries[name].mean, self.decimals) for name in self.ranked]
            for entries in rows.values()
        ]
        names = [self.labels[name] for name in self.ranked]
        return pd.DataFrame(values, index=list(rows), columns=names, dtype=float)

    @property
    def ranks(self) -> dict[str, float]:
        """Average rank of each ranked method; empty where no row could be ranked."""
        return self.ranks_of(self.scores)

    def ranks_of(self, scores: pd.DataFrame) -> dict[str, float]:
        """Return the average rank of each ranked method; empty without rows."""
        if scores.empty:
            return {}
        ranks = average_ranks(scores)
        return {name: float(ranks[self.labels[name]]) for name in self.ranked}

    def win_tie_loss(self, column: str) -> WinTieLoss:
        """Count how often the control wins, ties and loses against a method, by t-test."""
        tests = (row.entries[column].test for row in self.rows)
        return win_tie_loss(test for test in tests if test)

    def grid(self) -> Grid:
        """Return the table laid out: data sets, then W/T/L and average ranks."""
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
    """Return the score per fold, mean over seeds, by the values of some columns."""
    found: dict[tuple[str, ...], dict[int, float]] = {}
    key: Any
    for key, seeds in frame.groupby([*columns, "fold"])[score]:
        mean = float(np.mean(factor * seeds.to_numpy(float)))
        found.setdefault(tuple(key[:-1]), {})[int(key[-1])] = mean
    return found


def control_test(folds: FoldScores, control: str | None, column: str) -> PairedTest | None:
    """Compare the control with a method on the folds that both have; None for less than two."""
    shared = sorted(set(folds.get(control or "", ())) & set(folds[column]))
    if control is None or column == control or len(shared) < 2:
        return None
    first, second = ([folds[name][fold] for fold in shared] for name in (control, column))
    return paired_t_test(first, second)
