"""Heatmap of the distances between all pairs of members."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from secateurs.comparison import Comparison
from secateurs.displays._base_display import COLOURS, Display, SampleSets, shown_pruning
from secateurs.pruning import Pruning
from secateurs.report.member_diagnostics import PairDistances, pair_distances
from secateurs.typing import AxesLike


class PairwiseHeatmapDisplay(Display):
    """Normalised variation of information of all pairs of members, ordered by cluster.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``. The constructor takes the values to draw.

    Parameters
    ----------
    pairs : PairDistances
        Distances on the validation samples, and the order of the members.
    kept : sequence of int
        The members kept, which are marked by ticks at the edge.

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
    def _compute_from_result(cls, result: Pruning | Comparison, samples: SampleSets) -> Self:
        """Compute the distances of all pairs on the validation samples."""
        pruning = shown_pruning(result)
        kept = pruning.member_indices.tolist()
        return cls(pair_distances(pruning.votes, kept), kept)

    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the figure; see `Display.plot`. Colours span the 1st to the 99th percentile."""
        axes = self._set_up_axes(ax)
        pairs = self.pairs
        values = np.array(pairs.values)
        np.fill_diagonal(values, np.nan)
        ordered = values[np.ix_(pairs.order, pairs.order)]
        image = axes.imshow(ordered, cmap="cividis", vmin=pairs.low, vmax=pairs.high)
        self.figure_.colorbar(image, ax=axes, label="normalised variation of information")
        ticks = np.flatnonzero(np.isin(pairs.members[pairs.order], self.kept))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(ticks, labels=[""] * len(ticks))
        axes.tick_params(color=COLOURS[1], length=5, width=1.5)
        axes.set(xlabel="members, ordered by cluster; ticks mark the members kept")
        return self
