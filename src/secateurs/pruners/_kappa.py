"""Kappa pruning: keep the pairs of members that agree the least."""

import numpy as np
from numpy.typing import NDArray

from secateurs.measures import kappa
from secateurs.outputs._votes import Votes
from secateurs.pruners._base import BasePruner
from secateurs.search import Choice, ranking


class KappaPruner(BasePruner):
    """Keep the pairs of members that agree the least, by Cohen's κ of their labels [1]_.

    Takes pairs in the order of increasing κ, and of each pair the members not yet taken, until
    there are enough. The true labels play no part: a poor member that differs is taken.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        κ of the pair that brought each member in.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    KLDivergencePruner : Compares distributions of members, such as boosting weights.
    measures.kappa : Cohen's κ of two members.

    References
    ----------
    .. [1] Margineantu and Dietterich. "Pruning adaptive boosting". ICML 1997.

    Examples
    --------
    >>> from secateurs import KappaPruner
    >>> votes = [[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]]
    >>> KappaPruner(keep=2).fit(votes, [0, 1, 0, 1]).member_indices_
    array([0, 2])
    """

    def __init__(self, keep: int | float = 0.1) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        if votes.n_members == 1:
            return Choice([0], [1.0])
        values = kappa.matrix(votes)
        # The first n_keep - 1 members form at most that many pairs; one more brings the last.
        first, second = _lowest_pairs(values, 1 + (n_keep - 1) * (n_keep - 2) // 2)
        chosen: dict[int, float] = {}
        for pair in zip(first.tolist(), second.tolist(), strict=True):
            for member in pair:
                if len(chosen) < n_keep:
                    chosen.setdefault(member, float(values[pair]))
        return Choice(list(chosen), list(chosen.values()))


def _lowest_pairs(
    values: NDArray[np.float64], n_pairs: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the ``n_pairs`` pairs i < j of lowest value, or more, sorted; ties by (i, j)."""
    upper = np.triu_indices(len(values), k=1)
    flat = values[upper]
    if n_pairs < len(flat):
        limit = np.partition(flat, n_pairs - 1)[n_pairs - 1]
        low = np.flatnonzero(flat <= limit + 1e-9)  # wider than a tie, so that none is cut
    else:
        low = np.arange(len(flat))
    order = low[ranking(-flat[low])]
    return upper[0][order], upper[1][order]
