"""Correlation of errors, of numbers: how alike pairs of members err, and how much."""

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation.member_diagnostics import error_correlations
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection

_MOST_PAIRS = 3000  # points of other pairs in the figure
_SHAPE: JsonObject = {"n_pairs": int, "kept": [[float]], "others": [[float]]}
_SHAPE |= {"mean": Nullable([float]), "mean_kept": Nullable([float])}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return correlation and size of errors of pairs: all of the kept, a sample of the others."""
    pairs = error_correlations(subject.predictions, subject.kept_members)
    among = np.isin(pairs.first, subject.kept_members) & np.isin(pairs.second, subject.kept_members)
    points = np.stack([pairs.correlation, pairs.error], axis=1)
    kept, others = np.flatnonzero(among), np.flatnonzero(~among)
    if len(others) > _MOST_PAIRS:
        others = np.sort(np.random.RandomState(0).choice(others, _MOST_PAIRS, replace=False))

    def mean_point(places: NDArray[np.intp]) -> list[float] | None:
        return points[places].mean(axis=0).tolist() if len(places) else None

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
    """Return the means; None without pairs."""
    own = data["error_correlation"]
    if own["n_pairs"] == 0:
        return None
    means = (("all", own["mean"]), ("kept", own["mean_kept"]))
    rows = [[label, *mean] for label, mean in means if mean is not None]
    headings = ["pairs of members", "correlation of their errors", "root mean squared error"]
    return HtmlTable(headings, rows, "Means over pairs, on the rows chosen on.", numeric=(1, 2))


SECTION = ReportSection(
    "error-correlation",
    "Correlation of errors",
    {"error_correlation": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
    predicts="numbers",
)
