"""Rows lost and won: by class, and by the share of the members that are right."""

from collections.abc import Sequence
from itertools import pairwise

from secateurs._text import signed
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section

_COUNTS = {"rows": [int], "lost": [int], "won": [int]}


def view(data: Plain) -> Plain:
    """Return the totals and the tables."""
    facts = data["losses"]
    by_class, by_share = facts["by_class"], facts["by_share"]
    shares = [f"{100 * low:.0f} % to {100 * high:.0f} %" for low, high in pairwise(facts["shares"])]
    classes = sorted(_lines(facts["labels"], by_class), key=lambda line: (-line[2], line[3]))
    return {
        "lost": sum(by_class["lost"]),
        "won": sum(by_class["won"]),
        "tables": [
            _table("true class", classes, "By class, most lost first"),
            _table(
                "members right",
                _lines(shares, by_share),
                "By the share of all members that are right",
            ),
        ],
    }


def _lines(names: Sequence[str], counts: Plain) -> list[tuple[str, int, int, int]]:
    return list(zip(names, counts["rows"], counts["lost"], counts["won"], strict=True))


def _table(name: str, lines: Sequence[tuple[str, int, int, int]], caption: str) -> Table:
    rows = [[*line, signed(line[3] - line[2], 0)] for line in lines]
    return Table([name, "rows", "lost", "won", "balance"], rows, caption, numeric=(1, 2, 3, 4))


SECTION = Section(
    "losses",
    "Rows lost and won",
    {"losses": {"by_class": _COUNTS, "by_share": _COUNTS, "shares": [float], "labels": [str]}},
    view,
)
