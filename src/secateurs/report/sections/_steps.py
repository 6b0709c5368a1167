"""Order of choice: the members one after the other, and the vote after each."""

from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section

_COLUMNS = {
    "score": "score of the method",
    "accuracy": "accuracy of the vote after it",
    "alone": "accuracy alone",
    "distance": "mean distance to those before",
}


def view(data: Plain) -> Plain:
    """Return the table."""
    return {"table": table(data)}


def table(data: Plain) -> Table:
    """Return the choice step by step."""
    names = data["ensemble"]["names"]
    rows = [
        [number, names[step["member"]], *(step[column] for column in _COLUMNS)]
        for number, step in enumerate(data["steps"], 1)
    ]
    caption = "On the rows chosen on, counting labels."
    return Table(["step", "member", *_COLUMNS.values()], rows, caption, numeric=(0, 2, 3, 4, 5))


SECTION = Section(
    "steps",
    "Order of choice",
    {
        "steps": [
            {
                "member": int,
                "score": Maybe(float),
                "accuracy": float,
                "alone": float,
                "distance": Maybe(float),
            }
        ]
    },
    view,
    is_drawn=True,
)
