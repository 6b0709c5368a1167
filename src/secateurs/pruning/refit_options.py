"""The last step of `prune`: refit the kept trees, and prune their branches, if that helps."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from secateurs._methods import AUTO
from secateurs.ensembles import Ensemble
from secateurs.evaluation.budget import Budget, SizeSearch
from secateurs.evaluation.default_size import MAX_LOSS_RATIO, DefaultSize
from secateurs.exceptions import BudgetError, InputError
from secateurs.outputs.predictions import true_values
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.pruners.selector import fit_pruner
from secateurs.refitting.branches import LEAST_NODES, N_TREES, Price, PrunedBranches, prune_branches
from secateurs.refitting.refit import (
    LeafRefit,
    RefitGain,
    RefitTask,
    check_refittable,
    is_refittable,
)
from secateurs.refitting.teacher import LabelledSamples
from secateurs.typing import IndexArray, Samples
from secateurs.units import format_bytes

RefitLike: TypeAlias = bool | Literal["auto"] | LeafRefit | None
BranchesLike: TypeAlias = bool | Literal["auto"]

# The estimated size of a pickle is a little too small for long names, so that the number of nodes
# is reduced until the pickle itself fits.
_SHRINK = 0.97


@dataclass(frozen=True)
class RefitOptions:
    """The parameters of `prune` about refitting and branches."""

    refit: RefitLike = None
    X_unlabelled: Samples = None
    branches: BranchesLike = "auto"
    max_nodes: float | None = None

    @classmethod
    def from_parameters(  # noqa: PLR0917
        cls,
        refit: RefitLike,
        X_unlabelled: Samples,
        branches: BranchesLike,
        max_nodes: float | None,
        pruner: object,
        has_weights: bool,
    ) -> RefitOptions:
        """Check the parameters; ``refit`` is "auto" by default if the method is "auto"."""
        if refit is None and branches is True:
            refit = True  # pruned branches need refitted leaves
        elif refit is None:
            refit = "auto" if pruner in (None, AUTO) and not has_weights else False
        if not (isinstance(refit, (bool, LeafRefit)) or refit == "auto"):
            raise InputError(
                "{refit} is not valid. Pass 'auto', True, False or LeafRefit(…).", refit=refit
            )
        if branches not in (True, False, "auto"):
            raise InputError(
                "{branches} is not valid. Pass 'auto', True or False.", branches=branches
            )
        if branches is True and refit is False:
            raise InputError(
                "{branches} cannot be combined with {refit}: leaf values are fitted to the pruned "
                "branches. Leave out one of the two.",
                branches=True,
                refit=False,
            )
        if max_nodes is not None and not (is_number(max_nodes) and max_nodes >= 1):
            raise InputError(
                "{max_nodes} is not a valid budget. Pass a number of nodes of at least 1.",
                max_nodes=max_nodes,
            )
        return cls(refit, X_unlabelled, branches, max_nodes)

    @property
    def parameters(self) -> LeafRefit:
        """The parameters of refitting."""
        return self.refit if isinstance(self.refit, LeafRefit) else LeafRefit()

    @property
    def is_forced(self) -> bool:
        """Whether the user asked for refitting."""
        return self.refit is True or isinstance(self.refit, LeafRefit)

    def limits_trees(self, ensemble: Ensemble) -> bool:
        """Return whether limits of nodes and bytes are met here, and not by `SizeSearch`."""
        return self.max_nodes is not None or self.uses_branches(ensemble)

    def is_refitted(self, ensemble: Ensemble) -> bool:
        """Return whether to refit, or to try it, an ensemble of this kind."""
        return is_refittable(ensemble) if self.refit == "auto" else self.refit is not False

    def is_sized(self, budget: Budget) -> bool:
        """Return whether the size is limited by nodes or bytes, which pruned branches can meet."""
        if self.max_nodes is not None and (budget.tolerance, budget.max_cost) != (None, None):
            raise InputError(
                "{max_nodes} cannot be combined with a tolerance or with costs. Leave out one of "
                "the two.",
                max_nodes=self.max_nodes,
            )
        is_sized = self.max_nodes is not None or (
            budget.max_bytes is not None and (budget.tolerance, budget.max_cost) == (None, None)
        )
        if self.branches is True and not is_sized:
            raise InputError(
                "{branches} needs a budget of size. Pass {max_bytes} or {max_nodes}, without a "
                "tolerance or costs.",
                branches=True,
                max_bytes=...,
                max_nodes=...,
            )
        return is_sized

    def uses_branches(self, ensemble: Ensemble) -> bool:
        """Return whether to prune branches, or to try it, if the size is limited."""
        if not (self.branches and self.is_refitted(ensemble)):
            return False
        if self.branches is True:
            check_refittable(ensemble)
        return is_refittable(ensemble)


def take_synthetic_ratio(refit: RefitLike, parameters: dict[str, Any]) -> RefitLike:
    """Return ``refit`` with the ratio that was a parameter of `prune` in earlier versions."""
    for name in ("n_made", "synthetic_ratio"):
        if name in parameters:
            warnings.warn(
                f"The parameter {name} of prune will be removed in the next release. Pass "
                "refit=LeafRefit(synthetic_ratio=…).",
                FutureWarning,
                stacklevel=3,
            )
            ratio = parameters.pop(name)
            refit = LeafRefit(synthetic_ratio=ratio) if refit is True else refit
    return refit


def prune_to_default_size(
    default: DefaultSize,
    options: RefitOptions,
    fit: Callable[..., BasePruner],
    rng: np.random.RandomState,
) -> tuple[Problem, BasePruner, str]:
    """Return the problem, the pruner fitted for the default size, and the reason for that size.

    Refitted trees may be fewer, if an honest estimate of their loss is close to the full
    ensemble's.
    """
    problem, method = default.problem, default.search.pruner
    if options.is_refitted(problem.ensemble) and not default.uses_best_size:
        decided = default.refitted_size()
        pruner = fit(method.with_keep(decided.size), problem.predictions_for(method))
        if not _uses_weights(problem, pruner):
            task = _refit_task(problem, pruner, options, rng)
            gain = _estimate_gain(task, problem, pruner)
            full_loss = task.teacher.correction.losses[0]
            is_close = gain.loss_after <= MAX_LOSS_RATIO * full_loss
            if is_close and (gain.helps or options.is_forced):
                refitted = with_refitted(problem, task.refitted_ensemble())
                return refitted, pruner, decided.reason
    decided = default.plain_size
    pruner = fit(method.with_keep(decided.size), problem.predictions_for(method))
    return refit_members(problem, pruner, options, rng), pruner, decided.reason


def _uses_weights(problem: Problem, pruner: BasePruner) -> bool:
    """Return whether the method has weights of its own, which take the place of refitting."""
    return problem.weighing is not False and getattr(pruner, "weights_", None) is not None


def refit_members(
    problem: Problem, pruner: BasePruner, options: RefitOptions, rng: np.random.RandomState
) -> Problem:
    """Return the problem with refitted members; as it is if refitting is off or does not help."""
    if options.refit == "auto" and _uses_weights(problem, pruner):
        return problem
    if not options.is_refitted(problem.ensemble):
        return problem
    task = _refit_task(problem, pruner, options, rng)
    if options.refit == "auto" and not _estimate_gain(task, problem, pruner).helps:
        return problem
    return with_refitted(problem, task.refitted_ensemble())


def with_refitted(problem: Problem, refitted: Ensemble) -> Problem:
    """Return the problem with refitted members; probabilities that were collected are kept."""
    soft = problem.__dict__.get("soft_predictions", problem.known_soft_predictions)
    return replace(problem, refitted=refitted, known_soft_predictions=soft)


def _refit_task(
    problem: Problem, pruner: BasePruner, options: RefitOptions, rng: np.random.RandomState
) -> RefitTask:
    samples = LabelledSamples(
        problem.X, np.asarray(true_values(problem.predictions)), problem.oob, problem.sample_weight
    )
    return RefitTask.from_input(
        problem.ensemble,
        np.sort(pruner.member_indices_).tolist(),
        samples,
        options.X_unlabelled,
        options.parameters,
        rng,
        problem.n_jobs,
    )


def _estimate_gain(task: RefitTask, problem: Problem, pruner: BasePruner) -> RefitGain:
    """Return an honest estimate of the gain, in the folds of ``cv`` and ``groups`` if given."""
    folds = None
    if not problem.cross_validation.is_default:
        folds = list(problem.cross_validation.split(problem.predictions.truth, problem.X, 0))
    return task.estimate_gain(_selector(problem, pruner), folds)


def _selector(problem: Problem, pruner: BasePruner) -> Callable[[IndexArray], list[int]]:
    """Return a function that selects members on some of the validation samples."""

    def select(samples: IndexArray) -> list[int]:
        fold = problem.on_samples(samples)
        fitted = pruner.with_keep(getattr(pruner, "keep", None))
        fitted._is_silent = True  # warnings are about the selection on all samples
        fit_pruner(fitted, fold.predictions_for(fitted), sample_weight=fold.sample_weight)
        return np.sort(fitted.member_indices_).tolist()

    return select


def prune_to_size(  # noqa: PLR0917
    problem: Problem,
    method: BasePruner,
    options: RefitOptions,
    budget: Budget,
    fit: Callable[..., BasePruner],
    rng: np.random.RandomState,
) -> tuple[Problem, BasePruner]:
    """Return the best model within a budget of bytes or nodes: fewer trees, or pruned branches."""
    n_whole = _n_whole_trees(problem, method, options, budget, rng)
    with_branches = options.uses_branches(problem.ensemble)
    if not with_branches:
        if n_whole == 0:
            n_nodes = min(tree.tree_.node_count for tree in problem.ensemble.members)
            raise _too_small_error(problem, options, budget, n_nodes)
        pruner = method.with_keep(n_whole)
        fit(pruner, problem.predictions_for(pruner))
        return refit_members(problem, pruner, options, rng), pruner
    n_selected = max(n_whole, min(problem.n_members, max(N_TREES)))
    pruner = method.with_keep(n_selected)
    fit(pruner, problem.predictions_for(pruner))
    order = pruner.member_indices_.tolist()
    whole = order[:n_whole]
    whole_pruner = restrict_members(pruner, whole or order[:1])
    task = _refit_task(problem, whole_pruner, options, rng)
    if options.refit == "auto" and whole and options.branches == "auto":
        gain = _estimate_gain(task, problem, method.with_keep(n_whole))
        if not gain.helps:
            return problem, whole_pruner
    price: Price = "steps" if budget.max_latency is not None else "nodes"
    pruned = _branches_within(problem, task, order, options, budget.max_bytes, price)
    may_be_whole = bool(whole) and options.branches == "auto"
    if may_be_whole and (
        pruned is None or task.distance(task.members, task.values) <= pruned.distance
    ):
        return with_refitted(problem, task.refitted_ensemble()), whole_pruner
    if pruned is None:
        raise _too_small_error(problem, options, budget, LEAST_NODES)
    refitted = pruned.apply_to(problem.ensemble)
    return with_refitted(problem, refitted), restrict_members(pruner, pruned.members)


def _n_whole_trees(
    problem: Problem,
    method: BasePruner,
    options: RefitOptions,
    budget: Budget,
    rng: np.random.RandomState,
) -> int:
    """Return how many whole trees are within the budget, in the method's order; 0 if none are."""
    search, sizes = SizeSearch(problem, method, rng), []
    if options.max_nodes is not None:
        check_refittable(problem.ensemble)  # other models have no nodes to count
        order = search.members_at(problem.n_members)
        counts = [problem.ensemble.members[member].tree_.node_count for member in order]
        sizes.append(int(np.count_nonzero(np.cumsum(counts) <= options.max_nodes)))
    if budget.max_bytes is not None or budget.max_latency is not None:
        try:
            sizes.append(search.find_size(budget, "auto").size)
        except BudgetError:
            if budget.max_latency is not None:  # pruned branches save no time that is measurable
                raise
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
    size = _PickleSize.of(problem.ensemble)
    needed = format_bytes(size.model + size.tree + n_nodes * size.node)
    return BudgetError(text % ("max_bytes", f"takes {needed}"), max_bytes=budget.max_bytes)


