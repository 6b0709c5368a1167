"""Pruning in two rounds: in groups of members, then among all that were chosen."""

import math
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from secateurs.distributed._rounds import Job, Progress, Result, Rounds, Told
from secateurs.engines._checkpoints import Checkpoints
from secateurs.engines._engines import ambient_engine, engine_for, running
from secateurs.engines._transport import Members, parts_for
from secateurs.outputs._store import VoteStore
from secateurs.outputs._votes import Votes
from secateurs.pruners._base import (
    BasePruner,
    SpreadPruner,
    check_option,
    is_whole,
    resolve_keep,
)
from secateurs.search import Choice, tied_best


class GroupedPruner(SpreadPruner):
    """Base class of `EPFD` and `DOMEP`.

    All chance is drawn before any group is pruned, so the order and the place in which groups are
    pruned never change the result.
    """

    n_groups: Any
    n_jobs: int | None

    @property
    @abstractmethod
    def _inner(self) -> BasePruner:
        """The method applied to each group."""

    @property
    @abstractmethod
    def _criterion(self) -> str | Callable[[Any, Members], float]:
        """What the best result is best at."""

    @property
    def is_nested(self) -> bool:
        """Whether a smaller ``keep`` gives a beginning of what a larger one gives."""
        return False

    @property
    def may_keep_fewer(self) -> bool:  # type: ignore[override]
        """Whether the method may keep fewer members than it is asked to."""
        return self._inner.may_keep_fewer

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the method takes missing votes."""
        return self._inner.takes_missing

    @property
    def larger_is_better(self) -> bool:  # type: ignore[override]
        """Whether a larger objective is better."""
        return self._inner.larger_is_better

    @property
    def _may_decide_size(self) -> bool:  # type: ignore[override]
        return self._inner._may_decide_size

    def _check_parameters(self, votes: Votes | VoteStore) -> None:
        if not callable(self._criterion):
            check_option("criterion", self._criterion, ("accuracy", "objective"))
        whole = is_whole(self.n_groups)
        if self.n_groups != "auto" and not (whole and 1 <= self.n_groups <= votes.n_members):
            raise ValueError(
                f"n_groups={self.n_groups!r} is no number of groups of {votes.n_members} members. "
                f'Give a number from 1 to {votes.n_members}, or "auto".'
            )

    def _select(
        self,
        votes: Votes | VoteStore,
        n_keep: int | None,
        rng: np.random.RandomState,
        executor: Any = None,
        callback: Progress | None = None,
    ) -> Choice:
        n_groups = self._n_groups(votes.n_members, n_keep)
        groups = _deal(votes.n_members, n_groups, rng)
        seeds = [int(seed) for seed in rng.randint(2**31, size=n_groups + 1)]
        inner = clone(self._inner)  # without the votes of an earlier fit
        asks_accuracy = isinstance(self._criterion, str) and self._criterion == "accuracy"

        def job(name: str, members: Members, seed: int) -> Job:
            return Job(name, inner.for_members(members), members, n_keep, seed, asks_accuracy)

        if n_groups == 1:  # the pruner itself, with its own chance
            jobs = [Job("all", inner, groups[0], n_keep, None, asks_accuracy)]
        else:
            jobs = [job(f"group-{i}", group, seeds[i]) for i, group in enumerate(groups)]
        engine = ambient_engine() if executor is None else engine_for(executor)
        finished = Checkpoints(votes, inner, asks_accuracy, n_keep, seeds, groups)

        def compete(result: Result) -> float:
            fixed = n_keep is not None and not self.may_keep_fewer
            competes = not fixed or len(result.members) == n_keep
            return self._score(votes, result) if competes else -math.inf

        with (
            nullcontext() if engine is None else running(engine),
            parts_for(votes, engine) as parts,
        ):
            total = n_groups + (n_groups > 1)
            rounds = Rounds(parts, engine, self.n_jobs, finished, Told(callback, total, compete))
            results = rounds.prune(jobs)
            if n_groups > 1:
                union = np.sort(np.concatenate([result.members for result in results]))
                results += rounds.prune([job("union", union, seeds[-1])])
        finished.clear()
        return self._take_best(groups, results, np.array([compete(result) for result in results]))

    def _take_best(
        self, groups: list[Members], results: list[Result], scores: NDArray[np.float64]
    ) -> Choice:
        tied = tied_best(scores)
        winner = len(results) - 1 if tied[-1] else int(np.argmax(tied))
        self.groups_ = groups
        self.candidates_ = [result.members for result in results]
        self.candidate_scores_ = scores
        self.winner_ = winner
        if results[winner].objective is not None:
            self.objective_ = results[winner].objective
        return Choice(results[winner].members.tolist(), results[winner].scores)

    def _score(self, votes: Votes | VoteStore, result: Result) -> float:
        if result.accuracy is not None:
            return result.accuracy
        if callable(self._criterion):
            return float(self._criterion(votes, result.members))
        if result.objective is None:
            raise ValueError(
                f"criterion='objective' needs a pruner with an objective_, which "
                f"{type(self._inner).__name__} has not. Give criterion='accuracy'."
            )
        return result.objective if self.larger_is_better else -result.objective

    def _n_groups(self, n_members: int, n_keep: int | None) -> int:
        if self.n_groups != "auto":
            return int(self.n_groups)
        wanted = n_keep or resolve_keep(0.1, n_members) or 1
        n_groups = max(1, round(math.sqrt(n_members / wanted)))
        while n_groups > 1 and wanted * n_groups >= n_members:
            n_groups -= 1
        return n_groups


def _deal(n_members: int, n_groups: int, rng: np.random.RandomState) -> list[Members]:
    """Deal members into groups at random: n mod m of ⌈n/m⌉, the rest of ⌊n/m⌋, each in order."""
    return [np.sort(group) for group in np.array_split(rng.permutation(n_members), n_groups)]
