"""The best members for a total cost: the rule that does best on rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateurs.ensembles import Ensemble
from secateurs.evaluation._cost_rules import CostRules, Members, limit_with_rounding
from secateurs.evaluation.budget import Budget, budget_error, largest_within_limit
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_curve import Floats, ScoreCurve
from secateurs.evaluation.selections import Selection, copy_with_members
from secateurs.exceptions import BudgetError, InputError
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.search import TIE, score_levels

_N_LIMITS = 16  # lower ones that are tried where a loss is tolerated


@dataclass(frozen=True, eq=False)
class CostSelection:
    """Members within a total cost, and how they were found.

    Attributes
    ----------
    pruner : BasePruner
        The method asked for, fitted; its fitted attributes are those of the members found.
    method : BasePruner
        The same method, to be fitted.
    cost : ndarray of shape (n_members,)
        Cost of each member.
    max_cost, limit : float
        The total allowed; and the total aimed at, which is lower where a loss is tolerated.
    rule : str
        The rule that found them.
    max_members : int or None
        The most members that other limits allow by this rule; None without any.
    has_held_out_scores : bool
        Whether the rule was chosen on rows held out, rather than on all.
    """

    pruner: BasePruner
    method: BasePruner
    cost: Floats
    max_cost: float
    limit: float
    rule: str
    max_members: int | None
    has_held_out_scores: bool

    @property
    def total(self) -> float:
        """What the members cost together."""
        return float(self.cost[self.pruner.member_indices_].sum())

    @property
    def remark(self) -> str:
        """How the members were found, in words."""
        return f"cost {self.total:g} of at most {self.max_cost:g}, found by the rule: {self.rule}"

    def provenance(self) -> dict[str, Any]:
        """Return the budget and how it was met, in plain values."""
        return {
            "cost": self.cost.tolist(),
            "max_cost": self.max_cost,
            "total_cost": self.total,
            "found_by": self.rule,
            "rule_chosen_on": "rows held out" if self.has_held_out_scores else "the rows chosen on",
        }

    def select_by_rule(self, problem: Problem) -> Selection:
        """Select members by the same rule on other rows."""
        keep, rules = len(self.pruner.member_indices_), CostRules(problem, self.method, self.cost)
        members = rules.members_by_rule(self.rule, self.limit)[: self.max_members]
        found = problem.optimised_weights(members)
        return Selection(
            np.array([keep]),
            None,
            {keep: members},
            {keep: self.pruner},
            {keep: 0.0},
            weights={} if found is None else {keep: found},
        )


def select_by_cost(  # noqa: PLR0917
    problem: Problem,
    pruner: BasePruner,
    budget: Budget,
    rng: np.random.RandomState,
    vote: str,
    fit: Callable[[BasePruner, Any], Any],
) -> CostSelection:
    """Choose members within a total cost, and within further limits.

    Several rules find a set each. The one is taken that does best on rows held out, unless its set
    is worse on all rows than the start of the method's own order or than a single member. With a
    tolerance, the lowest total cost is aimed at that meets it on rows held out.
    """
    cost, max_cost = np.asarray(budget.cost, dtype=float), budget.max_cost
    assert max_cost is not None
    if not cost.min() <= limit_with_rounding(max_cost):
        raise budget_error("max_cost", problem, budget)
    rules = CostRules(problem, pruner, cost, vote, fit)
    found = _sets_within_limits(rules, max_cost, budget)
    limits, place = [max_cost], 0
    if budget.tolerance is not None:
        limits = _lower_cost_limits(cost, max_cost)
    try:
        scores, whole = _held_out_scores(rules, limits, found, budget, rng)
    except InputError:  # too few rows, or none of a class
        if budget.tolerance is not None:
            raise
        scores = {}
    if budget.tolerance is not None:
        best = np.max(list(scores.values()), axis=0)
        place = _first_tolerated(best, whole, problem, budget)
        found = _sets_within_limits(rules, limits[place], budget)
    rule = _best_rule(rules, found, {name: of[place] for name, of in scores.items()})
    kept, most = (
        _fitted_with_members(rules, found[rule]),
        len(found[rule]) if _other_limits(budget) else None,
    )
    return CostSelection(kept, pruner, cost, max_cost, limits[place], rule, most, bool(scores))


def _other_limits(budget: Budget) -> list[str]:
    return [name for name in ("max_bytes", "max_latency") if getattr(budget, name) is not None]


def _sets_within_limits(rules: CostRules, limit: float, budget: Budget) -> dict[str, Members]:
    """Return what the rules find, cut to what the other limits allow."""
    found = rules.sets_by_rule(limit)
    for name in _other_limits(budget):
        cut = {}
        for rule, members in found.items():

            def served(size: int, members: Members = members) -> tuple[Members, Ensemble]:
                return members[:size], rules.problem.ensemble

            size = largest_within_limit(name, rules.problem, budget, len(members), served)
            cut[rule] = members[:size]
        found = {rule: members for rule, members in cut.items() if members}
        if not found:
            raise budget_error(name, rules.problem, budget)
    return found


def _lower_cost_limits(cost: Floats, max_cost: float) -> list[float]:
    """Return total costs to try, ascending: from that of the cheapest member to the largest."""
    affordable = cost[cost <= limit_with_rounding(max_cost)]
    charged = affordable[affordable > 0]
    high = min(max_cost, float(affordable.sum()))
    between = np.geomspace(charged.min(), high, _N_LIMITS)[:-1] if charged.size else charged
    return [*np.unique([affordable.min(), *between]).tolist(), max_cost]


def _held_out_scores(
    rules: CostRules,
    limits: Sequence[float],
    found: Mapping[str, Members],
    budget: Budget,
    rng: np.random.RandomState,
) -> tuple[dict[str, Floats], float]:
    """Score rules on rows held out, for each limit, and the whole ensemble."""
    rivals = {name: members for name, members in found.items() if name != rules.floor_rules[0]}
    most = {
        name: len(members) if _other_limits(budget) else None for name, members in rivals.items()
    }
    total: ScoreCurve | None = None
    rules.score_sets([[0]])  # collects what is needed while there are rows
    split = EvaluationPlan(rules.problem.without_samples(), rng)
    with open_stage("trying rules within the cost", max(1, split.n_selections - 1)) as steps:
        for part in split.iter_folds():
            fold = CostRules(part.problem, rules.pruner, rules.cost, rules.vote)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are given about all rows
                sets = [
                    fold.members_by_rule(name, limit)[:size]
                    for name, size in most.items()
                    for limit in limits
                ]
            scored = rules.score_sets(sets, part.held_out)
            total = scored if total is None else total + scored
            steps.step()
    assert total is not None
    values = total.values.reshape(len(most), len(limits))
    return dict(zip(most, values, strict=True)), total.full_value


def _first_tolerated(scores: Floats, whole: float, problem: Problem, budget: Budget) -> int:
    """Return the place of the first score that is tolerated."""
    assert budget.tolerance is not None
    enough = np.flatnonzero(scores >= whole - budget.tolerance - TIE)
    if len(enough):
        return int(enough[0])
    scoring = problem.scoring
    raise BudgetError(
        f"No sub-ensemble that meets {{max_cost}} meets {{tolerance}}: on rows held out the "
        f"{scoring.label} of the whole ensemble is {scoring.display_score(whole):.4f}, the best of these "
        f"{scoring.display_score(float(scores.max())):.4f}. Allow more, or a larger tolerance.",
        max_cost=budget.max_cost,
        tolerance=budget.tolerance,
    )


def _best_rule(
    rules: CostRules, found: Mapping[str, Members], held_out: Mapping[str, float]
) -> str:
    """Return the rule with the best score on rows held out, or on all where there are none."""

    def best(scores: Mapping[str, float]) -> str:
        """Return the best rule; ties go to the cheaper set, the smaller, the lower members."""
        keys = {
            name: (-rank, rules.total_cost(found[name]), len(found[name]), sorted(found[name]))
            for name, rank in zip(scores, score_levels(np.array([*scores.values()])), strict=True)
        }
        return min(keys, key=keys.__getitem__)

    values = rules.score_sets(list(found.values())).values
    on_rows = dict(zip(found, values.tolist(), strict=True))
    rule = best({name: held_out[name] for name in found if name in held_out} or on_rows)
    floors = [on_rows[name] for name in rules.floor_rules if name in found]
    return rule if on_rows[rule] >= max(floors, default=-np.inf) - TIE else best(on_rows)


def _fitted_with_members(rules: CostRules, members: Members) -> BasePruner:
    """Return the method as if it had chosen these members.

    Where it would not have, its ``scores_`` are the score that matters of the first 1, 2, …
    members, on the rows chosen on.
    """
    for pruner in rules.fitted_pruners:
        chosen = pruner.member_indices_.tolist()
        if chosen == members or (pruner.is_nested and chosen[: len(members)] == members):
            return copy_with_members(pruner, members)
    pruner = rules.fit_for_size(rules.problem.n_members if rules.pruner.is_nested else len(members))
    curve = rules.score_sets([members[:size] for size in range(1, len(members) + 1)])
    return copy_with_members(pruner, members, curve.values)
