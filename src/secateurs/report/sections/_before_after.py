"""Section "Before and after": figures of the full and of the pruned ensemble."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from scipy.stats import binomtest, chi2

from secateurs.evaluation.metrics import describe_baselines, metric_named
from secateurs.problem.model_costs import BeforeAfter
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable, format_decimals, format_interval
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.text_format import NOTHING, format_count, format_signed
from secateurs.typing import Array, JsonObject

# Half a point of accuracy, which is also the initial tolerance of "What if?" (`what_if.js`).
_TOLERANCE = 0.005

_TIMINGS = {"low": float, "high": float, "all": [float]}
_LINE = dict.fromkeys(("before", "after", "change", "low", "high"), Nullable(float))
_SHAPE: JsonObject = {"verdict": str, "safety": str}
_SHAPE["before_after"] = [
    {"figure": str, **_LINE, "timings": Nullable({"before": _TIMINGS, "after": _TIMINGS})}
]


def collect_data(context: ReportContext) -> JsonObject:
    """Return the figures, a verdict in words, and how certain the change of the score is."""
    measured = context.measured
    lines = [figure_line(name, figure) for name, figure in measured.figures.items()]
    problem = context.problem
    scoring = problem.scoring
    safety = safety_text(lines, scoring.label, scoring.larger_is_better)
    if scoring.label == "accuracy":
        safety += f" {_mcnemar_sentence(context)}"
    return {
        "verdict": verdict_text(lines, problem.has_test_set, scoring.label),
        "safety": " ".join([safety, *describe_baselines(scoring.label, measured.baseline_scores)]),
        "before_after": lines,
    }


def figure_line(name: str, figure: BeforeAfter) -> JsonObject:
    before, after, low, high, timings = figure
    line: JsonObject = {"figure": name, "before": before, "after": after, "change": after - before}
    line |= {"low": low, "high": high, "timings": None}
    if timings is not None:
        line["timings"] = {"before": _timing_range(timings[0]), "after": _timing_range(timings[1])}
    return line


def _timing_range(times: Array) -> JsonObject:
    """Return all timings with their 5th and 95th percentiles, so that outliers do not count."""
    low, high = np.percentile(times, [5, 95])
    return {"low": float(low), "high": float(high), "all": times.round(6).tolist()}


def _mcnemar_sentence(context: ReportContext) -> str:
    """Return the result of McNemar's test; with sample weights, of its weighted form."""
    weight = context.evaluation_plan.scored_weight
    truth = context.evaluation_predictions.truth
    before, after = (codes == truth for codes in context.predicted_codes)
    if weight is None:
        p_value = mcnemar_p_value(int((before & ~after).sum()), int((after & ~before).sum()))
        test = "McNemar's exact test"
    else:
        p_value = weighted_mcnemar_p_value(before, after, weight)
        test = "McNemar's test with sample weights"
    return f"{test} of newly wrong against newly right predictions: p = {p_value:.2g}."


def weighted_mcnemar_p_value(before: Array, after: Array, weight: Array) -> float:
    """Return the p-value that weights of lost and won samples are equal.

    The statistic is the squared difference of both sums of weights, divided by the sum of squared
    weights. It has a chi-squared distribution with one degree of freedom.
    """
    changes = (after.astype(float) - before) * weight
    spread = float((changes**2).sum())
    return 1.0 if spread == 0 else float(chi2.sf(changes.sum() ** 2 / spread, 1))


def mcnemar_p_value(lost: int, won: int) -> float:
    """Return the p-value of McNemar's exact test that as many samples are lost as won."""
    return 1.0 if lost + won == 0 else float(binomtest(won, lost + won).pvalue)


def verdict_text(lines: Sequence[JsonObject], tested: bool, score: str) -> str:
    """Return a sentence or two with the score, speed and size of the pruned ensemble."""
    by_name = {line["figure"]: line for line in lines}
    members, scores = by_name["members"], by_name[score]
    text = (
        f"{members['after']:,.0f} of {members['before']:,.0f} members: {score} "
        f"{scores['after']:.3f} on {'the test set' if tested else 'held-out samples'}, against "
        f"{scores['before']:.3f} for the full ensemble"
    )
    gains = []
    if "ms for 1 row" in by_name:
        faster = by_name["ms for 1 row"]["before"] / by_name["ms for 1 row"]["after"]
        # Timings of a busy machine vary by a few per cent: less is not called faster.
        gains.append(f"{faster:.1f}× faster" if faster >= 1.05 else "no faster")
    if "megabytes" in by_name:
        share = by_name["megabytes"]["after"] / by_name["megabytes"]["before"]
        gains.append(f"{100 * (1 - share):.0f} % smaller")
    text = f"{text}; {', '.join(gains)}." if gains else f"{text}."
    return " ".join([text, *_other_score_changes(by_name, score)])


