"""The paper's figures, and some that it lacks, from results."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateurs.paper import _drawing as look
from secateurs.paper._drawing import Picture
from secateurs.paper._paper import READINGS, label
from secateurs.paper._plan import Plan
from secateurs.paper._rank_figures import rank_pictures
from secateurs.paper._series import (
    Correlation,
    EpfdPair,
    SizeCurve,
    SpeedUp,
    Timing,
    WeightCurve,
    correlations,
    epfd_pairs,
    size_curves,
    speed_ups,
    timings,
    weight_curves,
)
from secateurs.paper._table_text import number
from secateurs.paper._tables import Table
from secateurs.statistics import format_p

if TYPE_CHECKING:
    import pandas as pd


def make_pictures(
    plans: Iterable[Plan], frame: "pd.DataFrame", tables: Sequence[Table]
) -> list[Picture]:
    """List all figures that the results allow, in the order of the plans.

    Parameters
    ----------
    plans : iterable of Plan
        What was run.
    frame : DataFrame
        Results, one row a cell.
    tables : sequence of Table
        Tables of the paper, from the same results.

    Returns
    -------
    list of Picture
        Not drawn yet. Plans without results have none.
    """
    pictures = rank_pictures(tables)
    for plan in plans:
        if plan.name in _MAKERS:
            pictures += _MAKERS[plan.name](plan, frame)
    return pictures


def _epfd_pictures(plan: Plan, frame: "pd.DataFrame") -> list[Picture]:
    pairs = epfd_pairs(plan, frame)
    headings = (
        *("method", "accuracy", "with EPFD", "difference", "seconds"),
        *("with EPFD, one machine", "a machine for each group"),
    )
    pictures = []
    for row in dict.fromkeys(pair.row for pair in pairs):
        mine = [pair for pair in pairs if pair.row == row]
        source = mine[0].source
        pictures.append(
            Picture(
                f"epfd-{source.dataset}-{source.reading}-{source.learner}",
                plan.name,
                f"Each method and its EPFD version: {row}",
                f"Test accuracy (mean and standard deviation over {len(mine[0].accuracy)} folds) "
                "and time to choose. The distributed version of COMEP is DOMEP. Time with a "
                "machine for each group is that of the longest group and the second round.",
                headings,
                tuple(
                    (
                        *(label(p.method), float(np.mean(p.accuracy))),
                        *(float(np.mean(p.epfd_accuracy)), p.difference),
                        *(p.seconds, p.epfd_seconds, p.path_seconds),
                    )
                    for p in mine
                ),
                partial(_draw_epfd, mine),
                3.6,
            )
        )
    return pictures


def _draw_epfd(pairs: Sequence[EpfdPair], figure: Any) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    places = np.arange(len(pairs))
    sides = (
        ([p.accuracy for p in pairs], -0.12, "alone", look.GREY, "s"),
        ([p.epfd_accuracy for p in pairs], 0.12, "EPFD", look.BLUE, "o"),
    )
    for folds, shift, name, colour, marker in sides:
        spreads = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in folds]
        look.dots(above, places + shift, folds, spreads, label=name, color=colour, marker=marker)
    above.grid(axis="y")
    above.set_ylabel("test accuracy, %")
    times = (
        ([p.seconds for p in pairs], "alone", look.GREY, "s"),
        ([p.epfd_seconds for p in pairs], "EPFD, one machine", look.SKY, "D"),
        ([p.path_seconds for p in pairs], "EPFD, a machine a group", look.BLUE, "o"),
    )
    for seconds, name, colour, marker in times:
        below.plot(places, seconds, marker, color=colour, markersize=4.5, label=name)
    below.set_yscale("log")
    below.grid(axis="y")
    below.set_ylabel("seconds to choose")
    below.set_xticks(places, [label(pair.method) for pair in pairs])
    above.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    look.legend_below(figure, below, 3)


def _speedup_pictures(plan: Plan, frame: "pd.DataFrame") -> list[Picture]:
    races = speed_ups(plan, frame)
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
    draw = partial(_draw_speedup, races, names)
    height = 1.3 + 0.28 * len(names)
    title = "Speed-up and efficiency of DOMEP with two and three workers"
    return [Picture("speedup", plan.name, title, caption, headings, rows, draw, height)]


def _draw_speedup(races: Sequence[SpeedUp], names: Sequence[str], figure: Any) -> None:
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


def _objective_pictures(plan: Plan, frame: "pd.DataFrame") -> list[Picture]:
    found = correlations(plan, frame)
    headings = (
        *("members", "folds", "combinations a fold", "r, test accuracy", "p"),
        *("r by fold, lowest", "r by fold, highest", "r, validation accuracy"),
    )
    pictures = []
    for row in dict.fromkeys(item.row for item in found):
        mine = [item for item in found if item.row == row]
        source = mine[0].source
        pictures.append(
            Picture(
                f"objective-{source.dataset}-{source.reading}-{source.learner}",
                plan.name,
                f"Objective against accuracy: {row}, {READINGS[source.reading]}",
                f"All combinations of {plan.n_members[0]} members, each fold with a colour, a "
                "marker and a regression line of its own. r is the correlation within folds. "
                "Combinations share members, so p is smaller than it should be.",
                headings,
                tuple(_objective_row(item) for item in mine),
                partial(_draw_objective, mine),
                2.2 * len(mine),
            )
        )
    return pictures


def _objective_row(item: Correlation) -> tuple[Any, ...]:
    r, p_value = item.pearson()
    folds = item.by_fold()
    lowest, highest = (pick.reduce(folds) for pick in (np.fmin, np.fmax))  # NaN only if all are
    return (
        *(item.size, len(item.folds), len(item.folds[0]), r, p_value),
        *(float(lowest), float(highest), item.pearson(column=1)[0]),
    )


def _draw_objective(found: Sequence[Correlation], figure: Any) -> None:
    panels = figure.subplots(len(found), 1, squeeze=False)[:, 0]
    colours = (look.BLUE, look.ORANGE, look.GREEN, look.PURPLE, look.AMBER)
    styles = tuple(zip(colours, "os^Dv", strict=True))
    for panel, item in zip(panels, found, strict=True):
        for fold, points in enumerate(item.folds):
            colour, marker = styles[fold % len(styles)]
            objective, accuracy = points[:, 0], 100 * points[:, 2]
            panel.plot(objective, accuracy, marker, color=colour, markersize=2.2, alpha=0.6,
                       markeredgewidth=0)  # fmt: skip
            if np.ptp(objective) > 0:
                ends = np.array([objective.min(), objective.max()])
                panel.plot(ends, np.polyval(np.polyfit(objective, accuracy, 1), ends), color=colour)
        r, p_value = item.pearson()
        told = f"r = {number(r, sign=True)}, {format_p(p_value)}"
        panel.set_title(f"{item.size}-combinations: {told}")
        panel.set_ylabel("test accuracy, %")
    panels[-1].set_xlabel("objective (TDAS on the validation rows)")


def _lambda_pictures(plan: Plan, frame: "pd.DataFrame") -> list[Picture]:
    curves = weight_curves(plan, frame)
    pictures = []
    for row in dict.fromkeys(curve.row for curve in curves):
        mine = [curve for curve in curves if curve.row == row]
        source = mine[0].source
        weights = mine[0].weights
        pictures.append(
            Picture(
                f"lambda-{source.dataset}-{source.reading}-{source.learner}",
                plan.name,
                f"Accuracy against λ: {row}",
                f"COMEP, mean over {mine[0].accuracy.shape[1]} folds. Above: each criterion alone "
                "(λ = 0: relevance, λ = 1: diversity) and both alike, with the standard error. "
                "Below: all weights; a ring marks the best of each size.",
                ("members kept", *(f"λ = {weight:g}" for weight in weights), "best λ"),
                tuple((c.keep, *(float(v) for v in c.mean), c.best) for c in mine),
                partial(_draw_lambda, mine),
                4.0,
            )
        )
    return pictures


def _draw_lambda(curves: Sequence[WeightCurve], figure: Any) -> None:
    above, below = figure.subplots(2, 1)
    alone = (
        (0.0, -0.2, "relevance alone", look.GREY, "s"),
        (0.5, 0.0, "both", look.BLUE, "o"),
        (1.0, 0.2, "diversity alone", look.AMBER, "D"),
    )
    for weight, shift, name, colour, marker in alone:
        found = [(place + shift, curve.at(weight)) for place, curve in enumerate(curves)]
        there = [(place, values) for place, values in found if values is not None]
        if there:
            places, folds = zip(*there, strict=True)
            errors = [_standard_error(values) for values in folds]
            look.dots(above, places, folds, errors, label=name, color=colour, marker=marker)
    above.grid(axis="y")
    above.set_xticks(range(len(curves)), [f"{curve.keep} kept" for curve in curves])
    above.set_ylabel("test accuracy, %")
    above.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    colours = (look.BLUE, look.ORANGE, look.GREEN, look.PURPLE)
    styles = tuple(zip(colours, ("-", "--", "-.", ":"), "os^D", strict=True))
    for place, curve in enumerate(curves):
        colour, dashes, marker = styles[place % len(styles)]
        below.plot(curve.weights, curve.mean, color=colour, linestyle=dashes, marker=marker,
                   label=f"{curve.keep} kept")  # fmt: skip
        below.plot([curve.best], [curve.mean.max()], "o", markersize=8, color=colour,
                   markerfacecolor="none")  # fmt: skip
    below.set_xlabel("λ (0: relevance alone, 1: diversity alone)")
    below.set_ylabel("test accuracy, %")
    below.grid(axis="y")
    look.legend_below(figure, below, 4)


def _size_pictures(plan: Plan, frame: "pd.DataFrame") -> list[Picture]:
    curves = size_curves(plan, frame)
    pictures = []
    for row in dict.fromkeys(curve.row for curve in curves):
        mine = [curve for curve in curves if curve.row == row]
        source = mine[0].source
        sizes = mine[0].sizes
        few = np.unique(np.geomspace(1, len(sizes), 9).round().astype(int)) - 1
        pictures.append(
            Picture(
                f"size-{source.dataset}-{source.reading}-{source.learner}",
                plan.name,
                f"Accuracy against size: {row}",
                "Test accuracy of what each method keeps of the ensemble, mean over folds, at some "
                "sizes. The level line is the whole ensemble.",
                ("method", *(f"{sizes[place]:g}" for place in few)),
                tuple((label(c.method), *(float(c.accuracy[p]) for p in few)) for c in mine),
                partial(_draw_size, mine),
                3.2,
            )
        )
    return pictures


def _draw_size(curves: Sequence[SizeCurve], figure: Any) -> None:
    panel = figure.subplots()
    few = np.unique(np.geomspace(1, len(curves[0].sizes), 16).round().astype(int)) - 1
    for curve in curves:
        panel.plot(curve.sizes[few], curve.accuracy[few], **look.method_line(curve.method))
    panel.axhline(curves[0].accuracy[-1], color="black", linewidth=0.6)
    values = np.concatenate([curve.accuracy[few] for curve in curves])
    low, high = np.quantile(values, 0.1), values.max()  # one or two members would flatten the rest
    panel.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    panel.set_xscale("log")
    look.log_ticks(panel.xaxis)
    panel.set_xlabel("members kept")
    panel.set_ylabel("test accuracy, %")
    panel.grid(axis="y")
    look.legend_below(figure, panel, 5)


def _scale_pictures(plan: Plan, frame: "pd.DataFrame") -> list[Picture]:
    times = timings(plan, frame)
    if not times:
        return []
    rows = tuple((label(t.method), t.n, t.d, t.seconds) for t in times)
    headings = ("method", "members", "rows", "seconds")
    n, d = max(t.n for t in times), max(t.d for t in times)
    caption = (
        f"Time to keep a tenth of the ensemble, one process, votes drawn at random. Left: against "
        f"members, on {d:,} rows. Right: against rows, among {n:,} members."
    )
    draw = partial(_draw_scale, times, n, d)
    title = "Time against members and rows"
    return [Picture("scale", plan.name, title, caption, headings, rows, draw, 2.9)]


def _draw_scale(times: Sequence[Timing], n: int, d: int, figure: Any) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    for method in dict.fromkeys(timing.method for timing in times):
        mine = [timing for timing in times if timing.method == method]
        across = [(t.n, t.seconds) for t in mine if t.d == d]
        down = [(t.d, t.seconds) for t in mine if t.n == n]
        for panel, points in ((left, across), (right, down)):
            panel.plot(*zip(*points, strict=True), **look.method_line(method))
    for panel, name, ticks in (
        (left, "members", sorted({timing.n for timing in times})),
        (right, "rows", sorted({timing.d for timing in times})),
    ):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(name)
        panel.grid()
        look.log_ticks(panel.xaxis, ticks)
    left.set_ylabel("seconds")
    look.legend_below(figure, left, 4)


def _standard_error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


_MAKERS: dict[str, Callable[[Plan, "pd.DataFrame"], list[Picture]]] = {
    "figure-epfd": _epfd_pictures,
    "figure-speedup": _speedup_pictures,
    "figure-objective": _objective_pictures,
    "figure-lambda": _lambda_pictures,
    "figure-size": _size_pictures,
    "figure-scale": _scale_pictures,
}
