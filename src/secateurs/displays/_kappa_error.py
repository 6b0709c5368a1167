"""κ–error diagram: agreement and mean error of all pairs of members."""

from collections.abc import Sequence
from typing import Self

from secateurs.comparison import Comparison
from secateurs.displays._base_display import COLOURS, Display, SampleSets, shown_pruning
from secateurs.pruning import Pruning
from secateurs.report.member_diagnostics import KappaError, kappa_error
from secateurs.typing import AxesLike


class KappaErrorDisplay(Display):
    """κ–error diagram [1]_: every pair of members, by agreement and mean error.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``. The constructor takes the values to draw.

    Parameters
    ----------
    pairs : KappaError
        κ and mean error of all pairs, on the validation samples.
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
    def _compute_from_result(cls, result: Pruning | Comparison, samples: SampleSets) -> Self:
        """Compare all pairs on the validation samples."""
        pruning = shown_pruning(result)
        kept = pruning.member_indices.tolist()
        return cls(kappa_error(pruning.votes, kept), kept)

    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the figure; see `Display.plot`."""
        axes = self._set_up_axes(ax)
        kept = self.pairs.pairs_among(self.kept)
        front = self.pairs.pareto_front
        for mask, colour, label in ((~kept, "0.8", "other pairs"), (kept, COLOURS[0], "kept")):
            points = self.pairs.kappa[mask], self.pairs.error[mask]
            axes.scatter(*points, s=8, color=colour, linewidths=0, label=label)
        order = self.pairs.kappa[front].argsort()
        line = self.pairs.kappa[front][order], self.pairs.error[front][order]
        axes.plot(*line, color="black", linewidth=1, label="pairs that no other pair beats in both")
        axes.set(xlabel="κ: agreement beyond chance", ylabel="mean error of the pair")
        axes.legend(fontsize="small")
        return self
