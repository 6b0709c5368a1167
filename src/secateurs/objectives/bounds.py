"""An upper bound on objectives of pairs: how good the best set could be."""

import numpy as np
from numpy.typing import NDArray

from secateurs.objectives._pair_objective import PairObjective

_MOST_MATRIX_MEMBERS = 4096  # above, distances are read row by row and never held together
_MOST_STEPS = 100
_STEP_WORK = 30_000_000  # distances looked at in all steps together: about a second
_SLACK = 1e-12  # against rounding: a bound must not fall below the optimum it meets


def upper_bound(objective: PairObjective, n_keep: int, reached: float) -> float:
    """Return an upper bound on the objective of every set of ``n_keep`` members.

    In a set P of k members each one contributes its own worth and half of what it is worth beside
    the k − 1 others, which is at most half the sum of its k − 1 largest values; and no P has more
    than the k largest contributions. That alone is a bound. It is then tightened by Lagrangian
    relaxation: moving an amount from d(i, j) to d(j, i) leaves every set's sum as it is, so any
    such moves give a valid bound, and subgradient steps towards ``reached`` (a value that some set
    has) look for moves that give a low one, as in bounds for the quadratic knapsack problem [1]_.

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
    parts = []
    for first in range(0, objective.n_members, 16):
        members = np.arange(first, min(objective.n_members, first + 16))
        rows = objective.matrix_rows(slice(first, first + len(members)))
        rows[np.arange(len(members)), members] = -np.inf  # nobody is beside itself
        largest = np.partition(rows, -(n_keep - 1), axis=1)[:, -(n_keep - 1) :]
        parts.append(objective.member_values[members] + largest.sum(axis=1) / 2)
    return np.concatenate(parts)


def _sum_of_largest(contributions: NDArray[np.float64], n_keep: int) -> float:
    return float(np.sort(contributions)[-n_keep:].sum())


def _relaxed_bound(
    distances: NDArray[np.float64], own: NDArray[np.float64], n_keep: int, reached: float
) -> float:
    n_members = len(distances)
    np.fill_diagonal(distances, -np.inf)
    bound, stalled, pace = np.inf, 0, 1.0
    for _ in range(1 + min(_MOST_STEPS, _STEP_WORK // n_members**2)):
        partners = np.argpartition(distances, -(n_keep - 1), axis=1)[:, -(n_keep - 1) :]
        beside = np.take_along_axis(distances, partners, axis=1)
        contributions = own + beside.sum(axis=1) / 2
        now = _sum_of_largest(contributions, n_keep)
        stalled = 0 if now < bound else stalled + 1
        bound = min(bound, now)
        if stalled == 5:
            stalled, pace = 0, pace / 2
        chosen = np.argsort(contributions)[-n_keep:]
        wanted = np.zeros_like(distances)
        wanted[chosen[:, None], partners[chosen]] = 1.0
        wanted -= wanted.T.copy()  # +1 where i wants j and j does not want i
        disputed = np.count_nonzero(wanted) / 2
        if disputed == 0 or now <= reached:
            break
        wanted *= pace * (now - reached) / disputed
        distances -= wanted
    return bound
