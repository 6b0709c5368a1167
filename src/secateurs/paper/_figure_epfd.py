"""Figure: each method and its EPFD version, and the claims about accuracy and time of EPFD."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries, series_by_row
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper._printed_tables import RANDOM, method_label
from secateurs.paper.claims import (
    LARGE,
    UNMEASURED,
    Finding,
    Statistic,
    geometric_mean,
    group_by_data_set,
    judges_claim,
    mean_over_data_sets,
)
from secateurs.statistics import paired_difference
from secateurs.text_format import format_count, format_signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGIN = 0.1  # of the error: a smaller loss of accuracy does not matter
_SMALLEST_ERROR = 0.1  # per cent; ensembles without errors would make every loss infinite


@dataclass(frozen=True, eq=False)
class EpfdPair(RowSeries):
    """A method and its distributed version on one data set."""

    method: str
    n_members: int
    accuracy: tuple[float, ...]  # test accuracy in per cent, on the folds that both have
    epfd_accuracy: tuple[float, ...]
    fold_seconds: tuple[float, ...]  # time to select on one machine
    fold_epfd_seconds: tuple[float, ...]
    # Longest group + second round: the time with one machine per group.
    fold_path_seconds: tuple[float, ...]
    group_wins: tuple[float, ...]  # 1 where the result of a group is better than that of the union

    @property
    def seconds(self) -> float:
        """Time to select on one machine, mean over folds."""
        return float(np.mean(self.fold_seconds))

    @property
    def epfd_seconds(self) -> float:
        """Time of the distributed version on one machine, mean over folds."""
        return float(np.mean(self.fold_epfd_seconds))

    @property
    def path_seconds(self) -> float:
        """Time of the distributed version with one machine per group, mean over folds."""
        return float(np.mean(self.fold_path_seconds))

    @property
    def speedup_interval(self) -> tuple[float, float]:
        """95 % interval of `parallel_speedup` over folds, from logarithms; NaN for one fold."""
        if len(self.fold_seconds) < 2:
            return np.nan, np.nan
        logs = paired_difference(np.log(self.fold_seconds), np.log(self.fold_path_seconds))
        low, high = np.exp(logs.interval()).tolist()
        return low, high

    @property
    def accuracy_difference(self) -> float:
        """Mean accuracy of the distributed version minus that of the method, in points."""
        return float(np.mean(self.epfd_accuracy) - np.mean(self.accuracy))

    @property
    def parallel_speedup(self) -> float:
        """Speed-up of the distributed version with one machine per group."""
        return self.seconds / self.path_seconds

    @property
    def serial_speedup(self) -> float:
        """Speed-up of the distributed version on one machine."""
        return self.seconds / self.epfd_seconds


def epfd_pairs(plan: Plan, frame: pd.DataFrame) -> list[EpfdPair]:
    """Return the pairs of a method and its distributed version, where both were measured."""
    pairs = []
    for name, source, mine in results_by_row(plan, frame):
        for method in plan.methods:
            library, epfd = (
                rows_where(mine, method=method, variant=v) for v in ("library", "epfd")
            )
            joined = library.merge(epfd, on=["fold", "seed"], suffixes=("", "_epfd"))
            if len(joined):
                first, second = (100 * joined[f"accuracy{s}"].astype(float) for s in ("", "_epfd"))
                names = ("seconds", "seconds_epfd", "path_seconds_epfd", "group_wins_epfd")
                measured = (tuple(joined[name].astype(float)) for name in names)
                n_members = int(joined["n_members"].iloc[0])
                folds = (tuple(first), tuple(second))
                pairs.append(EpfdPair(name, source, method, n_members, *folds, *measured))
    return pairs


@judges_claim("epfd-accuracy", "EPFD maintains accuracy.")
def judge_epfd_accuracy(all_pairs: Sequence[EpfdPair]) -> Finding:
    """The quantity is the change of accuracy by EPFD, as a share of the error of the method alone.

    Each method and its EPFD version prune the same ensembles, on all rows of the tables. The value
    is the mean over data sets, methods and rows averaged. A loss of a tenth of the error is the
    limit. Randomly drawn votes do not count.
    """
    pairs = [pair for pair in all_pairs if pair.n_members < LARGE]
    methods = [pair for pair in pairs if pair.method != RANDOM]
    if not methods:
        return Finding(None, UNMEASURED, {})
    statistic = _relative_change(methods, [float(np.mean(pair.epfd_accuracy)) for pair in methods])
    drawn = {p.row: float(np.mean(p.accuracy)) for p in pairs if p.method == RANDOM}
    compared = [pair for pair in methods if pair.row in drawn]
    check = _relative_change(compared, [drawn[pair.row] for pair in compared])
    gains = [pair.accuracy_difference for pair in methods]
    told = (
        f"{format_count(len({pair.row for pair in methods}), 'row')}. "
        f"Single pairs of a row and a method change by {format_signed(min(gains), 2)} "
        f"to {format_signed(max(gains), 2)} points. "
        f"{_count_group_wins(methods)}"
    )
    return Finding(statistic, told, {"differences": _values_by_method(methods, gains)}, check)


def _count_group_wins(pairs: Sequence[EpfdPair]) -> str:
    """Return how often the result of a group is better than that of the second round."""
    by_method = group_by_data_set(
        [method_label(pair.method) for pair in pairs for _ in pair.group_wins],
        [wins for pair in pairs for wins in pair.group_wins],
    )
    counts = ", ".join(f"{name} {sum(w):g} of {len(w)}" for name, w in by_method.items())
    return f"Runs in which the result of a group wins: {counts}."


def _relative_change(pairs: Sequence[EpfdPair], others: Sequence[float]) -> Statistic:
    """Return the mean over data sets of the change from a method's accuracy, relative to error."""
    changes = []
    for pair, other in zip(pairs, others, strict=True):
        accuracy = float(np.mean(pair.accuracy))
        changes.append((other - accuracy) / max(100 - accuracy, _SMALLEST_ERROR))
    names = [pair.source.paper_name for pair in pairs]
    means = mean_over_data_sets(group_by_data_set(names, changes))
    return Statistic("change relative to the error", *means, holds_above=-_MARGIN)


