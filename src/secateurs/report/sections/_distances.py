"""Distances between members: how differently they vote."""

import numpy as np

from secateurs.evaluation.alternatives import information_distances
from secateurs.evaluation.member_diagnostics import pair_distances
from secateurs.report import _base64
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection

_SHAPE: JsonObject = {
    "members": [int],
    "complete": bool,
    "order": [int],
    "low": float,
    "high": float,
}
_SHAPE |= {
    "mean": [float],
    "nearest": [int],
    "to_nearest": [float],
    "triangle": _base64.PACKED_ARRAY_SHAPE,
}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return the distances of all pairs, or of some where there are very many members."""
    pairs = pair_distances(subject.predictions, subject.kept_members)
    n_members = len(pairs.members)
    complete = n_members == subject.predictions.n_members
    values = information_distances(subject.predictions) if complete else pairs.values
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
            "triangle": _base64.pack_array(values[np.triu_indices(n_members, 1)]),
        }
    }


def template_values(data: JsonObject) -> HtmlTable:
    """Return how far members are from the others, in the order of the heatmap."""
    own, names = data["distances"], data["ensemble"]["names"]
    kept = set(data["chosen"]["members"])
    rows = []
    for place in own["order"]:
        member, near = own["members"][place], own["nearest"][place]
        mark = "●" if member in kept else ""
        mean, to_nearest = own["mean"][place], own["to_nearest"][place]
        rows.append([names[member], mark, mean, names[near], to_nearest])
    headings = ["member", "kept", "mean distance", "nearest", "distance to it"]
    return HtmlTable(headings, rows, "Normalised variation of information.", numeric=(2, 4))


SECTION = ReportSection(
    "distances",
    "Distances between members",
    {"distances": _SHAPE},
    collect_data,
    template_values,
    is_drawn=True,
)
