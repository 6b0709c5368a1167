"""What searches by random flips share: parameters, budget, first set and flips."""

import math
from typing import Any

import numpy as np

from secateurs.objectives import VoteError
from secateurs.outputs._votes import Votes
from secateurs.pruners._base import BasePruner, is_whole
from secateurs.search import Choice, Mask, greedy_forward

MOST_ROUNDS = 50_000


class RandomSearchPruner(BasePruner):
    """Base class of `SEP` and `PEP`."""

    def __init__(
        self,
        keep: int | float | None = None,
        n_iterations: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.keep = keep
        self.n_iterations = n_iterations
        self.random_state = random_state

    def _check_parameters(self, votes: Votes) -> None:
        rounds = self.n_iterations
        if rounds != "auto" and (not is_whole(rounds) or rounds < 0):
            raise ValueError(
                f'n_iterations={rounds!r} is no number of rounds. Give 0 or more, or "auto".'
            )

    def _finish(self, objective: VoteError, members: list[int]) -> Choice:
        """Set the objective and give the members with the error rates of their prefixes."""
        objective.reset([])
        _, values = greedy_forward(objective, len(members), start=members)
        rates = objective.rates(values)
        self.objective_ = float(rates[-1])
        return Choice(members, rates)


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


def random_flips(n_members: int, rng: np.random.RandomState, n_rounds: int = 1) -> Mask:
    """Draw each member with probability 1/n, in each of some rounds: (rounds, members)."""
    return rng.random_sample((n_rounds, n_members)) < 1 / n_members