@judges_claim("epfd-time", "EPFD saves time with 100 members, on average over the methods.")
def judge_epfd_time(pairs: Sequence[EpfdPair]) -> Finding:
    """The quantity is the CPU time of a method divided by that of its EPFD version.

    The latter is the time of the longest group and the second round, as with one machine per group.
    The value is the geometric mean over data sets, methods and rows averaged.
    """
    return _time_finding([p for p in pairs if p.n_members < LARGE and p.method != RANDOM])


@judges_claim(
    "epfd-time-large",
    "EPFD saves time if few of very many members are kept, on average over the methods.",
)
def judge_epfd_time_large(pairs: Sequence[EpfdPair]) -> Finding:
    """The quantity is the same ratio for 2000 members of 5 classes, of which 2 % are kept.

    The operation counts predict a gain at this size. Votes are drawn at random, so the value is the
    geometric mean over methods. SEP and PEP are not run, because their number of rounds grows with
    the square of the number of members.
    """
    return _time_finding([pair for pair in pairs if pair.n_members >= LARGE], by_method=True)


def _time_finding(pairs: Sequence[EpfdPair], by_method: bool = False) -> Finding:
    if not pairs:
        return Finding(None, UNMEASURED, {})
    savings = [pair.parallel_speedup for pair in pairs]
    units = [pair.method if by_method else pair.source.paper_name for pair in pairs]
    statistic = geometric_mean("speed-up", group_by_data_set(units, savings))
    serial = [pair.serial_speedup for pair in pairs]
    by_name = group_by_data_set([method_label(pair.method) for pair in pairs], savings)
    medians = ", ".join(f"{name} {np.median(mine):.2f}" for name, mine in by_name.items())
    told = f"Medians by method: {medians}; on one machine, median {np.median(serial):.2f}."
    return Finding(statistic, told, {"savings": _values_by_method(pairs, savings)})


