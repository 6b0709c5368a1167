"""Leaderboard: every method and size that was compared, the most accurate first."""

from collections.abc import Sequence

from secateurs._text import signed
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table, decimals, interval
from secateurs.report.sections._section import Plain, Section, Subject

_LINE: Plain = {"method": str, "keep": int, "members": int, "pareto": bool}
_LINE |= dict.fromkeys(("accuracy", "standard_error", "change", "low", "high", "seconds"), float)
_LINE |= {"bytes": Maybe(float), "ms": Maybe(float)}


def facts(subject: Subject) -> Plain:
    """Return the lines of the comparison, if there was one."""
    return {"leaderboard": subject.leaderboard}


def view(data: Plain) -> Table | None:
    """Return the table, if methods were compared."""
    return None if data["leaderboard"] is None else table(data["leaderboard"])


def table(lines: Sequence[Plain]) -> Table:
    """Return the leaderboard of a comparison."""
    headings = ["method", "members", "accuracy", "change", "95 % interval"]
    headings += ["megabytes", "ms per row", "seconds to choose", "Pareto"]
    rows = [
        [
            line["method"],
            line["members"],
            f"{line['accuracy']:.4f} ± {line['standard_error']:.4f}",
            signed(line["change"]),
            interval(line["low"], line["high"]),
            decimals(None if line["bytes"] is None else line["bytes"] / 1e6, 3),
            decimals(line["ms"], 2),
            decimals(line["seconds"], 3),
            "●" if line["pareto"] else "",
        ]
        for line in lines
    ]
    caption = "Most accurate first. ● nothing else is at least as accurate and cheaper."
    return Table(headings, rows, caption, numeric=range(1, 8))


SECTION = Section("leaderboard", "Leaderboard", {"leaderboard": Maybe([_LINE])}, facts, view)
