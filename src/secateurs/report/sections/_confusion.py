"""Confusion: which classes are taken for which, by all members and by the kept ones."""

from collections.abc import Sequence
from typing import NamedTuple

from secateurs._text import signed
from secateurs.report.sections._section import Plain, Section

Counts = Sequence[Sequence[int]]


class _Cell(NamedTuple):
    number: str
    percent: str
    shade: str


def view(data: Plain) -> Plain:
    """Return the matrices of all members, of the kept ones, and of the change."""
    facts = data["confusion"]
    whole, kept = facts["whole"], facts["kept"]
    change = [
        [after - before for before, after in zip(*rows, strict=True)]
        for rows in zip(whole, kept, strict=True)
    ]
    n_rows = facts["rows"]
    return {
        "labels": [facts["labels"][place] for place in facts["classes"]],
        "matrices": {
            "All members": _matrix(whole, n_rows),
            "Kept": _matrix(kept, n_rows),
            "Change": _matrix(change, n_rows, is_change=True),
        },
    }


def _matrix(counts: Counts, n_rows: Sequence[int], is_change: bool = False) -> list[list[_Cell]]:
    return [
        [_cell(count, total, place == column, is_change) for column, count in enumerate(line)]
        for place, (line, total) in enumerate(zip(counts, n_rows, strict=True))
    ]


def _cell(count: int, n_rows: int, diagonal: bool, is_change: bool) -> _Cell:
    part = count / n_rows if n_rows else 0.0
    if is_change:
        shade = _shade("good" if (part > 0) == diagonal else "bad", min(60.0, 700 * abs(part)))
        texts = signed(count, 0), f"{signed(100 * part, 1)} %"
    else:
        strength = 55 * part if diagonal else min(55.0, 250 * part)
        shade = _shade("accent" if diagonal else "bad", strength)
        texts = f"{count:,}", f"{100 * part:.1f} %"
    return _Cell(*(texts if count else ("·", "·")), shade)


def _shade(colour: str, strength: float) -> str:
    if strength < 0.5:
        return ""
    return f"background:color-mix(in srgb,var(--{colour}) {strength:.0f}%,transparent)"


SECTION = Section(
    "confusion",
    "Confusion",
    {
        "confusion": {
            "classes": [int],
            "n_classes": int,
            "whole": [[int]],
            "kept": [[int]],
            "rows": [int],
            "labels": [str],
        }
    },
    view,
)
