"""ParetoCOMEP: the Pareto front of relevance and diversity, and the set of it to keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

import numpy as np

from secateurs.measures import nmi, nvi
from secateurs.measures.pair_measure import Floats
from secateurs.objectives import TDAS
from secateurs.outputs.stratified_folds import cross_validated_accuracy, split_vote_folds
from secateurs.outputs.votes import Votes
from secateurs.pruners._comep import COMEP, one_class_warnings, poor_member_warnings
from secateurs.pruners.base import BasePruner
from secateurs.search import TIE, Choice, best_member, raise_if_stopped, score_levels, swap_search
from secateurs.typing import Array, IndexArray, RandomStateLike

Sets = IndexArray  # sets of members, one per row, each sorted

_WEIGHTS = _TRADE_OFFS = np.arange(11) / 10
_MOST_SETS = 10_000  # up to this number all sets are compared, which is exact
_MOST_SWAPS = 1 << 20  # bounds the time of a search: the number of swaps that are evaluated
_MOST_CELLS = 1 << 18  # bounds the memory of the distances of one block of sets to 2 MB


class ParetoCOMEP(BasePruner):
    """Find the Pareto front of relevance and diversity, and keep the set that votes best [1]_.

    `COMEP` weights two sums by λ: the normalised mutual information of the members with the true
    labels (relevance) and the normalised variation of information between them (diversity). This
    method keeps the two sums separate, which the paper leaves to future work. It searches for the
    Pareto front: the sets of ``keep`` members for which no other set is better in one sum and at
    least equal in the other. If there are at most 10,000 sets, all are compared. Otherwise a search
    starts from COMEP's sets for λ = 0, 0.1, … 1, refined by swaps. It swaps single members of sets
    on the front as long as the front grows, or until about a million swaps have been evaluated.

    One set of the front is kept, by cross-validation. At a trade-off t, this is the set whose
    diversity is closest to the fraction t of the way from the least to the most diverse set on the
    front. The method uses the t of 0, 0.1, … 1 with the best accuracy in five-fold
    cross-validation; ties go to the smallest t.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep (k): a count, or a fraction of the ensemble.
    random_state : int, RandomState or None, default=None
        Seed of the folds.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of the ensemble.
    scores_ : ndarray of shape (n_kept,)
        Their relevance: normalised mutual information with the true labels.
    pareto_front_ : ndarray of shape (n_sets,), structured
        The front, from the most relevant to the most diverse set. Fields: ``"members"``, the
        ``keep`` members of each set; ``"relevance"`` and ``"diversity"``, its two sums.
    front_index_ : int
        Index of the kept set on the front.
    trade_off_ : float
        The selected trade-off: 0 for the most relevant set, 1 for the most diverse set.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    COMEP : Weights relevance and diversity, with a given or cross-validated weight.
    PEP : The Pareto front of errors of the vote and size.

    Notes
    -----
    Of several sets that are equal in both sums, the front contains the lexicographically first set
    that was found. All n²/2 pairs of members are compared; `EPFD` with this pruner compares only
    the pairs within its groups. Neither the order of the samples nor samples without any vote
    change the result.

    References
    ----------
    .. [1] Bian et al. "Ensemble pruning based on objection maximization with a general
       distributed framework". TNNLS 2020.

    Examples
    --------
    >>> from secateurs import ParetoCOMEP
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    >>> pruner = ParetoCOMEP(keep=2, random_state=0).fit(votes, [0, 0, 1, 1])
    >>> pruner.pareto_front_["members"]
    array([[0, 2],
           [0, 1]])
    >>> pruner.pareto_front_["diversity"].round(2)
    array([0.79, 1.  ])
    """

    def __init__(self, keep: int | float = 0.1, random_state: RandomStateLike = None) -> None:
        self.keep = keep
        self.random_state = random_state

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        front = _pareto_front(votes, n_keep)
        self.trade_off_ = _best_trade_off(votes, n_keep, rng) if len(front) > 1 else 0.0
        self.pareto_front_ = front
        self.front_index_ = _front_index(front, self.trade_off_)
        members = front["members"][self.front_index_]
        return Choice(members, nmi.of_counts(labels=votes.truth_counts[members]))

    def _selection_warnings(self, votes: Votes, members: IndexArray) -> Iterator[str]:
        yield from super()._selection_warnings(votes, members)
        yield from one_class_warnings(votes)
        yield from poor_member_warnings(votes, members)


def _best_trade_off(votes: Votes, n_keep: int, rng: np.random.RandomState) -> float:
    """Return the trade-off with the best cross-validated accuracy."""
    folds = split_vote_folds(_sorted_samples(votes), rng)
    cached_front = cache(lambda training: _pareto_front(training, n_keep))

    def accuracy_at_trade_off(trade_off: float) -> float:
        def select_members(training: Votes) -> Sequence[int]:
            front = cached_front(training)
            return front["members"][_front_index(front, trade_off)]

        return cross_validated_accuracy(folds, select_members)

    return float(max(_TRADE_OFFS, key=accuracy_at_trade_off))


def _sorted_samples(votes: Votes) -> Votes:
    """Return the samples with a vote, sorted by true label and votes."""
    codes = votes.packed.decode()
    _, ranks = np.unique(np.vstack([votes.truth, codes]), axis=1, return_inverse=True)
    order = np.argsort(ranks.ravel(), kind="stable")
    return votes.rows(order[(codes[:, order] < votes.n_classes).any(axis=0)])


def _front_index(front: Array, trade_off: float) -> int:
    """Return the index of the set whose diversity is closest to a trade-off."""
    diversity = front["diversity"]
    target = diversity[0] + trade_off * (diversity[-1] - diversity[0])
    return best_member(-np.abs(diversity - target))


def _pareto_front(votes: Votes, n_keep: int) -> Array:
    """Return the front as a structured array, from the most relevant to the most diverse set."""
    sums = _SetSums(votes)
    if math.comb(votes.n_members, n_keep) <= _MOST_SETS:
        sets = sums.undominated_sets(np.array(list(combinations(range(votes.n_members), n_keep))))
    else:
        sets = sums.search_front(
            np.array([_comep_members(votes, n_keep, weight) for weight in _WEIGHTS])
        )
    fields = [("members", np.intp, (n_keep,)), ("relevance", float), ("diversity", float)]
    front = np.empty(len(sets), dtype=fields)
    front["members"] = sets
    front["relevance"], front["diversity"] = sums.relevance_and_diversity(sets)
    return front


def _comep_members(votes: Votes, n_keep: int, weight: float) -> list[int]:
    """Return COMEP's set for a weight, refined by swaps."""
    objective = TDAS(votes, weight)
    members, _ = COMEP().grow(objective, n_keep, np.random.RandomState(0))
    return sorted(swap_search(objective, members))


