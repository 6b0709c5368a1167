"""Figure: speed-up and efficiency of DOMEP; the claims that DOMEP is faster than COMEP."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

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


@dataclass(frozen=True, eq=False)
class SpeedupRace(RowSeries):
    """Times of COMEP and DOMEP on the same votes.

    Attributes
    ----------
    n_members, n_classes, keep, n_workers : int
        The ensemble, its classes, how many are kept, and on how many workers.
    comep_seconds, domep_seconds, path_seconds : tuple of float
        Seconds, run by run; ``path_seconds`` is the longest group and the second round, without
        what starting and feeding workers costs.
    """

    n_members: int
    n_classes: int
    keep: int
    n_workers: int
    comep_seconds: tuple[float, ...]
    domep_seconds: tuple[float, ...]
    path_seconds: tuple[float, ...]

    @property
    def setting_name(self) -> str:
        """Name of the setting."""
        return f"{self.row}, {self.keep} of {self.n_members}"

    @property
    def measured_speedup(self) -> float:
        """Time of COMEP divided by that of DOMEP, medians."""
        return float(np.median(self.comep_seconds) / np.median(self.domep_seconds))

    @property
    def possible_speedup(self) -> float:
        """The same without the cost of starting and feeding workers."""
        return float(np.median(self.comep_seconds) / np.median(self.path_seconds))

    @property
    def is_large(self) -> bool:
        """Whether the paper's own counts of operations promise a gain that shows.

        With m groups DOMEP needs about n/m + m·k steps where COMEP needs n, each of k distances:
        few kept of many members, and enough classes for a distance to take its time.
        """
        return (
            self.n_members >= LARGE and self.n_classes >= 5 and self.keep <= 0.02 * self.n_members
        )

    def speedup_with_interval(self, possible: bool = False) -> tuple[float, float, float]:
        """Return the mean speed-up of runs in turn with its 95 % interval, by their logarithms."""
        times = self.path_seconds if possible else self.domep_seconds
        found = paired_difference(np.log(self.comep_seconds), np.log(times))
        low, high = found.interval()
        return float(np.exp(found.mean)), float(np.exp(low)), float(np.exp(high))

    def speed_verdict(self, possible: bool = False) -> str:
        """Return whether DOMEP is clearly "faster", "slower" or "neither": interval against 1."""
        _, low, high = self.speedup_with_interval(possible)
        return "faster" if low > 1 else "slower" if high < 1 else "neither"


def speedup_races(plan: Plan, frame: pd.DataFrame) -> list[SpeedupRace]:
    """Return all races of COMEP against DOMEP."""
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
    "faster", "DOMEP is faster than COMEP at the paper's sizes, workers and messages included."
)
def judge_faster(races: Sequence[SpeedupRace]) -> Finding:
    """COMEP and DOMEP choose from the same votes in turn, for each data set, size and rate.

    A setting speaks for the claim if the 95 % interval of the speed-up, COMEP's time by DOMEP's
    with all that worker processes cost, lies above 1, and against it if it lies below. Holds if
    three quarters of the settings speak for it, does not hold if more than a quarter speak against
    it. Settings of 2000 members and more are left to a claim of their own.
    """
    return _weigh_races([race for race in races if race.n_members < LARGE], possible=False)


@judges_claim("faster-bare", "DOMEP is faster than COMEP at the paper's sizes, work alone.")
def judge_faster_bare(races: Sequence[SpeedupRace]) -> Finding:
    """The same races; DOMEP's time is that of its longest group and its second round.

    That is what it takes with a machine for each group and messages that cost nothing. Holds if
    three quarters of the settings speak for it, does not hold if more than a quarter speak against
    it.
    """
    return _weigh_races([race for race in races if race.n_members < LARGE], possible=True)


@judges_claim("faster-large", "DOMEP is faster than COMEP where few of very many members are kept.")
def judge_faster_large(races: Sequence[SpeedupRace]) -> Finding:
    """The same races where the paper's counts of operations promise a gain that shows.

    That is among 2000 members or more, of 5 classes or more, of which 2 % or fewer are kept; with
    all that worker processes cost. Holds if three quarters of the settings speak for it, does not
    hold if more than a quarter speak against it.
    """
    return _weigh_races([race for race in races if race.is_large], possible=False)


@judges_claim(
    "faster-large-bare",
    "DOMEP is faster than COMEP where few of very many members are kept, work alone.",
)
def judge_faster_large_bare(races: Sequence[SpeedupRace]) -> Finding:
    """The races among 2000 members or more; the time of the longest group and the second round.

    Holds if three quarters of the settings speak for it, does not hold if more than a quarter
    speak against it.
    """
    return _weigh_races([race for race in races if race.is_large], possible=True)


@judges_claim("super-linear", "A minority of cases has super-linear speed-up.")
def judge_super_linear(races: Sequence[SpeedupRace]) -> Finding:
    """A race is super-linear if the speed-up is above the number of workers, the 95 % interval too.

    With workers and messages included, as a user would see it. Holds if some races are, but fewer
    than half. Does not hold if half are, or if none is among twenty races or more. Cannot be told
    otherwise.
    """
    if not races:
        return Finding(UNKNOWN, UNMEASURED, {})
    seen, bare = (
        [race for race in races if race.speedup_with_interval(possible)[1] > race.n_workers]
        for possible in (False, True)
    )
    verdict = HOLDS if 0 < len(seen) < len(races) / 2 else FAILS
    verdict = UNKNOWN if not seen and len(races) < 20 else verdict
    share = binomial_test(len(seen), len(races))
    most = max(races, key=lambda race: race.measured_speedup / race.n_workers)
    told = (
        f"{len(seen)} of {len(races)} races are super-linear ({100 * share.low:.1f} to "
        f"{100 * share.high:.1f} %), {len(bare)} by work alone. Most: {most.measured_speedup:.2f} on "
        f"{most.n_workers} workers ({most.setting_name})."
    )
    numbers = {
        "races": len(races),
        "super_linear": [f"{r.setting_name}, {r.n_workers}" for r in seen],
    }
    numbers["by_work_alone"] = [f"{race.setting_name}, {race.n_workers}" for race in bare]
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
    middle = [factor for factor, _, _ in factors]
    groups: dict[int, list[float]] = {}
    for race, factor in zip(races, middle, strict=True):
        groups.setdefault(race.n_workers, []).append(factor)
    by_workers = "; ".join(f"{n} workers {np.median(f):.2f}" for n, f in sorted(groups.items()))
    return finding.with_details(
        f"Speed-up {min(middle):.2f} to {max(middle):.2f}, median {np.median(middle):.2f} "
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
        f"{plan.repeated()} Left (a, b): speed-up, the time of COMEP by that of DOMEP. Right "
        "(c, d): efficiency, the speed-up by the number of workers. Medians. Workers are processes "
        "of one machine, with what it costs to feed them (filled), and without (open: the longest "
        "group and the second round alone). Right of 1, DOMEP is faster."
    )
    draw = partial(_draw_races, races, names)
    height = 1.3 + 0.245 * len(names)
    title = "Speed-up and efficiency of DOMEP with two and three workers"
    return [look.Picture("speedup", plan.name, title, caption, headings, rows, draw, height)]


def _draw_races(races: Sequence[SpeedupRace], names: Sequence[str], figure: Any) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    styles = ((look.BLUE, "o"), (look.ORANGE, "D"), (look.GREEN, "s"))
    workers = sorted({race.n_workers for race in races})
    sides = ((True, "measured"), (False, "without overhead"))
    shifts = iter(look.series_offsets(len(sides) * len(workers), 0.16))
    for count, (colour, marker) in zip(workers, styles, strict=False):
        mine = [race for race in races if race.n_workers == count]
        for filled, told in sides:
            shift = next(shifts)
            places = [names.index(race.setting_name) + shift for race in mine]
            for panel, divisor in zip(panels, (1, count), strict=True):
                values = [
                    (r.measured_speedup if filled else r.possible_speedup) / divisor for r in mine
                ]
                panel.plot(values, places, marker, color=colour, label=f"{count} workers, {told}",
                           markerfacecolor=colour if filled else "white")  # fmt: skip
    look.label_rows(panels, [name.replace(", ", "\n", 1) for name in names])
    for panel, name in zip(panels, ("speed-up", "efficiency"), strict=True):
        panel.axvline(1, color="black", linewidth=0.7)
        panel.set_xscale("log")
        panel.margins(x=0.1)  # room for whole markers
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
