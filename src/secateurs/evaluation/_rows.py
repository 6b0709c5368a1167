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

from secateurs._labels import Array, MemberIndices, largest
from secateurs.ensembles import Ensemble
from secateurs.evaluation._score_curve import EQUAL, Floats, ScoreCurve, Weights, score_curve
from secateurs.measures._scoring import Scoring
from secateurs.outputs import _vote_kernels
from secateurs.outputs._checks import speaking
from secateurs.outputs._folds import N_FOLDS, folds
from secateurs.outputs._predictions import Predictions
from secateurs.outputs._scores import Scores
from secateurs.outputs._votes import Votes
from secateurs.problem import Problem

_MOST_NUMBERS = 1 << 24  # of the members' contributions, held at once


@dataclass(frozen=True, eq=False)
class Ballots:
    """Votes on a block of rows, and what each member adds to the ensemble's own vote there.

    Attributes
    ----------
    where : ndarray of shape (n_rows,)
        Indices of the rows.
    votes : Votes
        The labels, with the true ones.
    contributions : ndarray of shape (n_members, n_rows, n_ensemble_classes) or None
        What each member adds to the ensemble's own vote; None where that just counts labels.
    classes : ndarray of shape (n_ensemble_classes,)
        Codes of the ensemble's classes among those of the votes.
    """

    where: NDArray[np.intp]
    votes: Votes
    contributions: Floats | None
    classes: NDArray[np.intp]

    def winners(
        self, groups: Iterable[Sequence[int]], own: bool, weights: Weights = EQUAL
    ) -> Iterator[Array]:
        """Yield the codes that groups vote for; a group that extends the one before is quick.

        ``weights`` are those of members in some of the groups, by the place of the group.
        """
        added = self.contributions if own else None
        n_classes = self.votes.n_classes if added is None else len(self.classes)
        kind = np.int32 if added is None else np.float64
        tally: Array = np.zeros((self.votes.n_samples, n_classes), dtype=kind)
        joined: list[int] = []
        for place, group in enumerate(speaking(self.votes, group) for group in groups):
            if place in weights:
                yield self._weighted(group, weights[place], added)
                continue
            if list(group[: len(joined)]) != joined:
                tally, joined = np.zeros_like(tally), []
            for member in group[len(joined) :]:
                if added is None:
                    _vote_kernels.tally_votes(self.votes.codes([member]), 1, tally)
                else:
                    tally += added[member]
            joined = list(group)
            if added is None:
                winner = np.empty(len(tally), dtype=np.intp)
                _vote_kernels.winners(tally, winner)
                yield winner
            else:  # means, not sums: what rounds to a tie in the model does so here
                yield self.classes[(tally / len(joined)).argmax(axis=1)]

    def _weighted(self, group: MemberIndices, weights: Floats, added: Floats | None) -> Array:
        """Return the codes that a group votes for with weights."""
        tally = np.zeros((self.votes.n_samples, self.votes.n_classes))
        for member, weight in zip(group, weights, strict=True):
            if added is None:
                _vote_kernels.tally_votes(self.votes.codes([member]), weight, tally)
            else:
                tally[:, self.classes] += weight * added[member]
        return largest(tally)


