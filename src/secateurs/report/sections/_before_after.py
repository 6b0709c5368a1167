"""Before and after: figures of all members and of the kept ones."""

from collections.abc import Sequence

from secateurs._text import NOTHING, signed
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table, decimals, interval
from secateurs.report.sections._section import Plain, Section

_LABELS = {"megabytes": "MB as pickle"}  # short ones, for small screens
_LABELS |= {f"megabytes as {suffix}": f"MB as {suffix}" for suffix in (".skops", ".onnx")}
_TOLERANCE = 0.005  # half a point of accuracy

_TIMINGS = {"low": float, "high": float, "all": [float]}
_LINE = {
    "figure": str,
    **dict.fromkeys(("before", "after", "change", "low", "high"), Maybe(float)),
    "timings": Maybe({"before": _TIMINGS, "after": _TIMINGS}),
}


def view(data: Plain) -> Plain:
    """Return the table, and which notes belong below it."""
    lines = data["before_after"]
    sizes = [line["before"] for line in lines if line["figure"].startswith("megabytes")]
    return {
        "table": table(lines),
        "too_large": None in sizes,
        "timed": any(line["timings"] is not None for line in lines),
    }


def table(lines: Sequence[Plain]) -> Table:
    """Return the figures of all and of the kept members."""
    rows: list[list[str]] = []
    for line in lines:
        name: str = line["figure"]
        figures = [_figure(name, line[column]) for column in ("before", "after")]
        label = _LABELS.get(name, name)
        rows.append([label, *figures, _change(line), interval(line["low"], line["high"])])
        if line["timings"] is not None:
            rows.append(_spread_of_timings(line["timings"]))
    headings = ["", "all members", "kept", "change", "95 % interval"]
    return Table(headings, rows, numeric=range(1, 5))


def _figure(name: str, value: float | None) -> str:
    places = 0 if name == "members" else 3 if name.startswith(("ms", "megabytes")) else 4
    return decimals(value, places)


def _change(line: Plain) -> str:
    before, after, change = line["before"], line["after"], line["change"]
    if change is None:
        return NOTHING
    if line["figure"].startswith(("members", "megabytes")):
        return f"{signed(100 * change / before, 0)} %" if before else NOTHING
    if line["figure"].startswith("ms"):
        return f"{before / after:.1f}× faster" if after and before >= after else signed(change, 3)
    return signed(change)


def _spread_of_timings(timings: Plain) -> list[str]:
    spread = []
    for column in ("before", "after"):
        low, high = timings[column]["low"], timings[column]["high"]
        places = 3 if high < 1 else 2 if high < 100 else 1
        spread.append(f"{decimals(low, places)}–{decimals(high, places)}")
    return [f"5–95 % of {len(timings['before']['all']):,} timings", *spread, "", ""]


SECTION = Section(
    "before-after",
    "Before and after",
    {"verdict": str, "safety": str, "before_after": [_LINE]},
    view,
)
