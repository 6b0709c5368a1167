"""How many members to keep: a number, or the smallest or largest number that meets a budget."""

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from secateurs._labels import one_hot
from secateurs.ensembles import Ensemble
from secateurs.exceptions import BudgetError, InputError
from secateurs.outputs._folds import folds
from secateurs.outputs._votes import Votes
from secateurs.pruners import BasePruner


@dataclass(frozen=True)
class Budget:
    """What the sub-ensemble may cost, or how much worse it may be.

    Attributes
    ----------
    tolerance : float or None
        How far the accuracy on rows held out may lie below that of the whole ensemble.
    max_bytes : int or None
        Largest size of the pickled sub-ensemble.
    max_latency : float or None
        Longest time to predict one row, in seconds, measured.
    cost, max_cost : array-like of shape (n_members,) and float, or None
        What each member costs, and what all together may cost.
    """

    tolerance: float | None = None
    max_bytes: float | None = None
    max_latency: float | None = None
    cost: ArrayLike | None = None
    max_cost: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether anything is asked for."""
        named = (self.tolerance, self.max_bytes, self.max_latency, self.cost, self.max_cost)
        return any(value is not None for value in named)

    def check(self, n_members: int) -> None:
        """Refuse budgets that are none."""
        for name in ("tolerance", "max_bytes", "max_latency", "max_cost"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"{name}={value!r} is no budget. Give a number of 0 or more.")
        if (self.cost is None) != (self.max_cost is None):
            raise InputError(
                "cost and max_cost go together: what each member costs, and the total."
            )
        if self.cost is not None:
            costs = np.asarray(self.cost, dtype=float)
            if costs.shape != (n_members,) or not (costs >= 0).all():
                raise InputError(
                    f"cost has shape {costs.shape}. Give a number of 0 or more for each of the "
                    f"{n_members} members."
                )


@dataclass(frozen=True, eq=False)
class Sizes:
    """Sub-ensembles of all sizes that a pruner chooses."""

    ensemble: Ensemble
    X: Any
    votes: Votes
    pruner: BasePruner
    rng: np.random.RandomState

    def members(self, n_keep: int) -> list[int]:
        """Give the members that the pruner keeps of so many."""
        if self.pruner.is_nested:
            return self._order[:n_keep]
        return self.pruner.with_keep(n_keep).fit(self.votes).member_indices_.tolist()

    def find(self, budget: Budget, vote: str) -> int:
        """Find the size that meets the budget: as small as tolerated, else as large as allowed."""
        budget.check(self.votes.n_members)
        limits = self._limits(budget)
        largest = min((self._largest(fits, name) for name, fits in limits), default=None)
        if budget.tolerance is None:
            assert largest is not None
            return largest
        sizes, accuracies = self.held_out_curve(vote)
        enough = sizes[accuracies >= accuracies[-1] - budget.tolerance - 1e-12]
        if largest is not None and enough[0] > largest:
            within = accuracies[sizes <= largest]
            raise BudgetError(
                f"No sub-ensemble of at most {largest} members, as the budget allows, is within "
                f"{budget.tolerance:g} of {accuracies[-1]:.4f} on rows held out; the best has "
                f"{within.max():.4f}. Allow more, or a larger tolerance."
            )
        return int(enough[0])

    def held_out_curve(self, vote: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Accuracy on rows held out for a range of sizes, the last one being all members."""
        n_members = self.votes.n_members
        prepared = self.ensemble.prepare(self.X)
        y = self.votes.truth
        classes = np.searchsorted(self.votes.classes, self.ensemble.classes)
        nested = self.pruner.is_nested
        sizes = np.arange(1, n_members + 1) if nested else _spread_sizes(n_members)
        right = np.zeros(len(sizes))
        for chosen_on, held_out in folds(y, self.rng):
            rows = _safe_indexing(prepared, held_out)
            part = Sizes(self.ensemble, None, self.votes.rows(chosen_on), self.pruner, self.rng)

            def share(member: int, rows: Any = rows, held_out: Any = held_out) -> Any:
                given = _share(self.ensemble, rows, member, vote)
                return given * self._has_vote(member)[held_out, None]

            tally: Any = 0.0
            for place, size in enumerate(sizes):
                if nested:
                    tally = tally + share(part.members(size)[-1])
                else:
                    everybody = size == n_members
                    members = range(n_members) if everybody else part.members(size)
                    tally = sum(share(member) for member in members)
                right[place] += np.count_nonzero(classes[tally.argmax(axis=1)] == y[held_out])
        return sizes, right / len(y)

    def _has_vote(self, member: int) -> NDArray[np.bool_]:
        """Mark the rows that a member may vote on: out of its bag, if that is how votes are."""
        if not self.votes.has_missing:
            return np.ones(self.votes.n_samples, dtype=bool)
        return self.votes.codes([member])[0] < self.votes.n_classes

    @cached_property
    def _order(self) -> list[int]:
        return self.pruner.with_keep(self.votes.n_members).fit(self.votes).member_indices_.tolist()

    def _limits(self, budget: Budget) -> list[tuple[str, Callable[[list[int]], bool]]]:
        limits: list[tuple[str, Callable[[list[int]], bool]]] = []
        if budget.max_bytes is not None:
            most = budget.max_bytes
            limits.append((f"max_bytes={most:g}", lambda m: self._n_bytes(m) <= most))
        if budget.max_latency is not None:
            row = _safe_indexing(self.X, [0]) if self.X is not None else None
            if row is None:
                raise InputError("max_latency needs models to measure; predictions take no time.")
            longest = budget.max_latency
            limits.append((f"max_latency={longest:g}", lambda m: self._latency(m, row) <= longest))
        if budget.cost is not None and budget.max_cost is not None:
            costs, total = np.asarray(budget.cost, dtype=float), budget.max_cost
            limits.append((f"max_cost={total:g}", lambda m: costs[m].sum() <= total))
        return limits

    def _largest(self, fits: Callable[[list[int]], bool], name: str) -> int:
        """Find the largest size that fits, by halving: cost grows with size."""
        low, high = 0, self.votes.n_members
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(self.members(middle)) else (low, middle - 1)
        if low == 0:
            raise BudgetError(f"Not even one member meets {name}. Allow more.")
        return low

    def _n_bytes(self, members: list[int]) -> int:
        return len(pickle.dumps(self.ensemble.slice(sorted(members))))

    def _latency(self, members: list[int], row: Any) -> float:
        return latency(predictor(self.ensemble, members), row)


