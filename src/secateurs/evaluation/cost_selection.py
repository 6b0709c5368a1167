"""Select members within a total cost, by the rule with the best cross-validated score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import TypeAlias

import numpy as np

from secateurs.ensembles import Ensemble
from secateurs.evaluation.budget import Budget, budget_error, largest_within_limit
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_table import cross_validate_selections
from secateurs.evaluation.selections import Selection, copy_with_members
from secateurs.exceptions import BudgetError, InputError
from secateurs.measures.score_curve import ScoreCurve, score_curve
from secateurs.objectives import JointError
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.problem.latency import bisect_largest_size
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import fit_pruner, pruner_label
from secateurs.search import TIE, best_member, score_levels
from secateurs.thread_safety import record_warnings
from secateurs.typing import BoolArray, FloatArray, JsonObject

Members: TypeAlias = list[int]
FitPruner: TypeAlias = Callable[[BasePruner, Votes | Predictions], BasePruner]

PER_COST, BY_GAIN = "gain per cost", "gain"


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
            BY_GAIN: partial(self._greedy_members, per_cost=False),
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

    @property
    def by_labels(self) -> bool:
        """Whether sets are scored by the members' labels."""
        return self.vote == "labels" and self.problem.scoring.needs == "labels"

    def score_sets(self, groups: Sequence[Sequence[int]]) -> ScoreCurve:
        """Return the scores of sets of members on the validation samples."""
        problem = self.problem
        outputs = problem.predictions if self.by_labels else self._scored_predictions
        member_weights = None if self.by_labels else problem.ensemble.weights
        return score_curve(outputs, groups, problem.scoring, member_weights, problem.sample_weight)

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
    def is_by_gain(self) -> bool:
        """Whether a gain selected the members, so that sample weights did not count."""
        return self.rule in (PER_COST, BY_GAIN)

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
    rules.score_sets([[0]])  # collects the predictions before the samples are dropped
    cached_rules = lru_cache(maxsize=1)(
        lambda problem: CostRules(problem, rules.pruner, rules.cost, rules.vote)
    )  # all selectors are called for one fold before the next fold

    def select(name: str, limit: float, problem: Problem) -> Selection:
        with record_warnings():  # the fit on all samples warns already
            members = cached_rules(problem).members_by_rule(name, limit)[: max_members[name]]
        return Selection(np.array([1]), None, {1: members})

    pairs = [(name, limit) for name in max_members for limit in limits]
    curves = cross_validate_selections(
        EvaluationPlan(rules.problem.without_samples(), rng),
        {str(index): partial(select, *pair) for index, pair in enumerate(pairs)},
        (),
        title="comparing rules within the cost",
        only_folds=True,
        by_labels=rules.by_labels,
        scorings=[rules.problem.scoring],
    )
    scores = [curve.main_score for curve in curves.values()]
    values = np.array([score.values[0] for score in scores]).reshape(-1, len(limits))
    return dict(zip(max_members, values, strict=True)), scores[0].full_value


def _first_tolerated(
    scores: FloatArray, full_score: float, problem: Problem, budget: Budget
) -> int:
    """Return the index of the first score within the tolerance; raise an error without any."""
    tolerance = budget.tolerances(problem).get(problem.scoring.key, np.inf)
    tolerated = np.flatnonzero(scores >= full_score - tolerance - TIE)
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
