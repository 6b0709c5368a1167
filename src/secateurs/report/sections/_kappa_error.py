"""Section "Agreement and error": κ against the mean error of pairs of members."""

import numpy as np

from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.member_diagnostics import kappa_error
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import IndexArray, JsonObject

_MOST_PAIRS = 3000  # points of each colour: enough to see the cloud, and few to draw and store
_MOST_FRONT = 40  # pairs in the table, about a screen

_SHAPE: JsonObject = {"n_pairs": int, "kept": [[float]], "others": [[float]], "front": [[float]]}
_SHAPE |= {"front_pairs": [[int]], "mean": Nullable([float]), "mean_kept": Nullable([float])}


def collect_data(context: ReportContext) -> JsonObject:
    """Return κ and mean error for pairs of kept members, and for a sample of other pairs."""
    pairs = kappa_error(context.predictions, context.kept_members)
    among = pairs.pairs_among(context.kept_members)
    others = np.flatnonzero(~among)
    if len(others) > _MOST_PAIRS:
        others = np.sort(np.random.RandomState(0).choice(others, _MOST_PAIRS, replace=False))
    front = np.flatnonzero(pairs.pareto_front)
    front = front[np.lexsort((pairs.error[front], pairs.kappa[front]))]

    points = np.stack([pairs.kappa, pairs.error], axis=1).round(5)

    def mean_point(pair_indices: IndexArray) -> list[float] | None:
        values = pairs.kappa[pair_indices], pairs.error[pair_indices]
        return [float(column.mean()) for column in values] if len(pair_indices) else None

    everything, kept = np.arange(len(among)), np.flatnonzero(among)
    return {
        "kappa_error": {
            "n_pairs": len(among),
            "kept": points[kept[:_MOST_PAIRS]],
            "others": points[others],
            "front": points[front],
            "front_pairs": np.stack([pairs.first, pairs.second], axis=1)[front],
            "mean": mean_point(everything),
            "mean_kept": mean_point(kept),
        }
    }


def template_values(data: JsonObject) -> HtmlTable | None:
    """Return a table of the means and of the Pareto-optimal pairs; None if there are no pairs."""
    diagram, names = data["kappa_error"], data["ensemble"]["names"]
    if diagram["n_pairs"] == 0:
        return None
    means = (("mean of all pairs", diagram["mean"]), ("mean of kept members", diagram["mean_kept"]))
    rows = [[label, *mean] for label, mean in means if mean is not None]
    pairs = list(zip(diagram["front_pairs"], diagram["front"], strict=True))[:_MOST_FRONT]
    for (first, second), (kappa, error) in pairs:
        rows.append([f"{names[first]} and {names[second]}", kappa, error])
    caption = "Means, and the Pareto-optimal pairs: no other pair has both lower κ and lower error."
    return HtmlTable(["pair", "κ", "mean error"], rows, caption, numeric=(1, 2))


SECTION = ReportSection(
    "kappa-error",
    "Agreement and error",
    {"kappa_error": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
)
