"""Rows lost and won: by class, and by the share of the members that are right."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs._text import signed
from secateurs.measures._pair import ratio
from secateurs.outputs._votes import Votes
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

# Shares of the members that are right, by which rows are easy or hard.
SHARES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

_COUNTS = {"rows": [int], "lost": [int], "won": [int]}
_SHAPE = {"by_class": _COUNTS, "by_share": _COUNTS, "shares": [float], "labels": [str]}


def facts(subject: Subject) -> Plain:
    """Return the rows lost and won, by class and by share."""
    judged = subject.judged
    right, still = (codes == judged.truth for codes in subject.voted)
    return {
        "losses": {
            "by_class": count(judged.truth, judged.n_classes, right, still),
            "by_share": count(share_of_right(judged), len(SHARES) - 1, right, still),
            "shares": list(SHARES),
            "labels": [str(label) for label in judged.classes],
        }
    }


def count(groups: Array, n_groups: int, before: Array, after: Array) -> Plain:
    """Count rows lost and won by group; before and after say which rows are right."""
    moved: dict[str, Any] = {"rows": slice(None), "lost": before & ~after, "won": after & ~before}
    return {
        name: np.bincount(groups[rows], minlength=n_groups).tolist() for name, rows in moved.items()
    }


def share_of_right(votes: Votes) -> NDArray[np.intp]:
    """Return for each row the place in `SHARES` of the share of members that are right there."""
    tally = votes.tally()
    n_right = tally[np.arange(len(tally)), votes.truth]
    share = ratio(n_right, tally.sum(axis=1), 0.0)
    return np.clip(np.searchsorted(SHARES, share, side="right") - 1, 0, len(SHARES) - 2)


def view(data: Plain) -> Plain:
    """Return the totals and the tables."""
    own = data["losses"]
    by_class, by_share = own["by_class"], own["by_share"]
    names = [f"{100 * low:.0f} % to {100 * high:.0f} %" for low, high in pairwise(own["shares"])]
    shares = _lines(names, by_share)
    classes = sorted(_lines(own["labels"], by_class), key=lambda line: (-line[2], line[3]))
    return {
        "lost": sum(by_class["lost"]),
        "won": sum(by_class["won"]),
        "tables": [
            _table("true class", classes, "By class, most lost first"),
            _table("members right", shares, "By the share of all members that are right"),
        ],
    }


def _lines(names: Sequence[str], counts: Plain) -> list[tuple[str, int, int, int]]:
    return list(zip(names, counts["rows"], counts["lost"], counts["won"], strict=True))


def _table(name: str, lines: Sequence[tuple[str, int, int, int]], caption: str) -> Table:
    rows = [[*line, signed(line[3] - line[2], 0)] for line in lines]
    return Table([name, "rows", "lost", "won", "balance"], rows, caption, numeric=(1, 2, 3, 4))


SECTION = Section("losses", "Rows lost and won", {"losses": _SHAPE}, facts, view)
