"""Evaluation plan: the samples to select members on and to score them on, with all votes.

Members are scored on the test set if there is one. Otherwise they are cross-validated in the folds
of the parameters ``cv`` and ``groups``: by default, members are selected on four fifths of the
validation samples and scored on the remaining fifth, five times.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from secateurs._renamed_modules import restore_renamed
from secateurs.measures.group_predictions import (
    EQUAL_WEIGHTS,
    ConstantPrediction,
    GroupWeights,
    ScoredPrediction,
)
from secateurs.measures.score_curve import CurveKey, ScoreCurve, ScoredSamples
from secateurs.measures.scoring import Scoring
from secateurs.measures.vote_counts import VoteBlock, VotedSamples
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.problem.cross_validation import FoldIndices
from secateurs.text_format import format_count
from secateurs.typing import Array, FloatArray, IndexArray, RandomStateLike


@dataclass(frozen=True, eq=False)
class EvaluationPlan:
    """Samples to select and to score members on: a test set, or cross-validation folds.

    The problem has the folds (``cv``, ``groups``), the test set, the weights of samples and the
    sensitive features.
    """

    __setstate__ = restore_renamed(
        choosing="validation_samples", testing="test_samples", judged_on="scored_samples"
    )

    problem: Problem
    seed: RandomStateLike = 0  # draws the default folds
    # The state in which `prune` starts if it gets the same random state; None if that is unknown.
    start: np.random.RandomState | None = None

    @cached_property
    def validation_samples(self) -> VotedSamples:
        """The validation samples with their votes."""
        problem = self.problem
        has_samples = problem.X is not None and not problem.is_out_of_fold
        can_predict = has_samples or problem.has_only_predictions
        soft = None if can_predict or not problem.is_soft else problem.known_soft_predictions
        if soft is not None and soft.margin_scale is None:
            return VotedSamples(problem.predictions, problem.ensemble, soft_predictions=soft)
        ensemble = problem.ensemble if can_predict or not problem.is_soft else None
        return VotedSamples(problem.predictions, ensemble, problem.X)

    @cached_property
    def test_samples(self) -> VotedSamples | None:
        """The test samples with their votes, if there is a test set."""
        problem = self.problem
        if not problem.has_test_set:
            return None
        if isinstance(problem.X_test, PredictionTable):
            return VotedSamples(problem.test_predictions, problem.X_test)
        return VotedSamples(problem.test_predictions, problem.ensemble, problem.X_test)

    @property
    def scored_samples(self) -> VotedSamples:
        """The validation or test samples, all or some of which sub-ensembles are scored on."""
        return self.validation_samples if self.test_samples is None else self.test_samples

    @property
    def has_folds(self) -> bool:
        """Whether members are selected again in each fold."""
        # The first rounds of a boosted model are selected whatever the samples.
        return not (self.problem.has_test_set or self.problem.predictions.is_sequential)

    @property
    def has_subgroups(self) -> bool:
        """Whether the scored samples have sensitive features."""
        problem = self.problem
        is_test = problem.has_test_set
        features = problem.sensitive_features_test if is_test else problem.sensitive_features
        return features is not None

    @cached_property
    def fold_indices(self) -> list[FoldIndices]:
        """The training and held-out samples of each fold; empty without folds."""
        if not self.has_folds:
            return []
        problem = self.problem
        truth = problem.predictions.truth
        return list(problem.cross_validation.split(truth, problem.X, self.seed))

    @cached_property
    def scored_indices(self) -> IndexArray:
        """The samples that are scored, in ascending order; those of several folds repeat."""
        if not self.has_folds:
            return np.arange(self.scored_samples.votes.n_samples)
        return np.sort(np.concatenate([held_out for _, held_out in self.fold_indices]))

    @cached_property
    def fold_positions(self) -> list[IndexArray]:
        """The positions of each fold's held-out samples among the scored samples."""
        if not self.has_folds:
            return [self.scored_indices]
        n_before = np.zeros(self.problem.predictions.n_samples, dtype=np.intp)
        first = np.searchsorted(self.scored_indices, np.arange(len(n_before)))
        positions = []
        for _, held_out in self.fold_indices:
            positions.append(first[held_out] + n_before[held_out])
            n_before[held_out] += 1
        return positions

    @property
    def scored_truth(self) -> Array:
        """The true codes or values of the scored samples."""
        truth: Array = self.scored_samples.votes.truth[self.scored_indices]
        return truth

    @property
    def scored_weight(self) -> FloatArray | None:
        """The weights of the scored samples, if they have weights."""
        problem = self.problem
        weight = problem.sample_weight_test if problem.has_test_set else problem.sample_weight
        return None if weight is None else weight[self.scored_indices]

    @property
    def n_selections(self) -> int:
        """Number of selections per method: on all validation samples, and in each fold."""
        problem = self.problem
        if not self.has_folds:
            return 1
        return 1 + problem.cross_validation.n_folds(problem.predictions.truth, problem.X)

    @property
    def description(self) -> str:
        """The samples that the scores come from, in a sentence."""
        problem = self.problem
        n_validation = format_count(problem.predictions.n_samples, "validation sample")
        if problem.has_test_set:
            n_test = format_count(problem.test_predictions.n_samples, "test sample")
            return f"Members are selected on {n_validation} and scored on {n_test}."
        if problem.cross_validation.is_default:
            return (
                f"Scores are cross-validated on {n_validation}: members are selected on four "
                "fifths and scored on the remaining fifth, five times."
            )
        how = problem.cross_validation.description
        return f"Scores are cross-validated on {n_validation}: members are {how}."

    def iter_folds(self) -> Iterator["Fold"]:
        """Yield the problems to select on with the samples to score on."""
        problem = self.problem
        if not self.has_folds:
            every = None if problem.has_test_set else np.arange(problem.predictions.n_samples)
            yield Fold(problem, self, every, self.fold_positions[0])
            return
        folds = zip(self.fold_indices, self.fold_positions, strict=True)
        for (training, held_out), positions in folds:
            yield Fold(problem.on_samples(training), self, held_out, positions)


