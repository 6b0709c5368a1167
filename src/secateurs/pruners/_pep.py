"""PEP: Pareto ensemble pruning, fewer errors and fewer members at once."""

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
from secateurs.search import Choice, Mask, best_member


class PEP(RandomSearchPruner):
    """Pareto ensemble pruning: search for few errors and few members at once [1]_.

    Keeps an archive of sets none of which is beaten by another in both respects. Each round takes
    a random one, flips every member with probability 1/n, and, if the archive does not beat the
    result, lets it in and searches around it: variable-depth search flips the member that
    leaves the fewest errors, then the next, each member once, and offers every set on its way.

    Parameters
    ----------
    keep : int, float or None, default=None
        Largest number of members to keep: a count, or a fraction of the ensemble. The search
        starts from no larger set; the result is the set of the archive with the fewest errors
        among those of that size or smaller. None takes the one with the fewest errors of all.
    n_iterations : int or "auto", default="auto"
        Number of rounds. "auto" is round(n² ln n), but at most 50,000, reached at
        104 members, so that a run stays practical.
    random_state : int, RandomState or None, default=None
        Draws the first set, the parents and the flips.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of the ensemble.
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote of the first 1, 2, … of them.
    objective_ : float
        Error rate of the kept members' vote.
    pareto_front_ : list of (float, ndarray)
        The archive, by size: the error rate and the members of each set. A larger set is there
        only if it has fewer errors.
    n_iter_ : int
        Number of rounds made.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    SEP : Searches for few errors alone.
    OEP : Orders members greedily, without chance.

    Notes
    -----
    Where q classes share the win and the true one is among them, the vote counts as 1 − 1/q
    errors. The empty set is never let in. A child that equals its parent is not searched around a
    second time: that would find the same sets again.

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
            (float(objective.error_rates(solution.worth)), np.flatnonzero(solution.member_mask))
            for solution in front
        ]
        # The first set fits, and only sets no larger push one out: some set always fits.
        fitting = [solution for solution in front if n_keep is None or solution.n_members <= n_keep]
        best = max(fitting, key=lambda solution: solution.worth)  # the smallest of the best
        return self._finish_selection(objective, np.flatnonzero(best.member_mask).tolist())


@dataclass(frozen=True, eq=False)
class _Solution:
    """A set of members, its worth (minus its errors) and its size."""

    member_mask: Mask
    worth: int
    n_members: int

    def is_as_good_as(self, other: "_Solution") -> bool:
        """Return whether this one is at least as good in both respects."""
        return self.worth >= other.worth and self.n_members <= other.n_members

    def is_better_than(self, other: "_Solution") -> bool:
        """Return whether this one is at least as good in both respects, and better in one."""
        return self.is_as_good_as(other) and (self.worth, -self.n_members) != (
            other.worth,
            -other.n_members,
        )


def _evolve_archive(
    objective: VoteError, first: _Solution, n_rounds: int, rng: np.random.RandomState
) -> list[_Solution]:
    n_members = objective.n_members
    archive = [first]
    searched: set[bytes] = set()
    for done in range(n_rounds):
        search.raise_if_stopped()
        if done and done % max(1, n_rounds // 200) == 0:
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
            for solution in _search_variable_depth(objective, child):
                if solution.n_members:
                    _add_to_archive(archive, solution)
    report_progress(n_rounds, n_rounds)
    return archive


def _make_solution(objective: VoteError, chosen: Mask) -> _Solution:
    objective.reset(np.flatnonzero(chosen))
    return _Solution(chosen, int(objective.value), int(chosen.sum()))


def _add_to_archive(archive: list[_Solution], solution: _Solution) -> bool:
    """Add a solution to the archive, unless one there beats it; drop those that it covers."""
    if any(known.is_better_than(solution) for known in archive):
        return False
    archive[:] = [known for known in archive if not solution.is_as_good_as(known)]
    archive.append(solution)
    return True


def _search_variable_depth(objective: VoteError, start: _Solution) -> list[_Solution]:
    """Return the sets on the way of flipping each member once, the best one first.

    The objective already has the members of the start.
    """
    chosen = start.member_mask.copy()
    flip_each = VoteError.flip_each if objective.is_reduced else _flip_each
    path = []
    now = start.member_mask.copy()
    for member, worth in zip(*flip_each(objective, chosen), strict=True):
        now[member] = not now[member]
        path.append(_Solution(now.copy(), int(worth), int(now.sum())))
    return path


def _flip_each(objective: VoteError, chosen: Mask) -> tuple[list[int], list[int]]:
    """Flip every member once, as `VoteError.flip_each` does, by counts of all members at once."""
    free = np.ones(len(chosen), dtype=bool)
    order, values = [], []
    for _ in range(len(chosen)):
        worths = objective.flip_gains(chosen)
        member = best_member(worths, free)
        objective.flip_members([member], chosen)
        free[member] = False
        order.append(member)
        values.append(int(worths[member]))
    return order, values
