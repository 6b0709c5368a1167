"""Figure: each method and its EPFD version, and the claims about accuracy and time of EPFD."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries, series_by_row
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper._printed_tables import method_label
from secateurs.paper.claims import (
    FAILS,
    HOLDS,
    LARGE,
    UNKNOWN,
    Finding,
    Statistic,
    fold_difference,
    format_difference,
    judges_claim,
    weigh_settings,
)
from secateurs.statistics import (
    Difference,
    Equivalence,
    PairedTest,
    equivalence_test,
    mean_difference,
    paired_t_test,
)
from secateurs.text_format import format_signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PAIRS = "pairs of a data set and a method"
_MARGIN = 1.0  # margin of the equivalence tests: smaller differences, in points, do not matter


@dataclass(frozen=True, eq=False)
class EpfdPair(RowSeries):
    """A method and its distributed version on one data set."""

    method: str
    n_members: int
    accuracy: tuple[float, ...]  # test accuracy in per cent, on the folds that both have
    epfd_accuracy: tuple[float, ...]
    seconds: float  # time to select on one machine, mean over folds
    epfd_seconds: float
    path_seconds: float  # longest group + second round: the time with one machine per group

    @property
    def paired_test(self) -> PairedTest | None:
        """Paired t-test of the distributed version against the method itself."""
        has_folds = len(self.accuracy) > 1
        return paired_t_test(self.epfd_accuracy, self.accuracy) if has_folds else None

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
                times = (joined[n] for n in ("seconds", "seconds_epfd", "path_seconds_epfd"))
                means = (float(np.mean(values.to_list())) for values in times)
                n_members = int(joined["n_members"].iloc[0])
                folds = (tuple(first), tuple(second))
                pairs.append(EpfdPair(name, source, method, n_members, *folds, *means))
    return pairs


@judges_claim("epfd-accuracy", "EPFD maintains accuracy.")
def judge_epfd_accuracy(all_pairs: Sequence[EpfdPair]) -> Finding:
    """Each method and its EPFD version prune the same ensembles, fold by fold.

    The rule uses two one-sided t-tests at 5 % with a margin of 1 point. A pair of a data set and a
    method supports the claim if the 90 % interval of the difference is above -1, and contradicts it
    if the interval is below -1. The overall difference averages methods on each fold and gives all
    data sets the same weight. The claim holds if the overall interval is above -1 and at most a
    quarter of the pairs contradict it. It does not hold if the overall interval is below -1 or more
    than a quarter of the pairs contradict it. It cannot be told otherwise, or with fewer than three
    folds. Randomly drawn votes do not count.
    """
    pairs = [pair for pair in all_pairs if pair.n_members < LARGE]
    tested = {pair: test for pair in pairs if (test := _test_equivalence(pair)) is not None}
    worse = [pair for pair, test in tested.items() if test.verdict == "worse"]
    n_no_worse = sum(test.is_no_worse for test in tested.values())
    finding = weigh_settings(len(pairs), n_no_worse, len(worse), _PAIRS)
    overall = _overall_difference(pairs)
    if overall is None:
        return replace(finding, verdict=UNKNOWN)
    test = equivalence_test(overall, _MARGIN)
    verdict = HOLDS if test.is_no_worse else FAILS if test.verdict == "worse" else UNKNOWN
    verdict = FAILS if len(worse) > 0.25 * len(pairs) else verdict
    each = "".join(
        f" {method_label(p.method)} on {p.row} ({format_signed(p.accuracy_difference, 2)});"
        for p in worse
    )
    gains = [pair.accuracy_difference for pair in pairs]
    statistic = Statistic("mean difference, points", overall.mean, test.low, test.high, 0.9)
    return replace(finding, verdict=verdict, statistic=statistic).with_details(
        f"Overall mean difference {format_difference(overall, 0.9)} points; single pairs "
        f"{format_signed(min(gains), 2)} to {format_signed(max(gains), 2)}. "
        f"{sum(t.verdict == 'equivalent' for t in tested.values())} pairs are equivalent within "
        f"1 point. Pairs that lose more than 1 point:{each.rstrip(';') or ' none'}.",
        differences=_values_by_method(pairs, gains),
    )


def _test_equivalence(pair: EpfdPair) -> Equivalence | None:
    difference = fold_difference(pair.epfd_accuracy, pair.accuracy)
    return None if difference is None else equivalence_test(difference, _MARGIN)


def _overall_difference(pairs: Sequence[EpfdPair]) -> Difference | None:
    """Return the difference of the means over methods, with equal weights of all data sets."""
    rows: dict[str, list[EpfdPair]] = {}
    for pair in pairs:
        rows.setdefault(pair.row, []).append(pair)
    differences = []
    for mine in rows.values():
        n_folds = min(len(pair.accuracy) for pair in mine)
        epfd = np.mean([pair.epfd_accuracy[:n_folds] for pair in mine], axis=0)
        library = np.mean([pair.accuracy[:n_folds] for pair in mine], axis=0)
        difference = fold_difference(epfd, library)
        if difference is not None:
            differences.append(difference)
    return mean_difference(differences) if differences else None


@judges_claim("epfd-time", "EPFD saves time at the paper's sizes.")
def judge_epfd_time(pairs: Sequence[EpfdPair]) -> Finding:
    """The time of each method is compared with its EPFD version on one machine per group.

    The latter is the time of the longest group and the second round. A pair of a data set and a
    method supports the claim if the EPFD version takes at least a tenth less time, and contradicts
    it if it takes at least a tenth more. The claim holds if three quarters of the pairs support it
    and does not hold if more than a quarter contradict it.
    """
    return _weigh_time_savings([pair for pair in pairs if pair.n_members < LARGE])


@judges_claim("epfd-time-large", "EPFD saves time if few of very many members are kept.")
def judge_epfd_time_large(pairs: Sequence[EpfdPair]) -> Finding:
    """The same times are compared with 2000 members or more of 5 classes, of which 2 % are kept.

    The operation counts predict a gain at this size. The claim holds if three quarters of the
    methods support it and does not hold if more than a quarter contradict it. SEP and PEP are not
    run, because their number of rounds grows with the square of the number of members.
    """
    return _weigh_time_savings([pair for pair in pairs if pair.n_members >= LARGE])


def _weigh_time_savings(pairs: Sequence[EpfdPair]) -> Finding:
    savings = [pair.parallel_speedup for pair in pairs]
    n_faster, n_slower = sum(s >= 1 / 0.9 for s in savings), sum(s <= 1 / 1.1 for s in savings)
    finding = weigh_settings(len(pairs), n_faster, n_slower, _PAIRS)
    if not pairs:
        return finding
    serial = [pair.serial_speedup for pair in pairs]
    return finding.with_details(
        f"Speed-up with one machine per group: median {np.median(savings):.2f} ({min(savings):.2f} "
        f"to {max(savings):.2f}); on one machine median {np.median(serial):.2f}.",
        savings=_values_by_method(pairs, savings),
    )


@judges_claim("epfd-pep", "EPFD saves the most time for PEP.")
def judge_epfd_pep(pairs: Sequence[EpfdPair]) -> Finding:
    """The speed-up by EPFD with one machine per group is compared between methods.

    A data set supports the claim if the speed-up of PEP is the largest of all methods, and
    contradicts it if another method has a larger speed-up. The claim holds if three quarters of the
    data sets support it and does not hold if more than a quarter contradict it.
    """
    savings = _values_by_method(pairs, [pair.parallel_speedup for pair in pairs])
    complete = {row: by for row, by in savings.items() if "pep" in by and len(by) > 1}
    largest = {row: max(by, key=lambda method: by[method]) for row, by in complete.items()}
    n_for = sum(method == "pep" for method in largest.values())
    each = "; ".join(
        f"{row}: PEP {complete[row]['pep']:.1f}, largest {complete[row][method]:.1f} "
        f"({method_label(method)})"
        for row, method in largest.items()
    )
    return weigh_settings(len(largest), n_for, len(largest) - n_for, "data sets").with_details(
        f"Speed-up: {each}." if each else "", savings=savings
    )


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
        *("with EPFD, one machine", "a machine for each group"),
    )
    return [
        look.Picture(
            name,
            plan.name,
            f"Each method and its EPFD version: {row}",
            f"{plan.repeated(mine[0].source)} (a) Test accuracy, mean and standard deviation over "
            f"{len(mine[0].accuracy)} folds. (b) Time to select members. The distributed version "
            "of COMEP is DOMEP. The time with one machine per group is the time of the longest "
            "group and the second round.",
            headings,
            tuple(
                (
                    *(method_label(p.method), float(np.mean(p.accuracy))),
                    *(float(np.mean(p.epfd_accuracy)), p.accuracy_difference),
                    *(p.seconds, p.epfd_seconds, p.path_seconds),
                )
                for p in mine
            ),
            partial(_draw_pairs, mine),
            3.6,
        )
        for row, name, mine in series_by_row("epfd", pairs)
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
