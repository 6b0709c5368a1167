"""EPFD and DOMEP: pruning in two rounds, in groups of members, then among all chosen there."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import attrgetter
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from secateurs.distributed._group_runner import GroupJob, GroupProgress, GroupResult, GroupRunner
from secateurs.engines.checkpoints import Checkpoints
from secateurs.engines.executors import engine_for, joblib_dask_engine, running_engine
from secateurs.engines.transport import Indices, open_prediction_source
from secateurs.exceptions import InputError
from secateurs.outputs.votes import Votes
from secateurs.progress import current_stage
from secateurs.pruners._comep import COMEP
from secateurs.pruners.base import BasePruner, DistributedPruner
from secateurs.pruners.parameters import check_option, is_integer, resolve_keep
from secateurs.pruners.selector import as_pruner
from secateurs.search import Choice, tied_best
from secateurs.text_format import format_count


class GroupedPruner(DistributedPruner):
    """Base class of `EPFD` and `DOMEP`.

    Everything random is drawn before any group is pruned, so where and in which order groups are
    pruned never changes the result.
    """

    n_groups: Any
    criterion: str | Callable[[Any, Indices], float]
    n_jobs: int | None
    random_state: Any

    # These depend on the pruner applied to each group.
    outputs = property(attrgetter("inner.outputs"))
    takes_missing = property(attrgetter("inner.takes_missing"))
    may_keep_fewer = property(attrgetter("inner.may_keep_fewer"))
    may_decide_size = property(attrgetter("inner.may_decide_size"))
    larger_is_better = property(attrgetter("inner.larger_is_better"))

    @property
    @abstractmethod
    def inner(self) -> BasePruner:
        """The pruner applied to each group."""

    def _check_parameters(self, votes: Any) -> None:
        if not callable(self.criterion):
            check_option("criterion", self.criterion, ("accuracy", "objective"))
        whole = is_integer(self.n_groups)
        if self.n_groups != "auto" and not (whole and 1 <= self.n_groups <= votes.n_members):
            raise InputError(
                f"{{n_groups}} is not a valid number of groups for "
                f"{format_count(votes.n_members, 'member')}. "
                f'Give a number from 1 to {votes.n_members}, or "auto".',
                n_groups=self.n_groups,
            )

    def _select(
        self,
        votes: Any,
        n_keep: int | None,
        rng: np.random.RandomState,
        executor: Any = None,
    ) -> Choice:
        n_groups = self.resolve_n_groups(votes.n_members, n_keep)
        # Of n members in m groups: n mod m of ⌈n/m⌉, the rest of ⌊n/m⌋.
        groups = list(map(np.sort, np.array_split(rng.permutation(votes.n_members), n_groups)))
        seeds = [int(seed) for seed in rng.randint(2**31, size=n_groups + 1)]
        inner = clone(self.inner).draw_from(
            None, self._drawn_seed
        )  # without votes of an earlier fit
        asks_accuracy = self.criterion == "accuracy"

        def make_job(name: str, members: Indices, seed: int) -> GroupJob:
            return GroupJob(name, inner.for_members(members), members, n_keep, seed, asks_accuracy)

        if n_groups == 1:  # the pruner itself, with its own random state
            jobs = [GroupJob("all", inner, groups[0], n_keep, None, asks_accuracy)]
        else:
            jobs = [make_job(f"group-{i}", group, seeds[i]) for i, group in enumerate(groups)]
        engine = joblib_dask_engine() if executor is None else engine_for(executor)
        finished = Checkpoints(votes, inner, asks_accuracy, n_keep, seeds, groups)

        def competing_score(result: GroupResult) -> float:
            fixed = n_keep is not None and not self.may_keep_fewer
            competes = not fixed or len(result.members) == n_keep
            return self._candidate_score(votes, result) if competes else -math.inf

        with (
            nullcontext() if engine is None else running_engine(engine),
            open_prediction_source(votes, engine) as source,
        ):
            progress = GroupProgress(current_stage(), n_groups + (n_groups > 1), competing_score)
            rounds = GroupRunner(source, engine, self.n_jobs, finished, progress)
            results = rounds.prune_groups(jobs)
            if n_groups > 1:
                union = np.sort(np.concatenate([result.members for result in results]))
                results += rounds.prune_groups([make_job("union", union, seeds[-1])])
        finished.delete_all()
        return self._best_candidate(
            groups, results, np.array([competing_score(result) for result in results])
        )

    def _selection_warnings(self, votes: Any, members: Indices) -> Iterator[str]:
        return self.inner._selection_warnings(votes, members)

    def _best_candidate(
        self, groups: list[Indices], results: list[GroupResult], scores: NDArray[np.float64]
    ) -> Choice:
        tied = tied_best(scores)
        winner = len(results) - 1 if tied[-1] else int(np.argmax(tied))
        self.groups_ = groups
        self.candidates_ = [result.members for result in results]
        self.candidate_scores_ = scores
        self.winner_ = winner
        if results[winner].objective is not None:
            self.objective_ = results[winner].objective
        self.__dict__.pop("weights_", None)  # of another pruner, fitted earlier
        if results[winner].weights is not None:
            self.weights_ = results[winner].weights
        return Choice(results[winner].members.tolist(), results[winner].scores)

    def _candidate_score(self, votes: Any, result: GroupResult) -> float:
        if result.accuracy is not None:
            return result.accuracy
        if callable(self.criterion):
            return float(self.criterion(votes, result.members))
        if result.objective is None:
            raise InputError(
                f"{{criterion}} needs a pruner with an objective_; {type(self.inner).__name__} has "
                "none. Give criterion='accuracy'.",
                criterion=self.criterion,
            )
        if self.larger_is_better is None:
            name = type(self.inner).__name__
            raise InputError(
                f"{{criterion}} needs to know which objective_ is better. Set "
                f"{name}.larger_is_better to True or False, or give criterion='accuracy'.",
                criterion=self.criterion,
            )
        return result.objective if self.larger_is_better else -result.objective

    def resolve_n_groups(self, n_members: int, n_keep: int | None) -> int:
        """Return the number of groups for this many members, of which ``n_keep`` stay."""
        if self.n_groups != "auto":
            return int(self.n_groups)
        wanted = n_keep or resolve_keep(0.1, n_members) or 1
        n_groups = max(1, round(math.sqrt(n_members / wanted)))
        while n_groups > 1 and wanted * n_groups >= n_members:
            n_groups -= 1
        return n_groups


class EPFD(GroupedPruner):
    """Ensemble pruning framework in a distributed setting: Algorithm 3 of the paper [1]_.

    Splits the members at random into groups, prunes each group, then prunes the union of what was
    kept, and takes the best of these results. Groups are independent of each other and can be
    pruned in parallel; everything random is drawn beforehand, so parallelism never changes the
    result.

    Parameters
    ----------
    pruner : pruner
        Any pruner, or any scikit-learn selector (see `SelectorPruner`). Its ``keep`` refers to the
        whole ensemble.
    n_groups : int or "auto", default="auto"
        Number of groups (m). "auto" is √(n/k) for n members and k to keep, which makes the two
        rounds about equally long; where the pruner decides its size, k is a tenth of n.
    criterion : {"accuracy", "objective"} or callable, default="accuracy"
        What decides between the results: the accuracy of the vote, of numbers their mean squared
        error; the pruner's own objective; or ``criterion(votes, members)``, where larger is
        better. Where the pruner works with probabilities, the vote is by their mean. The result of
        the second round wins unless a group's is strictly better; only results of the requested
        size compete.
    n_jobs : int or None, default=None
        Number of groups pruned in parallel, by joblib under its ``parallel_config``.
    random_state : int, RandomState or None, default=None
        Random seed of the groups, and of the pruner in each.

    Attributes
    ----------
    objective_ : float
        The pruner's objective, where it has one.
    weights_ : ndarray of shape (n_kept,)
        The members' weights, where the pruner gives some.
    groups_ : list of ndarray
        The members of each group.
    candidates_ : list of ndarray
        The members kept in each group; the last entry is the result of the second round.
    candidate_scores_ : ndarray of shape (n_groups + 1,)
        The criterion of each candidate; −∞ for one that does not compete.
    winner_ : int
        Index of the candidate taken.
    member_indices_, scores_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    DOMEP : EPFD around COMEP, with TDAS as the criterion.
    COMEP : Exact on many machines too: ``COMEP().fit(votes, y, executor=...)``.

    Notes
    -----
    With one group, the result is that of the pruner itself, with the pruner's own random state.

    References
    ----------
    .. [1] Bian et al. "Ensemble pruning based on objection maximization with a general
       distributed framework". TNNLS 2020.

    Examples
    --------
    >>> from secateurs import EPFD, ReducedErrorPruner
    >>> votes = [[0, 0, 1, 0], [1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]]
    >>> pruner = EPFD(ReducedErrorPruner(keep=1), n_groups=2, random_state=0)
    >>> pruner.fit(votes, [0, 1, 0, 1]).member_indices_
    array([0])
    """

    def __init__(
        self,
        pruner: Any,
        n_groups: int | str = "auto",
        criterion: str | Callable[[Votes, Indices], float] = "accuracy",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.pruner = pruner
        self.n_groups = n_groups
        self.criterion = criterion
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def keep(self) -> Any:
        """The pruner's own ``keep``."""
        return self.inner.keep

    @property
    def inner(self) -> BasePruner:
        """The pruner applied to each group."""
        return as_pruner(self.pruner)

    def with_keep(self, keep: Any) -> Self:
        """Return an unfitted copy with this keep."""
        copy = clone(self).set_params(pruner=self.inner.with_keep(keep))
        copy._drawn_seed = self._drawn_seed
        return copy

    def for_members(self, members: Indices) -> Self:
        """Return an unfitted copy for some of the members."""
        return clone(self).set_params(pruner=self.inner.for_members(members))


