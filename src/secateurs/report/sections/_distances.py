"""Section "Distances between members": how differently pairs of members vote."""

import numpy as np

from secateurs.report._schema import PACKED_ARRAY_SHAPE, pack_array
from secateurs.report.diversity_weights import information_distances
from secateurs.report.html_templates import HtmlTable
from secateurs.report.member_diagnostics import pair_distances
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import JsonObject

_SHAPE: JsonObject = {
    "members": [int],
    "complete": bool,
    "order": [int],
    "low": float,
    "high": float,
}
_SHAPE |= {"mean": [float], "nearest": [int], "to_nearest": [float], "triangle": PACKED_ARRAY_SHAPE}


def collect_data(context: ReportContext) -> JsonObject:
    """Return the distances of all pairs; of a selection if there are very many members."""
    pairs = pair_distances(context.predictions, context.kept_members)
    n_members = len(pairs.members)
    complete = n_members == context.predictions.n_members
    values = information_distances(context.predictions) if complete else pairs.values
    apart = np.where(np.eye(n_members, dtype=bool), np.inf, pairs.values)
    to_nearest = apart.min(axis=0) if n_members > 1 else np.zeros(n_members)
    return {
        "distances": {
            "members": pairs.members,
            "complete": complete,
            "order": pairs.order,
            "low": pairs.low,
            "high": pairs.high,
            "mean": pairs.values.sum(axis=0) / max(1, n_members - 1),
            "nearest": pairs.members[apart.argmin(axis=0)],
            "to_nearest": to_nearest,
            "triangle": pack_array(values[np.triu_indices(n_members, 1)]),
        }
    }


def template_values(data: JsonObject) -> HtmlTable:
    """Return a table of each member's distance to the others, in the order of the heatmap."""
    distances, names = data["distances"], data["ensemble"]["names"]
    kept = set(data["chosen"]["members"])
    rows = []
    for index in distances["order"]:
        member, nearest = distances["members"][index], distances["nearest"][index]
        mark = "●" if member in kept else ""
        mean, to_nearest = distances["mean"][index], distances["to_nearest"][index]
        rows.append([names[member], mark, mean, names[nearest], to_nearest])
    headings = ["member", "kept", "mean distance", "nearest member", "distance to it"]
    return HtmlTable(headings, rows, "Normalised variation of information.", numeric=(2, 4))


SECTION = ReportSection(
    "distances",
    "Distances between members",
    {"distances": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
)
