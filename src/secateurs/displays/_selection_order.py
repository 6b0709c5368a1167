"""Figure of the accuracy after each step of a selection."""

from collections.abc import Sequence
from typing import Self

from secateurs.comparison import Comparison
from secateurs.displays._base_display import COLOURS, Display, SampleSets, shown_pruning
from secateurs.pruning import Pruning
from secateurs.report.member_diagnostics import SelectionStep, selection_steps
from secateurs.typing import AxesLike


class SelectionOrderDisplay(Display):
    """Accuracy of the vote after each step of the selection, and of each single member.

    Create it with `from_estimator`, `from_predictions` or `from_result`, which draw it on ``ax_``
    of ``figure_``. The constructor takes the values to draw.

    Parameters
    ----------
    steps : sequence of SelectionStep
        The steps, with accuracies on the validation samples by counting labels.

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
    def _compute_from_result(cls, result: Pruning | Comparison, samples: SampleSets) -> Self:
        """Compute the accuracy after each step on the validation samples."""
        pruning = shown_pruning(result)
        order, scores = pruning.member_indices.tolist(), pruning.pruner.scores_.tolist()
        return cls(selection_steps(pruning.votes, order, scores, pruning.weights))

    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the figure; see `Display.plot`."""
        axes = self._set_up_axes(ax)
        step_numbers = range(1, len(self.steps) + 1)
        after = [step.accuracy for step in self.steps]
        alone = [step.alone for step in self.steps]
        (vote,) = axes.plot(step_numbers, after, color=COLOURS[0], marker="o", markersize=3)
        (member,) = axes.plot(step_numbers, alone, color=COLOURS[1], linestyle="", marker="s")
        axes.locator_params("x", integer=True)
        axes.set(xlabel="step", ylabel="accuracy on validation samples")
        labels = ["vote of the members so far", "single member"]
        axes.legend([vote, member], labels, fontsize="small")
        return self
