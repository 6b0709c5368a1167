"""Figure of the accuracy, or of the regression score, by number of members kept."""

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np

from secateurs.comparison import Comparison
from secateurs.displays._base_display import COLOURS, DASHES, Display, SampleSets, shown_evaluation
from secateurs.evaluation.score_table import Evaluation
from secateurs.measures.score_curve import score_curve
from secateurs.pruning import Pruning
from secateurs.report.member_diagnostics import n_right_by_group
from secateurs.typing import AxesLike, FloatArray, IndexArray


class AccuracyCurve(NamedTuple):
    """Accuracy of a method by number of members kept; all arrays have shape (n_sizes,)."""

    sizes: IndexArray
    held_out: FloatArray  # on the test set, or cross-validated
    half_width: FloatArray  # of the 95 % interval of its change against the full ensemble
    choosing: FloatArray  # on the validation samples, by counting labels


class AccuracySizeDisplay(Display):
    """Accuracy by number of members kept, on held-out samples and on the validation samples.

    For regression, the score (R² by default) replaces the accuracy.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``. The constructor takes the values to draw.

    Parameters
    ----------
    curves : mapping of str to AccuracyCurve
        One curve for each method.
    whole : float
        Accuracy of the full ensemble on held-out samples.
    score : str, default="accuracy"
        Name of the score.

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
    def _compute_from_result(cls, result: Pruning | Comparison, samples: SampleSets) -> Self:
        """Evaluate every method of a comparison, or the method of a pruning."""
        evaluation = shown_evaluation(result, samples)
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

    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the figure, with interval and validation score if there is a single method."""
        axes = self._set_up_axes(ax)
        for index, (name, curve) in enumerate(self.curves.items()):
            colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
            marker = "" if len(curve.sizes) > 5 else "o"  # a few sizes are points, not a curve
            (line,) = axes.plot(curve.sizes, curve.held_out, label=name, color=colour)
            line.set(linestyle=dash, marker=marker)
        if len(self.curves) == 1:
            low, high = curve.held_out - curve.half_width, curve.held_out + curve.half_width
            axes.fill_between(curve.sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            label = "validation samples"
            axes.plot(curve.sizes, curve.choosing, color=colour, linestyle="--", label=label)
        axes.axhline(self.whole, color="0.4", linewidth=1, label="full ensemble")
        axes.set(xscale="log", xlabel="members kept", ylabel=f"{self.score} on held-out samples")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize="small")
        return self


def _curves_by_score(evaluation: Evaluation) -> tuple[dict[str, AccuracyCurve], float, str]:
    """Return the curves of the main score, the score of the full ensemble, and its name."""
    problem = evaluation.problem
    outputs = problem.scored_predictions()
    scoring, sign = problem.scoring, 1.0 if problem.scoring.larger_is_better else -1.0
    curves = {}
    for name, curve in evaluation.curves.items():
        groups, group_weights = curve.selection.member_groups, curve.selection.group_weights
        weights = problem.ensemble.weights, problem.sample_weight
        validation = score_curve(outputs, groups, scoring, *weights, group_weights)
        half_width = np.nan_to_num(curve.main_score.half_width)  # NaN at sizes without an interval
        sizes, held_out = curve.selection.sizes, sign * curve.main_score.values
        curves[name] = AccuracyCurve(sizes, held_out, half_width, sign * validation.values)
    return curves, sign * curve.main_score.full_value, scoring.label
