"""Kappa pruning: keep the pairs of members that agree the least."""

import numpy as np
from numpy.typing import NDArray

from secateurs.measures import kappa
from secateurs.measures.pair_measure import Floats
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import TIE, Choice, ranking


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
        values, partners = _lowest_kappa_pairs(votes)
        members = np.arange(votes.n_members)
        order = np.lexsort((np.maximum(partners, members), np.minimum(partners, members)))
        chosen: dict[int, float] = {}
        for member in order[ranking(-values[order])].tolist():
            for one in sorted((member, int(partners[member]))):
                if len(chosen) < n_keep:
                    chosen.setdefault(one, float(values[member]))
        return Choice(list(chosen), list(chosen.values()))


def _lowest_kappa_pairs(votes: Votes) -> tuple[Floats, NDArray[np.intp]]:
    """Return the lowest κ of each member with another, and which: of ties the first pair (i, j).

    A member is brought in by the first of its pairs, so no others are needed.
    """
    values = np.full(votes.n_members, np.inf)
    partners = np.zeros(votes.n_members, dtype=np.intp)

    def update_lowest(members: slice, others: slice, found: Floats) -> None:
        """Take what is lower than the values so far; ``found`` has a row for each member."""
        least = found.min(axis=1)
        place = np.argmax(found <= least[:, None] + TIE, axis=1)  # κ is at most 1
        value = found[np.arange(len(found)), place]
        held = values[members]
        better = value < held - TIE
        values[members] = np.where(better, value, held)
        partners[members] = np.where(better, others.start + place, partners[members])

    for rows, others, block, pairs in kappa.blocks(votes):
        found = np.where(pairs, block, np.inf)
        update_lowest(others, rows, found.T)  # pairs in which a member is the second come first
        update_lowest(rows, others, found)
    return values, partners
