"""Before and after: the figures of a pruning, as data and as a table."""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from secateurs._text import one_line
from secateurs.commands._material import Material
from secateurs.commands._output import columns, signed

if TYPE_CHECKING:
    from secateurs.evaluation._before_after import Figure

_CROSS_FITTED = "accuracy, cross-fitted"
_COSTS = {"megabytes": "file (pickle)", "megabytes as .skops": "file (.skops)"}
_COSTS |= {"megabytes as .onnx": "file (.onnx)"}
_COSTS |= {"ms for 1 row": "predict 1 row", "ms for 1000 rows": "predict 1,000 rows"}


class Line(NamedTuple):
    """A figure of the whole ensemble and of the pruned one."""

    name: str
    before: float
    after: float
    low: float = math.nan
    high: float = math.nan


class Figures(NamedTuple):
    """All figures of a pruning, and the rows they were measured on."""

    rows: str
    lines: list[Line]


def of_pruning(pruning: Any, material: Material, seed: int) -> Figures:
    """Measure: on the test rows if there are any, else by cross-fitting."""
    from sklearn.utils import check_random_state

    from secateurs.evaluation import _before_after

    if material.y_test is not None:
        rng = check_random_state(seed)
        measured = _before_after.measure(pruning, material.X_test, material.y_test, rng, files=True)
        return Figures(measured[0], _lines(measured[1]))
    held_out, remarks = _cross_fitted(pruning, material.X)
    lines = [Line("members", pruning.ensemble.n_members, len(pruning.member_indices)), held_out]
    lines += _lines(_before_after.costs(pruning, material.X))
    rows = f"rows to choose on ({material.n_rows}), 5-fold cross-fitting"
    return Figures(" ".join([rows, *remarks]), lines)


def method_of(pruning: Any) -> str:
    """Name the method of a pruning, with what is not as usual."""
    from secateurs.pruners._base import label_of

    return label_of(pruning.pruner)


def as_data(pruning: Any, figures: Figures) -> dict[str, Any]:
    """Give a pruning and its figures as plain values."""
    return {
        "method": method_of(pruning),
        "members": pruning.member_indices.tolist(),
        "names": pruning.member_names,
        "n_members_before": pruning.ensemble.n_members,
        "measured_on": figures.rows,
        "figures": {
            line.name: {"full": line.before, "pruned": line.after, **_interval(line)}
            for line in figures.lines
        },
    }


def as_text(pruning: Any, figures: Figures) -> str:
    """Set the figures as a table; of predictions, name the members too."""
    table = columns(("", "full", "pruned", "change", ""), [_cells(line) for line in figures.lines])
    if hasattr(pruning.estimator, "predict") or isinstance(pruning.ensemble.model, (list, dict)):
        return table
    return f"{table}\nkept, in the order of choice: {one_line(', '.join(pruning.member_names))}"


def _interval(line: Line) -> dict[str, Any]:
    return {"interval": [line.low, line.high]} if math.isfinite(line.low) else {}


def _lines(figures: Mapping[str, "Figure"]) -> list[Line]:
    return [Line(name, f.before, f.after, f.low, f.high) for name, f in figures.items()]


def _cross_fitted(pruning: Any, X: Any) -> tuple[Line, tuple[str, ...]]:
    """Choose again on four fifths of the rows and vote on the fifth, five times, as the page."""
    from secateurs.evaluation._alternatives import compare_around

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already, of all rows
        comparison = compare_around(pruning, X, None, None, beside=False)
    (course,) = comparison.courses.values()
    place = course.chosen.place(len(pruning.member_indices))
    own = course.own
    change, half = float(own.change[place]), float(own.half_width[place])
    figures = (own.whole_accuracy, float(own.accuracy[place]), change - half, change + half)
    return Line(_CROSS_FITTED, *figures), comparison.remarks


def _cells(line: Line) -> tuple[str, ...]:
    """Say a figure in words: what it was, what it is, what that means."""
    name, before, after, low, high = line
    label = one_line(_COSTS.get(name, name))
    share = f"{signed(100 * (after / before - 1), 0)} %" if before else ""
    if name == "members":
        return (label, f"{before:,.0f}", f"{after:,.0f}", share, "")
    if name.startswith("megabytes"):
        if math.isnan(before):
            return (label, "", f"{after:.2f} MB", "", "(full: too large, or not possible)")
        return (label, f"{before:.2f} MB", f"{after:.2f} MB", share, "")
    if name.startswith("ms"):
        times = f"×{before / after:.1f}" if after else ""
        return (label, f"{before:.2f} ms", f"{after:.2f} ms", times, "")
    interval = f"(95 % {signed(low, 4)} … {signed(high, 4)})" if math.isfinite(low) else ""
    return (label, f"{before:.4f}", f"{after:.4f}", signed(after - before, 4), interval)
