"""How figures look and become files: at column width, for any colour vision, repeatable."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateurs._methods import METHODS, Style
from secateurs.exceptions import import_extra
from secateurs.paper._printed import OURS, label

COLUMN = 3.5  # inches, the width of a column of the paper
DPI = 200
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"  # Okabe and Ito's
SKY, AMBER, GREY, BLACK = "#56B4E9", "#E69F00", "#7f7f7f", "#000000"
_COLOURS = {
    **{"blue": BLUE, "orange": ORANGE, "green": GREEN, "purple": PURPLE},
    **{"sky": SKY, "amber": AMBER, "grey": GREY, "black": BLACK},
}
_STYLE = {
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.fonttype": "path",
}
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


def render(picture: Picture) -> dict[str, bytes]:
    """Draw a figure; return it as PNG and SVG.

    Equal figures give equal bytes, whatever the user's settings of matplotlib.
    """
    matplotlib = import_extra("matplotlib", "plot", "drawing figures")
    figures = import_extra("matplotlib.figure", "plot", "drawing figures")
    agg = import_extra("matplotlib.backends.backend_agg", "plot", "drawing figures")
    with _house_style(matplotlib, picture.name):
        figure = figures.Figure(figsize=(COLUMN, picture.height), layout="constrained")
        agg.FigureCanvasAgg(figure)
        picture.draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once is enough
        return {kind: _as_bytes(figure, kind) for kind in ("png", "svg")}


def _as_bytes(figure: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=DPI, metadata=_METADATA[kind])
    return buffer.getvalue()


@contextmanager
def _house_style(matplotlib: Any, salt: str) -> Iterator[None]:
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE | {"svg.hashsalt": salt})
        yield


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


def dots(
    panel: Any, places: Any, folds: Sequence[Any], spreads: Sequence[float], **style: Any
) -> None:
    """Draw means with their spread; dots, as bars would have to start at zero."""
    means = [float(np.mean(values)) for values in folds]
    panel.errorbar(places, means, yerr=spreads, linestyle="none", elinewidth=0.8, **style)


def log_ticks(axis: Any, ticks: Sequence[float] | None = None) -> None:
    """Write 0.3, 1, 3 instead of powers of ten; or just the ticks given."""
    ticker = import_extra("matplotlib.ticker", "plot", "drawing figures")
    located = ticker.LogLocator(subs=(1, 3), numticks=6) if ticks is None else None
    axis.set_major_locator(located or ticker.FixedLocator(list(ticks or ())))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(ticker.NullLocator())
