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
    "weight": "weight",
}

_STEP: Plain = {"member": int, "accuracy": float, "alone": float}
_STEP |= {"score": Maybe(float), "distance": Maybe(float), "weight": Maybe(float)}


def facts(subject: Subject) -> Plain:
    """Return the choice step by step."""
    weights = subject.problem.weights
    steps = selection_steps(
        subject.votes,
        subject.kept,
        subject.pruner.scores_.tolist(),
        None if weights is None else weights[subject.kept],
    )
    return {"steps": [step._asdict() for step in steps]}


def view(data: Plain) -> Table:
    """Return the choice step by step."""
    names, columns = data["ensemble"]["names"], dict(_COLUMNS)
    if all(step["weight"] is None for step in data["steps"]):
        del columns["weight"]
    rows = [
        [number, names[step["member"]], *(step[column] for column in columns)]
        for number, step in enumerate(data["steps"], 1)
    ]
    caption = "On the rows chosen on, counting labels."
    numeric = (0, *range(2, 2 + len(columns)))
    return Table(["step", "member", *columns.values()], rows, caption, numeric=numeric)


SECTION = Section("steps", "Order of choice", {"steps": [_STEP]}, facts, view, is_drawn=True)
