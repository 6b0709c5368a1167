"""Searches that pruners share, and the rule for ties.

Integer scores tie if they are equal, real scores if they differ by at most 1e-12 (relative to the
best score if that is above 1). Of the members that tie, the one with the lowest index is selected.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from secateurs.objectives import MeanScore, Objective, PairObjective, VoteError
from secateurs.progress import report_progress
from secateurs.typing import Array, BoolArray, IndexArray

__all__ = ["Choice", "best_member", "best_prefix", "greedy_forward", "greedy_repeated", "ranking"]

TIE = 1e-12  # larger than rounding errors of sums in another order, smaller than any real gain
_BACKFIT_ROUNDS = 100  # limits cycles of exchanges; a round without changes ends the search earlier

Mask: TypeAlias = BoolArray  # of members


class Choice(NamedTuple):
    """Members in the order of selection, and the method's score after each step."""

    members: Sequence[int]
    scores: Any  # of the method's own kind: integers, fractions or floats, in a list or array


def tied_best(scores: Array) -> Mask:
    """Return a mask of the scores that tie for the largest."""
    best = scores.max()
    if scores.dtype.kind != "f":
        return scores == best
    return scores >= best - TIE * max(1.0, abs(best))


def best_member(scores: Array, free: Mask | None = None) -> int:
    """Return the free member with the largest score, and the lowest index of those that tie."""
    members = np.arange(len(scores)) if free is None else np.flatnonzero(free)
    return int(members[np.argmax(tied_best(scores[members]))])


def score_levels(scores: Array, groups: IndexArray | None = None) -> IndexArray:
    """Return the level of each score: 0 for the smallest, and the same level for ties.

    With ``groups``, ties are those within a group, and levels rise from group to group.
    """
    order = np.argsort(scores, kind="stable") if groups is None else np.lexsort((scores, groups))
    ordered = scores[order]
    tolerance = TIE * np.maximum(1.0, np.abs(ordered[1:])) if scores.dtype.kind == "f" else 0
    rises = np.diff(ordered) > tolerance
    if groups is not None:
        rises |= np.diff(groups[order]) > 0
    levels = np.empty(len(scores), dtype=np.intp)
    levels[order[:1]] = 0
    levels[order[1:]] = np.cumsum(rises)
    return levels


def ranking(scores: Array) -> IndexArray:
    """Return the members from the largest to the smallest score; ties are ordered by index."""
    return np.argsort(-score_levels(scores), kind="stable")


def greedy_forward(
    objective: Objective,
    n_keep: int,
    start: Iterable[int] = (),
    *,
    shortlist: Callable[[list[int], Mask], Mask] | None = None,
    settle: Callable[[list[int]], None] | None = None,
    worth: Callable[[list[int]], float] | None = None,
) -> Choice:
    """Select members one at a time, each time the member that improves the objective the most.

    Parameters
    ----------
    objective : Objective
        The objective to maximise, without any selected member.
    n_keep : int
        Number of members to select.
    start : iterable of int
        Members to select first.
    shortlist : callable(selected, free) -> mask, optional
        Restricts the free members to those that may be selected next.
    settle : callable(selected), optional
        May exchange members, in place, after each addition.
    worth : callable(selected) -> float, optional
        The value of the members so far, for progress callbacks.

    Returns
    -------
    Choice
        The members, and the objective's value after each step.
    """
    selected: list[int] = []
    values: list[object] = []
    free = np.ones(objective.n_members, dtype=bool)
    first = list(start)
    while len(selected) < n_keep:
        raise_if_stopped()
        if len(selected) < len(first):
            member = first[len(selected)]
        else:
            allowed = shortlist(selected, free) if shortlist else free
            if isinstance(objective, PairObjective):
                gains = objective.leading_gains(allowed)
            else:
                gains = objective.gains()
            member = best_member(gains, allowed)
        objective.add(member)
        selected.append(member)
        if settle:
            settle(selected)
        free[:] = True
        free[selected] = False
        values.append(objective.value)
        report_progress(len(selected), n_keep, None if worth is None else worth(selected))
    return Choice(selected, values)


