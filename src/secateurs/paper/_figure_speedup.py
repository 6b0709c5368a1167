"""Figure: speed-up and efficiency of DOMEP, and the claims that DOMEP is faster than COMEP."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row
from secateurs.paper.claims import (
    FAILS,
    HOLDS,
    LARGE,
    UNKNOWN,
    UNMEASURED,
    Finding,
    Statistic,
    judges_claim,
    weigh_settings,
)
from secateurs.statistics import binomial_test, paired_difference

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class SpeedupRace(RowSeries):
    """Times of COMEP and DOMEP on the same votes, in alternating runs."""

    n_members: int
    n_classes: int
    keep: int
    n_workers: int
    comep_seconds: tuple[float, ...]
    domep_seconds: tuple[float, ...]
    path_seconds: tuple[float, ...]  # longest group + second round, without overhead of workers

    @property
    def setting_name(self) -> str:
        """Name of the setting: row, kept members and all members."""
        return f"{self.row}, {self.keep} of {self.n_members}"

    @property
    def measured_speedup(self) -> float:
        """Median time of COMEP divided by the median time of DOMEP."""
        return float(np.median(self.comep_seconds) / np.median(self.domep_seconds))

    @property
    def possible_speedup(self) -> float:
        """The same without the overhead of starting workers and sending data to them."""
        return float(np.median(self.comep_seconds) / np.median(self.path_seconds))

    @property
    def is_large(self) -> bool:
        """Whether the operation counts of the paper predict a measurable gain.

        With m groups DOMEP needs about n/m + m·k steps where COMEP needs n, each with k distances.
        It gains if few of many members are kept; with 5 classes or more, computing a distance takes
        long enough for the gain to exceed the overhead of workers.
        """
        return (
            self.n_members >= LARGE and self.n_classes >= 5 and self.keep <= 0.02 * self.n_members
        )

    def speedup_with_interval(self, possible: bool = False) -> tuple[float, float, float]:
        """Return the mean speed-up and its 95 % interval, from logarithms of the paired times."""
        times = self.path_seconds if possible else self.domep_seconds
        difference = paired_difference(np.log(self.comep_seconds), np.log(times))
        low, high = difference.interval()
        return float(np.exp(difference.mean)), float(np.exp(low)), float(np.exp(high))

    def speed_verdict(self, possible: bool = False) -> str:
        """Return "faster" or "slower" if the speed-up's interval excludes 1, else "neither"."""
        _, low, high = self.speedup_with_interval(possible)
        return "faster" if low > 1 else "slower" if high < 1 else "neither"


def speedup_races(plan: Plan, frame: pd.DataFrame) -> list[SpeedupRace]:
    """Return all races of COMEP against DOMEP from the results of a plan."""
    return [
        SpeedupRace(
            *(name, source, int(race["n_members"]), int(race["n_classes"])),
            *(int(race["keep"]), int(race["workers"])),
            *(tuple(race[f"seconds_{side}"]) for side in ("comep", "domep", "path")),
        )
        for name, source, mine in results_by_row(plan, frame)
        for race in mine.to_dict("records")
    ]


@judges_claim(
    "faster",
    "DOMEP is faster than COMEP at the paper's sizes, including the cost of workers and messages.",
)
def judge_faster(races: Sequence[SpeedupRace]) -> Finding:
    """COMEP and DOMEP select from the same votes alternately, for each data set, size and rate.

    The speed-up is COMEP's time divided by DOMEP's time, which includes the overhead of worker
    processes. A setting supports the claim if the 95 % interval of the speed-up is above 1, and
    contradicts it if the interval is below 1. The claim holds if three quarters of the settings
    support it and does not hold if more than a quarter contradict it. Settings with 2000 members or
    more have a claim of their own.
    """
    return _weigh_races([race for race in races if race.n_members < LARGE], possible=False)


@judges_claim(
    "faster-bare",
    "DOMEP is faster than COMEP at the paper's sizes, counting the computation alone.",
)
def judge_faster_bare(races: Sequence[SpeedupRace]) -> Finding:
    """The same races are judged by the time of DOMEP's longest group and its second round.

    This is the time with one machine per group and messages that take no time. The claim holds if
    three quarters of the settings support it and does not hold if more than a quarter contradict
    it.
    """
    return _weigh_races([race for race in races if race.n_members < LARGE], possible=True)


@judges_claim("faster-large", "DOMEP is faster than COMEP if few of very many members are kept.")
def judge_faster_large(races: Sequence[SpeedupRace]) -> Finding:
    """The same races are judged where the paper's operation counts predict a measurable gain.

    These are the settings with 2000 members or more and 5 classes or more, of which 2 % of the
    members or fewer are kept. Times include the overhead of worker processes. The claim holds if
    three quarters of the settings support it and does not hold if more than a quarter contradict
    it.
    """
    return _weigh_races([race for race in races if race.is_large], possible=False)


@judges_claim(
    "faster-large-bare",
    "DOMEP is faster than COMEP if few of very many members are kept, counting the computation "
    "alone.",
)
def judge_faster_large_bare(races: Sequence[SpeedupRace]) -> Finding:
    """Races with 2000 members or more are judged by the time of longest group and second round.

    The claim holds if three quarters of the settings support it and does not hold if more than a
    quarter contradict it.
    """
    return _weigh_races([race for race in races if race.is_large], possible=True)


