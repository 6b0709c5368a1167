"""Figure: objective and accuracy of all combinations, and the claims that they are correlated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from secateurs.benchmarking import pictures as look
from secateurs.benchmarking.table_text import format_number
from secateurs.paper._figure_base import PaperFigure, RowSeries, series_by_row
from secateurs.paper._plan import PaperRow, Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper._printed_tables import READING_NAMES
from secateurs.paper.claims import Finding, Statistic, judges_claim, weigh_settings
from secateurs.statistics import format_p, mean_correlation
from secateurs.typing import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Rule of the claims: "highly correlated" means a mean correlation of 0.5 with an interval above
# 0.3.
_HIGH_CORRELATION, _LOWEST_INTERVAL_END = 0.5, 0.3
_CONSTANT = 1e-12  # ranges below are rounding errors of constant values


@dataclass(frozen=True, eq=False)
class ObjectiveCorrelation(RowSeries):
    """Objective and accuracy of all combinations of a number of members."""

    combination_size: int
    # One array (n_combinations, 3) per fold: objective, validation accuracy and test accuracy.
    folds: tuple[NDArray[np.float64], ...]

    def within_fold_correlation(self, column: int = 2) -> tuple[float, float]:
        """Return the correlation with the objective within folds, and its p-value.

        The mean of each fold is subtracted. Combinations share members, so they are not independent
        and the p-value is too small.
        """
        centred = np.vstack([points - points.mean(axis=0) for points in self.folds])
        r = _pearson_correlation(centred, column)
        freedom = len(centred) - len(self.folds) - 1
        if np.isnan(r) or freedom < 1:
            return r, float("nan")
        if abs(r) > 1 - 1e-12:  # the test statistic would divide by zero
            return r, 0.0
        return r, float(2 * stats.t.sf(abs(r) * np.sqrt(freedom / (1 - r * r)), freedom))

    def correlation_by_fold(self, column: int = 2) -> list[float]:
        """Return the correlation with the objective on each fold."""
        return [_pearson_correlation(points, column) for points in self.folds]


def _pearson_correlation(points: NDArray[np.float64], column: int) -> float:
    """Return Pearson's correlation with the objective; NaN if either side is constant."""
    objective, accuracy = points[:, 0], points[:, column]
    if min(np.ptp(objective), np.ptp(accuracy)) < _CONSTANT:
        return float("nan")
    return float(np.corrcoef(objective, accuracy)[0, 1])


def objective_correlations(plan: Plan, frame: pd.DataFrame) -> list[ObjectiveCorrelation]:
    """Return objectives and accuracies for each row and size of combinations."""
    correlations = []
    for name, source, mine in results_by_row(plan, frame):
        for size in sorted(set(mine["keep"])):
            points = rows_where(mine, keep=size)["points"]
            folds = tuple(np.asarray(fold, dtype=float) for fold in points)
            correlations.append(ObjectiveCorrelation(name, source, int(size), folds))
    return correlations


@judges_claim(
    "objective", "The objective is highly correlated with accuracy on the validation set."
)
def judge_objective(correlations: Sequence[ObjectiveCorrelation]) -> Finding:
    """Objective and validation accuracy of all combinations are correlated on each fold.

    The paper does not state on which samples it measures accuracy; here it is the validation set,
    on which the objective is computed. Correlations of folds and seeds are averaged as Fisher's z,
    with Student's 95 % interval. A data set and size supports the claim if the mean is 0.5 or more
    and the interval is above 0.3, and contradicts it if the interval is below 0.5. The claim holds
    if three quarters support it and does not hold if more than a quarter contradict it.
    """
    return _weigh_correlations(correlations, 1)


@judges_claim("objective-test", "The objective is highly correlated with accuracy on new samples.")
def judge_objective_test(correlations: Sequence[ObjectiveCorrelation]) -> Finding:
    """Objective and test accuracy of all combinations are correlated on each fold.

    The rule is the same as for the validation set. A data set and size supports the claim if the
    mean correlation of folds and seeds is 0.5 or more and its 95 % interval is above 0.3, and
    contradicts it if the interval is below 0.5. The claim holds if three quarters support it and
    does not hold if more than a quarter contradict it.
    """
    return _weigh_correlations(correlations, 2)


