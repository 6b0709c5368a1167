"""Early stopping: keep the members that were trained first."""

import numpy as np

from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice


class EarlyStoppingPruner(BasePruner):
    """Keep the first members, as if fewer had been trained [1]_.

    Useful if the order has a meaning, as in boosting. Votes and true labels are not used.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members: 0, 1, 2, …
    scores_ : ndarray of shape (n_kept,)
        Zeros, since members are not compared.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

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

    _is_prefix_selector = True

    def __init__(self, keep: int | float = 0.1) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        return Choice(range(n_keep), np.zeros(n_keep))
