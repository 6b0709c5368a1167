"""Distances between members: how differently they vote."""

import numpy as np

from secateurs.evaluation._alternatives import distances_of
from secateurs.evaluation._diagnostics import pair_distances
from secateurs.report import _base64
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

_SHAPE: Plain = {"members": [int], "complete": bool, "order": [int], "low": float, "high": float}
_SHAPE |= {"mean": [float], "nearest": [int], "to_nearest": [float], "triangle": _base64.SHAPE}


def facts(subject: Subject) -> Plain:
    """Return the distances of all pairs, or of some where there are very many members."""
    pairs = pair_distances(subject.votes, subject.kept)
    n_members = len(pairs.members)
    complete = n_members == subject.votes.n_members
    values = distances_of(subject.votes) if complete else pairs.values
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
            "triangle": _base64.pack(values[np.triu_indices(n_members, 1)]),
        }
    }


def view(data: Plain) -> Table:
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
    return Table(headings, rows, "Normalised variation of information.", numeric=(2, 4))


SECTION = Section(
    "distances", "Distances between members", {"distances": _SHAPE}, facts, view, is_drawn=True
)
