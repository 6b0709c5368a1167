"""Section "Leaderboard": all compared methods and sizes, best score first."""

from collections.abc import Sequence

from secateurs.measures.scoring import Scoring
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import (
    HtmlTable,
    format_decimals,
    format_interval,
    format_with_error,
)
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.text_format import format_signed
from secateurs.typing import JsonObject

_LINE: JsonObject = {"method": str, "keep": int, "members": int, "pareto": bool}
_LINE |= dict.fromkeys(("score", "change", "seconds"), float)
_LINE |= dict.fromkeys(("standard_error", "low", "high", "accuracy"), Nullable(float))
_LINE |= {"bytes": Nullable(float), "ms": Nullable(float)}


def collect_data(context: ReportContext) -> JsonObject:
    """Return the lines of the leaderboard; None if methods were not compared."""
    lines, scoring = context.leaderboard, context.problem.scoring
    return {
        "leaderboard": None
        if lines is None
        else [leaderboard_line(line, scoring) for line in lines]
    }


def leaderboard_line(line: JsonObject, scoring: Scoring) -> JsonObject:
    """Return a line with the field "score", losses as positive numbers, and changes to match."""
    kept = {name: value for name, value in line.items() if name not in (scoring.name, "accuracy")}
    kept |= {"score": scoring.display_score(line[scoring.name]), "accuracy": line.get("accuracy")}
    if scoring.larger_is_better:
        return kept
    low, high = (None if kept[end] is None else 0.0 - kept[end] for end in ("high", "low"))
    return kept | {"change": 0.0 - kept["change"], "low": low, "high": high}


def template_values(data: JsonObject) -> JsonObject | None:
    """Return the table and the notes on methods; None if methods were not compared."""
    lines, chosen, score = data["leaderboard"], data["chosen"], data["score"]
    if lines is None:
        return None
    shown = chosen["label"], chosen["keep"]
    marked = [index for index, line in enumerate(lines) if (line["method"], line["keep"]) == shown]
    table = leaderboard_table(lines, score["label"], score["larger_is_better"], marked)
    return {"table": table, "notes": data["method_notes"]}


def leaderboard_table(
    lines: Sequence[JsonObject], score: str, larger_is_better: bool, marked: Sequence[int] = ()
) -> HtmlTable:
    """Return the leaderboard as a table that readers can sort."""
    headings = ["method", "members", score, "change", "95 % interval"]
    headings += ["megabytes", "ms per row", "seconds to select", "Pareto"]
    columns = ["method", "members", "score", "change", "low", "bytes", "ms", "seconds", "pareto"]
    has_coverage = any(line.get("coverage") is not None for line in lines)
    if has_coverage:
        headings, columns = [*headings, "coverage"], [*columns, "coverage"]
    keys = [[_sort_key(line.get(column)) for column in columns] for line in lines]
    rows = [
        [
            line["method"],
            line["members"],
            format_with_error(line["score"], line["standard_error"]),
            format_signed(line["change"]),
            format_interval(line["low"], line["high"]),
            format_decimals(None if line["bytes"] is None else line["bytes"] / 1e6, 3),
            format_decimals(line["ms"], 2),
            format_decimals(line["seconds"], 3),
            "●" if line["pareto"] else "",
            *([format_decimals(line.get("coverage"), 3)] if has_coverage else []),
        ]
        for line in lines
    ]
    caption = f"Best {score} first. ● marks lines for which no other line is as good and cheaper."
    order = 2, "descending" if larger_is_better else "ascending"
    numeric = (*range(1, 8), *range(9, len(headings)))
    return HtmlTable(headings, rows, caption, numeric, keys, order, marked)


def _sort_key(value: object) -> object:
    """Return a value that `sorting.js` can sort: 0 or 1 instead of false or true."""
    return int(value) if isinstance(value, bool) else value


SECTION = ReportSection(
    "leaderboard",
    "Leaderboard",
    {"leaderboard": Nullable([_LINE])},
    collect_data,
    template_values,
    predicts=None,
)
