"""Rules that choose members within a total cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation.score_curve import Floats, ScoreCurve, score_curve
from secateurs.objectives import JointError
from secateurs.outputs.predictions import Predictions
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.pruner_label import pruner_label
from secateurs.pruners.selector import fit_pruner
from secateurs.search import TIE, best_member, score_levels

Members = list[int]

PER_COST = "gain per cost"


@dataclass(frozen=True, eq=False)
class CostRules:
    """Rules that find members within a total cost, on the rows of a problem.

    The gain of a member is by how much it lowers the joint error: the squared error of the average
    of probabilities or numbers, labels counting as probabilities of 1. Without members, every class
    has the same probability, and a number is the mean of the true ones.

    Attributes
    ----------
    problem : Problem
        What to choose on.
    pruner : BasePruner
        The method asked for.
    cost : ndarray of shape (n_members,)
        Cost of each member.
    vote : {"auto", "labels"}
        How members vote when sets are scored: as in the ensemble, or by labels.
    fit : callable(pruner, outputs), optional
        Fits the method; by default on the rows of the problem, with their weights.
    """

    problem: Problem
    pruner: BasePruner
    cost: Floats
    vote: str = "auto"
    fit: Callable[[BasePruner, Any], Any] | None = None
    _fitted_by_size: dict[int, BasePruner] = field(default_factory=dict, init=False)

    @property
    def rules_by_name(self) -> dict[str, Callable[[float], Members]]:
        """The rules by their names; each returns members in the order that it adds them."""
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
        """The rules that no result may be worse than on the rows chosen on: the last two.

        The first of them does not compete: the start of an order is but part of it.
        """
        return list(self.rules_by_name)[-2:]

    def sets_by_rule(self, limit: float) -> dict[str, Members]:
        """Return what each rule finds, if it finds any member."""
        found = {name: rule(limit) for name, rule in self.rules_by_name.items()}
        return {name: members for name, members in found.items() if members}

    def members_by_rule(self, rule: str, limit: float) -> Members:
        """Return what a rule finds; if that is nothing, what the gain per cost finds."""
        return self.rules_by_name[rule](limit) or self.rules_by_name[PER_COST](limit)

    def total_cost(self, members: Sequence[int]) -> float:
        """Return what members cost together, in whatever order."""
        with np.errstate(over="ignore"):
            return float(self.cost[sorted(members)].sum())

    def score_sets(
        self, groups: Sequence[Sequence[int]], rows: NDArray[np.intp] | None = None
    ) -> ScoreCurve:
        """Score sets on the rows chosen on, or some of them, by the score that matters."""
        problem = self.problem
        by_labels = self.vote == "labels" and problem.scoring.needs == "labels"
        outputs = problem.predictions if by_labels else self._scored_predictions
        votes_each = None if by_labels else problem.ensemble.weights
        sample_weight = problem.sample_weight
        if rows is not None:
            outputs = outputs.rows(rows)
            sample_weight = None if sample_weight is None else sample_weight[rows]
        return score_curve(outputs, groups, problem.scoring, votes_each, sample_weight)

    def fit_for_size(self, n_keep: int) -> BasePruner:
        """Return the method asked for, fitted for a size."""
        if n_keep not in self._fitted_by_size:
            outputs = self.problem.predictions_for(self.pruner)
            fit = self.fit or partial(fit_pruner, sample_weight=self.problem.sample_weight)
            self._fitted_by_size[n_keep] = fit(self.pruner.with_keep(n_keep), outputs)
        return self._fitted_by_size[n_keep]

    @property
    def fitted_pruners(self) -> list[BasePruner]:
        """The method as fitted so far, for one size or several."""
        return list(self._fitted_by_size.values())

    def _affordable_members(self, members: Sequence[int], limit: float) -> NDArray[np.bool_]:
        """Mark the other members that can be added."""
        with np.errstate(over="ignore"):
            fits = self.total_cost(members) + self.cost <= limit_with_rounding(limit)
        fits[list(members)] = False
        return fits

    def _greedy_members(self, limit: float, per_cost: bool) -> Members:
        """Add the member with the largest gain, or gain per cost, for as long as one fits."""
        chosen: Members = []
        error, worth, sums = self._error_without_members, 0.0, np.zeros(len(self.cost))
        while (free := self._affordable_members(chosen, limit)).any():
            worths = worth + sums + self._joint_error.member_values
            errors = self._joint_error.value_to_error(worths, len(chosen) + 1)
            member = best_member(*_worth_and_candidates(error - errors, self.cost, free, per_cost))
            chosen.append(member)
            error, worth = float(errors[member]), float(worths[member])
            sums = sums + self._joint_error_row(member)
        return chosen

    def _members_in_order(self, limit: float, skip: bool) -> Members:
        """Return members in the order of the method asked for: all that fit, or until one does not.

        A method without an order is asked for sizes, up to the largest that fits.
        """
        if not self.pruner.is_nested:

            def fits(some: Members) -> bool:
                return self.total_cost(self._members_at_size(len(some))) <= limit_with_rounding(
                    limit
                )

            return self._members_at_size(bisect_largest_size(range(len(self.cost)), fits))
        chosen: Members = []
        for member in self._members_at_size(len(self.cost)):
            if self._affordable_members(chosen, limit)[member]:
                chosen.append(member)
            elif not skip:
                break
        return chosen

    def _members_at_size(self, n_keep: int) -> Members:
        return self.fit_for_size(n_keep).member_indices_.tolist() if n_keep else []

    def _best_single_member(self, limit: float) -> Members:
        fits = np.flatnonzero(self._affordable_members([], limit))
        if not len(fits):
            return []
        ranks = -score_levels(self._single_scores[fits])
        return [int(fits[np.lexsort([fits, self.cost[fits], ranks])[0]])]

    @cached_property
    def _single_scores(self) -> Floats:
        return self.score_sets([[member] for member in range(len(self.cost))]).values

    @cached_property
    def _scored_predictions(self) -> Any:
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
    def _row_cache(self) -> dict[int, Floats]:
        return {}

    def _joint_error_row(self, member: int) -> Floats:
        if member not in self._row_cache:
            self._row_cache[member] = self._joint_error.exact_matrix_rows([member])[0]
        return self._row_cache[member]


def _worth_and_candidates(
    gains: Floats, cost: Floats, free: NDArray[np.bool_], per_cost: bool
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return what members are worth, and which of the free ones are looked at.

    Free of charge, a member with a gain goes first. A loss is not divided: that of an expensive
    member would look small.
    """
    useful = free & (gains > 0)
    if not per_cost or not useful.any():
        return gains, free
    given = useful & (cost == 0)
    if given.any():
        return gains, given
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return gains / cost, useful


def limit_with_rounding(limit: float) -> float:
    """Return the limit with what rounding may add to a sum."""
    return limit * (1 + TIE)


def bisect_largest_size(order: Sequence[int], meets: Callable[[Members], bool]) -> int:
    """Return the most members that meet limits, by bisection: what they take grows with them."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        fits = meets(list(order[:middle]))
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
