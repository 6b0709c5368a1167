"""Leaderboard: every method and size that was compared, the most accurate first."""

from collections.abc import Sequence

from secateurs._text import signed
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table, decimals, interval
from secateurs.report.sections._section import Plain, Section, Subject

_LINE: Plain = {"method": str, "keep": int, "members": int, "pareto": bool}
_LINE |= dict.fromkeys(("score", "change", "seconds"), float)
_LINE |= dict.fromkeys(("standard_error", "low", "high", "accuracy"), Maybe(float))
_LINE |= {"bytes": Maybe(float), "ms": Maybe(float)}


def facts(subject: Subject) -> Plain:
    """Return the lines of the comparison, if there was one."""
    lines, score = subject.leaderboard, subject.problem.scoring.name
    return {"leaderboard": None if lines is None else [named(line, score) for line in lines]}


def named(line: Plain, score: str) -> Plain:
    """Return a line with its score under the name that all scores have here."""
    kept = {name: value for name, value in line.items() if name not in (score, "accuracy")}
    return kept | {"score": line[score], "accuracy": line.get("accuracy")}


def view(data: Plain) -> Table | None:
    """Return the table, if methods were compared."""
    lines = data["leaderboard"]
    return None if lines is None else table(lines, data["score"]["name"])


def table(lines: Sequence[Plain], score: str) -> Table:
    """Return the leaderboard of a comparison by a score."""
    headings = ["method", "members", score, "change", "95 % interval"]
    headings += ["megabytes", "ms per row", "seconds to choose", "Pareto"]
    rows = [
        [
            line["method"],
            line["members"],
            _with_error(line["score"], line["standard_error"]),
            signed(line["change"]),
            interval(line["low"], line["high"]),
            decimals(None if line["bytes"] is None else line["bytes"] / 1e6, 3),
            decimals(line["ms"], 2),
            decimals(line["seconds"], 3),
            "●" if line["pareto"] else "",
        ]
        for line in lines
    ]
    caption = "Best first. ● nothing else is at least as good and cheaper."
    return Table(headings, rows, caption, numeric=range(1, 8))


def _with_error(score: float, error: float | None) -> str:
    return f"{score:.4f}" if error is None else f"{score:.4f} ± {error:.4f}"


SECTION = Section(
    "leaderboard", "Leaderboard", {"leaderboard": Maybe([_LINE])}, facts, view, predicts=None
)
