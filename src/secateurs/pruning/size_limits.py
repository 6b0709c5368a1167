"""Limits of nodes, bytes and latency, met by fewer trees or by more trees with pruned branches."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import _safe_indexing

from secateurs.ensembles import Ensemble
from secateurs.ensembles.decision_trees import with_pruned_branches
from secateurs.evaluation.budget import Budget
from secateurs.evaluation.size_search import SizeSearch
from secateurs.evaluation.tolerance import ToleratedSize
from secateurs.exceptions import BudgetError
from secateurs.problem import Problem
from secateurs.problem.latency import make_predictor, time_predictions
from secateurs.pruners import BasePruner
from secateurs.pruning.refit_options import (
    RefitOptions,
    estimate_gain,
    make_refit_task,
    refit_members,
    with_refitted,
)
from secateurs.refitting.branches import (
    LEAST_NODES,
    N_TREES,
    BranchLimits,
    PrunedBranches,
    prune_branches,
)
from secateurs.refitting.refit import RefitTask, check_refittable
from secateurs.typing import FloatArray
from secateurs.units import format_bytes

# The estimated size of a pickle is a little too small for long names, so that the number of nodes
# is reduced until the pickle itself fits.
_SHRINK = 0.97
# Steps count if trees without them save at least this share of the time; less is noise of timing.
_LEAST_SAVING = 0.1
# Trees with pruned branches may take this much longer than the whole trees, which is noise as well.
_SLOWER = 1.05
_SECONDS_PER_MODEL = 0.2
# With a limit on the latency, the numbers of trees that are tried, as multiples of the whole trees
# that meet the limit. Steps take at most about a third of the time.
_MORE_TREES = (1.0, 1.15, 1.3, 1.5)


def prune_to_size(  # noqa: PLR0917
    problem: Problem,
    method: BasePruner,
    options: RefitOptions,
    budget: Budget,
    vote: str,
    fit: Callable[..., BasePruner],
    rng: np.random.RandomState,
) -> tuple[Problem, BasePruner, ToleratedSize | None]:
    """Return the best model within limits of nodes, bytes and latency, and what decided its size.

    The limit of latency decides the size unless there are other limits.
    """
    has_size = options.max_nodes is not None or budget.max_bytes is not None
    n_fast, found = None, None
    if budget.max_latency is not None:
        search = SizeSearch(problem, method, rng)
        fast = search.find_size(replace(budget, max_bytes=None), vote)
        n_fast, found = fast.size, None if has_size else fast
    n_whole = _n_whole_trees(problem, method, options, budget, n_fast, rng)
    if not options.uses_branches(problem.ensemble):
        if n_whole == 0:
            n_nodes = min(tree.tree_.node_count for tree in problem.ensemble.members)
            raise _too_small_error(problem, options, budget, n_nodes)
        pruner = method.with_keep(n_whole)
        fit(pruner, problem.predictions_for(pruner))
        return refit_members(problem, pruner, options, rng), pruner, found
    counts = {1, *N_TREES} if has_size else set()
    counts |= {round(n_fast * more) for more in _MORE_TREES} if n_fast is not None else set()
    n_selected = max(n_whole, min(problem.n_members, max(counts)))
    pruner = method.with_keep(n_selected)
    fit(pruner, problem.predictions_for(pruner))
    order = pruner.member_indices_.tolist()
    whole_pruner = restrict_members(pruner, order[: max(1, n_whole)])
    task = make_refit_task(problem, whole_pruner, options, rng)
    may_be_whole = n_whole > 0 and options.branches == "auto"
    if options.refit == "auto" and may_be_whole:
        gain = estimate_gain(task, problem, method.with_keep(n_whole))
        if not gain.helps:
            return problem, whole_pruner, found
    latency = None if n_fast is None else measure_step_latency(problem, task, order[:n_fast])
    limits = _SizeLimits(problem.ensemble, options.max_nodes, budget.max_bytes, latency)
    is_useful = has_size or latency is None or latency.step > 0 or not may_be_whole
    pruned = limits.prune(problem, task, order, sorted(counts)) if is_useful else None
    if may_be_whole and (
        pruned is None or task.distance(task.members, task.values) <= pruned.distance
    ):
        return with_refitted(problem, task.refitted_ensemble()), whole_pruner, found
    if pruned is None:
        raise _too_small_error(problem, options, budget, LEAST_NODES)
    refitted = pruned.apply_to(problem.ensemble)
    if found is not None:
        found = found._replace(decided_by=f"{found.decided_by}, before branches were pruned")
    return with_refitted(problem, refitted), restrict_members(pruner, pruned.members), found


def _n_whole_trees(  # noqa: PLR0917
    problem: Problem,
    method: BasePruner,
    options: RefitOptions,
    budget: Budget,
    n_fast: int | None,
    rng: np.random.RandomState,
) -> int:
    """Return how many whole trees are within all limits, in the method's order; 0 if none are."""
    search, sizes = SizeSearch(problem, method, rng), [] if n_fast is None else [n_fast]
    if options.max_nodes is not None:
        check_refittable(problem.ensemble)  # other models have no nodes to count
        order = search.members_at(problem.n_members)
        counts = [problem.ensemble.members[member].tree_.node_count for member in order]
        sizes.append(int(np.count_nonzero(np.cumsum(counts) <= options.max_nodes)))
    if budget.max_bytes is not None:
        try:
            sizes.append(search.find_size(Budget(max_bytes=budget.max_bytes), "auto").size)
        except BudgetError:
            sizes.append(0)
    return min(sizes)


