"""Figure: accuracy of COMEP against λ; the claims on a mix of criteria and on λ."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from secateurs.benchmarking import pictures as look
from secateurs.paper._figure_base import PaperFigure, RowSeries, series_by_row
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper.claims import (
    ALPHA,
    FAILS,
    HOLDS,
    UNKNOWN,
    Finding,
    Statistic,
    fold_difference,
    format_difference,
    judges_claim,
    weigh_settings,
)
from secateurs.statistics import Difference, mean_difference
from secateurs.text_format import format_list

_ACCURACIES = ("accuracy", "validation_accuracy")


@dataclass(frozen=True, eq=False)
class LambdaCurve(RowSeries):
    """Test accuracy of COMEP against λ, on one data set and for one size.

    Attributes
    ----------
    keep : int
        Number of members kept.
    diversity_weights : array of shape (n_weights,)
        λ: 0 asks for relevance alone, 1 for diversity alone.
    accuracy : array of shape (n_weights, n_folds)
        In per cent; folds and seeds that all weights have.
    validation_accuracy : array of shape (n_weights, n_folds), optional
        The same on the rows chosen on.
    """

    keep: int
    diversity_weights: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    validation_accuracy: NDArray[np.float64] | None = None

    @property
    def mean_accuracy(self) -> NDArray[np.float64]:
        """Accuracy at each weight, mean over folds."""
        return self.accuracy.mean(axis=1)

    def accuracy_at(self, weight: float) -> NDArray[np.float64] | None:
        """Return the accuracy on each fold at a weight, if it was tried."""
        place = np.flatnonzero(np.isclose(self.diversity_weights, weight))
        return self.accuracy[place[0]] if len(place) else None

    @property
    def best_weight(self) -> float:
        """The weight of the highest mean; the middle one of several."""
        ties = np.flatnonzero(self.mean_accuracy >= self.mean_accuracy.max() - 1e-9)
        return float(self.diversity_weights[ties[(len(ties) - 1) // 2]])

    @property
    def candidate_weights(self) -> set[float]:
        """Weights that may be the best: not worse than it by a one-sided t-test at 5 %."""
        best = self.accuracy[self.mean_accuracy.argmax()]
        found = (fold_difference(best, scores) for scores in self.accuracy)
        return {
            float(weight)
            for weight, difference in zip(self.diversity_weights, found, strict=True)
            if difference is None or difference.p_above() >= ALPHA
        }

    @property
    def is_flat(self) -> bool:
        """Whether every weight may be the best."""
        return len(self.candidate_weights) == len(self.diversity_weights)

    @property
    def tuned_accuracy(self) -> NDArray[np.float64] | None:
        """Test accuracy on each fold at the weight best on its rows chosen on, nearest to 0.5."""
        if self.validation_accuracy is None or np.isnan(self.validation_accuracy).any():
            return None
        nearest = np.argsort(np.abs(self.diversity_weights - 0.5), kind="stable")
        rounded = np.round(self.validation_accuracy[nearest], 9)
        chosen = nearest[rounded.argmax(axis=0)]
        return self.accuracy[chosen, np.arange(self.accuracy.shape[1])]


def lambda_curves(plan: Plan, frame: pd.DataFrame) -> list[LambdaCurve]:
    """Return accuracy against λ per row and size."""
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
                both = (test, validation[test.columns])
                values = (100 * table.to_numpy(dtype=float) for table in both)
                curves.append(LambdaCurve(name, source, int(keep), weights, *values))
    return curves


@judges_claim("mix", "A mix of both criteria beats one that leans to either (λ = 0.1, 0.9).")
def judge_mix(curves: Sequence[LambdaCurve]) -> Finding:
    """Test accuracy of COMEP at λ = 0.5, the paper's weight, is compared with λ = 0.1 and λ = 0.9.

    Sizes are averaged on each fold and seed; a paired t-test with Nadeau and Bengio's error gives
    the difference on each data set, and these count alike over all. Holds if over all the 95 %
    intervals of both differences lie above 0. Does not hold if one of them lies below 0. Cannot be
    told otherwise. The best of many weights is not compared: chosen by looking, it would win by
    chance.
    """
    return _judge_mix_against(curves, 0.1, 0.9)


@judges_claim("mix-alone", "A mix of both criteria beats either alone (λ = 0, 1).")
def judge_mix_alone(curves: Sequence[LambdaCurve]) -> Finding:
    """Test accuracy of COMEP at λ = 0.5, the paper's weight, is compared with λ = 0 and λ = 1.

    The differences are those of λ = 0.1 and 0.9. Holds if over all data sets the 95 % intervals of
    both lie above 0. Does not hold if one of them lies below 0. Cannot be told otherwise.
    """
    return _judge_mix_against(curves, 0.0, 1.0)


def _judge_mix_against(curves: Sequence[LambdaCurve], *others: float) -> Finding:
    found = {
        w: _differences_by_row(curves, lambda c, w=w: (c.accuracy_at(0.5), c.accuracy_at(w)))
        for w in others
    }
    if not all(found.values()):
        return Finding(UNKNOWN, "It was not measured on three folds or more.", {})
    overall = {weight: mean_difference(list(rows.values())) for weight, rows in found.items()}
    intervals = [difference.interval() for difference in overall.values()]
    verdict = UNKNOWN
    if all(low > 0 for low, _ in intervals):
        verdict = HOLDS
    elif any(high < 0 for _, high in intervals):
        verdict = FAILS
    told = " ".join(
        f"λ = 0.5 less λ = {weight:g}: {format_difference(overall[weight])} points; "
        + ", ".join(f"{row} {format_difference(d)}" for row, d in rows.items())
        + "."
        for weight, rows in found.items()
    )
    least = min(overall, key=lambda weight: overall[weight].mean)
    name = f"λ = 0.5 less λ = {least:g}, points"
    statistic = Statistic(name, overall[least].mean, *overall[least].interval())
    numbers = {
        f"less_{weight:g}": {row: {"mean": d.mean, "error": d.error} for row, d in rows.items()}
        for weight, rows in found.items()
    }
    return Finding(verdict, told, numbers, statistic)


def _differences_by_row(curves: Sequence[LambdaCurve], sides: Any) -> dict[str, Difference]:
    """Return the difference of two sides of curves per data set, sizes averaged on each fold."""
    rows: dict[str, list[Any]] = {}
    for curve in curves:
        both = sides(curve)
        if all(side is not None for side in both):
            rows.setdefault(curve.row, []).append(both)
    found = {}
    for row, mine in rows.items():
        n_folds = min(len(first) for first, _ in mine)
        first, second = (np.mean([both[i][:n_folds] for both in mine], axis=0) for i in (0, 1))
        difference = fold_difference(first, second)
        if difference is not None:
            found[row] = difference
    return found


@judges_claim("weight", "The best λ is a property of the data.")
def judge_weight(curves: Sequence[LambdaCurve]) -> Finding:
    """The weights λ that may be the best are found for each size of a data set.

    A weight may be the best if it is not worse than that of the highest mean, by a one-sided paired
    t-test at 5 % with Nadeau and Bengio's error. Sizes at which every weight may be the best are
    left aside. A data set speaks against the claim, one best λ whatever the size, if two sizes
    have no such weight in common; for it if all do and the best of all sizes lie within 0.2 of each
    other; data sets with fewer than two sizes left speak for neither. Holds if three quarters speak
    for it, does not hold if more than a quarter speak against it.
    """
    best: dict[str, dict[int, LambdaCurve]] = {}
    for curve in curves:
        found = best.setdefault(curve.row, {})
        if not curve.is_flat:
            found[curve.keep] = curve
    several = [list(found.values()) for found in best.values() if len(found) > 1]
    n_against = sum(
        any(
            not one.candidate_weights & other.candidate_weights
            for one, other in combinations(sizes, 2)
        )
        for sizes in several
    )
    n_for = sum(
        bool(set.intersection(*(c.candidate_weights for c in sizes)))
        and np.ptp([c.best_weight for c in sizes]) < 0.2 + 1e-9
        for sizes in several
    )
    each = "; ".join(
        f"{row}: {format_list(f'{c.best_weight:g} for {keep}' for keep, c in found.items())}"
        for row, found in best.items()
    )
    numbers = {
        row: {
            keep: {"best": c.best_weight, "may_be": sorted(c.candidate_weights)}
            for keep, c in found.items()
        }
        for row, found in best.items()
    }
    return weigh_settings(len(best), n_for, n_against, "data sets").with_details(
        f"Best λ by size, where it can be told: {each}." if each else "", best=numbers
    )


@judges_claim("tuned", "A λ that is tuned for the data does better than 0.5.")
def judge_tuned(curves: Sequence[LambdaCurve]) -> Finding:
    """On each fold the λ of the highest validation accuracy is taken, and tested against 0.5.

    Of equal ones the nearest to 0.5 is taken. Sizes are averaged on each fold and seed; a paired
    t-test with Nadeau and Bengio's error gives the difference in test accuracy on each data set,
    and these count alike over all. Holds if over all the 95 % interval lies above 0. Does not hold
    if it lies below 0.1 points. Cannot be told otherwise.
    """
    found = _differences_by_row(
        curves, lambda curve: (curve.tuned_accuracy, curve.accuracy_at(0.5))
    )
    if not found:
        return Finding(UNKNOWN, "It was not measured on three folds or more.", {})
    overall = mean_difference(list(found.values()))
    low, high = overall.interval()
    verdict = HOLDS if low > 0 else FAILS if high < 0.1 else UNKNOWN
    each = ", ".join(f"{row} {format_difference(d)}" for row, d in found.items())
    told = f"Tuned less 0.5: {format_difference(overall)} points; {each}."
    numbers = {row: {"mean": d.mean, "error": d.error} for row, d in found.items()}
    statistic = Statistic("tuned λ less λ = 0.5, points", overall.mean, low, high)
    return Finding(verdict, told, numbers, statistic)


def lambda_pictures(plan: Plan, curves: Sequence[LambdaCurve]) -> list[look.Picture]:
    """Return a figure per row: chosen weights above, all weights below."""
    return [
        look.Picture(
            name,
            plan.name,
            f"Accuracy against λ: {row}",
            f"{plan.repeated(mine[0].source)} COMEP, mean over {mine[0].accuracy.shape[1]} "
            "folds. Above (a): each criterion alone "
            "(λ = 0: relevance, λ = 1: diversity) and both alike, with the standard error. "
            "Below (b): all weights, sizes drawn a little apart; a ring marks the best of each "
            "size.",
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


def _draw_curves(curves: Sequence[LambdaCurve], figure: Any) -> None:
    above, below = figure.subplots(2, 1)
    alone = (
        (0.0, -0.2, "relevance alone", look.GREY, "s"),
        (0.5, 0.0, "both", look.BLUE, "o"),
        (1.0, 0.2, "diversity alone", look.AMBER, "D"),
    )
    for weight, shift, name, colour, marker in alone:
        found = [(place + shift, curve.accuracy_at(weight)) for place, curve in enumerate(curves)]
        there = [(place, values) for place, values in found if values is not None]
        if there:
            places, folds = zip(*there, strict=True)
            style = {"label": name, "color": colour, "marker": marker}
            look.draw_mean_dots(above, places, folds, error=True, **style)
    above.grid(axis="y")
    above.set_xticks(range(len(curves)), [f"{curve.keep} kept" for curve in curves])
    above.set_ylabel("test accuracy, %")
    above.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    colours = (look.BLUE, look.ORANGE, look.GREEN, look.PURPLE)
    styles = tuple(zip(colours, ("-", "--", "-.", ":"), "os^D", strict=True))
    for place, (curve, shift) in enumerate(
        zip(curves, look.series_offsets(len(curves), 0.022), strict=True)
    ):
        colour, dashes, marker = styles[place % len(styles)]
        below.plot(curve.diversity_weights + shift, curve.mean_accuracy, color=colour, linestyle=dashes, marker=marker,
                   label=f"{curve.keep} kept")  # fmt: skip
        below.plot([curve.best_weight + shift], [curve.mean_accuracy.max()], "o", markersize=8, color=colour,
                   markerfacecolor="none")  # fmt: skip
    below.set_xlabel("λ (0: relevance alone, 1: diversity alone)")
    below.set_ylabel("test accuracy, %")
    below.grid(axis="y")
    look.legend_below(figure, below, 4)


FIGURE = PaperFigure(
    *("figure-lambda", lambda_curves, lambda_pictures),
    (judge_mix, judge_mix_alone, judge_weight, judge_tuned),
)
