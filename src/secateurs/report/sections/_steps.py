"""Section "Order of selection": the kept members in order, and the vote after each step."""

from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.member_diagnostics import selection_steps
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import JsonObject

_COLUMNS = {
    "score": "score of the method",
    "accuracy": "accuracy of the vote so far",
    "alone": "accuracy of the member alone",
    "distance": "mean distance to earlier members",
    "weight": "weight",
    "coverage": "coverage",
}
_OPTIONAL = ("weight", "coverage")  # columns that are shown only if they have values

_STEP: JsonObject = {"member": int, "accuracy": float, "alone": float}
_STEP |= {"score": Nullable(float), "distance": Nullable(float), "weight": Nullable(float)}


def collect_data(context: ReportContext) -> JsonObject:
    """Return the steps of the selection."""
    weights = context.problem.member_weights
    steps = selection_steps(
        context.predictions,
        context.kept_members,
        context.pruner.scores_.tolist(),
        None if weights is None else weights[context.kept_members],
    )
    lines = [step._asdict() for step in steps]
    if context.problem.shows_coverage:
        for line in lines:
            line["coverage"] = float(context.problem.member_coverage[line["member"]])
    return {"steps": lines}


def template_values(data: JsonObject) -> HtmlTable:
    """Return a table of the steps of the selection."""
    names, columns = data["ensemble"]["names"], dict(_COLUMNS)
    for column in _OPTIONAL:
        if all(step.get(column) is None for step in data["steps"]):
            del columns[column]
    rows = [
        [number, names[step["member"]], *(step.get(column) for column in columns)]
        for number, step in enumerate(data["steps"], 1)
    ]
    caption = "On the validation set, counting labels."
    numeric = (0, *range(2, 2 + len(columns)))
    return HtmlTable(["step", "member", *columns.values()], rows, caption, numeric=numeric)


SECTION = ReportSection(
    "steps", "Order of selection", {"steps": [_STEP]}, collect_data, template_values, is_drawn=True
)
