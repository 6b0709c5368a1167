"""Figure of the accuracy by weight of diversity λ."""

from typing import Self

from secateurs.comparison import Comparison
from secateurs.displays._base_display import (
    COLOURS,
    Display,
    SampleSets,
    shown_evaluation,
    shown_pruning,
)
from secateurs.pruning import Pruning
from secateurs.report.diversity_weights import (
    DiversityWeightCurve,
    diversity_sweep_pruner,
    diversity_weight_curve,
)
from secateurs.typing import AxesLike


class DiversityWeightDisplay(Display):
    """COMEP's accuracy on held-out samples by weight of diversity λ, at the size of a pruning.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``. The constructor takes the values to draw.

    Parameters
    ----------
    curve : DiversityWeightCurve
        Weights, accuracies with their intervals, and overlap with the members kept.
    whole : float
        Accuracy of the full ensemble.

    Attributes
    ----------
    ax_, overlap_ax_ : matplotlib Axes
        The axes of the accuracy, and of the overlap on the right.

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
    def _compute_from_result(cls, result: Pruning | Comparison, samples: SampleSets) -> Self:
        """Evaluate COMEP at all weights."""
        pruning = shown_pruning(result)
        evaluation = shown_evaluation(result, samples)
        kept = pruning.member_indices.tolist()
        pruner = diversity_sweep_pruner(evaluation, pruning.pruner)
        curve = diversity_weight_curve(evaluation.split, pruner, kept, len(kept))
        return cls(curve, curve.curves[0].accuracy.full_value)

    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the figure; see `Display.plot`."""
        axes = self._set_up_axes(ax)
        curve, colour = self.curve, COLOURS[0]
        low, high = curve.accuracy - curve.half_width, curve.accuracy + curve.half_width
        axes.fill_between(curve.weights, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(curve.weights, curve.accuracy, color=colour, label="accuracy")
        axes.axhline(self.whole, color="0.4", linewidth=1, label="full ensemble")
        self.overlap_ax_ = axes.twinx()
        (overlap,) = self.overlap_ax_.plot(
            curve.weights, curve.overlap, color=COLOURS[1], linestyle="--"
        )
        self.overlap_ax_.set(ylabel="overlap with the members kept", ylim=(0, 1.05))
        axes.set(xlabel="weight of diversity λ", ylabel="accuracy on held-out samples")
        lines = [*axes.get_lines(), overlap]
        axes.legend(lines, ["accuracy", "full ensemble", "overlap"], fontsize="small")
        return self
