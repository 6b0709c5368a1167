"""Score against size, of numbers: every method at every size, on held-out rows."""

import numpy as np

from secateurs._labels import Array
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table, decimals
from secateurs.report.sections._accuracy_size import some_sizes
from secateurs.report.sections._section import Plain, Section, Subject

_CURVE: Plain = {"label": str, "sizes": [int], "values": [float], "half_width": [Maybe(float)]}
_SHAPE: Plain = {"whole": float, "curves": [_CURVE | {"is_nested": bool}]}


def facts(subject: Subject) -> Plain:
    """Return the score of all members, and of every method at every size, as people know it."""
    scoring, curves = subject.problem.scoring, subject.evaluation.curves
    whole = subject.curve.scored.whole_value
    return {
        "score_size": {
            "whole": scoring.shown(whole),
            "curves": [
                {
                    "label": label,
                    "sizes": curve.selection.sizes,
                    "values": [scoring.shown(value) for value in curve.scored.values.tolist()],
                    "half_width": _known(curve.scored.half_width),
                    "is_nested": curve.selection.order is not None,
                }
                for label, curve in curves.items()
            ],
        }
    }


def _known(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def view(data: Plain) -> Plain:
    """Return the score by size as a table."""
    own, score = data["score_size"], data["score"]["label"]
    curves = own["curves"]
    rows = [
        [size, *(_at(curve, size) for curve in curves)]
        for size in some_sizes(curves, data["chosen"]["keep"])
    ]
    rows.append([data["ensemble"]["n_members"], *[f"{own['whole']:.4f}"] * len(curves)])
    headings = ["members", *(curve["label"] for curve in curves)]
    caption = f"{score[0].upper()}{score[1:]} on held-out rows; in the last line, of all members."
    table = Table(headings, rows, caption, numeric=range(len(headings)))
    return {"table": table, "score": score, "better": data["score"]["larger_is_better"]}


def _at(curve: Plain, size: int) -> str:
    sizes = curve["sizes"]
    return decimals(curve["values"][sizes.index(size)], 4) if size in sizes else ""


SECTION = Section(
    "score-size",
    "Score against size",
    {"score_size": _SHAPE},
    facts,
    view,
    is_drawn=True,
    predicts="numbers",
)