def _too_small_error(
    problem: Problem, options: RefitOptions, budget: Budget, n_nodes: int
) -> BudgetError:
    """Return the error for a limit that not even the smallest tree, of ``n_nodes``, meets."""
    text = "Not even one tree meets {%s}: the smallest %s. Pass a larger limit."
    if options.max_nodes is not None:
        return BudgetError(
            text % ("max_nodes", f"has {n_nodes} nodes"), max_nodes=options.max_nodes
        )
    size = _PickleSize.from_ensemble(problem.ensemble)
    needed = format_bytes(size.model + size.tree + n_nodes * size.node)
    return BudgetError(text % ("max_bytes", f"takes {needed}"), max_bytes=budget.max_bytes)


@dataclass(frozen=True)
class StepLatency:
    """Seconds to predict one sample: of the model, of each tree, and of each step in a tree.

    ``limit`` is the time of ``n_trees`` whole trees, which meet the limit of the user.
    """

    model: float
    tree: float
    step: float  # 0 if steps take too little of the time to be measured
    limit: float
    n_trees: int

    @classmethod
    def from_timings(cls, n_trees: int, n_steps: float, seconds: Sequence[float]) -> StepLatency:
        """Return the latency from timings of one leaf, of as many leaves as trees, and of trees."""
        one, leaves, whole = seconds
        tree = max(0.0, (leaves - one) / (n_trees - 1)) if n_trees > 1 else one
        saved = whole - leaves
        step = saved / n_steps if n_steps > 0 and saved >= _LEAST_SAVING * whole else 0.0
        return cls(max(0.0, leaves - n_trees * tree), tree, step, whole, n_trees)

    def max_steps(self, n_trees: int) -> float:
        """Return the mean number of steps that a sample may take in a number of trees together."""
        if self.step == 0:
            return np.inf if n_trees <= self.n_trees else 0.0
        return max(0.0, (self.limit - self.model - n_trees * self.tree) / self.step)


def measure_step_latency(problem: Problem, task: RefitTask, members: Sequence[int]) -> StepLatency:
    """Time trees with and without their splits, with the model's own ``n_jobs``."""
    ensemble, cut = problem.ensemble, copy.copy(problem.ensemble)
    cut.members = list(ensemble.members)
    n_steps = 0.0
    for member in members:
        tree = ensemble.members[member]
        is_split = np.zeros(tree.tree_.node_count, dtype=bool)
        cut.members[member] = with_pruned_branches(tree, is_split, tree.tree_.value[:, 0, :])
        depths = tree.tree_.compute_node_depths()  # 1 for the root
        n_steps += float((depths[task.samples.leaves[member]] - 1).mean())
    timed = [(cut, members[:1]), (cut, members), (ensemble, members)]
    return StepLatency.from_timings(len(members), n_steps, _least_seconds(problem, timed).tolist())


