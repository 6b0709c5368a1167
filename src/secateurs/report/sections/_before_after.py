"""Before and after: figures of all members and of the kept ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.stats import binomtest

from secateurs._labels import Array
from secateurs._text import NOTHING, counted, signed
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
    problem, place = subject.problem, subject.curve.selection.place(subject.keep)
    scoring = problem.scoring
    told = safety(lines, scoring.label, scoring.larger_is_better)
    if scoring.label == "accuracy":
        own = subject.curve.own
        told += (
            " McNemar's exact test of rows lost against rows won: "
            f"p = {mcnemar(int(own.lost[place]), int(own.won[place])):.2g}."
        )
    return {
        "verdict": verdict(lines, problem.has_test, scoring.label),
        "safety": told,
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


def verdict(lines: Sequence[Plain], tested: bool, score: str) -> str:
    """Return in a sentence or two what was gained and lost, by the score that matters."""
    by_name = {line["figure"]: line for line in lines}
    members, scored = by_name["members"], by_name[score]
    told = (
        f"{members['after']:,.0f} of {members['before']:,.0f} members: {score} "
        f"{scored['after']:.3f} on {'test' if tested else 'held-out'} rows, against "
        f"{scored['before']:.3f} with all"
    )
    gains = []
    if "ms for 1 row" in by_name:
        faster = by_name["ms for 1 row"]["before"] / by_name["ms for 1 row"]["after"]
        gains.append(f"{faster:.1f}× faster" if faster >= 1.05 else "no faster")
    if "megabytes" in by_name:
        part = by_name["megabytes"]["after"] / by_name["megabytes"]["before"]
        gains.append(f"{100 * (1 - part):.0f} % smaller")
    told = f"{told}; {', '.join(gains)}." if gains else f"{told}."
    return " ".join([told, *_also_moved(by_name, score)])


def _also_moved(by_name: Mapping[str, Plain], score: str) -> list[str]:
    """Return a sentence for log loss and for AUC where they move by more than accuracy does."""
    if "accuracy" not in by_name:
        return []
    moved = []
    accuracy = abs(by_name["accuracy"]["change"])
    for name, line in by_name.items():
        before, after, change = line["before"], line["after"], line["change"]
        if name == score or change is None or not name.startswith(("log loss", "ROC AUC")):
            continue
        # A log loss has no upper end: its change counts as a part of what it was.
        size = abs(change) / before if name == "log loss" and before else abs(change)
        if size > accuracy and round(before, 3) != round(after, 3):
            goes = "rises" if change > 0 else "falls"
            text = f"{name} {goes} from {before:.3f} to {after:.3f}."
            moved.append(text[0].upper() + text[1:])
    return moved


def safety(lines: Sequence[Plain], score: str, larger_is_better: bool) -> str:
    """Return what can be said about the change of the score that matters."""
    line = next(line for line in lines if line["figure"] == score)
    change, low, high = line["change"], line["low"], line["high"]
    told = f"Change in {score} {signed(change)}"
    if low is None or high is None or not np.isfinite([low, high]).all():
        return f"{told}; these rows are too few for an interval."
    told += f", 95 % interval {signed(low)} to {signed(high)}"
    if score == "accuracy":
        if low >= -_TOLERANCE:
            return f"{told}: no more than half a point of accuracy is lost."
        if high < -_TOLERANCE:
            return f"{told}: more than half a point of accuracy is lost."
        few = "these rows are too few to tell whether more than half a point is lost"
        return f"{told}: {few}."
    worse = high < 0 if larger_is_better else low > 0
    better = low > 0 if larger_is_better else high < 0
    if worse or better:
        return f"{told}: it is {'worse' if worse else 'better'} than with all members."
    return f"{told}: no clear difference on these rows."


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
    rows: list[list[Any]] = []
    for line in lines:
        name: str = line["figure"]
        figures = [_figure(name, line[column]) for column in ("before", "after")]
        label = _LABELS.get(name, name)
        rows.append([label, *figures, _with_interval(_change(line), line)])
        if line["timings"] is not None:
            rows.append(_spread_of_timings(line["timings"]))
    change = Markup('change<span class="beside">95 % interval</span>')
    headings = ["", "all members", "kept", change]
    return Table(headings, rows, numeric=range(1, 4))


def _with_interval(change: str, line: Plain) -> Markup:
    """Return a change with its interval beside it; below it on a small screen."""
    beside = interval(line["low"], line["high"])
    return Markup('{}<span class="beside">{}</span>').format(change, beside)


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
    return [f"5–95 % of {counted(len(timings['before']['all']), 'timing')}", *spread, ""]


SECTION = Section("before-after", "Before and after", _SHAPE, facts, view, predicts=None)
