"""Select the best panel within a total cost, or the cheapest panel within a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from secateurs.ensembles import Ensemble
from secateurs.evaluation.budget import Budget, budget_error, largest_within_limit
from secateurs.evaluation.panel_search import (
    Panel,
    PanelSearch,
    limit_with_rounding,
    panel_within,
)
from secateurs.evaluation.selections import Selection, copy_with_members
from secateurs.evaluation.size_search import SizeSearch
from secateurs.exceptions import BudgetError
from secateurs.measures.scoring import Scoring
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.thread_safety import record_warnings
from secateurs.typing import FloatArray, IndexArray, JsonObject

FitPruner: TypeAlias = Callable[[BasePruner, Votes | Predictions], BasePruner]

# Total costs that are cross-validated at most. Fronts of accuracies are shorter; those of other
# scores may have hundreds of panels that differ little.
_MOST_LIMITS = 64


@dataclass(frozen=True, eq=False)
class CostSelection:
    """Members selected by their cost, and how they are selected on other samples."""

    pruner: BasePruner  # fitted; its fitted attributes are those of the selected members
    search: PanelSearch  # without the problem's samples
    max_cost: float | None  # as the user passed it
    limit: float  # total cost that was used for the selection: lower if a loss is tolerated
    is_exact: bool  # whether all panels were scored
    max_members: int | None = None  # that other limits allow; None without other limits
    is_tolerated: bool = False  # whether a tolerance decided the limit
    # Whether only the full ensemble is within the tolerance, so that no panel is selected.
    keeps_all: bool = False

    @property
    def cost(self) -> FloatArray:
        """The cost of each member."""
        return self.search.cost

    @property
    def total(self) -> float:
        """Total cost of the members."""
        return self.search.total_cost(self.pruner.member_indices_.tolist())

    @property
    def remark(self) -> str:
        """Total cost of the members and how they were found, in words."""
        limit = "" if self.max_cost is None else f" of at most {self.max_cost:g}"
        if self.keeps_all:
            how = "the lowest within the tolerance, which only the full ensemble meets"
        elif self.is_tolerated:
            how = "the lowest within the tolerance"
        elif self.is_exact:
            how = "the best of all panels on the validation samples"
        else:
            how = "the best panel found by greedy selection and swaps"
        return f"total cost {self.total:g}{limit}, {how}"

    def provenance(self) -> JsonObject:
        """Return the budget and how it was met, as JSON values."""
        return {
            "cost": self.cost.tolist(),
            "max_cost": self.max_cost,
            "total_cost": self.total,
            "is_exact": self.is_exact,
        }

    def select_again(self, problem: Problem) -> Selection:
        """Return the best panel within the same cost on other samples."""
        keep = len(self.pruner.member_indices_)
        if self.keeps_all:
            members = list(range(keep))
        else:
            front = replace(self.search, problem=problem).front(self.max_members)
            members = list(panel_within(front, self.limit).members)
        weights = problem.optimised_weights(members)
        return Selection(
            np.array([keep]),
            None,
            {keep: members},
            {keep: self.pruner},
            {keep: 0.0},
            weights={} if weights is None else {keep: weights},
        )


@dataclass(frozen=True, eq=False)
class BudgetSearch(SizeSearch):
    """Cross-validated scores of the best panels within several total costs.

    The total costs take the place of sizes: 1, 2, …; the last is the full ensemble.
    """

    search: PanelSearch
    limits: Sequence[float]
    max_members: int | None = None
    # Dearer panels are other panels, and do not make a cheap one doubtful as larger sizes of the
    # same order do.
    _steady_share = 0.0

    @property
    def sizes(self) -> IndexArray:
        """The indices of the total costs from 1 on, and the index of the full ensemble."""
        return np.arange(1, len(self.limits) + 2)

    def select_all(self, problem: Problem) -> Selection:
        """Return the best panel within each total cost on some samples."""
        with record_warnings():  # the fit on all samples warns already
            front = replace(self.search, problem=problem).front(self.max_members)
        return self.selection_of(problem, [panel_within(front, one).members for one in self.limits])

    def selection_of(self, problem: Problem, members: Sequence[Sequence[int]]) -> Selection:
        """Return panels and the full ensemble as a selection, with weights if they are wanted."""
        panels = [list(panel) for panel in members]
        panels.append(list(range(problem.n_members)))
        weights = {
            index: given
            for index, members in enumerate(panels[:-1], 1)
            if (given := problem.optimised_weights(members)) is not None
        }
        return Selection(self.sizes, None, dict(enumerate(panels, 1)), weights=weights)

    _select_all_sizes = select_all


def select_by_cost(  # noqa: PLR0917
    problem: Problem,
    pruner: BasePruner,
    budget: Budget,
    rng: np.random.RandomState,
    vote: str,
    fit: FitPruner,
) -> CostSelection:
    """Select members within a total cost, and within further limits.

    The best panel within ``max_cost`` on the validation samples is selected. With a tolerance, it
    is the best panel within the lowest total cost whose cross-validated score is within the
    tolerance. See docs/decisions/0008-sizes-and-budgets.md.
    """
    assert problem.cost is not None
    max_cost = np.inf if budget.max_cost is None else budget.max_cost
    if not problem.cost.min() <= limit_with_rounding(max_cost):
        raise budget_error("max_cost", problem, budget)
    search = PanelSearch(problem, problem.cost, pruner, vote)
    max_members = _members_within_limits(search, max_cost, budget)
    affordable = limit_with_rounding(max_cost)
    front = [panel for panel in search.front(max_members) if panel.cost <= affordable]
    panel, limit, keeps_all = front[-1], max_cost, False
    if budget.limits_score:
        limits = spread_costs([one.cost for one in front])
        sizes = BudgetSearch(problem, pruner, rng, search, limits, max_members)
        panel, keeps_all = _cheapest_tolerated(sizes, front, budget, vote)
        limit = panel.cost
    fitted = fitted_with_members(search, panel.members, fit)
    stored = replace(search, problem=problem.without_samples())
    return CostSelection(
        fitted,
        stored,
        budget.max_cost,
        limit,
        search.is_exact,
        max_members,
        budget.limits_score,
        keeps_all,
    )


def _members_within_limits(search: PanelSearch, max_cost: float, budget: Budget) -> int | None:
    """Return the number of members that the limits of bytes and latency allow, if there are any."""
    names = [name for name in ("max_bytes", "max_latency") if getattr(budget, name) is not None]
    problem = search.problem

    def served(size: int) -> tuple[list[int], Ensemble]:
        return list(panel_within(search.front(size), max_cost).members), problem.ensemble

    sizes = []
    for name in names:
        size = largest_within_limit(name, problem, budget, problem.n_members, served)
        if size == 0:
            raise budget_error(name, problem, budget)
        sizes.append(size)
    return min(sizes, default=None)


def spread_costs(costs: Sequence[float]) -> list[float]:
    """Return at most 64 of the costs, including the first and the last."""
    indices = np.linspace(0, len(costs) - 1, min(len(costs), _MOST_LIMITS)).round()
    return [costs[index] for index in indices.astype(int)]


def _cheapest_tolerated(
    sizes: BudgetSearch, front: Sequence[Panel], budget: Budget, vote: str
) -> tuple[Panel, bool]:
    """Return the panel of the lowest total cost within all tolerances, or all members.

    The second value is whether only the full ensemble is within the tolerances.
    """
    index = sizes._tolerated_size(budget, vote).size - 1
    if index < len(sizes.limits):
        return panel_within(front, sizes.limits[index]), False
    _, scores = sizes.held_out_scores(vote, budget)
    scoring = next(one for one in sizes.problem.scorings if one.key in scores)
    held_out = scores[scoring.key]
    return affordable_full_panel(sizes.search, budget, scoring, held_out, sizes.max_members), True


def affordable_full_panel(
    search: PanelSearch,
    budget: Budget,
    scoring: Scoring,
    scores: FloatArray,
    max_members: int | None = None,
) -> Panel:
    """Return the panel of all members; raise an error if it is not within the limits.

    ``scores`` are the held-out scores of the panels within the limits, then of all members.
    """
    members = tuple(range(search.problem.n_members))
    total = search.total_cost(members)
    is_allowed = max_members is None or max_members >= len(members)
    if is_allowed and (budget.max_cost is None or total <= limit_with_rounding(budget.max_cost)):
        return Panel(members, total, search.validation_scores([members])[0])
    raise BudgetError(
        f"No sub-ensemble that meets {{max_cost}} meets {{tolerance}}: the best cross-validated "
        f"{scoring.label} is {scoring.display_score(float(scores[:-1].max())):.4f}, compared with "
        f"{scoring.display_score(float(scores[-1])):.4f} for the full ensemble. Pass a larger "
        "budget, or a larger tolerance.",
        max_cost=budget.max_cost,
        tolerance=budget.tolerance,
    )


def fitted_with_members(search: PanelSearch, members: Sequence[int], fit: FitPruner) -> BasePruner:
    """Return the fitted method with these members as its selection.

    ``scores_`` has the validation scores of the first 1, 2, … members.
    """
    pruner = search.pruner
    assert pruner is not None
    size = search.problem.n_members if pruner.is_nested else len(members)
    fitted = fit(pruner.with_keep(size), search.problem.predictions_for(pruner))
    prefixes = [members[:size] for size in range(1, len(members) + 1)]
    return copy_with_members(fitted, members, search.validation_scores(prefixes))
