"""The score of the mean of a set of members, some of them more than once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties, one_hot
from secateurs.measures.fast_scores import FAST_SCORES
from secateurs.measures.pair_measure import Floats
from secateurs.measures.scoring import Scoring
from secateurs.outputs import selection_kernels, vote_kernels
from secateurs.outputs.fixed_point import (
    NUMBER_BITS,
    PROBABILITY_BITS,
    mean_from_sums,
    missing_cell_value,
)
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

_ONE = 1 << PROBABILITY_BITS


class MeanScore(ABC):
    """A score of the mean of a set, of votes, probabilities or numbers; larger is better.

    Made by `for_predictions`. Members may be added more than once. On each row the mean is over the members that
    have a value; rows on which none has are left out. The scores of ``measures.fast_scores`` are
    computed by compiled code; any other is asked of its scorer, candidate by candidate.

    Parameters
    ----------
    outputs : Votes or Predictions
        What members predict, with the true labels or numbers.
    scoring : Scoring
        What to score.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the samples.

    Attributes
    ----------
    perfect_value : float or None
        The largest value there is, if that is known.

    Notes
    -----
    Errors of numbers, R² and root included, are compared by 1 − error / error of the mean of ``y``
    (where that is 0, of the largest number): the scale of the numbers decides nothing.

    Examples
    --------
    >>> from secateurs import Predictions
    >>> from secateurs.measures.scoring import Scoring
    >>> from secateurs.objectives import MeanScore
    >>> scores = Predictions.encode([[1.0, 3.0, 2.5], [2.0, 4.0, 2.5]], [2.0, 3.0])
    >>> objective = MeanScore.for_predictions(scores, Scoring.from_scorer("neg_mean_absolute_error"))
    >>> objective.add(0)
    >>> objective.gains()
    array([-1.,  1.,  0.])
    """

    def __init__(self, outputs: Any, scoring: Scoring, sample_weight: Floats | None) -> None:
        self.scoring, self._outputs, self._sample_weight = scoring, outputs, sample_weight
        self._weight_per_sample = (
            np.ones(outputs.n_samples) if sample_weight is None else sample_weight
        )
        self._y = true_values(outputs)
        self._value = -math.inf
        self.perfect_value: float | None = None
        if scoring.name in FAST_SCORES:
            self.perfect_value = 0.0 if scoring.needs == "probabilities" else 1.0

    @staticmethod
    def for_predictions(
        outputs: Votes | Predictions, scoring: Scoring, sample_weight: Floats | None = None
    ) -> MeanScore:
        """Return the score of a mean of these outputs."""
        if isinstance(outputs, Votes):
            return _VoteMeanScore(outputs, scoring, sample_weight)
        return _PredictionMeanScore(outputs, scoring, sample_weight)

    def for_members(self, members: NDArray[np.intp]) -> MeanScore:
        """Return the same for some members, or itself for all; none is chosen yet."""
        if len(members) == self.n_members:
            return self
        return self.for_predictions(self._outputs.take(members), self.scoring, self._sample_weight)

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
        return self._block_gains(range(self.n_members))

    def add(self, member: int) -> None:
        """Add a member."""
        self._value = float(self._block_gains(range(member, member + 1))[0])
        self._include_member(member)

    def prefix_scores(self, members: Sequence[int], weights: Array) -> list[float]:
        """Return the score of the weighted mean of the first 1, 2, … of some members.

        NaN where it is not defined on the rows that these have values for; an error if it is not on
        those that all have.
        """
        scores = []
        total, present = np.zeros(()), np.zeros(self._outputs.n_samples)
        for n_members, (member, weight) in enumerate(zip(members, weights, strict=True), start=1):
            values, has_value = self._member_predictions(member)
            total = total + weight * values
            present += weight * has_value
            answers: Array = mean_from_sums(total, present)
            if self.scoring.needs == "labels":
                answers = self._outputs.classes[argmax_with_ties(answers)]
            try:
                scores.append(self._score_predictions(answers, present > 0))
            except InputError:
                if n_members == len(members):
                    raise
                scores.append(math.nan)
        return scores

    def as_score(self, value: float) -> float:
        """Return a value as the score asked for."""
        return value

    def _score_predictions(self, answers: Array, rows: NDArray[np.bool_]) -> float:
        if rows.all():
            return self.scoring(answers, self._y, self._sample_weight)
        weight = None if self._sample_weight is None else self._sample_weight[rows]
        return self.scoring(answers[rows], self._y[rows], weight)

    def _block_gains(self, members: range) -> Floats:
        block = slice(members.start, members.stop)
        if self.scoring.name in ("accuracy", "balanced_accuracy"):
            shape = len(members), self._outputs.n_classes
            hits, seen = np.zeros(shape), np.zeros(shape)
            self._fill_hits(block, hits, seen)
            if self.scoring.name == "accuracy":
                return _divide_by_weights(hits.sum(axis=1), seen.sum(axis=1))
            rates = np.where(seen > 0, _divide_by_weights(hits, seen), 0.0)
            return _divide_by_weights(rates.sum(axis=1), (seen > 0).sum(axis=1))
        if self.scoring.name in FAST_SCORES:
            totals, weights = np.empty(len(members)), np.empty(len(members))
            self._fill_losses(block, totals, weights)
            return _divide_by_weights(totals, weights)
        return np.array(
            [self._score_predictions(*self._predictions_with(member)) for member in members]
        )

    @abstractmethod
    def _fill_hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        """Weigh right and all answers with each member, by true class."""

    def _fill_losses(self, block: slice, totals: Floats, weights: Floats) -> None:
        """Sum what is larger the better over rows with each member, and the rows' weights."""
        raise NotImplementedError

    @abstractmethod
    def _predictions_with(self, member: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return the answers with a member, and mark the rows that have one."""

    @abstractmethod
    def _member_predictions(self, member: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Return a member's values, 0 where they are missing, and mark the rows that have one."""

    @abstractmethod
    def _include_member(self, member: int) -> None:
        """Count a member's values in."""


class _VoteMeanScore(MeanScore):
    """A score of the plurality vote; ties go to the lowest class."""

    def __init__(self, votes: Votes, scoring: Scoring, sample_weight: Floats | None) -> None:
        scoring.check_prediction_kind("labels")
        super().__init__(votes, scoring, sample_weight)
        self._codes = votes.codes(range(votes.n_members))
        self._tally = np.zeros((votes.n_samples, votes.n_classes), dtype=np.int32)
        self._winner: NDArray[np.intp] = np.full(votes.n_samples, -1)

    def _fill_hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        state = self._codes[block], self._tally, self._winner, self._outputs.truth
        selection_kernels.vote_hits(*state, self._weight_per_sample, hits, seen)

    def _predictions_with(self, member: int) -> tuple[Array, NDArray[np.bool_]]:
        winner = self._winner_of(self._tally_with(member))
        return self._outputs.classes[winner], winner >= 0

    def _member_predictions(self, member: int) -> tuple[Floats, NDArray[np.bool_]]:
        codes, n_classes = self._codes[member], self._outputs.n_classes
        return one_hot(codes, n_classes), codes < n_classes

    def _include_member(self, member: int) -> None:
        self._tally = self._tally_with(member)
        self._winner = self._winner_of(self._tally)

    def _tally_with(self, member: int) -> NDArray[np.int32]:
        tally = self._tally.copy()
        vote_kernels.tally_votes(self._codes[[member]], 1, tally)
        return tally

    def _winner_of(self, tally: NDArray[np.int32]) -> NDArray[np.intp]:
        return np.where(tally.any(axis=1), tally.argmax(axis=1), -1)


class _PredictionMeanScore(MeanScore):
    """A score of the mean probabilities, or of the mean number."""

    def __init__(self, scores: Predictions, scoring: Scoring, sample_weight: Floats | None) -> None:
        super().__init__(scores, scoring, sample_weight)
        self._cells, self._missing_code = scores.cells, missing_cell_value(scores.cells)
        if scoring.name == "neg_log_loss":
            self._cells = _true_class_cells(scores)[:, None]
        self._sums = np.zeros(self._cells.shape[1:], dtype=np.int64)
        self._counts = np.zeros(scores.n_samples, dtype=np.int64)
        self._is_squared = scoring.name != "neg_mean_absolute_error"
        self._error_unit = 1.0
        if scores.is_numbers:
            self._targets = scores.truth[None, :]
            apart = np.abs(scores.truth - np.average(scores.truth, weights=sample_weight))
            apart = apart**2 if self._is_squared else apart
            # For y that is constant; predictions may all be 0, and have no scale of their own.
            largest = 2.0 ** min(NUMBER_BITS - scores.exponent, 500)
            largest = max(largest, float(np.abs(scores.truth).max()))
            constant = largest**2 if self._is_squared else largest
            self._error_unit = float(np.average(apart, weights=sample_weight)) or constant or 1.0
        elif scoring.name == "neg_brier_score":
            shown = range(1, 2) if scores.n_classes == 2 else range(scores.n_classes)
            self._targets = (scores.truth == np.array(shown)[:, None]).astype(float)

    def as_score(self, value: float) -> float:
        """Return a value as the score asked for."""
        if not self._outputs.is_numbers or self.scoring.name not in FAST_SCORES:
            return value
        if self.scoring.name == "r2":
            return value
        error = max(0.0, 1 - value) * self._error_unit
        return -math.sqrt(error) if "root" in self.scoring.name else -error

    def _fill_hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        selection_kernels.mean_hits(
            *(self._cells[block], self._missing_code, _ONE, self._outputs.n_classes == 2),
            *(self._sums, self._counts, self._outputs.truth, self._weight_per_sample, hits, seen),
        )

    def _fill_losses(self, block: slice, totals: Floats, weights: Floats) -> None:
        if self.scoring.name == "neg_log_loss":
            self._fill_log_sums(self._cells[block, 0], totals, weights)
            return
        step = math.ldexp(1.0, -self._outputs.exponent)
        selection_kernels.mean_losses(
            *(self._cells[block], self._missing_code, step, self._sums, self._counts),
            *(self._targets, self._weight_per_sample, self._is_squared, totals, weights),
        )
        totals *= -1
        if self._outputs.is_numbers:
            totals[:] = totals / self._error_unit + weights

    def _fill_log_sums(self, cells: Array, totals: Floats, weights: Floats) -> None:
        sums = self._sums[0]
        if self._outputs.has_missing or self._sample_weight is not None:
            state = cells, self._missing_code, _ONE, sums, self._counts, self._weight_per_sample
            selection_kernels.mean_logs(*state, totals, weights)
        else:
            step = 1 / (_ONE * (self._counts[0] + 1))
            selection_kernels.whole_mean_logs(cells, step, sums.astype(float), totals)
            weights[:] = self._outputs.n_samples

    def _predictions_with(self, member: int) -> tuple[Array, NDArray[np.bool_]]:
        sums, counts = self._sums_with(member)
        shown = np.maximum(counts, 1)
        if self._outputs.is_numbers:
            return np.ldexp(sums[0].astype(float), -self._outputs.exponent) / shown, counts > 0
        if self._outputs.n_classes == 2:
            sums = np.concatenate([counts * _ONE - sums, sums])
        return (sums / (shown * _ONE)).T, counts > 0

    def _member_predictions(self, member: int) -> tuple[Floats, NDArray[np.bool_]]:
        return self._outputs.values(member), ~self._outputs.is_missing(member)

    def _include_member(self, member: int) -> None:
        self._sums, self._counts = self._sums_with(member)

    def _sums_with(self, member: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        present = ~self._outputs.is_missing(member)
        return self._sums + np.where(present, self._cells[member], 0), self._counts + present


def _true_class_cells(scores: Predictions) -> Array:
    """Return the probabilities of the true classes, as integers: (members, samples)."""
    if scores.n_classes != 2:
        places = np.minimum(scores.truth, scores.cells.shape[1] - 1).astype(np.intp)
        return np.take_along_axis(scores.cells, places[None, None], axis=1)[:, 0]
    cells: Array = scores.cells[:, 0].copy()
    np.subtract(
        _ONE, cells, out=cells, where=(scores.truth == 0) & (cells != missing_cell_value(cells))
    )
    return cells


def _divide_by_weights(totals: Array, weights: Array) -> Floats:
    """Return totals over weights; −∞ where nothing has weight."""
    return np.where(weights > 0, totals / np.where(weights > 0, weights, 1), -np.inf)
