"""`MeanScore`: the score of the mean prediction of a set, with members that may repeat."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties, one_hot
from secateurs.measures.fast_scores import FAST_SCORES
from secateurs.measures.pair_measure import Floats
from secateurs.measures.ranking_scores import SampleKinds, is_ranking_score, ranking_values
from secateurs.measures.scoring import Scoring
from secateurs.outputs import ranking_kernels, selection_kernels, vote_kernels
from secateurs.outputs.fixed_point import (
    NUMBER_BITS,
    PROBABILITY_BITS,
    mean_from_sums,
    missing_cell_value,
)
from secateurs.outputs.missing_answers import counts_as_wrong, fill_unanswered, first_members
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, IndexArray

_HIT_SCORES = ("accuracy", "balanced_accuracy")  # computed from correct predictions by class
_ONE = 1 << PROBABILITY_BITS  # the cell of probability 1
_LARGEST_EXPONENT = 300.0  # exp of twice this is still finite
_MOST_PAIRS = 1 << 22  # pairs of classes in memory at a time, over all candidates


class MeanScore(ABC):
    """Score of the mean of a set of votes, probabilities or values; larger is better.

    Create it with `for_predictions`. Members may be added more than once. The mean of a sample is
    over the members that have a prediction; samples without any prediction are left out. If missing
    predictions are wrong, such a sample is not correct, and in scores of probabilities or values
    its prediction is the class frequencies, or the mean of y. The scores of
    ``measures.fast_scores`` and ``measures.ranking_scores`` are computed by compiled code. For all
    other scores, the scorer is called once for each candidate.

    Parameters
    ----------
    outputs : Votes or Predictions
        Predictions of the members, with the true labels or values.
    scoring : Scoring
        The score.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the samples.

    Attributes
    ----------
    value : float
        Value of the selected members; −∞ for no members.
    perfect_value : float or None
        The largest possible value, if it is known.

    Notes
    -----
    Regression errors, including R² and the root mean squared error, are compared by 1 − error /
    error of the mean of ``y`` (or of the largest value, if that is 0), so that the scale of the
    target has no effect.

    Examples
    --------
    >>> from secateurs import Predictions
    >>> from secateurs.measures.scoring import Scoring
    >>> from secateurs.objectives import MeanScore
    >>> scores = Predictions.encode([[1.0, 3.0, 2.5], [2.0, 4.0, 2.5]], [2.0, 3.0])
    >>> scoring = Scoring.from_scorer("neg_mean_absolute_error")
    >>> objective = MeanScore.for_predictions(scores, scoring)
    >>> objective.add(0)
    >>> objective.gains()
    array([-1.,  1.,  0.])
    """

    def __init__(
        self, outputs: Votes | Predictions, scoring: Scoring, sample_weight: Floats | None
    ) -> None:
        self.scoring, self._outputs, self._sample_weight = scoring, outputs, sample_weight
        self._weight_per_sample = (
            np.ones(outputs.n_samples) if sample_weight is None else sample_weight
        )
        self._y = true_values(outputs)
        self.value = -math.inf  # of the selected members
        self._selected: list[int] = []  # with repetitions
        self._samples: SampleRows | None = None
        if scoring.reads_samples:
            given = outputs.samples
            self._samples = SampleRows.of_table(outputs) if given is None else given
        self._is_missing_wrong = counts_as_wrong(outputs)
        # Whether the score of samples without a prediction is that of class frequencies or a mean.
        self._has_fallback = self._is_missing_wrong and not scoring.uses_labels(outputs)
        self.perfect_value: float | None = None
        if scoring.name in FAST_SCORES:
            self.perfect_value = 0.0 if scoring.needs == "probabilities" else 1.0

    @staticmethod
    def for_predictions(
        outputs: Votes | Predictions, scoring: Scoring, sample_weight: Floats | None = None
    ) -> MeanScore:
        """Return the objective for votes or predictions."""
        if isinstance(outputs, Votes):
            return _VoteMeanScore(outputs, scoring, sample_weight)
        is_margins = outputs.margin_scale is not None
        kind = _MarginMeanScore if is_margins else _PredictionMeanScore
        return kind(outputs, scoring, sample_weight)

    def for_members(self, members: IndexArray) -> MeanScore:
        """Return the objective for some members, or itself for all; none may be selected yet."""
        if len(members) == self.n_members:
            return self
        return self.for_predictions(self._outputs.take(members), self.scoring, self._sample_weight)

    @property
    def n_members(self) -> int:
        """Number of members to select from."""
        return self._outputs.n_members

    def gains(self) -> Floats:
        """Return the value after adding each member; −∞ for members that may not be the first."""
        values = self._block_gains(range(self.n_members))
        if not self._selected and self._has_fallback:
            values[~first_members(self._outputs)] = -np.inf
        return values

    def add(self, member: int) -> None:
        """Add a member."""
        self.value = float(self._block_gains(range(member, member + 1))[0])
        self._selected.append(member)
        self._include_member(member)

    def prefix_scores(self, members: Sequence[int], weights: Array) -> list[float]:
        """Return the scores of the weighted means of the first 1, 2, … members.

        NaN if the score is not defined on the samples that these members predict. It must be
        defined for all members.
        """
        scores = []
        total, present = np.zeros(()), np.zeros(self._outputs.n_samples)
        for n_members, (member, weight) in enumerate(zip(members, weights, strict=True), start=1):
            values, has_value = self._member_predictions(member)
            total = total + weight * values
            present += weight * has_value
            predictions: Array = self._link_mean(mean_from_sums(total, present))
            if self.scoring.uses_labels(self._outputs):
                predictions = self._outputs.classes[argmax_with_ties(predictions)]
            group = list(members[:n_members]), weights[:n_members]
            try:
                scores.append(self._score_predictions(predictions, present > 0, *group))
            except InputError:
                if n_members == len(members):
                    raise
                scores.append(math.nan)
        return scores

    def as_score(self, value: float) -> float:
        """Convert a value of this objective to the score."""
        return value

    def _link_mean(self, mean: Floats) -> Floats:
        """Return the prediction that a mean stands for."""
        return mean

    def _score_predictions(
        self, predictions: Array, present: BoolArray, members: Sequence[int], weights: Array
    ) -> float:
        """Return the score of predictions, of which some are not present."""
        y, weight, rows = self._y, self._sample_weight, self._samples
        if self._is_missing_wrong:
            predictions = fill_unanswered(predictions, present, self._outputs)
        elif not present.all():
            predictions, y = predictions[present], y[present]
            weight = None if weight is None else weight[present]
            rows = None if rows is None else rows.take(present)
        if rows is not None:
            rows = rows.predicted_by(members, weights)
        return self.scoring(predictions, y, weight, rows)

    def _block_gains(self, members: range) -> Floats:
        """Return the value after adding each member of a block."""
        block = slice(members.start, members.stop)
        if self.scoring.name in _HIT_SCORES:
            shape = len(members), self._outputs.n_classes
            hits, seen = np.zeros(shape), np.zeros(shape)
            self._fill_hits(block, hits, seen)
            if self._is_missing_wrong:
                truth, n_classes = self._outputs.truth, self._outputs.n_classes
                seen[:] = np.bincount(truth, self._weight_per_sample, n_classes)
            if self.scoring.name == "accuracy":
                return _divide_by_weights(hits.sum(axis=1), seen.sum(axis=1))
            rates = np.where(seen > 0, _divide_by_weights(hits, seen), 0.0)
            return _divide_by_weights(rates.sum(axis=1), (seen > 0).sum(axis=1))
        scores = []
        for member in members:
            group = [*self._selected, member]
            candidate = self._predictions_with(member)
            scores.append(self._score_predictions(*candidate, group, np.ones(len(group))))
        return np.array(scores)

    @abstractmethod
    def _fill_hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        """Fill in the weights of correct and of all predictions with each member, by true class."""

    @abstractmethod
    def _predictions_with(self, member: int) -> tuple[Array, BoolArray]:
        """Return the predictions after adding a member, and a mask of samples that have one."""

    @abstractmethod
    def _member_predictions(self, member: int) -> tuple[Floats, BoolArray]:
        """Return a member's predictions, 0 if missing, and a mask of samples that have one."""

    @abstractmethod
    def _include_member(self, member: int) -> None:
        """Add a member's predictions to the sums."""