def own_vote(ensemble: Ensemble, X: Any, members: Sequence[int]) -> NDArray[Any]:
    """Give the label that members vote for together, as their ensemble would have them vote."""
    prepared = ensemble.prepare(X)
    tally: Any = sum(ensemble.contribution(prepared, member) for member in members)
    return ensemble.classes[tally.argmax(axis=1)]


def predictor(ensemble: Ensemble, members: Sequence[int]) -> Callable[[Any], Any]:
    """Give the predict of a sliced ensemble; for lists of models, their plurality vote."""
    sliced = ensemble.slice(sorted(members))
    if hasattr(sliced, "predict"):
        return sliced.predict
    return lambda X: own_vote(ensemble, X, sorted(members))


def latency(predict: Callable[[Any], Any], rows: Any, most_seconds: float = 0.3) -> float:
    """Measure a prediction: the median of repeats, three at the least."""
    return float(np.median(timings([predict], rows, most_seconds)))


def timings(
    predicts: Sequence[Callable[[Any], Any]], rows: Any, most_seconds: float = 0.3
) -> NDArray[np.float64]:
    """Time predictions in turns, so that whatever else the machine does slows all of them alike.

    Gives the seconds of every repeat, (n_predicts, n_repeats): three repeats at the least, and no
    more than take ``most_seconds`` for each prediction on average.
    """
    budget, spent = most_seconds * len(predicts), 0.0
    rounds: list[list[float]] = []
    while len(rounds) < 3 or (spent < budget and len(rounds) < 100):
        # Another one ran last and left its own data in the caches: run once before timing.
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


def _share(ensemble: Ensemble, prepared: Any, member: int, vote: str) -> NDArray[np.float64]:
    if vote == "labels":
        return one_hot(ensemble.codes(prepared, member), len(ensemble.classes))
    return ensemble.contribution(prepared, member)


def _spread_sizes(n_members: int) -> NDArray[np.intp]:
    """Sizes to try where each needs a search of its own: some twenty, closer at the start."""
    return np.unique(np.geomspace(1, n_members, 20).round().astype(np.intp))