def _weigh_correlations(correlations: Sequence[ObjectiveCorrelation], column: int) -> Finding:
    means = [mean_correlation(item.correlation_by_fold(column)) for item in correlations]
    n_for = sum(r >= _HIGH_CORRELATION and low > _LOWEST_INTERVAL_END for r, low, _ in means)
    n_against = sum(high < _HIGH_CORRELATION for _, _, high in means)
    each: list[JsonObject] = [
        {
            "row": i.row,
            "size": i.combination_size,
            "r": r,
            "low": low,
            "high": high,
            "folds": i.correlation_by_fold(column),
        }
        for i, (r, low, high) in zip(correlations, means, strict=True)
    ]
    values = "; ".join(
        f"{e['row']}, {e['size']} members: {format_number(e['r'], sign=True)} "
        f"({format_number(e['low'], sign=True)} to {format_number(e['high'], sign=True)})"
        for e in each
    )
    finding = weigh_settings(len(means), n_for, n_against, "data sets and sizes").with_details(
        f"r: {values}." if values else "", correlations=each
    )
    overall = mean_correlation([r for r, _, _ in means])
    if np.isnan(overall).any():
        return finding
    return replace(finding, statistic=Statistic("mean r of data sets and sizes", *overall))


def objective_pictures(
    plan: Plan, correlations: Sequence[ObjectiveCorrelation]
) -> list[look.Picture]:
    """Return one figure per row, with one panel per size of combinations."""
    headings = (
        *("members", "folds", "combinations a fold", "r, test accuracy", "p"),
        *("r by fold, lowest", "r by fold, highest", "mean r, test accuracy", "low", "high"),
        *("r, validation accuracy", "mean r, validation accuracy", "low", "high"),
    )
    return [
        look.Picture(
            name,
            plan.name,
            f"Objective against accuracy: {_name_with_reading(row, mine[0].source)}",
            f"{plan.repeated(mine[0].source)} All combinations of {plan.n_members[0]} members, "
            "with a separate colour, marker and regression line for each fold. r is the "
            "correlation within folds. Combinations share members, so p is smaller than it should "
            "be. This does not affect the mean r of folds with its 95 % interval.",
            headings,
            tuple(_correlation_row(item) for item in mine),
            partial(_draw_correlations, mine),
            2.2 * len(mine),
        )
        for row, name, mine in series_by_row("objective", correlations)
    ]


def _name_with_reading(row: str, source: PaperRow) -> str:
    reading = READING_NAMES[source.reading]
    return row if row.endswith(reading) else f"{row}, {reading}"


def _correlation_row(item: ObjectiveCorrelation) -> tuple[float, ...]:
    r, p_value = item.within_fold_correlation()
    folds = item.correlation_by_fold()
    lowest, highest = (
        pick.reduce(folds) for pick in (np.fmin, np.fmax)
    )  # ignore NaN, unless all are
    return (
        *(item.combination_size, len(item.folds), len(item.folds[0]), r, p_value),
        *(float(lowest), float(highest), *mean_correlation(folds)),
        *(
            item.within_fold_correlation(column=1)[0],
            *mean_correlation(item.correlation_by_fold(1)),
        ),
    )


def _draw_correlations(correlations: Sequence[ObjectiveCorrelation], figure: "Figure") -> None:
    panels = figure.subplots(len(correlations), 1, squeeze=False)[:, 0]
    colours = (look.BLUE, look.ORANGE, look.GREEN, look.PURPLE, look.AMBER)
    styles = tuple(zip(colours, "os^Dv", strict=True))
    for panel, item in zip(panels, correlations, strict=True):
        for fold, points in enumerate(item.folds):
            colour, marker = styles[fold % len(styles)]
            objective, accuracy = points[:, 0], 100 * points[:, 2]
            panel.plot(objective, accuracy, marker, color=colour, markersize=2.2, alpha=0.6,
                       markeredgewidth=0)  # fmt: skip
            if np.ptp(objective) > 0:
                ends = np.array([objective.min(), objective.max()])
                panel.plot(ends, np.polyval(np.polyfit(objective, accuracy, 1), ends), color=colour)
        r, p_value = item.within_fold_correlation()
        text = f"r = {format_number(r, sign=True)}, {format_p(p_value)}"
        panel.set_title(f"{item.combination_size}-combinations: {text}")
        panel.set_ylabel("test accuracy, %")
    panels[-1].set_xlabel("objective (TDAS on the validation set)")


FIGURE = PaperFigure(
    "figure-objective",
    objective_correlations,
    objective_pictures,
    (judge_objective, judge_objective_test),
)
