"""Figure: accuracy of each method against the number of members it keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries, method_line_style, series_by_row
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper._printed_tables import method_label


@dataclass(frozen=True, eq=False)
class MethodCurve(RowSeries):
    """Test accuracy of a method per number of members kept; in per cent, mean over folds."""

    method: str
    sizes: NDArray[np.float64]
    accuracy: NDArray[np.float64]


def method_curves(plan: Plan, frame: pd.DataFrame) -> list[MethodCurve]:
    """Return accuracy against size per row and method."""
    curves = []
    for name, source, mine in results_by_row(plan, frame):
        for method in plan.methods:
            runs = rows_where(mine, method=method)
            if len(runs):
                sizes = np.asarray(runs["sizes"].iloc[0], dtype=float)
                accuracy = 100 * np.mean(np.asarray(list(runs["accuracies"]), dtype=float), axis=0)
                curves.append(MethodCurve(name, source, method, sizes, accuracy))
    return curves


def size_pictures(plan: Plan, curves: Sequence[MethodCurve]) -> list[look.Picture]:
    """Return a figure per row, with a line per method."""
    pictures = []
    for row, name, mine in series_by_row("size", curves):
        sizes = mine[0].sizes
        few = _log_spaced_indices(len(sizes), 9)
        pictures.append(
            look.Picture(
                name,
                plan.name,
                f"Accuracy against size: {row}",
                f"{plan.repeated()} Test accuracy of what each method keeps of the ensemble, mean "
                "over folds, at some sizes. The level line is the whole ensemble.",
                ("method", *(f"{sizes[place]:g}" for place in few)),
                tuple((method_label(c.method), *(float(c.accuracy[p]) for p in few)) for c in mine),
                partial(_draw_method_curves, mine),
                3.2,
            )
        )
    return pictures


def _draw_method_curves(curves: Sequence[MethodCurve], figure: Any) -> None:
    panel = figure.subplots()
    few = _log_spaced_indices(len(curves[0].sizes), 16)
    for place, curve in enumerate(curves):  # no marker on another's where lines meet
        every = {"markevery": (place % len(few), len(curves))}
        panel.plot(
            curve.sizes[few], curve.accuracy[few], **method_line_style(curve.method), **every
        )
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


def _log_spaced_indices(n_sizes: int, n_places: int) -> NDArray[np.intp]:
    return np.unique(np.geomspace(1, n_sizes, n_places).round().astype(int)) - 1


FIGURE = PaperFigure("figure-size", method_curves, size_pictures)
