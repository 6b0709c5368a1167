"""What figures share: their parts, their look for any colour vision, and repeatable files."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from secateurs._methods import METHODS, Style
from secateurs.exceptions import import_extra
from secateurs.paper._claims import Judge
from secateurs.paper._plan import PaperRow, Plan
from secateurs.paper._printed import OURS, label

COLUMN = 3.5  # inches, the width of a column of the paper
DPI = 200
_COLOURS = {
    **{"blue": "#0072B2", "orange": "#D55E00", "green": "#009E73", "purple": "#CC79A7"},
    **{"sky": "#56B4E9", "amber": "#E69F00", "grey": "#7f7f7f", "black": "#000000"},
}  # Okabe and Ito's, and grey
BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY, BLACK = _COLOURS.values()
_STYLE = Path(str(files("secateurs.paper") / "templates" / "figures.mplstyle"))
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
        Name of the plan that it belongs to.
    title, caption : str
        Shown beside it.
    headings, rows
        The numbers behind it.
    draw : callable
        Draws it on an empty matplotlib figure.
    height : float
        In inches; the width is that of a column.
    """

    name: str
    group: str
    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    draw: Callable[[Any], None]
    height: float = 2.4


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: how its numbers, drawings and verdicts are made.

    Attributes
    ----------
    plan : str
        Name of the plan that measures it.
    series : callable
        Called as ``series(plan, frame)``; returns the numbers that are drawn and judged.
    pictures : callable
        Called as ``pictures(plan, series)``; returns the drawings, none where there are no numbers.
    judges : tuple of callable
        Called with the series; each returns a claim with its verdict.
    """

    plan: str
    series: Callable[[Plan, pd.DataFrame], Sequence[Any]]
    pictures: Callable[[Plan, Any], list[Picture]]
    judges: tuple[Judge, ...] = ()


@dataclass(frozen=True, eq=False)
class RowSeries:
    """Numbers of one row of a plan.

    Attributes
    ----------
    row : str
        Name of the row: the paper's name of the data set, and what else tells rows apart.
    source : PaperRow
        The row of the plan.
    """

    row: str
    source: PaperRow


def by_row(prefix: str, series: Sequence[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield each row's name, the name of its figure's files, and its series."""
    for row in dict.fromkeys(item.row for item in series):
        mine = [item for item in series if item.row == row]
        source = mine[0].source
        yield row, f"{prefix}-{source.dataset}-{source.reading}-{source.learner}", mine


def render(picture: Picture) -> dict[str, bytes]:
    """Draw a figure; return it as PNG and SVG.

    Equal figures give equal bytes, whatever the user's settings of matplotlib.
    """
    matplotlib = import_extra("matplotlib", "plot", "drawing figures")
    figures = import_extra("matplotlib.figure", "plot", "drawing figures")
    agg = import_extra("matplotlib.backends.backend_agg", "plot", "drawing figures")
    with matplotlib.rc_context():
        matplotlib.rc_file(_STYLE)  # over the defaults of matplotlib
        matplotlib.rcParams["svg.hashsalt"] = picture.name
        figure = figures.Figure(figsize=(COLUMN, picture.height), layout="constrained")
        agg.FigureCanvasAgg(figure)
        picture.draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once is enough
        files = {kind: io.BytesIO() for kind in _METADATA}
        for kind, file in files.items():
            figure.savefig(file, format=kind, dpi=DPI, metadata=_METADATA[kind])
    return {kind: file.getvalue() for kind, file in files.items()}


def style_of(method: str) -> Style:
    """Return the style of a method, derived from its place in the registry where it has none.

    Any two methods differ in more than colour.
    """
    known, place = METHODS[method].style, list(METHODS).index(method)
    if known is not None:
        return known
    n_sides, shape = 5 + place // 3, place % 3  # polygon, star or asterisk
    dashes = (2.0 + n_sides, 1.0, 1.0 + shape, 1.0)
    return Style(list(_COLOURS)[place % len(_COLOURS)], dashes, (n_sides, shape, 0))


def method_line(method: str) -> dict[str, Any]:
    """Return how the line of a method looks; the paper's own stand out."""
    style = style_of(method)
    own = method in OURS
    return {
        "color": _COLOURS[style.colour],
        "linestyle": (0, style.dashes) if style.dashes else "-",
        "marker": style.marker,
        "linewidth": 1.6 if own else 0.9,
        "zorder": 3 if own else 2,
        "label": label(method),
    }


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    """Put one legend under all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, columnspacing=1.2)


def level_rows(panels: Sequence[Any], names: Sequence[str]) -> None:
    """Turn the y axis that panels share into a list of names, the first on top."""
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    for panel in panels:
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.grid(axis="x")


def dots(panel: Any, places: Any, folds: Sequence[Any], *, error: bool, **style: Any) -> None:
    """Draw means with standard deviation or error; dots, as bars would have to start at zero."""
    means = [float(np.mean(values)) for values in folds]
    spreads = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in folds]
    if error:
        spreads = [spread / np.sqrt(len(v)) for spread, v in zip(spreads, folds, strict=True)]
    panel.errorbar(places, means, yerr=spreads, linestyle="none", elinewidth=0.8, **style)


def log_ticks(axis: Any, ticks: Sequence[float] | None = None) -> None:
    """Write 0.3, 1, 3 instead of powers of ten; or just the ticks given."""
    ticker = import_extra("matplotlib.ticker", "plot", "drawing figures")
    located = ticker.LogLocator(subs=(1, 3), numticks=6) if ticks is None else None
    axis.set_major_locator(located or ticker.FixedLocator(list(ticks or ())))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(ticker.NullLocator())
