"""Select members within a total cost, by the rule with the best cross-validated score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from secateurs.ensembles import Ensemble
from secateurs.evaluation._cost_rules import CostRules, FitPruner, Members, limit_with_rounding
from secateurs.evaluation.budget import Budget, budget_error, largest_within_limit
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_curve import ScoreCurve
from secateurs.evaluation.selections import Selection, copy_with_members
from secateurs.exceptions import BudgetError, InputError
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.search import TIE, score_levels
from secateurs.thread_safety import record_warnings
from secateurs.typing import FloatArray, JsonObject

# Cost limits that are cross-validated if a loss is tolerated. More limits would come closer to the
# lowest tolerated cost, but each takes one selection per rule and fold.
_N_LIMITS = 16


@dataclass(frozen=True, eq=False)
class CostSelection:
    """Members within a total cost, and the rule that selected them."""

    pruner: BasePruner  # fitted; its fitted attributes are those of the selected members
    method: BasePruner  # the same method, not fitted
    cost: FloatArray  # of each member
    max_cost: float  # as the user passed it
    limit: float  # total cost that was used for the selection: lower if a loss is tolerated
    rule: str
    max_members: int | None  # that other limits allow with this rule; None without other limits
    has_held_out_scores: bool  # whether the rule was selected by cross-validation

    @property
    def total(self) -> float:
        """Total cost of the members."""
        return float(self.cost[self.pruner.member_indices_].sum())

    @property
    def remark(self) -> str:
        """Total cost of the members and the rule that selected them, in words."""
        total = f"total cost {self.total:g} of at most {self.max_cost:g}"
        return f"{total}, selected by the rule: {self.rule}"

    def provenance(self) -> JsonObject:
        """Return the budget and how it was met, as JSON values."""
        return {
            "cost": self.cost.tolist(),
            "max_cost": self.max_cost,
            "total_cost": self.total,
            "found_by": self.rule,
            "rule_chosen_on": "rows held out" if self.has_held_out_scores else "the rows chosen on",
        }

    def select_by_rule(self, problem: Problem) -> Selection:
        """Return the members that the same rule selects on other samples."""
        keep, rules = len(self.pruner.member_indices_), CostRules(problem, self.method, self.cost)
        members = rules.members_by_rule(self.rule, self.limit)[: self.max_members]
        weights = problem.optimised_weights(members)
        return Selection(
            np.array([keep]),
            None,
            {keep: members},
            {keep: self.pruner},
            {keep: 0.0},
            weights={} if weights is None else {keep: weights},
        )


def select_by_cost(  # noqa: PLR0917
    problem: Problem,
    pruner: BasePruner,
    budget: Budget,
    rng: np.random.RandomState,
    vote: str,
    fit: FitPruner,
) -> CostSelection:
    """Select members within a total cost, and within further limits.

    Each rule selects a set. The rule with the best cross-validated score is used, unless its set
    has a lower score on all validation samples than a prefix of the method's order or than a
    single member. With a tolerance, the lowest total cost is used whose cross-validated score is
    within the tolerance. See docs/decisions/0008-sizes-and-budgets.md.
    """
    cost, max_cost = np.asarray(budget.cost, dtype=float), budget.max_cost
    assert max_cost is not None
    if not cost.min() <= limit_with_rounding(max_cost):
        raise budget_error("max_cost", problem, budget)
    rules = CostRules(problem, pruner, cost, vote, fit)
    sets = _sets_within_limits(rules, max_cost, budget)
    limits, limit_index = [max_cost], 0
    if budget.tolerance is not None:
        limits = _lower_cost_limits(cost, max_cost)
    try:
        scores, full_score = _held_out_scores(rules, limits, sets, budget, rng)
    except InputError:  # too few samples, or a class without samples in a fold
        if budget.tolerance is not None:
            raise
        scores = {}
    if budget.tolerance is not None:
        best_scores = np.max(list(scores.values()), axis=0)
        limit_index = _first_tolerated(best_scores, full_score, problem, budget)
        sets = _sets_within_limits(rules, limits[limit_index], budget)
    rule = _best_rule(rules, sets, {name: by[limit_index] for name, by in scores.items()})
    members, limit = sets[rule], limits[limit_index]
    fitted = _fitted_with_members(rules, members)
    max_members = len(members) if _other_limits(budget) else None
    return CostSelection(fitted, pruner, cost, max_cost, limit, rule, max_members, bool(scores))


def _other_limits(budget: Budget) -> list[str]:
    return [name for name in ("max_bytes", "max_latency") if getattr(budget, name) is not None]


def _sets_within_limits(rules: CostRules, limit: float, budget: Budget) -> dict[str, Members]:
    """Return the members that each rule selects, cut to what the other limits allow."""
    sets = rules.sets_by_rule(limit)
    for name in _other_limits(budget):
        cut = {}
        for rule, members in sets.items():

            def served(size: int, members: Members = members) -> tuple[Members, Ensemble]:
                return members[:size], rules.problem.ensemble

            size = largest_within_limit(name, rules.problem, budget, len(members), served)
            cut[rule] = members[:size]
        sets = {rule: members for rule, members in cut.items() if members}
        if not sets:
            raise budget_error(name, rules.problem, budget)
    return sets


def _lower_cost_limits(cost: FloatArray, max_cost: float) -> list[float]:
    """Return ascending limits of the total cost, from the cheapest member to ``max_cost``."""
    affordable = cost[cost <= limit_with_rounding(max_cost)]
    positive = affordable[affordable > 0]
    high = min(max_cost, float(affordable.sum()))
    between = np.geomspace(positive.min(), high, _N_LIMITS)[:-1] if positive.size else positive
    return [*np.unique([affordable.min(), *between]).tolist(), max_cost]


def _held_out_scores(
    rules: CostRules,
    limits: Sequence[float],
    sets: Mapping[str, Members],
    budget: Budget,
    rng: np.random.RandomState,
) -> tuple[dict[str, FloatArray], float]:
    """Return cross-validated scores of rules for each limit, and that of the full ensemble."""
    max_members = {
        name: len(members) if _other_limits(budget) else None
        for name, members in sets.items()
        if name != rules.floor_rules[0]
    }
    total: ScoreCurve | None = None
    rules.score_sets([[0]])  # collects the predictions before the samples are dropped
    plan = EvaluationPlan(rules.problem.without_samples(), rng)
    with open_stage("comparing rules within the cost", max(1, plan.n_selections - 1)) as steps:
        for fold in plan.iter_folds():
            fold_rules = CostRules(fold.problem, rules.pruner, rules.cost, rules.vote)
            with record_warnings():  # the fit on all samples warns already
                fold_sets = [
                    fold_rules.members_by_rule(name, limit)[:size]
                    for name, size in max_members.items()
                    for limit in limits
                ]
            scored = rules.score_sets(fold_sets, fold.held_out)
            total = scored if total is None else total + scored
            steps.step()
    assert total is not None
    values = total.values.reshape(len(max_members), len(limits))
    return dict(zip(max_members, values, strict=True)), total.full_value


def _first_tolerated(
    scores: FloatArray, full_score: float, problem: Problem, budget: Budget
) -> int:
    """Return the index of the first score within the tolerance; raise an error without any."""
    assert budget.tolerance is not None
    tolerated = np.flatnonzero(scores >= full_score - budget.tolerance - TIE)
    if len(tolerated):
        return int(tolerated[0])
    scoring = problem.scoring
    raise BudgetError(
        f"No sub-ensemble that meets {{max_cost}} meets {{tolerance}}: the best cross-validated "
        f"{scoring.label} is {scoring.display_score(float(scores.max())):.4f}, compared with "
        f"{scoring.display_score(full_score):.4f} for the full ensemble. Pass a larger budget, or "
        "a larger tolerance.",
        max_cost=budget.max_cost,
        tolerance=budget.tolerance,
    )


def _best_rule(rules: CostRules, sets: Mapping[str, Members], held_out: Mapping[str, float]) -> str:
    """Return the rule with the best cross-validated score, or validation score without folds."""

    def best(scores: Mapping[str, float]) -> str:
        """Return the best rule; ties go to the cheaper set, the smaller set, the lower indices."""
        keys = {
            name: (-rank, rules.total_cost(sets[name]), len(sets[name]), sorted(sets[name]))
            for name, rank in zip(scores, score_levels(np.array([*scores.values()])), strict=True)
        }
        return min(keys, key=keys.__getitem__)

    values = rules.score_sets(list(sets.values())).values
    validation = dict(zip(sets, values.tolist(), strict=True))
    rule = best({name: held_out[name] for name in sets if name in held_out} or validation)
    floors = [validation[name] for name in rules.floor_rules if name in sets]
    return rule if validation[rule] >= max(floors, default=-np.inf) - TIE else best(validation)


def _fitted_with_members(rules: CostRules, members: Members) -> BasePruner:
    """Return the fitted method with these members as its selection.

    If the method itself selects other members, ``scores_`` has the validation scores of the first
    1, 2, … members.
    """
    for pruner in rules.fitted_pruners:
        selected = pruner.member_indices_.tolist()
        if selected == members or (pruner.is_nested and selected[: len(members)] == members):
            return copy_with_members(pruner, members)
    pruner = rules.fit_for_size(rules.problem.n_members if rules.pruner.is_nested else len(members))
    curve = rules.score_sets([members[:size] for size in range(1, len(members) + 1)])
    return copy_with_members(pruner, members, curve.values)
