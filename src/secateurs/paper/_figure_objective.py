"""Figure: objective against accuracy of all combinations; the claim that they are correlated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

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


@dataclass(frozen=True, eq=False)
class ObjectiveCorrelation(RowSeries):
    """Objective and accuracy of all combinations of a number of members.

    Attributes
    ----------
    combination_size : int
        Members of a combination.
    folds : tuple of array of shape (n_combinations, 3)
        Objective and validation accuracy, on the rows that members are chosen on, and test
        accuracy.
    """

    combination_size: int
    folds: tuple[NDArray[np.float64], ...]

    def within_fold_correlation(self, column: int = 2) -> tuple[float, float]:
        """Return the correlation within folds and its p-value: values minus the mean of their fold.

        Combinations share members, so they are not independent and the p-value is too small.
        """
        centred = np.vstack([points - points.mean(axis=0) for points in self.folds])
        r = _pearson_correlation(centred, column)
        freedom = len(centred) - len(self.folds) - 1
        if np.isnan(r) or freedom < 1:
            return r, float("nan")
        if abs(r) > 1 - 1e-12:
            return r, 0.0
        return r, float(2 * stats.t.sf(abs(r) * np.sqrt(freedom / (1 - r * r)), freedom))

    def correlation_by_fold(self, column: int = 2) -> list[float]:
        """Return the correlation on each fold."""
        return [_pearson_correlation(points, column) for points in self.folds]


def _pearson_correlation(points: NDArray[np.float64], column: int) -> float:
    """Return Pearson's correlation with the objective; NaN where one side never changes."""
    objective, accuracy = points[:, 0], points[:, column]
    if min(np.ptp(objective), np.ptp(accuracy)) < 1e-12:
        return float("nan")
    return float(np.corrcoef(objective, accuracy)[0, 1])


def objective_correlations(plan: Plan, frame: pd.DataFrame) -> list[ObjectiveCorrelation]:
    """Return objective against accuracy per row and size of combinations."""
    found = []
    for name, source, mine in results_by_row(plan, frame):
        for size in sorted(set(mine["keep"])):
            points = rows_where(mine, keep=size)["points"]
            folds = tuple(np.asarray(fold, dtype=float) for fold in points)
            found.append(ObjectiveCorrelation(name, source, int(size), folds))
    return found


@judges_claim(
    "objective", "The objective is highly correlated with accuracy on the rows chosen on."
)
def judge_objective(found: Sequence[ObjectiveCorrelation]) -> Finding:
    """Objective and accuracy on the validation rows, of all combinations, are correlated per fold.

    The paper does not say on which rows it measures accuracy; these are those that the objective
    is computed on. Correlations of folds and seeds are averaged as Fisher's z, with Student's 95 %
    interval. A data set and size speaks for the claim, a high correlation, if the mean is 0.5 or
    more and the interval lies above 0.3, and against it if the interval lies below 0.5. Holds if
    three quarters speak for it, does not hold if more than a quarter speak against it.
    """
    return _weigh_correlations(found, 1)


@judges_claim("objective-test", "The objective is highly correlated with accuracy on new rows.")
def judge_objective_test(found: Sequence[ObjectiveCorrelation]) -> Finding:
    """Objective and accuracy on the test rows, of all combinations, are correlated per fold.

    The rule is that of the validation rows: a data set and size speaks for the claim if the mean
    correlation of folds and seeds is 0.5 or more and its 95 % interval lies above 0.3, and against
    it if the interval lies below 0.5. Holds if three quarters speak for it, does not hold if more
    than a quarter speak against it.
    """
    return _weigh_correlations(found, 2)


def _weigh_correlations(found: Sequence[ObjectiveCorrelation], column: int) -> Finding:
    means = [mean_correlation(item.correlation_by_fold(column)) for item in found]
    n_for = sum(r >= 0.5 and low > 0.3 for r, low, _ in means)
    n_against = sum(high < 0.5 for _, _, high in means)
    each: list[dict[str, Any]] = [
        {
            "row": i.row,
            "size": i.combination_size,
            "r": r,
            "low": low,
            "high": high,
            "folds": i.correlation_by_fold(column),
        }
        for i, (r, low, high) in zip(found, means, strict=True)
    ]
    named = "; ".join(
        f"{e['row']}, {e['size']} members: {format_number(e['r'], sign=True)} "
        f"({format_number(e['low'], sign=True)} to {format_number(e['high'], sign=True)})"
        for e in each
    )
    finding = weigh_settings(len(found), n_for, n_against, "data sets and sizes").with_details(
        f"r: {named}." if named else "", correlations=each
    )
    overall = mean_correlation([r for r, _, _ in means])
    if np.isnan(overall).any():
        return finding
    return replace(finding, statistic=Statistic("mean r of data sets and sizes", *overall))


def objective_pictures(plan: Plan, found: Sequence[ObjectiveCorrelation]) -> list[look.Picture]:
    """Return a figure per row, with a panel per size of combinations."""
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
            "each fold with a colour, a marker and a regression line of its own. r is "
            "the correlation within folds. Combinations share members, so p is smaller than it "
            "should be; the mean r of folds with its 95 % interval does not suffer from that.",
            headings,
            tuple(_correlation_row(item) for item in mine),
            partial(_draw_correlations, mine),
            2.2 * len(mine),
        )
        for row, name, mine in series_by_row("objective", found)
    ]


def _name_with_reading(row: str, source: PaperRow) -> str:
    reading = READING_NAMES[source.reading]
    return row if row.endswith(reading) else f"{row}, {reading}"


def _correlation_row(item: ObjectiveCorrelation) -> tuple[Any, ...]:
    r, p_value = item.within_fold_correlation()
    folds = item.correlation_by_fold()
    lowest, highest = (pick.reduce(folds) for pick in (np.fmin, np.fmax))  # NaN only if all are
    return (
        *(item.combination_size, len(item.folds), len(item.folds[0]), r, p_value),
        *(float(lowest), float(highest), *mean_correlation(folds)),
        *(
            item.within_fold_correlation(column=1)[0],
            *mean_correlation(item.correlation_by_fold(1)),
        ),
    )


def _draw_correlations(found: Sequence[ObjectiveCorrelation], figure: Any) -> None:
    panels = figure.subplots(len(found), 1, squeeze=False)[:, 0]
    colours = (look.BLUE, look.ORANGE, look.GREEN, look.PURPLE, look.AMBER)
    styles = tuple(zip(colours, "os^Dv", strict=True))
    for panel, item in zip(panels, found, strict=True):
        for fold, points in enumerate(item.folds):
            colour, marker = styles[fold % len(styles)]
            objective, accuracy = points[:, 0], 100 * points[:, 2]
            panel.plot(objective, accuracy, marker, color=colour, markersize=2.2, alpha=0.6,
                       markeredgewidth=0)  # fmt: skip
            if np.ptp(objective) > 0:
                ends = np.array([objective.min(), objective.max()])
                panel.plot(ends, np.polyval(np.polyfit(objective, accuracy, 1), ends), color=colour)
        r, p_value = item.within_fold_correlation()
        told = f"r = {format_number(r, sign=True)}, {format_p(p_value)}"
        panel.set_title(f"{item.combination_size}-combinations: {told}")
        panel.set_ylabel("test accuracy, %")
    panels[-1].set_xlabel("objective (TDAS on the validation rows)")


FIGURE = PaperFigure(
    "figure-objective",
    objective_correlations,
    objective_pictures,
    (judge_objective, judge_objective_test),
)
