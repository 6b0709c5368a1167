"""Metrics: the figures of a pruning, how they are formatted, and their table with remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple, TypeAlias

import pandas as pd

from secateurs.evaluation.tolerance import tolerances_by_key
from secateurs.measures.scoring import Scoring
from secateurs.problem import Problem
from secateurs.problem.model_costs import BeforeAfter
from secateurs.search import TIE
from secateurs.text_format import format_list, format_signed

MetricKind: TypeAlias = Literal["score", "count", "size", "time", "cost"]


@dataclass(frozen=True)
class Metric:
    """A figure of the full and of the pruned ensemble, in tables, pages and on the command line.

    Examples
    --------
    >>> from secateurs.evaluation.metrics import metric_named
    >>> metric_named("megabytes").format_value(1.5, unit=True)
    '1.50 MB'
    >>> metric_named("roc_auc").format_change(0.9, 0.875)
    '−0.0250'
    """

    key: str  # its name in tables and JSON
    label: str = ""  # short, for the page; by default the key
    unit: str = ""
    kind: MetricKind = "score"
    direction: Literal["larger", "smaller"] = "larger"  # what is better
    places: int = 4  # decimal places of usual values
    description: str = ""  # for the command line; by default the key

    def format_value(self, value: float | None, *, unit: bool = False) -> str:
        """Return a value as text; empty if it is unknown."""
        if value is None or not math.isfinite(value):
            return ""
        text = f"{value:,.{self.decimal_places(value)}f}"
        text = text.replace("-", "−")
        return f"{text} {self.unit}" if unit and self.unit else text

    def format_change(self, before: float | None, after: float | None) -> str:
        """Return the change as text: relative for sizes and counts, a factor for times."""
        if before is None or after is None or not math.isfinite(before):
            return ""
        if self.kind in ("count", "size", "cost"):
            return f"{format_signed(100 * (after / before - 1), 0)} %" if before else ""
        if self.kind == "time" and after and before >= after:
            return f"{before / after:.1f}× faster"
        return self.format_difference(after - before, max(abs(before), abs(after)))

    def format_difference(self, difference: float, value: float) -> str:
        """Return a difference as text, with the decimal places of a value; empty if unknown."""
        if not math.isfinite(difference) or not math.isfinite(value):
            return ""
        return format_signed(difference, self.decimal_places(value))

    def decimal_places(self, value: float) -> int:
        """Return the number of decimal places to show of a value."""
        if self.kind == "count" or not value:
            return 0 if self.kind == "count" else self.places
        magnitude = math.floor(math.log10(abs(value)))  # 0 for 1 to 9.99
        if self.kind == "score" and -4 < magnitude < 3:
            return self.places
        places = max(0, self.places - 1 - magnitude)
        return min(places, self.places) if self.unit else places


def _size(key: str, label: str, description: str) -> Metric:
    return Metric(key, label, "MB", "size", "smaller", 3, description)


def _time(key: str, description: str) -> Metric:
    return Metric(key, "", "ms", "time", "smaller", 3, description)


METRICS = {
    metric.key: metric
    for metric in (
        Metric("members", kind="count", direction="smaller", places=0),
        _size("megabytes", "MB as pickle", "file (pickle)"),
        _size("megabytes as .skops", "MB as .skops", "file (.skops)"),
        _size("megabytes as .onnx", "MB as .onnx", "file (.onnx)"),
        _time("ms for 1 row", "predict 1 row"),
        _time("ms for 1000 rows", "predict 1,000 rows"),
        Metric("cost", kind="cost", direction="smaller"),
    )
}


def metric_named(name: str) -> Metric:
    """Return the metric with this name; names of scores are not registered."""
    return METRICS.get(name) or Metric(name)


class PruningFigures(NamedTuple):
    """Figures of a pruning, and the samples that they come from."""

    data_description: str  # of the samples, in words
    fold_description: str  # how members were selected in folds; empty without cross-validation
    figures: dict[str, BeforeAfter]
    remarks: tuple[str, ...] = ()
    # The score to optimise of the pruned ensemble (before) and of simple predictions (after), by
    # their names, with the interval of the difference.
    baselines: Mapping[str, BeforeAfter] = {}

    @property
    def source_description(self) -> str:
        """The samples, and how they were used, in words."""
        return (
            f"{self.data_description}: {self.fold_description}"
            if self.fold_description
            else self.data_description
        )

    def summary_table(
        self,
        problem: Problem,
        remarks: Sequence[str],
        tolerance: float | Mapping[str, float] | None,
    ) -> Summary:
        """Return the figures as a table with remarks, and whether the tolerances are met."""
        all_remarks = list(remarks)
        for result in describe_tolerances(problem, self.figures, tolerance):
            all_remarks.append(f"On these samples {result}.")
        figures = self.figures.values()
        values = [(f.before, f.after, f.after - f.before, f.low, f.high) for f in figures]
        index = pd.Index(self.figures, name=self.data_description)
        table = Summary(values, columns=SUMMARY_COLUMNS, index=index, dtype=float)
        table.attrs["remarks"] = all_remarks
        table.attrs["score"], table.attrs["baselines"] = problem.scoring.label, self.baseline_scores
        return table

    @property
    def baseline_scores(self) -> dict[str, float]:
        """The scores of simple predictions, by their names."""
        return {name: figure.after for name, figure in self.baselines.items()}


SUMMARY_COLUMNS = ["before", "after", "change", "low", "high"]


class Summary(pd.DataFrame):
    """Figures before and after pruning, displayed with all rows and the remarks in ``attrs``."""

    def __repr__(self) -> str:
        return "\n".join([self._as_text().to_string(na_rep=""), *self._lines_below])

    def _repr_html_(self) -> str:
        lines = (f"<p>{escape(line)}</p>" for line in self._lines_below)
        return "\n".join([self._as_text().to_html(na_rep=""), *lines])

    def _as_text(self) -> pd.DataFrame:
        """Return the figures as text, with the decimal places of their metrics."""
        kinds = {dtype.kind for dtype in self.dtypes}
        if self.columns.tolist() != SUMMARY_COLUMNS or kinds != {"f"}:
            return pd.DataFrame(self)  # the user has changed the table
        rows = []
        for name, before, after, *changes in self.itertuples():
            metric, largest = metric_named(name), max(abs(before), abs(after))
            values = [metric.format_value(value) for value in (before, after)]
            rows.append(
                [*values, *(metric.format_difference(change, largest) for change in changes)]
            )
        return pd.DataFrame(rows, columns=self.columns, index=self.index)

    @property
    def _lines_below(self) -> list[str]:
        score, baselines = self.attrs.get("score", ""), self.attrs.get("baselines", {})
        baseline_lines = describe_baselines(score, baselines)
        return [*baseline_lines, *self.attrs.get("alarms", ()), *self.attrs.get("remarks", ())]


def describe_tolerances(
    problem: Problem,
    figures: Mapping[str, BeforeAfter],
    tolerance: float | Mapping[str, float] | None,
) -> list[str]:
    """Return whether the change of each score is within its tolerance, in words."""
    limits, described = tolerances_by_key(tolerance, problem.scoring.key), []
    for scoring in problem.scorings:
        if scoring.key not in limits or scoring.label not in figures:
            continue
        figure, limit = figures[scoring.label], limits[scoring.key]
        change = figure.after - figure.before
        is_within = (change if scoring.larger_is_better else -change) >= -limit - TIE
        described.append(
            f"the {scoring.label} is {'within' if is_within else 'not within'} the tolerance of "
            f"{limit:g}: {format_signed(change, 4)}"
        )
    return described


def describe_baselines(score: str, baselines: Mapping[str, float]) -> list[str]:
    """Return the scores of simple predictions in a sentence, if they are known."""
    if not baselines:
        return []
    metric = metric_named(score)
    # R² of the mean is zero up to rounding, which would be displayed with many digits.
    largest = max(map(abs, baselines.values()))
    rounded = [0.0 if abs(value) < 1e-4 * largest else value for value in baselines.values()]
    known = [
        f"{name} {metric.format_value(value)}"
        for name, value in zip(baselines, rounded, strict=True)
    ]
    return [f"For comparison, {score}: {format_list(known, ' and ')}."]


BEST_MEMBER, FIRST_MEMBERS = "best single member", "as many of the first members"


def constant_name(scoring: Scoring) -> str:
    """Return the name of the constant prediction that a score is compared with.

    For scores of probabilities, the majority class predicts the frequencies of all classes.
    """
    return "mean of the target" if scoring.is_regression_score else "majority class"
