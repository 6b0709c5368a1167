"""Rows to choose on and rows to judge on, with the votes of all members.

Members are chosen on some rows and judged on others: on test rows if there are any, otherwise on
each fifth of the rows in turn, chosen on the other four.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from secateurs.ensembles import Ensemble
from secateurs.evaluation.score_curve import (
    EQUAL_WEIGHTS,
    Floats,
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
from secateurs.typing import Array, MemberIndices

_MOST_NUMBERS = 1 << 24  # of the members' contributions, held at once


@dataclass(frozen=True, eq=False)
class VoteBlock:
    """Votes on a block of rows, and what each member adds to the ensemble's own vote there.

    Attributes
    ----------
    sample_indices : ndarray of shape (n_rows,)
        Indices of the rows.
    votes : Votes
        The labels, with the true ones.
    contributions : ndarray of shape (n_members, n_rows, n_ensemble_classes) or None
        What each member adds to the ensemble's own vote; None where that just counts labels.
    classes : ndarray of shape (n_ensemble_classes,)
        Codes of the ensemble's classes among those of the votes.
    """

    sample_indices: NDArray[np.intp]
    votes: Votes
    contributions: Floats | None
    classes: NDArray[np.intp]

    def winning_codes(
        self, groups: Iterable[Sequence[int]], own: bool, weights: GroupWeights = EQUAL_WEIGHTS
    ) -> Iterator[Array]:
        """Yield the codes that groups vote for; a group that extends the one before is quick.

        ``weights`` are those of members in some of the groups, by the place of the group.
        """
        added = self.contributions if own else None
        n_classes = self.votes.n_classes if added is None else len(self.classes)
        kind = np.int32 if added is None else np.float64
        tally: Array = np.zeros((self.votes.n_samples, n_classes), dtype=kind)
        joined: list[int] = []
        for place, group in enumerate(effective_members(self.votes, group) for group in groups):
            if place in weights:
                yield self._weighted_winners(group, weights[place], added)
                continue
            if list(group[: len(joined)]) != joined:
                tally, joined = np.zeros_like(tally), []
            for member in group[len(joined) :]:
                if added is None:
                    vote_kernels.tally_votes(self.votes.codes([member]), 1, tally)
                else:
                    tally += added[member]
            joined = list(group)
            if added is None:
                winner = np.empty(len(tally), dtype=np.intp)
                vote_kernels.find_winners(tally, winner)
                yield winner
            else:  # means, not sums: what rounds to a tie in the model does so here
                yield self.classes[(tally / len(joined)).argmax(axis=1)]

    def _weighted_winners(
        self, group: MemberIndices, weights: Floats, added: Floats | None
    ) -> Array:
        """Return the codes that a group votes for with weights."""
        tally = np.zeros((self.votes.n_samples, self.votes.n_classes))
        for member, weight in zip(group, weights, strict=True):
            if added is None:
                vote_kernels.tally_votes(self.votes.codes([member]), weight, tally)
            else:
                tally[:, self.classes] += weight * added[member]
        return argmax_with_ties(tally)


@dataclass(frozen=True, eq=False)
class VotedSamples:
    """Rows with their votes and true labels, and the ensemble whose own vote counts on them.

    Attributes
    ----------
    votes : Votes
        The members' labels, with the true ones.
    ensemble : Ensemble or None
        The ensemble whose own vote counts; None where its rows are not kept, so that labels are
        counted.
    X : object
        The rows, as the ensemble's predict takes them.
    soft_predictions : Predictions or None
        The members' probabilities, where these are known and the rows are not kept.
    """

    votes: Votes
    ensemble: Ensemble | None = None
    X: Any = None
    soft_predictions: Predictions | None = None

    @property
    def counts_labels(self) -> bool:
        """Whether the vote simply counts labels."""
        if self.ensemble is None or self.votes.is_sequential:
            return True
        return not self.ensemble.is_soft and self.ensemble.weights is None

    def vote_blocks(self, rows: NDArray[np.intp] | None = None) -> Iterator[VoteBlock]:
        """Yield the votes on some rows, in blocks that fit in memory."""
        where = np.arange(self.votes.n_samples) if rows is None else rows
        if self.ensemble is None or self.counts_labels:
            yield VoteBlock(where, self._votes_on(where), None, np.arange(self.votes.n_classes))
            return
        classes = np.searchsorted(self.votes.classes, self.ensemble.classes)
        prepared = (
            None if self.soft_predictions is not None else self.ensemble.prepare_input(self.X)
        )
        step = max(1, _MOST_NUMBERS // (self.votes.n_members * len(classes)))
        for first in range(0, len(where), step):
            block = where[first : first + step]
            votes = self._votes_on(block)
            yield VoteBlock(
                block, votes, self._member_contributions(prepared, block, votes), classes
            )

    def _votes_on(self, rows: NDArray[np.intp]) -> Votes:
        return self.votes if len(rows) == self.votes.n_samples else self.votes.rows(rows)

    def _member_contributions(self, prepared: Any, rows: NDArray[np.intp], votes: Votes) -> Floats:
        assert self.ensemble is not None
        if self.soft_predictions is not None:
            each, some_scores = self.ensemble.weights, self.soft_predictions.rows(rows)
            weights = np.ones(votes.n_members) if each is None else each
            return np.stack([weight * some_scores.values(m) for m, weight in enumerate(weights)])
        some = _safe_indexing(prepared, rows)
        added = np.stack([self.ensemble.vote_contribution(some, m) for m in range(votes.n_members)])
        if votes.has_missing:  # no member votes on rows that it was trained on
            for member, contribution in enumerate(added):
                contribution[votes.codes([member])[0] == votes.n_classes] = 0.0
        return added


@dataclass(frozen=True, eq=False)
class EvaluationPlan:
    """Rows to choose on and rows to judge on: test rows, or the same rows by cross-fitting.

    Attributes
    ----------
    problem : Problem
        The ensemble and its rows.
    seed : int or RandomState
        Draws the fifths for cross-fitting.
    """

    problem: Problem
    seed: Any = 0

    @cached_property
    def validation_samples(self) -> VotedSamples:
        """The rows to choose on."""
        problem = self.problem
        known = problem.X is not None or problem.has_only_predictions
        scores = None if known or not problem.is_soft else problem.known_soft_predictions
        if scores is not None and scores.margin_scale is None:
            return VotedSamples(problem.predictions, problem.ensemble, soft_predictions=scores)
        return VotedSamples(problem.predictions, problem.ensemble if known else None, problem.X)

    @cached_property
    def test_samples(self) -> VotedSamples | None:
        """The rows to test on, if there are any."""
        problem = self.problem
        if not problem.has_test_set:
            return None
        if isinstance(problem.X_test, PredictionTable):
            return VotedSamples(problem.test_predictions, problem.X_test)
        return VotedSamples(problem.test_predictions, problem.ensemble, problem.X_test)

    @property
    def scored_samples(self) -> VotedSamples:
        """The rows that sub-ensembles are judged on."""
        return self.validation_samples if self.test_samples is None else self.test_samples

    @property
    def n_selections(self) -> int:
        """Number of times a method has to choose: on all rows, and on each four fifths."""
        if self.problem.has_test_set or self.problem.predictions.is_sequential:
            return 1
        return 1 + min(N_FOLDS, self.problem.predictions.n_samples)

    def iter_folds(self) -> Iterator["Fold"]:
        """Yield problems to choose on with rows to judge on, five times when cross-fitting."""
        problem = self.problem
        if problem.has_test_set:
            yield Fold(problem, self, None)
            return
        if (
            problem.predictions.is_sequential
        ):  # the first rounds are the same without any of the rows
            yield Fold(problem, self, np.arange(problem.predictions.n_samples))
            return
        for chosen_on, held_out in stratified_fold_indices(
            problem.predictions.truth, check_random_state(self.seed)
        ):
            yield Fold(problem.on_samples(chosen_on), self, held_out)


@dataclass(frozen=True, eq=False)
class Fold:
    """A problem to choose on, and rows to judge on.

    Attributes
    ----------
    problem : Problem
        What to choose on.
    plan : EvaluationPlan
        What it is part of.
    held_out : ndarray or None
        The rows of the split to judge on; None for the rows to test on.
    """

    problem: Problem
    plan: EvaluationPlan
    held_out: NDArray[np.intp] | None

    def vote_blocks(self) -> Iterator[VoteBlock]:
        """Yield the votes on the rows to judge on, in blocks that fit in memory."""
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
        """Score groups of members on the rows to judge on."""
        problem, rows = self.plan.problem, self.held_out
        outputs = problem.scored_predictions(test=rows is None)
        weights = problem.sample_weight_test if rows is None else problem.sample_weight
        if rows is not None:
            outputs = outputs.rows(rows)
            weights = None if weights is None else weights[rows]
        weighed = (problem.ensemble.weights, weights)
        if rows is None or scoring.name != "r2":
            return score_curve(outputs, groups, scoring, *weighed, wanted, group_weights)
        # R² compares with the spread of all rows: that of a fold's few may be none.
        squared = Scoring.from_scorer("neg_mean_squared_error", outputs.classes)
        curve = score_curve(outputs, groups, squared, *weighed, wanted, group_weights)
        y, all_weights = problem.predictions.truth, problem.sample_weight
        spread = np.average((y - np.average(y, weights=all_weights)) ** 2, weights=all_weights)
        return curve.scale_and_shift(1 / spread if spread > 0 else 0.0, 1.0)
