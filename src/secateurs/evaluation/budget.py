"""The number of members that meets a budget, and how size and latency are measured."""

import copy
import pickle
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from secateurs.ensembles import CORRECTS, Ensemble
from secateurs.evaluation._cost_rules import bisect_largest_size
from secateurs.evaluation._tolerance import STEADY_SHARE, ToleratedSize, smallest_tolerated_size
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.latency import Latency
from secateurs.evaluation.score_curve import Floats
from secateurs.evaluation.size_curves import count_correct
from secateurs.exceptions import BudgetError, InputError, SecateursWarning
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.pruners.selector import fit_pruner
from secateurs.text_format import format_count
from secateurs.units import LATENCY, LOSS, SIZE, format_bytes, format_milliseconds, round_up

_QUANTITIES = {"tolerance": LOSS, "max_bytes": SIZE, "max_latency": LATENCY}

Served = Callable[[int], tuple[list[int], Ensemble]]  # first members, and an ensemble to slice


@dataclass(frozen=True)
class Budget:
    """Limits of a sub-ensemble: its cost, or its loss of accuracy; see `secateurs.prune`."""

    tolerance: Any = None  # a number, or text that becomes one
    max_bytes: Any = None
    max_latency: Any = None
    cost: ArrayLike | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name, quantity in _QUANTITIES.items():
            object.__setattr__(self, name, quantity.read_parameter(name, getattr(self, name)))

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return any(value is not None for value in vars(self).values())

    def check_limits(self, problem: Problem) -> None:
        """Refuse budgets that make no sense."""
        for name in ("tolerance", "max_bytes", "max_latency", "max_cost"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value >= 0):
                text = f", or text such as {_QUANTITIES[name].examples}" * (name in _QUANTITIES)
                raise InputError(
                    f"{{{name}}} is not a valid budget. Give a number of 0 or more{text}.",
                    **{name: value},
                )
        if (self.cost is None) != (self.max_cost is None):
            raise InputError(
                "{cost} and {max_cost} go together: the cost of each member, and the total.",
                cost=...,
                max_cost=...,
            )
        if self.cost is not None and problem.ensemble.is_sequential:
            raise InputError(
                f"{{cost}} cannot choose among the rounds of a boosted model: {CORRECTS}. Give "
                "{keep}, or another budget.",
                cost=...,
                keep=...,
            )
        if self.cost is not None:
            try:
                costs = np.asarray(self.cost, dtype=float)
            except (TypeError, ValueError):
                raise InputError(
                    "{cost} are not numbers. Give one for each member.", cost=...
                ) from None
            bad = costs[~((costs >= 0) & (costs < np.inf))]
            if costs.shape != (problem.n_members,) or len(bad):
                below = f" and holds {bad[0]:g}" if len(bad) else ""
                raise InputError(
                    f"{{cost}} has shape {costs.shape}{below}. Give a number of 0 or more for each "
                    f"of the {problem.n_members} members.",
                    cost=...,
                )
        if self.max_latency is not None and problem.X is None:
            raise InputError(
                "{max_latency} needs models to measure; predictions take no time.", max_latency=...
            )