@dataclass(frozen=True, eq=False)
class Fold:
    """A problem to select members on, and the samples to score them on."""

    problem: Problem
    plan: EvaluationPlan
    held_out: IndexArray | None  # validation samples to score on; None for the test set
    positions: IndexArray  # of the scored samples among ``plan.scored_indices``

    def vote_blocks(self) -> Iterator[VoteBlock]:
        """Yield the votes on the samples to score on, in blocks that fit in memory."""
        if self.held_out is not None:
            return self.plan.validation_samples.vote_blocks(self.held_out)
        assert self.plan.test_samples is not None
        return self.plan.test_samples.vote_blocks()

    def block_positions(self, block: VoteBlock) -> IndexArray:
        """Return the positions of a block's samples among all scored samples."""
        samples = np.arange(len(self.positions)) if self.held_out is None else self.held_out
        order = np.argsort(samples)
        return self.positions[order[np.searchsorted(samples, block.sample_indices, sorter=order)]]

    @cached_property
    def _scored_samples(self) -> ScoredSamples:
        return self._samples_with(self.plan.problem.scored_predictions(self.held_out is None))

    @cached_property
    def _labelled_samples(self) -> ScoredSamples:
        """The samples with the members' labels only."""
        problem, is_test = self.plan.problem, self.held_out is None
        outputs = problem.test_predictions if is_test else problem.predictions
        return replace(self._samples_with(outputs), own_weights=None)

    def _samples_with(self, outputs: Votes | Predictions) -> ScoredSamples:
        problem, held_out = self.plan.problem, self.held_out
        own_weights = problem.ensemble.weights
        if held_out is None:
            return ScoredSamples(
                outputs,
                problem.sample_weight_test,
                subgroups=problem.sensitive_features_test,
                own_weights=own_weights,
            )
        given = problem.sample_weight, problem.cross_validation.groups, problem.sensitive_features
        weight, clusters, subgroups = (
            None if values is None else values[held_out] for values in given
        )
        return ScoredSamples(outputs.rows(held_out), weight, clusters, subgroups, own_weights)

    def score_groups(
        self,
        groups: Sequence[Sequence[int]],
        scorings: Sequence[Scoring],
        wanted: Container[int] = (),
        group_weights: GroupWeights = EQUAL_WEIGHTS,
        *,
        by_labels: bool = False,
        everywhere: Container[str] | None = None,
    ) -> dict[CurveKey, ScoreCurve]:
        """Return the scores of groups of members on the samples to score on.

        With ``by_labels``, members vote by their labels instead of probabilities. ``everywhere``
        has the keys of the scores to compute for all groups, see `ScoredSamples.score_groups`.
        """
        samples = self._labelled_samples if by_labels else self._scored_samples
        requested = [self._foldwise(scoring) for scoring in scorings]
        curves = samples.score_groups(groups, requested, wanted, group_weights, everywhere)
        return self._in_original_units(curves, scorings)

    def score_constant(self, scorings: Sequence[Scoring]) -> dict[CurveKey, ScoreCurve]:
        """Return the scores of the most frequent class, or of the mean of the target."""
        problem = self.plan.problem
        is_known = not problem.is_soft or problem.has_soft_predictions
        samples = self._scored_samples if is_known else self._labelled_samples
        constant = ConstantPrediction(self.problem.predictions.truth, samples.outputs)
        return self._score_given([constant], samples, scorings)

    def score_models(self, predictions: Sequence[ScoredPrediction]) -> dict[CurveKey, ScoreCurve]:
        """Return all scores of the predictions of models, on the samples to score on."""
        return self._score_given(predictions, self._scored_samples, self.plan.problem.scorings)

    def _score_given(
        self,
        predictions: Sequence[ScoredPrediction],
        samples: ScoredSamples,
        scorings: Sequence[Scoring],
    ) -> dict[CurveKey, ScoreCurve]:
        requested, indices = [self._foldwise(s) for s in scorings], range(len(predictions))
        curves = samples.score_predictions(predictions, len(predictions), requested, indices)
        return self._in_original_units(curves, scorings)

    def _foldwise(self, scoring: Scoring) -> Scoring:
        """Return the score to compute in a fold: the squared error instead of R².

        R² divides by the variance of the target. In a small fold it may be 0, so that the variance
        of all validation samples is used.
        """
        if self.held_out is None or scoring.name != "r2":
            return scoring
        squared = Scoring.from_scorer("neg_mean_squared_error", scoring.classes)
        return replace(squared, given_key=scoring.key)

    def _in_original_units(
        self, curves: dict[CurveKey, ScoreCurve], scorings: Sequence[Scoring]
    ) -> dict[CurveKey, ScoreCurve]:
        squared = {s.key for s in scorings if self._foldwise(s) is not s}
        if not squared:
            return curves
        problem = self.plan.problem
        y, weights = problem.predictions.truth, problem.sample_weight
        variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
        factor = 1 / variance if variance > 0 else 0.0
        return {
            key: curve.scale_and_shift(factor, 1.0) if key[0] in squared else curve
            for key, curve in curves.items()
        }
