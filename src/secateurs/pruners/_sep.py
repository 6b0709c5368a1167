"""SEP: random search for a sub-ensemble with fewer errors."""

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

_MOST_AT_ONCE = 1 << 26  # rounds × samples, between looks at whether the result is still wanted


class SEP(RandomSearchPruner):
    """Single-objective ensemble pruning: flip members in and out, keep what is no worse [1]_.

    Starts from a random half of the members. Each round flips every member with probability 1/n
    and stays with the new set if its vote has no more errors.

    Parameters
    ----------
    keep : int, float or None, default=None
        Largest number of members to keep: a count, or a fraction of the ensemble. The search
        starts from no larger set and never moves to one. None lets it decide.
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
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    PEP : Searches for few members as well.
    OEP : Orders members greedily, without chance.

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

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        n_members = votes.n_members
        self.n_iter_ = resolve_iterations(self.n_iterations, n_members)
        objective = VoteError(votes, ties="shared", distinct=True)
        chosen = random_half(n_members, rng, n_keep)
        objective.reset(np.flatnonzero(chosen))
        at_once = min(1024, 1 + _MOST_AT_ONCE // votes.n_samples)
        for first in range(0, self.n_iter_, at_once):
            search.raise_if_stopped()
            flips = random_flips(n_members, rng, min(at_once, self.n_iter_ - first))
            objective.flip_rounds(flips, chosen, n_members if n_keep is None else n_keep)
            report_progress(first + len(flips), self.n_iter_)
        return self._finish_selection(objective, np.flatnonzero(chosen).tolist())