class _VoteMeanScore(MeanScore):
    """Score of the plurality vote; ties go to the lowest class."""

    _outputs: Votes

    def __init__(self, votes: Votes, scoring: Scoring, sample_weight: Floats | None) -> None:
        scoring.check_prediction_kind("labels")
        super().__init__(votes, scoring, sample_weight)
        self._codes = votes.codes(range(votes.n_members))
        self._tally = votes.empty_tally()
        self._winner: IndexArray = np.full(votes.n_samples, -1)  # −1 without any vote

    def _fill_hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        state = self._codes[block], self._tally, self._winner, self._outputs.truth
        selection_kernels.vote_hits(*state, self._weight_per_sample, hits, seen)

    def _predictions_with(self, member: int) -> tuple[Array, BoolArray]:
        """Return the vote after adding a member, and which samples have a vote."""
        winner = self._winner_of(self._tally_with(member))
        return self._outputs.classes[winner], winner >= 0

    def _member_predictions(self, member: int) -> tuple[Floats, BoolArray]:
        """Return a member's votes as probabilities of 0 and 1, and which samples have a vote."""
        codes, n_classes = self._codes[member], self._outputs.n_classes
        return one_hot(codes, n_classes), codes < n_classes

    def _include_member(self, member: int) -> None:
        """Add a member to the tally of votes."""
        self._tally = self._tally_with(member)
        self._winner = self._winner_of(self._tally)

    def _tally_with(self, member: int) -> NDArray[np.int32]:
        tally = self._tally.copy()
        vote_kernels.tally_votes(self._codes[[member]], 1, tally)
        return tally

    def _winner_of(self, tally: NDArray[np.int32]) -> IndexArray:
        return np.where(tally.any(axis=1), tally.argmax(axis=1), -1)


