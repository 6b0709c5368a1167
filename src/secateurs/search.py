"""Searches that pruners have in common, and the rule for ties.

Integer scores tie when they are equal, real ones when they differ by at most 1e-12 (relative to
the best, where that is above 1); the lowest member index wins.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.objectives import MeanScore, Objective, PairObjective, VoteError
from secateurs.progress import report_progress
from secateurs.typing import Array

__all__ = ["Choice", "best_member", "best_prefix", "greedy_forward", "greedy_repeated", "ranking"]

TIE = 1e-12
_BACKFIT_ROUNDS = 100

Mask = NDArray[np.bool_]


class Choice(NamedTuple):
    """Members in the order of choice, and the method's scores per step."""

    members: Sequence[int]
    scores: Any


def tied_best(scores: Array) -> Mask:
    """Mark the scores that tie for the largest."""
    best = scores.max()
    if scores.dtype.kind != "f":
        return scores == best
    return scores >= best - TIE * max(1.0, abs(best))


def best_member(scores: Array, free: Mask | None = None) -> int:
    """Return the free member with the largest score, the lowest index of those that tie."""
    members = np.arange(len(scores)) if free is None else np.flatnonzero(free)
    return int(members[np.argmax(tied_best(scores[members]))])


def score_levels(scores: Array) -> NDArray[np.intp]:
    """Number the distinct scores from the smallest on; scores that tie have the same number."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    apart = np.diff(ordered)
    slack = TIE * np.maximum(1.0, np.abs(ordered[1:])) if scores.dtype.kind == "f" else 0
    numbers = np.empty(len(scores), dtype=np.intp)
    numbers[order] = np.concatenate([[0], np.cumsum(apart > slack)])
    return numbers


def ranking(scores: Array) -> NDArray[np.intp]:
    """Return members from the largest score to the smallest, ties by index."""
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
    """Add the best member until there are enough.

    Parameters
    ----------
    objective : Objective
        What to maximise; no member is chosen yet.
    n_keep : int
        Number of members to choose.
    start : iterable of int
        Members to choose first.
    shortlist : callable(chosen, free) -> mask, optional
        Restricts the free members to those that may be chosen next.
    settle : callable(chosen), optional
        May exchange members, in place, after each addition.
    worth : callable(chosen) -> float, optional
        What a progress callback is told about the members so far.

    Returns
    -------
    Choice
        The members, and the objective's value after each step.
    """
    chosen: list[int] = []
    values: list[Any] = []
    free = np.ones(objective.n_members, dtype=bool)
    first = list(start)
    while len(chosen) < n_keep:
        raise_if_stopped()
        if len(chosen) < len(first):
            member = first[len(chosen)]
        else:
            member = best_member(objective.gains(), shortlist(chosen, free) if shortlist else free)
        objective.add(member)
        chosen.append(member)
        if settle:
            settle(chosen)
        free[:] = True
        free[chosen] = False
        values.append(objective.value)
        report_progress(len(chosen), n_keep, None if worth is None else worth(chosen))
    return Choice(chosen, values)


def greedy_repeated(
    objective: MeanScore,
    n_steps: int,
    n_distinct: int,
    *,
    start: Sequence[int] = (),
    replacement: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Choice:
    """Add the best member, one chosen before or another, for a number of steps.

    Parameters
    ----------
    objective : MeanScore
        What to maximise; no member is chosen yet. There is nothing to add to a perfect value.
    n_steps : int
        Number of steps.
    n_distinct : int
        Largest number of different members; then only these are chosen again.
    start : sequence of int
        Members to choose first.
    replacement : bool
        Whether a member may be chosen again.
    progress : callable(value), optional
        Called after each step.

    Returns
    -------
    Choice
        The members, and the objective's value after each step.
    """
    chosen: list[int] = []
    values: list[float] = []
    free = np.ones(objective.n_members, dtype=bool)
    while len(chosen) < n_steps:
        raise_if_stopped()
        if len(chosen) < len(start):
            member = start[len(chosen)]
        else:
            if len(set(chosen)) == n_distinct:
                free[:] = False
                free[chosen] = replacement
            if not free.any():
                break
            member = best_member(objective.gains(), free)
        objective.add(member)
        chosen.append(member)
        values.append(objective.value)
        free[member] = replacement
        if progress is not None:
            progress(objective.value)
        is_perfect = (
            objective.perfect_value is not None and objective.value >= objective.perfect_value - TIE
        )
        if is_perfect and len(chosen) >= len(start):
            break
    return Choice(chosen, values)


def best_prefix(values: Sequence[Any]) -> int:
    """Return the length of the shortest prefix with the largest value."""
    return best_member(np.asarray(values)) + 1


def backfit(objective: VoteError, chosen: list[int]) -> None:
    """Exchange members one at a time, oldest first, until a whole round changes nothing."""
    if len(chosen) < 2:
        return
    for _ in range(_BACKFIT_ROUNDS):
        raise_if_stopped()
        before = list(chosen)
        for place, member in enumerate(before):
            objective.remove(member)
            gains = objective.gains()
            free = np.ones(len(gains), dtype=bool)
            free[chosen] = False
            free[member] = True
            best = best_member(gains, free)
            chosen[place] = member if gains[member] == gains[best] else best
            objective.add(chosen[place])
        if chosen == before:
            return


def swap_search(objective: PairObjective, members: Sequence[int]) -> list[int]:
    """Make the best swap of one member for another until none raises the objective."""
    chosen = list(members)
    rows, own = objective.matrix_rows(chosen), objective.member_values
    while True:
        raise_if_stopped()
        sums = rows.sum(axis=0)
        total = sums[chosen].sum() / 2 + own[chosen].sum()
        # The one that leaves takes its sum along; the one that enters adds its own to the rest.
        rise = sums + own - rows - (sums + own)[chosen][:, None]
        rise[:, chosen] = -np.inf
        by_index = np.argsort(chosen)
        place, entering = divmod(best_member(rise[by_index].ravel()), objective.n_members)
        place = int(by_index[place])
        if not rise[place, entering] > TIE * max(1.0, abs(total)):
            return chosen
        chosen[place] = entering
        rows[place] = objective.matrix_rows([entering])[0]


_stop_condition: ContextVar[Callable[[], bool] | None] = ContextVar("unwanted", default=None)


class Stopped(Exception):  # noqa: N818
    """The result of this work is no longer wanted."""


def raise_if_stopped() -> None:
    """Raise `Stopped` if the result is no longer wanted."""
    unwanted = _stop_condition.get()
    if unwanted is not None and unwanted():
        raise Stopped


@contextmanager
def stop_when(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Let `raise_if_stopped` call this function to learn whether to stop."""
    token = _stop_condition.set(unwanted)
    try:
        yield
    finally:
        _stop_condition.reset(token)
