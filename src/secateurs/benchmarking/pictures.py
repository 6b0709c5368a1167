"""What figures share: their parts, their look for any colour vision, and repeatable files."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from secateurs.exceptions import import_extra

COLUMN = 3.5  # inches, the width of a column of a paper
DPI = 200
COLOURS = {
    **{"blue": "#0072B2", "orange": "#D55E00", "green": "#009E73", "purple": "#CC79A7"},
    **{"sky": "#56B4E9", "amber": "#E69F00", "grey": "#7f7f7f", "black": "#000000"},
}  # Okabe and Ito's, and grey
BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY, BLACK = COLOURS.values()
_STYLE = Path(str(files("secateurs.benchmarking") / "templates" / "figures.mplstyle"))
# Without a date or a version, equal figures are equal files.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure: what it shows, and how it is drawn.

    Attributes
    ----------
    name : str
        Name of its files.
    group : str
        Name of what it belongs to, such as a plan.
    title, caption : str
        Shown beside it.
    headings, rows
        The numbers behind it.
    draw : callable
        Draws it on an empty matplotlib figure.
    height, width : float
        In inches; by default as wide as a column.
    """

    name: str
    group: str
    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    draw: Callable[[Any], None]
    height: float = 2.4
    width: float = COLUMN


def render_picture(picture: Picture) -> dict[str, bytes]:
    """Draw a figure; return it as PNG and SVG.

    Equal figures give equal bytes, whatever the user's settings of matplotlib.
    """
    matplotlib = import_extra("matplotlib", "plot", "drawing figures")
    figures = import_extra("matplotlib.figure", "plot", "drawing figures")
    agg = import_extra("matplotlib.backends.backend_agg", "plot", "drawing figures")
    with matplotlib.rc_context():
        matplotlib.rc_file(_STYLE)  # over the defaults of matplotlib
        matplotlib.rcParams["svg.hashsalt"] = picture.name
        figure = figures.Figure(figsize=(picture.width, picture.height), layout="constrained")
        agg.FigureCanvasAgg(figure)
        picture.draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once is enough
        files = {kind: io.BytesIO() for kind in _METADATA}
        for kind, file in files.items():
            figure.savefig(file, format=kind, dpi=DPI, metadata=_METADATA[kind])
    return {kind: file.getvalue() for kind, file in files.items()}


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    """Put one legend under all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, columnspacing=1.2)


def label_rows(panels: Sequence[Any], names: Sequence[str]) -> None:
    """Turn the y axis that panels share into a list of names, the first on top."""
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    for panel in panels:
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.grid(axis="x")


def draw_mean_dots(
    panel: Any, places: Any, folds: Sequence[Any], *, error: bool, **style: Any
) -> None:
    """Draw means with standard deviation or error; dots, as bars would have to start at zero."""
    means = [float(np.mean(values)) for values in folds]
    spreads = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in folds]
    if error:
        spreads = [spread / np.sqrt(len(v)) for spread, v in zip(spreads, folds, strict=True)]
    panel.errorbar(places, means, yerr=spreads, linestyle="none", elinewidth=0.8, **style)


def series_offsets(count: int, step: float) -> list[float]:
    """Return shifts around 0, so that equal points of several series are not drawn on each other.

    Examples
    --------
    >>> from secateurs.benchmarking.pictures import series_offsets
    >>> series_offsets(3, 0.2)
    [-0.2, 0.0, 0.2]
    """
    return [step * (place - (count - 1) / 2) for place in range(count)]


def log_ticks(axis: Any, ticks: Sequence[float] | None = None) -> None:
    """Write 0.3, 1, 3 instead of powers of ten; or just the ticks given."""
    ticker = import_extra("matplotlib.ticker", "plot", "drawing figures")
    located = ticker.LogLocator(subs=(1, 3), numticks=6) if ticks is None else None
    axis.set_major_locator(located or ticker.FixedLocator(list(ticks or ())))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(ticker.NullLocator())
