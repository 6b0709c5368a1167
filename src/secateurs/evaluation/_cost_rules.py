"""Rules that choose members within a total cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation._score_curve import Floats, ScoreCurve, score_curve
from secateurs.objectives import JointError
from secateurs.outputs._scores import Scores
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners._label import label_of
from secateurs.pruners._selector import fit_pruner
from secateurs.search import TIE, best_member, levels

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
    _fitted: dict[int, BasePruner] = field(default_factory=dict, init=False)

    @property
    def rules(self) -> dict[str, Callable[[float], Members]]:
        """The rules by their names; each returns members in the order that it adds them."""
        name = label_of(self.pruner)
        return {
            PER_COST: partial(self._greedy, per_cost=True),
            "gain": partial(self._greedy, per_cost=False),
            f"order of {name}": partial(self._in_order, skip=True),
            f"start of the order of {name}": partial(self._in_order, skip=False),
            "single member": self._single,
        }

    @property
    def floors(self) -> list[str]:
        """The rules that no result may be worse than on the rows chosen on: the last two.

        The first of them does not compete: the start of an order is but part of it.
        """
        return list(self.rules)[-2:]

    def sets(self, limit: float) -> dict[str, Members]:
        """Return what each rule finds, if it finds any member."""
        found = {name: rule(limit) for name, rule in self.rules.items()}
        return {name: members for name, members in found.items() if members}

    def members(self, rule: str, limit: float) -> Members:
        """Return what a rule finds; if that is nothing, what the gain per cost finds."""
        return self.rules[rule](limit) or self.rules[PER_COST](limit)

    def total(self, members: Sequence[int]) -> float:
        """Return what members cost together, in whatever order."""
        with np.errstate(over="ignore"):
            return float(self.cost[sorted(members)].sum())

    def scores(
        self, groups: Sequence[Sequence[int]], rows: NDArray[np.intp] | None = None
    ) -> ScoreCurve:
        """Score sets on the rows chosen on, or some of them, by the score that matters."""
        problem = self.problem
        by_labels = self.vote == "labels" and problem.scoring.needs == "labels"
        outputs = problem.votes if by_labels else self._outputs
        votes_each = None if by_labels else problem.ensemble.weights
        sample_weight = problem.sample_weight
        if rows is not None:
            outputs = outputs.rows(rows)
            sample_weight = None if sample_weight is None else sample_weight[rows]
        return score_curve(outputs, groups, problem.scoring, votes_each, sample_weight)

    def fitted(self, n_keep: int) -> BasePruner:
        """Return the method asked for, fitted for a size."""
        if n_keep not in self._fitted:
            outputs = self.problem.outputs_for(self.pruner)
            fit = self.fit or partial(fit_pruner, sample_weight=self.problem.sample_weight)
            self._fitted[n_keep] = fit(self.pruner.with_keep(n_keep), outputs)
        return self._fitted[n_keep]

    @property
    def known(self) -> list[BasePruner]:
        """The method as fitted so far, for one size or several."""
        return list(self._fitted.values())

    def _affordable(self, members: Sequence[int], limit: float) -> NDArray[np.bool_]:
        """Mark the other members that can be added."""
        with np.errstate(over="ignore"):
            fits = self.total(members) + self.cost <= above(limit)
        fits[list(members)] = False
        return fits

    def _greedy(self, limit: float, per_cost: bool) -> Members:
        """Add the member with the largest gain, or gain per cost, for as long as one fits."""
        chosen: Members = []
        error, worth, sums = self._error_of_none, 0.0, np.zeros(len(self.cost))
        while (free := self._affordable(chosen, limit)).any():
            worths = worth + sums + self._joint.own
            errors = self._joint.error_of(worths, len(chosen) + 1)
            member = best_member(*_most_wanted(error - errors, self.cost, free, per_cost))
            chosen.append(member)
            error, worth = float(errors[member]), float(worths[member])
            sums = sums + self._row(member)
        return chosen

    def _in_order(self, limit: float, skip: bool) -> Members:
        """Return members in the order of the method asked for: all that fit, or until one does not.

        A method without an order is asked for sizes, up to the largest that fits.
        """
        if not self.pruner.is_nested:

            def fits(some: Members) -> bool:
                return self.total(self._members(len(some))) <= above(limit)

            return self._members(largest(range(len(self.cost)), fits))
        chosen: Members = []
        for member in self._members(len(self.cost)):
            if self._affordable(chosen, limit)[member]:
                chosen.append(member)
            elif not skip:
                break
        return chosen

    def _members(self, n_keep: int) -> Members:
        return self.fitted(n_keep).member_indices_.tolist() if n_keep else []

    def _single(self, limit: float) -> Members:
        fits = np.flatnonzero(self._affordable([], limit))
        if not len(fits):
            return []
        ranks = -levels(self._single_scores[fits])
        return [int(fits[np.lexsort([fits, self.cost[fits], ranks])[0]])]

    @cached_property
    def _single_scores(self) -> Floats:
        return self.scores([[member] for member in range(len(self.cost))]).values

    @cached_property
    def _outputs(self) -> Any:
        return self.problem.outputs_scored()

    @cached_property
    def _joint(self) -> JointError:
        return JointError(self._outputs)

    @cached_property
    def _error_of_none(self) -> float:
        if isinstance(self._outputs, Scores) and self._outputs.is_numbers:
            return float(np.var(self._outputs.truth))
        return 1.0 - 1.0 / self._outputs.n_classes

    @cached_property
    def _rows(self) -> dict[int, Floats]:
        return {}

    def _row(self, member: int) -> Floats:
        if member not in self._rows:
            self._rows[member] = self._joint.exact_rows([member])[0]
        return self._rows[member]


def _most_wanted(
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


def above(limit: float) -> float:
    """Return the limit with what rounding may add to a sum."""
    return limit * (1 + TIE)


def largest(order: Sequence[int], meets: Callable[[Members], bool]) -> int:
    """Return the most members that meet limits, by bisection: what they take grows with them."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        fits = meets(list(order[:middle]))
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
