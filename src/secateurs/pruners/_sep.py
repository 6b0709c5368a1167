"""SEP: random search for a sub-ensemble with fewer errors."""

import math
from typing import Any

import numpy as np

from secateurs.objectives import VoteError
from secateurs.pruners._base import BasePruner, is_whole
from secateurs.search import Choice, Mask
from secateurs.votes import Votes

MOST_ROUNDS = 50_000


class SEP(BasePruner):
    """Single-objective ensemble pruning: flip members in and out, keep what is no worse [1]_.

    Starts from a random half of the members. Each round flips every member with probability 1/n
    and stays with the new set if its vote has no more errors.

    Parameters
    ----------
    keep : int, float or None, default=None
        Largest number of members to keep: a count, or a fraction of the ensemble. The search
        starts from at most so many and never goes to a larger set. None lets it decide.
    n_iterations : int or "auto", default="auto"
        Number of rounds. "auto" is round(n² ln n), as for `PEP`, but at most 50,000,
        reached at 104 members, so that a run stays practical.
    random_state : int, RandomState or None, default=None
        Draws the first set and the flips.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of the ensemble.
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote of the first 1, 2, … of them.
    objective_ : float
        Error rate of the kept members' vote.
    n_iter_ : int
        Number of rounds made.
    support_ : ndarray of shape (n_members,)
        Mask of the kept members.
    classes_ : ndarray of shape (n_classes,)
        The labels found.
    n_features_in_ : int
        Number of members.

    Notes
    -----
    Where q classes share the win and the true one is among them, the vote counts as 1 − 1/q
    errors. The empty set is never kept.

    References
    ----------
    .. [1] Qian, Yu and Zhou. "Pareto ensemble pruning". AAAI 2015.

    Examples
    --------
    >>> from secateurs import SEP
    >>> votes = [[0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 1]]
    >>> SEP(random_state=0).fit(votes, [0, 1, 0, 1]).objective_
    0.0
    """

    _may_decide_size = True

    def __init__(
        self,
        keep: int | float | None = None,
        n_iterations: int | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.keep = keep
        self.n_iterations = n_iterations
        self.random_state = random_state

    @property
    def is_nested(self) -> bool:
        """Whether a smaller ``keep`` gives a beginning of what a larger one gives."""
        return False

    def _check_parameters(self, votes: Votes) -> None:
        check_iterations(self.n_iterations)

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        n_members = votes.n_members
        self.n_iter_ = resolve_iterations(self.n_iterations, n_members)
        objective = VoteError(votes, ties="shared")
        chosen = random_half(n_members, rng, n_keep)
        objective.reset(np.flatnonzero(chosen))
        value = objective.value
        for _ in range(self.n_iter_):
            flipped = np.flatnonzero(random_flips(n_members, rng))
            if len(flipped) == 0:
                continue
            objective.flip(flipped, chosen)
            fits = n_keep is None or chosen.sum() <= n_keep
            if fits and objective.value >= value:
                value = objective.value
            else:
                objective.flip(flipped, chosen)
        return finish(self, objective, np.flatnonzero(chosen).tolist())


def check_iterations(n_iterations: Any) -> None:
    """Refuse a number of rounds that is none."""
    if n_iterations != "auto" and (not is_whole(n_iterations) or n_iterations < 0):
        raise ValueError(
            f'n_iterations={n_iterations!r} is no number of rounds. Give 0 or more, or "auto".'
        )


def resolve_iterations(n_iterations: int | str, n_members: int) -> int:
    """Turn "auto" into round(n² ln n), capped."""
    if n_iterations == "auto":
        return min(MOST_ROUNDS, round(n_members**2 * math.log(n_members)))
    return int(n_iterations)


def random_half(n_members: int, rng: np.random.RandomState, n_most: int | None) -> Mask:
    """Draw each member with probability one half; somebody at least, so many at most."""
    chosen = rng.randint(0, 2, size=n_members).astype(bool)
    while not chosen.any():
        chosen = rng.randint(0, 2, size=n_members).astype(bool)
    if n_most is not None and chosen.sum() > n_most:
        chosen[rng.permutation(np.flatnonzero(chosen))[n_most:]] = False
    return chosen


def random_flips(n_members: int, rng: np.random.RandomState) -> Mask:
    """Draw each member with probability 1/n."""
    return rng.random_sample(n_members) < 1 / n_members


def finish(pruner: BasePruner, objective: VoteError, members: list[int]) -> Choice:
    """Set the pruner's objective and give the members with the error rates of their prefixes."""
    objective.reset([])
    values = []
    for member in members:
        objective.add(member)
        values.append(objective.value)
    rates = objective.rates(values)
    pruner.objective_ = float(rates[-1])
    return Choice(members, rates)