class _SetSums:
    """Relevance and diversity of sets, as sums over single members and over pairs."""

    def __init__(self, votes: Votes) -> None:
        self._relevance = nmi.of_counts(labels=votes.truth_counts)
        self._distances = nvi.matrix(votes)
        np.fill_diagonal(self._distances, 0.0)

    def relevance_and_diversity(self, sets: Sets) -> tuple[Floats, Floats]:
        """Return the relevance and the diversity of each set."""
        diversity = np.empty(len(sets))
        step = max(1, _MOST_CELLS // sets.shape[1] ** 2)
        for first in range(0, len(sets), step):
            block = sets[first : first + step]
            pairs = self._distances[block[:, :, None], block[:, None, :]]
            diversity[first : first + step] = pairs.sum(axis=(1, 2)) / 2
        return self._relevance[sets].sum(axis=1), diversity

    def undominated_sets(self, sets: Sets) -> Sets:
        """Return the front of some sets; of equal sets the first."""
        return sets[_undominated_indices(*self.relevance_and_diversity(sets))]

    def search_front(self, sets: Sets) -> Sets:
        """Return the front after swaps of single members, until no swap extends it or too many."""
        front = self.undominated_sets(np.unique(sets, axis=0))
        n_keep, n_members = sets.shape[1], len(self._relevance)
        budget = max(1, _MOST_SWAPS // (n_keep * (n_members - n_keep)))  # in sets to search from
        searched: set[bytes] = set()
        while budget > 0:
            new_sets = [members for members in front if members.tobytes() not in searched]
            if not new_sets:
                break
            new_sets = new_sets[:: -(-len(new_sets) // budget)]  # at equal distances on the front
            front_sums = self.relevance_and_diversity(front)
            swapped = [self._improving_swaps(members, front_sums) for members in new_sets]
            front = self.undominated_sets(np.unique(np.concatenate([front, *swapped]), axis=0))
            searched.update(members.tobytes() for members in new_sets)
            budget -= len(new_sets)
        return front

    def _improving_swaps(self, members: Sets, front_sums: tuple[Floats, Floats]) -> Sets:
        """Return the sets that differ from a set by one member and extend the front."""
        raise_if_stopped()
        free = np.setdiff1d(np.arange(len(self._relevance)), members)
        sums = self._distances[members].sum(axis=0)
        leaving, entering = np.divmod(np.arange(len(members) * len(free)), len(free))
        out, new = members[leaving], free[entering]
        relevance = self._relevance[members].sum() + self._relevance[new] - self._relevance[out]
        diversity = sums[members].sum() / 2 + sums[new] - sums[out] - self._distances[out, new]
        # Of the sets on the front that are at least as relevant, the last is the most diverse.
        n_above = np.searchsorted(-front_sums[0], TIE - relevance, side="right")
        reached = np.concatenate([[-np.inf], front_sums[1]])[n_above]
        better = np.flatnonzero(diversity > reached + TIE)
        best = better[_undominated_indices(relevance[better], diversity[better])]
        swapped = np.tile(members, (len(best), 1))
        swapped[np.arange(len(best)), leaving[best]] = new[best]
        return np.sort(swapped, axis=1)


def _undominated_indices(relevance: Floats, diversity: Floats) -> IndexArray:
    """Return the indices on the front, from the most relevant on; of equal entries the first."""
    levels = score_levels(diversity)
    order = np.lexsort((-levels, -score_levels(relevance)))
    highest_before = np.maximum.accumulate(np.concatenate([[-1], levels[order]]))[:-1]
    return order[levels[order] > highest_before]
