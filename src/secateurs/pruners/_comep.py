"""COMEP: greedy maximisation of diversity and relevance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

import numpy as np

from secateurs.engines.sharded_objectives import ShardedTDAS
from secateurs.engines.sharding import open_objective
from secateurs.exceptions import InputError
from secateurs.measures.pair_measure import Floats
from secateurs.measures.pairwise_measures import kappa_with_truth
from secateurs.objectives import TDAS, PairObjective
from secateurs.objectives.bounds import upper_bound
from secateurs.outputs.missing_answers import first_members, with_valid_first
from secateurs.outputs.store_base import load_into_memory
from secateurs.outputs.stratified_folds import cross_validated_accuracy, split_vote_folds
from secateurs.outputs.vote_store import VoteStore
from secateurs.outputs.votes import Votes
from secateurs.progress import open_stage
from secateurs.pruners.base import DistributedPruner
from secateurs.pruners.parameters import check_fraction, check_option, is_integer
from secateurs.search import Choice, best_member, greedy_forward, ranking, swap_search
from secateurs.text_format import format_list
from secateurs.typing import BoolArray, ExecutorLike, IndexArray, RandomStateLike

# The weights nearest to 0.3 come first and win ties: on forests of 200 trees, weights from 0.1 to
# 0.3 were better than 0.5 on most data sets (docs/decisions/0008-sizes-and-budgets.md).
_AUTO_WEIGHTS = tuple(sorted(np.arange(11) / 10, key=lambda weight: abs(weight - 0.3)))
STARTS = ("spread", "relevance", "random", "every")
# The spread start compares all pairs of up to 256 members. For more members this would cost more
# than the rest of COMEP, so that all are compared with 32 (docs/decisions/0003-spread-start.md).
_SPREAD_EXACT = 256
_SPREAD_SAMPLE = 32


class COMEP(DistributedPruner):
    """Centralised objection maximisation for ensemble pruning: Algorithm 1 of the paper [1]_.

    Starting from one member, each step adds the member with the largest sum of distances TDAC to
    the selected members. TDAC of two members is λ times the normalised variation of information
    between them plus 1 − λ times their mean normalised mutual information with the true labels.
    The objective TDAS is the sum over all pairs. From any start, the greedy search reaches at least
    half the optimum, and in practice nearly all of it: compare ``objective_`` with
    ``upper_bound_``.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep (k): a count, or a fraction of the ensemble.
    diversity_weight : float in [0, 1] or "auto", default=0.5
        Weight of diversity against relevance (λ). "auto" uses the weight of 0, 0.1, … 1 with the
        best accuracy in five-fold cross-validation; ties go to the weight nearest to 0.3.
    start : {"spread", "relevance", "random", "every"} or int, default="spread"
        The first member: the member with the largest mean TDAC to all others ("spread"; above 256
        members, to 32 members at equal distances in the ranking by relevance), the most relevant
        member, a random member (as in the paper), or the member with this index. "every" starts
        from each member and returns the result with the largest TDAS; it needs memory for all n²
        distances.
    random_state : int, RandomState or None, default=None
        Seed of a random start, and of the folds for ``diversity_weight="auto"``.
    refine : bool, default=False
        Improve the greedy set by the best swap of one member until no swap helps.
    shard : {"auto", "members", "rows"}, default="auto"
        How votes are distributed over an executor's workers: by members or by rows. "auto" uses
        the way that sends less. The result is the same.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        TDAS of the first 1, 2, … members.
    objective_ : float
        TDAS of the kept members.
    upper_bound_ : float
        Upper bound of the TDAS of any set of the same size. The result has at least the fraction
        ``objective_ / upper_bound_`` of the optimum. The bound is computed on first access, from
        all pairs: each member contributes at most half its k − 1 largest distances, and the k
        largest contributions bound any set. Lagrangian steps, which move parts of d(i, j) to
        d(j, i), tighten the bound to within a few percent (up to 4096 members).
    diversity_weight_ : float
        The weight used.
    relevance_ : ndarray of shape (n_members,)
        Normalised mutual information of each member with the true labels.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    DOMEP : COMEP in groups of members: approximate, faster on very large ensembles.
    EPFD : Any method in groups of members.
    ParetoCOMEP : Keeps relevance and diversity apart, without a weight.

    References
    ----------
    .. [1] Bian et al. "Ensemble pruning based on objection maximization with a general
       distributed framework". TNNLS 2020.

    Examples
    --------
    >>> from secateurs import COMEP
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    >>> pruner = COMEP(keep=2, diversity_weight=0.3).fit(votes, [0, 0, 1, 1])
    >>> pruner.member_indices_
    array([0, 2])
    >>> bool(pruner.objective_ <= pruner.upper_bound_)
    True
    """

    def __init__(  # noqa: PLR0917
        self,
        keep: int | float = 0.1,
        diversity_weight: float | Literal["auto"] = 0.5,
        start: str | int = "spread",
        random_state: RandomStateLike = None,
        refine: bool = False,
        shard: str = "auto",
    ) -> None:
        self.keep = keep
        self.diversity_weight = diversity_weight
        self.start = start
        self.random_state = random_state
        self.refine = refine
        self.shard = shard

    @property
    def is_nested(self) -> bool:  # type: ignore[override]
        """Whether the members for a smaller ``keep`` are a prefix of those for a larger one."""
        return not self.refine and self.start != "every" and self.diversity_weight != "auto"

    @property
    def upper_bound_(self) -> float:
        """Upper bound of the TDAS of any set of the same size."""
        if "_upper_bound" not in self.__dict__:
            n_keep = len(self.member_indices_)
            objective = TDAS(load_into_memory(self._predictions), self.diversity_weight_)
            self._upper_bound = upper_bound(objective, n_keep, self.objective_)
        return self._upper_bound

    def for_members(self, members: IndexArray) -> Self:
        """Return the pruner itself; raise an error if its start is a member of one group only."""
        if is_integer(self.start):
            raise InputError(
                "{start} is one member, which only one group has. "
                f"Pass one of: {format_list(STARTS)}.",
                start=self.start,
            )
        return self

    def _check_parameters(self, votes: Votes | VoteStore) -> None:
        check_option("shard", self.shard, ("auto", "members", "rows"))
        if not (isinstance(self.diversity_weight, str) and self.diversity_weight == "auto"):
            check_fraction("diversity_weight", self.diversity_weight, zero=True)
        if not is_integer(self.start):
            check_option("start", self.start, STARTS)
        elif not 0 <= self.start < votes.n_members:
            raise InputError(
                f"{{start}} is not a valid member: the ensemble has {votes.n_members}. Pass an "
                f"index from 0 to {votes.n_members - 1}, or one of: {format_list(STARTS)}.",
                start=self.start,
            )

    def _select(
        self,
        votes: Votes | VoteStore,
        n_keep: int,
        rng: np.random.RandomState,
        executor: ExecutorLike | None = None,
    ) -> Choice:
        weight = self.diversity_weight
        if weight == "auto":
            with open_stage("selecting the weight of diversity"):
                weight = self._best_diversity_weight(load_into_memory(votes), n_keep, rng)
        with open_objective(ShardedTDAS, votes, weight, executor, self.shard) as objective:
            members, scores = self.grow(objective, n_keep, rng)
            if self.refine:
                members = refined_members(objective, members, votes)
                distances = np.tril(objective.matrix_rows(members)[:, members], -1)
                scores = np.cumsum(distances.sum(axis=1))
            objective.clear_checkpoint()
        self.diversity_weight_ = float(weight)
        self.__dict__.pop("_upper_bound", None)
        self.relevance_ = objective.relevance
        self.objective_ = float(scores[-1])
        return Choice(members, scores)

    def _selection_warnings(self, votes: Votes | VoteStore, members: IndexArray) -> Iterator[str]:
        yield from super()._selection_warnings(votes, members)
        if self.diversity_weight != 1:
            yield from one_class_warnings(votes)
        yield from poor_member_warnings(votes, members)

    def _best_diversity_weight(
        self, votes: Votes, n_keep: int, rng: np.random.RandomState
    ) -> float:
        """Return the weight with the best cross-validated accuracy."""
        folds = split_vote_folds(votes, rng)
        seed = rng.randint(2**31)

        def accuracy_for_weight(weight: float) -> float:
            def select_members(training: Votes) -> Sequence[int]:
                objective = TDAS(training, weight)
                members, _ = self.grow(objective, n_keep, np.random.RandomState(seed))
                return refined_members(objective, members, training) if self.refine else members

            return cross_validated_accuracy(folds, select_members)

        scores = {weight: accuracy_for_weight(weight) for weight in _AUTO_WEIGHTS}
        return max(scores, key=scores.__getitem__)

    def grow(self, objective: TDAS, n_keep: int, rng: np.random.RandomState) -> Choice:
        """Select members greedily for an objective, from the start of the parameter ``start``."""
        is_start = objective.first_members()
        if self.start == "every":
            return _best_of_all_starts(objective, n_keep, is_start)
        if self.start == "random":
            starts = np.flatnonzero(is_start)
            first = int(starts[rng.randint(len(starts))])
        elif self.start == "relevance":
            first = best_member(objective.relevance, is_start)
        elif self.start == "spread":
            distances = mean_member_distances(objective, objective.relevance)
            first = best_member(distances, is_start)
        else:
            first = int(self.start)
        start = objective.resume_selection(first)[:n_keep]
        return greedy_forward(objective, n_keep, start, worth=lambda _: objective.value)


def refined_members(
    objective: PairObjective, members: Sequence[int], votes: Votes | VoteStore
) -> list[int]:
    """Return members after swaps, unless none of these may be selected first."""
    refined = with_valid_first(swap_search(objective, members), votes)
    return refined if first_members(votes)[refined[0]] else list(members)


def mean_member_distances(objective: PairObjective, relevance: Floats) -> Floats:
    """Return the mean TDAC of each member to all others, or to a sample of many members."""
    n_members = objective.n_members
    if n_members == 1:
        return np.zeros(1)
    if n_members <= _SPREAD_EXACT:
        return objective.matrix().sum(axis=0) / (n_members - 1)
    ranks = [round(j * (n_members - 1) / (_SPREAD_SAMPLE - 1)) for j in range(_SPREAD_SAMPLE)]
    sample = ranking(relevance)[ranks].tolist()
    n_others = np.full(n_members, _SPREAD_SAMPLE)
    n_others[sample] -= 1
    return objective.matrix_rows(sample).sum(axis=0) / n_others


def _best_of_all_starts(objective: TDAS, n_keep: int, is_start: BoolArray) -> Choice:
    """Return the best result of greedy searches from every member, which run side by side."""
    distances = objective.matrix()
    n_members = len(distances)
    runs = np.arange(n_members)
    members = np.empty((n_keep, n_members), dtype=np.intp)
    scores = np.zeros((n_keep, n_members))
    sums = np.where(np.eye(n_members, dtype=bool), -np.inf, distances)
    members[0] = runs
    for step in range(1, n_keep):
        members[step] = [best_member(row) for row in sums]
        scores[step] = scores[step - 1] + sums[runs, members[step]]
        sums += distances[members[step]]
        sums[runs, members[step]] = -np.inf
    best = best_member(scores[-1], is_start)
    return Choice(members[:, best].tolist(), scores[:, best])


def one_class_warnings(votes: Votes | VoteStore) -> Iterator[str]:
    """Yield a warning if all samples have the same true label."""
    if (votes.truth == votes.truth[0]).all():
        yield (
            f"y has one class only ({votes.classes[votes.truth[0]]}), so that no member is "
            "relevant: diversity alone decides. Pass samples of all classes."
        )


def poor_member_warnings(votes: Votes | VoteStore, members: IndexArray) -> Iterator[str]:
    """Yield a warning if selected members agree with y less than chance would."""
    # A negative κ, because accuracy below 1/classes would flag good members on imbalanced classes.
    chosen = np.sort(members)
    poor = chosen[kappa_with_truth(votes.take(chosen)) < 0]
    if len(poor):
        named = ", ".join(map(str, poor[:5])) + (", …" if len(poor) > 5 else "")
        verb, noun = ("agrees", "member") if len(poor) == 1 else ("agree", "members")
        yield (
            f"{len(poor)} of the {len(members)} selected members {verb} with y less than chance "
            f"would ({noun} {named}): mutual information rewards a member that is reliably wrong. "
            f"Look at {'it, or leave it' if len(poor) == 1 else 'them, or leave them'} out."
        )
