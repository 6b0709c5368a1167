"""A choice, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from secateurs.comparison import Comparison
from secateurs.displays._base_display import COLOURS, Display, shown_pruning
from secateurs.evaluation.member_diagnostics import SelectionStep, selection_steps
from secateurs.pruning import Pruning


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
    >>> how = {"pruner": "comep", "keep": 2}
    >>> display = SelectionOrderDisplay.from_predictions(votes, [0, 0, 1, 1], **how)
    >>> [(step.member, step.accuracy) for step in display.steps]
    [(0, 1.0), (1, 0.75)]
    """

    def __init__(self, steps: Sequence[SelectionStep]) -> None:
        self.steps = steps

    @classmethod
    def _compute_from_result(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Follow the choice on the rows chosen on."""
        pruning = shown_pruning(result)
        order, scores = pruning.member_indices.tolist(), pruning.pruner.scores_.tolist()
        return cls(selection_steps(pruning.votes, order, scores, pruning.weights))

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        axes = self._set_up_axes(ax)
        numbers = range(1, len(self.steps) + 1)
        after = [step.accuracy for step in self.steps]
        alone = [step.alone for step in self.steps]
        axes.plot(numbers, after, color=COLOURS[0], marker="o", markersize=3, label="vote so far")
        axes.plot(numbers, alone, color=COLOURS[1], linestyle="", marker="s", label="member alone")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel="step", ylabel="accuracy on rows chosen on")
        axes.legend(fontsize="small")
        return self
