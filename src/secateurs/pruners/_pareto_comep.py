"""ParetoCOMEP: the front of relevance against diversity, and one set of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.measures import nmi, nvi
from secateurs.measures.pair_measure import Floats
from secateurs.objectives import TDAS
from secateurs.outputs.stratified_folds import cross_validated_accuracy, split_vote_folds
from secateurs.outputs.votes import Votes
from secateurs.pruners._comep import COMEP, one_class_warnings, poor_member_warnings
from secateurs.pruners.base import BasePruner
from secateurs.search import TIE, Choice, best_member, raise_if_stopped, score_levels, swap_search

Sets = NDArray[np.intp]  # sets of members, one a row, each sorted

_WEIGHTS = _TRADE_OFFS = np.arange(11) / 10
_MOST_SETS = 10_000  # up to which all are tried
_MOST_SWAPS = 1 << 20  # looked at in a search
_MOST_CELLS = 1 << 18  # distances of pairs held at once: 2 MB


class ParetoCOMEP(BasePruner):
    """Search for relevance and diversity at once, and keep a set that trades them well [1]_.

    `COMEP` weighs two sums by λ: the normalised mutual information of the members with the true
    labels, their relevance, and the normalised variation of information between them, their
    diversity. This method keeps them apart, as the paper leaves to future work. It looks for the
    front: sets of ``keep`` members that no other set beats in one sum and equals in the other. Up
    to 10,000 sets are all tried. Of more, a search starts from COMEP's sets for λ = 0, 0.1, … 1,
    refined by swaps, and swaps single members of sets on the front for as long as the front grows,
    or until about a million swaps have been looked at.

    One set of the front is kept, by cross-fitting: at a trade-off t, the set whose diversity is
    closest to t of the way from the least to the most diverse set on the front. Of t = 0, 0.1, … 1
    it takes the one whose sets, on the front of four fifths of the rows, vote best on the fifth
    held out, over all five fifths; of equal ones the smallest.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep (k): a count, or a fraction of the ensemble.
    random_state : int, RandomState or None, default=None
        Draws the fifths.

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
        Place of the kept set on the front.
    trade_off_ : float
        The trade-off chosen: 0 for the most relevant set, 1 for the most diverse one.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    COMEP : Weighs relevance and diversity, by a weight that is given or cross-fitted.
    PEP : The front of errors of the vote against size.

    Notes
    -----
    Of sets equal in both sums, the front has the lexicographically first that was found. All n²/2
    pairs of members are compared; `EPFD` with this pruner compares those within its groups. Neither
    the order of the rows nor rows without any vote change the result.

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

    def __init__(self, keep: int | float = 0.1, random_state: Any = None) -> None:
        self.keep = keep
        self.random_state = random_state

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        front = _pareto_front(votes, n_keep)
        self.trade_off_ = _best_trade_off(votes, n_keep, rng) if len(front) > 1 else 0.0
        self.pareto_front_ = front
        self.front_index_ = _front_index(front, self.trade_off_)
        members = front["members"][self.front_index_]
        return Choice(members, nmi.of_counts(labels=votes.truth_counts[members]))

    def _selection_warnings(self, votes: Votes, members: NDArray[np.intp]) -> Iterator[str]:
        yield from super()._selection_warnings(votes, members)
        yield from one_class_warnings(votes)
        yield from poor_member_warnings(votes, members)


def _best_trade_off(votes: Votes, n_keep: int, rng: np.random.RandomState) -> float:
    """Return the trade-off whose sets vote best on rows held out."""
    parts = split_vote_folds(_sorted_samples(votes), rng)
    front_of = cache(lambda part: _pareto_front(part, n_keep))

    def accuracy_at_trade_off(trade_off: float) -> float:
        def select_members(part: Votes) -> Any:
            front = front_of(part)
            return front["members"][_front_index(front, trade_off)]

        return cross_validated_accuracy(parts, select_members)

    return float(max(_TRADE_OFFS, key=accuracy_at_trade_off))


def _sorted_samples(votes: Votes) -> Votes:
    """Return the rows with a vote, by true label and votes, whatever order they come in."""
    codes = votes.packed.decode()
    _, ranks = np.unique(np.vstack([votes.truth, codes]), axis=1, return_inverse=True)
    order = np.argsort(ranks.ravel(), kind="stable")
    return votes.rows(order[(codes[:, order] < votes.n_classes).any(axis=0)])


def _front_index(front: Any, trade_off: float) -> int:
    """Return the set whose diversity is closest to a trade-off."""
    diversity = front["diversity"]
    target = diversity[0] + trade_off * (diversity[-1] - diversity[0])
    return best_member(-np.abs(diversity - target))