@dataclass(frozen=True, eq=False)
class SizeSearch:
    """Sub-ensembles of all sizes that a pruner chooses."""

    problem: Problem
    pruner: BasePruner
    rng: np.random.RandomState

    def members_at(self, n_keep: int) -> list[int]:
        """Return the members that the pruner keeps with this keep."""
        return self.members_and_weights(n_keep)[0]

    def members_and_weights(self, n_keep: int) -> tuple[list[int], Floats | None]:
        """Return the members that the pruner keeps with this keep, and weights that it gives."""
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
        limits = [
            name for name in ("max_bytes", "max_latency") if getattr(budget, name) is not None
        ]
        largest = min((self._largest_allowed(name, budget) for name in limits), default=None)
        if budget.tolerance is None:
            assert largest is not None
            return ToleratedSize(largest)
        sizes, scores = self.held_out_curve(vote)
        share = 1.0 if self.problem.predictions.is_sequential else STEADY_SHARE
        found = smallest_tolerated_size(sizes, scores, budget.tolerance, share)
        if largest is not None and found.size > largest:
            within, scoring = scores[sizes <= largest], self.problem.scoring
            raise BudgetError(
                f"No sub-ensemble of at most {format_count(largest, 'member')}, as the budget allows, "
                f"meets {{tolerance}}: on rows held out the {scoring.label} of the whole ensemble "
                f"is {scoring.display_score(scores[-1]):.4f}, the best of these "
                f"{scoring.display_score(within.max()):.4f}. Allow more, or a larger tolerance.",
                tolerance=budget.tolerance,
            )
        return found

    def held_out_curve(self, vote: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return sizes, the last one being all members, and their score on rows held out."""
        n_members, nested = self.problem.n_members, self.pruner.is_nested
        sizes = np.arange(1, n_members + 1)
        if not nested:  # a search for each: about twenty, denser at the start
            sizes = np.unique(np.geomspace(1, n_members, 20).round().astype(np.intp))
        problem = self.problem.without_samples()  # not even test rows: cross-fit
        own = vote == "auto"
        if own and not problem.is_regression:
            problem = problem.with_validation_set(self.problem.X)
        right, scored = np.zeros(len(sizes), dtype=np.int64), None
        split = EvaluationPlan(problem, self.rng)
        with open_stage("finding the size", max(1, split.n_selections - 1)) as steps:
            for part in split.iter_folds():
                fold = SizeSearch(part.problem, self.pruner, self.rng)
                chosen = [fold.members_and_weights(size) for size in sizes[:-1]]
                groups = [members for members, _ in chosen]
                groups.append(fold.members_at(n_members) if nested else list(range(n_members)))
                weights = {place: one for place, (_, one) in enumerate(chosen) if one is not None}
                if problem.is_plain_accuracy:
                    for ballots in part.vote_blocks():
                        right += count_correct(ballots, groups, own, weights=weights)[0].n_right
                else:
                    found = part.score_groups(groups, self.problem.scoring, (), weights)
                    scored = found if scored is None else scored + found
                steps.step()
        return sizes, right / problem.predictions.n_samples if scored is None else scored.values

    def _largest_allowed(self, name: str, budget: Budget) -> int:
        """Return the largest size within a limit."""
        found = largest_within_limit(
            name, self.problem, budget, self.problem.n_members, self._served_at_size
        )
        if found == 0:
            raise budget_error(name, self.problem, budget, self.members_at(1))
        return found

    def _served_at_size(self, n_keep: int) -> tuple[list[int], Ensemble]:
        """Return the members that the pruner keeps, and the ensemble with the weights they have."""
        members, weights = self.members_and_weights(n_keep)
        if weights is None:
            weights = self.problem.optimised_weights(members)
        return members, with_member_weights(self.problem.ensemble, members, weights)


def largest_within_limit(
    name: str,
    problem: Problem,
    budget: Budget,
    n_members: int,
    served: Served,
) -> int:
    """Return the most members, of the first 1, 2, …, that are within a limit."""
    limit = getattr(budget, name)
    if name == "max_bytes":

        def meets(some: list[int]) -> bool:
            members, ensemble = served(len(some))
            return pickle_bytes(ensemble, members) <= limit

        return bisect_largest_size(range(n_members), meets)
    own, alone = measure_latencies(problem, n_members, served)
    found = own.max_members(limit)
    if found and alone is not None and alone.seconds_for(found) < 0.9 * own.seconds_for(found):
        warn_caller(
            f"With {format_count(found, 'member')} one row takes {format_milliseconds(own.seconds_for(found))} by the "
            f"model's n_jobs={model_n_jobs(problem.ensemble)}, and {format_milliseconds(alone.seconds_for(found))} by "
            f"n_jobs=1, with which {{max_latency}} allows {format_count(alone.max_members(limit), 'member')}. "
            "Set n_jobs=1 in the model, and prune again.",
            max_latency=limit,
        )
    elif found == 1 < n_members:
        warn_caller(
            f"{{max_latency}} leaves a single member: {_describe_latency(own)}, each further one takes "
            f"{format_milliseconds(own.per_member)}. Allow more.",
            max_latency=limit,
        )
    return found


def measure_latencies(
    problem: Problem, n_members: int, served: Served, alone: bool = True
) -> tuple[Latency, Latency | None]:
    """Measure how long one row takes, with the model's own ``n_jobs``, and with 1 if that differs.

    All are timed in turns, so that other work on the machine slows them alike.
    """
    ensemble = problem.ensemble
    alike = len({type(member) for member in ensemble.members}) == 1
    spaced = np.geomspace(1, n_members, 5 if alike else 12)
    sizes = np.unique(spaced.round().astype(np.intp))
    sets = [served(int(size)) for size in sizes]
    predicts = [make_predictor(of_some, some) for some, of_some in sets]
    if alone and model_n_jobs(ensemble) != 1:
        predicts += [make_predictor(_with_one_job(of_some), some) for some, of_some in sets]
    if ensemble.wrappers:
        predicts.append(partial(_run_preprocessing, ensemble))
    medians = np.median(time_predictions(predicts, _safe_indexing(problem.X, [0]), 0.2), axis=1)
    preparing = float(medians[-1]) if ensemble.wrappers else 0.0
    both = medians[: len(predicts) - bool(ensemble.wrappers)].reshape(-1, len(sizes))
    found = [Latency(sizes, seconds, preparing, alike) for seconds in both]
    return found[0], found[1] if len(found) > 1 else None


def full_ensemble_latency(problem: Problem) -> Latency | None:
    """Measure how long one row takes by the number of members; None without models or rows."""
    X = problem.X if problem.X is not None else problem.X_test
    if problem.has_only_predictions or X is None:
        return None
    everybody = range(problem.n_members)
    served = replace(problem, X=X)
    return measure_latencies(
        served, problem.n_members, lambda n: (list(everybody[:n]), problem.ensemble), alone=False
    )[0]


def _with_one_job(ensemble: Ensemble) -> Ensemble:
    changed = copy.copy(ensemble)
    changed.model = copy.copy(ensemble.model)
    changed.model.n_jobs = 1
    return changed


def model_n_jobs(ensemble: Ensemble) -> int:
    """Return the ``n_jobs`` that the model itself predicts with."""
    return getattr(ensemble.model, "n_jobs", None) or 1


def _run_preprocessing(ensemble: Ensemble, X: Any) -> Any:
    for pipeline in ensemble.wrappers:
        X = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    return X


def _describe_latency(latency: Latency) -> str:
    """Return what one member takes, and what of that is for the steps before it."""
    whole = f"one takes {format_milliseconds(latency.seconds_for(1))}"
    if latency.preprocessing_seconds == 0:
        return whole
    return f"{whole}, of which preprocessing takes {format_milliseconds(latency.preprocessing_seconds)}"


def warn_caller(message: str, **parameters: Any) -> None:
    """Warn whoever called `secateurs.prune`."""
    warnings.warn(SecateursWarning(message, **parameters), stacklevel=6)


def with_member_weights(
    ensemble: Ensemble, members: Sequence[int], weights: Floats | None
) -> Ensemble:
    """Return an ensemble in which members have weights, if there are any."""
    if weights is None:
        return ensemble
    everybody = np.zeros(ensemble.n_members)
    everybody[members] = weights
    return ensemble.with_member_weights(everybody)


def budget_error(
    name: str, problem: Problem, budget: Budget, first: Sequence[int] = ()
) -> BudgetError:
    """Return the error for a limit that not even one member meets: it says what one takes.

    ``first`` is the member that the method chooses first, if only its choices are looked at.
    """
    limit = getattr(budget, name)
    if name == "max_latency":
        own, alone = measure_latencies(
            problem, 1, lambda _: (list(first or [0])[:1], problem.ensemble)
        )
        reached = _describe_latency(own)
        if alone is not None and alone.seconds_for(1) < own.seconds_for(1):
            reached += f"; with n_jobs=1 in the model, {format_milliseconds(alone.seconds_for(1))}"
    elif name == "max_cost":
        cheapest = float(np.asarray(budget.cost, dtype=float).min())
        reached = f"the cheapest costs {round_up(cheapest, 6):.15g}"
    else:
        single = range(1 if problem.ensemble.is_sequential else problem.n_members)
        smallest = min(pickle_bytes(problem.ensemble, [one]) for one in single)
        reached = f"the smallest takes {format_bytes(smallest)}"
        if smallest <= limit:
            taken = format_bytes(pickle_bytes(problem.ensemble, first))
            return BudgetError(
                f"The first member chosen does not meet {{{name}}}: it takes {taken}, {reached}. "
                "Allow more, or give another pruner.",
                **{name: limit},
            )
    return BudgetError(
        f"Not even one member meets {{{name}}}: {reached}. Allow more.", **{name: limit}
    )


def pickle_bytes(ensemble: Ensemble, members: Sequence[int]) -> int:
    """Return the size of a pickled sub-ensemble."""
    return len(pickle.dumps(ensemble.as_predictor(sorted(members))))


def combined_prediction(ensemble: Ensemble, X: Any, members: Sequence[int]) -> NDArray[Any]:
    """Return what members answer together, as in their ensemble: labels, or numbers."""
    prepared = ensemble.prepare_input(X)
    weights = None if ensemble.weights is None else ensemble.weights[list(members)]
    if isinstance(ensemble, PredictionTable) and ensemble.is_regression:
        return ensemble.numeric_predictions.average(members, weights)  # of those that have a value
    if ensemble.is_regression:
        answers = [ensemble.predicted_values(prepared, member) for member in members]
        return np.average(answers, axis=0, weights=weights)
    tally: Any = sum(ensemble.vote_contribution(prepared, member) for member in members)
    return ensemble.classes[tally.argmax(axis=1)]


def make_predictor(ensemble: Ensemble, members: Sequence[int]) -> Callable[[Any], Any]:
    """Return the predict of some members; of predictions, their vote or mean."""
    served = ensemble.as_predictor(sorted(members))
    if hasattr(served, "predict"):
        return served.predict
    return lambda X: combined_prediction(ensemble, X, sorted(members))


def time_predictions(
    predicts: Sequence[Callable[[Any], Any]], rows: Any, most_seconds: float = 0.3
) -> NDArray[np.float64]:
    """Time predictions in turns, so that other work on the machine slows all of them alike.

    Returns the seconds of every repeat, (n_predicts, n_repeats): three repeats or more, as many as
    take ``most_seconds`` per prediction on average.
    """
    budget, spent = most_seconds * len(predicts), 0.0
    rounds: list[list[float]] = []
    while len(rounds) < 3 or (spent < budget and len(rounds) < 100):
        # Another one ran last and left its data in the caches: run once before timing.
        warm = not rounds or (len(predicts) > 1 and spent < budget)
        rounds.append([_time_once(predict, rows, warm) for predict in predicts])
        spent += sum(rounds[-1]) * (1 + warm)
    return np.transpose(rounds)


def _time_once(predict: Callable[[Any], Any], rows: Any, warm: bool) -> float:
    if warm:
        predict(rows)
    start = time.perf_counter()
    predict(rows)
    return time.perf_counter() - start
