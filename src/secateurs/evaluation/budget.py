"""Budgets: the limits that `secateurs.prune` accepts, and the largest size within them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secateurs.ensembles import CORRECTS, Ensemble
from secateurs.evaluation.tolerance import RELATIVE_TO, tolerances_by_key
from secateurs.exceptions import BudgetError, InputError, SecateursWarning, caller_stacklevel
from secateurs.problem import Problem
from secateurs.problem.latency import (
    Latency,
    ServedMembers,
    bisect_largest_size,
    lowest_latencies,
    measure_latencies,
    model_n_jobs,
)
from secateurs.problem.model_costs import pickle_bytes
from secateurs.pruners.parameters import check_option, is_number
from secateurs.text_format import format_count
from secateurs.typing import FloatArray
from secateurs.units import LATENCY, LOSS, SIZE, format_bytes, format_milliseconds, round_up

_QUANTITIES = {"tolerance": LOSS, "max_bytes": SIZE, "max_latency": LATENCY, "max_group_loss": LOSS}
_LIMITS = ("tolerance", "max_bytes", "max_latency", "max_cost", "max_group_loss")
# n_jobs=1 is recommended only if it saves a tenth of the time, which is more than timing noise.
_FASTER_SHARE = 0.9
# Share by which timings vary from which on equal calls may keep other numbers of members.
_UNSTEADY_SHARE = 0.25


@dataclass(frozen=True)
class Budget:
    """Limits of a sub-ensemble: loss of score, bytes, latency or total cost of its members."""

    tolerance: float | Mapping[str, float] | None = None
    max_bytes: float | None = None
    max_latency: float | None = None
    cost: ArrayLike | None = None
    max_cost: float | None = None
    max_group_loss: float | None = None  # of the score in any subgroup
    relative_to: str = "best"

    @classmethod
    def from_parameters(  # noqa: PLR0917
        cls,
        tolerance: float | str | Mapping[str, float | str] | None,
        max_bytes: float | str | None,
        max_latency: float | str | None,
        cost: ArrayLike | None,
        max_cost: float | None,
        max_group_loss: float | str | None = None,
        relative_to: str = "best",
    ) -> "Budget":
        """Return the budget of these parameters of `prune`, with texts such as "20MB" parsed."""
        check_option("relative_to", relative_to, RELATIVE_TO)
        limits = {
            name: _QUANTITIES[name].read_parameter(name, text)
            for name, text in (("max_bytes", max_bytes), ("max_latency", max_latency))
        }
        size = limits["max_bytes"]
        if isinstance(size, float) and size.is_integer():
            limits["max_bytes"] = int(size)  # messages print 1000 instead of 1000.0
        loss = LOSS.read_parameter("max_group_loss", max_group_loss)
        return cls(
            _read_tolerance(tolerance),
            **limits,
            cost=cost,
            max_cost=max_cost,
            max_group_loss=loss,
            relative_to=relative_to,
        )

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return any(value is not None for name, value in vars(self).items() if name != "relative_to")

    @property
    def limits_score(self) -> bool:
        """Whether cross-validated scores decide the size."""
        return self.tolerance is not None or self.max_group_loss is not None

    @property
    def needs_tolerance(self) -> bool:
        """Whether the default tolerance applies: for the cheapest members, and for subgroups."""
        is_cheapest = self.cost is not None and self.max_cost is None
        return self.tolerance is None and (is_cheapest or self.max_group_loss is not None)

    def tolerances(self, problem: Problem) -> dict[str, float]:
        """Return the tolerated loss of each score, by its key; the first score by default."""
        return tolerances_by_key(self.tolerance, problem.scoring.key)

    def check_limits(self, problem: Problem) -> None:
        """Raise an error for limits that are invalid, or that do not apply to the ensemble."""
        tolerances = self.tolerance if isinstance(self.tolerance, Mapping) else {}
        limits = [(name, getattr(self, name)) for name in _LIMITS if name != "tolerance"]
        losses = list(tolerances.values()) if tolerances else [self.tolerance]
        for name, value in [*limits, *(("tolerance", loss) for loss in losses)]:
            if value is not None and not (is_number(value) and value >= 0):
                quantity = _QUANTITIES.get(name)
                text = f", or text such as {quantity.examples}" if quantity else ""
                raise InputError(
                    f"{{{name}}} is not a valid budget. Pass a number of at least 0{text}.",
                    **{name: value},
                )
        if self.max_group_loss is not None and problem.sensitive_features is None:
            raise InputError(
                "{max_group_loss} needs {sensitive_features}: the subgroup of each sample.",
                max_group_loss=...,
                sensitive_features=...,
            )
        if self.max_cost is not None and problem.cost is None:
            raise InputError(
                "{max_cost} needs {cost}: the cost of each member.", max_cost=..., cost=...
            )
        if self.cost is not None and problem.ensemble.is_sequential:
            raise InputError(
                f"{{cost}} cannot select among the rounds of a boosted model: {CORRECTS}. Pass "
                "{keep}, or another budget.",
                cost=...,
                keep=...,
            )
        if self.max_latency is not None and problem.has_only_predictions:
            raise InputError(
                "{max_latency} needs models, because predictions cannot be timed. Pass a fitted "
                "ensemble, or another budget.",
                max_latency=...,
            )


def _read_tolerance(
    tolerance: float | str | Mapping[str, float | str] | None,
) -> float | dict[str, float] | None:
    """Return the parameter ``tolerance`` with texts such as "0.5%" as numbers."""
    if not isinstance(tolerance, Mapping):
        return LOSS.read_parameter("tolerance", tolerance)
    if not tolerance:
        raise InputError("{tolerance} has no scores. Pass at least one.", tolerance=tolerance)
    return {str(key): LOSS.read_parameter("tolerance", loss) for key, loss in tolerance.items()}


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
    if own.noise > _UNSTEADY_SHARE and 0 < size < n_members:
        warn_caller(
            f"Timings for {{max_latency}} vary by {100 * own.noise:.0f} %, because other work runs "
            f"on this machine: they allow {format_count(size, 'member')}, but those of an equal "
            "call may allow another number. Prune on an idle machine, or pass the number of "
            "members as {keep}.",
            max_latency=limit,
            keep=...,
        )
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
    """Issue a warning whose location is the line that called the package."""
    warnings.warn(SecateursWarning(message, **parameters), stacklevel=caller_stacklevel())


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
        own, one_job = lowest_latencies(problem)  # the timings that decided
        needed = _describe_latency(own)
        if one_job is not None and one_job.seconds_for(1) < own.seconds_for(1):
            faster = format_milliseconds(one_job.seconds_for(1))
            needed += f", or {faster} with n_jobs=1 in the model"
    elif name == "max_cost":
        assert problem.cost is not None
        cheapest = float(problem.cost.min())
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
