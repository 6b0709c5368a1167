"""Random members: the baseline that every method must beat."""

import numpy as np

from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice
from secateurs.typing import RandomStateLike


class RandomPruner(BasePruner):
    """Keep random members, drawn without replacement.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.
    random_state : int, RandomState or None, default=None
        Seed of the selection.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order in which they were drawn.
    scores_ : ndarray of shape (n_kept,)
        Zeros, since members are not compared.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    EarlyStoppingPruner : Keeps the first members instead of random ones.
    BestMembersPruner : Keeps the most accurate members.

    Examples
    --------
    >>> from secateurs import RandomPruner
    >>> pruner = RandomPruner(keep=2, random_state=0)
    >>> pruner.fit([[0, 0, 1], [1, 0, 1]], [0, 1]).get_support().sum()
    np.int64(2)
    """

    def __init__(self, keep: int | float = 0.1, random_state: RandomStateLike = None) -> None:
        self.keep = keep
        self.random_state = random_state

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        return Choice(rng.permutation(votes.n_members)[:n_keep].tolist(), np.zeros(n_keep))
