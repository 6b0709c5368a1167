"""EPFD and DOMEP: prune groups of members, then prune the union of what the groups keep."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import attrgetter
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from secateurs.distributed._group_runner import GroupJob, GroupProgress, GroupResult, GroupRunner
from secateurs.engines.checkpoints import Checkpoints
from secateurs.engines.executors import engine_for, joblib_dask_engine, running_engine
from secateurs.engines.transport import open_prediction_source
from secateurs.exceptions import InputError
from secateurs.outputs.store_base import EncodedPredictions
from secateurs.outputs.votes import Votes
from secateurs.progress import current_stage
from secateurs.pruners import COMEP
from secateurs.pruners.base import BasePruner, DistributedPruner
from secateurs.pruners.parameters import check_option, is_integer, resolve_keep
from secateurs.pruners.selector import as_pruner
from secateurs.search import Choice, tied_best
from secateurs.text_format import format_count
from secateurs.typing import Array, ExecutorLike, IndexArray, RandomStateLike


class GroupedPruner(DistributedPruner):
    """Base class of `EPFD` and `DOMEP`.

    All random numbers are drawn before any group is pruned. The result therefore does not depend on
    where and in which order groups are pruned.
    """

    n_groups: int | str
    criterion: str | Callable[[Any, IndexArray], float]
    n_jobs: int | None
    strict: bool = False  # whether results of all sizes are compared, see `EPFD`

    # These depend on the pruner applied to each group.
    outputs = property(attrgetter("inner.outputs"))
    takes_missing = property(attrgetter("inner.takes_missing"))
    _takes_abstentions = property(attrgetter("inner._takes_abstentions"))
    may_keep_fewer = property(lambda self: self.strict or self.inner.may_keep_fewer)
    may_decide_size = property(attrgetter("inner.may_decide_size"))
    larger_is_better = property(attrgetter("inner.larger_is_better"))

    @property
    @abstractmethod
    def inner(self) -> BasePruner:
        """The pruner applied to each group."""

    def _check_parameters(self, votes: EncodedPredictions) -> None:
        if not callable(self.criterion):
            check_option("criterion", self.criterion, ("accuracy", "objective"))
        n_groups = self.n_groups
        if n_groups != "auto" and not (is_integer(n_groups) and 1 <= n_groups <= votes.n_members):
            raise InputError(
                f"{{n_groups}} is not a valid number of groups for "
                f"{format_count(votes.n_members, 'member')}. "
                f'Pass a number from 1 to {votes.n_members}, or "auto".',
                n_groups=n_groups,
            )

    def _select(
        self,
        votes: EncodedPredictions,
        n_keep: int | None,
        rng: np.random.RandomState,
        executor: ExecutorLike | None = None,
    ) -> Choice:
        n_groups = self.resolve_n_groups(votes.n_members, n_keep)
        # Of m groups of n members, n mod m have ⌈n/m⌉ members and the others ⌊n/m⌋. Members stay
        # in the order of the ensemble, so that ties go to the lowest index within a group too.
        groups = list(map(np.sort, np.array_split(rng.permutation(votes.n_members), n_groups)))
        seeds = [int(seed) for seed in rng.randint(2**31, size=n_groups + 1)]
        # A clone does not carry the predictions of an earlier fit to the workers.
        inner = clone(self.inner).draw_from(None, self._drawn_seed)
        needs_accuracy = self.criterion == "accuracy"

        def make_job(name: str, members: IndexArray, seed: int) -> GroupJob:
            return GroupJob(name, inner.for_members(members), members, n_keep, seed, needs_accuracy)

        if n_groups == 1:  # the pruner itself, with its own random state
            jobs = [GroupJob("all", inner, groups[0], n_keep, None, needs_accuracy)]
        else:
            jobs = [make_job(f"group-{i}", group, seeds[i]) for i, group in enumerate(groups)]
        engine = joblib_dask_engine() if executor is None else engine_for(executor)
        checkpoints = Checkpoints(votes, inner, needs_accuracy, n_keep, seeds, groups)

        def competing_score(result: GroupResult) -> float:
            has_fixed_size = n_keep is not None and not self.may_keep_fewer
            competes = not has_fixed_size or len(result.members) == n_keep
            return self._candidate_score(votes, result) if competes else -math.inf

        with (
            nullcontext() if engine is None else running_engine(engine),
            open_prediction_source(votes, engine) as source,
        ):
            progress = GroupProgress(current_stage(), n_groups + (n_groups > 1), competing_score)
            runner = GroupRunner(source, engine, self.n_jobs, checkpoints, progress)
            results = runner.prune_groups(jobs)
            if n_groups > 1:
                union = np.sort(np.concatenate([result.members for result in results]))
                results += runner.prune_groups([make_job("union", union, seeds[-1])])
        checkpoints.delete_all()
        return self._best_candidate(
            groups, results, np.array([competing_score(result) for result in results])
        )

    def _selection_warnings(self, votes: Any, members: IndexArray) -> Iterator[str]:
        return self.inner._selection_warnings(votes, members)

    def _best_candidate(
        self, groups: list[IndexArray], results: list[GroupResult], scores: Array
    ) -> Choice:
        """Set the fitted attributes and return the result with the best score."""
        tied = tied_best(scores)
        winner = len(results) - 1 if tied[-1] else int(np.argmax(tied))
        self.groups_ = groups
        self.candidates_ = [result.members for result in results]
        self.candidate_scores_ = scores
        self.winner_ = winner
        if results[winner].objective is not None:
            self.objective_ = results[winner].objective
        self.__dict__.pop("weights_", None)  # from an earlier fit with another pruner
        if results[winner].weights is not None:
            self.weights_ = results[winner].weights
        return Choice(results[winner].members.tolist(), results[winner].scores)

    def _candidate_score(self, votes: EncodedPredictions, result: GroupResult) -> float:
        """Return the criterion of the members kept in a group or in the union."""
        if result.accuracy is not None:
            return result.accuracy
        if callable(self.criterion):
            return float(self.criterion(votes, result.members))
        if result.objective is None:
            raise InputError(
                f"{{criterion}} needs a pruner with an objective_; {type(self.inner).__name__} has "
                "none. Pass criterion='accuracy'.",
                criterion=self.criterion,
            )
        if self.larger_is_better is None:
            name = type(self.inner).__name__
            raise InputError(
                f"{{criterion}} needs to know whether a larger objective_ is better. Set "
                f"{name}.larger_is_better to True or False, or pass criterion='accuracy'.",
                criterion=self.criterion,
            )
        return result.objective if self.larger_is_better else -result.objective

    def resolve_n_groups(self, n_members: int, n_keep: int | None) -> int:
        """Return the number of groups of ``n_members`` members, of which ``n_keep`` are kept."""
        if self.n_groups != "auto":
            return int(self.n_groups)
        # √(n/k) makes both rounds about equally long. It does not depend on the number of workers,
        # because a larger cluster must not change the result (docs/decisions/0010-groups.md).
        n_kept = n_keep or resolve_keep(0.1, n_members) or 1
        n_groups = max(1, round(math.sqrt(n_members / n_kept)))
        while n_groups > 1 and n_kept * n_groups >= n_members:  # the second round would prune none
            n_groups -= 1
        return n_groups


class EPFD(GroupedPruner):
    """Ensemble pruning framework in a distributed setting: Algorithm 3 of the paper [1]_.

    Splits the members at random into groups, prunes each group, then prunes the union of the kept
    members, and returns the best of these results. Groups are independent of each other and can be
    pruned in parallel. All random numbers are drawn beforehand, so parallelism never changes the
    result.

    Parameters
    ----------
    pruner : pruner
        Any pruner, or any scikit-learn selector (see `SelectorPruner`). Its ``keep`` refers to the
        full ensemble.
    n_groups : int or "auto", default="auto"
        Number of groups (m). "auto" is √(n/k) for n members and k to keep, which makes the two
        rounds about equally long. If the pruner decides its own size, k is a tenth of n.
    criterion : {"accuracy", "objective"} or callable, default="accuracy"
        How the results are compared: by the accuracy of the vote (for regression, by the mean
        squared error of the mean), by the pruner's own objective, or by
        ``criterion(votes, members)``, where larger is better. If the pruner works with
        probabilities, the vote is the class with the largest mean probability. The result of the
        second round is used unless the result of a group is strictly better. Only results of the
        requested size are compared, unless ``strict`` is set.
    n_jobs : int or None, default=None
        Number of groups pruned in parallel by joblib, according to ``joblib.parallel_config``.
    random_state : int, RandomState or None, default=None
        Random seed of the groups, and of the pruner in each group.
    strict : bool, default=False
        Whether to follow Algorithm 3 to the letter: the results of all groups are compared, also
        those of small groups, which have fewer members than requested.

    Attributes
    ----------
    objective_ : float
        The pruner's objective, if it has one.
    weights_ : ndarray of shape (n_kept,)
        The members' weights, if the pruner sets them.
    groups_ : list of ndarray
        The members of each group.
    candidates_ : list of ndarray
        The members kept in each group; the last entry is the result of the second round.
    candidate_scores_ : ndarray of shape (n_groups + 1,)
        The criterion of each candidate; −∞ for a candidate of another size than requested.
    winner_ : int
        Index of the best candidate.
    member_indices_, scores_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    DOMEP : EPFD around COMEP, with TDAS as the criterion.
    COMEP : Distributed without groups, exactly: ``COMEP().fit(votes, y, executor=...)``.

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
        pruner: object,
        n_groups: int | str = "auto",
        criterion: str | Callable[[Votes, IndexArray], float] = "accuracy",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        *,
        strict: bool = False,
    ) -> None:
        self.pruner = pruner
        self.n_groups = n_groups
        self.criterion = criterion
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.strict = strict

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"strict": False} | state)  # pickles of earlier versions lack it

    @property
    def keep(self) -> int | float | None:
        """The pruner's own ``keep``."""
        return self.inner.keep

    @property
    def inner(self) -> BasePruner:
        """The pruner applied to each group."""
        return as_pruner(self.pruner)

    def with_keep(self, keep: int | float | str | None) -> Self:
        """Return an unfitted copy with this ``keep``."""
        copy = clone(self).set_params(pruner=self.inner.with_keep(keep))
        copy._drawn_seed = self._drawn_seed
        return copy

    def for_members(self, members: IndexArray) -> Self:
        """Return an unfitted copy for some of the members."""
        return clone(self).set_params(pruner=self.inner.for_members(members))


