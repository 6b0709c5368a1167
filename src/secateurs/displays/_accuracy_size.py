"""Accuracy, or the score of numbers, against the number of members kept."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from secateurs.comparison import Comparison
from secateurs.displays._base_display import COLOURS, DASHES, Display, shown_evaluation
from secateurs.evaluation.member_diagnostics import n_right_by_group
from secateurs.evaluation.score_curve import Floats, score_curve
from secateurs.evaluation.size_curves import Evaluation
from secateurs.pruning import Pruning


class AccuracyCurve(NamedTuple):
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

    For regressors, the score that matters, R² by default, in place of accuracy.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    curves : mapping of str to AccuracyCurve
        One for each method.
    whole : float
        Accuracy of all members on rows held out.
    score : str, default="accuracy"
        The name of the score.

    Examples
    --------
    >>> from secateurs.displays import AccuracySizeDisplay
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> how = {"pruner": "comep", "keep": 2}
    >>> display = AccuracySizeDisplay.from_predictions(votes, [0, 0, 1, 1] * 5, **how)
    >>> display.curves["comep λ=0.5"].sizes
    array([1, 2, 3, 4])
    """

    _can_show_regression = True

    def __init__(
        self, curves: Mapping[str, AccuracyCurve], whole: float, score: str = "accuracy"
    ) -> None:
        self.curves = curves
        self.whole = whole
        self.score = score

    @classmethod
    def _compute_from_result(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Evaluate every method of a comparison, or that of a pruning."""
        evaluation = shown_evaluation(result, rows)
        if not evaluation.problem.is_plain_accuracy:
            return cls(*_curves_by_score(evaluation))
        votes = evaluation.problem.predictions
        curves = {}
        for name, curve in evaluation.curves.items():
            selection, own = curve.selection, curve.by_own_vote
            right = n_right_by_group(votes, selection.member_groups, selection.group_weights)
            choosing = right / votes.n_samples
            curves[name] = AccuracyCurve(selection.sizes, own.accuracy, own.half_width, choosing)
        return cls(curves, curve.by_own_vote.full_accuracy)

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`. With one method, also its interval and the rows chosen on."""
        axes = self._set_up_axes(ax)
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
        axes.set(xscale="log", xlabel="members kept", ylabel=f"{self.score} on rows held out")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize="small")
        return self


def _curves_by_score(evaluation: Evaluation) -> tuple[dict[str, AccuracyCurve], float, str]:
    """Return the curves by the score that matters, that of all members, and its name."""
    problem = evaluation.problem
    outputs = problem.scored_predictions()
    scoring, sign = problem.scoring, 1.0 if problem.scoring.larger_is_better else -1.0
    curves = {}
    for name, curve in evaluation.curves.items():
        groups, inside = curve.selection.member_groups, curve.selection.group_weights
        weights = problem.ensemble.weights, problem.sample_weight
        known = score_curve(outputs, groups, scoring, *weights, group_weights=inside)
        half = np.nan_to_num(curve.main_score.half_width)  # known for the sizes asked for
        sizes, held_out = curve.selection.sizes, sign * curve.main_score.values
        curves[name] = AccuracyCurve(sizes, held_out, half, sign * known.values)
    return curves, sign * curve.main_score.full_value, scoring.label