def _pareto_front(votes: Votes, n_keep: int) -> Any:
    """Return the front, from the most relevant to the most diverse set."""
    sums = _SetSums(votes)
    if math.comb(votes.n_members, n_keep) <= _MOST_SETS:
        found = sums.undominated_sets(np.array(list(combinations(range(votes.n_members), n_keep))))
    else:
        found = sums.search_front(
            np.array([_comep_members(votes, n_keep, weight) for weight in _WEIGHTS])
        )
    fields = [("members", np.intp, (n_keep,)), ("relevance", float), ("diversity", float)]
    front = np.empty(len(found), dtype=fields)
    front["members"] = found
    front["relevance"], front["diversity"] = sums.relevance_and_diversity(found)
    return front


def _comep_members(votes: Votes, n_keep: int, weight: float) -> list[int]:
    """Return COMEP's set for a weight, refined by swaps."""
    objective = TDAS(votes, weight)
    members, _ = COMEP().grow(objective, n_keep, np.random.RandomState(0))
    return sorted(swap_search(objective, members))


class _SetSums:
    """Relevance and diversity of sets, from those of single members and of pairs."""

    def __init__(self, votes: Votes) -> None:
        self._relevance = nmi.of_counts(labels=votes.truth_counts)
        self._distances = nvi.matrix(votes)
        np.fill_diagonal(self._distances, 0.0)

    def relevance_and_diversity(self, sets: Sets) -> tuple[Floats, Floats]:
        """Return the two sums of each set."""
        diversity = np.empty(len(sets))
        step = max(1, _MOST_CELLS // sets.shape[1] ** 2)
        for first in range(0, len(sets), step):
            block = sets[first : first + step]
            pairs = self._distances[block[:, :, None], block[:, None, :]]
            diversity[first : first + step] = pairs.sum(axis=(1, 2)) / 2
        return self._relevance[sets].sum(axis=1), diversity

    def undominated_sets(self, sets: Sets) -> Sets:
        """Return the front of some sets; of equal ones the first."""
        return sets[_undominated_indices(*self.relevance_and_diversity(sets))]

    def search_front(self, sets: Sets) -> Sets:
        """Swap single members until no swap of any set is let in, or there were too many swaps."""
        front = self.undominated_sets(np.unique(sets, axis=0))
        n_keep, n_members = sets.shape[1], len(self._relevance)
        room = max(1, _MOST_SWAPS // (n_keep * (n_members - n_keep)))
        searched: set[bytes] = set()
        while room > 0:
            fresh = [members for members in front if members.tobytes() not in searched]
            if not fresh:
                break
            fresh = fresh[:: -(-len(fresh) // room)]  # evenly spread, if there is no room for all
            known = self.relevance_and_diversity(front)
            found = [front, *(self._improving_swaps(members, known) for members in fresh)]
            front = self.undominated_sets(np.unique(np.concatenate(found), axis=0))
            searched.update(members.tobytes() for members in fresh)
            room -= len(fresh)
        return front

    def _improving_swaps(self, members: Sets, known: tuple[Floats, Floats]) -> Sets:
        """Return the sets that differ by one member and that extend the front known."""
        raise_if_stopped()
        free = np.setdiff1d(np.arange(len(self._relevance)), members)
        sums = self._distances[members].sum(axis=0)
        leaving, entering = np.divmod(np.arange(len(members) * len(free)), len(free))
        out, new = members[leaving], free[entering]
        relevance = self._relevance[members].sum() + self._relevance[new] - self._relevance[out]
        diversity = sums[members].sum() / 2 + sums[new] - sums[out] - self._distances[out, new]
        # Of the sets on the front that are as relevant, the last is the most diverse.
        n_above = np.searchsorted(-known[0], TIE - relevance, side="right")
        reached = np.concatenate([[-np.inf], known[1]])[n_above]
        better = np.flatnonzero(diversity > reached + TIE)
        best = better[_undominated_indices(relevance[better], diversity[better])]
        swapped = np.tile(members, (len(best), 1))
        swapped[np.arange(len(best)), leaving[best]] = new[best]
        return np.sort(swapped, axis=1)


def _undominated_indices(relevance: Floats, diversity: Floats) -> NDArray[np.intp]:
    """Return the places that no other beats, from the most relevant on; of equal ones the first."""
    reached = score_levels(diversity)
    order = np.lexsort((-reached, -score_levels(relevance)))
    before = np.maximum.accumulate(np.concatenate([[-1], reached[order]]))[:-1]
    return order[reached[order] > before]
