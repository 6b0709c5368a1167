"""Figure: accuracy of COMEP against λ; the claims on a mix of criteria and on the best λ."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from secateurs._text import listed, signed
from secateurs.benchmarking import _drawing as look
from secateurs.paper._claims import Finding, claim, weigh
from secateurs.paper._drawing import PaperFigure, RowSeries, by_row
from secateurs.paper._plan import Plan
from secateurs.paper._results import results_by_row, where
from secateurs.statistics import paired_t_test


@dataclass(frozen=True, eq=False)
class LambdaCurve(RowSeries):
    """Test accuracy of COMEP against λ, on one data set and for one size.

    Attributes
    ----------
    keep : int
        Number of members kept.
    weights : array of shape (n_weights,)
        λ: 0 asks for relevance alone, 1 for diversity alone.
    accuracy : array of shape (n_weights, n_folds)
        In per cent; folds that all weights have.
    """

    keep: int
    weights: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Accuracy at each weight, mean over folds."""
        return self.accuracy.mean(axis=1)

    def at(self, weight: float) -> NDArray[np.float64] | None:
        """Return the accuracy on each fold at a weight, if it was tried."""
        place = np.flatnonzero(np.isclose(self.weights, weight))
        return self.accuracy[place[0]] if len(place) else None

    @property
    def best(self) -> float:
        """The weight of the highest mean; the middle one of several."""
        ties = np.flatnonzero(self.mean >= self.mean.max() - 1e-9)
        return float(self.weights[ties[(len(ties) - 1) // 2]])

    @property
    def is_flat(self) -> bool:
        """Whether best and worst weight cannot be told apart by the paired t-test."""
        if self.accuracy.shape[1] < 2:
            return True
        best, worst = self.accuracy[self.mean.argmax()], self.accuracy[self.mean.argmin()]
        return paired_t_test(best, worst).verdict == "tie"


def lambda_curves(plan: Plan, frame: pd.DataFrame) -> list[LambdaCurve]:
    """Return accuracy against λ per row and size."""
    curves = []
    for name, source, mine in results_by_row(plan, frame):
        for keep in sorted(set(mine["keep"])):
            table = where(mine, keep=keep).pivot_table(
                index="diversity_weight", columns=["fold", "seed"], values="accuracy"
            )
            table = table.astype(float).dropna(axis=1)
            if table.shape[1]:
                weights = table.index.to_numpy(dtype=float)
                values = 100 * table.to_numpy(dtype=float)
                curves.append(LambdaCurve(name, source, int(keep), weights, values))
    return curves


@claim("mix", "A mix of both criteria beats either alone.")
def judge_mix(curves: Sequence[LambdaCurve]) -> Finding:
    """Test accuracy of COMEP at λ = 0.5, the paper's weight, is compared with λ = 0 and λ = 1.

    A data set and size speaks for the claim if the mean over folds at 0.5 is above both others, and
    against it if it is below one of them. Holds if three quarters speak for it, does not hold if
    more than a quarter speak against it. The best of many weights is not compared: chosen by
    looking, it would win by chance.
    """
    tried = [(curve.at(0.0), curve.at(0.5), curve.at(1.0)) for curve in curves]
    means = [
        (float(low.mean()), float(mid.mean()), float(high.mean()))
        for low, mid, high in tried
        if low is not None and mid is not None and high is not None
    ]
    n_for = sum(mid > max(low, high) + 1e-9 for low, mid, high in means)
    n_against = sum(mid < max(low, high) - 1e-9 for low, mid, high in means)
    finding = weigh(len(means), n_for, n_against, "data sets and sizes")
    if not means:
        return finding
    over_relevance = float(np.mean([mid - low for low, mid, _ in means]))
    over_diversity = float(np.mean([mid - high for _, mid, high in means]))
    return finding.adding(
        f"On average λ = 0.5 lies {signed(over_relevance, 2)} points from relevance alone and "
        f"{signed(over_diversity, 2)} from diversity alone.",
        over_relevance=over_relevance,
        over_diversity=over_diversity,
    )


@claim("weight", "The best λ is a property of the data.")
def judge_weight(curves: Sequence[LambdaCurve]) -> Finding:
    """The weight λ of the highest mean test accuracy is found for each size of a data set.

    A data set speaks for the claim, one best λ whatever the size, if the best weights of all sizes
    lie within 0.2 of each other, otherwise against it. Sizes for which best and worst weight cannot
    be told apart by the t-test at 5 % are left aside; data sets with fewer than two sizes left
    speak for neither. Holds if three quarters speak for it, does not hold if more than a quarter
    speak against it.
    """
    best: dict[str, dict[int, float]] = {}
    for curve in curves:
        found = best.setdefault(curve.row, {})
        if not curve.is_flat:
            found[curve.keep] = curve.best
    several = [list(found.values()) for found in best.values() if len(found) > 1]
    n_for = sum(max(weights) - min(weights) < 0.2 + 1e-9 for weights in several)
    each = "; ".join(
        f"{row}: {listed(f'{weight:g} for {keep}' for keep, weight in found.items())}"
        for row, found in best.items()
    )
    return weigh(len(best), n_for, len(several) - n_for, "data sets").adding(
        f"Best λ by size, where it can be told: {each}." if each else "", best=best
    )


def lambda_pictures(plan: Plan, curves: Sequence[LambdaCurve]) -> list[look.Picture]:
    """Return a figure per row: chosen weights above, all weights below."""
    return [
        look.Picture(
            name,
            plan.name,
            f"Accuracy against λ: {row}",
            f"COMEP, mean over {mine[0].accuracy.shape[1]} folds. Above: each criterion alone "
            "(λ = 0: relevance, λ = 1: diversity) and both alike, with the standard error. "
            "Below: all weights; a ring marks the best of each size.",
            ("members kept", *(f"λ = {weight:g}" for weight in mine[0].weights), "best λ"),
            tuple((c.keep, *(float(v) for v in c.mean), c.best) for c in mine),
            partial(_draw, mine),
            4.0,
        )
        for row, name, mine in by_row("lambda", curves)
    ]


def _draw(curves: Sequence[LambdaCurve], figure: Any) -> None:
    above, below = figure.subplots(2, 1)
    alone = (
        (0.0, -0.2, "relevance alone", look.GREY, "s"),
        (0.5, 0.0, "both", look.BLUE, "o"),
        (1.0, 0.2, "diversity alone", look.AMBER, "D"),
    )
    for weight, shift, name, colour, marker in alone:
        found = [(place + shift, curve.at(weight)) for place, curve in enumerate(curves)]
        there = [(place, values) for place, values in found if values is not None]
        if there:
            places, folds = zip(*there, strict=True)
            style = {"label": name, "color": colour, "marker": marker}
            look.dots(above, places, folds, error=True, **style)
    above.grid(axis="y")
    above.set_xticks(range(len(curves)), [f"{curve.keep} kept" for curve in curves])
    above.set_ylabel("test accuracy, %")
    above.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    colours = (look.BLUE, look.ORANGE, look.GREEN, look.PURPLE)
    styles = tuple(zip(colours, ("-", "--", "-.", ":"), "os^D", strict=True))
    for place, curve in enumerate(curves):
        colour, dashes, marker = styles[place % len(styles)]
        below.plot(curve.weights, curve.mean, color=colour, linestyle=dashes, marker=marker,
                   label=f"{curve.keep} kept")  # fmt: skip
        below.plot([curve.best], [curve.mean.max()], "o", markersize=8, color=colour,
                   markerfacecolor="none")  # fmt: skip
    below.set_xlabel("λ (0: relevance alone, 1: diversity alone)")
    below.set_ylabel("test accuracy, %")
    below.grid(axis="y")
    look.legend_below(figure, below, 4)


FIGURE = PaperFigure("figure-lambda", lambda_curves, lambda_pictures, (judge_mix, judge_weight))
