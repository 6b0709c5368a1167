"""The score of the mean of a set of members, some of them more than once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array, largest, one_hot
from secateurs.exceptions import InputError
from secateurs.measures._fast_scores import FAST
from secateurs.measures._pair import Floats
from secateurs.measures._scoring import Scoring
from secateurs.outputs import _selection_kernels, _vote_kernels
from secateurs.outputs._fixed_point import NUMBER_BITS, PROBABILITY_BITS, mean_of, missing_of
from secateurs.outputs._scores import Scores, true_values
from secateurs.outputs._votes import Votes

_ONE = 1 << PROBABILITY_BITS


class MeanScore(ABC):
    """A score of the mean of a set, of votes, probabilities or numbers; larger is better.

    Made by `of`. Members may be added more than once. On each row the mean is over the members that
    have a value; rows on which none has are left out. The scores of ``measures._fast_scores`` are
    computed by compiled code; any other is asked of its scorer, candidate by candidate.

    Parameters
    ----------
    outputs : Votes or Scores
        What members predict, with the true labels or numbers.
    scoring : Scoring
        What to score.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the samples.

    Attributes
    ----------
    perfect : float or None
        The largest value there is, if that is known.

    Notes
    -----
    Errors of numbers, R² and root included, are compared by 1 − error / error of the mean of ``y``
    (where that is 0, of the largest number): the scale of the numbers decides nothing.

    Examples
    --------
    >>> from secateurs import Scores
    >>> from secateurs.measures._scoring import Scoring
    >>> from secateurs.objectives import MeanScore
    >>> scores = Scores.encode([[1.0, 3.0, 2.5], [2.0, 4.0, 2.5]], [2.0, 3.0])
    >>> objective = MeanScore.of(scores, Scoring.of("neg_mean_absolute_error"))
    >>> objective.add(0)
    >>> objective.gains()
    array([-1.,  1.,  0.])
    """

    def __init__(self, outputs: Any, scoring: Scoring, sample_weight: Floats | None) -> None:
        self.scoring, self._outputs, self._given_weight = scoring, outputs, sample_weight
        self._weights = np.ones(outputs.n_samples) if sample_weight is None else sample_weight
        self._y = true_values(outputs)
        self._value = -math.inf
        self.perfect: float | None = None
        if scoring.name in FAST:
            self.perfect = 0.0 if scoring.needs == "probabilities" else 1.0

    @staticmethod
    def of(
        outputs: Votes | Scores, scoring: Scoring, sample_weight: Floats | None = None
    ) -> MeanScore:
        """Return the score of a mean of these outputs."""
        if isinstance(outputs, Votes):
            return _VotesScore(outputs, scoring, sample_weight)
        return _ScoresScore(outputs, scoring, sample_weight)

    def among(self, members: NDArray[np.intp]) -> MeanScore:
        """Return the same for some members, or itself for all; none is chosen yet."""
        if len(members) == self.n_members:
            return self
        return self.of(self._outputs.take(members), self.scoring, self._given_weight)

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return self._outputs.n_members

    @property
    def value(self) -> float:
        """Value of those chosen; −∞ for no members."""
        return self._value

    def gains(self) -> Floats:
        """Return the value with each member."""
        return self._gains(range(self.n_members))

    def add(self, member: int) -> None:
        """Add a member."""
        self._value = float(self._gains(range(member, member + 1))[0])
        self._count(member)

    def prefix_scores(self, members: Sequence[int], weights: Array) -> list[float]:
        """Return the score of the weighted mean of the first 1, 2, … of some members.

        NaN where it is not defined on the rows that these have values for; an error if it is not on
        those that all have.
        """
        scores = []
        total, present = np.zeros(()), np.zeros(self._outputs.n_samples)
        for n_members, (member, weight) in enumerate(zip(members, weights, strict=True), start=1):
            values, has_value = self._values(member)
            total = total + weight * values
            present += weight * has_value
            answers: Array = mean_of(total, present)
            if self.scoring.needs == "labels":
                answers = self._outputs.classes[largest(answers)]
            try:
                scores.append(self._scored(answers, present > 0))
            except InputError:
                if n_members == len(members):
                    raise
                scores.append(math.nan)
        return scores

    def as_score(self, value: float) -> float:
        """Return a value as the score asked for."""
        return value

    def _scored(self, answers: Array, rows: NDArray[np.bool_]) -> float:
        if rows.all():
            return self.scoring(answers, self._y, self._given_weight)
        weight = None if self._given_weight is None else self._given_weight[rows]
        return self.scoring(answers[rows], self._y[rows], weight)

    def _gains(self, members: range) -> Floats:
        block = slice(members.start, members.stop)
        if self.scoring.name in ("accuracy", "balanced_accuracy"):
            shape = len(members), self._outputs.n_classes
            hits, seen = np.zeros(shape), np.zeros(shape)
            self._hits(block, hits, seen)
            if self.scoring.name == "accuracy":
                return _ratio(hits.sum(axis=1), seen.sum(axis=1))
            rates = np.where(seen > 0, _ratio(hits, seen), 0.0)
            return _ratio(rates.sum(axis=1), (seen > 0).sum(axis=1))
        if self.scoring.name in FAST:
            totals, weights = np.empty(len(members)), np.empty(len(members))
            self._losses(block, totals, weights)
            return _ratio(totals, weights)
        return np.array([self._scored(*self._answers(member)) for member in members])

    @abstractmethod
    def _hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        """Weigh right and all answers with each member, by true class."""

    def _losses(self, block: slice, totals: Floats, weights: Floats) -> None:
        """Sum what is larger the better over rows with each member, and the rows' weights."""
        raise NotImplementedError

    @abstractmethod
    def _answers(self, member: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return the answers with a member, and mark the rows that have one."""

    @abstractmethod
    def _values(self, member: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Return a member's values, 0 where they are missing, and mark the rows that have one."""

    @abstractmethod
    def _count(self, member: int) -> None:
        """Count a member's values in."""


class _VotesScore(MeanScore):
    """A score of the plurality vote; ties go to the lowest class."""

    def __init__(self, votes: Votes, scoring: Scoring, sample_weight: Floats | None) -> None:
        scoring.check_answers("labels")
        super().__init__(votes, scoring, sample_weight)
        self._codes = votes.codes(range(votes.n_members))
        self._tally = np.zeros((votes.n_samples, votes.n_classes), dtype=np.int32)
        self._winner: NDArray[np.intp] = np.full(votes.n_samples, -1)

    def _hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        state = self._codes[block], self._tally, self._winner, self._outputs.truth
        _selection_kernels.vote_hits(*state, self._weights, hits, seen)

    def _answers(self, member: int) -> tuple[Array, NDArray[np.bool_]]:
        winner = self._winner_of(self._tally_with(member))
        return self._outputs.classes[winner], winner >= 0

    def _values(self, member: int) -> tuple[Floats, NDArray[np.bool_]]:
        codes, n_classes = self._codes[member], self._outputs.n_classes
        return one_hot(codes, n_classes), codes < n_classes

    def _count(self, member: int) -> None:
        self._tally = self._tally_with(member)
        self._winner = self._winner_of(self._tally)

    def _tally_with(self, member: int) -> NDArray[np.int32]:
        tally = self._tally.copy()
        _vote_kernels.tally_votes(self._codes[[member]], 1, tally)
        return tally

    def _winner_of(self, tally: NDArray[np.int32]) -> NDArray[np.intp]:
        return np.where(tally.any(axis=1), tally.argmax(axis=1), -1)


class _ScoresScore(MeanScore):
    """A score of the mean probabilities, or of the mean number."""

    def __init__(self, scores: Scores, scoring: Scoring, sample_weight: Floats | None) -> None:
        super().__init__(scores, scoring, sample_weight)
        self._cells, self._missing = scores.cells, missing_of(scores.cells)
        if scoring.name == "neg_log_loss":
            self._cells = _of_truth(scores)[:, None]
        self._sums = np.zeros(self._cells.shape[1:], dtype=np.int64)
        self._counts = np.zeros(scores.n_samples, dtype=np.int64)
        self._squared = scoring.name != "neg_mean_absolute_error"
        self._unit = 1.0
        if scores.is_numbers:
            self._targets = scores.truth[None, :]
            apart = np.abs(scores.truth - np.average(scores.truth, weights=sample_weight))
            apart = apart**2 if self._squared else apart
            # For y that is constant; predictions may all be 0, and have no scale of their own.
            largest = 2.0 ** min(NUMBER_BITS - scores.exponent, 500)
            largest = max(largest, float(np.abs(scores.truth).max()))
            constant = largest**2 if self._squared else largest
            self._unit = float(np.average(apart, weights=sample_weight)) or constant or 1.0
        elif scoring.name == "neg_brier_score":
            shown = range(1, 2) if scores.n_classes == 2 else range(scores.n_classes)
            self._targets = (scores.truth == np.array(shown)[:, None]).astype(float)

    def as_score(self, value: float) -> float:
        """Return a value as the score asked for."""
        if not self._outputs.is_numbers or self.scoring.name not in FAST:
            return value
        if self.scoring.name == "r2":
            return value
        error = max(0.0, 1 - value) * self._unit
        return -math.sqrt(error) if "root" in self.scoring.name else -error

    def _hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        _selection_kernels.mean_hits(
            *(self._cells[block], self._missing, _ONE, self._outputs.n_classes == 2),
            *(self._sums, self._counts, self._outputs.truth, self._weights, hits, seen),
        )

    def _losses(self, block: slice, totals: Floats, weights: Floats) -> None:
        if self.scoring.name == "neg_log_loss":
            self._logs(self._cells[block, 0], totals, weights)
            return
        step = math.ldexp(1.0, -self._outputs.exponent)
        _selection_kernels.mean_losses(
            *(self._cells[block], self._missing, step, self._sums, self._counts),
            *(self._targets, self._weights, self._squared, totals, weights),
        )
        totals *= -1
        if self._outputs.is_numbers:
            totals[:] = totals / self._unit + weights

    def _logs(self, cells: Array, totals: Floats, weights: Floats) -> None:
        sums = self._sums[0]
        if self._outputs.has_missing or self._given_weight is not None:
            state = cells, self._missing, _ONE, sums, self._counts, self._weights
            _selection_kernels.mean_logs(*state, totals, weights)
        else:
            step = 1 / (_ONE * (self._counts[0] + 1))
            _selection_kernels.whole_mean_logs(cells, step, sums.astype(float), totals)
            weights[:] = self._outputs.n_samples

    def _answers(self, member: int) -> tuple[Array, NDArray[np.bool_]]:
        sums, counts = self._with(member)
        shown = np.maximum(counts, 1)
        if self._outputs.is_numbers:
            return np.ldexp(sums[0].astype(float), -self._outputs.exponent) / shown, counts > 0
        if self._outputs.n_classes == 2:
            sums = np.concatenate([counts * _ONE - sums, sums])
        return (sums / (shown * _ONE)).T, counts > 0

    def _values(self, member: int) -> tuple[Floats, NDArray[np.bool_]]:
        return self._outputs.values(member), ~self._outputs.is_missing(member)

    def _count(self, member: int) -> None:
        self._sums, self._counts = self._with(member)

    def _with(self, member: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        present = ~self._outputs.is_missing(member)
        return self._sums + np.where(present, self._cells[member], 0), self._counts + present


def _of_truth(scores: Scores) -> Array:
    """Return the probabilities of the true classes, as integers: (members, samples)."""
    if scores.n_classes != 2:
        places = np.minimum(scores.truth, scores.cells.shape[1] - 1).astype(np.intp)
        return np.take_along_axis(scores.cells, places[None, None], axis=1)[:, 0]
    cells: Array = scores.cells[:, 0].copy()
    np.subtract(_ONE, cells, out=cells, where=(scores.truth == 0) & (cells != missing_of(cells)))
    return cells


def _ratio(totals: Array, weights: Array) -> Floats:
    """Return totals over weights; −∞ where nothing has weight."""
    return np.where(weights > 0, totals / np.where(weights > 0, weights, 1), -np.inf)
