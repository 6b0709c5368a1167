"""Accuracy on rows held out: by the number of members kept, and by the weight of diversity."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from secateurs.comparison import Comparison
from secateurs.displays._base import COLOURS, DASHES, Display, evaluation_of, pruning_of
from secateurs.evaluation._alternatives import WeightCurve, live_pruner, weight_curve
from secateurs.evaluation._diagnostics import right_by_size
from secateurs.evaluation._rows import Floats
from secateurs.pruning import Pruning


class Curve(NamedTuple):
    """Accuracy of a method by size.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Members kept.
    held_out : ndarray of shape (n_sizes,)
        Accuracy on rows held out.
    half_width : ndarray of shape (n_sizes,)
        Half of the 95 % interval of its change against all members.
    choosing : ndarray of shape (n_sizes,)
        Accuracy on the rows chosen on, counting labels.
    """

    sizes: NDArray[np.intp]
    held_out: Floats
    half_width: Floats
    choosing: Floats


class AccuracySizeDisplay(Display):
    """Accuracy against the number of members kept, on rows held out and on those chosen on.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    curves : mapping of str to Curve
        One for each method.
    whole : float
        Accuracy of all members on rows held out.

    Examples
    --------
    >>> from secateurs.displays import AccuracySizeDisplay
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> display = AccuracySizeDisplay.from_predictions(votes, [0, 0, 1, 1] * 5, keep=2)
    >>> display.curves["comep λ=0.5"].sizes
    array([1, 2, 3, 4])
    """

    def __init__(self, curves: Mapping[str, Curve], whole: float) -> None:
        self.curves = curves
        self.whole = whole

    @classmethod
    def _of(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Evaluate every method of a comparison, or that of a pruning."""
        evaluation = evaluation_of(result, rows)
        votes = evaluation.problem.votes
        curves = {}
        for name, curve in evaluation.curves.items():
            selection, own = curve.selection, curve.own
            choosing = right_by_size(votes, selection.groups) / votes.n_samples
            curves[name] = Curve(selection.sizes, own.accuracy, own.half_width, choosing)
        return cls(curves, curve.own.whole_accuracy)

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`. With one method, also its interval and the rows chosen on."""
        axes = self._begin(ax)
        for place, (name, curve) in enumerate(self.curves.items()):
            colour, dash = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
            marker = "" if len(curve.sizes) > 5 else "o"
            style = {"color": colour, "linestyle": dash, "marker": marker}
            axes.plot(curve.sizes, curve.held_out, label=name, **style)
        if len(self.curves) == 1:
            low, high = curve.held_out - curve.half_width, curve.held_out + curve.half_width
            axes.fill_between(curve.sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            label = "rows chosen on"
            axes.plot(curve.sizes, curve.choosing, color=colour, linestyle="--", label=label)
        axes.axhline(self.whole, color="0.4", linewidth=1, label="all members")
        axes.set(xscale="log", xlabel="members kept", ylabel="accuracy on rows held out")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize="small")
        return self


class DiversityWeightDisplay(Display):
    """COMEP's accuracy on rows held out by the weight of diversity λ, at the size of a pruning.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    curve : WeightCurve
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

    def __init__(self, curve: WeightCurve, whole: float) -> None:
        self.curve = curve
        self.whole = whole

    @classmethod
    def _of(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Evaluate COMEP at all weights."""
        pruning = pruning_of(result)
        evaluation = evaluation_of(result, rows)
        kept = pruning.member_indices.tolist()
        pruner = live_pruner(evaluation, pruning.pruner)
        curve = weight_curve(evaluation.split, pruner, kept, len(kept))
        return cls(curve, curve.curves[0].own.whole_accuracy)

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        axes = self._begin(ax)
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
