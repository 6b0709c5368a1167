"""Score curves: a score of sub-ensembles by size, with its jackknife variance."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from secateurs._renamed_modules import restore_renamed
from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties
from secateurs.measures.scoring import Scoring
from secateurs.outputs.fixed_point import mean_from_sums
from secateurs.outputs.input_checks import effective_members
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, FloatArray

GroupWeights: TypeAlias = Mapping[int, FloatArray]  # of a group's members, by the group's index
EQUAL_WEIGHTS: GroupWeights = MappingProxyType({})  # in all groups

NORMAL_97_5 = 1.959964  # the 97.5 % quantile of the normal distribution
# Blocks of the jackknife. Each block costs one more evaluation of the score, and fewer blocks
# would estimate the variance less precisely.
_N_BLOCKS = 10


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """A score of sub-ensembles by size, compared with the full ensemble; larger is better."""

    __setstate__ = restore_renamed(n_rows="total_weight", whole_value="full_value")

    total_weight: float  # number of samples, or the sum of their weights
    full_value: float  # the score of the full ensemble
    values: FloatArray  # by size
    # Jackknife variances of the score, and of its change against the full ensemble; NaN for sizes
    # that were not asked for.
    variances: FloatArray
    change_variances: FloatArray

    def __add__(self, other: "ScoreCurve") -> "ScoreCurve":
        """Return the mean over the samples of both curves, as for folds of cross-validation."""
        total = self.total_weight + other.total_weight
        share, other_share = self.total_weight / total, other.total_weight / total
        return ScoreCurve(
            total,
            share * self.full_value + other_share * other.full_value,
            share * self.values + other_share * other.values,
            share**2 * self.variances + other_share**2 * other.variances,
            share**2 * self.change_variances + other_share**2 * other.change_variances,
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
        """Return the curve of a single size, the full ensemble."""
        zero, unknown = np.zeros(1), np.full(1, np.nan)
        return ScoreCurve(self.total_weight, self.full_value, zero + self.full_value, unknown, zero)

    @property
    def change(self) -> FloatArray:
        """The score minus that of the full ensemble, by size."""
        return self.values - self.full_value

    @property
    def half_width(self) -> FloatArray:
        """Half of the 95 % interval of the change, on the same samples."""
        return NORMAL_97_5 * np.sqrt(self.change_variances)

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the score, by size."""
        return np.sqrt(self.variances)


def group_predictions(
    outputs: Votes | Predictions,
    groups: Sequence[Sequence[int]],
    needs: str,
    weights: Array | None,
    group_weights: GroupWeights = EQUAL_WEIGHTS,
) -> Iterator[Array]:
    """Yield the combined predictions of groups of members: labels, probabilities or values.

    A group that extends the previous group is quick. Missing predictions are left out of the mean;
    if all are missing, the classes have equal probabilities. ``weights`` are the ensemble's own
    weights, ``group_weights`` those of the members in some of the groups.
    """
    n_classes = outputs.n_classes
    shape = (outputs.n_samples, n_classes) if n_classes else (outputs.n_samples,)
    total, present, counted = np.zeros(shape), np.zeros(outputs.n_samples), list[int]()
    for index, group in enumerate(effective_members(outputs, group) for group in groups):
        own_weights = group_weights.get(index)
        if own_weights is not None or list(group[: len(counted)]) != counted:
            total, present, counted = np.zeros(shape), np.zeros(outputs.n_samples), []
        for position, member in enumerate(group[len(counted) :]):
            weight = 1.0 if weights is None else float(weights[member])
            weight *= 1.0 if own_weights is None else float(own_weights[position])
            values, is_present = _member_prediction(outputs, member)
            total += weight * values
            present += weight * is_present
        # Sums of a weighted group cannot be extended: -1 is not the start of any group.
        counted = list(group) if own_weights is None else [-1]
        if needs == "labels":
            yield outputs.classes[
                total.argmax(axis=1) if own_weights is None else argmax_with_ties(total)
            ]
            continue
        mean = mean_from_sums(total, present)
        yield outputs.linked(mean) if isinstance(outputs, Predictions) else mean


def _member_prediction(outputs: Votes | Predictions, member: int) -> tuple[FloatArray, BoolArray]:
    """Return a member's values or probabilities, and a mask of the samples that have them."""
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
    """Return the scores of groups and of the full ensemble, with variances of the wanted groups."""
    # Test samples may have further classes.
    scoring = replace(scoring, classes=outputs.classes)
    truth = true_values(outputs)
    full = next(group_predictions(outputs, [range(outputs.n_members)], scoring.needs, weights))
    blocks = JackknifeBlocks(scoring, truth, sample_weight)
    has_wanted = any(index in wanted for index in range(len(groups)))
    full_left_out = blocks.left_out_scores(full) if has_wanted else None
    values, variances = np.empty(len(groups)), np.full((2, len(groups)), np.nan)
    predictions = group_predictions(outputs, groups, scoring.needs, weights, group_weights)
    for index, predicted in enumerate(predictions):
        values[index] = blocks.score_on(predicted)
        if index in wanted and full_left_out is not None:
            left_out = blocks.left_out_scores(predicted)
            change_variance = jackknife_variance(left_out - full_left_out)
            variances[:, index] = jackknife_variance(left_out), change_variance
    total_weight = len(truth) if sample_weight is None else float(sample_weight.sum())
    return ScoreCurve(total_weight, blocks.score_on(full), values, *variances)


def scores_with_interval(
    scoring: Scoring, truth: Array, before: Array, after: Array, sample_weight: Array | None
) -> tuple[float, float, float]:
    """Return the scores of two predictions, and half of the 95 % interval of their difference."""
    blocks = JackknifeBlocks(scoring, truth, sample_weight)
    variance = jackknife_variance(blocks.left_out_scores(after) - blocks.left_out_scores(before))
    return blocks.score_on(before), blocks.score_on(after), float(NORMAL_97_5 * np.sqrt(variance))


class JackknifeBlocks:
    """Samples in ten blocks, each of which can be left out of a score."""

    def __init__(self, scoring: Scoring, truth: Array, sample_weight: Array | None) -> None:
        self._scoring, self._truth, self._sample_weight = scoring, truth, sample_weight
        # Sorted by target and assigned in turn, so that no block has all samples of a class.
        self._block_indices = np.empty(len(truth), dtype=np.intp)
        self._block_indices[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % _N_BLOCKS

    def score_on(self, predicted: Array, samples: BoolArray | slice = slice(None)) -> float:
        """Return the score on some samples, without those that have no prediction."""
        weight = None if self._sample_weight is None else self._sample_weight[samples]
        predicted, truth = predicted[samples], self._truth[samples]
        if self._scoring.is_regression_score and not (present := ~np.isnan(predicted)).all():
            predicted, truth = predicted[present], truth[present]
            weight = None if weight is None else weight[present]
        return self._scoring(predicted, truth, weight)

    def left_out_scores(self, predicted: Array) -> FloatArray:
        """Return the scores with each block left out; NaN where a score is undefined."""
        scores = np.full(_N_BLOCKS, np.nan)
        if len(self._truth) < 2 * _N_BLOCKS:  # single samples would be blocks of their own
            return scores
        for block in range(_N_BLOCKS):
            with suppress(InputError):
                scores[block] = self.score_on(predicted, self._block_indices != block)
        return scores


def jackknife_variance(values: FloatArray) -> float:
    """Return the variance of a score from its values with each block of samples left out."""
    return float((len(values) - 1) * np.mean((values - values.mean()) ** 2))
