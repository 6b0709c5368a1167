"""Any score by size: how sub-ensembles do on rows held out, by the score a user cares about."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties
from secateurs.measures.scoring import Scoring
from secateurs.outputs.fixed_point import mean_from_sums
from secateurs.outputs.input_checks import effective_members
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

Floats = NDArray[np.float64]
GroupWeights = Mapping[int, Floats]  # of members in groups, by the place of the group
EQUAL_WEIGHTS: GroupWeights = MappingProxyType({})  # in all groups

NORMAL_97_5 = 1.959964  # 97.5 % of a normal distribution lie below
_N_PARTS = 10  # of the rows; each is left out once to learn how much a score varies


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """A score of sub-ensembles of some sizes, next to that of the whole ensemble.

    Larger is better, as for scikit-learn's scorers.

    Attributes
    ----------
    total_weight : float
        Number of rows, or the sum of their weights.
    full_value : float
        The score of the whole ensemble.
    values : ndarray of shape (n_sizes,)
        The score at each size.
    variances, change_variances : ndarray of shape (n_sizes,)
        Variances of the score, and of its change against the whole ensemble, by the jackknife:
        tenths of the rows are left out in turn. NaN for sizes that were not asked for.
    """

    total_weight: float
    full_value: float
    values: Floats
    variances: Floats
    change_variances: Floats

    def __add__(self, other: "ScoreCurve") -> "ScoreCurve":
        """Return the mean over the rows of both, as of the folds in cross-fitting."""
        n_rows = self.total_weight + other.total_weight
        mine, others = self.total_weight / n_rows, other.total_weight / n_rows
        return ScoreCurve(
            n_rows,
            mine * self.full_value + others * other.full_value,
            mine * self.values + others * other.values,
            mine**2 * self.variances + others**2 * other.variances,
            mine**2 * self.change_variances + others**2 * other.change_variances,
        )

    def scale_and_shift(self, factor: float, shift: float) -> "ScoreCurve":
        """Return the curve of the score times a factor, plus a shift."""
        return ScoreCurve(
            self.total_weight,
            factor * self.full_value + shift,
            factor * self.values + shift,
            factor**2 * self.variances,
            factor**2 * self.change_variances,
        )

    def full_ensemble_curve(self) -> "ScoreCurve":
        """Return the curve of one size: the whole ensemble."""
        none, unknown = np.zeros(1), np.full(1, np.nan)
        return ScoreCurve(self.total_weight, self.full_value, none + self.full_value, unknown, none)

    @property
    def change(self) -> Floats:
        """The score minus that of the whole ensemble, by size."""
        return self.values - self.full_value

    @property
    def half_width(self) -> Floats:
        """Half of the 95 % interval of the change; rows are paired."""
        return NORMAL_97_5 * np.sqrt(self.change_variances)

    @property
    def standard_error(self) -> Floats:
        """Standard error of the score, by size."""
        return np.sqrt(self.variances)


def group_predictions(
    outputs: Votes | Predictions,
    groups: Sequence[Sequence[int]],
    needs: str,
    weights: Array | None,
    group_weights: GroupWeights = EQUAL_WEIGHTS,
) -> Iterator[Array]:
    """Yield what groups of members answer together: labels, probabilities or numbers.

    A group that extends the one before is quick. Members without a value for a row are left out of
    it; where all are, each class has the same probability. ``weights`` are those of the ensemble,
    ``group_weights`` those of members in some of the groups.
    """
    n_classes = outputs.n_classes
    shape = (outputs.n_samples, n_classes) if n_classes else (outputs.n_samples,)
    total, present, joined = np.zeros(shape), np.zeros(outputs.n_samples), list[int]()
    for place, group in enumerate(effective_members(outputs, group) for group in groups):
        inside = group_weights.get(place)
        if inside is not None or list(group[: len(joined)]) != joined:
            total, present, joined = np.zeros(shape), np.zeros(outputs.n_samples), []
        for order, member in enumerate(group[len(joined) :]):
            weight = 1.0 if weights is None else float(weights[member])
            weight *= 1.0 if inside is None else float(inside[order])
            values, here = _member_prediction(outputs, member)
            total += weight * values
            present += weight * here
        joined = list(group) if inside is None else [-1]
        if needs == "labels":
            yield outputs.classes[
                total.argmax(axis=1) if inside is None else argmax_with_ties(total)
            ]
            continue
        mean = mean_from_sums(total, present)
        yield outputs.linked(mean) if isinstance(outputs, Predictions) else mean


def _member_prediction(outputs: Votes | Predictions, member: int) -> tuple[Floats, Any]:
    if isinstance(outputs, Predictions):
        return outputs.values(member), ~outputs.is_missing(member)
    codes = outputs.codes([member])[0]
    return np.eye(outputs.n_classes + 1)[codes][:, :-1], codes < outputs.n_classes


def score_curve(  # noqa: PLR0917
    outputs: Votes | Predictions,
    groups: Sequence[Sequence[int]],
    scoring: Scoring,
    weights: Array | None = None,
    sample_weight: Array | None = None,
    wanted: Container[int] = (),
    group_weights: GroupWeights = EQUAL_WEIGHTS,
) -> ScoreCurve:
    """Score groups of members, and the whole ensemble; how much that varies for those wanted."""
    scoring = replace(scoring, classes=outputs.classes)  # rows to test on may show further ones
    truth = true_values(outputs)
    whole = next(group_predictions(outputs, [range(outputs.n_members)], scoring.needs, weights))
    parts = JackknifeBlocks(scoring, truth, sample_weight)
    varied = parts.left_out_scores(whole) if any(g in wanted for g in range(len(groups))) else None
    values, variances = np.empty(len(groups)), np.full((2, len(groups)), np.nan)
    told = group_predictions(outputs, groups, scoring.needs, weights, group_weights)
    for place, answer in enumerate(told):
        values[place] = parts.score_on(answer)
        if place in wanted and varied is not None:
            own = parts.left_out_scores(answer)
            variances[:, place] = jackknife_variance(own), jackknife_variance(own - varied)
    n_rows = len(truth) if sample_weight is None else float(sample_weight.sum())
    return ScoreCurve(n_rows, parts.score_on(whole), values, *variances)


def scores_with_interval(
    scoring: Scoring, truth: Array, before: Array, after: Array, sample_weight: Array | None
) -> tuple[float, float, float]:
    """Return the scores of two answers, and half of the 95 % interval of their difference."""
    parts = JackknifeBlocks(scoring, truth, sample_weight)
    variance = jackknife_variance(parts.left_out_scores(after) - parts.left_out_scores(before))
    return parts.score_on(before), parts.score_on(after), float(NORMAL_97_5 * np.sqrt(variance))


class JackknifeBlocks:
    """A score on rows in tenths, each of which can be left out."""

    def __init__(self, scoring: Scoring, truth: Array, sample_weight: Array | None) -> None:
        self._scoring, self._truth, self._sample_weight = scoring, truth, sample_weight
        # Rows of a class are dealt out in turn, so that no tenth takes all of one.
        self._block_indices = np.empty(len(truth), dtype=np.intp)
        self._block_indices[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % _N_PARTS

    def score_on(self, answer: Array, rows: Any = slice(None)) -> float:
        """Return the score on some rows; those without any number are left out."""
        weight = None if self._sample_weight is None else self._sample_weight[rows]
        given, truth = answer[rows], self._truth[rows]
        if self._scoring.is_regression_score and not (known := ~np.isnan(given)).all():
            given, truth = given[known], truth[known]
            weight = None if weight is None else weight[known]
        return self._scoring(given, truth, weight)

    def left_out_scores(self, answer: Array) -> Floats:
        """Return the score with each tenth left out; NaN where it is not defined then."""
        if len(self._truth) < 2 * _N_PARTS:
            return np.full(_N_PARTS, np.nan)
        found = np.full(_N_PARTS, np.nan)
        for part in range(_N_PARTS):
            with suppress(InputError):
                found[part] = self.score_on(answer, self._block_indices != part)
        return found


def jackknife_variance(values: Floats) -> float:
    """Return the variance of a figure from its values with each part of the rows left out."""
    return float((len(values) - 1) * np.mean((values - values.mean()) ** 2))
