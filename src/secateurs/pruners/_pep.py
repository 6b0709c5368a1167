"""PEP: Pareto ensemble pruning, a random search for few errors and few members."""

from dataclasses import dataclass

import numpy as np

from secateurs import search
from secateurs.objectives import VoteError
from secateurs.outputs.votes import Votes
from secateurs.progress import report_progress
from secateurs.pruners.random_search import (
    RandomSearchPruner,
    random_flips,
    random_half,
    resolve_iterations,
)
from secateurs.search import Choice, best_member
from secateurs.typing import BoolArray


class PEP(RandomSearchPruner):
    """Pareto ensemble pruning: search for sets with few errors and few members [1]_.

    The method maintains an archive of sets that do not dominate each other. Each round selects a
    random set of the archive and flips every member with probability 1/n. If no set of the archive
    dominates the result, the result is added to the archive, and a variable-depth search starts
    from it: the search flips the member that leaves the fewest errors, then the next member, each
    member once, and offers every set on its way to the archive.

    Parameters
    ----------
    keep : int, float or None, default=None
        Largest number of members to keep: a count, or a fraction of the ensemble. The search
        starts from a set of at most this size. The result is the set with the fewest errors among
        the sets of the archive of at most this size. None sets no limit.
    n_iterations : int or "auto", default="auto"
        Number of rounds. "auto" is round(n² ln n), but at most 50,000, which is reached at
        104 members, to limit the running time.
    random_state : int, RandomState or None, default=None
        Seed of the first set, the selected sets and the flips.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of the ensemble.
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote of the first 1, 2, … kept members.
    objective_ : float
        Error rate of the kept members' vote.
    pareto_front_ : list of (float, ndarray)
        The archive, by size: the error rate and the members of each set. It contains a larger set
        only if that set has fewer errors.
    n_iter_ : int
        Number of rounds.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    SEP : Searches for few errors only.
    OEP : Orders members greedily, without random numbers.

    Notes
    -----
    If q classes tie for the most votes and the true class is among them, the vote counts as 1 − 1/q
    errors. The archive never contains the empty set. If no member is flipped, the search around the
    set is not repeated, since it would find the same sets again.

    References
    ----------
    .. [1] Qian, Yu and Zhou. "Pareto ensemble pruning". AAAI 2015.

    Examples
    --------
    >>> from secateurs import PEP
    >>> votes = [[0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 1]]
    >>> PEP(random_state=0).fit(votes, [0, 1, 0, 1]).pareto_front_
    [(0.0, array([0]))]
    """

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        self.n_iter_ = resolve_iterations(self.n_iterations, votes.n_members)
        objective = VoteError(votes, ties="shared", distinct=True)
        first = _make_solution(objective, random_half(votes.n_members, rng, n_keep))
        archive = _evolve_archive(objective, first, self.n_iter_, rng)
        front = sorted(archive, key=lambda solution: solution.n_members)
        self.pareto_front_ = [
            (float(objective.error_rates(solution.value)), np.flatnonzero(solution.member_mask))
            for solution in front
        ]
        # The first set is within the limit, and only sets of at most its size replace a set. The
        # archive therefore always has a set within the limit.
        fitting = [solution for solution in front if n_keep is None or solution.n_members <= n_keep]
        best = max(fitting, key=lambda solution: solution.value)  # the smallest of the best
        return self._finish_selection(objective, votes, best.member_mask)


@dataclass(frozen=True, eq=False)
class _Solution:
    """A set of members, its value (minus its errors) and its size."""

    member_mask: BoolArray
    value: int
    n_members: int

    def is_as_good_as(self, other: "_Solution") -> bool:
        """Return whether this set has no more errors and no more members."""
        return self.value >= other.value and self.n_members <= other.n_members


def _evolve_archive(
    objective: VoteError, first: _Solution, n_rounds: int, rng: np.random.RandomState
) -> list[_Solution]:
    """Return the archive after all rounds, starting from one solution."""
    n_members = objective.n_members
    archive = [first]
    searched: set[bytes] = set()
    for done in range(n_rounds):
        search.raise_if_stopped()
        if done and done % max(1, n_rounds // 200) == 0:  # every 0.5 %: callbacks cost time
            report_progress(done, n_rounds)
        parent = archive[rng.randint(len(archive))]
        flips = random_flips(n_members, rng)[0]
        if not flips.any() and parent.member_mask.tobytes() in searched:
            continue
        chosen = parent.member_mask ^ flips
        if not chosen.any():
            continue
        child = _make_solution(objective, chosen)
        if _add_to_archive(archive, child):
            searched.add(chosen.tobytes())
            for solution in _search_variable_depth(objective, child, archive):
                _add_to_archive(archive, solution)
    report_progress(n_rounds, n_rounds)
    return archive


def _make_solution(objective: VoteError, chosen: BoolArray) -> _Solution:
    """Return a solution with the errors and the size of its members."""
    objective.reset(np.flatnonzero(chosen))
    return _Solution(chosen, int(objective.value), int(chosen.sum()))


def _add_to_archive(archive: list[_Solution], solution: _Solution) -> bool:
    """Add a solution unless one of the archive dominates it, and drop those it equals or beats."""
    value, n_members = solution.value, solution.n_members
    for archived in archive:  # written out, because most of the time is spent here
        is_as_good = archived.value >= value and archived.n_members <= n_members
        if is_as_good and (archived.value != value or archived.n_members != n_members):
            return False
    archive[:] = [archived for archived in archive if not solution.is_as_good_as(archived)]
    archive.append(solution)
    return True


def _search_variable_depth(
    objective: VoteError, start: _Solution, archive: list[_Solution]
) -> list[_Solution]:
    """Return the sets of a search that flips each member once, the best member first.

    Empty sets and sets that a solution of the archive dominates are left out. The members of the
    start must already be selected in the objective.
    """
    flip_each = VoteError.flip_each if objective.can_flip_each else _flip_each
    order, values = map(np.asarray, flip_each(objective, start.member_mask.copy()))
    step_of_member = np.argsort(order)
    steps = np.arange(len(order))
    masks = start.member_mask ^ (step_of_member <= steps[:, None])
    sizes = masks.sum(axis=1)
    value = np.array([solution.value for solution in archive])[:, None]
    size = np.array([solution.n_members for solution in archive])[:, None]
    is_open = (values > value) | (sizes < size) | ((values == value) & (sizes == size))
    is_open = is_open.all(axis=0) & (sizes > 0)
    return [_Solution(masks[i], int(values[i]), int(sizes[i])) for i in np.flatnonzero(is_open)]


def _flip_each(objective: VoteError, chosen: BoolArray) -> tuple[list[int], list[int]]:
    """Flip every member once, as `VoteError.flip_each` does, with all gains per step."""
    free = np.ones(len(chosen), dtype=bool)
    order, values = [], []
    for _ in range(len(chosen)):
        gains = objective.flip_gains(chosen)
        member = best_member(gains, free)
        objective.flip_members([member], chosen)
        free[member] = False
        order.append(member)
        values.append(int(gains[member]))
    return order, values