def _least_seconds(
    problem: Problem, models: Sequence[tuple[Ensemble, Sequence[int]]]
) -> FloatArray:
    predictors = [make_predictor(ensemble, members) for ensemble, members in models]
    timings = time_predictions(predictors, _safe_indexing(problem.X, [0]), _SECONDS_PER_MODEL)
    return np.min(timings, axis=1)  # other work on the machine only adds time


@dataclass(frozen=True)
class _SizeLimits:
    """Limits of the number of nodes, the bytes of the pickle, and the latency."""

    ensemble: Ensemble
    max_nodes: float | None
    max_bytes: float | None
    latency: StepLatency | None

    def prune(
        self, problem: Problem, task: RefitTask, order: Sequence[int], counts: Sequence[int]
    ) -> PrunedBranches | None:
        """Return pruned branches within the limits, which models that are measured meet as well."""
        limits = self
        while True:
            steps = None if limits.latency is None else limits.latency.max_steps
            pruned = prune_branches(task, order, BranchLimits(limits._nodes_of(), steps, counts))
            if pruned is None:
                return None
            changed = pruned.apply_to(self.ensemble)
            if not self._fits_bytes(changed, pruned.members):
                limits = replace(limits, max_nodes=int(_SHRINK * pruned.n_nodes))
            elif not self._is_fast(problem, changed, pruned.members, order):
                assert limits.latency is not None
                slower = replace(limits.latency, limit=0.9 * limits.latency.limit)
                limits = replace(limits, latency=slower)
            else:
                return pruned

    def _fits_bytes(self, changed: Ensemble, members: Sequence[int]) -> bool:
        if self.max_bytes is None:
            return True
        return len(pickle.dumps(changed.as_predictor(sorted(members)))) <= self.max_bytes

    def _is_fast(
        self, problem: Problem, changed: Ensemble, members: Sequence[int], order: Sequence[int]
    ) -> bool:
        """Return whether more trees with pruned branches are as fast as the whole trees."""
        if self.latency is None or len(members) <= self.latency.n_trees:
            return True
        timed = [(changed, members), (self.ensemble, order[: self.latency.n_trees])]
        pruned, whole = _least_seconds(problem, timed)
        return bool(pruned <= _SLOWER * whole)

    def _nodes_of(self) -> Callable[[int], float]:
        """Return a function from the number of trees to the number of nodes that they may have."""
        most = sum(tree.tree_.node_count for tree in self.ensemble.members)
        most = most if self.max_nodes is None else min(most, self.max_nodes)
        if self.max_bytes is None:
            return lambda n_trees: most
        size, max_bytes = _PickleSize.from_ensemble(self.ensemble), self.max_bytes
        return lambda n_trees: max(0, min(most, size.n_nodes_within(max_bytes, n_trees)))


@dataclass(frozen=True)
class _PickleSize:
    """The bytes of a pickled ensemble of trees: of the model, of each tree and of each node."""

    model: float
    tree: float
    node: float

    @classmethod
    def from_ensemble(cls, ensemble: Ensemble) -> _PickleSize:
        tree = ensemble.members[0].tree_
        node = tree.__getstate__()["nodes"].itemsize + tree.value[0].nbytes
        counts = [member.tree_.node_count for member in ensemble.members[:2]]
        sizes = [
            len(pickle.dumps(ensemble.as_predictor([*range(n_trees)])))
            for n_trees in range(1, len(counts) + 1)
        ]
        own = max(0, sizes[-1] - sizes[0] - counts[-1] * node) if len(sizes) > 1 else 0
        return cls(sizes[0] - counts[0] * node - own, own, node)

    def n_nodes_within(self, max_bytes: float, n_trees: int) -> float:
        """Return the number of nodes that a number of trees may have."""
        return (max_bytes - self.model - n_trees * self.tree) / self.node


def restrict_members(pruner: BasePruner, members: list[int]) -> BasePruner:
    """Return a fitted pruner that keeps only some of its members."""
    restricted = copy.copy(pruner)
    is_kept = np.isin(pruner.member_indices_, members)
    restricted.member_indices_ = pruner.member_indices_[is_kept]
    restricted.scores_ = pruner.scores_[is_kept]
    restricted.support_ = np.zeros_like(pruner.support_)
    restricted.support_[restricted.member_indices_] = True
    return restricted.set_params(keep=len(members)) if hasattr(pruner, "keep") else restricted
