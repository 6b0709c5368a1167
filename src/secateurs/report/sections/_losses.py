"""Section "Changed predictions": newly wrong and newly right samples, by class and difficulty."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from secateurs.measures.pair_measure import safe_divide
from secateurs.outputs.votes import Votes
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.text_format import format_signed
from secateurs.typing import Array, JsonObject

# Bin edges of the share of members that are right; below one half they are a minority.
SHARES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

_COUNTS = {"rows": [int], "lost": [int], "won": [int]}
_SHAPE = {"by_class": _COUNTS, "by_share": _COUNTS, "shares": [float], "labels": [str]}


def collect_data(context: ReportContext) -> JsonObject:
    """Return the samples lost and won, by class and by the share of members that are right."""
    scored = context.evaluation_predictions
    before, after = (codes == scored.truth for codes in context.predicted_codes)
    return {
        "losses": {
            "by_class": count_by_group(scored.truth, scored.n_classes, before, after),
            "by_share": count_by_group(right_share_bins(scored), len(SHARES) - 1, before, after),
            "shares": list(SHARES),
            "labels": [str(label) for label in scored.classes],
        }
    }


def count_by_group(groups: Array, n_groups: int, before: Array, after: Array) -> JsonObject:
    """Count all, lost and won samples by group; two masks mark the correct predictions."""
    masks: dict[str, Array | slice] = {"rows": slice(None)}
    masks |= {"lost": before & ~after, "won": after & ~before}
    return {
        name: np.bincount(groups[mask], minlength=n_groups).tolist() for name, mask in masks.items()
    }


def right_share_bins(votes: Votes) -> NDArray[np.intp]:
    """Return the bin of `SHARES` for each sample, by the share of members that are right."""
    tally = votes.tally()
    n_right = tally[np.arange(len(tally)), votes.truth]
    n_counted = tally.sum(axis=1) if votes.leaves_out_missing else votes.n_members
    share = safe_divide(n_right, n_counted, 0.0)
    return np.clip(np.searchsorted(SHARES, share, side="right") - 1, 0, len(SHARES) - 2)


def template_values(data: JsonObject) -> JsonObject:
    """Return the totals and the tables by class and by difficulty."""
    losses = data["losses"]
    by_class, by_share = losses["by_class"], losses["by_share"]
    names = [f"{100 * low:.0f} % to {100 * high:.0f} %" for low, high in pairwise(losses["shares"])]
    shares = _group_lines(names, by_share)
    classes = sorted(_group_lines(losses["labels"], by_class), key=lambda line: (-line[2], line[3]))
    return {
        "lost": sum(by_class["lost"]),
        "won": sum(by_class["won"]),
        "tables": [
            _losses_table("true class", classes, "By class, most newly wrong samples first"),
            _losses_table("correct members", shares, "By share of all members that are correct"),
        ],
    }


def _group_lines(names: Sequence[str], counts: JsonObject) -> list[tuple[str, int, int, int]]:
    return list(zip(names, counts["rows"], counts["lost"], counts["won"], strict=True))


def _losses_table(name: str, lines: Sequence[tuple[str, int, int, int]], caption: str) -> HtmlTable:
    rows = [[*line, format_signed(line[3] - line[2], 0)] for line in lines]
    headings = [name, "samples", "newly wrong", "newly right", "balance"]
    return HtmlTable(headings, rows, caption, numeric=(1, 2, 3, 4))


SECTION = ReportSection(
    "losses", "Changed predictions", {"losses": _SHAPE}, collect_data, template_values
)
