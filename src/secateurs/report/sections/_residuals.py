"""Section "Predicted against true" (regression): predictions of both ensembles and their errors."""

import numpy as np

from secateurs.evaluation.held_out_figures import truth_and_predictions
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import Array, JsonObject

_MOST_SAMPLES = 1500  # in the plot: enough to see the cloud, and few to draw and store
_QUANTILES = (0.5, 0.9, 0.99)

_ERRORS: JsonObject = {"bias": float, "quantiles": [float], "largest": float}
_SHAPE: JsonObject = {"n_rows": int, "points": [[float]], "whole": _ERRORS, "kept": _ERRORS}


def collect_data(context: ReportContext) -> JsonObject:
    """Return true and predicted values of a sample, and the distribution of errors."""
    true_values, *predictions = truth_and_predictions(
        context.evaluation_plan, context.pruner, context.curve, context.keep
    )
    is_known = np.isfinite(predictions).all(axis=0)  # out of bag, some samples have no prediction
    true_values, full, kept = (values[is_known] for values in (true_values, *predictions))
    shown = np.arange(len(true_values))
    if len(shown) > _MOST_SAMPLES:
        shown = np.sort(np.random.RandomState(0).choice(shown, _MOST_SAMPLES, replace=False))
    return {
        "residuals": {
            "n_rows": len(true_values),
            "points": np.stack([true_values, full, kept], axis=1)[shown],
            "whole": _error_summary(full - true_values),
            "kept": _error_summary(kept - true_values),
        }
    }


def _error_summary(errors: Array) -> JsonObject:
    sizes = np.abs(errors)
    quantiles = np.quantile(sizes, _QUANTILES)
    return {"bias": errors.mean(), "quantiles": quantiles.tolist(), "largest": sizes.max()}


def template_values(data: JsonObject) -> JsonObject:
    """Return a table of the errors of both ensembles, and the numbers of samples."""
    residuals = data["residuals"]
    names = ["mean error (bias)", *(f"{100 * q:g} % of errors are below" for q in _QUANTILES)]
    summaries = (residuals["whole"], residuals["kept"])
    columns = [[errors["bias"], *errors["quantiles"], errors["largest"]] for errors in summaries]
    rows = list(zip([*names, "largest error"], *columns, strict=True))
    n_samples = residuals["n_rows"]
    caption = (
        f"Errors on {n_samples:,} held-out samples. All rows but the first are absolute errors."
    )
    table = HtmlTable(["", "full ensemble", "pruned"], rows, caption, numeric=(1, 2))
    return {"table": table, "n_shown": len(residuals["points"]), "n_samples": n_samples}


SECTION = ReportSection(
    "residuals",
    "Predicted against true",
    {"residuals": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
    predicts="numbers",
)
