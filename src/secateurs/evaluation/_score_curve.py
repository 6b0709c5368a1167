"""Any score by size: how sub-ensembles do on rows held out, by the score a user cares about."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array, largest
from secateurs.exceptions import InputError
from secateurs.measures._scoring import Scoring
from secateurs.outputs._checks import speaking
from secateurs.outputs._fixed_point import mean_of
from secateurs.outputs._scores import Scores, true_values
from secateurs.outputs._votes import Votes

Floats = NDArray[np.float64]
Weights = Mapping[int, Floats]  # of members in groups, by the place of the group
EQUAL: Weights = MappingProxyType({})  # in all groups

NORMAL_97_5 = 1.959964  # 97.5 % of a normal distribution lie below
_N_PARTS = 10  # of the rows; each is left out once to learn how much a score varies


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """A score of sub-ensembles of some sizes, next to that of the whole ensemble.

    Larger is better, as for scikit-learn's scorers.

    Attributes
    ----------
    n_rows : float
        Number of rows, or the sum of their weights.
    whole_value : float
        The score of the whole ensemble.
    values : ndarray of shape (n_sizes,)
        The score at each size.
    variances, change_variances : ndarray of shape (n_sizes,)
        Variances of the score, and of its change against the whole ensemble, by the jackknife:
        tenths of the rows are left out in turn. NaN for sizes that were not asked for.
    """

    n_rows: float
    whole_value: float
    values: Floats
    variances: Floats
    change_variances: Floats

    def __add__(self, other: "ScoreCurve") -> "ScoreCurve":
        """Return the mean over the rows of both, as of the folds in cross-fitting."""
        n_rows = self.n_rows + other.n_rows
        mine, others = self.n_rows / n_rows, other.n_rows / n_rows
        return ScoreCurve(
            n_rows,
            mine * self.whole_value + others * other.whole_value,
            mine * self.values + others * other.values,
            mine**2 * self.variances + others**2 * other.variances,
            mine**2 * self.change_variances + others**2 * other.change_variances,
        )

    def scaled(self, factor: float, shift: float) -> "ScoreCurve":
        """Return the curve of the score times a factor, plus a shift."""
        return ScoreCurve(
            self.n_rows,
            factor * self.whole_value + shift,
            factor * self.values + shift,
            factor**2 * self.variances,
            factor**2 * self.change_variances,
        )

    def of_whole(self) -> "ScoreCurve":
        """Return the curve of one size: the whole ensemble."""
        none, unknown = np.zeros(1), np.full(1, np.nan)
        return ScoreCurve(self.n_rows, self.whole_value, none + self.whole_value, unknown, none)

    @property
    def change(self) -> Floats:
        """The score minus that of the whole ensemble, by size."""
        return self.values - self.whole_value

    @property
    def half_width(self) -> Floats:
        """Half of the 95 % interval of the change; rows are paired."""
        return NORMAL_97_5 * np.sqrt(self.change_variances)

    @property
    def standard_error(self) -> Floats:
        """Standard error of the score, by size."""
        return np.sqrt(self.variances)


def answers(
    outputs: Votes | Scores,
    groups: Sequence[Sequence[int]],
    needs: str,
    weights: Array | None,
    group_weights: Weights = EQUAL,
) -> Iterator[Array]:
    """Yield what groups of members answer together: labels, probabilities or numbers.

    A group that extends the one before is quick. Members without a value for a row are left out of
    it; where all are, each class has the same probability. ``weights`` are those of the ensemble,
    ``group_weights`` those of members in some of the groups.
    """
    n_classes = outputs.n_classes
    shape = (outputs.n_samples, n_classes) if n_classes else (outputs.n_samples,)
    total, present, joined = np.zeros(shape), np.zeros(outputs.n_samples), list[int]()
    for place, group in enumerate(speaking(outputs, group) for group in groups):
        inside = group_weights.get(place)
        if inside is not None or list(group[: len(joined)]) != joined:
            total, present, joined = np.zeros(shape), np.zeros(outputs.n_samples), []
        for order, member in enumerate(group[len(joined) :]):
            weight = 1.0 if weights is None else float(weights[member])
            weight *= 1.0 if inside is None else float(inside[order])
            values, here = _answer_of(outputs, member)
            total += weight * values
            present += weight * here
        joined = list(group) if inside is None else [-1]
        if needs == "labels":
            yield outputs.classes[total.argmax(axis=1) if inside is None else largest(total)]
            continue
        mean = mean_of(total, present)
        yield outputs.linked(mean) if isinstance(outputs, Scores) else mean


def _answer_of(outputs: Votes | Scores, member: int) -> tuple[Floats, Any]:
    if isinstance(outputs, Scores):
        return outputs.values(member), ~outputs.is_missing(member)
    codes = outputs.codes([member])[0]
    return np.eye(outputs.n_classes + 1)[codes][:, :-1], codes < outputs.n_classes


def score_curve(  # noqa: PLR0917
    outputs: Votes | Scores,
    groups: Sequence[Sequence[int]],
    scoring: Scoring,
    weights: Array | None = None,
    sample_weight: Array | None = None,
    wanted: Container[int] = (),
    group_weights: Weights = EQUAL,
) -> ScoreCurve:
    """Score groups of members, and the whole ensemble; how much that varies for those wanted."""
    scoring = replace(scoring, classes=outputs.classes)  # rows to test on may show further ones
    truth = true_values(outputs)
    whole = next(answers(outputs, [range(outputs.n_members)], scoring.needs, weights))
    parts = Parts(scoring, truth, sample_weight)
    varied = parts.left_out(whole) if any(g in wanted for g in range(len(groups))) else None
    values, variances = np.empty(len(groups)), np.full((2, len(groups)), np.nan)
    told = answers(outputs, groups, scoring.needs, weights, group_weights)
    for place, answer in enumerate(told):
        values[place] = parts.score(answer)
        if place in wanted and varied is not None:
            own = parts.left_out(answer)
            variances[:, place] = jackknife(own), jackknife(own - varied)
    n_rows = len(truth) if sample_weight is None else float(sample_weight.sum())
    return ScoreCurve(n_rows, parts.score(whole), values, *variances)


def change_of(
    scoring: Scoring, truth: Array, before: Array, after: Array, sample_weight: Array | None
) -> tuple[float, float, float]:
    """Return the scores of two answers, and half of the 95 % interval of their difference."""
    parts = Parts(scoring, truth, sample_weight)
    variance = jackknife(parts.left_out(after) - parts.left_out(before))
    return parts.score(before), parts.score(after), float(NORMAL_97_5 * np.sqrt(variance))


class Parts:
    """A score on rows in tenths, each of which can be left out."""

    def __init__(self, scoring: Scoring, truth: Array, sample_weight: Array | None) -> None:
        self._scoring, self._truth, self._weight = scoring, truth, sample_weight
        # Rows of a class are dealt out in turn, so that no tenth takes all of one.
        self._part = np.empty(len(truth), dtype=np.intp)
        self._part[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % _N_PARTS

    def score(self, answer: Array, rows: Any = slice(None)) -> float:
        """Return the score on some rows; those without any number are left out."""
        weight = None if self._weight is None else self._weight[rows]
        given, truth = answer[rows], self._truth[rows]
        if self._scoring.is_of_numbers and not (known := ~np.isnan(given)).all():
            given, truth = given[known], truth[known]
            weight = None if weight is None else weight[known]
        return self._scoring(given, truth, weight)

    def left_out(self, answer: Array) -> Floats:
        """Return the score with each tenth left out; NaN where it is not defined then."""
        if len(self._truth) < 2 * _N_PARTS:
            return np.full(_N_PARTS, np.nan)
        found = np.full(_N_PARTS, np.nan)
        for part in range(_N_PARTS):
            with suppress(InputError):
                found[part] = self.score(answer, self._part != part)
        return found


def jackknife(values: Floats) -> float:
    """Return the variance of a figure from its values with each part of the rows left out."""
    return float((len(values) - 1) * np.mean((values - values.mean()) ** 2))