def _branches_within(  # noqa: PLR0917
    problem: Problem,
    task: RefitTask,
    order: list[int],
    options: RefitOptions,
    max_bytes: float | None,
    price: Price,
) -> PrunedBranches | None:
    """Return pruned branches whose number of nodes, and whose pickle, are within the limits."""
    max_nodes = np.inf if options.max_nodes is None else float(options.max_nodes)
    while True:
        budget = _node_budget(problem.ensemble, max_nodes, max_bytes)
        pruned = prune_branches(task, order, budget, price)
        if pruned is None or max_bytes is None:
            return pruned
        model = pruned.apply_to(problem.ensemble).as_predictor(sorted(pruned.members))
        if len(pickle.dumps(model)) <= max_bytes:
            return pruned
        max_nodes = int(_SHRINK * pruned.n_nodes)


@dataclass(frozen=True)
class _PickleSize:
    """The bytes of a pickled ensemble of trees: of the model, of each tree and of each node."""

    model: float
    tree: float
    node: float

    @classmethod
    def of(cls, ensemble: Ensemble) -> _PickleSize:
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


def _node_budget(
    ensemble: Ensemble, max_nodes: float, max_bytes: float | None
) -> Callable[[int], int]:
    """Return a function from the number of trees to the number of nodes that they may have."""
    most = min(max_nodes, sum(tree.tree_.node_count for tree in ensemble.members))
    if max_bytes is None:
        return lambda n_trees: int(most)
    size = _PickleSize.of(ensemble)
    return lambda n_trees: int(max(0, min(most, size.n_nodes_within(max_bytes, n_trees))))


def restrict_members(pruner: BasePruner, members: list[int]) -> BasePruner:
    """Return a fitted pruner that keeps only some of its members."""
    restricted = copy.copy(pruner)
    is_kept = np.isin(pruner.member_indices_, members)
    restricted.member_indices_ = pruner.member_indices_[is_kept]
    restricted.scores_ = pruner.scores_[is_kept]
    restricted.support_ = np.zeros_like(pruner.support_)
    restricted.support_[restricted.member_indices_] = True
    return restricted.set_params(keep=len(members)) if hasattr(pruner, "keep") else restricted
