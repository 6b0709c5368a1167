"""Budgets: the limits that `secateurs.prune` accepts, and the number of members that meets them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from secateurs.ensembles import CORRECTS, Ensemble
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_table import SizeCurve, cross_validate_selections
from secateurs.evaluation.selections import MemberSelector, Selection
from secateurs.evaluation.tolerance import (
    RELATIVE_TO,
    STEADY_SHARE,
    ToleratedLoss,
    ToleratedSize,
    smallest_tolerated_size,
    tolerances_by_key,
)
from secateurs.exceptions import BudgetError, InputError, SecateursWarning
from secateurs.measures.score_curve import ScoreCurve
from secateurs.measures.scoring import Scoring
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
from secateurs.pruners import BasePruner
from secateurs.pruners.parameters import check_option, is_number
from secateurs.pruners.selector import fit_pruner
from secateurs.text_format import format_count, format_list
from secateurs.typing import FloatArray, IndexArray
from secateurs.units import LATENCY, LOSS, SIZE, format_bytes, format_milliseconds, round_up

_QUANTITIES = {"tolerance": LOSS, "max_bytes": SIZE, "max_latency": LATENCY, "max_group_loss": LOSS}
_LIMITS = ("tolerance", "max_bytes", "max_latency", "max_cost", "max_group_loss")
# Methods that need a new search for each size are evaluated at about this many sizes.
_N_SEARCHED_SIZES = 20
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

    def _fit_at_size(self, n_keep: int | float | str | None) -> BasePruner:
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
        if not budget.limits_score:
            assert largest is not None
            return ToleratedSize(largest, decided_by=self._describe_limit(limit_names, largest))
        tolerated = self._tolerated_size(budget, vote)
        if largest is not None and tolerated.size > largest:
            sizes, curves = self.held_out_scores(vote, budget)
            scoring = next(s for s in self.problem.scorings if s.key in curves)
            scores = curves[scoring.key]
            raise BudgetError(
                f"The budget allows at most {format_count(largest, 'member')}, and no such "
                f"sub-ensemble meets {{tolerance}}: the best cross-validated {scoring.label} is "
                f"{scoring.display_score(scores[sizes <= largest].max()):.4f}, compared with "
                f"{scoring.display_score(scores[-1]):.4f} for the full ensemble. Pass a larger "
                "budget, or a larger tolerance.",
                tolerance=budget.tolerance,
            )
        return tolerated

    def _tolerated_size(self, budget: Budget, vote: str) -> ToleratedSize:
        """Return the smallest size whose cross-validated scores are within all tolerances."""
        sizes, scores = self.held_out_scores(vote, budget)
        limits = [
            ToleratedLoss(key, scores[key], loss)
            for key, loss in budget.tolerances(self.problem).items()
        ]
        if budget.max_group_loss is not None:
            limits += [
                ToleratedLoss(name, values, budget.max_group_loss)
                for name, values in scores.items()
                if name.startswith(_SUBGROUP)
            ]
        share = 1.0 if self.problem.predictions.is_sequential else STEADY_SHARE
        tolerated = smallest_tolerated_size(sizes, limits, share, budget.relative_to)
        if tolerated is None:
            names = format_list([limit.name.removeprefix(_SUBGROUP) for limit in limits], " and ")
            raise BudgetError(
                f"No size is within all tolerances ({names}) at the same time. Pass larger "
                "tolerances, or {relative_to} to compare with the full ensemble.",
                relative_to="full",
            )
        return tolerated

    @cached_property
    def _scores_by_vote(self) -> dict[str, tuple[IndexArray, dict[str, FloatArray]]]:
        return {}

    def held_out_scores(
        self, vote: str, budget: Budget
    ) -> tuple[IndexArray, dict[str, FloatArray]]:
        """Return sizes and their cross-validated scores; the last size is the full ensemble.

        The scores are those that have a tolerance, by their keys, and the score to optimise in
        each subgroup if its loss is limited.
        """
        if vote not in self._scores_by_vote:
            self._scores_by_vote[vote] = self._cross_validate_sizes(vote, budget)
        return self._scores_by_vote[vote]

    def _cross_validate_sizes(
        self, vote: str, budget: Budget
    ) -> tuple[IndexArray, dict[str, FloatArray]]:
        problem, own = self.problem.without_samples(), vote == "auto"  # without a test set
        if own and not problem.is_regression:
            problem = problem.with_validation_set(self.problem.X)
        if budget.max_group_loss is None:
            problem = replace(problem, sensitive_features=None)
        keys = budget.tolerances(problem)
        scorings = [s for s in problem.scorings if s.key in keys] or [problem.scoring]
        if budget.max_group_loss is not None and scorings[0] is not problem.scoring:
            scorings = [problem.scoring, *(s for s in scorings if s is not problem.scoring)]
        is_counted = scorings == [problem.scoring] and problem.is_plain_accuracy
        is_counted = is_counted and problem.sensitive_features is None
        curve = cross_validate_selections(
            EvaluationPlan(problem, self.rng),
            {"": self._select_all_sizes},
            (),
            title="finding the size",
            only_folds=True,
            by_labels=None if is_counted else not own,
            scorings=scorings,
        )[""]
        values = _values_by_key(curve, scorings, own if is_counted else None)
        if budget.max_group_loss is not None:
            key = problem.scoring.key
            subgroups = {name: curve.scores[key, name].values for name in curve.subgroups}
            values |= {
                f"{_SUBGROUP}{name}": by_size
                for name, by_size in subgroups.items()
                if not np.isnan(by_size).any()
            }
        return self.sizes, values

    def cross_validate_sizes(self, scoring: Scoring) -> ScoreCurve:
        """Return the cross-validated score of the ensemble's own vote for each of the sizes."""
        return self._cross_validate(scoring, self._select_all_sizes, ())

    def cross_validate_own_size(self, scoring: Scoring) -> ScoreCurve:
        """Return the cross-validated score for the pruner's own ``keep``, a single size."""

        def select(problem: Problem) -> Selection:
            fitted = SizeSearch(problem, self.pruner, self.rng)._fit_at_size(self.pruner.keep)
            weights = problem.weights_from_pruner(fitted)
            given = {} if weights is None else {0: weights}
            members = {0: fitted.member_indices_.tolist()}
            return Selection(np.array([0]), None, members, weights=given)

        return self._cross_validate(scoring, select, [0])

    def _cross_validate(
        self, scoring: Scoring, select: MemberSelector, sizes: Sequence[int]
    ) -> ScoreCurve:
        self.problem.scored_predictions()  # collects them before the samples are dropped
        problem = replace(self.problem.without_samples(), sensitive_features=None)
        curve = cross_validate_selections(
            EvaluationPlan(problem, self.rng),
            {"": select},
            sizes,
            title="finding the size",
            only_folds=True,
            by_labels=False,
            scorings=[scoring],
        )[""]
        return curve.scores[scoring.key, None]

    @property
    def sizes(self) -> IndexArray:
        """The sizes that are cross-validated; the last is the full ensemble."""
        n_members = self.problem.n_members
        if self.pruner.is_nested:
            return np.arange(1, n_members + 1)
        # Denser at small sizes, where scores change most.
        spaced = np.geomspace(1, n_members, _N_SEARCHED_SIZES)
        return np.unique(spaced.round().astype(np.intp))

    def _select_all_sizes(self, problem: Problem) -> Selection:
        """Return the members that the pruner selects for each size; all for the last."""
        search, sizes = SizeSearch(problem, self.pruner, self.rng), self.sizes
        n_members = problem.n_members
        selected = {int(size): search.members_and_weights(int(size)) for size in sizes[:-1]}
        members = {size: group for size, (group, _) in selected.items()}
        is_nested = self.pruner.is_nested
        members[n_members] = search.members_at(n_members) if is_nested else [*range(n_members)]
        weights = {size: given for size, (_, given) in selected.items() if given is not None}
        return Selection(sizes, None, members, weights=weights)

    def _largest_allowed(self, name: str, budget: Budget) -> int:
        """Return the largest size within a limit; raise an error if one member is too many."""
        size = largest_within_limit(
            name, self.problem, budget, self.problem.n_members, self._served_at_size
        )
        if size == 0:
            raise budget_error(name, self.problem, budget, self.members_at(1))
        return size

    def _describe_limit(self, limit_names: Sequence[str], size: int) -> str:
        """Return the timings that decided, if the latency is the only limit."""
        if limit_names != ["max_latency"]:
            return ""
        own, _ = measure_latencies(self.problem, self.problem.n_members, self._served_at_size)
        taken = format_milliseconds(own.seconds_for(size))
        text = f"max_latency: {format_count(size, 'member')} take {taken} for one sample"
        if size == self.problem.n_members:
            return text
        return f"{text}, one more {format_milliseconds(own.seconds_for(size + 1))}"

    def _served_at_size(self, n_keep: int) -> tuple[list[int], Ensemble]:
        """Return the members for a size, and the ensemble with their weights, if they have any."""
        members, weights = self.members_and_weights(n_keep)
        if weights is None:
            weights = self.problem.optimised_weights(members)
        return members, with_member_weights(self.problem.ensemble, members, weights)


_SUBGROUP = "subgroup "  # before the name of a subgroup, among names of limits


def _read_tolerance(
    tolerance: float | str | Mapping[str, float | str] | None,
) -> float | dict[str, float] | None:
    """Return the parameter ``tolerance`` with texts such as "0.5%" as numbers."""
    if not isinstance(tolerance, Mapping):
        return LOSS.read_parameter("tolerance", tolerance)
    if not tolerance:
        raise InputError("{tolerance} has no scores. Pass at least one.", tolerance=tolerance)
    return {str(key): LOSS.read_parameter("tolerance", loss) for key, loss in tolerance.items()}


def _values_by_key(
    curve: SizeCurve, scorings: Sequence[Scoring], counted_by_own_vote: bool | None
) -> dict[str, FloatArray]:
    """Return the scores by size of each scoring; exact accuracies if votes were counted."""
    if counted_by_own_vote is None:
        return {s.key: curve.scores[s.key, None].values for s in scorings}
    counts = curve.by_own_vote if counted_by_own_vote else curve.by_labels
    return {scorings[0].key: counts.accuracy}


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
            "on this machine: an equal call may keep another number of members. Prune on an idle "
            "machine, or pass the number of members as {keep}.",
            max_latency=limit,
            keep=size,
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
