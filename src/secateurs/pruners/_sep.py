"""SEP: random search for a sub-ensemble with few errors."""

import numpy as np

from secateurs import search
from secateurs.objectives import VoteError
from secateurs.outputs.votes import Votes
from secateurs.progress import report_progress
from secateurs.pruners.random_search import (
    RandomSearchPruner,
    random_flips,
    random_half,
    resolve_iterations,
)
from secateurs.search import Choice

# Rounds × samples of one call of the kernel. Progress and interrupts are only handled between
# calls; at most 1024 rounds per call also bound the memory of the flips.
_MOST_AT_ONCE = 1 << 26


class SEP(RandomSearchPruner):
    """Single-objective ensemble pruning: flip random members, keep sets that are not worse [1]_.

    Starts from a random half of the members. Each round flips every member with probability 1/n
    and continues with the new set if its vote does not have more errors.

    Parameters
    ----------
    keep : int, float or None, default=None
        Largest number of members to keep: a count, or a fraction of the ensemble. The search
        starts from a set of at most this size and never moves to a larger set. None sets no limit.
    n_iterations : int or "auto", default="auto"
        Number of rounds. "auto" is round(n² ln n), as for `PEP`, but at most 50,000, which is
        reached at 104 members, to limit the running time.
    random_state : int, RandomState or None, default=None
        Seed of the first set and of the flips.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of the ensemble.
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote of the first 1, 2, … kept members.
    objective_ : float
        Error rate of the kept members' vote.
    n_iter_ : int
        Number of rounds.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    PEP : Also searches for few members.
    OEP : Orders members greedily, without random numbers.

    Notes
    -----
    If q classes tie for the most votes and the true class is among them, the vote counts as 1 − 1/q
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

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        n_members = votes.n_members
        self.n_iter_ = resolve_iterations(self.n_iterations, n_members)
        objective = VoteError(votes, ties="shared", distinct=True)
        chosen = random_half(n_members, rng, n_keep)
        objective.reset(np.flatnonzero(chosen))
        rounds_per_call = min(1024, 1 + _MOST_AT_ONCE // votes.n_samples)
        for first in range(0, self.n_iter_, rounds_per_call):
            search.raise_if_stopped()
            flips = random_flips(n_members, rng, min(rounds_per_call, self.n_iter_ - first))
            objective.flip_rounds(flips, chosen, n_members if n_keep is None else n_keep)
            report_progress(first + len(flips), self.n_iter_)
        return self._finish_selection(objective, votes, chosen)
