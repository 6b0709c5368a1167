"""The last step of `prune`: refit the kept trees, if that helps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from secateurs._methods import AUTO
from secateurs.ensembles import Ensemble
from secateurs.evaluation.budget import Budget
from secateurs.evaluation.default_size import MAX_LOSS_RATIO, DefaultSize
from secateurs.exceptions import InputError, caller_stacklevel
from secateurs.outputs.predictions import true_values
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.pruners.selector import fit_pruner
from secateurs.refitting.refit import (
    LeafRefit,
    RefitGain,
    RefitTask,
    check_refittable,
    is_refittable,
)
from secateurs.refitting.teacher import LabelledSamples
from secateurs.typing import IndexArray, Samples

RefitLike: TypeAlias = bool | Literal["auto"] | LeafRefit | None
BranchesLike: TypeAlias = bool | Literal["auto"]


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
        """Return whether limits are met by `prune_to_size`, and not by `SizeSearch` alone."""
        return self.max_nodes is not None or self.uses_branches(ensemble)

    def is_refitted(self, ensemble: Ensemble) -> bool:
        """Return whether to refit, or to try it, an ensemble of this kind."""
        return is_refittable(ensemble) if self.refit == "auto" else self.refit is not False

    def is_sized(self, budget: Budget) -> bool:
        """Return whether limits are set that pruned branches can meet: nodes, bytes, latency."""
        if self.max_nodes is not None and (budget.tolerance, budget.max_cost) != (None, None):
            raise InputError(
                "{max_nodes} cannot be combined with a tolerance or with costs. Leave out one of "
                "the two.",
                max_nodes=self.max_nodes,
            )
        limits = (self.max_nodes, budget.max_bytes, budget.max_latency)
        others = (budget.tolerance, budget.max_cost, budget.max_group_loss)
        is_sized = limits != (None,) * 3 and others == (None,) * 3
        if self.branches is True and not is_sized:
            raise InputError(
                "{branches} needs a budget of size. Pass {max_bytes}, {max_nodes} or "
                "{max_latency}, without a tolerance or costs.",
                branches=True,
                max_bytes=...,
                max_nodes=...,
                max_latency=...,
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
                stacklevel=caller_stacklevel(),
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
            task = make_refit_task(problem, pruner, options, rng)
            gain = estimate_gain(task, problem, pruner)
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
    task = make_refit_task(problem, pruner, options, rng)
    if options.refit == "auto" and not estimate_gain(task, problem, pruner).helps:
        return problem
    return with_refitted(problem, task.refitted_ensemble())


def with_refitted(problem: Problem, refitted: Ensemble) -> Problem:
    """Return the problem with refitted members; probabilities that were collected are kept."""
    soft = problem.__dict__.get("soft_predictions", problem.known_soft_predictions)
    return replace(problem, refitted=refitted, known_soft_predictions=soft)


def make_refit_task(
    problem: Problem, pruner: BasePruner, options: RefitOptions, rng: np.random.RandomState
) -> RefitTask:
    """Return the task of refitting the members that a pruner selected."""
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


def estimate_gain(task: RefitTask, problem: Problem, pruner: BasePruner) -> RefitGain:
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