@dataclass(frozen=True, eq=False)
class VotedRows:
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
    scores : Scores or None
        The members' probabilities, where these are known and the rows are not kept.
    """

    votes: Votes
    ensemble: Ensemble | None = None
    X: Any = None
    scores: Scores | None = None

    @property
    def counts_labels(self) -> bool:
        """Whether the vote simply counts labels."""
        if self.ensemble is None or self.votes.staged:
            return True
        return not self.ensemble.soft and self.ensemble.weights is None

    def ballots(self, rows: NDArray[np.intp] | None = None) -> Iterator[Ballots]:
        """Yield the votes on some rows, in blocks that fit in memory."""
        where = np.arange(self.votes.n_samples) if rows is None else rows
        if self.ensemble is None or self.counts_labels:
            yield Ballots(where, self._votes_on(where), None, np.arange(self.votes.n_classes))
            return
        classes = np.searchsorted(self.votes.classes, self.ensemble.classes)
        prepared = None if self.scores is not None else self.ensemble.prepare(self.X)
        step = max(1, _MOST_NUMBERS // (self.votes.n_members * len(classes)))
        for first in range(0, len(where), step):
            block = where[first : first + step]
            votes = self._votes_on(block)
            yield Ballots(block, votes, self._contributions(prepared, block, votes), classes)

    def _votes_on(self, rows: NDArray[np.intp]) -> Votes:
        return self.votes if len(rows) == self.votes.n_samples else self.votes.rows(rows)

    def _contributions(self, prepared: Any, rows: NDArray[np.intp], votes: Votes) -> Floats:
        assert self.ensemble is not None
        if self.scores is not None:
            each, some_scores = self.ensemble.weights, self.scores.rows(rows)
            weights = np.ones(votes.n_members) if each is None else each
            return np.stack([weight * some_scores.values(m) for m, weight in enumerate(weights)])
        some = _safe_indexing(prepared, rows)
        added = np.stack([self.ensemble.contribution(some, m) for m in range(votes.n_members)])
        if votes.has_missing:  # no member votes on rows that it was trained on
            for member, contribution in enumerate(added):
                contribution[votes.codes([member])[0] == votes.n_classes] = 0.0
        return added


@dataclass(frozen=True, eq=False)
class Split:
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
    def choosing(self) -> VotedRows:
        """The rows to choose on."""
        problem = self.problem
        known = problem.X is not None or problem.is_predictions
        scores = None if known or not problem.is_soft else problem.known_scores
        if scores is not None and scores.margin_scale is None:
            return VotedRows(problem.votes, problem.ensemble, scores=scores)
        return VotedRows(problem.votes, problem.ensemble if known else None, problem.X)

    @cached_property
    def testing(self) -> VotedRows | None:
        """The rows to test on, if there are any."""
        problem = self.problem
        if not problem.has_test:
            return None
        if isinstance(problem.X_test, Predictions):
            return VotedRows(problem.test_votes, problem.X_test)
        return VotedRows(problem.test_votes, problem.ensemble, problem.X_test)

    @property
    def judged_on(self) -> VotedRows:
        """The rows that sub-ensembles are judged on."""
        return self.choosing if self.testing is None else self.testing

    @property
    def n_choices(self) -> int:
        """Number of times a method has to choose: on all rows, and on each four fifths."""
        if self.problem.has_test or self.problem.votes.staged:
            return 1
        return 1 + min(N_FOLDS, self.problem.votes.n_samples)

    def parts(self) -> Iterator["Part"]:
        """Yield problems to choose on with rows to judge on, five times when cross-fitting."""
        problem = self.problem
        if problem.has_test:
            yield Part(problem, self, None)
            return
        if problem.votes.staged:  # the first rounds are the same without any of the rows
            yield Part(problem, self, np.arange(problem.votes.n_samples))
            return
        for chosen_on, held_out in folds(problem.votes.truth, check_random_state(self.seed)):
            yield Part(problem.on(chosen_on), self, held_out)


@dataclass(frozen=True, eq=False)
class Part:
    """A problem to choose on, and rows to judge on.

    Attributes
    ----------
    problem : Problem
        What to choose on.
    split : Split
        What it is part of.
    held_out : ndarray or None
        The rows of the split to judge on; None for the rows to test on.
    """

    problem: Problem
    split: Split
    held_out: NDArray[np.intp] | None

    def ballots(self) -> Iterator[Ballots]:
        """Yield the votes on the rows to judge on, in blocks that fit in memory."""
        if self.held_out is not None:
            return self.split.choosing.ballots(self.held_out)
        assert self.split.testing is not None
        return self.split.testing.ballots()

    def scored(
        self,
        groups: Sequence[Sequence[int]],
        scoring: Scoring,
        wanted: Container[int] = (),
        group_weights: Weights = EQUAL,
    ) -> ScoreCurve:
        """Score groups of members on the rows to judge on."""
        problem, rows = self.split.problem, self.held_out
        outputs = problem.outputs_scored(test=rows is None)
        weights = problem.sample_weight_test if rows is None else problem.sample_weight
        if rows is not None:
            outputs = outputs.rows(rows)
            weights = None if weights is None else weights[rows]
        weighed = (problem.ensemble.weights, weights)
        if rows is None or scoring.name != "r2":
            return score_curve(outputs, groups, scoring, *weighed, wanted, group_weights)
        # R² compares with the spread of all rows: that of a fold's few may be none.
        squared = Scoring.of("neg_mean_squared_error", outputs.classes)
        curve = score_curve(outputs, groups, squared, *weighed, wanted, group_weights)
        y, all_weights = problem.votes.truth, problem.sample_weight
        spread = np.average((y - np.average(y, weights=all_weights)) ** 2, weights=all_weights)
        return curve.scaled(1 / spread if spread > 0 else 0.0, 1.0)
