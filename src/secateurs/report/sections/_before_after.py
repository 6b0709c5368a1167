"""Before and after: figures of all members and of the kept ones."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from secateurs._labels import Array
from secateurs._text import NOTHING, signed
from secateurs.evaluation._before_after import Figure
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table, decimals, interval
from secateurs.report.sections._section import Plain, Section, Subject

_LABELS = {"megabytes": "MB as pickle"}  # short ones, for small screens
_LABELS |= {f"megabytes as {suffix}": f"MB as {suffix}" for suffix in (".skops", ".onnx")}
_TOLERANCE = 0.005  # half a point of accuracy

_TIMINGS = {"low": float, "high": float, "all": [float]}
_LINE = dict.fromkeys(("before", "after", "change", "low", "high"), Maybe(float))
_SHAPE: Plain = {"verdict": str, "safety": str}
_SHAPE["before_after"] = [
    {"figure": str, **_LINE, "timings": Maybe({"before": _TIMINGS, "after": _TIMINGS})}
]


def facts(subject: Subject) -> Plain:
    """Return the figures, what they say in one sentence, and how sure that is."""
    lines = [_line(name, figure) for name, figure in subject.figures.items()]
    own, place = subject.curve.own, subject.curve.selection.place(subject.keep)
    return {
        "verdict": verdict(lines, subject.problem.has_test),
        "safety": safety(lines, mcnemar(int(own.lost[place]), int(own.won[place]))),
        "before_after": lines,
    }


def _line(name: str, figure: Figure) -> Plain:
    before, after, low, high, timings = figure
    line: Plain = {"figure": name, "before": before, "after": after, "change": after - before}
    line |= {"low": low, "high": high, "timings": None}
    if timings is not None:
        line["timings"] = {"before": _spread(timings[0]), "after": _spread(timings[1])}
    return line


def _spread(times: Array) -> Plain:
    """Return single timings, and the range of the middle nine tenths of them."""
    low, high = np.percentile(times, [5, 95])
    return {"low": float(low), "high": float(high), "all": times.round(6).tolist()}


def mcnemar(lost: int, won: int) -> float:
    """Return the p-value of McNemar's exact test: whether as many rows are lost as won."""
    return 1.0 if lost + won == 0 else float(binomtest(won, lost + won).pvalue)


def verdict(lines: Sequence[Plain], tested: bool) -> str:
    """Return one sentence on what was gained and lost."""
    by_name = {line["figure"]: line for line in lines}
    members, accuracy = by_name["members"], by_name["accuracy"]
    told = (
        f"{members['after']:,.0f} of {members['before']:,.0f} members: accuracy "
        f"{accuracy['after']:.3f} on {'test' if tested else 'held-out'} rows, against "
        f"{accuracy['before']:.3f} with all"
    )
    gains = []
    if "ms for 1 row" in by_name:
        faster = by_name["ms for 1 row"]["before"] / by_name["ms for 1 row"]["after"]
        gains.append(f"{faster:.1f}× faster" if faster >= 1.05 else "no faster")
    if "megabytes" in by_name:
        part = by_name["megabytes"]["after"] / by_name["megabytes"]["before"]
        gains.append(f"{100 * (1 - part):.0f} % smaller")
    return f"{told}; {', '.join(gains)}." if gains else f"{told}."


def safety(lines: Sequence[Plain], p_value: float) -> str:
    """Return what can be said about the change in accuracy."""
    line = next(line for line in lines if line["figure"] == "accuracy")
    low, high = line["low"], line["high"]
    if low >= -_TOLERANCE:
        told = "no more than half a point of accuracy is lost"
    elif high < -_TOLERANCE:
        told = "more than half a point of accuracy is lost"
    else:
        told = "these rows are too few to tell whether more than half a point is lost"
    return (
        f"Change in accuracy {signed(line['change'])}, 95 % interval {signed(low)} to "
        f"{signed(high)}: {told}. "
        f"McNemar's exact test of rows lost against rows won: p = {p_value:.2g}."
    )


def view(data: Plain) -> Plain:
    """Return the table, and which notes belong below it."""
    lines = data["before_after"]
    sizes = [line["before"] for line in lines if line["figure"].startswith("megabytes")]
    return {
        "table": _table(lines),
        "too_large": None in sizes,
        "timed": any(line["timings"] is not None for line in lines),
    }


def _table(lines: Sequence[Plain]) -> Table:
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


SECTION = Section("before-after", "Before and after", _SHAPE, facts, view)