@judges_claim("super-linear", "A minority of cases has super-linear speed-up.")
def judge_super_linear(races: Sequence[SpeedupRace]) -> Finding:
    """A race is super-linear if the 95 % interval of its speed-up is above the number of workers.

    Times include workers and messages, as users experience them. The claim holds if some races are
    super-linear, but fewer than half of them. It does not hold if half or more are, or if none of
    twenty or more races is. It cannot be told otherwise.
    """
    if not races:
        return Finding(UNKNOWN, UNMEASURED, {})
    measured, without_overhead = (
        [race for race in races if race.speedup_with_interval(possible)[1] > race.n_workers]
        for possible in (False, True)
    )
    verdict = HOLDS if 0 < len(measured) < len(races) / 2 else FAILS
    # With fewer races, a minority of super-linear cases could be missed by chance.
    verdict = UNKNOWN if not measured and len(races) < 20 else verdict
    share = binomial_test(len(measured), len(races))
    best = max(races, key=lambda race: race.measured_speedup / race.n_workers)
    told = (
        f"{len(measured)} of {len(races)} races are super-linear ({100 * share.low:.1f} to "
        f"{100 * share.high:.1f} %), {len(without_overhead)} counting the computation alone. "
        f"Relative to the number of workers, the highest speed-up is "
        f"{best.measured_speedup:.2f} on {best.n_workers} workers ({best.setting_name})."
    )
    numbers = {
        "races": len(races),
        "super_linear": [f"{r.setting_name}, {r.n_workers}" for r in measured],
        "by_work_alone": [f"{r.setting_name}, {r.n_workers}" for r in without_overhead],
    }
    statistic = Statistic("share of races", share.share, share.low, share.high)
    return Finding(verdict, told, numbers, statistic)


def _weigh_races(races: Sequence[SpeedupRace], possible: bool) -> Finding:
    verdicts = [race.speed_verdict(possible) for race in races]
    finding = weigh_settings(len(races), verdicts.count("faster"), verdicts.count("slower"))
    if not races:
        return finding
    factors = [race.speedup_with_interval(possible) for race in races]
    each = [
        {"setting": r.setting_name, "workers": r.n_workers, "speed_up": f, "low": low, "high": high}
        for r, (f, low, high) in zip(races, factors, strict=True)
    ]
    speedups = [factor for factor, _, _ in factors]
    groups: dict[int, list[float]] = {}
    for race, factor in zip(races, speedups, strict=True):
        groups.setdefault(race.n_workers, []).append(factor)
    by_workers = "; ".join(f"{n} workers {np.median(f):.2f}" for n, f in sorted(groups.items()))
    return finding.with_details(
        f"Speed-up {min(speedups):.2f} to {max(speedups):.2f}, median {np.median(speedups):.2f} "
        f"({by_workers}).",
        races=each,
    )


def speedup_pictures(plan: Plan, races: Sequence[SpeedupRace]) -> list[look.Picture]:
    """Return one figure: speed-up on the left, efficiency on the right."""
    if not races:
        return []
    headings = (
        *("setting", "workers", "COMEP, s", "DOMEP, s", "speed-up", "efficiency"),
        *("without overhead, s", "speed-up without overhead", "DOMEP is", "without overhead"),
    )
    rows = tuple(
        (
            *(
                race.setting_name,
                race.n_workers,
                float(np.median(race.comep_seconds)),
                float(np.median(race.domep_seconds)),
            ),
            *(
                race.measured_speedup,
                race.measured_speedup / race.n_workers,
                float(np.median(race.path_seconds)),
            ),
            *(race.possible_speedup, race.speed_verdict(), race.speed_verdict(possible=True)),
        )
        for race in races
    )
    names = list(dict.fromkeys(race.setting_name for race in races))
    caption = (
        f"{plan.repeated()} Left (a, b): speed-up, the time of COMEP divided by the time of "
        "DOMEP. Right (c, d): efficiency, the speed-up divided by the number of workers. Times are "
        "medians. Workers are processes of one machine. Filled markers include the overhead of "
        "workers; open markers are the longest group and the second round alone. DOMEP is faster "
        "to the right of 1."
    )
    draw = partial(_draw_races, races, names)
    height = 1.3 + 0.245 * len(names)
    title = "Speed-up and efficiency of DOMEP with two and three workers"
    return [look.Picture("speedup", plan.name, title, caption, headings, rows, draw, height)]


def _draw_races(races: Sequence[SpeedupRace], names: Sequence[str], figure: "Figure") -> None:
    panels = figure.subplots(1, 2, sharey=True)
    styles = ((look.BLUE, "o"), (look.ORANGE, "D"), (look.GREEN, "s"))
    workers = sorted({race.n_workers for race in races})
    sides = ((True, "measured"), (False, "without overhead"))
    shifts = iter(look.series_offsets(len(sides) * len(workers), 0.16))
    for count, (colour, marker) in zip(workers, styles, strict=False):
        mine = [race for race in races if race.n_workers == count]
        for filled, side in sides:
            shift = next(shifts)
            heights = [names.index(race.setting_name) + shift for race in mine]
            for panel, divisor in zip(panels, (1, count), strict=True):
                values = [
                    (r.measured_speedup if filled else r.possible_speedup) / divisor for r in mine
                ]
                panel.plot(values, heights, marker, color=colour, label=f"{count} workers, {side}",
                           markerfacecolor=colour if filled else "white")  # fmt: skip
    look.label_rows(panels, [name.replace(", ", "\n", 1) for name in names])
    for panel, name in zip(panels, ("speed-up", "efficiency"), strict=True):
        panel.axvline(1, color="black", linewidth=0.7)
        panel.set_xscale("log")
        panel.margins(x=0.1)  # markers at the edges are not cut off
        panel.set_xlabel(name)
        look.log_ticks(panel.xaxis)
    look.legend_below(figure, panels[0], 2)


FIGURE = PaperFigure(
    "figure-speedup",
    speedup_races,
    speedup_pictures,
    (
        judge_faster,
        judge_faster_bare,
        judge_faster_large,
        judge_faster_large_bare,
        judge_super_linear,
    ),
)
