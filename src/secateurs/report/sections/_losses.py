"""Rows lost and won: by class, and by the share of the members that are right."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.measures.pair_measure import safe_divide
from secateurs.outputs.votes import Votes
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection
from secateurs.text_format import format_signed
from secateurs.typing import Array

# Shares of the members that are right, by which rows are easy or hard.
SHARES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

_COUNTS = {"rows": [int], "lost": [int], "won": [int]}
_SHAPE = {"by_class": _COUNTS, "by_share": _COUNTS, "shares": [float], "labels": [str]}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return the rows lost and won, by class and by share."""
    judged = subject.evaluation_predictions
    right, still = (codes == judged.truth for codes in subject.predicted_codes)
    return {
        "losses": {
            "by_class": count_by_group(judged.truth, judged.n_classes, right, still),
            "by_share": count_by_group(right_share_bins(judged), len(SHARES) - 1, right, still),
            "shares": list(SHARES),
            "labels": [str(label) for label in judged.classes],
        }
    }


def count_by_group(groups: Array, n_groups: int, before: Array, after: Array) -> JsonObject:
    """Count rows lost and won by group; before and after say which rows are right."""
    moved: dict[str, Any] = {"rows": slice(None), "lost": before & ~after, "won": after & ~before}
    return {
        name: np.bincount(groups[rows], minlength=n_groups).tolist() for name, rows in moved.items()
    }


def right_share_bins(votes: Votes) -> NDArray[np.intp]:
    """Return for each row the place in `SHARES` of the share of members that are right there."""
    tally = votes.tally()
    n_right = tally[np.arange(len(tally)), votes.truth]
    share = safe_divide(n_right, tally.sum(axis=1), 0.0)
    return np.clip(np.searchsorted(SHARES, share, side="right") - 1, 0, len(SHARES) - 2)


def template_values(data: JsonObject) -> JsonObject:
    """Return the totals and the tables."""
    own = data["losses"]
    by_class, by_share = own["by_class"], own["by_share"]
    names = [f"{100 * low:.0f} % to {100 * high:.0f} %" for low, high in pairwise(own["shares"])]
    shares = _group_lines(names, by_share)
    classes = sorted(_group_lines(own["labels"], by_class), key=lambda line: (-line[2], line[3]))
    return {
        "lost": sum(by_class["lost"]),
        "won": sum(by_class["won"]),
        "tables": [
            _losses_table("true class", classes, "By class, most lost first"),
            _losses_table("members right", shares, "By the share of all members that are right"),
        ],
    }


def _group_lines(names: Sequence[str], counts: JsonObject) -> list[tuple[str, int, int, int]]:
    return list(zip(names, counts["rows"], counts["lost"], counts["won"], strict=True))


def _losses_table(name: str, lines: Sequence[tuple[str, int, int, int]], caption: str) -> HtmlTable:
    rows = [[*line, format_signed(line[3] - line[2], 0)] for line in lines]
    return HtmlTable([name, "rows", "lost", "won", "balance"], rows, caption, numeric=(1, 2, 3, 4))


SECTION = ReportSection(
    "losses", "Rows lost and won", {"losses": _SHAPE}, collect_data, template_values
)
