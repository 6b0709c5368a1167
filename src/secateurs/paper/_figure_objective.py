"""Figure: objective and accuracy of all combinations, and the claims that they are correlated."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
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
from secateurs.paper.claims import UNMEASURED, Finding, Statistic, judges_claim
from secateurs.statistics import format_p, mean_correlation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HIGH_CORRELATION = 0.5  # "highly correlated" means above
_N_DRAWS = 1000  # of the bootstrap; ends of its interval then vary by about 0.01
_CONSTANT = 1e-12  # ranges below are rounding errors of constant values


@dataclass(frozen=True, eq=False)
class ObjectiveCorrelation(RowSeries):
    """Objective and accuracy of all combinations of a number of members."""

    combination_size: int
    n_members: int  # combinations are in the order of `itertools.combinations`
    # One array (n_combinations, 3) per fold: objective, validation accuracy and test accuracy.
    folds: tuple[NDArray[np.float64], ...]
    fold_keys: tuple[tuple[int, int], ...]  # seed and number of each fold

    @cached_property
    def member_combinations(self) -> NDArray[np.int64]:
        """The members of each combination."""
        return np.array(list(combinations(range(self.n_members), self.combination_size)))

    def drawn_correlations(
        self, column: int, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the correlation on each fold for draws of members with replacement: draws × folds.

        A combination counts as often as its members are drawn: the product of their counts.
        """
        chances = np.full(self.n_members, 1 / self.n_members)
        columns = []
        for points in self.folds:
            counts = rng.multinomial(self.n_members, chances, size=n_draws)
            weights = counts[:, self.member_combinations].prod(axis=2)
            columns.append(_weighted_correlations(points[:, 0], points[:, column], weights))
        return np.stack(columns, axis=1)

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


def _weighted_correlations(
    first: NDArray[np.float64], second: NDArray[np.float64], weights: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return Pearson's correlation for each row of weights; NaN if either side is constant."""
    x, y = first - first.mean(), second - second.mean()
    total = weights.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_x, mean_y = weights @ x / total, weights @ y / total
        var_x = weights @ (x * x) / total - mean_x**2
        var_y = weights @ (y * y) / total - mean_y**2
        r = (weights @ (x * y) / total - mean_x * mean_y) / np.sqrt(var_x * var_y)
    return np.where((var_x > _CONSTANT**2) & (var_y > _CONSTANT**2), r, np.nan)


def objective_correlations(plan: Plan, frame: pd.DataFrame) -> list[ObjectiveCorrelation]:
    """Return objectives and accuracies for each row and size of combinations."""
    correlations = []
    for name, source, mine in results_by_row(plan, frame):
        for size in sorted(set(mine["keep"])):
            part = rows_where(mine, keep=size)
            folds = tuple(np.asarray(fold, dtype=float) for fold in part["points"])
            keys = tuple(zip(part["seed"].astype(int), part["fold"].astype(int), strict=True))
            sizes = int(size), plan.n_members[0]
            correlations.append(ObjectiveCorrelation(name, source, *sizes, folds, keys))
    return correlations


@judges_claim(
    "objective", "The objective is highly correlated with accuracy on the validation set."
)
def judge_objective(correlations: Sequence[ObjectiveCorrelation]) -> Finding:
    """The quantity is the mean correlation of objective and validation accuracy over data sets.

    The paper does not state on which samples it measures accuracy; here it is the validation set,
    on which the objective is computed. The correlation over all combinations of a fold is averaged
    over folds, seeds and sizes of a data set. The interval is a bootstrap that draws data sets,
    seeds, folds and members together: combinations, also of different sizes, share members, so they
    are not independent. "Highly correlated" means above 0.5.
    """
    return _mean_correlation_finding(correlations, 1)


@judges_claim("objective-test", "The objective is highly correlated with accuracy on new samples.")
def judge_objective_test(correlations: Sequence[ObjectiveCorrelation]) -> Finding:
    """The quantity is the mean correlation of objective and test accuracy over data sets.

    Mean, bootstrap and limit are the same as for the validation set.
    """
    return _mean_correlation_finding(correlations, 2)


def _mean_correlation_finding(correlations: Sequence[ObjectiveCorrelation], column: int) -> Finding:
    by_data_set: dict[str, list[ObjectiveCorrelation]] = {}
    for item in correlations:
        by_data_set.setdefault(item.source.paper_name, []).append(item)
    all_means = {
        name: _nan_mean(np.array([r for item in mine for r in item.correlation_by_fold(column)]))
        for name, mine in by_data_set.items()
    }
    means = {name: r for name, r in all_means.items() if not np.isnan(r)}
    if not means:
        return Finding(None, UNMEASURED, {})
    draws = _bootstrap_means([by_data_set[name] for name in means], column)
    low, high = np.nanquantile(draws, [0.025, 0.975]) if len(means) > 2 else (np.nan, np.nan)
    value = float(np.mean(list(means.values())))
    each = "; ".join(f"{name} {format_number(r, sign=True)}" for name, r in means.items())
    statistic = Statistic("mean r", value, float(low), float(high), holds_above=_HIGH_CORRELATION)
    return Finding(statistic, f"r by data set: {each}.", {"correlations": means})


def _bootstrap_means(
    data_sets: Sequence[Sequence[ObjectiveCorrelation]], column: int
) -> NDArray[np.float64]:
    """Return the mean correlation in each draw of data sets, seeds, folds and members."""
    rng = np.random.default_rng(0)
    rows = list(dict.fromkeys(item.row for items in data_sets for item in items))
    drawn = [_drawn_by_seed(items, column, rows) for items in data_sets]
    means = np.empty(_N_DRAWS)
    for draw in range(_N_DRAWS):
        values = []
        for index in rng.integers(len(drawn), size=len(drawn)):
            seeds, members = drawn[index], rng.integers(_N_DRAWS)
            parts = []
            for seed in rng.integers(len(seeds), size=len(seeds)):
                n_folds = seeds[seed].shape[1]
                parts.append(seeds[seed][members, rng.integers(n_folds, size=n_folds)].ravel())
            values.append(_nan_mean(np.concatenate(parts)))
        means[draw] = _nan_mean(np.array(values))
    return means


def _drawn_by_seed(
    items: Sequence[ObjectiveCorrelation], column: int, rows: Sequence[str]
) -> list[NDArray[np.float64]]:
    """Return an array for each seed of a data set: draws of members × folds × rows and sizes.

    Folds that a row or size lacks are NaN.
    """
    seeds = sorted({seed for item in items for seed, _ in item.fold_keys})
    folds = sorted({fold for item in items for _, fold in item.fold_keys})
    drawn = np.full((len(seeds), _N_DRAWS, len(folds), len(items)), np.nan)
    for place, item in enumerate(items):
        # Combinations of all sizes are made of the same members, so a row has one random state.
        own_rng = np.random.default_rng([1, rows.index(item.row)])
        correlations = item.drawn_correlations(column, _N_DRAWS, own_rng)
        for (seed, fold), values in zip(item.fold_keys, correlations.T, strict=True):
            drawn[seeds.index(seed), :, folds.index(fold), place] = values
    return list(drawn)


def _nan_mean(values: NDArray[np.float64]) -> float:
    """Return the mean of the values that are defined; NaN without any, and without a warning."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


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
        if plan.is_drawn(mine[0].source)
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