class _PredictionMeanScore(MeanScore):
    """Score of the mean probabilities, or of the mean value."""

    _outputs: Predictions

    def __init__(
        self, predictions: Predictions, scoring: Scoring, sample_weight: Floats | None
    ) -> None:
        super().__init__(predictions, scoring, sample_weight)
        self._cells, self._missing_code = predictions.cells, missing_cell_value(predictions.cells)
        if scoring.name == "neg_log_loss" and predictions.margin_scale is None:
            self._cells = _true_class_cells(predictions)[:, None]
        self._sums = np.zeros(self._cells.shape[1:], dtype=np.int64)
        self._counts = np.zeros(predictions.n_samples, dtype=np.int64)
        # Means over different numbers of members, and means of margins, are ranked as floats.
        self._is_ranked = not (predictions.has_missing or predictions.margin_scale) and (
            is_ranking_score(scoring.name, predictions.classes, predictions.truth, sample_weight)
        )
        if self._is_ranked:
            truth, n_classes = predictions.truth, predictions.n_classes
            self._sample_kinds = SampleKinds.from_samples(truth, sample_weight, n_classes)
        self._is_squared = scoring.name != "neg_mean_absolute_error"
        self._error_unit = 1.0
        if predictions.is_numbers:
            self._targets = predictions.truth[None, :]
            self._error_unit = self._constant_error() or 1.0
        elif scoring.name == "neg_brier_score":
            n_classes = predictions.n_classes
            stored_classes = range(1, 2) if n_classes == 2 else range(n_classes)
            is_true = predictions.truth == np.array(stored_classes)[:, None]
            self._targets = is_true.astype(float)

    def _constant_error(self) -> float:
        """Return the error of the mean of y, or a large error if y is constant."""
        truth, exponent = self._outputs.truth, self._outputs.exponent
        deviations = np.abs(truth - np.average(truth, weights=self._sample_weight))
        deviations = deviations**2 if self._is_squared else deviations
        # For a constant y, the scale of the predictions. The square of 2**500 is still finite. The
        # result is 0 if all predictions are 0, because they have no scale.
        largest = 2.0 ** min(NUMBER_BITS - exponent, 500)
        largest = max(largest, float(np.abs(truth).max()))
        fallback = largest**2 if self._is_squared else largest
        return float(np.average(deviations, weights=self._sample_weight)) or fallback

    def as_score(self, value: float) -> float:
        """Convert a value of this objective to the score."""
        if not self._outputs.is_numbers or self.scoring.name not in FAST_SCORES:
            return value
        if self.scoring.name == "r2":
            return value
        error = max(0.0, 1 - value) * self._error_unit
        return -math.sqrt(error) if "root" in self.scoring.name else -error

    def _block_gains(self, members: range) -> Floats:
        if self.scoring.name in FAST_SCORES and self.scoring.name not in _HIT_SCORES:
            totals, weights = np.empty(len(members)), np.empty(len(members))
            self._fill_losses(slice(members.start, members.stop), totals, weights)
            return _divide_by_weights(totals, weights)
        if not self._is_ranked:
            return super()._block_gains(members)
        n_classes = self._outputs.n_classes
        size = max(1, _MOST_PAIRS // n_classes**2)
        starts = range(members.start, members.stop, size)
        blocks = (slice(start, min(start + size, members.stop)) for start in starts)
        return np.concatenate([self._ranking_gains(block) for block in blocks])

    def _ranking_gains(self, block: slice) -> Floats:
        """Return the score of the ranking by the mean probabilities with each member of a block."""
        n_classes, samples = self._outputs.n_classes, self._sample_kinds
        won = np.zeros((block.stop - block.start, n_classes, n_classes))
        precisions = np.zeros(won.shape[:2])
        # The rounded probabilities of a member sum to less than 1 + n_classes steps. A quotient has
        # 52 binary digits, and a key has 63 bits.
        largest_sum = int(self._counts[0] + 1) * (_ONE + n_classes)
        digits = min(2 * largest_sum.bit_length() + 1, 52, 62 - samples.kind_bits)
        ranking_kernels.mean_rankings(
            *(self._cells[block], self._sums, 2.0**digits), *samples, won, precisions
        )
        return ranking_values(self.scoring.name, won, precisions, samples.class_weights)

    def _fill_hits(self, block: slice, hits: Floats, seen: Floats) -> None:
        truth, is_binary = self._outputs.truth, self._outputs.n_classes == 2
        total = int(self._counts[0] + 1) * _ONE
        has_weights = self._outputs.has_missing or self._sample_weight is not None
        if not has_weights and total <= np.iinfo(np.int32).max:
            state = self._cells[block], np.int32(total), is_binary, self._sums.astype(np.int32)
            n_columns = 1 if self.scoring.name == "accuracy" else self._outputs.n_classes
            counts = np.zeros((len(hits), n_columns))
            selection_kernels.unweighted_mean_hits(*state, truth.astype(np.int32), counts)
            hits[:, :n_columns] = counts
            seen += np.bincount(truth, minlength=self._outputs.n_classes)
            return
        selection_kernels.mean_hits(
            *(self._cells[block], self._missing_code, _ONE, is_binary),
            *(self._sums, self._counts, truth, self._weight_per_sample, hits, seen),
        )

    def _fill_losses(self, block: slice, totals: Floats, weights: Floats) -> None:
        """Fill in weighted sums of negative losses with each member, and sums of the weights."""
        if self.scoring.name == "neg_log_loss":
            self._fill_log_sums(self._cells[block, 0], totals, weights)
            self._add_unanswered(block, totals, weights)
            return
        step = math.ldexp(1.0, -self._outputs.exponent)
        selection_kernels.mean_losses(
            *(self._cells[block], self._missing_code, step, self._sums, self._counts),
            *(self._targets, self._weight_per_sample, self._is_squared, totals, weights),
        )
        self._add_unanswered(block, totals, weights)
        totals *= -1
        if self._outputs.is_numbers:
            totals[:] = totals / self._error_unit + weights

    def _add_unanswered(self, block: slice, totals: Floats, weights: Floats) -> None:
        """Add the losses of samples that neither the selected members nor a candidate predict."""
        if not self._has_fallback:
            return
        weights[:] = self._weight_per_sample.sum()
        uncovered = np.flatnonzero(self._counts == 0)
        for index, member in enumerate(range(*block.indices(self.n_members))):
            unanswered = uncovered[self._outputs.is_missing(member)[uncovered]]
            totals[index] += self._fallback_losses[unanswered].sum()

    @cached_property
    def _fallback_losses(self) -> Floats:
        """Weighted losses of the class frequencies, or of the mean; logarithms for the log loss."""
        fallback, truth = self._outputs.fallback_prediction, self._outputs.truth
        if self.scoring.name == "neg_log_loss":
            smallest = selection_kernels.EPSILON
            losses = np.log(np.clip(fallback[truth], smallest, 1 - smallest))
        else:
            errors = fallback[-len(self._targets) :, None] - self._targets
            losses = (errors**2 if self._is_squared else np.abs(errors)).sum(axis=0)
        return self._weight_per_sample * losses

    def _fill_log_sums(self, cells: Array, totals: Floats, weights: Floats) -> None:
        sums = self._sums[0]
        if self._outputs.has_missing or self._sample_weight is not None:
            state = cells, self._missing_code, _ONE, sums, self._counts, self._weight_per_sample
            selection_kernels.mean_logs(*state, totals, weights)
        else:
            step = 1 / (_ONE * (self._counts[0] + 1))
            selection_kernels.unweighted_mean_logs(cells, step, sums.astype(float), totals)
            weights[:] = self._outputs.n_samples

    def _predictions_with(self, member: int) -> tuple[Array, BoolArray]:
        """Return the mean prediction after adding a member, and which samples have one."""
        sums, counts = self._sums_with(member)
        divisors = np.maximum(counts, 1)
        if self._outputs.is_numbers:
            return np.ldexp(sums[0].astype(float), -self._outputs.exponent) / divisors, counts > 0
        if self._outputs.n_classes == 2:  # only the second class is stored
            sums = np.concatenate([counts * _ONE - sums, sums])
        return self._link_mean((sums / (divisors * _ONE)).T), counts > 0

    def _member_predictions(self, member: int) -> tuple[Floats, BoolArray]:
        """Return a member's probabilities or values, and which samples have a prediction."""
        return self._outputs.values(member), ~self._outputs.is_missing(member)

    def _include_member(self, member: int) -> None:
        """Add a member to the sums of predictions."""
        self._sums, self._counts = self._sums_with(member)

    def _sums_with(self, member: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        present = ~self._outputs.is_missing(member)
        return self._sums + np.where(present, self._cells[member], 0), self._counts + present


class _MarginMeanScore(_PredictionMeanScore):
    """Score of the probabilities that the mean of members' margins stands for.

    The link function follows the mean, so that the value is that of the model that averages the
    selected members' margins, and not that of the mean of their probabilities.
    """

    def _link_mean(self, mean: Floats) -> Floats:
        return self._outputs.linked(mean)

    def _fill_losses(self, block: slice, totals: Floats, weights: Floats) -> None:
        scale, n_classes = self._outputs.margin_scale, self._outputs.n_classes
        assert scale is not None
        if self._outputs.has_missing or scale > _LARGEST_EXPONENT:
            self._fill_losses_by_sample(block, totals, weights)
            return
        # The exponential of a mean is a product: that of the selected members is computed once,
        # that of a candidate is looked up by its cell. Centred exponents keep both within range.
        n_means = int(self._counts[0]) + 1
        is_binary = self._cells.shape[1] == 1
        slope, centre = (-2.0, 0.5) if is_binary else (1.0, 1.0 / n_classes)
        slope *= scale / n_means
        factors = np.exp(slope * (np.arange(_ONE + 1) / _ONE - centre))
        powers = np.exp(slope * (self._sums / _ONE - centre * (n_means - 1)))
        selection_kernels.margin_losses(
            *(self._cells[block], factors, powers, self._outputs.truth, self._weight_per_sample),
            *(self.scoring.name == "neg_log_loss", totals),
        )
        weights[:] = self._weight_per_sample.sum()

    def _fill_losses_by_sample(self, block: slice, totals: Floats, weights: Floats) -> None:
        """Fill in losses where samples have means of different numbers of members."""
        truth = self._outputs.truth
        is_true = truth[:, None] == np.arange(self._outputs.n_classes)
        factor = 0.5 if self._outputs.n_classes < 3 else 1.0  # as scikit-learn's Brier score
        for index, member in enumerate(range(*block.indices(self.n_members))):
            probabilities, has_value = self._predictions_with(member)
            if self._has_fallback:
                probabilities = fill_unanswered(probabilities, has_value, self._outputs)
                has_value = np.ones_like(has_value)
            if self.scoring.name == "neg_log_loss":
                of_true_class = np.where(is_true, probabilities, 0.0).sum(axis=1)
                clipped = np.clip(
                    of_true_class, selection_kernels.EPSILON, 1 - selection_kernels.EPSILON
                )
                losses = np.log(clipped)
            else:
                losses = -factor * ((probabilities - is_true) ** 2).sum(axis=1)
            sample_weights = np.where(has_value, self._weight_per_sample, 0.0)
            totals[index] = (sample_weights * losses).sum()
            weights[index] = sample_weights.sum()


def _true_class_cells(predictions: Predictions) -> Array:
    """Return the probabilities of the true classes as integers: (members, samples)."""
    truth = predictions.truth
    if predictions.n_classes != 2:
        codes = np.minimum(truth, predictions.cells.shape[1] - 1).astype(np.intp)
        return np.take_along_axis(predictions.cells, codes[None, None], axis=1)[:, 0]
    cells: Array = predictions.cells[:, 0].copy()
    is_first_class = (truth == 0) & (cells != missing_cell_value(cells))
    np.subtract(_ONE, cells, out=cells, where=is_first_class)
    return cells


def _divide_by_weights(totals: Array, weights: Array) -> Floats:
    """Return totals divided by weights; −∞ where the weight is 0."""
    return np.where(weights > 0, totals / np.where(weights > 0, weights, 1), -np.inf)
