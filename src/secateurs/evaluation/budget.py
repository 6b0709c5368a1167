"""Budgets: the limits that `secateurs.prune` accepts, and the number of members that meets them."""

import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from secateurs.ensembles import CORRECTS, Ensemble
from secateurs.evaluation._cost_rules import bisect_largest_size
from secateurs.evaluation._tolerance import STEADY_SHARE, ToleratedSize, smallest_tolerated_size
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.latency import Latency, ServedMembers, measure_latencies, model_n_jobs
from secateurs.evaluation.size_curves import count_correct
from secateurs.exceptions import BudgetError, InputError, SecateursWarning
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.pruners.selector import fit_pruner
from secateurs.text_format import format_count
from secateurs.typing import FloatArray, IndexArray
from secateurs.units import LATENCY, LOSS, SIZE, format_bytes, format_milliseconds, round_up

_QUANTITIES = {"tolerance": LOSS, "max_bytes": SIZE, "max_latency": LATENCY}
# Methods that need a new search for each size are evaluated at about this many sizes.
_N_SEARCHED_SIZES = 20
# n_jobs=1 is recommended only if it saves a tenth of the time, which is more than timing noise.
_FASTER_SHARE = 0.9


@dataclass(frozen=True)
class Budget:
    """Limits of a sub-ensemble: loss of score, bytes, latency or total cost of its members."""

    tolerance: float | None = None
    max_bytes: float | None = None
    max_latency: float | None = None
    cost: ArrayLike | None = None
    max_cost: float | None = None

    @classmethod
    def from_parameters(
        cls,
        tolerance: float | str | None,
        max_bytes: float | str | None,
        max_latency: float | str | None,
        cost: ArrayLike | None,
        max_cost: float | None,
    ) -> "Budget":
        """Return the budget of these parameters of `prune`, with texts such as "20MB" parsed."""
        texts = {"tolerance": tolerance, "max_bytes": max_bytes, "max_latency": max_latency}
        limits = {
            name: _QUANTITIES[name].read_parameter(name, text) for name, text in texts.items()
        }
        return cls(**limits, cost=cost, max_cost=max_cost)

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return any(value is not None for value in vars(self).values())

    def check_limits(self, problem: Problem) -> None:
        """Raise an error for limits that are invalid, or that do not apply to the ensemble."""
        for name in ("tolerance", "max_bytes", "max_latency", "max_cost"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value >= 0):
                text = f", or text such as {_QUANTITIES[name].examples}" * (name in _QUANTITIES)
                raise InputError(
                    f"{{{name}}} is not a valid budget. Pass a number of at least 0{text}.",
                    **{name: value},
                )
        if (self.cost is None) != (self.max_cost is None):
            raise InputError(
                "{cost} and {max_cost} go together. Pass the cost of each member, and the maximum "
                "of their sum.",
                cost=...,
                max_cost=...,
            )
        if self.cost is not None:
            self._check_costs(problem)
        if self.max_latency is not None and problem.X is None:
            raise InputError(
                "{max_latency} needs models, because predictions cannot be timed. Pass a fitted "
                "ensemble, or another budget.",
                max_latency=...,
            )

    def _check_costs(self, problem: Problem) -> None:
        if problem.ensemble.is_sequential:
            raise InputError(
                f"{{cost}} cannot select among the rounds of a boosted model: {CORRECTS}. Pass "
                "{keep}, or another budget.",
                cost=...,
                keep=...,
            )
        try:
            costs = np.asarray(self.cost, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                "{cost} is not numeric. Pass one number for each member.", cost=...
            ) from None
        invalid = costs[~((costs >= 0) & (costs < np.inf))]
        if costs.shape != (problem.n_members,) or len(invalid):
            example = f" and contains {invalid[0]:g}" if len(invalid) else ""
            raise InputError(
                f"{{cost}} has shape {costs.shape}{example}. Pass a number of at least 0 for each "
                f"of the {problem.n_members} members.",
                cost=...,
            )


