"""The number of members that meets a budget, and how size and latency are measured."""

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from secateurs._text import counted
from secateurs.ensembles import Ensemble
from secateurs.evaluation._curves import score
from secateurs.evaluation._rows import Split
from secateurs.exceptions import BudgetError, InputError
from secateurs.problem import Problem
from secateurs.pruners import BasePruner


@dataclass(frozen=True)
class Budget:
    """Limits of a sub-ensemble: its cost, or its loss of accuracy; see `secateurs.prune`."""

    tolerance: float | None = None
    max_bytes: float | None = None
    max_latency: float | None = None
    cost: ArrayLike | None = None
    max_cost: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return any(value is not None for value in vars(self).values())

    def check(self, problem: Problem) -> None:
        """Refuse budgets that make no sense."""
        for name in ("tolerance", "max_bytes", "max_latency", "max_cost"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(
                    f"{{{name}}} is not a valid budget. Give a number of 0 or more.",
                    **{name: value},
                )
        if (self.cost is None) != (self.max_cost is None):
            raise InputError(
                "{cost} and {max_cost} go together: the cost of each member, and the total.",
                cost=...,
                max_cost=...,
            )
        if self.cost is not None:
            costs = np.asarray(self.cost, dtype=float)
            if costs.shape != (problem.n_members,) or not (costs >= 0).all():
                raise InputError(
                    f"{{cost}} has shape {costs.shape}. Give a number of 0 or more for each of the "
                    f"{problem.n_members} members.",
                    cost=...,
                )
        if self.max_latency is not None and problem.X is None:
            raise InputError(
                "{max_latency} needs models to measure; predictions take no time.", max_latency=...
            )


@dataclass(frozen=True, eq=False)
class Sizes:
    """Sub-ensembles of all sizes that a pruner chooses."""

    problem: Problem
    pruner: BasePruner
    rng: np.random.RandomState

    def members(self, n_keep: int) -> list[int]:
        """Return the members that the pruner keeps with this keep."""
        return self._order[:n_keep] if self.pruner.is_nested else self._chosen(n_keep)

    def _chosen(self, n_keep: int) -> list[int]:
        outputs = self.problem.outputs_for(self.pruner)
        return self.pruner.with_keep(n_keep).fit(outputs).member_indices_.tolist()

    @cached_property
    def _order(self) -> list[int]:
        return self._chosen(self.problem.n_members)

    def find(self, budget: Budget, vote: str) -> int:
        """Return the size that meets the budget: the smallest tolerated, or the largest allowed."""
        budget.check(self.problem)
        limits = [name for name in _COSTS if getattr(budget, name) is not None]
        largest = min((self._largest(name, budget) for name in limits), default=None)
        if budget.tolerance is None:
            assert largest is not None
            return largest
        sizes, scores = self.held_out_curve(vote)
        enough = sizes[scores >= scores[-1] - budget.tolerance - 1e-12]
        if largest is not None and enough[0] > largest:
            within, scoring = scores[sizes <= largest], self.problem.scoring
            raise BudgetError(
                f"No sub-ensemble of at most {counted(largest, 'member')}, as the budget allows, "
                f"meets {{tolerance}}: on rows held out the {scoring.label} of the whole ensemble "
                f"is {scoring.shown(scores[-1]):.4f}, the best of these "
                f"{scoring.shown(within.max()):.4f}. Allow more, or a larger tolerance.",
                tolerance=budget.tolerance,
            )
        return int(enough[0])

    def held_out_curve(self, vote: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return sizes, the last one being all members, and their score on rows held out."""
        n_members, nested = self.problem.n_members, self.pruner.is_nested
        sizes = np.arange(1, n_members + 1)
        if not nested:  # a search for each: about twenty, denser at the start
            sizes = np.unique(np.geomspace(1, n_members, 20).round().astype(np.intp))
        problem = self.problem.without_rows()  # not even test rows: cross-fit
        own = vote == "auto"
        if own and not problem.is_regression:
            problem = problem.with_rows(self.problem.X)
        right, scored = np.zeros(len(sizes), dtype=np.int64), None
        for part in Split(problem, self.rng).parts():
            chosen = Sizes(part.problem, self.pruner, self.rng)
            groups = [chosen.members(size) for size in sizes[:-1]]
            groups.append(chosen.members(n_members) if nested else list(range(n_members)))
            if problem.counts_rows:
                for ballots in part.ballots():
                    right += score(ballots, groups, own=own)[0].right
            else:
                found = part.scored(groups)
                scored = found if scored is None else scored + found
        return sizes, right / problem.votes.n_samples if scored is None else scored.values

    def _largest(self, name: str, budget: Budget) -> int:
        """Return the largest size within a limit, by bisection: cost grows with size."""
        limit, low, high = getattr(budget, name), 0, self.problem.n_members
        while low < high:
            middle = (low + high + 1) // 2
            fits = _COSTS[name](self.problem, budget, self.members(middle)) <= limit
            low, high = (middle, high) if fits else (low, middle - 1)
        if low == 0:
            raise BudgetError(f"Not even one member meets {{{name}}}. Allow more.", **{name: limit})
        return low


def n_bytes(ensemble: Ensemble, members: Sequence[int]) -> int:
    """Return the size of a pickled sub-ensemble."""
    return len(pickle.dumps(ensemble.slice(sorted(members))))


def _latency(problem: Problem, _: Budget, members: list[int]) -> float:
    return latency(predictor(problem.ensemble, members), _safe_indexing(problem.X, [0]))


# What members cost, by the parameter that limits it.
_COSTS: dict[str, Callable[[Problem, Budget, list[int]], float]] = {
    "max_bytes": lambda problem, _, members: n_bytes(problem.ensemble, members),
    "max_latency": _latency,
    "max_cost": lambda _, budget, members: np.asarray(budget.cost, dtype=float)[members].sum(),
}


def own_vote(ensemble: Ensemble, X: Any, members: Sequence[int]) -> NDArray[Any]:
    """Return what members answer together, as in their ensemble: labels, or numbers."""
    prepared = ensemble.prepare(X)
    if ensemble.is_regression:
        answers = [ensemble.numbers(prepared, member) for member in members]
        weights = None if ensemble.weights is None else ensemble.weights[list(members)]
        return np.average(answers, axis=0, weights=weights)
    tally: Any = sum(ensemble.contribution(prepared, member) for member in members)
    return ensemble.classes[tally.argmax(axis=1)]


def predictor(ensemble: Ensemble, members: Sequence[int]) -> Callable[[Any], Any]:
    """Return the predict of a sliced ensemble; for a list of models, their plurality vote."""
    sliced = ensemble.slice(sorted(members))
    if hasattr(sliced, "predict"):
        return sliced.predict
    return lambda X: own_vote(ensemble, X, sorted(members))


def latency(predict: Callable[[Any], Any], rows: Any, most_seconds: float = 0.3) -> float:
    """Return the seconds of a prediction: the median of three repeats or more."""
    return float(np.median(timings([predict], rows, most_seconds)))


def timings(
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
        rounds.append([_seconds(predict, rows, warm) for predict in predicts])
        spent += sum(rounds[-1]) * (1 + warm)
    return np.transpose(rounds)


def _seconds(predict: Callable[[Any], Any], rows: Any, warm: bool) -> float:
    if warm:
        predict(rows)
    start = time.perf_counter()
    predict(rows)
    return time.perf_counter() - start
