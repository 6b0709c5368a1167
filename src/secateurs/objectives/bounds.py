"""Upper bound on a `PairObjective`: the largest value that any set could have."""

import numpy as np
from numpy.typing import NDArray

from secateurs.objectives._pair_objective import PairObjective

# The gain of the relaxation, and its limits, are measured in docs/decisions/0004-upper-bound.md.
_MOST_MATRIX_MEMBERS = 4096  # above, only the simple bound is computed, row by row
_MOST_STEPS = 100
_STEP_WORK = 30_000_000  # distances read in all steps together: about a second of work
_STALLED_STEPS = 5  # steps without a lower bound after which the step size is halved
_SLACK = 1e-12  # allows for rounding: a bound must not be below the optimum that it reaches
_BLOCK_ROWS = 16  # rows computed at once: bounds their memory to 16 floats per member


def upper_bound(objective: PairObjective, n_keep: int, reached: float) -> float:
    """Return an upper bound on the objective of every set of ``n_keep`` members.

    In a set P of k members, each member contributes its own value and half of its values with the
    k − 1 other members, which is at most half the sum of its k − 1 largest values. The sum of the k
    largest contributions is therefore an upper bound. Lagrangian relaxation then tightens it.
    Moving an amount from d(i, j) to d(j, i) does not change the sum of any set, so the bound
    remains valid after such moves. Subgradient steps towards ``reached``, the value of a known set,
    look for moves with a low bound, as in bounds for the quadratic knapsack problem [1]_.

    References
    ----------
    .. [1] Caprara, Pisinger and Toth. "Exact solution of the quadratic knapsack problem". INFORMS
       Journal on Computing 1999.
    """
    if n_keep < 2:
        return float(objective.member_values.max())
    if objective.n_members > _MOST_MATRIX_MEMBERS:
        bound = _sum_of_largest(_row_contributions(objective, n_keep), n_keep)
    else:
        bound = _relaxed_bound(objective.matrix(), objective.member_values, n_keep, reached)
    return bound + _SLACK * abs(bound)


def _row_contributions(objective: PairObjective, n_keep: int) -> NDArray[np.float64]:
    """Return the largest possible contribution of each member, computed in blocks of rows."""
    blocks = []
    for first in range(0, objective.n_members, _BLOCK_ROWS):
        members = np.arange(first, min(objective.n_members, first + _BLOCK_ROWS))
        rows = objective.matrix_rows(slice(first, first + len(members)))
        rows[np.arange(len(members)), members] = -np.inf  # a member has no pair with itself
        largest = np.partition(rows, -(n_keep - 1), axis=1)[:, -(n_keep - 1) :]
        blocks.append(objective.member_values[members] + largest.sum(axis=1) / 2)
    return np.concatenate(blocks)


def _sum_of_largest(contributions: NDArray[np.float64], n_keep: int) -> float:
    return float(np.sort(contributions)[-n_keep:].sum())


def _relaxed_bound(
    distances: NDArray[np.float64], member_values: NDArray[np.float64], n_keep: int, reached: float
) -> float:
    """Return the lowest bound that subgradient steps find; changes the distances in place."""
    n_members = len(distances)
    np.fill_diagonal(distances, -np.inf)
    bound, n_stalled, step_size = np.inf, 0, 1.0
    for _ in range(1 + min(_MOST_STEPS, _STEP_WORK // n_members**2)):
        partners = np.argpartition(distances, -(n_keep - 1), axis=1)[:, -(n_keep - 1) :]
        largest = np.take_along_axis(distances, partners, axis=1)
        contributions = member_values + largest.sum(axis=1) / 2
        current = _sum_of_largest(contributions, n_keep)
        n_stalled = 0 if current < bound else n_stalled + 1
        bound = min(bound, current)
        if n_stalled == _STALLED_STEPS:
            n_stalled, step_size = 0, step_size / 2
        selected = np.argsort(contributions)[-n_keep:]
        subgradient = np.zeros_like(distances)
        subgradient[selected[:, None], partners[selected]] = 1.0
        subgradient -= subgradient.T.copy()  # +1 where j is a partner of i but not vice versa
        n_one_sided = np.count_nonzero(subgradient) / 2
        if n_one_sided == 0 or current <= reached:
            break
        subgradient *= step_size * (current - reached) / n_one_sided
        distances -= subgradient
    return bound