class DOMEP(GroupedPruner):
    """Distributed objection maximisation for ensemble pruning: Algorithm 2 of the paper [1]_.

    Runs `COMEP` in random groups of members, then on the union of the kept members, and returns
    the result with the largest TDAS. It is `EPFD` around `COMEP` with TDAS as the criterion. The
    result has at least a quarter of the optimal TDAS with high probability, and in practice nearly
    as much as that of COMEP.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep (k): a count, or a fraction of the ensemble.
    n_groups : int or "auto", default="auto"
        Number of groups (m). "auto" is √(n/k) for n members and k to keep.
    diversity_weight : float in [0, 1] or "auto", default=0.5
        Weight of diversity against relevance (λ), as for `COMEP`.
    start : {"spread", "relevance", "random", "every"}, default="spread"
        The first member in each group, as for `COMEP`.
    n_jobs : int or None, default=None
        Number of groups pruned in parallel by joblib, according to ``joblib.parallel_config``.
    random_state : int, RandomState or None, default=None
        Random seed of the groups, and of COMEP in each group.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        TDAS of the first 1, 2, … members.
    objective_ : float
        TDAS of the kept members.
    groups_, candidates_, candidate_scores_, winner_
        As for `EPFD`; candidates are compared by their TDAS.
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
        random_state: RandomStateLike = None,
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
