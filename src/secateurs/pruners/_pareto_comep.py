"""ParetoCOMEP: the Pareto front of relevance and diversity, and the set of it to keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

import numpy as np

from secateurs.measures.information import relevance_to_truth
from secateurs.measures.pair_measure import Floats
from secateurs.objectives import TDAS, PairObjective
from secateurs.outputs.missing_answers import first_members, with_valid_first
from secateurs.outputs.stratified_folds import cross_validated_accuracy, stratified_fold_indices
from secateurs.outputs.votes import Votes
from secateurs.pruners import _pareto_kernels
from secateurs.pruners._comep import (
    mean_member_distances,
    one_class_warnings,
    poor_member_warnings,
    refined_members,
)
from secateurs.pruners.base import BasePruner
from secateurs.search import TIE, Choice, best_member, raise_if_stopped, score_levels
from secateurs.typing import Array, BoolArray, IndexArray, MemberIndices, RandomStateLike

Sets = IndexArray  # sets of members, one per row, each sorted
Sums = Floats  # the relevance and the diversity of sets: (2, sets)

_WEIGHTS = _TRADE_OFFS = np.arange(11) / 10
_MOST_SETS = 10_000  # up to this number all sets are compared, which is exact
_MOST_SWAPS = 1 << 20  # bounds the time of a search: the number of swaps that are evaluated
_MOST_CELLS = 1 << 18  # bounds the memory of the distances of one block of sets to 2 MB
_MOST_RANKINGS = 100  # bounds the time if hundreds of classes are equal; the first comes first then
_NEAR_ZERO = 1e-9  # distances of equal votes are below this, in spite of rounding
_NO_FLOOR = -1e300  # below any diversity
_N_FLOORS = 1024  # 8 KB, which stays in the first-level cache; a front has a few hundred sets


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
    the pairs within its groups. Neither the order of the samples, nor samples without any vote, nor
    the order of the classes change the result, except that tied votes go to the lowest class.

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
        members = with_valid_first(front["members"][self.front_index_].tolist(), votes)
        return Choice(members, relevance_to_truth(votes)[members])

    def _selection_warnings(self, votes: Votes, members: IndexArray) -> Iterator[str]:
        yield from super()._selection_warnings(votes, members)
        yield from one_class_warnings(votes)
        yield from poor_member_warnings(votes, members)


def _best_trade_off(votes: Votes, n_keep: int, rng: np.random.RandomState) -> float:
    """Return the trade-off with the best cross-validated accuracy; 0 for too few samples."""
    folds = _invariant_folds(votes, rng)
    cached_front = cache(lambda training: _pareto_front(training, n_keep))

    def accuracy_at_trade_off(trade_off: float) -> float:
        def select_members(training: Votes) -> Sequence[int]:
            front = cached_front(training)
            return front["members"][_front_index(front, trade_off)]

        return cross_validated_accuracy(folds, select_members)

    return float(max(_TRADE_OFFS, key=accuracy_at_trade_off)) if folds else 0.0


def _invariant_folds(votes: Votes, rng: np.random.RandomState) -> list[tuple[Votes, Votes]]:
    """Return folds that depend neither on the order of the samples nor on that of the classes.

    Samples without any vote are left out. There are no folds if fewer than two samples are left.
    """
    codes = votes.packed.decode()
    ranks = np.append(class_ranks(votes.truth, codes, votes.n_classes), votes.n_classes)
    table = ranks[np.vstack([votes.truth, codes])]
    order = np.argsort(_row_ids(table.T), kind="stable")
    order = order[(codes[:, order] < votes.n_classes).any(axis=0)]
    if len(order) < 2:
        return []
    return [
        (votes.rows(order[training]), votes.rows(order[held_out]))
        for training, held_out in stratified_fold_indices(table[0, order], rng)
    ]


def class_ranks(truth: Array, codes: Array, n_classes: int) -> IndexArray:
    """Return ranks of the classes that depend on the samples, but not on the order of the classes.

    A class is ranked by its samples: which members are right about each, wrong, or have no vote.
    Classes that are equal in this are ranked by the samples on which members vote for them, then by
    the ranks of the other classes in all these samples, until no more classes can be distinguished.
    The first of the remaining equal classes is then ranked before the others: exchanging them
    hardly ever changes anything, except the names of the classes.

    Parameters
    ----------
    truth : ndarray of shape (n_samples,)
        Codes of the true classes.
    codes : ndarray of shape (n_members, n_samples)
        Codes of the votes; ``n_classes`` for a missing vote.
    n_classes : int
        Number of classes.
    """
    outcomes = np.where(codes == n_classes, 2, codes == truth)
    ranks, n_ranks = np.zeros(n_classes, dtype=np.intp), 1
    for _ in range(_MOST_RANKINGS):
        with_missing = np.append(ranks, n_classes)
        samples = _row_ids(np.vstack([outcomes, with_missing[truth], with_missing[codes]]).T)
        ranks = _refined_ranks(ranks, truth, samples)
        if ranks.max() + 1 < n_classes:
            votes = samples + np.arange(len(codes))[:, None] * (samples.max() + 1)
            ranks = _refined_ranks(ranks, codes.ravel(), votes.ravel())
        if ranks.max() + 1 == n_classes:
            break
        if ranks.max() + 1 == n_ranks:
            first_tied = np.flatnonzero(np.bincount(ranks) > 1)[0]
            ranks[ranks > first_tied] += 1
            ranks[np.flatnonzero(ranks == first_tied)[1:]] += 1
        n_ranks = int(ranks.max()) + 1
    return np.argsort(np.argsort(ranks, kind="stable"))


def _refined_ranks(ranks: IndexArray, codes: Array, items: IndexArray) -> IndexArray:
    """Return ranks of the classes; equal classes are ranked by the sorted items with their code."""
    order = np.lexsort((items, codes))
    bounds = np.searchsorted(codes[order], np.arange(len(ranks) + 1))
    sorted_items = items[order].astype(">u8")  # the highest byte first, to compare them as bytes
    keys = [
        (rank, sorted_items[start:stop].tobytes())
        for rank, start, stop in zip(ranks, bounds[:-1], bounds[1:], strict=True)
    ]
    rank_of_key = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([rank_of_key[key] for key in keys], dtype=np.intp)


def _row_ids(table: IndexArray) -> IndexArray:
    """Return the rank of each row of a table; equal rows have the same rank."""
    return np.unique(_as_raw_bytes(table), return_inverse=True)[1].ravel()


def _as_raw_bytes(table: IndexArray) -> Array:
    """Return each row as one item. With the highest byte first, items sort quickly and as rows."""
    return np.ascontiguousarray(table, dtype=">u4").view(f"V{4 * table.shape[1]}").ravel()


def _front_index(front: Array, trade_off: float) -> int:
    """Return the index of the set whose diversity is closest to a trade-off."""
    diversity = front["diversity"]
    target = diversity[0] + trade_off * (diversity[-1] - diversity[0])
    return best_member(-np.abs(diversity - target))


def _pareto_front(votes: Votes, n_keep: int) -> Array:
    """Return the front as a structured array, from the most relevant to the most diverse set."""
    sums = _SetSums(votes)
    if math.comb(votes.n_members, n_keep) <= _MOST_SETS:
        everything = np.array(list(combinations(range(votes.n_members), n_keep)))
        everything = everything[sums.is_first[everything].any(axis=1)]
        sets = everything[_undominated_indices(*sums.relevance_and_diversity(everything))]
    else:
        sets = sums.search_front(sums.comep_sets(votes, n_keep))
    fields = [("members", np.intp, (n_keep,)), ("relevance", float), ("diversity", float)]
    front = np.empty(len(sets), dtype=fields)
    front["members"] = sets
    front["relevance"], front["diversity"] = sums.relevance_and_diversity(sets)
    return front


class _TDACMatrix(PairObjective):
    """The objective of COMEP for a weight, from the TDAC of all pairs."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix
        self._start_empty(np.zeros(len(matrix)))

    @property
    def n_members(self) -> int:
        return len(self._matrix)

    def matrix(self) -> Floats:
        return self._matrix

    def _compute_rows(self, members: MemberIndices) -> Floats:
        return self._matrix[members]