class DOMEP(GroupedPruner):
    """Distributed objection maximisation for ensemble pruning: Algorithm 2 of the paper [1]_.

    Runs `COMEP` in random groups of members, then on the union of what was kept, and takes the
    result with the largest TDAS. It is `EPFD` around `COMEP` with TDAS as the criterion: at least
    a quarter of the optimum with high probability, in practice nearly what COMEP reaches.

    Parameters
    ----------
    keep : int or float, default=0.1
        How many members to keep (k): a count, or a fraction of the ensemble.
    n_groups : int or "auto", default="auto"
        Number of groups (m). "auto" is √(n/k) for n members and k to keep.
    diversity_weight : float in [0, 1] or "auto", default=0.5
        Weight of diversity against relevance (λ), as for `COMEP`.
    start : {"spread", "relevance", "random", "every"}, default="spread"
        The first member in each group, as for `COMEP`.
    n_jobs : int or None, default=None
        Number of groups pruned in parallel, by joblib under its ``parallel_config``.
    random_state : int, RandomState or None, default=None
        Random seed of the groups, and of COMEP in each.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        TDAS of the first 1, 2, … members.
    objective_ : float
        TDAS of the kept members.
    groups_, candidates_, candidate_scores_, winner_
        As for `EPFD`; candidates compete for the largest TDAS.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    COMEP : The same objective without groups; exact, also on an executor.
    EPFD : Two rounds around any pruner.

    References
    ----------
    .. [1] Bian et al. "Ensemble pruning based on objection maximization with a general
       distributed framework". TNNLS 2020.

    Examples
    --------
    >>> from secateurs import DOMEP
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    >>> DOMEP(keep=2, n_groups=1, diversity_weight=0.3).fit(votes, [0, 0, 1, 1]).member_indices_
    array([0, 2])
    """

    criterion = "objective"

    def __init__(  # noqa: PLR0917
        self,
        keep: int | float = 0.1,
        n_groups: int | str = "auto",
        diversity_weight: float | Literal["auto"] = 0.5,
        start: str = "spread",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.keep = keep
        self.n_groups = n_groups
        self.diversity_weight = diversity_weight
        self.start = start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def inner(self) -> COMEP:
        """The pruner applied to each group."""
        return COMEP(self.keep, self.diversity_weight, self.start, random_state=self.random_state)
