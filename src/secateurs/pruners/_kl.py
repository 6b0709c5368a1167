"""KL-divergence pruning: keep the members whose distributions diverge the most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from secateurs.exceptions import InputError
from secateurs.outputs.missing_answers import first_members
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.search import Choice, greedy_forward
from secateurs.text_format import format_count
from secateurs.typing import FloatArray, IndexArray

_SMALLEST = 1e-12  # added to every probability, so that no divergence is infinite


class KLDivergencePruner(BasePruner):
    """Keep the members whose distributions diverge the most [1]_.

    Starting from the first member of the ensemble, each step adds the member that makes J, the sum
    of KL(Dᵢ‖Dⱼ) over pairs i < j, largest. In the paper Dᵢ are the weights of the training samples
    with which AdaBoost trained member i. For other ensembles Dᵢ are the frequencies of the labels
    that member i predicts, as in later comparisons: a weak substitute, since members that differ on
    every sample can have equal frequencies. The true labels are not used.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.
    distributions : array-like of shape (n_members, n_weights) or None, default=None
        The distribution of each member, such as boosting weights; rows are scaled to a sum of 1.
        None uses the frequency of each label in the member's predictions, with a warning.
    symmetric : bool, default=False
        Use KL(Dᵢ‖Dⱼ) + KL(Dⱼ‖Dᵢ) for a pair.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        J of the first 1, 2, … members, in nats.
    objective_ : float
        J of the kept members.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    KappaPruner : Compares the labels that members predict for each sample.

    References
    ----------
    .. [1] Margineantu and Dietterich. "Pruning adaptive boosting". ICML 1997.

    Examples
    --------
    >>> from secateurs import KLDivergencePruner
    >>> weights = [[0.25, 0.25, 0.25, 0.25], [0.4, 0.2, 0.2, 0.2], [0.1, 0.1, 0.4, 0.4]]
    >>> pruner = KLDivergencePruner(keep=2, distributions=weights)
    >>> pruner.fit([[0, 0, 1], [1, 1, 1]], [0, 1]).member_indices_
    array([0, 2])
    """

    def __init__(
        self,
        keep: int | float = 0.1,
        distributions: ArrayLike | None = None,
        symmetric: bool = False,
    ) -> None:
        self.keep = keep
        self.distributions = distributions
        self.symmetric = symmetric

    def for_members(self, members: IndexArray) -> Self:
        """Return a copy for a group of members, with the distributions of these members."""
        if self.distributions is None:
            return self
        return clone(self).set_params(distributions=np.asarray(self.distributions)[members])

    def _check_parameters(self, votes: Votes) -> None:
        if self.distributions is None:
            return
        weights = np.asarray(self.distributions, dtype=float)
        if weights.ndim != 2 or len(weights) != votes.n_members:
            raise InputError(
                f"{{distributions}} has shape {weights.shape}. Pass one row for each of the "
                f"{format_count(votes.n_members, 'member')}.",
                distributions=...,
            )
        if not np.isfinite(weights).all() or weights.min() < 0 or not weights.sum(axis=1).all():
            raise InputError(
                "{distributions} has negative, NaN or all-zero rows. Pass weights of 0 or more, "
                "with at least one above 0 in every row.",
                distributions=...,
            )

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        weights = votes.sizes if self.distributions is None else self.distributions
        objective = _Divergence(weights, self.symmetric)
        first = int(np.argmax(first_members(votes)))  # the lowest index
        choice = greedy_forward(objective, n_keep, [first])
        self.objective_ = float(choice.scores[-1])
        return choice

    def _selection_warnings(self, votes: Votes, members: IndexArray) -> Iterator[str]:
        yield from super()._selection_warnings(votes, members)
        if self.distributions is None:
            yield (
                "KLDivergencePruner got no distributions and compares the label frequencies of "
                "members, which is a weak criterion. Pass distributions, such as boosting weights, "
                "if there are any."
            )


class _Divergence:
    """Objective: J of a set of distributions, updated by running sums."""

    def __init__(self, weights: ArrayLike, symmetric: bool) -> None:
        scaled = np.asarray(weights, dtype=float)
        scaled = scaled / scaled.sum(axis=1, keepdims=True) + _SMALLEST
        self._probabilities = scaled / scaled.sum(axis=1, keepdims=True)
        self._log_probabilities = np.log(self._probabilities)
        self._negative_entropies = (self._probabilities * self._log_probabilities).sum(axis=1)
        self._is_symmetric = symmetric
        self._divergence_sums = np.zeros(len(scaled))
        self.value = 0.0

    @property
    def n_members(self) -> int:
        """Number of members of the full ensemble."""
        return len(self._divergence_sums)

    def gains(self) -> FloatArray:
        """Return J with each member added."""
        return self.value + self._divergence_sums

    def add(self, member: int) -> None:
        """Select a member."""
        self.value += float(self._divergence_sums[member])
        to_others = (
            self._negative_entropies[member] - self._log_probabilities @ self._probabilities[member]
        )
        from_others = (
            self._negative_entropies - self._probabilities @ self._log_probabilities[member]
        )
        if self._is_symmetric:
            self._divergence_sums = self._divergence_sums + to_others + from_others
        else:
            is_later = np.arange(self.n_members) > member  # of a pair i < j only KL(Dᵢ‖Dⱼ) counts
            sums = np.where(is_later, to_others, from_others)
            self._divergence_sums = self._divergence_sums + sums
