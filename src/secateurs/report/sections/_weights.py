"""Weight of diversity: what COMEP chooses at every λ."""

from secateurs.evaluation._alternatives import weight_curve
from secateurs.objectives import TDAS
from secateurs.report import _base64
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

_SHAPE: Plain = {"grid": [float], "starts": [int], "relevance": _base64.SHAPE}
_SHAPE |= {"held_out": [[int]], "held_out_labels": [[int]]}
_SHAPE |= {"accuracy": [float], "half_width": [float], "overlap": [float]}


def facts(subject: Subject) -> Plain:
    """Return COMEP at all weights of diversity, unless there are too many members."""
    if subject.live is None:
        return {"weights": None}
    found = weight_curve(subject.split, subject.live, subject.kept, subject.keep)
    return {
        "weights": {
            "grid": found.weights,
            "starts": [curve.selection.members(1)[0] for curve in found.curves],
            "relevance": _base64.pack(TDAS(subject.votes, 0.0).relevance),
            "held_out": [curve.own.right.tolist() for curve in found.curves],
            "held_out_labels": [curve.labels.right.tolist() for curve in found.curves],
            "accuracy": found.accuracy,
            "half_width": found.half_width,
            "overlap": found.overlap,
        }
    }


def view(data: Plain) -> Table | None:
    """Return accuracy and overlap by weight; None if there were too many members."""
    own = data["weights"]
    if own is None:
        return None
    columns = (own["grid"], own["accuracy"], own["half_width"], own["overlap"])
    rows = [
        [f"{weight:g}", f"{accuracy:.4f} ± {half:.4f}", f"{overlap:.2f}"]
        for weight, accuracy, half, overlap in zip(*columns, strict=True)
    ]
    headings = ["λ", "accuracy, ± half the 95 % interval of the change", "overlap with the kept"]
    return Table(headings, rows, numeric=(0, 1, 2))


SECTION = Section(
    "weights", "Weight of diversity", {"weights": Maybe(_SHAPE)}, facts, view, is_drawn=True
)
