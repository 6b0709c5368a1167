"""Rules that select members within a total cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from secateurs.evaluation.score_curve import ScoreCurve, score_curve
from secateurs.objectives import JointError
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.pruner_label import pruner_label
from secateurs.pruners.selector import fit_pruner
from secateurs.search import TIE, best_member, score_levels
from secateurs.typing import BoolArray, FloatArray, IndexArray

Members: TypeAlias = list[int]
FitPruner: TypeAlias = Callable[[BasePruner, Votes | Predictions], BasePruner]

PER_COST = "gain per cost"


@dataclass(frozen=True, eq=False)
class CostRules:
    """Rules that select members within a total cost, on the samples of a problem.

    The gain of a member is the decrease of the joint error: the squared error of the average of
    probabilities or values, where a label is a probability of 1. Without members, all classes have
    the same probability, and the value is the mean of the target.
    """

    problem: Problem
    pruner: BasePruner  # the method that the user asked for
    cost: FloatArray  # of each member
    vote: str = "auto"  # how sets are scored: "auto" as in the ensemble, or by "labels"
    fit: FitPruner | None = None  # None fits on the samples of the problem, with their weights
    _fitted_by_size: dict[int, BasePruner] = field(default_factory=dict, init=False)

    @property
    def rules_by_name(self) -> dict[str, Callable[[float], Members]]:
        """The rules by name; each returns members in the order in which it adds them."""
        name = pruner_label(self.pruner)
        return {
            PER_COST: partial(self._greedy_members, per_cost=True),
            "gain": partial(self._greedy_members, per_cost=False),
            f"order of {name}": partial(self._members_in_order, skip=True),
            f"start of the order of {name}": partial(self._members_in_order, skip=False),
            "single member": self._best_single_member,
        }

    @property
    def floor_rules(self) -> list[str]:
        """The last two rules: no result may have a lower validation score than theirs.

        The first of them is not cross-validated, since a rule that skips members extends it.
        """
        return list(self.rules_by_name)[-2:]

    def sets_by_rule(self, limit: float) -> dict[str, Members]:
        """Return the members that each rule selects, without the rules that select none."""
        sets = {name: rule(limit) for name, rule in self.rules_by_name.items()}
        return {name: members for name, members in sets.items() if members}

    def members_by_rule(self, rule: str, limit: float) -> Members:
        """Return the members that a rule selects; if there are none, those by gain per cost."""
        return self.rules_by_name[rule](limit) or self.rules_by_name[PER_COST](limit)

    def total_cost(self, members: Sequence[int]) -> float:
        """Return the total cost of members; sorted, so that rounding ignores their order."""
        with np.errstate(over="ignore"):
            return float(self.cost[sorted(members)].sum())

    def score_sets(
        self, groups: Sequence[Sequence[int]], samples: IndexArray | None = None
    ) -> ScoreCurve:
        """Return the scores of sets of members on the validation samples, or on some of them."""
        problem = self.problem
        by_labels = self.vote == "labels" and problem.scoring.needs == "labels"
        outputs = problem.predictions if by_labels else self._scored_predictions
        member_weights = None if by_labels else problem.ensemble.weights
        sample_weight = problem.sample_weight
        if samples is not None:
            outputs = outputs.rows(samples)
            sample_weight = None if sample_weight is None else sample_weight[samples]
        return score_curve(outputs, groups, problem.scoring, member_weights, sample_weight)

    def fit_for_size(self, n_keep: int) -> BasePruner:
        """Return the method that the user asked for, fitted for a size."""
        if n_keep not in self._fitted_by_size:
            outputs = self.problem.predictions_for(self.pruner)
            fit = self.fit or partial(fit_pruner, sample_weight=self.problem.sample_weight)
            self._fitted_by_size[n_keep] = fit(self.pruner.with_keep(n_keep), outputs)
        return self._fitted_by_size[n_keep]

    @property
    def fitted_pruners(self) -> list[BasePruner]:
        """The pruners fitted so far, one per size."""
        return list(self._fitted_by_size.values())

    def _affordable_members(self, members: Sequence[int], limit: float) -> BoolArray:
        """Return a mask of the members that can be added to these within the limit."""
        with np.errstate(over="ignore"):
            fits = self.total_cost(members) + self.cost <= limit_with_rounding(limit)
        fits[list(members)] = False
        return fits

    def _greedy_members(self, limit: float, per_cost: bool) -> Members:
        """Select the member with the largest gain, or gain per cost, while any fits the limit."""
        selected: Members = []
        error, value, sums = self._error_without_members, 0.0, np.zeros(len(self.cost))
        while (free := self._affordable_members(selected, limit)).any():
            values = value + sums + self._joint_error.member_values
            errors = self._joint_error.value_to_error(values, len(selected) + 1)
            member = best_member(*_rank_and_candidates(error - errors, self.cost, free, per_cost))
            selected.append(member)
            error, value = float(errors[member]), float(values[member])
            sums = sums + self._joint_error_row(member)
        return selected

    def _members_in_order(self, limit: float, skip: bool) -> Members:
        """Return members in the method's order: all that fit, or those before the first misfit.

        A method without an order is fitted for sizes, to find the largest size that fits.
        """
        if not self.pruner.is_nested:

            def fits(first: Members) -> bool:
                total = self.total_cost(self._members_at_size(len(first)))
                return total <= limit_with_rounding(limit)

            return self._members_at_size(bisect_largest_size(range(len(self.cost)), fits))
        selected: Members = []
        for member in self._members_at_size(len(self.cost)):
            if self._affordable_members(selected, limit)[member]:
                selected.append(member)
            elif not skip:
                break
        return selected

    def _members_at_size(self, n_keep: int) -> Members:
        return self.fit_for_size(n_keep).member_indices_.tolist() if n_keep else []

    def _best_single_member(self, limit: float) -> Members:
        fits = np.flatnonzero(self._affordable_members([], limit))
        if not len(fits):
            return []
        ranks = -score_levels(self._single_scores[fits])
        return [int(fits[np.lexsort([fits, self.cost[fits], ranks])[0]])]

    @cached_property
    def _single_scores(self) -> FloatArray:
        return self.score_sets([[member] for member in range(len(self.cost))]).values

    @cached_property
    def _scored_predictions(self) -> Votes | Predictions:
        return self.problem.scored_predictions()

    @cached_property
    def _joint_error(self) -> JointError:
        return JointError(self._scored_predictions)

    @cached_property
    def _error_without_members(self) -> float:
        if (
            isinstance(self._scored_predictions, Predictions)
            and self._scored_predictions.is_numbers
        ):
            return float(np.var(self._scored_predictions.truth))
        return 1.0 - 1.0 / self._scored_predictions.n_classes

    @cached_property
    def _row_cache(self) -> dict[int, FloatArray]:
        return {}

    def _joint_error_row(self, member: int) -> FloatArray:
        if member not in self._row_cache:
            self._row_cache[member] = self._joint_error.exact_matrix_rows([member])[0]
        return self._row_cache[member]


def _rank_and_candidates(
    gains: FloatArray, cost: FloatArray, free: BoolArray, per_cost: bool
) -> tuple[FloatArray, BoolArray]:
    """Return the values to rank members by, and a mask of the members to consider.

    Members that cost nothing and have a gain come first. Losses are not divided by the cost, since
    the loss of an expensive member would look small.
    """
    useful = free & (gains > 0)
    if not per_cost or not useful.any():
        return gains, free
    without_cost = useful & (cost == 0)
    if without_cost.any():
        return gains, without_cost
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return gains / cost, useful


def limit_with_rounding(limit: float) -> float:
    """Return the limit plus the rounding error that a sum of costs may have."""
    return limit * (1 + TIE)


def bisect_largest_size(order: Sequence[int], meets: Callable[[Members], bool]) -> int:
    """Return the largest number of first members that meets a limit, by bisection.

    Bisection is valid because bytes and costs grow with the number of members.
    """
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        fits = meets(list(order[:middle]))
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
