"""Section "Confusion": confusion matrices of the full and of the pruned ensemble."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.text_format import format_signed
from secateurs.typing import Array, JsonObject

Counts = Sequence[Sequence[int]]

_MOST_CLASSES = 15  # in a matrix; more columns would not be readable on one screen
_SHAPE: JsonObject = {"classes": [int], "n_classes": int, "rows": [int], "labels": [str]}
_SHAPE |= {"whole": [[int]], "kept": [[int]]}


class _MatrixCell(NamedTuple):
    number: str
    percent: str
    shade: str


def collect_data(context: ReportContext) -> JsonObject:
    """Return the matrices and the names of the classes."""
    scored = context.evaluation_predictions
    matrices = confusion_matrices(scored.truth, *context.predicted_codes, scored.n_classes)
    return {"confusion": matrices | {"labels": [str(label) for label in scored.classes]}}


def confusion_matrices(truth: Array, before: Array, after: Array, n_classes: int) -> JsonObject:
    """Return the matrices of both ensembles for the classes whose counts change the most."""
    full, kept = (confusion_counts(truth, codes, n_classes) for codes in (before, after))
    change = np.abs(full - kept)
    shown = np.argsort(-change.sum(axis=1) - change.sum(axis=0), kind="stable")[:_MOST_CLASSES]
    grid = np.ix_(shown, shown)
    return {
        "classes": shown.tolist(),
        "n_classes": n_classes,
        "whole": full[grid].tolist(),
        "kept": kept[grid].tolist(),
        "rows": np.bincount(truth, minlength=n_classes)[shown].tolist(),
    }


def confusion_counts(truth: Array, predicted: Array, n_classes: int) -> Array:
    """Return the number of samples by true and predicted code."""
    has_prediction = predicted >= 0  # not where the predictions of all members are missing
    cells = (truth.astype(np.int64) * n_classes + predicted)[has_prediction]
    return np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes)


def template_values(data: JsonObject) -> JsonObject:
    """Return the matrices of the full ensemble, of the pruned one, and of the change."""
    confusion = data["confusion"]
    full, kept = confusion["whole"], confusion["kept"]
    change, n_samples = np.subtract(kept, full).tolist(), confusion["rows"]
    return {
        "labels": [confusion["labels"][code] for code in confusion["classes"]],
        "matrices": {
            "Full ensemble": _matrix_cells(full, n_samples),
            "Pruned ensemble": _matrix_cells(kept, n_samples),
            "Change": _matrix_cells(change, n_samples, is_change=True),
        },
    }


def _matrix_cells(
    counts: Counts, n_samples: Sequence[int], is_change: bool = False
) -> list[list[_MatrixCell]]:
    return [
        [_matrix_cell(count, total, row == column, is_change) for column, count in enumerate(line)]
        for row, (line, total) in enumerate(zip(counts, n_samples, strict=True))
    ]


def _matrix_cell(count: int, n_samples: int, diagonal: bool, is_change: bool) -> _MatrixCell:
    """Return a cell; errors and changes are few, so their colour grows faster with their share.

    The strength stays at 60 % or below, so that the text on the colour remains readable.
    """
    share = count / n_samples if n_samples else 0.0
    if is_change:
        shade = _background_style(
            "good" if (share > 0) == diagonal else "bad", min(60.0, 700 * abs(share))
        )
        texts = format_signed(count, 0), f"{format_signed(100 * share, 1)} %"
    else:
        strength = 55 * share if diagonal else min(55.0, 250 * share)
        shade = _background_style("accent" if diagonal else "bad", strength)
        texts = f"{count:,}", f"{100 * share:.1f} %"
    return _MatrixCell(*(texts if count else ("·", "·")), shade)


def _background_style(colour: str, strength: float) -> str:
    if strength < 0.5:
        return ""
    return f"background:color-mix(in srgb,var(--{colour}) {strength:.0f}%,transparent)"


SECTION = ReportSection(
    "confusion", "Confusion", {"confusion": _SHAPE}, collect_data, template_values
)
