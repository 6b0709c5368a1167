"""Accuracy, or the score of numbers, against the number of members kept."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from secateurs.comparison import Comparison
from secateurs.displays._base import COLOURS, DASHES, Display, evaluation_of
from secateurs.evaluation._curves import Evaluation
from secateurs.evaluation._diagnostics import right_by_size
from secateurs.evaluation._score_curve import Floats, score_curve
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

    For regressors, the score that matters, R² by default, in place of accuracy.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``; the constructor takes the numbers to draw.

    Parameters
    ----------
    curves : mapping of str to Curve
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

    _takes_numbers = True

    def __init__(self, curves: Mapping[str, Curve], whole: float, score: str = "accuracy") -> None:
        self.curves = curves
        self.whole = whole
        self.score = score

    @classmethod
    def _of(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Evaluate every method of a comparison, or that of a pruning."""
        evaluation = evaluation_of(result, rows)
        if not evaluation.problem.counts_rows:
            return cls(*_by_score(evaluation))
        votes = evaluation.problem.votes
        curves = {}
        for name, curve in evaluation.curves.items():
            selection, own = curve.selection, curve.own
            right = right_by_size(votes, selection.groups, selection.group_weights)
            choosing = right / votes.n_samples
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
        axes.set(xscale="log", xlabel="members kept", ylabel=f"{self.score} on rows held out")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize="small")
        return self


def _by_score(evaluation: Evaluation) -> tuple[dict[str, Curve], float, str]:
    """Return the curves by the score that matters, that of all members, and its name."""
    problem = evaluation.problem
    outputs = problem.outputs_scored()
    scoring, sign = problem.scoring, 1.0 if problem.scoring.larger_is_better else -1.0
    curves = {}
    for name, curve in evaluation.curves.items():
        groups, inside = curve.selection.groups, curve.selection.group_weights
        weights = problem.ensemble.weights, problem.sample_weight
        known = score_curve(outputs, groups, scoring, *weights, group_weights=inside)
        half = np.nan_to_num(curve.scored.half_width)  # known for the sizes asked for
        sizes, held_out = curve.selection.sizes, sign * curve.scored.values
        curves[name] = Curve(sizes, held_out, half, sign * known.values)
    return curves, sign * curve.scored.whole_value, scoring.label
