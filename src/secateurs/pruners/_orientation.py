"""Orientation ordering: keep the members that are right where the ensemble is often wrong."""

import math
import warnings

import numpy as np

from secateurs.outputs.missing_answers import with_valid_first
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, ranking
from secateurs.typing import Array

_BLOCK_CELLS = 1 << 18  # votes decoded at the same time


class OrientationOrderingPruner(BasePruner):
    """Keep the members whose signature is closest to the reference direction [1]_.

    A member's signature is +1 where it is right and −1 where it is wrong. The reference direction
    is the diagonal (right on all samples) minus its projection on the ensemble's mean signature. It
    points to the samples that the ensemble gets wrong. Members are ordered by their angle to it.

    Parameters
    ----------
    keep : int, float or None, default=None
        Number of members to keep: a count, or a fraction of the ensemble. None keeps all members
        whose angle is below 90°, or the first member if there are none.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of increasing angle.
    scores_ : ndarray of shape (n_kept,)
        Their angles to the reference direction, in radians.
    angles_ : ndarray of shape (n_members,)
        The angles of all members.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    Notes
    -----
    Angles are compared through integers, so ties are exact. If the same number of members is right
    on every sample, there is no reference direction. Members are then ordered by accuracy, with a
    warning, and all angles are 90°.

    References
    ----------
    .. [1] Martínez-Muñoz and Suárez. "Pruning in ordered bagging ensembles". ICML 2006.

    Examples
    --------
    >>> from secateurs import OrientationOrderingPruner
    >>> votes = [[0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1]]
    >>> OrientationOrderingPruner().fit(votes, [0, 1, 0, 1]).member_indices_
    array([1])
    """

    _takes_abstentions = True  # signatures then have the same length

    def __init__(self, keep: int | float | None = None) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        products, length = _reference_products(votes)
        if length == 0:
            warnings.warn(
                "The same number of members is right on every sample, so there is no reference "
                "direction. Members are ordered by accuracy instead.",
                stacklevel=4,
            )
            order = ranking(votes.n_right)
        else:
            order = np.array(with_valid_first(ranking(products).tolist(), votes))
        if n_keep is None:
            n_keep = max(1, sum(product > 0 for product in products))
        norm = math.sqrt(votes.n_samples) * length if length else 1.0
        cosines = np.array([product / norm for product in products], dtype=float)
        self.angles_ = np.arccos(np.clip(cosines, -1.0, 1.0))
        return Choice(order[:n_keep].tolist(), self.angles_[order[:n_keep]])


def _reference_products(votes: Votes) -> tuple[Array, float]:
    """Return exact products of signatures and reference direction, and the reference's length."""
    # With eₙ the sum of all signatures on sample n, the reference is 1 − (Σe / Σe²)·e. Here all is
    # multiplied by Σe², which changes no angle and leaves integers, of Python's unlimited size.
    n_samples, n_members = votes.n_samples, votes.n_members
    n_right = votes.oracle.tally()[:, 0].astype(np.int64)
    ensemble = 2 * n_right - n_members
    total, squares = int(ensemble.sum()), int((ensemble**2).sum())
    signature_sums = [2 * int(count) - n_samples for count in votes.n_right]
    if squares == 0:
        return np.array(signature_sums, dtype=object), math.sqrt(n_samples)
    ensemble_products: list[int] = []
    step = max(1, _BLOCK_CELLS // n_samples)
    for first in range(0, n_members, step):
        members = np.arange(first, min(first + step, n_members))
        signatures = 1 - 2 * votes.oracle.codes(members).astype(np.int64)
        ensemble_products += (signatures @ ensemble).tolist()
    products = [
        squares * own - total * along
        for own, along in zip(signature_sums, ensemble_products, strict=True)
    ]
    # |reference|² = N − (Σe)²/Σe², here times (Σe²)².
    square_length = squares * (squares * n_samples - total**2)
    return np.array(products, dtype=object), math.sqrt(square_length)
