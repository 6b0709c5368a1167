"""Figure: time of each method by number of members and number of samples."""

from collections.abc import Sequence
from functools import partial
from math import exp
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, method_line_style
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import plan_results
from secateurs.paper._printed_tables import method_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class MethodTiming(NamedTuple):
    """Seconds that a method takes to select among ``n_members`` on ``n_samples`` samples."""

    method: str
    n_members: int
    n_samples: int
    seconds: float


def method_timings(plan: Plan, frame: pd.DataFrame) -> list[MethodTiming]:
    """Return the mean time for each method, number of samples and number of members."""
    results = plan_results(plan, frame)
    if results.empty:
        return []
    means = results.astype({"seconds": float}).groupby(["method", "n", "d"])["seconds"].mean()
    records = means.reset_index().itertuples(index=False, name=None)
    timings = [
        MethodTiming(method, int(n), int(d), float(seconds)) for method, n, d, seconds in records
    ]
    return sorted(
        timings,
        key=lambda timing: (plan.methods.index(timing.method), timing.n_samples, timing.n_members),
    )


def scale_pictures(plan: Plan, times: Sequence[MethodTiming]) -> list[look.Picture]:
    """Return one figure: time by members on the left, by samples on the right."""
    if not times:
        return []
    rows = tuple((method_label(t.method), t.n_members, t.n_samples, t.seconds) for t in times)
    headings = ("method", "members", "rows", "seconds")
    n, d = max(t.n_members for t in times), max(t.n_samples for t in times)
    caption = (
        f"{plan.repeated()} Time to select a tenth of the ensemble, in one process, with randomly "
        f"drawn votes. Left: by number of members, on {d:,} samples. Right: by number of samples, "
        f"with {n:,} members. Points of different methods are shifted slightly to remain visible."
    )
    draw = partial(_draw_timings, times, n, d)
    title = "Time by members and samples"
    return [look.Picture("scale", plan.name, title, caption, headings, rows, draw, 2.9)]


def _draw_timings(times: Sequence[MethodTiming], n: int, d: int, figure: "Figure") -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    methods = list(dict.fromkeys(timing.method for timing in times))
    for method, shift in zip(methods, look.series_offsets(len(methods), 0.06), strict=True):
        mine = [timing for timing in times if timing.method == method]
        # The axes are logarithmic: multiplying by exp(shift) moves a point by a fixed distance. The
        # axis of samples spans a wider range than that of members, so it needs a larger shift.
        by_members = [(t.n_members * exp(shift), t.seconds) for t in mine if t.n_samples == d]
        by_samples = [(t.n_samples * exp(3 * shift), t.seconds) for t in mine if t.n_members == n]
        for panel, points in ((left, by_members), (right, by_samples)):
            panel.plot(*zip(*points, strict=True), **method_line_style(method))
    for panel, name, ticks in (
        (left, "members", sorted({timing.n_members for timing in times})),
        (right, "samples", sorted({timing.n_samples for timing in times})),
    ):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(name)
        panel.grid()
        look.log_ticks(panel.xaxis, ticks)
    left.set_ylabel("seconds")
    look.legend_below(figure, left, 4)


FIGURE = PaperFigure("figure-scale", method_timings, scale_pictures)