@dataclass(frozen=True, eq=False)
class SizeSearch:
    """Search for the number of members that meets a budget, among a pruner's selections."""

    problem: Problem
    pruner: BasePruner
    rng: np.random.RandomState

    def members_at(self, n_keep: int) -> list[int]:
        """Return the members that the pruner selects with ``keep=n_keep``."""
        return self.members_and_weights(n_keep)[0]

    def members_and_weights(self, n_keep: int) -> tuple[list[int], FloatArray | None]:
        """Return the members for ``keep=n_keep``, and their weights if the method has weights."""
        if self.pruner.is_nested:
            return self._member_order[:n_keep], None
        fitted = self._fit_at_size(n_keep)
        return fitted.member_indices_.tolist(), self.problem.weights_from_pruner(fitted)

    def _fit_at_size(self, n_keep: int) -> BasePruner:
        pruner, problem = self.pruner.with_keep(n_keep), self.problem
        return fit_pruner(
            pruner, problem.predictions_for(pruner), sample_weight=problem.sample_weight
        )

    @cached_property
    def _member_order(self) -> list[int]:
        return self._fit_at_size(self.problem.n_members).member_indices_.tolist()

    def find_size(self, budget: Budget, vote: str) -> ToleratedSize:
        """Return the size that meets the budget: the smallest tolerated, or the largest allowed."""
        limit_names = [
            name for name in ("max_bytes", "max_latency") if getattr(budget, name) is not None
        ]
        largest = min((self._largest_allowed(name, budget) for name in limit_names), default=None)
        if budget.tolerance is None:
            assert largest is not None
            return ToleratedSize(largest)
        sizes, scores = self.held_out_curve(vote)
        share = 1.0 if self.problem.predictions.is_sequential else STEADY_SHARE
        tolerated = smallest_tolerated_size(sizes, scores, budget.tolerance, share)
        if largest is not None and tolerated.size > largest:
            allowed_scores, scoring = scores[sizes <= largest], self.problem.scoring
            raise BudgetError(
                f"The budget allows at most {format_count(largest, 'member')}, and no such "
                f"sub-ensemble meets {{tolerance}}: the best cross-validated {scoring.label} is "
                f"{scoring.display_score(allowed_scores.max()):.4f}, compared with "
                f"{scoring.display_score(scores[-1]):.4f} for the full ensemble. Pass a larger "
                "budget, or a larger tolerance.",
                tolerance=budget.tolerance,
            )
        return tolerated

    def held_out_curve(self, vote: str) -> tuple[IndexArray, FloatArray]:
        """Return sizes and their cross-validated scores; the last size is the full ensemble."""
        n_members, nested = self.problem.n_members, self.pruner.is_nested
        sizes = np.arange(1, n_members + 1)
        if not nested:  # denser at small sizes, where scores change most
            spaced = np.geomspace(1, n_members, _N_SEARCHED_SIZES)
            sizes = np.unique(spaced.round().astype(np.intp))
        problem = self.problem.without_samples()  # without a test set, so that it cross-validates
        own = vote == "auto"
        if own and not problem.is_regression:
            problem = problem.with_validation_set(self.problem.X)
        n_right, curve = np.zeros(len(sizes), dtype=np.int64), None
        plan = EvaluationPlan(problem, self.rng)
        with open_stage("finding the size", max(1, plan.n_selections - 1)) as steps:
            for fold in plan.iter_folds():
                search = SizeSearch(fold.problem, self.pruner, self.rng)
                selected = [search.members_and_weights(size) for size in sizes[:-1]]
                groups = [members for members, _ in selected]
                groups.append(search.members_at(n_members) if nested else list(range(n_members)))
                weights = {i: given for i, (_, given) in enumerate(selected) if given is not None}
                if problem.is_plain_accuracy:
                    for block in fold.vote_blocks():
                        n_right += count_correct(block, groups, own, weights=weights)[0].n_right
                else:
                    fold_curve = fold.score_groups(groups, self.problem.scoring, (), weights)
                    curve = fold_curve if curve is None else curve + fold_curve
                steps.step()
        return sizes, n_right / problem.predictions.n_samples if curve is None else curve.values

    def _largest_allowed(self, name: str, budget: Budget) -> int:
        """Return the largest size within a limit; raise an error if one member is too many."""
        size = largest_within_limit(
            name, self.problem, budget, self.problem.n_members, self._served_at_size
        )
        if size == 0:
            raise budget_error(name, self.problem, budget, self.members_at(1))
        return size

    def _served_at_size(self, n_keep: int) -> tuple[list[int], Ensemble]:
        """Return the members for a size, and the ensemble with their weights, if they have any."""
        members, weights = self.members_and_weights(n_keep)
        if weights is None:
            weights = self.problem.optimised_weights(members)
        return members, with_member_weights(self.problem.ensemble, members, weights)