class _SetSums:
    """Relevance and diversity of sets, as sums over single members and over pairs."""

    def __init__(self, votes: Votes) -> None:
        self._relevance = relevance_to_truth(votes)
        self._distances = TDAS(votes, diversity_weight=1.0).matrix()
        self.is_first = first_members(votes)  # a set has at least one of these

    def comep_sets(self, votes: Votes, n_keep: int) -> Sets:
        """Return COMEP's set for each weight, refined by swaps."""
        are_equal = _equal_votes(votes, self._distances)
        mean_relevance = (self._relevance[:, None] + self._relevance) / 2
        sets = np.empty((len(_WEIGHTS), n_keep), dtype=np.intp)
        for members, weight in zip(sets, _WEIGHTS, strict=True):
            raise_if_stopped()
            matrix = weight * self._distances + (1 - weight) * mean_relevance
            matrix[are_equal] = 0.0
            objective = _TDACMatrix(matrix)
            distances = mean_member_distances(objective, self._relevance)
            members[0] = best_member(distances, self.is_first)
            _pareto_kernels.grow_set(matrix, TIE, np.zeros(len(matrix)), members)
            members[:] = sorted(refined_members(objective, members.tolist(), votes))
        return sets

    def relevance_and_diversity(self, sets: Sets) -> Sums:
        """Return the relevance and the diversity of each set."""
        n_keep = sets.shape[1]
        diversity = np.empty(len(sets))
        step = max(1, _MOST_CELLS // n_keep**2)
        pairs = np.empty((min(step, len(sets)), n_keep, n_keep))
        for first in range(0, len(sets), step):
            block = sets[first : first + step]
            _pareto_kernels.gather_pairs(block, self._distances, pairs)
            diversity[first : first + step] = pairs[: len(block)].sum(axis=(1, 2)) / 2
        return np.stack([self._relevance[sets].sum(axis=1), diversity])

    def search_front(self, sets: Sets) -> Sets:
        """Return the front after swaps of single members, until no swap extends it or too many."""
        front, sums = _undominated_sets(sets, self.relevance_and_diversity(sets))
        n_keep, n_members = sets.shape[1], len(self._relevance)
        budget = max(1, _MOST_SWAPS // (n_keep * (n_members - n_keep)))  # in sets to search from
        searched: set[bytes] = set()
        while budget > 0:
            new = [i for i, members in enumerate(front) if members.tobytes() not in searched]
            if not new:
                break
            new = new[:: -(-len(new) // budget)]  # at equal distances on the front
            found, found_sums = zip(*self._improving_sets(front[new], sums), strict=True)
            searched.update(members.tobytes() for members in front[new])
            budget -= len(new)
            all_sets, all_sums = np.concatenate([front, *found]), np.hstack([sums, *found_sums])
            allowed = self.is_first[all_sets].any(axis=1)
            front, sums = _undominated_sets(all_sets[allowed], all_sums[:, allowed])
        return front

    def _improving_sets(self, sets: Sets, front_sums: Sums) -> Iterator[tuple[Sets, Sums]]:
        """Yield sets that differ by one member from one of some sets and extend the front."""
        n_swaps = sets.shape[1] * (len(self._relevance) - sets.shape[1])
        step = max(1, _MOST_CELLS // n_swaps)
        found = np.empty((step * n_swaps, 3), dtype=np.intp)
        sums = np.empty((step * n_swaps, 2))
        work = np.empty((4, max(len(self._relevance), _pareto_kernels.N_BINS)))
        front = np.ascontiguousarray(front_sums), *_diversity_floors(*front_sums)
        members = self._relevance, self._distances
        for first in range(0, len(sets), step):
            raise_if_stopped()
            block = sets[first : first + step]
            n_found = _pareto_kernels.find_improving_swaps(
                block, *members, *front, TIE, work, found, sums
            )
            near = _nearly_undominated_indices(*sums[:n_found].T)
            origin, leaving, entering = found[near].T
            best = _undominated_indices(sums[near, 0], sums[near, 1], origin)
            swapped = block[origin[best]]
            swapped[np.arange(len(best)), leaving[best]] = entering[best]
            yield np.sort(swapped, axis=1), sums[near[best]].T


def _undominated_sets(sets: Sets, sums: Sums) -> tuple[Sets, Sums]:
    """Return the front of some sets, and its sums; of equal sets the first by its members."""
    near = _nearly_undominated_indices(*sums)
    _, distinct = np.unique(_as_raw_bytes(sets[near]), return_index=True)
    near = near[distinct]
    front = near[_undominated_indices(*sums[:, near])]
    return sets[front], sums[:, front]


def _nearly_undominated_indices(relevance: Floats, diversity: Floats) -> IndexArray:
    """Return the indices of the sets that no other set dominates by more than rounding errors.

    They are a small part of the sets, and a single sort finds them.
    """
    order = np.argsort(-relevance)
    ordered = -relevance[order]
    most_diverse = np.maximum.accumulate(np.concatenate([[-np.inf], diversity[order]]))
    floors = most_diverse[np.searchsorted(ordered, ordered - _NEAR_ZERO)]
    return np.sort(order[diversity[order] >= floors - _NEAR_ZERO])


def _equal_votes(votes: Votes, distances: Floats) -> BoolArray:
    """Return the mask of the pairs of members whose votes are equal where both have one."""
    are_equal = distances < _NEAR_ZERO
    np.fill_diagonal(are_equal, False)
    for member in np.flatnonzero(are_equal.any(axis=1)).tolist():
        others = np.flatnonzero(are_equal[member])
        pairs = votes.take(others).agreement_counts(votes.take([member]), slice(None))
        are_equal[member, others] = (pairs["n_agreed"] == pairs["n_common"])[0]
    np.fill_diagonal(are_equal, True)
    return are_equal


def _diversity_floors(relevance: Floats, diversity: Floats) -> tuple[Floats, float]:
    """Return the least diversity of a front by its relevance below the largest, and the scale.

    Entry i is for a relevance that is i to i + 1 steps below the largest, with 1 / scale for a
    step. It is taken one step above, so that rounding never makes it too high.
    """
    width = relevance[0] - relevance[-1]
    scale = _N_FLOORS / width if width > TIE else 0.0
    above = relevance[0] - (np.arange(1, _N_FLOORS) - 1) * width / _N_FLOORS
    n_above = np.searchsorted(-relevance, -above - TIE, side="right")
    # No limit is a finite number, so that its difference from −∞ is defined.
    floors = np.concatenate([[_NO_FLOOR], diversity])[np.concatenate([[0], n_above])]
    return floors, scale


def _undominated_indices(
    relevance: Floats, diversity: Floats, groups: IndexArray | None = None
) -> IndexArray:
    """Return the indices on the front, from the most relevant on; of equal entries the first.

    With ``groups``, they are the fronts of the groups, one after another.
    """
    levels = score_levels(diversity, groups)
    keys = -levels, -score_levels(relevance, groups)
    order = np.lexsort(keys if groups is None else (*keys, groups))
    # Levels of a group are above those of the groups before it.
    highest_before = np.maximum.accumulate(np.concatenate([[-1], levels[order]]))[:-1]
    return order[levels[order] > highest_before]
