"""The best panels of members within each total cost, on the validation samples of a problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from secateurs.measures.fast_scores import FAST_SCORES
from secateurs.measures.score_curve import score_curve
from secateurs.objectives import JointError
from secateurs.objectives.panel_scores import AccuracyPanels, PanelScores, SquaredErrorPanels
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import fit_pruner
from secateurs.search import TIE, best_member, score_levels
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray

_SQUARED_SCORES = ("neg_brier_score", "r2", "neg_mean_squared_error", "neg_root_mean_squared_error")
_ACCURACIES = ("accuracy", "balanced_accuracy")
# Members of pools whose panels are all scored one by one, by scikit-learn's scorers and by our own,
# which take about 3 ms and 0.3 ms.
_MOST_SCORED, _MOST_SCORED_FAST = 10, 12
# Members that swaps combine: those that are best to add, and those that are best to drop. On pools
# of 16 simulated members, the search found the exact optimum at 86 % of the budgets, and was at
# most half a point behind it (400 samples); 30 instead of 12 members did not change that.
_N_SWAPPED = 12
# Panels whose neighbours are scored, and cells (members × classes × samples) that this may take.
_MOST_EXPANDED, _MOST_SEARCH_CELLS = 200, 1 << 32
# Panels of one member less than the largest panels that are all scored: 4 members of a pool of 20,
# 3 of 60, 2 of 1,000. Each takes about 0.1 ms.
_MOST_STARTS = 2000


class Panel(NamedTuple):
    """A set of members, with its total cost and its score on the validation samples."""

    members: tuple[int, ...]  # in ascending order
    cost: float
    score: float


@dataclass(eq=False)
class _Front:
    """Panels that no other panel beats in both cost and score, by ascending cost."""

    masks: BoolArray  # (panels, members)
    costs: FloatArray
    scores: FloatArray

    def add(self, masks: BoolArray, costs: FloatArray, scores: FloatArray) -> None:
        """Add panels, and drop those that are beaten.

        Ties go to the cheaper panel, then to fewer members, then to lower indices.
        """
        if len(self.scores):  # most candidates are beaten already
            place = np.searchsorted(self.costs, costs, side="right") - 1
            is_new = (place < 0) | (scores > self.scores[place] - TIE)
            masks, costs, scores = masks[is_new], costs[is_new], scores[is_new]
        masks = np.concatenate([self.masks, masks])
        costs = np.concatenate([self.costs, costs])
        scores = np.concatenate([self.scores, scores])
        kept = pareto_order(costs, scores, masks)
        self.masks, self.costs, self.scores = masks[kept], costs[kept], scores[kept]


def pareto_order(costs: FloatArray, scores: FloatArray, masks: BoolArray) -> IndexArray:
    """Return the panels that no other panel beats, by ascending cost."""
    levels, sizes = score_levels(scores), masks.sum(axis=1)
    cost_levels = _cost_levels(costs)
    order = np.lexsort((sizes, -levels, cost_levels))
    best_before = np.maximum.accumulate(np.append(-1, levels[order][:-1]))
    values = np.column_stack([cost_levels, levels, sizes])[order]
    kept = []
    for start in np.flatnonzero(levels[order] > best_before):
        end = start + 1
        while end < len(order) and (values[end] == values[start]).all():
            end += 1
        tied = order[start:end]  # in cost, score and size: the lowest indices are kept
        kept.append(tied[np.lexsort(~masks[tied][:, ::-1].T)[0]])
    return np.array(kept, dtype=np.intp)


def _cost_levels(costs: FloatArray) -> IndexArray:
    """Return the level of each total cost: 0 for the lowest, and the same level for ties.

    Sums of the same costs in another order differ by rounding errors, which are relative to the
    sum. The largest of all costs does not matter: others may be many orders of magnitude smaller.
    """
    order = np.argsort(costs, kind="stable")
    ordered = costs[order]
    levels = np.zeros(len(costs), dtype=np.intp)
    levels[order[1:]] = np.cumsum(ordered[:-1] < ordered[1:] * (1 - TIE))
    return levels


@dataclass(frozen=True, eq=False)
class PanelSearch:
    """Search for the best panels within every total cost at once.

    All panels are scored if there are few enough members. Otherwise, panels of up to three members,
    the first members of several orders, and their neighbours are scored: panels with one member
    more, less, or swapped, as long as that improves any panel. The search does not depend on a
    budget, so that a larger budget never gives a worse panel.
    """

    problem: Problem
    cost: FloatArray  # of each member
    pruner: BasePruner | None = None  # a method whose order is one of the orders
    vote: str = "auto"  # how panels are scored: "auto" as in the ensemble, or by "labels"

    @property
    def is_exact(self) -> bool:
        """Whether all panels are scored."""
        return self._scores.can_enumerate

    def front(self, max_members: int | None = None) -> list[Panel]:
        """Return the best panels by ascending cost; each has a better score than those before it.

        The first panel is the cheapest one that is possible.
        """
        n_members = self.problem.n_members
        limit = n_members if max_members is None else max_members
        front = self._enumerated_front(limit) if self.is_exact else self._searched_front(limit)
        members = [tuple(np.flatnonzero(mask).tolist()) for mask in front.masks]
        if isinstance(self._scores, AccuracyPanels):
            values = (front.scores / self._scores.total_weight).tolist()
        else:
            values = self.validation_scores(members)
        costs = [self.total_cost(panel) for panel in members]
        return [Panel(*panel) for panel in zip(members, costs, values, strict=True)]

    def total_cost(self, members: Sequence[int]) -> float:
        """Return the total cost of members."""
        with np.errstate(over="ignore"):
            return float(self.cost[sorted(members)].sum())

    def validation_scores(self, panels: Sequence[Sequence[int]]) -> list[float]:
        """Return the scores of panels on the validation samples."""
        problem = self.problem
        weights = None if self._by_labels else problem.ensemble.weights
        curve = score_curve(self._outputs, panels, problem.scoring, weights, problem.sample_weight)
        return [float(value) for value in curve.values]

    def upper_bounds(self, limits: Sequence[float], front: Sequence[Panel]) -> list[float]:
        """Return, for each total cost, a score that no panel within it exceeds.

        It is the score of the best panel if all panels were scored, and unknown (NaN) for scores
        other than accuracy.
        """
        best = [panel_within(front, limit).score for limit in limits]
        if self.is_exact:
            return best
        scores = self._scores
        if not isinstance(scores, AccuracyPanels):
            return [np.nan] * len(limits)
        n_small = self._n_enumerated
        bounds = [scores.upper_bound(self.cost, limit, n_small + 1) for limit in limits]
        return np.maximum(best, np.array(bounds) / scores.total_weight).tolist()

    @property
    def _by_labels(self) -> bool:
        return self.vote == "labels" and self.problem.scoring.needs == "labels"

    @cached_property
    def _outputs(self) -> Votes | Predictions:
        problem = self.problem
        return problem.predictions if self._by_labels else problem.scored_predictions()

    @cached_property
    def _scores(self) -> PanelScores:
        """The scores to compare panels by: exact sums where possible."""
        problem, outputs = self.problem, self._outputs
        weights = None if self._by_labels else problem.ensemble.weights
        if problem.scoring.name in _ACCURACIES:
            sample_weight = problem.sample_weight
            if problem.scoring.name == "balanced_accuracy":
                sample_weight = _balancing_weights(outputs.truth, sample_weight)
            return AccuracyPanels(outputs, weights, sample_weight)
        is_plain = weights is None and problem.sample_weight is None and not outputs.has_missing
        is_linear = getattr(outputs, "margin_scale", None) is None
        if problem.scoring.name in _SQUARED_SCORES and is_plain and is_linear:
            return SquaredErrorPanels(outputs)
        return _ScoredPanels(self)

    def _enumerated_front(self, max_members: int) -> _Front:
        n_members = self.problem.n_members
        scores, costs = self._all_scores, self._all_costs
        panels = np.arange(1, 1 << n_members, dtype=np.uint32)
        panels = panels[np.bitwise_count(panels) <= max_members]
        # Only panels that are as good as all cheaper ones can be in the front.
        order = panels[np.lexsort((-scores[panels], costs[panels]))]
        is_best = scores[order] >= np.maximum.accumulate(scores[order]) - TIE * np.maximum(
            1.0, np.abs(scores[order])
        )
        candidates = order[is_best]
        masks = (candidates[:, None] >> np.arange(n_members) & 1).astype(bool)
        front = self._empty_front()
        front.add(masks, costs[candidates], scores[candidates])
        return front

    @cached_property
    def _all_scores(self) -> FloatArray:
        return self._scores.score_all()

    @cached_property
    def _all_costs(self) -> FloatArray:
        """The total costs of all panels, by their bit masks."""
        costs = np.zeros(1)
        with np.errstate(over="ignore"):
            for member_cost in self.cost:
                costs = np.concatenate([costs, costs + member_cost])
        return costs

    def _empty_front(self) -> _Front:
        n_members = self.problem.n_members
        return _Front(np.empty((0, n_members), dtype=bool), np.empty(0), np.empty(0))

    @property
    def _n_enumerated(self) -> int:
        """The panels of up to this many members are all scored."""
        if isinstance(self._scores, _ScoredPanels):
            return 1
        n_members, size = self.problem.n_members, 1
        while size < n_members and math.comb(n_members, size) <= _MOST_STARTS:
            size += 1
        return size

    def _searched_front(self, max_members: int) -> _Front:
        """Return the front that a local search finds, from small panels and several orders."""
        front, n_members = self._empty_front(), self.problem.n_members
        for size in range(min(self._n_enumerated, max_members)):
            for start in combinations(range(n_members), size):  # the panels with one more member
                mask = np.zeros(n_members, dtype=bool)
                mask[list(start)] = True
                added = np.arange(max(start, default=-1) + 1, n_members)
                self._score_into(front, mask, added, np.full(len(added), -1))
        for order in self._member_orders():
            for size in range(1, min(len(order), max_members) + 1):
                mask = np.zeros(n_members, dtype=bool)
                mask[order[:size]] = True
                self._score_into(front, mask, np.array([-1]), np.array([-1]))
        self._improve(front, max_members)
        return front

    def _improve(self, front: _Front, max_members: int) -> None:
        """Add the neighbours of panels in the front, until none is new or the work is done."""
        n_changes = self.problem.n_members + _N_SWAPPED**2
        n_cells = n_changes * self._outputs.n_samples * max(1, self._outputs.n_classes - 1)
        n_left = max(20, min(_MOST_EXPANDED, _MOST_SEARCH_CELLS // n_cells))
        expanded: set[bytes] = set()
        while n_left:
            new = [mask for mask in front.masks if mask.tobytes() not in expanded][:n_left]
            if not new:
                return
            for mask in new:
                expanded.add(mask.tobytes())
                self._add_neighbours(front, mask, max_members)
            n_left -= len(new)

    def _add_neighbours(self, front: _Front, mask: BoolArray, max_members: int) -> None:
        """Score the panels with one member more, one less, and the most promising swaps."""
        inside, outside = np.flatnonzero(mask), np.flatnonzero(~mask)
        more = self._score_into(
            front if len(inside) < max_members else None, mask, outside, np.full(len(outside), -1)
        )
        if len(inside) < 2:
            inside_scores = np.zeros(len(inside))
        else:
            inside_scores = self._score_into(front, mask, np.full(len(inside), -1), inside)
        best_out = inside[np.argsort(-inside_scores, kind="stable")[:_N_SWAPPED]]
        best_in = outside[np.argsort(-more, kind="stable")[:_N_SWAPPED]]
        dropped, added = (grid.ravel() for grid in np.meshgrid(best_out, best_in))
        self._score_into(front, mask, added, dropped)

    def _score_into(
        self, front: _Front | None, mask: BoolArray, added: IndexArray, dropped: IndexArray
    ) -> FloatArray:
        """Score changes of a panel, and add them to the front if there is one."""
        if not len(added):
            return np.empty(0)
        scores = self._scores.score_changes(mask, added, dropped)
        if front is not None:
            masks = np.repeat(mask[None], len(added), axis=0)
            rows = np.arange(len(added))
            masks[rows[added >= 0], added[added >= 0]] = True
            masks[rows[dropped >= 0], dropped[dropped >= 0]] = False
            with np.errstate(over="ignore"):
                costs = np.array([self.cost[one].sum() for one in masks])
            front.add(masks, costs, scores)
        return scores

    def _member_orders(self) -> list[list[int]]:
        """Return orders of members: by gain, by gain per cost, and that of the method."""
        orders = [self._greedy_order(False), self._greedy_order(True)]
        if self.pruner is not None and self.pruner.is_nested:
            full = self.pruner.with_keep(self.problem.n_members)
            outputs = self.problem.predictions_for(full)
            with record_warnings():
                fitted = fit_pruner(full, outputs, sample_weight=self.problem.sample_weight)
            orders.append(fitted.member_indices_.tolist())
        return orders

    @cached_property
    def _joint_error(self) -> JointError:
        return JointError(self._outputs)

    def _greedy_order(self, per_cost: bool) -> list[int]:
        """Return all members, each with the largest gain of the joint error, or gain per cost."""
        joint, n_members = self._joint_error, self.problem.n_members
        selected: list[int] = []
        free, sums, value = np.ones(n_members, dtype=bool), np.zeros(n_members), 0.0
        error = self._error_without_members
        while free.any():
            values = value + sums + joint.member_values
            errors = joint.value_to_error(values, len(selected) + 1)
            ranks, candidates = _rank_by_gain(error - errors, self.cost, free, per_cost)
            member = best_member(ranks, candidates)
            selected.append(member)
            free[member] = False
            error, value = float(errors[member]), float(values[member])
            sums = sums + joint.exact_matrix_rows([member])[0]
        return selected

    @property
    def _error_without_members(self) -> float:
        """The squared error of equal probabilities, or of the mean of the target."""
        if isinstance(self._outputs, Predictions) and self._outputs.is_numbers:
            return float(np.var(self._outputs.truth))
        return 1.0 - 1.0 / self._outputs.n_classes


class _ScoredPanels:
    """Scores of panels by any scorer, computed one by one."""

    def __init__(self, search: PanelSearch) -> None:
        self._validation_scores = partial(PanelSearch.validation_scores, search)
        self.n_members = search.problem.n_members
        self._is_fast = search.problem.scoring.name in FAST_SCORES

    @property
    def can_enumerate(self) -> bool:
        return self.n_members <= (_MOST_SCORED_FAST if self._is_fast else _MOST_SCORED)

    def score_all(self) -> FloatArray:
        masks = np.arange(1, 1 << self.n_members)[:, None] >> np.arange(self.n_members) & 1
        return np.append(0.0, self._score_masks(masks.astype(bool)))

    def score_changes(self, panel: BoolArray, added: IndexArray, dropped: IndexArray) -> FloatArray:
        masks = np.repeat(panel[None], len(added), axis=0)
        for mask, more, less in zip(masks, added, dropped, strict=True):
            if more >= 0:
                mask[more] = True
            if less >= 0:
                mask[less] = False
        return self._score_masks(masks)

    def _score_masks(self, masks: BoolArray) -> FloatArray:
        return np.array(self._validation_scores([np.flatnonzero(m).tolist() for m in masks]))


def _balancing_weights(truth: Array, sample_weight: FloatArray | None) -> FloatArray:
    """Return weights of samples that give all classes the same total weight.

    Without sample weights, they are whole numbers, so that equal scores are equal.
    """
    if sample_weight is None:
        counts = np.bincount(truth)
        multiple = math.lcm(*counts[counts > 0].tolist())
        return multiple / counts[truth]
    return sample_weight / np.bincount(truth, sample_weight)[truth]


def panel_within(front: Sequence[Panel], limit: float) -> Panel:
    """Return the best panel of a front within a total cost, which must be possible."""
    affordable = [panel for panel in front if panel.cost <= limit_with_rounding(limit)]
    return affordable[-1] if affordable else front[0]


def limit_with_rounding(limit: float) -> float:
    """Return the limit plus the rounding error that a sum of costs may have."""
    return limit * (1 + TIE)


def _rank_by_gain(
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
