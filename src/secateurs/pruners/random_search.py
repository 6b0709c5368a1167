"""Base class and helpers of random searches, which flip members in and out."""

import math
from typing import Literal

import numpy as np

from secateurs.exceptions import InputError
from secateurs.objectives import VoteError
from secateurs.outputs.missing_answers import first_members, with_valid_first
from secateurs.outputs.votes import Votes
from secateurs.progress import open_stage
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import is_integer, resolve_keep
from secateurs.search import Choice, best_member, greedy_forward
from secateurs.typing import BoolArray, RandomStateLike

# Limit of the automatic number of rounds n² ln n, which is reached at 104 members: it keeps the
# time of a run practical.
MOST_ROUNDS = 50_000


class RandomSearchPruner(BasePruner):
    """Base class of `SEP` and `PEP`."""

    def __init__(
        self,
        keep: int | float | None = None,
        n_iterations: int | Literal["auto"] = "auto",
        random_state: RandomStateLike = None,
    ) -> None:
        self.keep = keep
        self.n_iterations = n_iterations
        self.random_state = random_state

    def _check_parameters(self, votes: Votes) -> None:
        rounds = self.n_iterations
        if rounds != "auto" and (not is_integer(rounds) or rounds < 0):
            raise InputError(
                '{n_iterations} is not a valid number of rounds. Pass 0 or more, or "auto".',
                n_iterations=rounds,
            )

    def _finish_selection(self, objective: VoteError, votes: Votes, chosen: BoolArray) -> Choice:
        """Set ``objective_`` and return the members with the error rate of each prefix."""
        members = with_valid_first(np.flatnonzero(chosen).tolist(), votes)
        is_first = first_members(votes)
        if not is_first[members[0]]:  # a random search may not meet any of them
            n_keep = resolve_keep(self.keep, votes.n_members, self.may_decide_size)
            members = [best_member(votes.n_right, is_first), *members][:n_keep]
        objective.reset([])
        with open_stage("scoring"):  # so that these steps do not count as rounds of the search
            _, values = greedy_forward(objective, len(members), start=members)
        rates = objective.error_rates(values)
        self.objective_ = float(rates[-1])
        return Choice(members, rates)


def resolve_iterations(n_iterations: int | str, n_members: int) -> int:
    """Return the number of rounds; "auto" is round(n² ln n), at most ``MOST_ROUNDS``."""
    if n_iterations == "auto":
        return min(MOST_ROUNDS, round(n_members**2 * math.log(n_members)))
    return int(n_iterations)


def random_half(n_members: int, rng: np.random.RandomState, n_most: int | None) -> BoolArray:
    """Draw each member with probability ½; return a mask of 1 to ``n_most`` members."""
    chosen = rng.randint(0, 2, size=n_members).astype(bool)
    while not chosen.any():
        chosen = rng.randint(0, 2, size=n_members).astype(bool)
    if n_most is not None and chosen.sum() > n_most:
        chosen[rng.permutation(np.flatnonzero(chosen))[n_most:]] = False
    return chosen


def random_flips(n_members: int, rng: np.random.RandomState, n_rounds: int = 1) -> BoolArray:
    """Draw each member with probability 1/n in each round; return a mask (rounds, members)."""
    return rng.random_sample((n_rounds, n_members)) < 1 / n_members
