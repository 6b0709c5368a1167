"""Order of choice: the members one after the other, and the vote after each."""

from secateurs.evaluation.member_diagnostics import selection_steps
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection

_COLUMNS = {
    "score": "score of the method",
    "accuracy": "accuracy of the vote after it",
    "alone": "accuracy alone",
    "distance": "mean distance to those before",
    "weight": "weight",
}

_STEP: JsonObject = {"member": int, "accuracy": float, "alone": float}
_STEP |= {"score": Nullable(float), "distance": Nullable(float), "weight": Nullable(float)}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return the choice step by step."""
    weights = subject.problem.member_weights
    steps = selection_steps(
        subject.predictions,
        subject.kept_members,
        subject.pruner.scores_.tolist(),
        None if weights is None else weights[subject.kept_members],
    )
    return {"steps": [step._asdict() for step in steps]}


def template_values(data: JsonObject) -> HtmlTable:
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
    return HtmlTable(["step", "member", *columns.values()], rows, caption, numeric=numeric)


SECTION = ReportSection(
    "steps", "Order of choice", {"steps": [_STEP]}, collect_data, template_values, is_drawn=True
)
