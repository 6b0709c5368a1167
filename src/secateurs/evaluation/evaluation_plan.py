"""Evaluation plan: the samples to select members on and to score them on, with all votes.

Members are scored on the test set if there is one. Otherwise they are cross-validated in five
folds: selected on four fifths of the validation samples, and scored on the remaining fifth.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state

from secateurs._renamed_modules import restore_renamed
from secateurs.ensembles import Ensemble
from secateurs.evaluation.score_curve import (
    EQUAL_WEIGHTS,
    GroupWeights,
    ScoreCurve,
    score_curve,
)
from secateurs.labels import argmax_with_ties
from secateurs.measures.scoring import Scoring
from secateurs.outputs import vote_kernels
from secateurs.outputs.input_checks import effective_members
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.stratified_folds import N_FOLDS, stratified_fold_indices
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.typing import Array, FloatArray, IndexArray, MemberIndices, RandomStateLike, Samples

_DECODED_AT_ONCE = 64  # members: decoding one at a time takes ten times as long for few samples
_MAX_CONTRIBUTIONS = 1 << 24  # bounds the memory of one block's contributions to 128 MiB


@dataclass(frozen=True, eq=False)
class VoteBlock:
    """Votes on a block of samples, and each member's contribution to the ensemble's own vote."""

    sample_indices: IndexArray
    votes: Votes  # with the true labels
    # (n_members, n_samples, n_ensemble_classes); None if the ensemble's own vote counts labels.
    contributions: FloatArray | None
    classes: IndexArray  # codes of the ensemble's classes among those of the votes

    def winning_codes(
        self, groups: Iterable[Sequence[int]], own: bool, weights: GroupWeights = EQUAL_WEIGHTS
    ) -> Iterator[Array]:
        """Yield the codes that groups of members vote for.

        A group that extends the previous group is quick. ``weights`` has the weights of members
        in some of the groups, by the index of the group.
        """
        contributions = self.contributions if own else None
        n_classes = self.votes.n_classes if contributions is None else len(self.classes)
        dtype = np.int32 if contributions is None else np.float64
        tally: Array = np.zeros((self.votes.n_samples, n_classes), dtype=dtype)
        counted: list[int] = []  # the members in the tally
        for index, group in enumerate(effective_members(self.votes, group) for group in groups):
            if index in weights:
                yield self._weighted_winners(group, weights[index], contributions)
                continue
            if list(group[: len(counted)]) != counted:
                tally, counted = np.zeros_like(tally), []
            added = group[len(counted) :]
            if contributions is None:
                for start in range(0, len(added), _DECODED_AT_ONCE):
                    codes = self.votes.codes(added[start : start + _DECODED_AT_ONCE])
                    vote_kernels.tally_votes(codes, 1, tally)
            else:
                for member in added:
                    tally += contributions[member]
            counted = list(group)
            if contributions is None:
                winner = np.empty(len(tally), dtype=np.intp)
                vote_kernels.find_winners(tally, winner)
                yield winner
            else:  # means, not sums, so that near ties round as in the model
                yield self.classes[(tally / len(counted)).argmax(axis=1)]

    def _weighted_winners(
        self, group: MemberIndices, weights: FloatArray, contributions: FloatArray | None
    ) -> Array:
        """Return the codes that a group of weighted members votes for."""
        tally = np.zeros((self.votes.n_samples, self.votes.n_classes))
        for member, weight in zip(group, weights, strict=True):
            if contributions is None:
                vote_kernels.tally_votes(self.votes.codes([member]), weight, tally)
            else:
                tally[:, self.classes] += weight * contributions[member]
        return argmax_with_ties(tally)


@dataclass(frozen=True, eq=False)
class VotedSamples:
    """Samples with votes and true labels, and the ensemble whose own vote is evaluated on them."""

    __setstate__ = restore_renamed(scores="soft_predictions")

    votes: Votes  # with the true labels
    ensemble: Ensemble | None = None  # None if the samples are not kept: labels are counted
    X: Samples = None  # as the ensemble's predict accepts them
    # The members' probabilities, if they are known and the samples are not kept.
    soft_predictions: Predictions | None = None

    @property
    def counts_labels(self) -> bool:
        """Whether the vote simply counts labels."""
        if self.ensemble is None or self.votes.is_sequential:
            return True
        return not self.ensemble.is_soft and self.ensemble.weights is None

    def vote_blocks(self, samples: IndexArray | None = None) -> Iterator[VoteBlock]:
        """Yield the votes on some samples, or on all, in blocks that fit in memory."""
        indices = np.arange(self.votes.n_samples) if samples is None else samples
        if self.ensemble is None or self.counts_labels:
            yield VoteBlock(indices, self._votes_on(indices), None, np.arange(self.votes.n_classes))
            return
        classes = np.searchsorted(self.votes.classes, self.ensemble.classes)
        prepared = (
            None if self.soft_predictions is not None else self.ensemble.prepare_input(self.X)
        )
        step = max(1, _MAX_CONTRIBUTIONS // (self.votes.n_members * len(classes)))
        for first in range(0, len(indices), step):
            block = indices[first : first + step]
            votes = self._votes_on(block)
            yield VoteBlock(
                block, votes, self._member_contributions(prepared, block, votes), classes
            )

    def _votes_on(self, indices: IndexArray) -> Votes:
        return self.votes if len(indices) == self.votes.n_samples else self.votes.rows(indices)

    def _member_contributions(
        self, prepared: Samples, indices: IndexArray, votes: Votes
    ) -> FloatArray:
        assert self.ensemble is not None
        if self.soft_predictions is not None:
            own_weights, soft = self.ensemble.weights, self.soft_predictions.rows(indices)
            weights = np.ones(votes.n_members) if own_weights is None else own_weights
            return np.stack([weight * soft.values(m) for m, weight in enumerate(weights)])
        block = _safe_indexing(prepared, indices)
        contributions = np.stack(
            [self.ensemble.vote_contribution(block, member) for member in range(votes.n_members)]
        )
        if votes.has_missing:  # out of bag: members do not vote on their training samples
            for member, contribution in enumerate(contributions):
                contribution[votes.codes([member])[0] == votes.n_classes] = 0.0
        return contributions


@dataclass(frozen=True, eq=False)
class EvaluationPlan:
    """Samples to select and to score members on: a test set, or cross-validation folds."""

    __setstate__ = restore_renamed(
        choosing="validation_samples", testing="test_samples", judged_on="scored_samples"
    )

    problem: Problem
    seed: RandomStateLike = 0  # draws the folds

    @cached_property
    def validation_samples(self) -> VotedSamples:
        """The validation samples with their votes."""
        problem = self.problem
        can_predict = problem.X is not None or problem.has_only_predictions
        soft = None if can_predict or not problem.is_soft else problem.known_soft_predictions
        if soft is not None and soft.margin_scale is None:
            return VotedSamples(problem.predictions, problem.ensemble, soft_predictions=soft)
        ensemble = problem.ensemble if can_predict else None
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
        """The samples that sub-ensembles are scored on."""
        return self.validation_samples if self.test_samples is None else self.test_samples

    @property
    def n_selections(self) -> int:
        """Number of selections per method: on all validation samples, and in each fold."""
        if self.problem.has_test_set or self.problem.predictions.is_sequential:
            return 1
        return 1 + min(N_FOLDS, self.problem.predictions.n_samples)

    def iter_folds(self) -> Iterator["Fold"]:
        """Yield the problems to select on with the samples to score on: five folds, or one."""
        problem = self.problem
        if problem.has_test_set:
            yield Fold(problem, self, None)
            return
        if problem.predictions.is_sequential:
            # The first rounds are selected whatever the samples, so that no fold is needed.
            yield Fold(problem, self, np.arange(problem.predictions.n_samples))
            return
        for selected_on, held_out in stratified_fold_indices(
            problem.predictions.truth, check_random_state(self.seed)
        ):
            yield Fold(problem.on_samples(selected_on), self, held_out)


@dataclass(frozen=True, eq=False)
class Fold:
    """A problem to select members on, and the samples to score them on."""

    problem: Problem
    plan: EvaluationPlan
    held_out: IndexArray | None  # validation samples to score on; None for the test set

    def vote_blocks(self) -> Iterator[VoteBlock]:
        """Yield the votes on the samples to score on, in blocks that fit in memory."""
        if self.held_out is not None:
            return self.plan.validation_samples.vote_blocks(self.held_out)
        assert self.plan.test_samples is not None
        return self.plan.test_samples.vote_blocks()

    def score_groups(
        self,
        groups: Sequence[Sequence[int]],
        scoring: Scoring,
        wanted: Container[int] = (),
        group_weights: GroupWeights = EQUAL_WEIGHTS,
    ) -> ScoreCurve:
        """Return the scores of groups of members on the samples to score on."""
        problem, held_out = self.plan.problem, self.held_out
        outputs = problem.scored_predictions(test=held_out is None)
        sample_weight = problem.sample_weight_test if held_out is None else problem.sample_weight
        if held_out is not None:
            outputs = outputs.rows(held_out)
            sample_weight = None if sample_weight is None else sample_weight[held_out]
        weights = (problem.ensemble.weights, sample_weight)
        if held_out is None or scoring.name != "r2":
            return score_curve(outputs, groups, scoring, *weights, wanted, group_weights)
        # R² divides by the variance of the target. In a small fold it may be 0, so that the
        # variance of all validation samples is used.
        squared = Scoring.from_scorer("neg_mean_squared_error", outputs.classes)
        curve = score_curve(outputs, groups, squared, *weights, wanted, group_weights)
        y, all_weights = problem.predictions.truth, problem.sample_weight
        variance = np.average((y - np.average(y, weights=all_weights)) ** 2, weights=all_weights)
        return curve.scale_and_shift(1 / variance if variance > 0 else 0.0, 1.0)
