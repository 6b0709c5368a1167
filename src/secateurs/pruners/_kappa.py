"""Kappa pruning: keep the pairs of members that agree the least."""

import numpy as np

from secateurs.measures import kappa
from secateurs.measures.pair_measure import Floats
from secateurs.outputs.missing_answers import with_valid_first
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import TIE, Choice, ranking
from secateurs.typing import IndexArray


class KappaPruner(BasePruner):
    """Keep the pairs of members that agree the least, by Cohen's κ of their labels [1]_.

    Goes through the pairs in the order of increasing κ and adds the members of each pair that are
    not yet selected, until there are enough. The true labels are not used, so that a poor member
    may be kept because it differs from the others.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        κ of the pair with which each member was added.
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
        kappas: dict[int, float] = {}  # of the selected members, in the order of selection
        for member in order[ranking(-values[order])].tolist():
            for candidate in sorted((member, int(partners[member]))):
                kappas.setdefault(candidate, float(values[member]))
        selected = with_valid_first(list(kappas), votes)[:n_keep]
        return Choice(selected, [kappas[member] for member in selected])


def _lowest_kappa_pairs(votes: Votes) -> tuple[Floats, IndexArray]:
    """Return each member's lowest κ, and its partner in the first pair with that κ."""
    # A member is added with the first of its pairs, so that its other pairs are not needed.
    values = np.full(votes.n_members, np.inf)
    partners = np.zeros(votes.n_members, dtype=np.intp)

    def update_lowest(members: slice, others: slice, kappas: Floats) -> None:
        """Update the lowest values of some members from their κ with other members."""
        lowest = kappas.min(axis=1)
        first = np.argmax(kappas <= lowest[:, None] + TIE, axis=1)  # absolute, since |κ| ≤ 1
        value = kappas[np.arange(len(kappas)), first]
        previous = values[members]
        is_lower = value < previous - TIE
        values[members] = np.where(is_lower, value, previous)
        partners[members] = np.where(is_lower, others.start + first, partners[members])

    for rows, others, block, pairs in kappa.blocks(votes):
        kappas = np.where(pairs, block, np.inf)
        update_lowest(others, rows, kappas.T)  # pairs in which a member is the second come first
        update_lowest(rows, others, kappas)
    return values, partners
