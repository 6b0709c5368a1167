"""Leaderboard: every method and size that was compared, the most accurate first."""

from collections.abc import Sequence
from typing import Any

from secateurs._text import signed
from secateurs.measures._scoring import Scoring
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table, decimals, interval, with_error
from secateurs.report.sections._section import Plain, Section, Subject

_LINE: Plain = {"method": str, "keep": int, "members": int, "pareto": bool}
_LINE |= dict.fromkeys(("score", "change", "seconds"), float)
_LINE |= dict.fromkeys(("standard_error", "low", "high", "accuracy"), Maybe(float))
_LINE |= {"bytes": Maybe(float), "ms": Maybe(float)}


def facts(subject: Subject) -> Plain:
    """Return the lines of the comparison, if there was one."""
    lines, scoring = subject.leaderboard, subject.problem.scoring
    return {"leaderboard": None if lines is None else [named(line, scoring) for line in lines]}


def named(line: Plain, scoring: Scoring) -> Plain:
    """Return a line with its score as people know it, by the name that all scores have here."""
    kept = {name: value for name, value in line.items() if name not in (scoring.name, "accuracy")}
    kept |= {"score": scoring.shown(line[scoring.name]), "accuracy": line.get("accuracy")}
    if scoring.larger_is_better:
        return kept
    low, high = (None if kept[end] is None else 0.0 - kept[end] for end in ("high", "low"))
    return kept | {"change": 0.0 - kept["change"], "low": low, "high": high}


def view(data: Plain) -> Plain | None:
    """Return the table and what to know of methods, if methods were compared."""
    lines, chosen, score = data["leaderboard"], data["chosen"], data["score"]
    if lines is None:
        return None
    own = chosen["label"], chosen["keep"]
    marked = [place for place, one in enumerate(lines) if (one["method"], one["keep"]) == own]
    drawn = table(lines, score["label"], score["larger_is_better"], marked)
    return {"table": drawn, "notes": data["method_notes"]}


def table(
    lines: Sequence[Plain], score: str, larger_is_better: bool, marked: Sequence[int] = ()
) -> Table:
    """Return the leaderboard of a comparison by a score."""
    headings = ["method", "members", score, "change", "95 % interval"]
    headings += ["megabytes", "ms per row", "seconds to choose", "Pareto"]
    columns = ("method", "members", "score", "change", "low", "bytes", "ms", "seconds", "pareto")
    keys = [[_key(line[column]) for column in columns] for line in lines]
    rows = [
        [
            line["method"],
            line["members"],
            with_error(line["score"], line["standard_error"]),
            signed(line["change"]),
            interval(line["low"], line["high"]),
            decimals(None if line["bytes"] is None else line["bytes"] / 1e6, 3),
            decimals(line["ms"], 2),
            decimals(line["seconds"], 3),
            "●" if line["pareto"] else "",
        ]
        for line in lines
    ]
    caption = f"Best {score} first. ● nothing else is at least as good and cheaper."
    order = 2, "descending" if larger_is_better else "ascending"
    return Table(headings, rows, caption, range(1, 8), keys, order, marked)


def _key(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


SECTION = Section(
    "leaderboard", "Leaderboard", {"leaderboard": Maybe([_LINE])}, facts, view, predicts=None
)
