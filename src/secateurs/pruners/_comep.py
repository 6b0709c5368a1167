"""COMEP: greedy maximisation of diversity and relevance together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from secateurs.engines.sharded_objectives import ShardedTDAS
from secateurs.engines.sharding import open_objective
from secateurs.exceptions import InputError
from secateurs.measures.pair_measure import Floats
from secateurs.measures.pairwise_measures import kappa
from secateurs.objectives import TDAS
from secateurs.objectives.bounds import upper_bound
from secateurs.outputs.store_base import load_into_memory
from secateurs.outputs.stratified_folds import cross_validated_accuracy, split_vote_folds
from secateurs.outputs.vote_store import VoteStore
from secateurs.outputs.votes import Votes
from secateurs.progress import open_stage
from secateurs.pruners.base import DistributedPruner
from secateurs.pruners.parameters import check_fraction, check_option, is_integer
from secateurs.search import (
    Choice,
    best_member,
    greedy_forward,
    ranking,
    swap_search,
    tied_best,
)
from secateurs.text_format import format_list

# The nearest to 0.3 first: small weights did best on most data sets tried.
_AUTO_WEIGHTS = tuple(sorted(np.arange(11) / 10, key=lambda weight: abs(weight - 0.3)))
STARTS = ("spread", "relevance", "random", "every")
_SPREAD_EXACT = 256  # members up to which the spread start looks at all pairs
_SPREAD_SAMPLE = 32  # members it looks at otherwise


class COMEP(DistributedPruner):
    """Centralised objection maximisation for ensemble pruning: Algorithm 1 of the paper [1]_.

    Starting from one member, adds the member whose distances TDAC to those chosen have the largest
    sum. TDAC of two members is λ times the normalised variation of information between
    them plus 1 − λ times the mean normalised mutual information with the true labels; TDAS, the sum
    over all pairs, is what the result maximises. Greedy reaches at least half the optimum from any
    start, in practice nearly all of it: compare ``objective_`` with ``upper_bound_``.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep (k): a count, or a fraction of the ensemble.
    diversity_weight : float in [0, 1] or "auto", default=0.5
        Weight of diversity against relevance (λ). "auto" takes the one of 0, 0.1, … 1 whose choice
        on four fifths of the rows votes best on the fifth held out, over all five fifths; of
        equal ones the nearest to 0.3.
    start : {"spread", "relevance", "random", "every"} or int, default="spread"
        The first member: the one with the largest mean TDAC to the others (above 256
        members, to a sample of 32, spread evenly over the ranking by relevance), the most relevant
        one, a random one (the paper), or the member of this index. "every" tries all members
        and takes the result with the largest TDAS; it holds all n² distances.
    random_state : int, RandomState or None, default=None
        Draws the start if it is random, and the fifths for an automatic weight.
    refine : bool, default=False
        Improve the greedy set by best swaps of one member until none helps.
    shard : {"auto", "members", "rows"}, default="auto"
        How votes are spread over an executor's workers: by members or by rows; "auto" takes what
        sends less. The result is the same.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        TDAS of the first 1, 2, … members.
    objective_ : float
        TDAS of the kept members.
    upper_bound_ : float
        No set of as many members has a larger TDAS: ``objective_ / upper_bound_`` bounds how good
        the result is. Computed on first access, from all pairs: each member
        contributes at most half its k − 1 largest distances, and the k largest contributions
        bound any set; Lagrangian steps, which move parts of d(i, j) to d(j, i), tighten that to
        within a few percent (up to 4096 members).
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
        diversity_weight: Any = 0.5,
        start: Any = "spread",
        random_state: Any = None,
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
        """Upper bound of the TDAS of any set of as many members."""
        if "_upper_bound" not in self.__dict__:
            n_keep = len(self.member_indices_)
            objective = TDAS(load_into_memory(self._predictions), self.diversity_weight_)
            self._upper_bound = upper_bound(objective, n_keep, self.objective_)
        return self._upper_bound

    def for_members(self, members: NDArray[np.intp]) -> Self:
        """Return the pruner itself, unless its start is a member, which only one group has."""
        if is_integer(self.start):
            raise InputError(
                "{start} is one member, which only one group has. "
                f"Give one of: {format_list(STARTS)}.",
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
                f"{{start}} is not a valid member: the ensemble has {votes.n_members}. Give an "
                f"index from 0 to {votes.n_members - 1}, or one of: {format_list(STARTS)}.",
                start=self.start,
            )

    def _select(
        self,
        votes: Votes | VoteStore,
        n_keep: int,
        rng: np.random.RandomState,
        executor: Any = None,
    ) -> Choice:
        weight = self.diversity_weight
        if weight == "auto":
            with open_stage("choosing the weight of diversity"):
                weight = self._best_diversity_weight(load_into_memory(votes), n_keep, rng)
        with open_objective(ShardedTDAS, votes, weight, executor, self.shard) as objective:
            members, scores = self.grow(objective, n_keep, rng)
            if self.refine:
                members = swap_search(objective, members)
                distances = np.tril(objective.matrix_rows(members)[:, members], -1)
                scores = np.cumsum(distances.sum(axis=1))
            objective.clear_checkpoint()
        self.diversity_weight_ = float(weight)
        self.__dict__.pop("_upper_bound", None)
        self.relevance_ = objective.relevance
        self.objective_ = float(scores[-1])
        return Choice(members, scores)

    def _selection_warnings(
        self, votes: Votes | VoteStore, members: NDArray[np.intp]
    ) -> Iterator[str]:
        yield from super()._selection_warnings(votes, members)
        if self.diversity_weight != 1:
            yield from one_class_warnings(votes)
        yield from poor_member_warnings(votes, members)

    def _best_diversity_weight(
        self, votes: Votes, n_keep: int, rng: np.random.RandomState
    ) -> float:
        """Return the weight whose choice votes best on rows held out."""
        parts = split_vote_folds(votes, rng)
        seed = rng.randint(2**31)

        def accuracy_for_weight(weight: float) -> float:
            def select_members(part: Votes) -> Sequence[int]:
                objective = TDAS(part, weight)
                members, _ = self.grow(objective, n_keep, np.random.RandomState(seed))
                return swap_search(objective, members) if self.refine else members

            return cross_validated_accuracy(parts, select_members)

        scores = {weight: accuracy_for_weight(weight) for weight in _AUTO_WEIGHTS}
        return max(scores, key=scores.__getitem__)

    def grow(self, objective: TDAS, n_keep: int, rng: np.random.RandomState) -> Choice:
        """Choose members for an objective without any, from the start that was asked for."""
        if self.start == "every":
            return _best_of_all_starts(objective, n_keep)
        if self.start == "random":
            first = int(rng.randint(objective.n_members))
        elif self.start == "relevance":
            first = best_member(objective.relevance)
        elif self.start == "spread":
            first = best_member(_mean_member_distances(objective))
        else:
            first = int(self.start)
        start = objective.resume_selection(first)[:n_keep]
        return greedy_forward(objective, n_keep, start, worth=lambda _: objective.value)


