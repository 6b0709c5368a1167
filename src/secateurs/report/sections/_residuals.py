"""Residuals, of numbers: what all members and the kept ones predict, against the truth."""

import numpy as np

from secateurs.evaluation.before_after import truth_and_predictions
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection
from secateurs.typing import Array

_MOST_ROWS = 1500  # points in the figure
_QUANTILES = (0.5, 0.9, 0.99)

_ERRORS: JsonObject = {"bias": float, "quantiles": [float], "largest": float}
_SHAPE: JsonObject = {"n_rows": int, "points": [[float]], "whole": _ERRORS, "kept": _ERRORS}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return true and predicted numbers of some held-out rows, and how errors are distributed."""
    truth, *both = truth_and_predictions(
        subject.problem, subject.pruner, subject.curve, subject.keep
    )
    known = np.isfinite(both).all(axis=0)
    truth, whole, kept = (values[known] for values in (truth, *both))
    rows = np.arange(len(truth))
    if len(rows) > _MOST_ROWS:
        rows = np.sort(np.random.RandomState(0).choice(rows, _MOST_ROWS, replace=False))
    return {
        "residuals": {
            "n_rows": len(truth),
            "points": np.stack([truth, whole, kept], axis=1)[rows],
            "whole": _error_summary(whole - truth),
            "kept": _error_summary(kept - truth),
        }
    }


def _error_summary(off: Array) -> JsonObject:
    sizes = np.abs(off)
    quantiles = np.quantile(sizes, _QUANTILES)
    return {"bias": off.mean(), "quantiles": quantiles.tolist(), "largest": sizes.max()}


def template_values(data: JsonObject) -> JsonObject:
    """Return the errors of all members and of the kept ones."""
    own = data["residuals"]
    names = ["mean error (bias)", *(f"{100 * q:g} % of errors are below" for q in _QUANTILES)]
    columns = [
        [own[who]["bias"], *own[who]["quantiles"], own[who]["largest"]] for who in ("whole", "kept")
    ]
    rows = list(zip([*names, "largest error"], *columns, strict=True))
    caption = f"Errors on {own['n_rows']:,} held-out rows, without their sign but for the first."
    table = HtmlTable(["", "all members", "kept"], rows, caption, numeric=(1, 2))
    return {"table": table, "n_shown": len(own["points"]), "n_rows": own["n_rows"]}


SECTION = ReportSection(
    "residuals",
    "Predicted against true",
    {"residuals": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
    predicts="numbers",
)
