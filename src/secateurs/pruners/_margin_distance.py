"""Margin distance minimisation: bring the margins of all samples close to a small target."""

from fractions import Fraction

import numpy as np

from secateurs.exceptions import InputError
from secateurs.objectives import MarginDistance
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.search import Choice, greedy_forward


class MarginDistancePruner(BasePruner):
    """Keep the members that, added one at a time, bring margins closest to a target [1]_.

    A member's signature is +1 where it is right and −1 where it is wrong. The margin of a sample is
    the sum of the selected members' signatures, divided by the number of all members. It should be
    close to a small positive target on every sample. Margins far above the target are as bad as
    margins below it, which favours members that are right on difficult samples.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.
    target : "moving" or float, default="moving"
        Target of the margins (p in the paper). The moving target is 2√(2u) / n at step u, for n
        members. A number in (0, 1) is the target at all steps; 0.075 is the usual value [2]_, which
        is suitable for ensembles of 100 members or more.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        Distance of the margins from the target of the step.
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
        """Return a fixed target as an exact decimal fraction, None for the moving target."""
        target = self.target
        if isinstance(target, str) and target == "moving":
            return None
        if is_number(target) and 0 < target < 1:
            return Fraction(str(target))  # 0.075, not the nearest float, so that ties are exact
        raise InputError(
            "{target} is not a valid target. Pass a number between 0 and 1, or 'moving'.",
            target=target,
        )
