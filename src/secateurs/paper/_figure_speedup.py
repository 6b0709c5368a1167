"""Figure: speed-up and efficiency of DOMEP; the claim that DOMEP is faster than COMEP."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu

from secateurs.benchmarking import _drawing as look
from secateurs.paper._claims import Finding, claim, weigh
from secateurs.paper._drawing import PaperFigure, RowSeries
from secateurs.paper._plan import Plan
from secateurs.paper._results import results_by_row


@dataclass(frozen=True, eq=False)
class SpeedUp(RowSeries):
    """Times of COMEP and DOMEP on the same votes.

    Attributes
    ----------
    n_members, keep, workers : int
        The ensemble, how many are kept, and on how many workers.
    comep, domep, path : tuple of float
        Seconds, run by run; ``path`` is the longest group and the second round, without what
        starting and feeding workers costs.
    """

    n_members: int
    keep: int
    workers: int
    comep: tuple[float, ...]
    domep: tuple[float, ...]
    path: tuple[float, ...]

    @property
    def name(self) -> str:
        """Name of the setting."""
        return f"{self.row}, {self.keep} of {self.n_members}"

    @property
    def measured(self) -> float:
        """Time of COMEP divided by that of DOMEP, medians."""
        return float(np.median(self.comep) / np.median(self.domep))

    @property
    def possible(self) -> float:
        """The same without the cost of starting and feeding workers."""
        return float(np.median(self.comep) / np.median(self.path))

    def verdict(self, possible: bool = False) -> str:
        """Return whether DOMEP is clearly "faster", "slower" or "neither", by ranks of times."""
        times = self.path if possible else self.domep
        if mannwhitneyu(self.comep, times).pvalue >= 0.05:
            return "neither"
        return "faster" if np.median(times) < np.median(self.comep) else "slower"


def speed_ups(plan: Plan, frame: pd.DataFrame) -> list[SpeedUp]:
    """Return all races of COMEP against DOMEP."""
    return [
        SpeedUp(
            *(name, source, int(race["n_members"]), int(race["keep"]), int(race["workers"])),
            *(tuple(race[f"seconds_{side}"]) for side in ("comep", "domep", "path")),
        )
        for name, source, mine in results_by_row(plan, frame)
        for race in mine.to_dict("records")
    ]


@claim("faster", "DOMEP is faster than COMEP.")
def judge_faster(races: Sequence[SpeedUp]) -> Finding:
    """COMEP and DOMEP choose from the same votes in turn, for each data set, size and rate.

    A setting speaks for the claim if DOMEP's times, with all that workers cost, are below COMEP's
    by the Mann–Whitney test at 5 %, and against it if they are above. Holds if three quarters of
    the settings speak for it, does not hold if more than a quarter speak against it.
    """
    verdicts = [race.verdict() for race in races]
    finding = weigh(len(races), verdicts.count("faster"), verdicts.count("slower"))
    if not races:
        return finding
    possible = [race.verdict(possible=True) for race in races]
    factors, bare = [race.measured for race in races], [race.possible for race in races]
    each = [
        {"setting": r.name, "workers": r.workers, "speed_up": r.measured, "possible": r.possible}
        for r in races
    ]
    return finding.adding(
        f"Speed-up {min(factors):.2f} to {max(factors):.2f}, median "
        f"{np.median(factors):.2f}. Without what starting and feeding workers costs: DOMEP faster "
        f"in {possible.count('faster')} and slower in {possible.count('slower')} of {len(races)}, "
        f"median {np.median(bare):.2f}.",
        races=each,
    )


def speedup_pictures(plan: Plan, races: Sequence[SpeedUp]) -> list[look.Picture]:
    """Return one figure: speed-up on the left, efficiency on the right."""
    if not races:
        return []
    headings = (
        *("setting", "workers", "COMEP, s", "DOMEP, s", "speed-up", "efficiency"),
        *("without overhead, s", "speed-up without overhead", "DOMEP is"),
    )
    rows = tuple(
        (
            *(race.name, race.workers, float(np.median(race.comep)), float(np.median(race.domep))),
            *(race.measured, race.measured / race.workers, float(np.median(race.path))),
            *(race.possible, race.verdict()),
        )
        for race in races
    )
    names = list(dict.fromkeys(race.name for race in races))
    caption = (
        "Speed-up is the time of COMEP by that of DOMEP, efficiency the speed-up by the number of "
        "workers; medians. Workers are processes of one machine, with what it costs to feed them "
        "(filled), and without (open: the longest group and the second round alone). Right of "
        "1, DOMEP is faster."
    )
    draw = partial(_draw, races, names)
    height = 1.3 + 0.28 * len(names)
    title = "Speed-up and efficiency of DOMEP with two and three workers"
    return [look.Picture("speedup", plan.name, title, caption, headings, rows, draw, height)]


def _draw(races: Sequence[SpeedUp], names: Sequence[str], figure: Any) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    styles = ((look.BLUE, "o"), (look.ORANGE, "D"), (look.GREEN, "s"))
    workers = sorted({race.workers for race in races})
    for count, (colour, marker) in zip(workers, styles, strict=False):
        mine = [race for race in races if race.workers == count]
        places = [names.index(race.name) for race in mine]
        for panel, divisor in zip(panels, (1, count), strict=True):
            for filled, told in ((True, "measured"), (False, "without overhead")):
                values = [(r.measured if filled else r.possible) / divisor for r in mine]
                panel.plot(values, places, marker, color=colour, label=f"{count} workers, {told}",
                           markerfacecolor=colour if filled else "white")  # fmt: skip
    look.level_rows(panels, [name.replace(", ", "\n", 1) for name in names])
    for panel, name in zip(panels, ("speed-up", "efficiency"), strict=True):
        panel.axvline(1, color="black", linewidth=0.7)
        panel.set_xscale("log")
        panel.set_xlabel(name)
        look.log_ticks(panel.xaxis)
    look.legend_below(figure, panels[0], 2)


FIGURE = PaperFigure("figure-speedup", speed_ups, speedup_pictures, (judge_faster,))
