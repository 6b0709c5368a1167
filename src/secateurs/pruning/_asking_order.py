"""The order in which the members of a panel are asked, and when a vote is decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import TypeAlias

import numpy as np

from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties
from secateurs.pruners.parameters import check_option
from secateurs.pruning._sequential_kernels import count_undecided, find_best_order
from secateurs.search import TIE
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray

Order: TypeAlias = str | Sequence[int] | Sequence[str]
ORDERS = ("best", "cost", "weight")
# The best order is found among all orders of up to this many members, in about a second.
_MOST_ORDERED = 14
_MOST_TRIED = 400  # orders of a cascade: a second for 8 members and 1000 samples


def vote_leads(state: FloatArray, margin: float) -> tuple[IndexArray, FloatArray]:
    """Return the winner of each sample, and its lead over the closest rival.

    A lead of whole numbers over a higher class counts half a vote more, because a tie is won: it
    is then decided if the lead is at least the remaining weight. Without votes, there is no lead.
    Sums of probabilities tie within rounding errors, as in `Blend.predict`.
    """
    totals = state.sum(axis=1, keepdims=True)
    winners = argmax_with_ties(state / np.where(totals > 0, totals, 1))
    leads = state[np.arange(len(state)), winners][:, None] - state
    is_higher = np.arange(state.shape[1]) > winners[:, None]
    leads = leads + np.where(is_higher, 0.5, 0.0) if margin == 0 else leads - margin
    leads[np.arange(len(state)), winners] = np.inf
    return winners, np.where(state.any(axis=1), leads.min(axis=1), 0.0)


def is_stopped(lead: FloatArray, remaining: float, confidence: float) -> BoolArray:
    """Return which samples are decided: the remaining weight cannot change the winner."""
    is_decided: BoolArray = (lead > remaining) | (remaining <= 0)
    if confidence == 1 or remaining <= 0:
        return is_decided
    # A confidence is one of these ratios: comparing products could differ by a rounding error.
    return is_decided | (lead / remaining >= confidence)


def resolve_order(  # noqa: PLR0917
    order: Order,
    names: Sequence[str],
    votes: FloatArray,
    weights: FloatArray,
    costs: FloatArray,
    margin: float,
) -> list[int]:
    """Return the positions of the members in the order in which they are asked."""
    if hasattr(order, "__iter__") and not isinstance(order, str):
        known = {str(name): index for index, name in enumerate(names)}
        positions = [known.get(one, one) if isinstance(one, str) else one for one in order]
        if sorted(map(str, positions)) != sorted(map(str, range(len(names)))):
            raise InputError(
                f"{{order}} must contain each of the {len(names)} members once, by name or index.",
                order=list(order),
            )
        return [int(one) for one in positions]
    check_option("order", order, ORDERS)
    assert isinstance(order, str)
    simple = _simple_orders(weights, costs)
    if order != "best":
        return simple[order]
    if len(names) <= _MOST_ORDERED:
        return _best_order(votes, weights, costs, margin)
    return min(simple.values(), key=lambda one: _order_cost(one, votes, weights, costs, margin))


def _simple_orders(weights: FloatArray, costs: FloatArray) -> dict[str, list[int]]:
    """Return orders that follow from weights and costs alone, by name."""
    ratios = np.divide(costs, weights, out=np.full(len(costs), np.inf), where=weights > 0)
    return {
        "cost": np.lexsort((-weights, costs)).tolist(),
        "weight": np.lexsort((costs, -weights)).tolist(),
        "cost per weight": np.argsort(ratios, kind="stable").tolist(),
    }


def cheaper_order(
    start: list[int],
    weights: FloatArray,
    costs: FloatArray,
    expected_cost: Callable[[list[int]], float],
) -> list[int]:
    """Return an order with a lower expected cost, if moves of single members find one.

    The search starts from the cheapest of ``start`` and the orders by weight and cost, and moves
    one member at a time while that lowers the expected cost.
    """
    starts = [start, *_simple_orders(weights, costs).values()]
    least, best = min((expected_cost(one), one) for one in starts)
    n_tried, is_improved = len(starts), True
    while is_improved:
        is_improved = False
        for source, target in permutations(range(len(best)), 2):
            if n_tried == _MOST_TRIED:
                return best
            moved = best[:source] + best[source + 1 :]
            moved.insert(target, best[source])
            cost, n_tried = expected_cost(moved), n_tried + 1
            if cost < least - TIE:
                least, best, is_improved = cost, moved, True
    return best


def _best_order(
    votes: FloatArray, weights: FloatArray, costs: FloatArray, margin: float
) -> list[int]:
    """Return the order with the least expected cost.

    Whether a sample is decided depends on the set of members that were asked, not on their order.
    So the least cost of asking a set is the least cost of the set without one member, plus the cost
    of that member for the samples that are undecided without it.
    """
    undecided = _undecided_counts(votes, weights, margin)
    order = np.empty(len(costs), dtype=np.intp)
    find_best_order(undecided, costs, np.zeros(len(undecided)), np.zeros_like(undecided), order)
    return order.tolist()


def _undecided_counts(votes: FloatArray, weights: FloatArray, margin: float) -> Array:
    """Return the number of undecided samples after each set of members, by its bit mask."""
    columns, counts = np.unique(votes.reshape(-1, votes.shape[2]), axis=1, return_counts=True)
    unique = np.ascontiguousarray(columns.reshape(*votes.shape[:2], -1))
    undecided = np.zeros(1 << len(weights), dtype=np.int64)
    state = np.zeros(unique.shape[1:])
    count_undecided(unique, weights, counts.astype(np.int64), margin, state, undecided)
    return undecided


def _order_cost(
    order: Sequence[int], votes: FloatArray, weights: FloatArray, costs: FloatArray, margin: float
) -> float:
    """Return the total cost of asking the samples in an order."""
    state, total = np.zeros((votes.shape[2], votes.shape[1])), 0.0
    is_open, remaining = np.ones(votes.shape[2], dtype=bool), float(weights.sum())
    for member in order:
        total += costs[member] * is_open.sum()
        state += votes[member].T
        remaining -= weights[member]
        is_open &= ~is_stopped(vote_leads(state, margin)[1], remaining, 1.0)
    return float(total)
