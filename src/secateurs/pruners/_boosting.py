"""Boosting-based ordering: select the member with the smallest error on reweighted samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from secateurs.measures.pair_measure import Floats
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import TIE, Choice, greedy_forward


class BoostingPruner(BasePruner):
    """Order members as boosting does: add the best member on weighted samples each time [1]_.

    Each step adds the member with the smallest weighted error ε. As in AdaBoost, the weights of the
    samples that it misclassifies are then multiplied by 1 / 2ε and all others by 1 / 2(1 − ε), so
    that the next member is correct where this member was not. If ε is 0, or ½ or more, all samples
    get equal weights again. The weights only determine the order: kept members have equal votes.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        Weighted error of each member when it was selected.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    ReducedErrorPruner : Selects members by the errors of their joint vote.

    Notes
    -----
    For any number of classes, a vote is either right or wrong. With missing votes, ε is computed
    over the samples on which the member votes, and the other samples keep their weights.

    References
    ----------
    .. [1] Martínez-Muñoz and Suárez. "Using boosting to prune bagging ensembles". Pattern
       Recognition Letters 2007.

    Examples
    --------
    >>> from secateurs import BoostingPruner
    >>> votes = [[0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1]]
    >>> pruner = BoostingPruner(keep=2).fit(votes, [0, 1, 0, 1, 1])
    >>> pruner.member_indices_, pruner.scores_
    (array([0, 2]), array([0.2 , 0.25]))
    """

    def __init__(self, keep: int | float = 0.1) -> None:
        self.keep = keep

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        return greedy_forward(_WeightedErrors(votes), n_keep)


class _WeightedErrors:
    """Objective: weighted errors, with larger weights where the last selected member is wrong."""

    def __init__(self, votes: Votes) -> None:
        self._oracle = votes.oracle
        codes = self._oracle.packed.decode()
        self._is_wrong = csr_array(codes == 1, dtype=float)
        self._has_vote = csr_array(codes < 2, dtype=float) if votes.leaves_out_missing else None
        self.value = 0.0
        self._set_sample_weights(np.ones(votes.n_samples))

    @property
    def n_members(self) -> int:
        """Number of members of the full ensemble."""
        return self._oracle.n_members

    def gains(self) -> Floats:
        """Return minus the weighted error of each member."""
        return -self._error_rates

    def add(self, member: int) -> None:
        """Select a member and update the weights of the samples."""
        self.value = error = float(self._error_rates[member])
        weights = self._sample_weights
        # Within a tie of 0 or ½, rounding would decide about huge or useless factors.
        if TIE < error < 0.5 - TIE:
            factors = np.array([1 / (2 * (1 - error)), 1 / (2 * error), 1.0])
            self._set_sample_weights(weights * factors[self._oracle.codes([member])[0]])
        else:
            self._set_sample_weights(np.ones(len(weights)))

    def _set_sample_weights(self, weights: NDArray[np.float64]) -> None:
        self._sample_weights = weights / weights.sum()
        self._error_rates: Floats = self._is_wrong @ self._sample_weights
        if self._has_vote is not None:
            self._error_rates /= self._has_vote @ self._sample_weights
