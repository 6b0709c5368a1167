"""Figure: time that each method takes against members and rows."""

from collections.abc import Sequence
from functools import partial
from math import exp
from typing import Any, NamedTuple

import pandas as pd

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, method_line_style
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import plan_results
from secateurs.paper._printed_tables import method_label


class MethodTiming(NamedTuple):
    """Seconds that a method takes to choose among n members on d rows."""

    method: str
    n_members: int
    n_samples: int
    seconds: float


def method_timings(plan: Plan, frame: pd.DataFrame) -> list[MethodTiming]:
    """Return times per method, rows and members; the mean where measured repeatedly."""
    mine = plan_results(plan, frame)
    if mine.empty:
        return []
    means = mine.astype({"seconds": float}).groupby(["method", "n", "d"])["seconds"].mean()
    records = means.reset_index().itertuples(index=False, name=None)
    found = [
        MethodTiming(method, int(n), int(d), float(seconds)) for method, n, d, seconds in records
    ]
    return sorted(
        found,
        key=lambda timing: (plan.methods.index(timing.method), timing.n_samples, timing.n_members),
    )


def scale_pictures(plan: Plan, times: Sequence[MethodTiming]) -> list[look.Picture]:
    """Return one figure: against members on the left, against rows on the right."""
    if not times:
        return []
    rows = tuple((method_label(t.method), t.n_members, t.n_samples, t.seconds) for t in times)
    headings = ("method", "members", "rows", "seconds")
    n, d = max(t.n_members for t in times), max(t.n_samples for t in times)
    caption = (
        f"{plan.repeated()} Time to keep a tenth of the ensemble, one process, votes drawn at "
        f"random. Left: against members, on {d:,} rows. Right: against rows, among {n:,} members. "
        "Methods are drawn a little apart."
    )
    draw = partial(_draw_timings, times, n, d)
    title = "Time against members and rows"
    return [look.Picture("scale", plan.name, title, caption, headings, rows, draw, 2.9)]


def _draw_timings(times: Sequence[MethodTiming], n: int, d: int, figure: Any) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    methods = list(dict.fromkeys(timing.method for timing in times))
    for method, shift in zip(methods, look.series_offsets(len(methods), 0.06), strict=True):
        mine = [timing for timing in times if timing.method == method]
        across = [(t.n_members * exp(shift), t.seconds) for t in mine if t.n_samples == d]
        down = [(t.n_samples * exp(3 * shift), t.seconds) for t in mine if t.n_members == n]
        for panel, points in ((left, across), (right, down)):
            panel.plot(*zip(*points, strict=True), **method_line_style(method))
    for panel, name, ticks in (
        (left, "members", sorted({timing.n_members for timing in times})),
        (right, "rows", sorted({timing.n_samples for timing in times})),
    ):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(name)
        panel.grid()
        look.log_ticks(panel.xaxis, ticks)
    left.set_ylabel("seconds")
    look.legend_below(figure, left, 4)


FIGURE = PaperFigure("figure-scale", method_timings, scale_pictures)
