"""Score curves: scores of sub-ensembles by size, with jackknife variances.

`score_groups` computes all scores of all groups, for all samples and for subgroups, in one pass
over the predictions.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from secateurs._renamed_modules import restore_renamed
from secateurs.exceptions import InputError
from secateurs.measures.group_predictions import (
    EQUAL_WEIGHTS,
    GroupWeights,
    ScoredPrediction,
    group_predictions,
)
from secateurs.measures.scoring import Scoring
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.stratified_folds import stratification_keys
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, FloatArray, IndexArray, Samples

CurveKey: TypeAlias = tuple[str, str | None]  # key of a score, and subgroup; None for all samples

# Blocks of the jackknife. Each block costs one more evaluation of the score, and fewer blocks
# would estimate the variance less precisely.
_N_BLOCKS = 10


class FoldScores(NamedTuple):
    """Scores of one fold, from which standard errors of differences are computed."""

    weight: float
    full_left_out: FloatArray  # (n_blocks,), with each block left out
    values: FloatArray  # (n_sizes,)
    left_out: FloatArray  # (n_sizes, n_blocks); NaN for sizes that were not asked for


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
    folds: tuple[FoldScores, ...] = field(default=(), repr=False)

    def __add__(self, other: ScoreCurve) -> ScoreCurve:
        """Return the mean over the samples of both curves, as for folds of cross-validation.

        A fold in which a subgroup's score is undefined does not count.
        """
        if np.isnan(self.full_value) or np.isnan(other.full_value):
            return other if np.isnan(self.full_value) else self
        total = self.total_weight + other.total_weight
        share, other_share = self.total_weight / total, other.total_weight / total
        return ScoreCurve(
            total,
            share * self.full_value + other_share * other.full_value,
            share * self.values + other_share * other.values,
            share**2 * self.variances + other_share**2 * other.variances,
            share**2 * self.change_variances + other_share**2 * other.change_variances,
            (*self.folds, *other.folds),
        )

    def scale_and_shift(self, factor: float, shift: float) -> ScoreCurve:
        """Return the curve of the score times a factor, plus a shift."""
        return ScoreCurve(
            self.total_weight,
            factor * self.full_value + shift,
            factor * self.values + shift,
            factor**2 * self.variances,
            factor**2 * self.change_variances,
            tuple(
                FoldScores(
                    fold.weight,
                    factor * fold.full_left_out + shift,
                    factor * fold.values + shift,
                    factor * fold.left_out + shift,
                )
                for fold in self.folds
            ),
        )

    def at_full_ensemble(self) -> ScoreCurve:
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

    def difference_error(self, index: int, other: ScoreCurve, other_index: int) -> float:
        """Return the standard error of the difference to a size of another curve."""
        variance = 0.0
        for fold, other_fold in zip(self.folds, other.folds, strict=True):
            share = fold.weight / self.total_weight
            difference = fold.left_out[index] - other_fold.left_out[other_index]
            variance += share**2 * jackknife_variance(difference)
        return float(np.sqrt(variance))

    def with_fold_variances(self) -> ScoreCurve:
        """Return the curve with variances between folds, if folds with one group have none."""
        if len(self.folds) < 2 or not all(fold.left_out.shape[1] < 2 for fold in self.folds):
            return self
        shares = np.array([fold.weight for fold in self.folds]) / self.total_weight
        full = np.array([fold.full_left_out[0] for fold in self.folds])
        values = np.array([fold.values for fold in self.folds])

        def between(by_fold: FloatArray) -> FloatArray:
            spread = (by_fold - (shares[:, None] * by_fold).sum(axis=0)) ** 2
            return len(shares) / (len(shares) - 1) * (shares[:, None] ** 2 * spread).sum(axis=0)

        return replace(
            self, variances=between(values), change_variances=between(values - full[:, None])
        )


@dataclass(frozen=True, eq=False)
class ScoredSamples:
    """Predictions on the samples to score, with what the scores need to know about the samples."""

    outputs: Votes | Predictions
    sample_weight: FloatArray | None = None
    clusters: Array | None = None  # groups of dependent samples, for standard errors
    subgroups: Array | None = None  # sensitive features
    own_weights: Array | None = None  # of the members in the ensemble's vote

    def score_groups(
        self,
        groups: Sequence[Sequence[int]],
        scorings: Sequence[Scoring],
        wanted: Container[int] = (),
        group_weights: GroupWeights = EQUAL_WEIGHTS,
        everywhere: Container[str] | None = None,
    ) -> dict[CurveKey, ScoreCurve]:
        """Return the scores of groups of members, with variances of the wanted groups.

        Subgroups, and scores whose key is not in ``everywhere``, are scored for the wanted groups
        only; without ``everywhere``, everything is scored for all groups.
        """
        predictions = group_predictions(self.outputs, groups, self.own_weights, group_weights)
        return self.score_predictions(predictions, len(groups), scorings, wanted, everywhere)

    def score_predictions(
        self,
        predictions: Iterable[ScoredPrediction],
        n_predictions: int,
        scorings: Sequence[Scoring],
        wanted: Container[int] = (),
        everywhere: Container[str] | None = None,
    ) -> dict[CurveKey, ScoreCurve]:
        """Return the scores of predictions and of the full ensemble, by score and subgroup."""
        members = [range(self.outputs.n_members)]
        full = next(group_predictions(self.outputs, members, self.own_weights))
        parts: dict[str | None, IndexArray | None] = {None: None}
        if self.subgroups is not None:
            names = np.unique(self.subgroups).tolist()
            parts |= {name: np.flatnonzero(self.subgroups == name) for name in names}
        has_wanted = any(index in wanted for index in range(n_predictions))
        curves = {
            (scoring.key, name): _CurveBuilder(
                self._jackknife_blocks(scoring, part), full, n_predictions, name, has_wanted
            )
            for scoring in scorings
            for name, part in parts.items()
        }
        for index, prediction in enumerate(predictions):
            for (key, name), builder in curves.items():
                is_wanted = index in wanted
                if is_wanted or everywhere is None or (name is None and key in everywhere):
                    builder.add(index, prediction, is_wanted)
        return {key: builder.finish() for key, builder in curves.items()}

    def _jackknife_blocks(self, scoring: Scoring, part: IndexArray | None) -> JackknifeBlocks:
        # Test samples may have further classes.
        scoring = replace(scoring, classes=self.outputs.classes)
        given = (true_values(self.outputs), self.sample_weight, self.clusters)
        truth, weight, clusters = (
            values if values is None or part is None else values[part] for values in given
        )
        assert truth is not None
        return JackknifeBlocks(scoring, truth, weight, clusters, part)


class _CurveBuilder:
    """Collects one score of several predictions on some of the samples."""

    def __init__(
        self,
        blocks: JackknifeBlocks,
        full: ScoredPrediction,
        n_predictions: int,
        subgroup: str | None,
        has_wanted: bool,
    ) -> None:
        self._blocks, self._is_subgroup = blocks, subgroup is not None
        self._full_value = self._score(full)
        n_blocks = blocks.n_blocks
        self._full_left_out = (
            blocks.left_out_scores(full) if has_wanted else np.full(n_blocks, np.nan)
        )
        self._values = np.full(n_predictions, np.nan)
        self._left_out = np.full((n_predictions, n_blocks), np.nan)

    def _score(self, prediction: ScoredPrediction) -> float:
        if not self._is_subgroup:
            return self._blocks.score_on(prediction)
        with suppress(InputError):  # not defined on the samples of a small subgroup
            return self._blocks.score_on(prediction)
        return np.nan

    def add(self, index: int, prediction: ScoredPrediction, is_wanted: bool) -> None:
        self._values[index] = self._score(prediction)
        if is_wanted:
            self._left_out[index] = self._blocks.left_out_scores(prediction)

    def finish(self) -> ScoreCurve:
        variances = np.array([jackknife_variance(left_out) for left_out in self._left_out])
        changes = self._left_out - self._full_left_out
        change_variances = np.array([jackknife_variance(change) for change in changes])
        weight = self._blocks.total_weight
        fold = FoldScores(weight, self._full_left_out, self._values, self._left_out)
        if fold.left_out.shape[1] < 2:  # a single group: `with_fold_variances` needs its score
            fold = fold._replace(full_left_out=np.array([self._full_value]))
        return ScoreCurve(
            weight, self._full_value, self._values, variances, change_variances, (fold,)
        )


def score_curve(  # noqa: PLR0917
    outputs: Votes | Predictions,
    groups: Sequence[Sequence[int]],
    scoring: Scoring,
    own_weights: Array | None = None,
    sample_weight: FloatArray | None = None,
    group_weights: GroupWeights = EQUAL_WEIGHTS,
) -> ScoreCurve:
    """Return one score of groups and of the full ensemble, without variances."""
    samples = ScoredSamples(outputs, sample_weight, own_weights=own_weights)
    return samples.score_groups(groups, [scoring], (), group_weights)[scoring.key, None]


def scores_with_interval(  # noqa: PLR0917
    scoring: Scoring,
    truth: Array,
    before: Array,
    after: Array,
    sample_weight: Array | None,
    clusters: Array | None = None,
    samples: tuple[SampleRows | None, SampleRows | None] = (None, None),
) -> tuple[float, float, float]:
    """Return the scores of two predictions, and half of the 95 % interval of their difference."""
    blocks = JackknifeBlocks(scoring, truth, sample_weight, clusters)
    full, pruned = (
        _GivenPrediction(predicted, rows)
        for predicted, rows in zip((before, after), samples, strict=True)
    )
    variance = jackknife_variance(blocks.left_out_scores(pruned) - blocks.left_out_scores(full))
    return blocks.score_on(full), blocks.score_on(pruned), float(NORMAL_97_5 * np.sqrt(variance))


class _GivenPrediction(NamedTuple):
    """Predictions that are known already."""

    predicted: Array
    samples: SampleRows | None

    def for_score(self, scoring: Scoring) -> Array:
        return self.predicted


class JackknifeBlocks:
    """Samples in ten blocks, each of which can be left out of a score.

    With clusters, all samples of a cluster are in the same block.
    """

    def __init__(
        self,
        scoring: Scoring,
        truth: Array,
        sample_weight: Array | None,
        clusters: Array | None = None,
        part: IndexArray | None = None,  # the samples among those that are predicted; None for all
    ) -> None:
        self._scoring, self._truth, self._sample_weight = scoring, truth, sample_weight
        self._part = part
        self._taken: dict[int | None, Samples] = {}  # the samples without a block
        self._block_indices = np.empty(len(truth), dtype=np.intp)
        if clusters is None:
            # Sorted by target and assigned in turn, so that no block has all samples of a class.
            order = np.argsort(stratification_keys(truth), kind="stable")
            self._block_indices[order] = np.arange(len(truth)) % _N_BLOCKS
            self.n_blocks = _N_BLOCKS
            self._is_enough = len(truth) >= 2 * _N_BLOCKS  # else single samples would be blocks
        else:
            cluster_indices = np.unique(clusters, return_inverse=True)[1]
            self.n_blocks = min(_N_BLOCKS, int(cluster_indices.max(initial=-1)) + 1)
            self._block_indices[:] = cluster_indices % max(1, self.n_blocks)
            self._is_enough = self.n_blocks >= 2

    @property
    def total_weight(self) -> float:
        """Number of samples, or the sum of their weights."""
        if self._sample_weight is None:
            return len(self._truth)
        return float(self._sample_weight.sum())

    def score_on(self, prediction: ScoredPrediction, left_out: int | None = None) -> float:
        """Return the score, without a block and without samples that have no prediction."""
        predicted = prediction.for_score(self._scoring)
        predicted = predicted if self._part is None else predicted[self._part]
        truth, weight = self._truth, self._sample_weight
        if left_out is not None:
            kept = self._block_indices != left_out
            predicted, truth = predicted[kept], truth[kept]
            weight = None if weight is None else weight[kept]
        rows = self._sample_rows(prediction.samples, left_out)
        if self._scoring.is_regression_score and not (present := ~np.isnan(predicted)).all():
            predicted, truth = predicted[present], truth[present]
            weight = None if weight is None else weight[present]
            rows = None if rows is None else rows.take(present)
        if not len(truth):
            raise InputError("{scoring} needs samples.", scoring=self._scoring.name)
        return self._scoring(predicted, truth, weight, rows)

    def _sample_rows(self, samples: SampleRows | None, left_out: int | None) -> SampleRows | None:
        """Return the samples to score; taken once, because groups share them."""
        if samples is None or not self._scoring.reads_samples:
            return None
        if left_out not in self._taken:
            rows = samples if self._part is None else samples.take(self._part)
            if left_out is not None:
                rows = rows.take(self._block_indices != left_out)
            self._taken[left_out] = rows.X
        return replace(samples, X=self._taken[left_out])

    def left_out_scores(self, prediction: ScoredPrediction) -> FloatArray:
        """Return the scores with each block left out; NaN where a score is undefined."""
        scores = np.full(self.n_blocks, np.nan)
        for block in range(self.n_blocks) if self._is_enough else ():
            with suppress(InputError):
                scores[block] = self.score_on(prediction, block)
        return scores


def jackknife_variance(values: FloatArray) -> float:
    """Return the variance of a score from its values with each block of samples left out."""
    if len(values) < 2:
        return np.nan
    return float((len(values) - 1) * np.mean((values - values.mean()) ** 2))
