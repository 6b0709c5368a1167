"""Section "Cost and score": the best panel within each total cost."""

from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable, capitalise_first, format_with_error
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import JsonObject

_ROW: JsonObject = {"cost": float, "members": int, "names": [str], "is_optimal": bool}
_ROW |= {"score": float, "half_width": Nullable(float), "validation_score": float}
_ROW |= {"upper_bound": Nullable(float), "cost_in_turn": Nullable(float)}
_ROW |= {"worst_subgroup": Nullable(float)}
_SHAPE: JsonObject = {"rows": [_ROW], "full": {"cost": float, "score": float}, "notes": [str]}
_MOST_NAMES = 4  # of the members of a panel


def collect_data(context: ReportContext) -> JsonObject:
    """Return the panels, if the report is about a frontier."""
    return {"frontier": context.frontier}


def template_values(data: JsonObject) -> JsonObject | None:
    """Return the table and the notes; None without a frontier."""
    found = data["frontier"]
    if found is None:
        return None
    return {"table": frontier_table(found, data["score"]["label"]), "notes": found["notes"]}


def frontier_table(found: JsonObject, score: str) -> HtmlTable:
    """Return a table of the panels by total cost."""
    has_subgroups = any(row["worst_subgroup"] is not None for row in found["rows"])
    headings = ["cost", "members", score, *(["worst subgroup"] * has_subgroups)]
    has_turns = any(row["cost_in_turn"] is not None for row in found["rows"])
    headings += ["validation", "at best", *(["in turn"] * has_turns)]
    caption = (
        f"{capitalise_first(score)} on held-out samples, ± half its 95 % interval; on the "
        "validation samples, and what any panel can reach there at best"
    )
    caption += "; and the expected cost of asking in turn." if has_turns else "."
    rows = [
        [
            f"{row['cost']:.6g}",
            _describe_members(row["names"]),
            format_with_error(row["score"], row["half_width"]),
            *([row["worst_subgroup"]] if has_subgroups else []),
            row["validation_score"],
            "reached" if row["is_optimal"] else row["upper_bound"],
            *([f"{row['cost_in_turn']:.4g}"] if has_turns else []),
        ]
        for row in found["rows"]
    ]
    return HtmlTable(headings, rows, caption, numeric=(0, *range(2, len(headings))))


def _describe_members(names: list[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"


SECTION = ReportSection(
    "frontier",
    "Cost and score",
    {"frontier": Nullable(_SHAPE)},
    collect_data,
    template_values,
    is_drawn=True,
    predicts=None,
)
