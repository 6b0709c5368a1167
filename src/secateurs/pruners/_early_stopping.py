"""Early stopping: keep the members built first."""

from __future__ import annotations

import numpy as np

from secateurs.outputs._votes import Votes
from secateurs.pruners._base import BasePruner
from secateurs.search import Choice


class EarlyStoppingPruner(BasePruner):
    """Keep the first members, as if fewer had been trained [1]_.

    Useful where the order has a meaning, as in boosting. Votes and true labels play no part.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members: 0, 1, 2, …
    scores_ : ndarray of shape (n_kept,)
        Zeros: nothing is compared.
    support_ : ndarray of shape (n_members,)
        Mask of the kept members.
    classes_ : ndarray of shape (n_classes,)
        The labels found.
    n_features_in_ : int
        Number of members.

    See Also
    --------
    RandomPruner : Keeps random members instead of the first.

    References
    ----------
    .. [1] Margineantu and Dietterich. "Pruning adaptive boosting". ICML 1997.

    Examples
    --------
    >>> from secateurs import EarlyStoppingPruner
    >>> EarlyStoppingPruner(keep=2).fit([[0, 0, 1], [1, 0, 1]], [0, 1]).member_indices_
    array([0, 1])
    """

    def __init__(self, keep: int | float = 0.1) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        return Choice(range(n_keep), np.zeros(n_keep))
