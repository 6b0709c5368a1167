"""Accuracy against the weight of diversity."""

from collections.abc import Mapping
from typing import Any, Self

from secateurs.comparison import Comparison
from secateurs.displays._base_display import COLOURS, Display, shown_evaluation, shown_pruning
from secateurs.evaluation.alternatives import (
    DiversityWeightCurve,
    diversity_sweep_pruner,
    diversity_weight_curve,
)
from secateurs.pruning import Pruning


class DiversityWeightDisplay(Display):
    """COMEP's accuracy on rows held out by the weight of diversity λ, at the size of a pruning.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    curve : DiversityWeightCurve
        Weights, accuracies with their intervals, and overlap with the members kept.
    whole : float
        Accuracy of all members.

    Attributes
    ----------
    ax_, overlap_ax_ : matplotlib Axes
        The axes of the accuracy, and those of the overlap, on the other side.

    Examples
    --------
    >>> from secateurs.displays import DiversityWeightDisplay
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> display = DiversityWeightDisplay.from_predictions(votes, [0, 0, 1, 1] * 5, keep=2)
    >>> len(display.curve.weights)
    21
    """

    def __init__(self, curve: DiversityWeightCurve, whole: float) -> None:
        self.curve = curve
        self.whole = whole

    @classmethod
    def _compute_from_result(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Evaluate COMEP at all weights."""
        pruning = shown_pruning(result)
        evaluation = shown_evaluation(result, rows)
        kept = pruning.member_indices.tolist()
        pruner = diversity_sweep_pruner(evaluation, pruning.pruner)
        curve = diversity_weight_curve(evaluation.split, pruner, kept, len(kept))
        return cls(curve, curve.curves[0].accuracy.full_value)

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        axes = self._set_up_axes(ax)
        curve, colour = self.curve, COLOURS[0]
        low, high = curve.accuracy - curve.half_width, curve.accuracy + curve.half_width
        axes.fill_between(curve.weights, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(curve.weights, curve.accuracy, color=colour, label="accuracy")
        axes.axhline(self.whole, color="0.4", linewidth=1, label="all members")
        self.overlap_ax_ = axes.twinx()
        style = {"color": COLOURS[1], "linestyle": "--"}
        (overlap,) = self.overlap_ax_.plot(curve.weights, curve.overlap, **style)
        self.overlap_ax_.set(ylabel="overlap with the members kept", ylim=(0, 1.05))
        axes.set(xlabel="weight of diversity λ", ylabel="accuracy on rows held out")
        lines = [*axes.get_lines(), overlap]
        axes.legend(lines, ["accuracy", "all members", "overlap"], fontsize="small")
        return self
