"""Agreement and error: κ against the mean error of pairs of members."""

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation.member_diagnostics import kappa_error
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection

_MOST_PAIRS = 3000  # points of other pairs in the figure
_MOST_FRONT = 40  # pairs in the table

_SHAPE: JsonObject = {"n_pairs": int, "kept": [[float]], "others": [[float]], "front": [[float]]}
_SHAPE |= {"front_pairs": [[int]], "mean": Nullable([float]), "mean_kept": Nullable([float])}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return κ and mean error of pairs: all of the kept members, a sample of the others."""
    pairs = kappa_error(subject.predictions)
    among = pairs.pairs_among(subject.kept_members)
    others = np.flatnonzero(~among)
    if len(others) > _MOST_PAIRS:
        others = np.sort(np.random.RandomState(0).choice(others, _MOST_PAIRS, replace=False))
    front = np.flatnonzero(pairs.pareto_front)
    front = front[np.lexsort((pairs.error[front], pairs.kappa[front]))]

    points = np.stack([pairs.kappa, pairs.error], axis=1).round(5)

    def mean_point(places: NDArray[np.intp]) -> list[float] | None:
        values = pairs.kappa[places], pairs.error[places]
        return [float(one.mean()) for one in values] if len(places) else None

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
    """Return the means, and the pairs that no other pair beats; None without pairs."""
    own, names = data["kappa_error"], data["ensemble"]["names"]
    if own["n_pairs"] == 0:
        return None
    means = (("mean of all pairs", own["mean"]), ("kept", own["mean_kept"]))
    rows = [[label, *mean] for label, mean in means if mean is not None]
    pairs = list(zip(own["front_pairs"], own["front"], strict=True))[:_MOST_FRONT]
    for (first, second), (kappa, error) in pairs:
        rows.append([f"{names[first]} and {names[second]}", kappa, error])
    caption = "Means, and the pairs for which no other is both less alike and more accurate."
    return HtmlTable(["pair", "κ", "mean error"], rows, caption, numeric=(1, 2))


SECTION = ReportSection(
    "kappa-error",
    "Agreement and error",
    {"kappa_error": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
)
