"""Methods by the rules of the authors' program, which explain the differences of selections.

All functions have the same parameters: ``keep`` is the number of members to keep, ``rho`` the
fraction of the full ensemble, also in a group, and ``rng`` the generator that their program draws
from. Ensembles of ``keep`` members or fewer are kept whole.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from secateurs.outputs.votes import Votes

Members: TypeAlias = NDArray[np.bool_]  # whether each member is selected
Rule: TypeAlias = Callable[[Votes, int, float, np.random.RandomState], list[int]]


def _keeps_small_ensembles(rule: Rule) -> Rule:
    """Return a rule that selects all members if there are not more than it has to keep."""

    @wraps(rule)
    def select(votes: Votes, keep: int, rho: float, rng: np.random.RandomState) -> list[int]:
        if votes.n_members <= keep:
            return list(range(votes.n_members))
        return sorted(int(member) for member in rule(votes, keep, rho, rng))

    return select


def _ballots(votes: Votes) -> NDArray[np.int64]:
    """Return the votes as members × samples × classes."""
    return np.eye(votes.n_classes, dtype=np.int64)[votes.codes(range(votes.n_members))]


def _error_counter(votes: Votes) -> Callable[[Members], int]:
    """Return a function that counts errors of the vote; a tied vote goes to the smallest label."""
    ballots = _ballots(votes)

    def count_errors(selected: Members) -> int:
        return int((ballots[selected].sum(axis=0).argmax(axis=1) != votes.truth).sum())

    return count_errors


@_keeps_small_ensembles
def select_oo(votes: Votes, keep: int, rho: float, rng: np.random.RandomState) -> list[int]:
    """Select members with an angle below 90° to the reference direction, or draw one member."""
    signs = 2.0 * (votes.codes(range(votes.n_members)) == votes.truth) - 1
    mean = signs.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # their angles can be NaN too
        reference = 1 - mean.sum() / (mean * mean).sum() * mean
        lengths = np.sqrt((signs * signs).sum(axis=1)) * np.sqrt((reference * reference).sum())
        selected = np.arccos((signs * reference).sum(axis=1) / lengths) < np.pi / 2
    if not selected.any():
        selected[rng.randint(votes.n_members)] = True
    return np.flatnonzero(selected).tolist()


@_keeps_small_ensembles
def select_drep(votes: Votes, keep: int, rho: float, rng: np.random.RandomState) -> list[int]:
    """Add members that differ from the committee, as long as its errors do not increase."""
    n_labels = len(np.unique(votes.truth))
    codes = votes.codes(range(votes.n_members)).astype(float)
    if n_labels == 2:
        labels, truth = 2 * codes - 1, 2.0 * votes.truth - 1
    else:
        labels, truth = codes - n_labels // 2, votes.truth - float(n_labels // 2)
    selected = [int((labels != truth).mean(axis=1).argmin())]
    for _ in range(math.ceil(rho * votes.n_members)):
        committee = _sign_committee(labels[selected])
        rest = np.setdiff1d(np.arange(votes.n_members), selected)
        agreement = np.array([np.mean(2.0 * (labels[i] == committee) - 1) for i in rest])
        # The order of ties is that of NumPy's default sort, as in their program.
        candidates = rest[np.argsort(agreement)[: math.ceil(rho * len(rest))]]
        errors = [np.mean(_sign_committee(labels[[*selected, i]]) != truth) for i in candidates]
        if min(errors) > np.mean(committee != truth):
            break
        selected.append(int(candidates[int(np.argmin(errors))]))
    return selected


def _sign_committee(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sign of the mean label; ties get the more frequent sign, or else −1.

    Their program draws the sign at random if both are equally frequent. With the clock that
    `_authors_runner` gives to it, this is always −1.
    """
    signs = np.sign(labels.mean(axis=0))
    signs[signs == 0] = 1 if (signs == 1).sum() > (signs == -1).sum() else -1
    return signs


def _flip_members(selected: Members, rng: np.random.RandomState) -> Members:
    """Flip each member with probability 1/n."""
    return selected ^ (rng.uniform(size=len(selected)) < 1 / len(selected))


@_keeps_small_ensembles
def select_sep(votes: Votes, keep: int, rho: float, rng: np.random.RandomState) -> list[int]:
    """Flip random members, in a few rounds; stop as soon as more than ρ·n members are selected."""
    count_errors, n_members = _error_counter(votes), votes.n_members
    selected = rng.uniform(size=n_members) <= rho
    if not selected.any():
        selected[rng.randint(n_members)] = True
    limit = math.ceil(rho * n_members)
    for _ in range(limit + 1):
        flipped = _flip_members(selected, rng)
        if count_errors(flipped) <= count_errors(selected):
            selected = flipped
        if selected.sum() > limit:
            break
    return np.flatnonzero(selected).tolist()


@_keeps_small_ensembles
def select_pep(votes: Votes, keep: int, rho: float, rng: np.random.RandomState) -> list[int]:
    """Keep an archive of sets that are best in errors and size, for ρ·n rounds."""
    count_errors, n_members = _error_counter(votes), votes.n_members
    archive: list[tuple[int, int, Members]] = []

    def offer(selected: Members) -> bool:
        """Add a set unless the archive dominates it; remove the sets that it dominates weakly."""
        errors, size = count_errors(selected), int(selected.sum())
        if any(e <= errors and s <= size and (e, s) != (errors, size) for e, s, _ in archive):
            return False
        archive[:] = [item for item in archive if item[0] < errors or item[1] < size]
        archive.append((errors, size, selected))
        return True

    offer(rng.randint(2, size=n_members).astype(bool))
    for _ in range(math.ceil(rho * n_members)):
        child = _flip_members(archive[rng.randint(len(archive))][2], rng)
        if offer(child):
            for neighbour in _descent(child, count_errors):
                offer(neighbour)
    errors = [errors for errors, _, _ in archive]
    best = archive[int(np.argmin(errors))][2].copy()
    if not best.any():
        best[rng.randint(n_members)] = True
    return np.flatnonzero(best).tolist()


def _descent(selected: Members, count_errors: Callable[[Members], int]) -> list[Members]:
    """Flip every member once, each time the one with the fewest errors; return all steps."""
    rest, steps = list(range(len(selected))), []
    while rest:
        neighbours = [selected.copy() for _ in rest]
        for neighbour, member in zip(neighbours, rest, strict=True):
            neighbour[member] = not neighbour[member]
        best = int(np.argmin([count_errors(neighbour) for neighbour in neighbours]))
        selected = neighbours[best]
        steps.append(selected)
        del rest[best]
    return steps


@_keeps_small_ensembles
def select_oep(votes: Votes, keep: int, rho: float, rng: np.random.RandomState) -> list[int]:
    """Order members by the errors of the vote, where a tied vote goes to the smallest label."""
    ballots = _ballots(votes)
    rest, order, errors = list(range(votes.n_members)), [], []
    counts = np.zeros(ballots.shape[1:], dtype=np.int64)
    while rest:
        winners = (counts + ballots[rest]).argmax(axis=2)  # argmax returns the smallest label
        found = (winners != votes.truth).sum(axis=1)
        errors.append(int(found.min()))
        order.append(rest.pop(int(found.argmin())))
        counts += ballots[order[-1]]
    return order[: int(np.argmin(errors)) + 1]


@_keeps_small_ensembles
def select_kp(votes: Votes, keep: int, rho: float, rng: np.random.RandomState) -> list[int]:
    """Select disjoint pairs with the lowest kappa; of the last pair, perhaps the first member."""
    n_members = votes.n_members
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
    return selected


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
