"""`Picture`, a figure of a result page, and helpers that give all figures the same style."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import import_extra
from secateurs.thread_safety import ForkSafeLock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLUMN = 3.5  # inches, the width of a column in a two-column paper
DPI = 200  # sharp on a high-resolution screen, and small files
COLOURS = {
    **{"blue": "#0072B2", "orange": "#D55E00", "green": "#009E73", "purple": "#CC79A7"},
    **{"sky": "#56B4E9", "amber": "#E69F00", "grey": "#7f7f7f", "black": "#000000"},
}  # of Okabe and Ito, for all kinds of colour vision, and grey
BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY, BLACK = COLOURS.values()
_STYLE = Path(str(files("secateurs.benchmarking") / "templates" / "figures.mplstyle"))
# Without a date and a version, equal figures are equal files.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its texts and numbers, and the function that draws it."""

    name: str  # of its files
    group: str  # the table or plan that it belongs to
    title: str
    caption: str
    headings: tuple[str, ...]  # of the table of its numbers
    rows: tuple[tuple[object, ...], ...]  # of the table of its numbers
    draw: Callable[[Figure], None]  # draws on an empty figure
    height: float = 2.4  # inches
    width: float = COLUMN  # inches


_drawing_lock = ForkSafeLock()


def render_picture(picture: Picture) -> dict[str, bytes]:
    """Return a figure as PNG and SVG files.

    Equal figures give equal bytes, independent of the user's matplotlib settings.
    """
    matplotlib = import_extra("matplotlib", "plot", "drawing figures")
    figures = import_extra("matplotlib.figure", "plot", "drawing figures")
    agg = import_extra("matplotlib.backends.backend_agg", "plot", "drawing figures")
    with _drawing_lock, matplotlib.rc_context():  # threads share the settings
        matplotlib.rc_file(_STYLE)  # replaces the user's settings
        matplotlib.rcParams["svg.hashsalt"] = picture.name  # ids in SVG files are random otherwise
        figure = figures.Figure(figsize=(picture.width, picture.height), layout="constrained")
        agg.FigureCanvasAgg(figure)
        picture.draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # savefig would compute the layout again for each file
        files = {kind: io.BytesIO() for kind in _METADATA}
        for kind, file in files.items():
            figure.savefig(file, format=kind, dpi=DPI, metadata=_METADATA[kind])
    return {kind: file.getvalue() for kind, file in files.items()}


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """Draw one legend below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, columnspacing=1.2)


def label_rows(panels: Sequence[Axes], names: Sequence[str]) -> None:
    """Label the shared y axis of panels with names, the first on top."""
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    for panel in panels:
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.grid(axis="x")


def draw_mean_dots(
    panel: Axes,
    positions: ArrayLike,
    folds: Sequence[Sequence[float]],
    *,
    error: bool,
    **style: Any,
) -> None:
    """Draw means with standard deviation or standard error.

    Means are dots, because bars would have to start at zero.
    """
    means = [float(np.mean(values)) for values in folds]
    spreads = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in folds]
    if error:
        spreads = [spread / np.sqrt(len(v)) for spread, v in zip(spreads, folds, strict=True)]
    panel.errorbar(positions, means, yerr=spreads, linestyle="none", elinewidth=0.8, **style)


def series_offsets(count: int, step: float) -> list[float]:
    """Return shifts around 0 that keep equal points of several series apart.

    Examples
    --------
    >>> from secateurs.benchmarking.pictures import series_offsets
    >>> series_offsets(3, 0.2)
    [-0.2, 0.0, 0.2]
    """
    return [step * (index - (count - 1) / 2) for index in range(count)]


def log_ticks(axis: Axis, ticks: Sequence[float] | None = None) -> None:
    """Label a log axis with 0.3, 1, 3 instead of powers of ten, or with the given ticks."""
    ticker = import_extra("matplotlib.ticker", "plot", "drawing figures")
    locator = ticker.LogLocator(subs=(1, 3), numticks=6) if ticks is None else None
    axis.set_major_locator(locator or ticker.FixedLocator(list(ticks or ())))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(ticker.NullLocator())