def _mean_member_distances(objective: TDAS) -> Floats:
    """Return the mean TDAC of each member to all others, or to a sample if there are many."""
    n_members = objective.n_members
    if n_members == 1:
        return np.zeros(1)
    if n_members <= _SPREAD_EXACT:
        return objective.matrix().sum(axis=0) / (n_members - 1)
    places = [round(j * (n_members - 1) / (_SPREAD_SAMPLE - 1)) for j in range(_SPREAD_SAMPLE)]
    sample = ranking(objective.relevance)[places].tolist()
    others = np.full(n_members, _SPREAD_SAMPLE)
    others[sample] -= 1
    return objective.matrix_rows(sample).sum(axis=0) / others


def _best_of_all_starts(objective: TDAS, n_keep: int) -> Choice:
    """Run the greedy loop from every member, side by side, and return the best result."""
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
    best = int(np.argmax(tied_best(scores[-1])))
    return Choice(members[:, best].tolist(), scores[:, best])


def one_class_warnings(votes: Votes | VoteStore) -> Iterator[str]:
    """Yield a warning if the true labels say nothing about members."""
    if np.count_nonzero(np.bincount(votes.truth)) == 1:
        yield (
            f"y has one class only ({votes.classes[votes.truth[0]]}), so that no member is "
            "relevant: diversity alone decides. Give rows of all classes."
        )


def poor_member_warnings(votes: Votes | VoteStore, members: NDArray[np.intp]) -> Iterator[str]:
    """Yield a warning if chosen members agree with y less than chance would."""
    chosen = np.sort(members)
    poor = chosen[kappa.of_counts(labels=votes.take(chosen).truth_counts) < 0]
    if len(poor):
        named = ", ".join(map(str, poor[:5])) + (", …" if len(poor) > 5 else "")
        verb, noun = ("agrees", "member") if len(poor) == 1 else ("agree", "members")
        yield (
            f"{len(poor)} of the {len(members)} chosen members {verb} with y less than chance "
            f"would ({noun} {named}): mutual information rewards a member that is reliably wrong. "
            f"Look at {'it, or leave it' if len(poor) == 1 else 'them, or leave them'} out."
        )
