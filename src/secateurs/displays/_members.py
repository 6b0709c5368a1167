"""Members on the rows chosen on: agreement and distance of pairs, and the order of choice."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from secateurs.comparison import Comparison
from secateurs.displays._base import COLOURS, Display, pruning_of
from secateurs.evaluation._diagnostics import (
    KappaError,
    PairDistances,
    Step,
    kappa_error,
    pair_distances,
    selection_steps,
)
from secateurs.pruning import Pruning


class KappaErrorDisplay(Display):
    """κ–error diagram [1]_: every pair of members, by agreement and mean error.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    pairs : KappaError
        κ and mean error of all pairs, on the rows chosen on.
    kept : sequence of int
        The members kept.

    References
    ----------
    .. [1] Margineantu and Dietterich. "Pruning adaptive boosting". ICML 1997.

    Examples
    --------
    >>> from secateurs.displays import KappaErrorDisplay
    >>> votes = [[0, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1]]
    >>> display = KappaErrorDisplay.from_predictions(votes, [0, 0, 1, 1], keep=2)
    >>> display.pairs.error
    array([0.25 , 0.125, 0.375])
    """

    def __init__(self, pairs: KappaError, kept: Sequence[int]) -> None:
        self.pairs = pairs
        self.kept = kept

    @classmethod
    def _of(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Compare all pairs on the rows chosen on."""
        pruning = pruning_of(result)
        return cls(kappa_error(pruning.votes), pruning.member_indices.tolist())

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        axes = self._begin(ax)
        kept = self.pairs.among(self.kept)
        front = self.pairs.front
        for which, colour, label in ((~kept, "0.8", "other pairs"), (kept, COLOURS[0], "kept")):
            points = self.pairs.kappa[which], self.pairs.error[which]
            axes.scatter(*points, s=8, color=colour, linewidths=0, label=label)
        order = self.pairs.kappa[front].argsort()
        line = self.pairs.kappa[front][order], self.pairs.error[front][order]
        axes.plot(*line, color="black", linewidth=1, label="no pair is better in both")
        axes.set(xlabel="κ: agreement beyond chance", ylabel="mean error of the two")
        axes.legend(fontsize="small")
        return self


class PairwiseHeatmapDisplay(Display):
    """Normalised variation of information of all pairs of members, in the order of clusters.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    pairs : PairDistances
        The distances on the rows chosen on, and the order of the members.
    kept : sequence of int
        The members kept, marked by ticks at the edge.

    Examples
    --------
    >>> from secateurs.displays import PairwiseHeatmapDisplay
    >>> votes = [[0, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1]]
    >>> display = PairwiseHeatmapDisplay.from_predictions(votes, [0, 0, 1, 1], keep=2)
    >>> display.pairs.values[0].round(3)
    array([0.   , 1.   , 0.792])
    """

    def __init__(self, pairs: PairDistances, kept: Sequence[int]) -> None:
        self.pairs = pairs
        self.kept = kept

    @classmethod
    def _of(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Compare all pairs on the rows chosen on."""
        pruning = pruning_of(result)
        kept = pruning.member_indices.tolist()
        return cls(pair_distances(pruning.votes, kept), kept)

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`. Colours span the 1st to the 99th percentile."""
        axes = self._begin(ax)
        pairs = self.pairs
        values = np.array(pairs.values)
        np.fill_diagonal(values, np.nan)
        shown = values[np.ix_(pairs.order, pairs.order)]
        image = axes.imshow(shown, cmap="cividis", vmin=pairs.low, vmax=pairs.high)
        self.figure_.colorbar(image, ax=axes, label="normalised variation of information")
        ticks = np.flatnonzero(np.isin(pairs.members[pairs.order], self.kept))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(ticks, labels=[""] * len(ticks))
        axes.tick_params(color=COLOURS[1], length=5, width=1.5)
        axes.set(xlabel="members by clusters; ticks: kept")
        return self


class SelectionOrderDisplay(Display):
    """Accuracy of the vote after each step of the choice, and of each member alone.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    steps : sequence of Step
        The steps, on the rows chosen on, counting labels.

    Examples
    --------
    >>> from secateurs.displays import SelectionOrderDisplay
    >>> votes = [[0, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1]]
    >>> display = SelectionOrderDisplay.from_predictions(votes, [0, 0, 1, 1], keep=2)
    >>> [(step.member, step.accuracy) for step in display.steps]
    [(0, 1.0), (1, 0.75)]
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps

    @classmethod
    def _of(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Follow the choice on the rows chosen on."""
        pruning = pruning_of(result)
        order, scores = pruning.member_indices.tolist(), pruning.pruner.scores_.tolist()
        return cls(selection_steps(pruning.votes, order, scores))

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        axes = self._begin(ax)
        numbers = range(1, len(self.steps) + 1)
        after = [step.accuracy for step in self.steps]
        alone = [step.alone for step in self.steps]
        axes.plot(numbers, after, color=COLOURS[0], marker="o", markersize=3, label="vote so far")
        axes.plot(numbers, alone, color=COLOURS[1], linestyle="", marker="s", label="member alone")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel="step", ylabel="accuracy on rows chosen on")
        axes.legend(fontsize="small")
        return self
