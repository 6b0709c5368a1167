"""Confusion: which classes are taken for which, by all members and by the kept ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection
from secateurs.text_format import format_signed
from secateurs.typing import Array

Counts = Sequence[Sequence[int]]

_MOST_CLASSES = 15  # in a matrix
_SHAPE: JsonObject = {"classes": [int], "n_classes": int, "rows": [int], "labels": [str]}
_SHAPE |= {"whole": [[int]], "kept": [[int]]}


class _MatrixCell(NamedTuple):
    number: str
    percent: str
    shade: str


def collect_data(subject: ReportContext) -> JsonObject:
    """Return the matrices, and the names of the classes."""
    judged = subject.evaluation_predictions
    found = confusion_matrices(judged.truth, *subject.predicted_codes, judged.n_classes)
    return {"confusion": found | {"labels": [str(label) for label in judged.classes]}}


def confusion_matrices(truth: Array, before: Array, after: Array, n_classes: int) -> JsonObject:
    """Return the matrices of all and of the kept members, of the classes that change the most."""
    whole, kept = (confusion_counts(truth, codes, n_classes) for codes in (before, after))
    change = np.abs(whole - kept)
    shown = np.argsort(-change.sum(axis=1) - change.sum(axis=0), kind="stable")[:_MOST_CLASSES]
    grid = np.ix_(shown, shown)
    return {
        "classes": shown.tolist(),
        "n_classes": n_classes,
        "whole": whole[grid].tolist(),
        "kept": kept[grid].tolist(),
        "rows": whole[shown].sum(axis=1).tolist(),
    }


def confusion_counts(truth: Array, predicted: Array, n_classes: int) -> Array:
    """Return the number of rows by true and predicted code."""
    cells = truth.astype(np.int64) * n_classes + predicted
    return np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes)


def template_values(data: JsonObject) -> JsonObject:
    """Return the matrices of all members, of the kept ones, and of the change."""
    own = data["confusion"]
    whole, kept = own["whole"], own["kept"]
    change, n_rows = np.subtract(kept, whole).tolist(), own["rows"]
    return {
        "labels": [own["labels"][place] for place in own["classes"]],
        "matrices": {
            "All members": _matrix_cells(whole, n_rows),
            "Kept": _matrix_cells(kept, n_rows),
            "Change": _matrix_cells(change, n_rows, is_change=True),
        },
    }


def _matrix_cells(
    counts: Counts, n_rows: Sequence[int], is_change: bool = False
) -> list[list[_MatrixCell]]:
    return [
        [
            _matrix_cell(count, total, place == column, is_change)
            for column, count in enumerate(line)
        ]
        for place, (line, total) in enumerate(zip(counts, n_rows, strict=True))
    ]


def _matrix_cell(count: int, n_rows: int, diagonal: bool, is_change: bool) -> _MatrixCell:
    part = count / n_rows if n_rows else 0.0
    if is_change:
        shade = _background_style(
            "good" if (part > 0) == diagonal else "bad", min(60.0, 700 * abs(part))
        )
        texts = format_signed(count, 0), f"{format_signed(100 * part, 1)} %"
    else:
        strength = 55 * part if diagonal else min(55.0, 250 * part)
        shade = _background_style("accent" if diagonal else "bad", strength)
        texts = f"{count:,}", f"{100 * part:.1f} %"
    return _MatrixCell(*(texts if count else ("·", "·")), shade)


def _background_style(colour: str, strength: float) -> str:
    if strength < 0.5:
        return ""
    return f"background:color-mix(in srgb,var(--{colour}) {strength:.0f}%,transparent)"


SECTION = ReportSection(
    "confusion", "Confusion", {"confusion": _SHAPE}, collect_data, template_values
)
