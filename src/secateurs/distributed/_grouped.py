"""Pruning in two rounds: in groups of members, then among all that were chosen."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from secateurs.pruners._base import BasePruner, check_option, is_whole, resolve_keep
from secateurs.search import Choice, tied_best
from secateurs.votes import Votes

Members = NDArray[np.intp]


class GroupedPruner(BasePruner):
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
    def _criterion(self) -> str | Callable[[Votes, Members], float]:
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

    def _check_parameters(self, votes: Votes) -> None:
        if not callable(self._criterion):
            check_option("criterion", self._criterion, ("accuracy", "objective"))
        whole = is_whole(self.n_groups)
        if self.n_groups != "auto" and not (whole and 1 <= self.n_groups <= votes.n_members):
            raise ValueError(
                f"n_groups={self.n_groups!r} is no number of groups of {votes.n_members} members. "
                f'Give a number from 1 to {votes.n_members}, or "auto".'
            )

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        inner = self._inner
        n_groups = self._n_groups(votes.n_members, n_keep)
        groups = _deal(votes.n_members, n_groups, rng)
        seeds = rng.randint(2**31, size=n_groups + 1)
        if n_groups == 1:
            results = [_prune(inner, votes, groups[0], n_keep, None)]
        else:
            tasks = zip(groups, seeds[:-1], strict=True)
            results = Parallel(n_jobs=self.n_jobs)(
                delayed(_prune)(inner.for_members(group), votes.take(group), group, n_keep, seed)
                for group, seed in tasks
            )
            union = np.sort(np.concatenate([result.members for result in results]))
            second = inner.for_members(union)
            results.append(_prune(second, votes.take(union), union, n_keep, seeds[-1]))
        return self._take_best(votes, groups, results, n_keep)

    def _take_best(
        self, votes: Votes, groups: list[Members], results: list["_Result"], n_keep: int | None
    ) -> Choice:
        fixed = n_keep is not None and not self.may_keep_fewer
        scores = np.array(
            [
                -math.inf if fixed and len(result.members) != n_keep else self._score(votes, result)
                for result in results
            ]
        )
        tied = tied_best(scores)
        winner = len(results) - 1 if tied[-1] else int(np.argmax(tied))
        self.groups_ = groups
        self.candidates_ = [result.members for result in results]
        self.candidate_scores_ = scores
        self.winner_ = winner
        if results[winner].objective is not None:
            self.objective_ = results[winner].objective
        return Choice(results[winner].members.tolist(), results[winner].scores)

    def _score(self, votes: Votes, result: "_Result") -> float:
        if self._criterion == "objective":
            if result.objective is None:
                raise ValueError(
                    f"criterion='objective' needs a pruner with an objective_, which "
                    f"{type(self._inner).__name__} has not. Give criterion='accuracy'."
                )
            return result.objective if self.larger_is_better else -result.objective
        if callable(self._criterion):
            return float(self._criterion(votes, result.members))
        return float(votes.is_right(result.members).mean())

    def _n_groups(self, n_members: int, n_keep: int | None) -> int:
        if self.n_groups != "auto":
            return int(self.n_groups)
        wanted = n_keep or resolve_keep(0.1, n_members) or 1
        n_groups = max(1, round(math.sqrt(n_members / wanted)))
        while n_groups > 1 and wanted * n_groups >= n_members:
            n_groups -= 1
        return n_groups


class _Result(NamedTuple):
    """What a pruner made of some members."""

    members: Members
    scores: NDArray[np.float64]
    objective: float | None


def _deal(n_members: int, n_groups: int, rng: np.random.RandomState) -> list[Members]:
    """Deal members into groups at random: n mod m of ⌈n/m⌉, the rest of ⌊n/m⌋, each in order."""
    return [np.sort(group) for group in np.array_split(rng.permutation(n_members), n_groups)]


def _prune(
    pruner: BasePruner, votes: Votes, members: Members, n_keep: int | None, seed: int | None
) -> _Result:
    """Prune votes of some members; all of them if there are no more than wanted."""
    chosen = pruner.with_keep(None if n_keep is None else min(n_keep, len(members)))
    if seed is not None:
        chosen.seed(seed)
    chosen.fit(votes)
    objective = getattr(chosen, "objective_", None)
    return _Result(members[chosen.member_indices_], chosen.scores_, objective)