def largest_within_limit(
    name: str,
    problem: Problem,
    budget: Budget,
    n_members: int,
    served: ServedMembers,
) -> int:
    """Return the largest size, of the first 1, 2, … members, that is within a limit."""
    limit = getattr(budget, name)
    if name == "max_bytes":

        def meets(first: list[int]) -> bool:
            members, ensemble = served(len(first))
            return pickle_bytes(ensemble, members) <= limit

        return bisect_largest_size(range(n_members), meets)
    own, one_job = measure_latencies(problem, n_members, served)
    size = own.max_members(limit)
    seconds = own.seconds_for(size)
    if size and one_job is not None and one_job.seconds_for(size) < _FASTER_SHARE * seconds:
        n_allowed = format_count(one_job.max_members(limit), "member")
        warn_caller(
            f"With {format_count(size, 'member')}, predicting one sample takes "
            f"{format_milliseconds(seconds)} with the model's "
            f"n_jobs={model_n_jobs(problem.ensemble)}, but "
            f"{format_milliseconds(one_job.seconds_for(size))} with n_jobs=1, which allows "
            f"{n_allowed} within {{max_latency}}. Set n_jobs=1 in the model, and prune again.",
            max_latency=limit,
        )
    elif size == 1 < n_members:
        warn_caller(
            f"{{max_latency}} allows a single member only: {_describe_latency(own)}, and each "
            f"additional member takes {format_milliseconds(own.per_member)}. Pass a larger limit.",
            max_latency=limit,
        )
    return size


def _describe_latency(latency: Latency) -> str:
    """Return the time that one member takes, including preprocessing, in words."""
    total = f"one takes {format_milliseconds(latency.seconds_for(1))}"
    if latency.preprocessing_seconds == 0:
        return total
    preprocessing = format_milliseconds(latency.preprocessing_seconds)
    return f"{total}, of which preprocessing takes {preprocessing}"


def warn_caller(message: str, **parameters: object) -> None:
    """Issue a warning whose location is the line that called `secateurs.prune`."""
    warnings.warn(SecateursWarning(message, **parameters), stacklevel=6)


def with_member_weights(
    ensemble: Ensemble, members: Sequence[int], weights: FloatArray | None
) -> Ensemble:
    """Return the ensemble with these weights of some members; as it is if weights is None."""
    if weights is None:
        return ensemble
    all_weights = np.zeros(ensemble.n_members)
    all_weights[members] = weights
    return ensemble.with_member_weights(all_weights)


def budget_error(
    name: str, problem: Problem, budget: Budget, first: Sequence[int] = ()
) -> BudgetError:
    """Return the error for a limit that no single member meets, with what one member takes.

    ``first`` has the method's first member if only prefixes of its order are considered.
    """
    limit = getattr(budget, name)
    if name == "max_latency":
        own, one_job = measure_latencies(
            problem, 1, lambda _: (list(first or [0])[:1], problem.ensemble)
        )
        needed = _describe_latency(own)
        if one_job is not None and one_job.seconds_for(1) < own.seconds_for(1):
            faster = format_milliseconds(one_job.seconds_for(1))
            needed += f", or {faster} with n_jobs=1 in the model"
    elif name == "max_cost":
        cheapest = float(np.asarray(budget.cost, dtype=float).min())
        needed = f"the cheapest costs {round_up(cheapest, 6):.15g}"
    else:
        singles = range(1 if problem.ensemble.is_sequential else problem.n_members)
        smallest = min(pickle_bytes(problem.ensemble, [member]) for member in singles)
        needed = f"the smallest takes {format_bytes(smallest)}"
        if smallest <= limit:
            first_bytes = format_bytes(pickle_bytes(problem.ensemble, first))
            return BudgetError(
                f"The first selected member does not meet {{{name}}}: it takes {first_bytes}, "
                f"{needed}. Pass a larger limit, or another pruner.",
                **{name: limit},
            )
    return BudgetError(
        f"Not even one member meets {{{name}}}: {needed}. Pass a larger limit.", **{name: limit}
    )


def pickle_bytes(ensemble: Ensemble, members: Sequence[int]) -> int:
    """Return the number of bytes of a pickled sub-ensemble."""
    return len(pickle.dumps(ensemble.as_predictor(sorted(members))))
