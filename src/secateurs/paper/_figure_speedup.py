"""Figure: speed-up and efficiency of DOMEP, and the claims that DOMEP is faster than COMEP.

The same comparison is made in four ways: by the number of distances of the printed algorithms, by
the time of a plain program of them, by the computation of this library, and by its wall time with
worker processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries
from secateurs.paper._literal_algorithms import counted_speedup
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row
from secateurs.paper._printed_tables import method_label
from secateurs.paper.claims import (
    ALPHA,
    LARGE,
    UNMEASURED,
    Finding,
    Statistic,
    geometric_mean,
    group_by_data_set,
    judges_claim,
)
from secateurs.statistics import binomial_test, paired_difference
from secateurs.text_format import format_count, format_list

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Members and kept members of the authors' program by default, and of the example of its page, which
# fit the printed accuracies about as well as the settings that are measured.
_SMALL_SETTINGS = ((17, 5), (31, 7))


@dataclass(frozen=True, eq=False)
class SpeedupRace(RowSeries):
    """Times of a method and its distributed version on the same votes, in alternating runs."""

    method: str  # "domep" races against COMEP, any other method against itself in groups
    n_members: int
    n_classes: int
    keep: int
    n_workers: int
    comep_seconds: tuple[float, ...]
    domep_seconds: tuple[float, ...]
    # CPU times without the overhead of workers: COMEP, longest group + second round.
    comep_cpu_seconds: tuple[float, ...]
    path_cpu_seconds: tuple[float, ...]
    # Times of plain programs of the printed algorithms: COMEP, longest group + second round.
    literal_seconds: tuple[float, float] | None
    has_core_per_worker: bool

    @property
    def setting_name(self) -> str:
        """Name of the setting: row, kept members and all members."""
        method = "" if self.method == "domep" else f"{method_label(self.method)}, "
        return f"{self.row}, {method}{self.keep} of {self.n_members}"

    @property
    def measured_speedup(self) -> float:
        """Median time of COMEP divided by the median time of DOMEP."""
        return float(np.median(self.comep_seconds) / np.median(self.domep_seconds))

    @property
    def possible_speedup(self) -> float:
        """Ratio of median CPU times, without the overhead of workers and of sending data."""
        return float(np.median(self.comep_cpu_seconds) / np.median(self.path_cpu_seconds))

    @property
    def literal_speedup(self) -> float | None:
        """Speed-up of the plain programs of the printed algorithms; None if they were not timed."""
        times = self.literal_seconds
        return None if times is None else times[0] / times[1]

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

    def speedup_with_interval(
        self, possible: bool = False, level: float = 1 - ALPHA
    ) -> tuple[float, float, float]:
        """Return the mean speed-up and its interval, from logarithms of the paired times."""
        alone, distributed = self.comep_seconds, self.domep_seconds
        if possible:
            alone, distributed = self.comep_cpu_seconds, self.path_cpu_seconds
        difference = paired_difference(np.log(alone), np.log(distributed))
        low, high = difference.interval(level)
        return float(np.exp(difference.mean)), float(np.exp(low)), float(np.exp(high))


def speedup_races(plan: Plan, frame: pd.DataFrame) -> list[SpeedupRace]:
    """Return all races from the results of a plan."""
    races = []
    for name, source, mine in results_by_row(plan, frame):
        for race in mine.to_dict("records"):
            literal = [
                float(race.get(name) or np.nan)
                for name in ("literal_seconds", "literal_path_seconds")
            ]
            is_timed = not np.isnan(literal).any()
            sides = ("comep", "domep", "comep_cpu", "path_cpu")
            times = {f"{side}_seconds": tuple(race[f"seconds_{side}"]) for side in sides}
            races.append(
                SpeedupRace(
                    name,
                    source,
                    method=race["method"],
                    n_members=int(race["n_members"]),
                    n_classes=int(race["n_classes"]),
                    keep=int(race["keep"]),
                    n_workers=int(race["workers"]),
                    **times,
                    literal_seconds=(literal[0], literal[1]) if is_timed else None,
                    has_core_per_worker=bool(race.get("n_cores", 0) >= race["workers"]),
                )
            )
    return races


@judges_claim(
    "faster",
    "DOMEP is faster than COMEP with 100 to 1000 members, including the cost of workers and "
    "messages.",
)
def judge_faster(races: Sequence[SpeedupRace]) -> Finding:
    """The quantity is the speed-up: the time of COMEP divided by the time of DOMEP.

    Both select from the same votes alternately. DOMEP's time includes worker processes and
    messages; races with more workers than cores are not counted. Settings with 2000 members or
    more have a claim of their own. The value is the geometric mean over data sets.
    """
    return _mean_speedup([race for race in races if _is_small(race) and race.has_core_per_worker])


@judges_claim(
    "faster-bare",
    "DOMEP is faster than COMEP with 100 to 1000 members, counting the computation of this library "
    "alone.",
)
def judge_faster_bare(races: Sequence[SpeedupRace]) -> Finding:
    """The quantity is COMEP's CPU time divided by that of DOMEP's longest group and second round.

    This is the speed-up with one machine per group and messages that take no time. With so few
    members, a selection takes this library a few milliseconds, most of which does not depend on the
    number of members, so it says little about the printed algorithms. The value is the geometric
    mean over data sets.
    """
    return _mean_speedup([race for race in races if _is_small(race)], possible=True)


@judges_claim(
    "faster-counted",
    "DOMEP is faster than COMEP with 100 to 1000 members, by the number of distances.",
)
def judge_faster_counted(races: Sequence[SpeedupRace]) -> Finding:
    """The quantity is the number of distances of COMEP divided by that of DOMEP, as printed.

    For DOMEP, these are the distances of the largest group, of the second round and of the final
    comparison. They depend on the setting alone, so the interval is the range over the settings.
    The paper does not state the number of members, and small ensembles are listed as well.
    """
    settings = sorted({(r.n_members, r.keep, r.n_workers) for r in races if _is_small(r)})
    if not settings:
        return Finding(None, UNMEASURED, {})
    counts, incremental = (
        [counted_speedup(*setting, incremental=form) for setting in settings]
        for form in (False, True)
    )
    mean = float(np.exp(np.mean(np.log(counts))))
    statistic = Statistic(
        "ratio of distances", mean, min(counts), max(counts), holds_above=1.0, level=1.0
    )
    workers = sorted({n_workers for *_, n_workers in settings})
    small = [
        " and ".join(f"{counted_speedup(n, keep, groups):.2f}" for groups in workers)
        + f" with {keep} of {n} members"
        for n, keep in _SMALL_SETTINGS
    ]
    told = (
        f"{len(settings)} settings. With stored sums, as in this library, the ratio is "
        f"{min(incremental):.2f} to {max(incremental):.2f}. Small ensembles, which fit the printed "
        f"accuracies about equally well, have ratios of {'; '.join(small)}, on "
        f"{' and '.join(map(str, workers))} machines."
    )
    numbers = {
        f"{keep} of {n}, {groups} groups": {"printed": printed, "stored_sums": stored}
        for (n, keep, groups), printed, stored in zip(settings, counts, incremental, strict=True)
    }
    return Finding(statistic, told, numbers)


@judges_claim(
    "faster-literal",
    "DOMEP is faster than COMEP with 100 to 1000 members, in a plain program of the printed "
    "algorithms.",
)
def judge_faster_literal(races: Sequence[SpeedupRace]) -> Finding:
    """The quantity is COMEP's CPU time divided by that of DOMEP's longest group and second round.

    Both are plain programs that compute every distance when it is needed, as printed. Settings with
    more than 50,000 distances are not timed. The value is the geometric mean over data sets.
    """
    timed = [race for race in races if _is_small(race) and race.literal_seconds is not None]
    speedups = [race.literal_speedup or np.nan for race in timed]
    return _speedup_finding(timed, speedups)


@judges_claim("faster-large", "DOMEP is faster than COMEP if few of very many members are kept.")
def judge_faster_large(races: Sequence[SpeedupRace]) -> Finding:
    """The quantity is the speed-up where the paper's operation counts predict a measurable gain.

    These are the settings with 2000 members or more and 5 classes or more, of which 2 % of the
    members or fewer are kept. Times include worker processes; races with more workers than cores
    are not counted. Votes are drawn at random, so the value is the geometric mean over settings.
    """
    large = [race for race in races if race.is_large and race.has_core_per_worker]
    return _mean_speedup(large, by_setting=True)


@judges_claim(
    "faster-large-bare",
    "DOMEP is faster than COMEP if few of very many members are kept, counting the computation of "
    "this library alone.",
)
def judge_faster_large_bare(races: Sequence[SpeedupRace]) -> Finding:
    """The quantity is COMEP's CPU time divided by that of DOMEP's longest group and second round.

    The settings are those with 2000 members or more and 5 classes or more, of which 2 % of the
    members or fewer are kept. The value is the geometric mean over settings.
    """
    return _mean_speedup([race for race in races if race.is_large], possible=True, by_setting=True)


@judges_claim("super-linear", "A tiny minority of experiments reaches super-linear speed-up.")
def judge_super_linear(races: Sequence[SpeedupRace]) -> Finding:
    """The quantity is the share of races that are super-linear, with its 95 % interval.

    A race is super-linear if the interval of its speed-up, with workers and messages, is above the
    number of workers. The intervals of all races hold together at 95 % (Bonferroni), because a
    single race decides. Races of DOMEP and of the distributed version of PEP count if there is a
    core for every worker. No number of races can exclude a tiny minority, so that the claim holds
    as soon as a race is super-linear, and is open until then.
    """
    counted = [race for race in races if race.has_core_per_worker]
    if not counted:
        return Finding(None, UNMEASURED, {})
    found = _super_linear_races(counted)
    share = binomial_test(len(found), len(counted))
    best = max(counted, key=lambda race: race.measured_speedup / race.n_workers)
    told = (
        f"{_count_by_method(found, counted)}. Relative to the number of workers, the highest "
        f"speed-up is {best.measured_speedup:.2f} on {best.n_workers} workers "
        f"({best.setting_name}). By CPU time with one machine per group, also with more workers "
        f"than cores: {_count_by_method(_super_linear_races(races, possible=True), races)}."
    )
    numbers = {
        "races": len(counted),
        "super_linear": [f"{r.setting_name}, {r.n_workers}" for r in found],
    }
    statistic = Statistic("share of races", share.share, share.low, share.high)
    return Finding(statistic, told, numbers)


def _super_linear_races(races: Sequence[SpeedupRace], possible: bool = False) -> list[SpeedupRace]:
    """Return the races whose intervals, which hold together, are above the number of workers."""
    level = 1 - ALPHA / max(len(races), 1)
    return [r for r in races if r.speedup_with_interval(possible, level)[1] > r.n_workers]


def _count_by_method(found: Sequence[SpeedupRace], races: Sequence[SpeedupRace]) -> str:
    """Return how many races were found, for DOMEP and for the distributed version of PEP."""
    counts = []
    for method in dict.fromkeys(race.method for race in races):
        mine, total = (sum(race.method == method for race in part) for part in (found, races))
        counts.append(f"{mine} of {format_count(total, 'race')} of {_distributed_name(method)}")
    return format_list(counts)


def _distributed_name(method: str) -> str:
    return "DOMEP" if method == "domep" else f"EPFD({method_label(method)})"


def _is_small(race: SpeedupRace) -> bool:
    return race.method == "domep" and race.n_members < LARGE


def _mean_speedup(
    races: Sequence[SpeedupRace], possible: bool = False, by_setting: bool = False
) -> Finding:
    speedups = [race.speedup_with_interval(possible)[0] for race in races]
    return _speedup_finding(races, speedups, by_setting)


def _speedup_finding(
    races: Sequence[SpeedupRace], speedups: Sequence[float], by_setting: bool = False
) -> Finding:
    if not races:
        return Finding(None, UNMEASURED, {})
    units = [race.setting_name if by_setting else race.source.paper_name for race in races]
    statistic = geometric_mean("speed-up", group_by_data_set(units, speedups))
    by_workers = group_by_data_set([f"{race.n_workers} workers" for race in races], speedups)
    medians = "; ".join(f"{name} {np.median(mine):.2f}" for name, mine in by_workers.items())
    n_units = format_count(len(set(units)), "setting" if by_setting else "data set")
    n_races, ends = format_count(len(races), "race"), (min(speedups), max(speedups))
    told = f"{n_races} on {n_units}, {ends[0]:.2f} to {ends[1]:.2f}; medians: {medians}."
    each = [
        {"setting": race.setting_name, "workers": race.n_workers, "speed_up": value}
        for race, value in zip(races, speedups, strict=True)
    ]
    return Finding(statistic, told, {"races": each})


def speedup_pictures(plan: Plan, races: Sequence[SpeedupRace]) -> list[look.Picture]:
    """Return one figure: speed-up on the left, efficiency on the right."""
    if not races:
        return []
    headings = (
        *("setting", "workers", "alone, s", "distributed, s", "speed-up", "low", "high"),
        *("efficiency", "CPU without overhead, s", "speed-up without overhead"),
        *("low without overhead", "high without overhead"),
        *("ratio of distances", "speed-up of the plain program"),
    )
    rows = tuple(
        (
            *(
                race.setting_name,
                race.n_workers,
                float(np.median(race.comep_seconds)),
                float(np.median(race.domep_seconds)),
            ),
            *(race.measured_speedup, *race.speedup_with_interval()[1:]),
            *(race.measured_speedup / race.n_workers, float(np.median(race.path_cpu_seconds))),
            *(race.possible_speedup, *race.speedup_with_interval(possible=True)[1:]),
            counted_speedup(race.n_members, race.keep, race.n_workers)
            if race.method == "domep"
            else None,
            race.literal_speedup,
        )
        for race in races
    )
    names = list(dict.fromkeys(race.setting_name for race in races))
    caption = (
        f"{plan.repeated()} Left (a, b): speed-up, the time of COMEP (or PEP) divided by the time "
        "of its distributed version. Right (c, d): efficiency, the speed-up divided by the number "
        "of workers. Times are medians, with the 95 % interval of the speed-up over alternating "
        "runs. Workers are processes of one machine. Filled markers include the overhead of "
        "workers; open markers are the CPU time of the longest group and the second round alone. "
        "The distributed version is faster to the right of 1."
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
        judge_faster_counted,
        judge_faster_literal,
        judge_faster_large,
        judge_faster_large_bare,
        judge_super_linear,
    ),
)
