"""Weight of diversity: what COMEP chooses at every λ."""

from secateurs.report import _base64
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section


def view(data: Plain) -> Plain | None:
    """Return the table, unless there were too many members to follow."""
    return None if data["weights"] is None else {"table": table(data)}


def table(data: Plain) -> Table:
    """Return accuracy and overlap by weight of diversity."""
    facts = data["weights"]
    columns = (facts["grid"], facts["accuracy"], facts["half_width"], facts["overlap"])
    rows = [
        [f"{weight:g}", f"{accuracy:.4f} ± {half:.4f}", f"{overlap:.2f}"]
        for weight, accuracy, half, overlap in zip(*columns, strict=True)
    ]
    headings = ["λ", "accuracy, ± half the 95 % interval of the change", "overlap with the kept"]
    return Table(headings, rows, numeric=(0, 1, 2))


SECTION = Section(
    "weights",
    "Weight of diversity",
    {
        "weights": Maybe(
            {
                "grid": [float],
                "starts": [int],
                "relevance": _base64.SHAPE,
                "held_out": [[int]],
                "held_out_labels": [[int]],
                "accuracy": [float],
                "half_width": [float],
                "overlap": [float],
            }
        )
    },
    view,
    is_drawn=True,
)
