"""Before and after: figures of all members and of the kept ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.stats import binomtest

from secateurs.evaluation.before_after import BeforeAfter
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable, format_decimals, format_interval
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection
from secateurs.text_format import NOTHING, format_count, format_signed
from secateurs.typing import Array

_LABELS = {"megabytes": "MB as pickle"}  # short ones, for small screens
_LABELS |= {f"megabytes as {suffix}": f"MB as {suffix}" for suffix in (".skops", ".onnx")}
_TOLERANCE = 0.005  # half a point of accuracy

_TIMINGS = {"low": float, "high": float, "all": [float]}
_LINE = dict.fromkeys(("before", "after", "change", "low", "high"), Nullable(float))
_SHAPE: JsonObject = {"verdict": str, "safety": str}
_SHAPE["before_after"] = [
    {"figure": str, **_LINE, "timings": Nullable({"before": _TIMINGS, "after": _TIMINGS})}
]


def collect_data(subject: ReportContext) -> JsonObject:
    """Return the figures, what they say in one sentence, and how sure that is."""
    lines = [_figure_line(name, figure) for name, figure in subject.before_after_figures.items()]
    problem, place = subject.problem, subject.curve.selection.size_index(subject.keep)
    scoring = problem.scoring
    told = safety_text(lines, scoring.label, scoring.larger_is_better)
    if scoring.label == "accuracy":
        own = subject.curve.by_own_vote
        told += (
            " McNemar's exact test of rows lost against rows won: "
            f"p = {mcnemar_p_value(int(own.n_lost[place]), int(own.n_won[place])):.2g}."
        )
    return {
        "verdict": verdict_text(lines, problem.has_test_set, scoring.label),
        "safety": told,
        "before_after": lines,
    }


def _figure_line(name: str, figure: BeforeAfter) -> JsonObject:
    before, after, low, high, timings = figure
    line: JsonObject = {"figure": name, "before": before, "after": after, "change": after - before}
    line |= {"low": low, "high": high, "timings": None}
    if timings is not None:
        line["timings"] = {"before": _timing_range(timings[0]), "after": _timing_range(timings[1])}
    return line


def _timing_range(times: Array) -> JsonObject:
    """Return single timings, and the range of the middle nine tenths of them."""
    low, high = np.percentile(times, [5, 95])
    return {"low": float(low), "high": float(high), "all": times.round(6).tolist()}


def mcnemar_p_value(lost: int, won: int) -> float:
    """Return the p-value of McNemar's exact test: whether as many rows are lost as won."""
    return 1.0 if lost + won == 0 else float(binomtest(won, lost + won).pvalue)


def verdict_text(lines: Sequence[JsonObject], tested: bool, score: str) -> str:
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
    return " ".join([told, *_other_score_changes(by_name, score)])


def _other_score_changes(by_name: Mapping[str, JsonObject], score: str) -> list[str]:
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


def safety_text(lines: Sequence[JsonObject], score: str, larger_is_better: bool) -> str:
    """Return what can be said about the change of the score that matters."""
    line = next(line for line in lines if line["figure"] == score)
    change, low, high = line["change"], line["low"], line["high"]
    told = f"Change in {score} {format_signed(change)}"
    if low is None or high is None or not np.isfinite([low, high]).all():
        return f"{told}; these rows are too few for an interval."
    told += f", 95 % interval {format_signed(low)} to {format_signed(high)}"
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


def template_values(data: JsonObject) -> JsonObject:
    """Return the table, and which notes belong below it."""
    lines = data["before_after"]
    sizes = [line["before"] for line in lines if line["figure"].startswith("megabytes")]
    return {
        "table": _figures_table(lines),
        "too_large": None in sizes,
        "timed": any(line["timings"] is not None for line in lines),
    }


def _figures_table(lines: Sequence[JsonObject]) -> HtmlTable:
    rows: list[list[Any]] = []
    for line in lines:
        name: str = line["figure"]
        figures = [_format_figure(name, line[column]) for column in ("before", "after")]
        label = _LABELS.get(name, name)
        rows.append([label, *figures, _with_interval(_format_change(line), line)])
        if line["timings"] is not None:
            rows.append(_timing_range_row(line["timings"]))
    change = Markup('change<span class="beside">95 % interval</span>')
    headings = ["", "all members", "kept", change]
    return HtmlTable(headings, rows, numeric=range(1, 4))


def _with_interval(change: str, line: JsonObject) -> Markup:
    """Return a change with its interval beside it; below it on a small screen."""
    beside = format_interval(line["low"], line["high"])
    return Markup('{}<span class="beside">{}</span>').format(change, beside)


def _format_figure(name: str, value: float | None) -> str:
    places = 0 if name == "members" else 3 if name.startswith(("ms", "megabytes")) else 4
    return format_decimals(value, places)


def _format_change(line: JsonObject) -> str:
    before, after, change = line["before"], line["after"], line["change"]
    if change is None:
        return NOTHING
    if line["figure"].startswith(("members", "megabytes")):
        return f"{format_signed(100 * change / before, 0)} %" if before else NOTHING
    if line["figure"].startswith("ms"):
        return (
            f"{before / after:.1f}× faster"
            if after and before >= after
            else format_signed(change, 3)
        )
    return format_signed(change)


def _timing_range_row(timings: JsonObject) -> list[str]:
    spread = []
    for column in ("before", "after"):
        low, high = timings[column]["low"], timings[column]["high"]
        places = 3 if high < 1 else 2 if high < 100 else 1
        spread.append(f"{format_decimals(low, places)}–{format_decimals(high, places)}")
    return [f"5–95 % of {format_count(len(timings['before']['all']), 'timing')}", *spread, ""]


SECTION = ReportSection(
    "before-after", "Before and after", _SHAPE, collect_data, template_values, predicts=None
)
