"""COMEP at every weight of diversity, from distances worked out once."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from secateurs.evaluation._curves import Chooser, Selection, SizeCurve, evaluate
from secateurs.evaluation._rows import Split
from secateurs.measures import disagreement
from secateurs.objectives import TDAS
from secateurs.outputs._votes import Votes
from secateurs.pruners import COMEP
from secateurs.pruners._base import is_number

Floats = NDArray[np.float64]

N_WEIGHTS = 21
ALIKE = -1.0  # marks pairs that vote alike everywhere, whose TDAC is 0 whatever the weight


def weight_grid(*more: float) -> list[float]:
    """Give the weights 0, 0.05, … 1, and further ones."""
    steps = [step / (N_WEIGHTS - 1) for step in range(N_WEIGHTS)]
    return sorted({*steps, *more})


def distances_of(votes: Votes) -> Floats:
    """Variation of information of all pairs; `ALIKE` for those that vote alike everywhere."""
    return np.where(disagreement.matrix(votes) == 0, ALIKE, TDAS(votes, 1.0).matrix())


class WeightedChoices:
    """COMEP's choice for one weight after another, on the same votes.

    Parameters
    ----------
    pruner : COMEP
        Says how to start.
    weights : sequence of float
        Weights of diversity (λ).
    largest : int
        How many to choose.

    Examples
    --------
    >>> from secateurs import COMEP, Votes
    >>> from secateurs.evaluation._weights import WeightedChoices
    >>> votes = Votes.encode([[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]], [0, 0, 1, 1])
    >>> choosers = WeightedChoices(COMEP(), [0.0, 0.3], 2).choosers()
    >>> choosers["0.3"](votes).order
    [0, 2]
    """

    def __init__(self, pruner: COMEP, weights: Sequence[float], largest: int) -> None:
        self._pruner = pruner
        self._weights = weights
        self._largest = largest
        self._known: tuple[Votes, Floats] | None = None

    def choosers(self) -> dict[str, Chooser]:
        """Give a chooser for each weight, by its text."""
        return {repr(weight): partial(self._choose, weight) for weight in self._weights}

    def _choose(self, weight: float, votes: Votes) -> Selection:
        objective = _KnownTDAS(votes, weight, self._distances(votes))
        rng = check_random_state(self._pruner.random_state)
        members, _ = self._pruner.grow(objective, self._largest, rng)
        return Selection(np.arange(1, len(members) + 1), list(members))

    def _distances(self, votes: Votes) -> Floats:
        if self._known is None or self._known[0] is not votes:
            self._known = votes, distances_of(votes)
        return self._known[1]


class WeightCurve(NamedTuple):
    """COMEP at every weight: how it does at a size, and how much of the kept it chooses.

    Attributes
    ----------
    weights : list of float
        Weights of diversity (λ).
    curves : list of SizeCurve
        What each chooses, and how that votes on rows held out.
    accuracy, half_width : ndarray of shape (n_weights,)
        Accuracy there, and half of the 95 % interval of its change against all members.
    overlap : ndarray of shape (n_weights,)
        Members chosen and kept, as a share of those chosen or kept.
    """

    weights: list[float]
    curves: list[SizeCurve]
    accuracy: Floats
    half_width: Floats
    overlap: Floats


def weight_curve(split: Split, pruner: COMEP, kept: Sequence[int], keep: int) -> WeightCurve:
    """Follow COMEP through all weights of diversity.

    Parameters
    ----------
    split : Split
        Rows to choose on and to be judged on.
    pruner : COMEP
        Says how to start, and one weight to look at besides the grid.
    kept : sequence of int
        The members to compare with.
    keep : int
        The size to look at.

    Returns
    -------
    WeightCurve
    """
    own = pruner.diversity_weight
    grid = weight_grid(*([float(own)] if is_number(own) else []))
    n_members = split.problem.votes.n_members
    choosers = WeightedChoices(pruner, grid, n_members).choosers()
    curves = list(evaluate(split, choosers, [keep]).values())
    chosen = [set(curve.selection.members(keep)) for curve in curves]
    return WeightCurve(
        grid,
        curves,
        np.array([curve.own.accuracy[keep - 1] for curve in curves]),
        np.array([curve.own.half_width[keep - 1] for curve in curves]),
        np.array([len(one & set(kept)) / len(one | set(kept)) for one in chosen]),
    )


class _KnownTDAS(TDAS):
    """TDAS from distances that are known already."""

    def __init__(self, votes: Votes, weight: float, apart: Floats) -> None:
        super().__init__(votes, weight)
        relevance = (self.relevance[:, None] + self.relevance) / 2
        self._distances = np.where(apart == ALIKE, 0.0, weight * apart + (1 - weight) * relevance)

    def rows(self, members: Any) -> Floats:
        """TDAC of some members to all."""
        return self._distances[members]

    def matrix(self) -> Floats:
        """TDAC of all pairs."""
        return self._distances.copy()