def _other_score_changes(by_name: Mapping[str, JsonObject], score: str) -> list[str]:
    """Return a sentence each for log loss and AUC if they change by more than accuracy does."""
    if "accuracy" not in by_name:
        return []
    sentences = []
    accuracy = abs(by_name["accuracy"]["change"])
    for name, line in by_name.items():
        before, after, change = line["before"], line["after"], line["change"]
        if name == score or change is None or not name.startswith(("log loss", "ROC AUC")):
            continue
        if ", " in name:  # of a subgroup
            continue
        # A log loss has no upper limit, so its change is taken relative to its value before.
        size = abs(change) / before if name == "log loss" and before else abs(change)
        if size > accuracy and round(before, 3) != round(after, 3):
            verb = "rises" if change > 0 else "falls"
            text = f"{name} {verb} from {before:.3f} to {after:.3f}."
            sentences.append(text[0].upper() + text[1:])
    return sentences


def safety_text(lines: Sequence[JsonObject], score: str, larger_is_better: bool) -> str:
    """Return the change of the score with its interval, and what it means, as text."""
    line = next(line for line in lines if line["figure"] == score)
    change, low, high = line["change"], line["low"], line["high"]
    text = f"Change in {score} {format_signed(change)}"
    if low is None or high is None or not np.isfinite([low, high]).all():
        return f"{text}; there are too few samples for an interval."
    text += f", 95 % interval {format_signed(low)} to {format_signed(high)}"
    if score == "accuracy" and low <= 0:
        if low >= -_TOLERANCE:
            return f"{text}: no more than half a point of accuracy is lost."
        if high < -_TOLERANCE:
            return f"{text}: more than half a point of accuracy is lost."
        few = "there are too few samples to decide whether more than half a point is lost"
        return f"{text}: {few}."
    worse = high < 0 if larger_is_better else low > 0
    better = low > 0 if larger_is_better else high < 0
    if worse or better:
        return f"{text}: it is {'worse' if worse else 'better'} than for the full ensemble."
    return f"{text}: no clear difference on these samples."


def template_values(data: JsonObject) -> JsonObject:
    """Return the table, and which notes to show below it."""
    lines = data["before_after"]
    sizes = [line["before"] for line in lines if metric_named(line["figure"]).kind == "size"]
    return {
        "table": _figures_table(lines),
        "too_large": None in sizes,
        "timed": any(line["timings"] is not None for line in lines),
    }


def _figures_table(lines: Sequence[JsonObject]) -> HtmlTable:
    rows: list[list[str]] = []
    for line in lines:
        name: str = line["figure"]
        figures = [_format_figure(name, line[column]) for column in ("before", "after")]
        label = metric_named(name).label or name
        rows.append([label, *figures, _with_interval(_format_change(line), line)])
        if line["timings"] is not None:
            rows.append(_timing_range_row(line["timings"]))
    change = Markup('change<span class="beside">95 % interval</span>')
    headings = ["", "full ensemble", "pruned", change]
    return HtmlTable(headings, rows, numeric=range(1, 4))


def _with_interval(change: str, line: JsonObject) -> Markup:
    """Return a change followed by its interval, which small screens show below it."""
    interval = format_interval(line["low"], line["high"])
    return Markup('{}<span class="beside">{}</span>').format(change, interval)


def _format_figure(name: str, value: float | None) -> str:
    return metric_named(name).format_value(value) or NOTHING


def _format_change(line: JsonObject) -> str:
    return metric_named(line["figure"]).format_change(line["before"], line["after"]) or NOTHING


def _timing_range_row(timings: JsonObject) -> list[str]:
    """Return the row with the 5th to 95th percentile of the timings, with about three digits."""
    ranges = []
    for column in ("before", "after"):
        low, high = timings[column]["low"], timings[column]["high"]
        places = 3 if high < 1 else 2 if high < 100 else 1
        ranges.append(f"{format_decimals(low, places)}–{format_decimals(high, places)}")
    return [f"5–95 % of {format_count(len(timings['before']['all']), 'timing')}", *ranges, ""]


SECTION = ReportSection(
    "before-after", "Before and after", _SHAPE, collect_data, template_values, predicts=None
)
