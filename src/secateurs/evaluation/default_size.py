"""Default size: how many members to keep if neither a number nor a budget is given.

The reasons and measurements are in docs/decisions/0024-the-default-size.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from secateurs.evaluation.budget import Budget
from secateurs.evaluation.ensemble_kind import is_library
from secateurs.evaluation.library_method import (
    best_library_size,
    library_scoring,
    size_tolerance,
)
from secateurs.evaluation.ranking_spread import has_rare_class, ranking_spread
from secateurs.evaluation.size_search import SizeSearch
from secateurs.evaluation.tolerance import STEADY_SHARE, good_larger_share
from secateurs.measures.group_predictions import member_prediction
from secateurs.measures.scoring import Scoring
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.text_format import format_count
from secateurs.typing import BoolArray, FloatArray, IndexArray

# A random draw of the kept members may change the predictions of the full ensemble by this share
# of their variance over samples, also if they are refitted: 0.02 harmed more often (decision 24).
MAX_CHANGE = 0.015
MIN_REFITTED = 20  # members: with fewer, refitted trees lost more than a point on many data sets
# Few changes of labels turn a close vote: with 0.03, 4 of 13 trials lost more than a point of
# accuracy, all with several classes; with 0.01, none did.
MAX_CHANGE_LABELS = 0.01
# The expected loss of AUC, if one of two classes is rare.
MAX_AUC_LOSS, MAX_AUC_LOSS_REFITTED = 0.007, 0.01
# Expected rise of the Brier score or squared error by a random draw, as a share of that of the full
# ensemble. It decides where the full ensemble hardly errs, so that a change of little variance is
# large beside its errors. Selected members need about half as many as a random draw (docs/kept.md),
# which makes this 5 %.
MAX_EXPECTED_RISE = 0.1
MAX_LOSS_RATIO = 1.05  # of the Brier score or squared error to that of the full ensemble
# The rounds of a boosted model correct each other, so that its loss falls up to the last ones. All
# longer prefixes may change the predictions by this share of the loss. Prefixes are scored on the
# same samples, with little noise.
MAX_CHANGE_BOOSTED = 0.005
MAX_LOSS_RATIO_BOOSTED = 1.01
NORMAL_95 = 1.6448536269514722  # 95 % of the standard normal distribution are below
# Rounding errors must not add a member where the formula gives a whole number.
_ROUNDING = 1e-9


class DecidedSize(NamedTuple):
    """A number of members, and the rule that decided it, in one line."""

    size: int | None  # None for the size that the method decides itself
    reason: str


class Spread(NamedTuple):
    """How much members differ from their mean, and how much the mean differs between samples."""

    within: float  # mean squared distance of a member's prediction to the mean of all members
    between: float  # variance of the mean over samples, summed over classes
    loss: float = math.inf  # squared error of the mean, summed over classes

    def smallest_size(self, n_members: int, max_change: float) -> int:
        """Return the fewest members of which a random draw changes the mean by at most this share.

        The mean of k of n members has a mean squared distance of ``within · (1/k − 1/n)`` to the
        mean of all members.

        Examples
        --------
        >>> from secateurs.evaluation.default_size import Spread
        >>> Spread(within=0.1, between=0.1).smallest_size(200, 0.015)
        50
        """
        return self._size_for_change(n_members, max_change * self.between)

    def smallest_size_for_loss(self, n_members: int, max_rise: float) -> int:
        """Return the fewest members of which a random draw raises the loss by at most this share.

        The expected squared error of the mean of k of n members exceeds that of the mean of all
        members by its mean squared distance to it.
        """
        return self._size_for_change(n_members, max_rise * self.loss)

    def _size_for_change(self, n_members: int, max_distance: float) -> int:
        if self.within <= 0:
            return 1
        inverse = 1 / n_members + max_distance / self.within
        return max(1, min(n_members, math.ceil(1 / inverse - _ROUNDING)))


def measure_spread(
    outputs: Votes | Predictions,
    weights: FloatArray | None = None,
    sample_weight: FloatArray | None = None,
) -> Spread:
    """Return the spread of members' predictions; labels count as probabilities of 0 and 1.

    Missing predictions are left out, and samples without any prediction.
    """
    shape = (outputs.n_samples, max(1, outputs.n_classes))
    total, squares, present = np.zeros(shape), np.zeros(len(outputs.truth)), np.zeros(shape[0])
    for member in range(outputs.n_members):
        weight = 1.0 if weights is None else float(weights[member])
        values, is_present = member_prediction(outputs, member)
        values = values.reshape(shape)
        total += weight * values
        squares += weight * np.square(values).sum(axis=1)
        present += weight * is_present
    known = present > 0
    if not known.any():
        return Spread(0.0, 0.0)
    mean = total[known] / present[known, None]
    within = np.maximum(0.0, squares[known] / present[known] - np.square(mean).sum(axis=1))
    counted = None if sample_weight is None else sample_weight[known]
    centre = np.average(mean, axis=0, weights=counted)
    between = np.average(np.square(mean - centre).sum(axis=1), weights=counted)
    errors = np.square(mean - _true_targets(outputs)[known]).sum(axis=1)
    loss = np.average(errors, weights=counted)
    return Spread(float(np.average(within, weights=counted)), float(between), float(loss))


def _true_targets(outputs: Votes | Predictions) -> FloatArray:
    """Return true values as (samples, 1), or labels as probabilities of 0 and 1."""
    if not outputs.n_classes:
        return true_values(outputs).reshape(-1, 1)
    return np.eye(outputs.n_classes)[outputs.truth]


def smallest_guarded_size(
    sizes: IndexArray, losses: FloatArray, smallest: int, max_ratio: float = MAX_LOSS_RATIO
) -> int:
    """Return the smallest size from ``smallest`` on whose loss is close to the last one's.

    So that it is not selected by chance, nine in ten of the larger sizes must be close too. The
    last size is the full ensemble.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation.default_size import smallest_guarded_size
    >>> losses = np.array([0.4, 0.3, 0.21, 0.2])
    >>> smallest_guarded_size(np.array([1, 2, 3, 4]), losses, smallest=2)
    3
    """
    good: BoolArray = losses <= max_ratio * losses[-1]
    steady = good & (good_larger_share(good) >= STEADY_SHARE)
    index = int(np.searchsorted(sizes, smallest))
    if index == len(sizes) or steady[index]:
        return smallest
    return int(sizes[index:][steady[index:]][0])


def smallest_unchanged_prefix(
    outputs: Votes | Predictions, sample_weight: FloatArray | None = None
) -> int:
    """Return the fewest first rounds from which on predictions hardly change any more.

    All longer prefixes of the boosted model differ from its predictions by at most
    `MAX_CHANGE_BOOSTED` of its squared loss, and the samples show that their loss is at most
    `MAX_LOSS_RATIO` of its loss.
    """
    last = outputs.n_members - 1
    full, _ = member_prediction(outputs, last)
    full = full.reshape(outputs.n_samples, -1)
    targets = _true_targets(outputs)
    full_errors = np.square(full - targets).sum(axis=1)
    limit = MAX_CHANGE_BOOSTED * np.average(full_errors, weights=sample_weight)
    # The squared error of a clearly wrong prediction of one further sample; it is at most 2.
    largest = float(outputs.n_classes > 0)
    for member in range(last - 1, -1, -1):
        values = member_prediction(outputs, member)[0].reshape(full.shape)
        distance = np.square(values - full).sum(axis=1)
        excess = np.square(values - targets).sum(axis=1) - MAX_LOSS_RATIO * full_errors
        is_far = np.average(distance, weights=sample_weight) > limit
        if is_far or not is_shown_negative(excess, sample_weight, largest):
            return member + 2
    return 1


def is_shown_negative(
    values: FloatArray, sample_weight: FloatArray | None = None, largest: float = 0.0
) -> bool:
    """Return whether samples show that a mean is not above 0, one-sided at 95 %.

    This must also hold if one further sample has the ``largest`` value. If the loss of a model is
    that of a few samples, because it hardly errs, other samples may have a very different loss, and
    the standard error does not show it.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation.default_size import is_shown_negative
    >>> is_shown_negative(np.array([-0.1, -0.2, 0.1, -0.1] * 5))
    True
    >>> is_shown_negative(np.array([-0.1, -0.2, 0.1, -0.1]))
    False
    >>> is_shown_negative(np.full(20, -0.01), largest=1.0)
    False
    """
    weight = np.ones(len(values)) if sample_weight is None else sample_weight
    weight = weight / weight.sum()
    mean = float(weight @ values)
    margin = NORMAL_95 * float(np.sqrt(np.square(weight) @ np.square(values - mean)))
    return mean + max(margin, largest / len(values)) <= 0


def proper_scoring(problem: Problem) -> Scoring:
    """Return the score of the guard: the squared error, or the Brier score of the mean or vote."""
    name = "neg_mean_squared_error" if problem.is_regression else "neg_brier_score"
    return Scoring.from_scorer(name, problem.predictions.classes)


@dataclass(frozen=True, eq=False)
class DefaultSize:
    """The rule for the number of members, applied to a problem and a pruner."""

    search: SizeSearch
    # The tolerance of a score that the user asked for; without limits if there is none.
    budget: Budget
    vote: str = "auto"

    @property
    def problem(self) -> Problem:
        """The ensemble with its validation samples."""
        return self.search.problem

    @cached_property
    def _spread(self) -> Spread:
        problem = self.problem
        weights = problem.ensemble.weights
        return measure_spread(problem.scored_predictions(), weights, problem.sample_weight)

    @property
    def _loss_name(self) -> str:
        return "squared error" if self.problem.is_regression else "Brier score"

    @cached_property
    def _ranking(self) -> Spread | None:
        """The spread of AUC between draws of members; None unless one of two classes is rare."""
        problem = self.problem
        outputs = problem.scored_predictions()
        if not isinstance(outputs, Predictions) or not has_rare_class(
            outputs, problem.sample_weight
        ):
            return None
        weights = problem.ensemble.weights
        return Spread(ranking_spread(outputs, weights, problem.sample_weight), 1.0)

    def _random_draw(self, size: int, verb: str) -> str:
        """Return "a random draw of n members … at most", or that of fewer if all are kept."""
        if 1 < size == self.problem.n_members:
            return f"a random draw of fewer members {verb} more than"
        return f"a random draw of {format_count(size, 'member')} {verb} at most"

    def _describe_spread(self, size: int, max_change: float, when: str = "") -> str:
        verb = "changes the predictions of the full ensemble by"
        return f"{when}{self._random_draw(size, verb)} {100 * max_change:g} % of their variance"

    def _with_ranking(self, decided: DecidedSize, max_loss: float, when: str = "") -> DecidedSize:
        """Return a size that preserves the ranking of a rare class as well."""
        if self._ranking is None or decided.size is None:
            return decided
        size = self._ranking.smallest_size(self.problem.n_members, max_loss)
        if size <= decided.size:
            return decided
        return DecidedSize(
            size,
            f"{when}{self._random_draw(size, 'loses')} {max_loss:g} of AUC, if labels follow the "
            "probabilities of the full ensemble",
        )

    def _with_expected_loss(self, decided: DecidedSize) -> DecidedSize:
        """Return a size that preserves the loss of an ensemble that hardly errs as well."""
        size = self._spread.smallest_size_for_loss(self.problem.n_members, MAX_EXPECTED_RISE)
        if size <= (decided.size or 0):
            return decided
        return DecidedSize(
            size,
            f"{self._random_draw(size, f'raises the {self._loss_name} by')} "
            f"{100 * MAX_EXPECTED_RISE:g} %",
        )

    def refitted_size(self) -> DecidedSize:
        """Return the number of trees to keep if they are refitted."""
        n_members, when = self.problem.n_members, "before refitting, "
        size = self._spread.smallest_size(n_members, MAX_CHANGE)
        least = min(n_members, MIN_REFITTED)
        decided = DecidedSize(size, self._describe_spread(size, MAX_CHANGE, when))
        if size < least:
            members = format_count(least, "member")
            decided = DecidedSize(least, f"at least {members} are kept if they are refitted")
        return self._with_ranking(decided, MAX_AUC_LOSS_REFITTED, when)

    @cached_property
    def uses_best_size(self) -> bool:
        """Whether the size with the best score is kept: for libraries of different models."""
        return is_library(self.problem)

    @cached_property
    def plain_size(self) -> DecidedSize:
        """The number of members to keep without refitting."""
        problem, n_members = self.problem, self.problem.n_members
        if self.uses_best_size:
            return self._best_size()
        if problem.predictions.is_sequential:
            outputs = problem.scored_predictions()
            size = smallest_unchanged_prefix(outputs, problem.sample_weight)
            reason = (
                f"the predictions of the first {format_count(size, 'round')} or more differ from "
                f"those of all rounds by at most {100 * MAX_CHANGE_BOOSTED:g} % of their "
                f"{self._loss_name}, which the samples show to rise by at most "
                f"{100 * (MAX_LOSS_RATIO - 1):.0f} %"
                if size < n_members
                else f"without the last round, the predictions differ by more than "
                f"{100 * MAX_CHANGE_BOOSTED:g} % of their {self._loss_name}, or the samples do not "
                f"show that it rises by at most {100 * (MAX_LOSS_RATIO - 1):.0f} %"
            )
        else:
            is_label_vote = not problem.is_soft and not problem.is_regression
            max_change = MAX_CHANGE_LABELS if is_label_vote else MAX_CHANGE
            size = self._spread.smallest_size(n_members, max_change)
            decided = DecidedSize(size, self._describe_spread(size, max_change))
            if not is_label_vote:
                decided = self._with_expected_loss(decided)
            decided = self._with_ranking(decided, MAX_AUC_LOSS)
            size, reason = decided.size or size, decided.reason
        ratio = MAX_LOSS_RATIO_BOOSTED if problem.predictions.is_sequential else MAX_LOSS_RATIO
        sizes, losses = self._guarded_losses()
        guarded = smallest_guarded_size(sizes, losses, size, ratio)
        if guarded > size:
            size, reason = (
                guarded,
                (
                    f"with fewer members, the cross-validated {self._loss_name} is more than "
                    f"{100 * (ratio - 1):.0f} % above that of the full ensemble"
                ),
            )
        if not self.budget.is_set:
            return DecidedSize(size, reason)
        tolerated = self.search.find_size(self.budget, self.vote)
        if tolerated.size > size:
            tolerance = self.budget.tolerances(problem)[problem.scoring.key]
            size, reason = (
                tolerated.size,
                (
                    f"the fewest members within {tolerance:g} of the best cross-validated "
                    f"{problem.scoring.label}"
                ),
            )
        return DecidedSize(size, reason)

    def _best_size(self) -> DecidedSize:
        """Return the size with the best cross-validated score, or the method's own size."""
        scoring = library_scoring(self.problem)
        # `auto` has found that the best single member is best.
        if getattr(self.search.pruner, "keep", None) == 1:
            return DecidedSize(1, f"no other size has a better cross-validated {scoring.label}")
        found = best_library_size(self.search, scoring)
        if found.size is None:
            return DecidedSize(None, "the number that the method itself selects")
        reason = f"this size has the best cross-validated {scoring.label} of all sizes"
        if size_tolerance(self.problem, scoring):
            reason = (
                f"the most members whose cross-validated {scoring.label} is within the error of "
                "one sample of the best size, because a class is rare"
            )
        return DecidedSize(found.size, reason)

    def _guarded_losses(self) -> tuple[IndexArray, FloatArray]:
        """Return sizes and their cross-validated losses; the last size is the full ensemble."""
        scoring = proper_scoring(self.problem)
        return self.search.sizes, -self.search.cross_validate_sizes(scoring).values
