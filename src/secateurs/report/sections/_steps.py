"""Order of choice: the members one after the other, and the vote after each."""

from secateurs.evaluation._diagnostics import selection_steps
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

_COLUMNS = {
    "score": "score of the method",
    "accuracy": "accuracy of the vote after it",
    "alone": "accuracy alone",
    "distance": "mean distance to those before",
}

_STEP: Plain = {"member": int, "accuracy": float, "alone": float}
_STEP |= {"score": Maybe(float), "distance": Maybe(float)}


def facts(subject: Subject) -> Plain:
    """Return the choice step by step."""
    steps = selection_steps(subject.votes, subject.kept, subject.pruner.scores_.tolist())
    return {"steps": [step._asdict() for step in steps]}


def view(data: Plain) -> Table:
    """Return the choice step by step."""
    names = data["ensemble"]["names"]
    rows = [
        [number, names[step["member"]], *(step[column] for column in _COLUMNS)]
        for number, step in enumerate(data["steps"], 1)
    ]
    caption = "On the rows chosen on, counting labels."
    return Table(["step", "member", *_COLUMNS.values()], rows, caption, numeric=(0, 2, 3, 4, 5))


SECTION = Section("steps", "Order of choice", {"steps": [_STEP]}, facts, view, is_drawn=True)
