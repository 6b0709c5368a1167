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


class Figures(NamedTuple):
    """All figures of a pruning, and the rows they were measured on."""

    rows: str
    lines: Mapping[str, "Figure"]


def of_pruning(pruning: Any, material: Material, seed: int) -> Figures:
    """Measure: on the test rows if there are any, else by cross-fitting."""
    from sklearn.utils import check_random_state

    from secateurs.evaluation import _before_after

    problem = pruning.problem.with_rows(material.X)
    if material.y_test is not None:
        problem = problem.with_test(material.X_test, material.y_test)
        rng = check_random_state(seed)
        return Figures(*_before_after.measure(problem, pruning.pruner, rng, files=True))
    lines, remarks = _cross_fitted(problem, pruning.pruner)
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
            name: {"full": figure.before, "pruned": figure.after, **_interval(figure)}
            for name, figure in figures.lines.items()
        },
    }


def as_text(pruning: Any, figures: Figures) -> str:
    """Set the figures as a table; of predictions, name the members too."""
    rows = [_cells(name, figure) for name, figure in figures.lines.items()]
    table = columns(("", "full", "pruned", "change", ""), rows)
    if hasattr(pruning.estimator, "predict") or isinstance(pruning.ensemble.model, (list, dict)):
        return table
    return f"{table}\nkept, in the order of choice: {one_line(', '.join(pruning.member_names))}"


def _interval(figure: "Figure") -> dict[str, Any]:
    return {"interval": [figure.low, figure.high]} if math.isfinite(figure.low) else {}


def _cross_fitted(problem: Any, pruner: Any) -> tuple[dict[str, "Figure"], tuple[str, ...]]:
    """Choose again on four fifths of the rows and vote on the fifth, five times, as the page."""
    from secateurs.evaluation._alternatives import evaluate_around
    from secateurs.evaluation._before_after import costs, count, held_out_accuracy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already, of all rows
        evaluation = evaluate_around(problem, pruner, beside=False)
    (curve,) = evaluation.curves.values()
    accuracy = held_out_accuracy(curve, len(pruner.member_indices_))
    lines = count(pruner) | {_CROSS_FITTED: accuracy} | costs(problem, pruner)
    return lines, evaluation.remarks


def _cells(name: str, figure: "Figure") -> tuple[str, ...]:
    """Say a figure in words: what it was, what it is, what that means."""
    before, after, low, high, _ = figure
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
