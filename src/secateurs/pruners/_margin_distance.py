"""Margin distance minimisation: bring every sample's margin to a small positive target."""

from fractions import Fraction
from typing import Any

import numpy as np

from secateurs.exceptions import InputError
from secateurs.objectives import MarginDistance
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.search import Choice, greedy_forward


class MarginDistancePruner(BasePruner):
    """Keep the members that, added one at a time, bring margins closest to a target [1]_.

    A member's signature is +1 where it is right and −1 where it is wrong. The sum of the chosen
    ones, divided by the number of all members, is to be near the target on every sample: just on
    the right side. To be far beyond it is as bad as to fall short, which favours members that are
    right on the difficult samples.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.
    target : "moving" or float, default="moving"
        Where the mean signature is to be on every sample (p in the paper). The moving target is
        2√(2u) / n at step u, for n members. A number in (0, 1) is the target at all steps; 0.075
        is usual [2]_ and suits ensembles of 100 members or more.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        Distance from the step's target after each step.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    OrientationOrderingPruner : Orders by the direction of signatures, in one step.
    ComplementarityPruner : Counts the samples on which the vote is wrong.

    Notes
    -----
    Distances are compared through integers, so ties are exact. A missing vote has the signature 0.

    References
    ----------
    .. [1] Martínez-Muñoz, Hernández-Lobato and Suárez. "An analysis of ensemble pruning techniques
           based on ordered aggregation". IEEE Transactions on Pattern Analysis and Machine
           Intelligence 31(2), 2009.
    .. [2] Martínez-Muñoz and Suárez. "Pruning in ordered bagging ensembles". ICML 2006.

    Examples
    --------
    >>> from secateurs import MarginDistancePruner
    >>> votes = [[0, 0, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0]]
    >>> MarginDistancePruner(keep=2).fit(votes, [0, 1, 0, 0]).member_indices_
    array([2, 0])
    """

    def __init__(self, keep: int | float = 0.1, target: str | float = "moving") -> None:
        self.keep = keep
        self.target = target

    def _check_parameters(self, votes: Votes) -> None:
        self._fixed_target()

    def _select(self, votes: Votes, n_keep: int, rng: np.random.RandomState) -> Choice:
        objective = MarginDistance(votes, self._fixed_target())
        members, values = greedy_forward(objective, n_keep)
        return Choice(members, objective.as_distances(values))

    def _fixed_target(self) -> Fraction | None:
        """Return the number as it is written, 0.075 and not the float nearest to it."""
        target: Any = self.target
        if isinstance(target, str) and target == "moving":
            return None
        if is_number(target) and 0 < target < 1:
            return Fraction(str(target))
        raise InputError(
            "{target} is not a valid target. Give a number between 0 and 1, or 'moving'.",
            target=target,
        )