@judges_claim("epfd-pep", "EPFD saves the most time for PEP.")
def judge_epfd_pep(pairs: Sequence[EpfdPair]) -> Finding:
    """The quantity is the speed-up of PEP divided by the largest speed-up of another method.

    Speed-ups are those with one machine per group. The value is the geometric mean over data sets.
    """
    mine = [pair for pair in pairs if pair.method != RANDOM]
    savings = _values_by_method(mine, [pair.parallel_speedup for pair in mine])
    names = {pair.row: pair.source.paper_name for pair in mine}
    ratios: dict[str, list[float]] = {}
    for row, by_method in savings.items():
        others = [saving for method, saving in by_method.items() if method != "pep"]
        if "pep" in by_method and others:
            ratios.setdefault(names[row], []).append(by_method["pep"] / max(others))
    if not ratios:
        return Finding(None, UNMEASURED, {})
    values = [value for part in ratios.values() for value in part]
    told = (
        f"{format_count(len(values), 'row')} of {format_count(len(ratios), 'data set')}, "
        f"{min(values):.2f} to {max(values):.2f}."
    )
    return Finding(geometric_mean("ratio of speed-ups", ratios), told, {"savings": savings})


def _values_by_method(
    pairs: Sequence[EpfdPair], values: Sequence[float]
) -> dict[str, dict[str, float]]:
    by_row: dict[str, dict[str, float]] = {}
    for pair, value in zip(pairs, values, strict=True):
        by_row.setdefault(pair.row, {})[pair.method] = value
    return by_row


def epfd_pictures(plan: Plan, pairs: Sequence[EpfdPair]) -> list[look.Picture]:
    """Return one figure per row: accuracy above, time below."""
    headings = (
        *("method", "accuracy", "with EPFD", "difference", "seconds"),
        *("with EPFD, one machine", "a machine for each group", "speed-up", "low", "high"),
    )
    return [
        look.Picture(
            name,
            plan.name,
            f"Each method and its EPFD version: {row}",
            f"{plan.repeated(mine[0].source)} (a) Test accuracy, mean and standard deviation over "
            f"{len(mine[0].accuracy)} folds. (b) CPU time to select members. The distributed "
            "version of COMEP is DOMEP. The time with one machine per group is the time of the "
            "longest group and the second round; the speed-up with one machine per group has its "
            "95 % interval over folds.",
            headings,
            tuple(
                (
                    *(method_label(p.method), float(np.mean(p.accuracy))),
                    *(float(np.mean(p.epfd_accuracy)), p.accuracy_difference),
                    *(p.seconds, p.epfd_seconds, p.path_seconds),
                    *(p.parallel_speedup, *p.speedup_interval),
                )
                for p in mine
            ),
            partial(_draw_pairs, mine),
            3.6,
        )
        for row, name, mine in series_by_row("epfd", pairs)
        if plan.is_drawn(mine[0].source)
    ]


def _draw_pairs(pairs: Sequence[EpfdPair], figure: "Figure") -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    positions = np.arange(len(pairs))
    sides = (
        ([p.accuracy for p in pairs], -0.12, "alone", look.GREY, "s"),
        ([p.epfd_accuracy for p in pairs], 0.12, "EPFD", look.BLUE, "o"),
    )
    for folds, shift, name, colour, marker in sides:
        style = {"label": name, "color": colour, "marker": marker}
        look.draw_mean_dots(above, positions + shift, folds, error=False, **style)
    above.grid(axis="y")
    above.set_ylabel("test accuracy, %")
    times = (
        ([p.seconds for p in pairs], "alone", look.GREY, "s"),
        ([p.epfd_seconds for p in pairs], "EPFD, one machine", look.SKY, "D"),
        ([p.path_seconds for p in pairs], "EPFD, one machine per group", look.BLUE, "o"),
    )
    for (seconds, name, colour, marker), shift in zip(
        times, look.series_offsets(3, 0.2), strict=True
    ):
        below.plot(positions + shift, seconds, marker, color=colour, label=name)
    below.set_yscale("log")
    below.grid(axis="y")
    below.set_ylabel("seconds to select")
    below.set_xticks(positions, [method_label(pair.method) for pair in pairs])
    above.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    look.legend_below(figure, below, 3)


FIGURE = PaperFigure(
    "figure-epfd",
    epfd_pairs,
    epfd_pictures,
    (judge_epfd_accuracy, judge_epfd_time, judge_epfd_time_large, judge_epfd_pep),
)
