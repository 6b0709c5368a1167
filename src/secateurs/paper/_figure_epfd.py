"""Figure: each method against its distributed version; the claims on accuracy and time of EPFD."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

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

_PAIRS = "pairs of a data set and a method"
_MARGIN = 1.0  # points of accuracy that matter


@dataclass(frozen=True, eq=False)
class EpfdPair(RowSeries):
    """A method and its distributed version on one data set.

    Attributes
    ----------
    method : str
        Short name of the method.
    n_members : int
        Size of the ensemble.
    accuracy, epfd_accuracy : tuple of float
        Test accuracy in per cent on the folds that both have.
    seconds, epfd_seconds : float
        Time to choose, on one machine; mean over folds.
    path_seconds : float
        Time of the longest group and the second round: with a machine for each group.
    """

    method: str
    n_members: int
    accuracy: tuple[float, ...]
    epfd_accuracy: tuple[float, ...]
    seconds: float
    epfd_seconds: float
    path_seconds: float

    @property
    def paired_test(self) -> PairedTest | None:
        """Paired t-test of the distributed version against the method itself."""
        several = len(self.accuracy) > 1
        return paired_t_test(self.epfd_accuracy, self.accuracy) if several else None

    @property
    def accuracy_difference(self) -> float:
        """Points that the distributed version gains."""
        return float(np.mean(self.epfd_accuracy) - np.mean(self.accuracy))

    @property
    def parallel_speedup(self) -> float:
        """How many times faster the distributed version is, with a machine for each group."""
        return self.seconds / self.path_seconds

    @property
    def serial_speedup(self) -> float:
        """How many times faster it is on one machine."""
        return self.seconds / self.epfd_seconds


def epfd_pairs(plan: Plan, frame: pd.DataFrame) -> list[EpfdPair]:
    """Pair each method with its distributed version, where both were measured."""
    pairs = []
    for name, source, mine in results_by_row(plan, frame):
        for method in plan.methods:
            alone, spread = (
                rows_where(mine, method=method, variant=v) for v in ("library", "epfd")
            )
            both = alone.merge(spread, on=["fold", "seed"], suffixes=("", "_epfd"))
            if len(both):
                first, second = (100 * both[f"accuracy{s}"].astype(float) for s in ("", "_epfd"))
                times = (both[n] for n in ("seconds", "seconds_epfd", "path_seconds_epfd"))
                means = (float(np.mean(values.to_list())) for values in times)
                n_members = int(both["n_members"].iloc[0])
                folds = (tuple(first), tuple(second))
                pairs.append(EpfdPair(name, source, method, n_members, *folds, *means))
    return pairs


@judges_claim("epfd-accuracy", "EPFD keeps accuracy.")
def judge_epfd_accuracy(all_pairs: Sequence[EpfdPair]) -> Finding:
    """Each method and its EPFD version prune the same ensembles, fold by fold; a point matters.

    Two one-sided t-tests at 5 % with a margin of 1 point: a pair of a data set and a method speaks
    for the claim if the 90 % interval of the difference lies above -1, and against it if it lies
    below -1. Over all, methods are averaged on each fold and data sets count alike. Holds if the
    interval over all lies above -1 and at most a quarter of the pairs speak against it. Does not
    hold if it lies below -1, or more than a quarter do. Cannot be told otherwise, nor from fewer
    than three folds. Votes that were drawn at random do not count.
    """
    pairs = [pair for pair in all_pairs if pair.n_members < LARGE]
    tested = {pair: found for pair in pairs if (found := _test_equivalence(pair)) is not None}
    lost = [pair for pair, found in tested.items() if found.verdict == "worse"]
    kept = sum(found.is_no_worse for found in tested.values())
    finding = weigh_settings(len(pairs), kept, len(lost), _PAIRS)
    overall = _overall_difference(pairs)
    if overall is None:
        return replace(finding, verdict=UNKNOWN)
    found = equivalence_test(overall, _MARGIN)
    verdict = HOLDS if found.is_no_worse else FAILS if found.verdict == "worse" else UNKNOWN
    verdict = FAILS if len(lost) > 0.25 * len(pairs) else verdict
    each = "".join(
        f" {method_label(p.method)} on {p.row} ({format_signed(p.accuracy_difference, 2)});"
        for p in lost
    )
    gains = [pair.accuracy_difference for pair in pairs]
    statistic = Statistic("mean difference, points", overall.mean, found.low, found.high, 0.9)
    return replace(finding, verdict=verdict, statistic=statistic).with_details(
        f"Mean difference over all {format_difference(overall, 0.9)} points; of single pairs "
        f"{format_signed(min(gains), 2)} to {format_signed(max(gains), 2)}. "
        f"{sum(t.verdict == 'equivalent' for t in tested.values())} pairs are equivalent within "
        f"1 point. Less accurate by more:{each.rstrip(';') or ' none'}.",
        differences=_values_by_method(pairs, gains),
    )


def _test_equivalence(pair: EpfdPair) -> Equivalence | None:
    difference = fold_difference(pair.epfd_accuracy, pair.accuracy)
    return None if difference is None else equivalence_test(difference, _MARGIN)


def _overall_difference(pairs: Sequence[EpfdPair]) -> Difference | None:
    """Return the difference of the means over methods, each data set alike."""
    rows: dict[str, list[EpfdPair]] = {}
    for pair in pairs:
        rows.setdefault(pair.row, []).append(pair)
    found = []
    for mine in rows.values():
        n_folds = min(len(pair.accuracy) for pair in mine)
        sides = (
            np.mean([side[:n_folds] for side in both], axis=0)
            for both in ([p.epfd_accuracy for p in mine], [p.accuracy for p in mine])
        )
        found.append(fold_difference(*sides))
    known = [difference for difference in found if difference is not None]
    return mean_difference(known) if known else None


@judges_claim("epfd-time", "EPFD saves time at the paper's sizes.")
def judge_epfd_time(pairs: Sequence[EpfdPair]) -> Finding:
    """The time of a method is compared with that of its EPFD version, a machine for each group.

    That time is what the longest group and the second round take. A pair of a data set and a
    method speaks for the claim if the EPFD version takes at least a tenth less, and against it if
    it takes at least a tenth more. Holds if three quarters speak for it, does not hold if more
    than a quarter speak against it.
    """
    return _weigh_time_savings([pair for pair in pairs if pair.n_members < LARGE])


@judges_claim("epfd-time-large", "EPFD saves time where few of very many members are kept.")
def judge_epfd_time_large(pairs: Sequence[EpfdPair]) -> Finding:
    """The same times among 2000 members and more of 5 classes, of which 2 % are kept.

    There the counts of operations promise a gain. Holds if three quarters of the methods speak for
    it, does not hold if more than a quarter speak against it. SEP and PEP, whose number of rounds
    grows with the square of the members, are not run at that size.
    """
    return _weigh_time_savings([pair for pair in pairs if pair.n_members >= LARGE])


def _weigh_time_savings(pairs: Sequence[EpfdPair]) -> Finding:
    savings = [pair.parallel_speedup for pair in pairs]
    faster, slower = sum(s >= 1 / 0.9 for s in savings), sum(s <= 1 / 1.1 for s in savings)
    finding = weigh_settings(len(pairs), faster, slower, _PAIRS)
    if not pairs:
        return finding
    serial = [pair.serial_speedup for pair in pairs]
    return finding.with_details(
        f"Times faster: median {np.median(savings):.2f} ({min(savings):.2f} to "
        f"{max(savings):.2f}); on one machine median {np.median(serial):.2f}.",
        savings=_values_by_method(pairs, savings),
    )


@judges_claim("epfd-pep", "EPFD saves most of all for PEP.")
def judge_epfd_pep(pairs: Sequence[EpfdPair]) -> Finding:
    """The saving of time by EPFD, a machine for each group, is compared between methods.

    A data set speaks for the claim if the factor of PEP is the largest of all methods, against it
    if another's is larger. Holds if three quarters speak for it, does not hold if more than a
    quarter speak against it.
    """
    savings = _values_by_method(pairs, [pair.parallel_speedup for pair in pairs])
    complete = {row: found for row, found in savings.items() if "pep" in found and len(found) > 1}
    largest = {row: max(found, key=lambda m: found[m]) for row, found in complete.items()}
    n_for = sum(method == "pep" for method in largest.values())
    each = "; ".join(
        f"{row}: PEP {complete[row]['pep']:.1f}, most {method_label(method)} {complete[row][method]:.1f}"
        for row, method in largest.items()
    )
    return weigh_settings(len(largest), n_for, len(largest) - n_for, "data sets").with_details(
        f"Times faster: {each}." if each else "", savings=savings
    )


def _values_by_method(
    pairs: Sequence[EpfdPair], values: Sequence[float]
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for pair, value in zip(pairs, values, strict=True):
        found.setdefault(pair.row, {})[pair.method] = value
    return found


def epfd_pictures(plan: Plan, pairs: Sequence[EpfdPair]) -> list[look.Picture]:
    """Return a figure per row: accuracy above, time below."""
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
            f"{len(mine[0].accuracy)} folds. (b) Time to choose. The distributed version of COMEP "
            "is DOMEP. Time with a machine for each group is that of the longest group and the "
            "second round.",
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


def _draw_pairs(pairs: Sequence[EpfdPair], figure: Any) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    places = np.arange(len(pairs))
    sides = (
        ([p.accuracy for p in pairs], -0.12, "alone", look.GREY, "s"),
        ([p.epfd_accuracy for p in pairs], 0.12, "EPFD", look.BLUE, "o"),
    )
    for folds, shift, name, colour, marker in sides:
        style = {"label": name, "color": colour, "marker": marker}
        look.draw_mean_dots(above, places + shift, folds, error=False, **style)
    above.grid(axis="y")
    above.set_ylabel("test accuracy, %")
    times = (
        ([p.seconds for p in pairs], "alone", look.GREY, "s"),
        ([p.epfd_seconds for p in pairs], "EPFD, one machine", look.SKY, "D"),
        ([p.path_seconds for p in pairs], "EPFD, a machine a group", look.BLUE, "o"),
    )
    for (seconds, name, colour, marker), shift in zip(
        times, look.series_offsets(3, 0.2), strict=True
    ):
        below.plot(places + shift, seconds, marker, color=colour, label=name)
    below.set_yscale("log")
    below.grid(axis="y")
    below.set_ylabel("seconds to choose")
    below.set_xticks(places, [method_label(pair.method) for pair in pairs])
    above.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    look.legend_below(figure, below, 3)


FIGURE = PaperFigure(
    "figure-epfd",
    epfd_pairs,
    epfd_pictures,
    (judge_epfd_accuracy, judge_epfd_time, judge_epfd_time_large, judge_epfd_pep),
)
