"""Section "Correlation of errors" (regression): correlation and size of the errors of pairs."""

import numpy as np

from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.member_diagnostics import error_correlations
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import IndexArray, JsonObject

_MOST_PAIRS = 3000  # points of each colour: enough to see the cloud, and few to draw and store
_SHAPE: JsonObject = {"n_pairs": int, "kept": [[float]], "others": [[float]]}
_SHAPE |= {"mean": Nullable([float]), "mean_kept": Nullable([float])}


def collect_data(context: ReportContext) -> JsonObject:
    """Return correlation and size of errors for pairs of kept members, and a sample of others."""
    pairs = error_correlations(context.predictions, context.kept_members)
    among = np.isin(pairs.first, context.kept_members) & np.isin(pairs.second, context.kept_members)
    points = np.stack([pairs.correlation, pairs.error], axis=1)
    kept, others = np.flatnonzero(among), np.flatnonzero(~among)
    if len(others) > _MOST_PAIRS:
        others = np.sort(np.random.RandomState(0).choice(others, _MOST_PAIRS, replace=False))

    def mean_point(pair_indices: IndexArray) -> list[float] | None:
        return points[pair_indices].mean(axis=0).tolist() if len(pair_indices) else None

    return {
        "error_correlation": {
            "n_pairs": len(among),
            "kept": points[kept[:_MOST_PAIRS]],
            "others": points[others],
            "mean": mean_point(np.arange(len(among))),
            "mean_kept": mean_point(kept),
        }
    }


def template_values(data: JsonObject) -> HtmlTable | None:
    """Return a table of the means over pairs; None if there are no pairs."""
    pairs = data["error_correlation"]
    if pairs["n_pairs"] == 0:
        return None
    means = (("all pairs", pairs["mean"]), ("kept members", pairs["mean_kept"]))
    rows = [[label, *mean] for label, mean in means if mean is not None]
    headings = ["pairs of members", "correlation of their errors", "root mean squared error"]
    return HtmlTable(headings, rows, "Means over pairs, on the validation set.", numeric=(1, 2))


SECTION = ReportSection(
    "error-correlation",
    "Correlation of errors",
    {"error_correlation": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
    predicts="numbers",
)
