"""Figure: accuracy of each method by number of kept members."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries, method_line_style, series_by_row
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper._printed_tables import method_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class MethodCurve(RowSeries):
    """Test accuracy of a method by number of kept members, in per cent, mean over folds."""

    method: str
    sizes: NDArray[np.float64]
    accuracy: NDArray[np.float64]


def method_curves(plan: Plan, frame: pd.DataFrame) -> list[MethodCurve]:
    """Return accuracy by number of kept members for each row and method."""
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
    """Return one figure per row, with one line per method."""
    pictures = []
    for row, name, mine in series_by_row("size", curves):
        sizes = mine[0].sizes
        shown = _log_spaced_indices(len(sizes), 9)
        pictures.append(
            look.Picture(
                name,
                plan.name,
                f"Accuracy by size: {row}",
                f"{plan.repeated()} Test accuracy of the pruned ensembles by number of members, "
                "mean over folds. The horizontal line is the full ensemble.",
                ("method", *(f"{sizes[index]:g}" for index in shown)),
                tuple(
                    (method_label(curve.method), *map(float, curve.accuracy[shown]))
                    for curve in mine
                ),
                partial(_draw_method_curves, mine),
                3.2,
            )
        )
    return pictures


def _draw_method_curves(curves: Sequence[MethodCurve], figure: "Figure") -> None:
    panel = figure.subplots()
    shown = _log_spaced_indices(len(curves[0].sizes), 16)
    for index, curve in enumerate(curves):
        # Each line has its markers at other sizes, so that they do not overlap where lines meet.
        style = method_line_style(curve.method)
        style["markevery"] = (index % len(shown), len(curves))
        panel.plot(curve.sizes[shown], curve.accuracy[shown], **style)
    panel.axhline(curves[0].accuracy[-1], color="black", linewidth=0.6)
    values = np.concatenate([curve.accuracy[shown] for curve in curves])
    # Without the lowest tenth: one or two members are so inaccurate that all else would look flat.
    low, high = np.quantile(values, 0.1), values.max()
    panel.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    panel.set_xscale("log")
    look.log_ticks(panel.xaxis)
    panel.set_xlabel("members kept")
    panel.set_ylabel("test accuracy, %")
    panel.grid(axis="y")
    look.legend_below(figure, panel, 5)


def _log_spaced_indices(n_sizes: int, n_indices: int) -> NDArray[np.intp]:
    return np.unique(np.geomspace(1, n_sizes, n_indices).round().astype(int)) - 1


FIGURE = PaperFigure("figure-size", method_curves, size_pictures)
