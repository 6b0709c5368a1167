"""Distances between members: how differently they vote."""

from secateurs.report import _base64
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section


def view(data: Plain) -> Plain:
    """Return the table."""
    return {"table": table(data)}


def table(data: Plain) -> Table:
    """Return how far members are from the others, in the order of the heatmap."""
    facts, names = data["distances"], data["ensemble"]["names"]
    kept = set(data["chosen"]["members"])
    rows = []
    for place in facts["order"]:
        member, near = facts["members"][place], facts["nearest"][place]
        mark = "●" if member in kept else ""
        mean, to_nearest = facts["mean"][place], facts["to_nearest"][place]
        rows.append([names[member], mark, mean, names[near], to_nearest])
    headings = ["member", "kept", "mean distance", "nearest", "distance to it"]
    return Table(headings, rows, "Normalised variation of information.", numeric=(2, 4))


SECTION = Section(
    "distances",
    "Distances between members",
    {
        "distances": {
            "members": [int],
            "complete": bool,
            "order": [int],
            "low": float,
            "high": float,
            "mean": [float],
            "nearest": [int],
            "to_nearest": [float],
            "triangle": _base64.SHAPE,
        }
    },
    view,
    is_drawn=True,
)
