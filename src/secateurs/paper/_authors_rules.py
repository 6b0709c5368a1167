"""KP and OEP by the rules of the authors' program, which explain the differences of selections."""

import numpy as np
from numpy.typing import NDArray

from secateurs.outputs.votes import Votes


def select_oep(votes: Votes, keep: int) -> list[int]:
    """Order members by the errors of the vote, where a tied vote goes to the smallest label."""
    if votes.n_members <= keep:
        return list(range(votes.n_members))
    ballots = np.eye(votes.n_classes, dtype=np.int64)[votes.codes(range(votes.n_members))]
    rest, order, errors = list(range(votes.n_members)), [], []
    counts = np.zeros(ballots.shape[1:], dtype=np.int64)
    while rest:
        winners = (counts + ballots[rest]).argmax(axis=2)  # argmax returns the smallest label
        found = (winners != votes.truth).sum(axis=1)
        errors.append(int(found.min()))
        order.append(rest.pop(int(found.argmin())))
        counts += ballots[order[-1]]
    return sorted(order[: int(np.argmin(errors)) + 1])


def select_kp(votes: Votes, keep: int) -> list[int]:
    """Select disjoint pairs with the lowest kappa; of the last pair, perhaps the first member."""
    n_members = votes.n_members
    if n_members <= keep:
        return list(range(n_members))
    kappa = np.full((n_members, n_members), np.inf, dtype=np.float32)
    for i, j in zip(*np.triu_indices(n_members, 1), strict=True):
        first, second = votes.codes([int(i), int(j)])
        kappa[i, j] = their_kappa(first, second, votes.truth)
    selected: list[int] = []
    while len(selected) < keep:
        pair = [int(index) for index in np.unravel_index(kappa.argmin(), kappa.shape)]
        pair = pair[: keep - len(selected)]
        selected += pair
        kappa[pair, :] = kappa[:, pair] = np.inf
    return sorted(selected)


def their_kappa(
    first: NDArray[np.integer], second: NDArray[np.integer], truth: NDArray[np.integer]
) -> float:
    """Return the kappa of two members, as their program computes it.

    The margins of the chance term are products of C_ii + C_ij over all other labels j, instead of
    sums of C_ij. For two classes this is Cohen's kappa.
    """
    labels = np.unique(np.concatenate([first, second, truth]))
    table = (first == labels[:, None]).astype(float) @ (second == labels[:, None]).T
    others = ~np.eye(len(labels), dtype=bool)
    diagonal = np.diag(table)
    rows = np.prod(table + diagonal[:, None], axis=1, where=others)
    columns = np.prod(table + diagonal, axis=0, where=others)
    agreement, chance = diagonal.sum() / len(truth), rows @ columns / len(truth) ** 2
    return float((agreement - chance) / ((1 - chance) or 1e-16))
