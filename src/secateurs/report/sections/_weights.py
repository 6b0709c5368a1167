"""Weight of diversity: what COMEP chooses at every λ."""

from secateurs.evaluation._alternatives import weight_curve
from secateurs.objectives import TDAS
from secateurs.report import _base64
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table, with_error
from secateurs.report.sections._section import Plain, Section, Subject

_SHAPE: Plain = {"grid": [float], "starts": [int], "relevance": _base64.SHAPE}
_SHAPE |= {"sizes": [int], "held_out": [[int]], "held_out_labels": [[int]]}
_SHAPE |= {"values": Maybe([[float]])}
_SHAPE |= {"at_keep": [float], "half_width": [Maybe(float)], "overlap": [float]}


def facts(subject: Subject) -> Plain:
    """Return COMEP at all weights of diversity, unless there are too many members."""
    if subject.live is None:
        return {"weights": None}
    found = weight_curve(subject.split, subject.live, subject.kept, subject.keep)
    scoring, selection = subject.problem.scoring, found.curves[0].selection
    place = selection.place(subject.keep)
    values = [
        [scoring.shown(value) for value in curve.scored.values.tolist()] for curve in found.curves
    ]
    return {
        "weights": {
            "grid": found.weights,
            "starts": [curve.selection.members(1)[0] for curve in found.curves],
            "relevance": _base64.pack(TDAS(subject.votes, 0.0).relevance),
            "sizes": selection.sizes,
            "held_out": [curve.own.right.tolist() for curve in found.curves],
            "held_out_labels": [curve.labels.right.tolist() for curve in found.curves],
            "values": None if subject.problem.counts_rows else values,
            "at_keep": [line[place] for line in values],
            "half_width": [curve.scored.half_width[place] for curve in found.curves],
            "overlap": found.overlap,
        }
    }


def view(data: Plain) -> Table | None:
    """Return score and overlap by weight; None if there were too many members."""
    own = data["weights"]
    if own is None:
        return None
    score, columns = data["score"]["label"], ("grid", "at_keep", "half_width", "overlap")
    rows = [
        [f"{weight:g}", with_error(value, half), f"{overlap:.2f}"]
        for weight, value, half, overlap in zip(*(own[name] for name in columns), strict=True)
    ]
    headings = ["λ", f"{score}, ± half the 95 % interval of the change", "overlap with the kept"]
    return Table(headings, rows, numeric=(0, 1, 2))


SECTION = Section(
    "weights", "Weight of diversity", {"weights": Maybe(_SHAPE)}, facts, view, is_drawn=True
)
