"""Figure: accuracy of COMEP by λ, and the claims about λ and a mix of both criteria."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries, series_by_row
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper.claims import (
    ALPHA,
    UNMEASURED,
    Finding,
    Statistic,
    fold_difference,
    format_difference,
    judges_claim,
)
from secateurs.statistics import Difference, binomial_test, mean_difference
from secateurs.text_format import format_list
from secateurs.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACCURACIES = ("accuracy", "validation_accuracy")


@dataclass(frozen=True, eq=False)
class LambdaCurve(RowSeries):
    """Accuracy of COMEP by λ on one data set, with one number of kept members."""

    keep: int
    diversity_weights: FloatArray  # λ: 0 is relevance alone, 1 is diversity alone
    fold_keys: tuple[tuple[int, int], ...]  # fold and seed, of those that all weights have
    accuracy: FloatArray  # per cent, weights × folds and seeds, test set
    validation_accuracy: FloatArray | None = None  # the same on the validation set

    @property
    def mean_accuracy(self) -> FloatArray:
        """Mean test accuracy over folds at each weight."""
        return self.accuracy.mean(axis=1)

    def accuracy_at(self, weight: float) -> FloatArray | None:
        """Return the test accuracy on each fold at a weight; None if it was not measured."""
        indices = np.flatnonzero(np.isclose(self.diversity_weights, weight))
        return self.accuracy[indices[0]] if len(indices) else None

    @property
    def best_weight(self) -> float:
        """The weight with the highest mean accuracy; among ties, the middle one."""
        ties = np.flatnonzero(self.mean_accuracy >= self.mean_accuracy.max() - 1e-9)
        return float(self.diversity_weights[ties[(len(ties) - 1) // 2]])

    @property
    def candidate_weights(self) -> set[float]:
        """Weights that are not worse than the best one, by a one-sided t-test at 5 %."""
        best = self.accuracy[self.mean_accuracy.argmax()]
        differences = (fold_difference(best, scores) for scores in self.accuracy)
        return {
            float(weight)
            for weight, difference in zip(self.diversity_weights, differences, strict=True)
            if difference is None or difference.p_above() >= ALPHA
        }

    @property
    def is_flat(self) -> bool:
        """Whether every weight may be the best."""
        return len(self.candidate_weights) == len(self.diversity_weights)

    @property
    def tuned_accuracy(self) -> FloatArray | None:
        """Test accuracy on each fold at the weight with the best validation accuracy."""
        if self.validation_accuracy is None or np.isnan(self.validation_accuracy).any():
            return None
        # Sorted by distance from 0.5, so that argmax resolves ties to the weight nearest to 0.5.
        nearest = np.argsort(np.abs(self.diversity_weights - 0.5), kind="stable")
        rounded = np.round(self.validation_accuracy[nearest], 9)  # makes equal accuracies equal
        tuned = nearest[rounded.argmax(axis=0)]
        return self.accuracy[tuned, np.arange(self.accuracy.shape[1])]


def lambda_curves(plan: Plan, frame: pd.DataFrame) -> list[LambdaCurve]:
    """Return accuracy by λ for each row and number of kept members."""
    curves = []
    for name, source, mine in results_by_row(plan, frame):
        for keep in sorted(set(mine["keep"])):
            part = rows_where(mine, keep=keep).astype(dict.fromkeys(_ACCURACIES, float))
            test, validation = (
                part.pivot(index="diversity_weight", columns=["fold", "seed"], values=column)
                for column in _ACCURACIES
            )
            test = test.dropna(axis=1)
            if test.shape[1]:
                weights = test.index.to_numpy(dtype=float)
                keys = tuple((int(key[0]), int(key[1])) for key in test.columns)
                tables = (test, validation[test.columns])
                values = (100 * table.to_numpy(dtype=float) for table in tables)
                curves.append(LambdaCurve(name, source, int(keep), weights, keys, *values))
    return curves


@judges_claim(
    "mix", "An even mix of both criteria is better than one dominated by either (λ = 0.1, 0.9)."
)
def judge_mix(curves: Sequence[LambdaCurve]) -> Finding:
    """The quantity is the smaller lead of λ = 0.5 over λ = 0.1 and λ = 0.9, in points.

    λ = 0.5 is the paper's weight. Sizes are averaged on each fold and seed. A paired t-test with
    Nadeau and Bengio's standard error gives the difference on each data set, and all data sets have
    the same weight. The ends of the interval are the smaller ends of both differences, whose
    intervals hold together (Bonferroni). The best of many weights is not compared: selected on the
    same results, it would win by chance.
    """
    return _judge_mix_against(curves, 0.1, 0.9)


@judges_claim(
    "mix-alone", "A mix of both criteria is better than either criterion alone (λ = 0, 1)."
)
def judge_mix_alone(curves: Sequence[LambdaCurve]) -> Finding:
    """The quantity is the smaller lead of λ = 0.5 over λ = 0 and λ = 1, in points.

    It is computed as for λ = 0.1 and 0.9.
    """
    return _judge_mix_against(curves, 0.0, 1.0)


def _judge_mix_against(curves: Sequence[LambdaCurve], *extremes: float) -> Finding:
    def differences_from(weight: float) -> dict[str, Difference]:
        return _differences_by_row(curves, lambda c: (c.accuracy_at(0.5), c.accuracy_at(weight)))

    by_weight = {weight: differences_from(weight) for weight in extremes}
    if not all(by_weight.values()):
        return Finding(None, "Not measured on three folds or more.", {})
    overall = {weight: mean_difference(list(rows.values())) for weight, rows in by_weight.items()}
    level = 1 - ALPHA / len(extremes)
    told = " ".join(
        f"λ = 0.5 minus λ = {weight:g}: {format_difference(overall[weight], level)} points; "
        + ", ".join(f"{row} {format_difference(d)}" for row, d in rows.items())
        + "."
        for weight, rows in by_weight.items()
    )
    intervals = [difference.interval(level) for difference in overall.values()]
    low, high = (min(ends) for ends in zip(*intervals, strict=True))
    least = min(difference.mean for difference in overall.values())
    numbers = {
        f"less_{weight:g}": {row: {"mean": d.mean, "error": d.error} for row, d in rows.items()}
        for weight, rows in by_weight.items()
    }
    return Finding(Statistic("smaller lead, points", least, low, high), told, numbers)


def _differences_by_row(
    curves: Sequence[LambdaCurve],
    sides: Callable[[LambdaCurve], tuple[FloatArray | None, FloatArray | None]],
) -> dict[str, Difference]:
    """Return the difference of two accuracies on each data set.

    Sizes are averaged on the folds and seeds that all of them have.
    """
    rows: dict[str, list[pd.DataFrame]] = {}
    for curve in curves:
        first, second = sides(curve)
        if first is not None and second is not None:
            scores = pd.DataFrame({"first": first, "second": second}, index=curve.fold_keys)
            rows.setdefault(curve.row, []).append(scores)
    differences = {}
    for row, sizes in rows.items():
        shared = sorted(set.intersection(*(set(scores.index) for scores in sizes)))
        means = np.mean([scores.loc[shared].to_numpy() for scores in sizes], axis=0)
        difference = fold_difference(*means.T)
        if difference is not None:
            differences[row] = difference
    return differences


@judges_claim("weight", "The best λ is a property of the data.")
def judge_weight(curves: Sequence[LambdaCurve]) -> Finding:
    """The quantity is the share of data sets that have one best λ for all sizes.

    For each size, a weight λ may be the best if it is not worse than the weight with the highest
    mean, by a one-sided paired t-test at 5 % with Nadeau and Bengio's standard error. Sizes at
    which every weight may be the best are ignored, and data sets with fewer than two remaining
    sizes do not count. A data set has one best λ if all its sizes have such a weight in common, and
    their best weights are within 0.2 of each other. The interval is Clopper and Pearson's. With
    fewer than six data sets, as in the paper, no result is clear enough for a verdict.
    """
    best: dict[str, dict[int, LambdaCurve]] = {}
    for curve in curves:
        by_size = best.setdefault(curve.row, {})
        if not curve.is_flat:
            by_size[curve.keep] = curve
    several = [list(by_size.values()) for by_size in best.values() if len(by_size) > 1]
    n_agreed = sum(
        bool(set.intersection(*(c.candidate_weights for c in sizes)))
        and np.ptp([c.best_weight for c in sizes]) < 0.2 + 1e-9
        for sizes in several
    )
    each = "; ".join(
        f"{row}: {format_list(f'{c.best_weight:g} for {keep}' for keep, c in by_size.items())}"
        for row, by_size in best.items()
    )
    numbers = {
        row: {
            keep: {"best": c.best_weight, "may_be": sorted(c.candidate_weights)}
            for keep, c in by_size.items()
        }
        for row, by_size in best.items()
    }
    told = f"Best λ by number of kept members, where weights differ: {each}." if each else ""
    counts = {"data_sets": len(several), "agreed": n_agreed, "best": numbers}
    if not several:
        return Finding(None, told or UNMEASURED, counts)
    share = binomial_test(n_agreed, len(several))
    statistic = Statistic("share of data sets", share.share, share.low, share.high, holds_above=0.5)
    return Finding(statistic, f"{n_agreed} of {len(several)} data sets. {told}", counts)


@judges_claim("tuned", "A λ tuned for the data is better than 0.5.")
def judge_tuned(curves: Sequence[LambdaCurve]) -> Finding:
    """The quantity is the lead of the λ with the highest validation accuracy over 0.5, in points.

    Both are compared on the test set of each fold. Among equal validation accuracies the λ nearest
    to 0.5 is selected. Sizes are averaged on each fold and seed. A paired t-test with Nadeau and
    Bengio's standard error gives the difference on each data set, and all data sets have the same
    weight.
    """
    differences = _differences_by_row(
        curves, lambda curve: (curve.tuned_accuracy, curve.accuracy_at(0.5))
    )
    if not differences:
        return Finding(None, "Not measured on three folds or more.", {})
    overall = mean_difference(list(differences.values()))
    each = ", ".join(f"{row} {format_difference(d)}" for row, d in differences.items())
    numbers = {row: {"mean": d.mean, "error": d.error} for row, d in differences.items()}
    statistic = Statistic("tuned λ minus λ = 0.5, points", overall.mean, *overall.interval())
    return Finding(statistic, f"By data set: {each}.", numbers)


def lambda_pictures(plan: Plan, curves: Sequence[LambdaCurve]) -> list[look.Picture]:
    """Return one figure per row: three weights above, all weights below."""
    return [
        look.Picture(
            name,
            plan.name,
            f"Accuracy by λ: {row}",
            f"{plan.repeated(mine[0].source)} COMEP, mean over {mine[0].accuracy.shape[1]} "
            "folds. Above (a): each criterion alone (λ = 0: relevance, λ = 1: diversity) and both "
            "with equal weight, with the standard error of independent folds; folds of several "
            "seeds share their samples, so it is too small. Below (b): all weights; a ring marks "
            "the best weight of each size. Points of different sizes are shifted slightly to "
            "remain visible.",
            (
                "members kept",
                *(f"λ = {weight:g}" for weight in mine[0].diversity_weights),
                "best λ",
            ),
            tuple((c.keep, *(float(v) for v in c.mean_accuracy), c.best_weight) for c in mine),
            partial(_draw_curves, mine),
            4.0,
        )
        for row, name, mine in series_by_row("lambda", curves)
    ]


def _draw_curves(curves: Sequence[LambdaCurve], figure: "Figure") -> None:
    above, below = figure.subplots(2, 1)
    alone = (
        (0.0, -0.2, "relevance alone", look.GREY, "s"),
        (0.5, 0.0, "both", look.BLUE, "o"),
        (1.0, 0.2, "diversity alone", look.AMBER, "D"),
    )
    for weight, shift, name, colour, marker in alone:
        points = [(index + shift, curve.accuracy_at(weight)) for index, curve in enumerate(curves)]
        measured = [(position, values) for position, values in points if values is not None]
        if measured:
            positions, folds = zip(*measured, strict=True)
            style = {"label": name, "color": colour, "marker": marker}
            look.draw_mean_dots(above, positions, folds, error=True, **style)
    above.grid(axis="y")
    above.set_xticks(range(len(curves)), [f"{curve.keep} kept" for curve in curves])
    above.set_ylabel("test accuracy, %")
    above.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    colours = (look.BLUE, look.ORANGE, look.GREEN, look.PURPLE)
    styles = tuple(zip(colours, ("-", "--", "-.", ":"), "os^D", strict=True))
    for index, (curve, shift) in enumerate(
        zip(curves, look.series_offsets(len(curves), 0.022), strict=True)
    ):
        colour, dashes, marker = styles[index % len(styles)]
        weights, means = curve.diversity_weights + shift, curve.mean_accuracy
        below.plot(weights, means, color=colour, linestyle=dashes, marker=marker,
                   label=f"{curve.keep} kept")  # fmt: skip
        below.plot([curve.best_weight + shift], [means.max()], "o", markersize=8, color=colour,
                   markerfacecolor="none")  # fmt: skip
    below.set_xlabel("λ (0: relevance alone, 1: diversity alone)")
    below.set_ylabel("test accuracy, %")
    below.grid(axis="y")
    look.legend_below(figure, below, 4)


FIGURE = PaperFigure(
    *("figure-lambda", lambda_curves, lambda_pictures),
    (judge_mix, judge_mix_alone, judge_weight, judge_tuned),
)