def greedy_repeated(
    objective: MeanScore,
    n_steps: int,
    n_distinct: int,
    *,
    start: Sequence[int] = (),
    replacement: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Choice:
    """Add the best member, which may be selected already, for a number of steps.

    Parameters
    ----------
    objective : MeanScore
        The objective to maximise, without any selected member. A perfect value ends the search.
    n_steps : int
        Number of steps.
    n_distinct : int
        Largest number of different members; once it is reached, only these are selected again.
    start : sequence of int
        Members to select first.
    replacement : bool
        Whether a member may be selected again.
    progress : callable(value), optional
        Called after each step.

    Returns
    -------
    Choice
        The members, and the objective's value after each step.
    """
    selected: list[int] = []
    values: list[float] = []
    free = np.ones(objective.n_members, dtype=bool)
    while len(selected) < n_steps:
        raise_if_stopped()
        if len(selected) < len(start):
            member = start[len(selected)]
        else:
            if len(set(selected)) == n_distinct:
                free[:] = False
                free[selected] = replacement
            if not free.any():
                break
            member = best_member(objective.gains(), free)
        objective.add(member)
        selected.append(member)
        values.append(objective.value)
        free[member] = replacement
        if progress is not None:
            progress(objective.value)
        is_perfect = (
            objective.perfect_value is not None and objective.value >= objective.perfect_value - TIE
        )
        if is_perfect and len(selected) >= len(start):
            break
    return Choice(selected, values)


def best_prefix(values: Sequence[object] | Array) -> int:
    """Return the length of the shortest prefix with the largest value."""
    return best_member(np.asarray(values)) + 1


def backfit(objective: VoteError, selected: list[int]) -> None:
    """Exchange members one at a time, oldest first, until a full round changes nothing."""
    if len(selected) < 2:
        return
    for _ in range(_BACKFIT_ROUNDS):
        raise_if_stopped()
        previous = list(selected)
        for index, member in enumerate(previous):
            objective.remove(member)
            gains = objective.gains()
            free = np.ones(len(gains), dtype=bool)
            free[selected] = False
            free[member] = True
            best = best_member(gains, free)
            # The member itself is preferred among ties, so that the search ends.
            selected[index] = member if gains[member] == gains[best] else best
            objective.add(selected[index])
        if selected == previous:
            return


def swap_search(objective: PairObjective, members: Sequence[int]) -> list[int]:
    """Replace one member by another, the best swap first, until no swap raises the objective."""
    selected = list(members)
    rows, own = objective.matrix_rows(selected), objective.member_values
    while True:
        raise_if_stopped()
        sums = rows.sum(axis=0)
        total = sums[selected].sum() / 2 + own[selected].sum()
        # A swap removes the pairs of the leaving member, and adds the pairs of the entering member
        # with the remaining ones.
        rise = sums + own - rows - (sums + own)[selected][:, None]
        rise[:, selected] = -np.inf
        by_index = np.argsort(selected)
        rank, entering = divmod(best_member(rise[by_index].ravel()), objective.n_members)
        leaving = int(by_index[rank])
        if not rise[leaving, entering] > TIE * max(1.0, abs(total)):
            return selected
        selected[leaving] = entering
        rows[leaving] = objective.matrix_rows([entering])[0]


_stop_condition: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


class Stopped(Exception):  # noqa: N818
    """A search was stopped because its result is no longer needed."""


def raise_if_stopped() -> None:
    """Raise `Stopped` if the result of the current search is no longer needed."""
    is_unneeded = _stop_condition.get()
    if is_unneeded is not None and is_unneeded():
        raise Stopped


@contextmanager
def stop_when(is_unneeded: Callable[[], bool]) -> Iterator[None]:
    """Stop searches inside this context, by `raise_if_stopped`, once the function returns True."""
    token = _stop_condition.set(is_unneeded)
    try:
        yield
    finally:
        _stop_condition.reset(token)
