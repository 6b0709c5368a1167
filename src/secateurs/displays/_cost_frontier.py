"""Figure of the score by the cost of the panel."""

from typing import Self

import numpy as np

from secateurs.displays._base_display import COLOURS, BaseDisplay
from secateurs.exceptions import InputError
from secateurs.pruning import Frontier
from secateurs.typing import AxesLike, FloatArray, JsonObject


class CostFrontierDisplay(BaseDisplay):
    """Score of the best panel by its cost: held out, on the validation samples, and its bound.

    Create it with `from_result`, which draws it on ``ax_`` of ``figure_``.

    Parameters
    ----------
    frontier : dict
        The values to draw, from `Frontier.to_json`.
    score : str, default="accuracy"
        Name of the score.

    Examples
    --------
    >>> from secateurs import frontier
    >>> from secateurs.displays import CostFrontierDisplay
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> found = frontier(votes, y=[0, 0, 1, 1] * 5, cost=[4, 1, 1, 2], random_state=0)
    >>> CostFrontierDisplay.from_result(found).ax_.get_xlabel()
    'cost per query'
    """

    def __init__(self, frontier: JsonObject, score: str = "accuracy") -> None:
        self.frontier = frontier
        self.score = score

    @classmethod
    def from_result(cls, result: Frontier, *, ax: AxesLike = None) -> Self:
        """Draw the result of `secateurs.frontier`.

        Parameters
        ----------
        result : Frontier
            The result.
        ax : matplotlib Axes, optional
            Axes to draw on; by default the axes of a new figure.

        Returns
        -------
        CostFrontierDisplay
        """
        if not isinstance(result, Frontier):
            raise InputError(
                f"{cls.__name__} cannot show a {type(result).__name__}. Pass the result of "
                "secateurs.frontier."
            )
        return cls(result.to_json(), result.problem.scoring.label).plot(ax)

    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the figure: held-out scores with their 95 % interval, and the other lines."""
        axes = self._set_up_axes(ax)
        costs, score, half = (self._column(name) for name in ("cost", "score", "half_width"))
        in_turn, colours = self._column("cost_in_turn"), COLOURS
        validation, bounds = self._column("validation_score"), self._column("upper_bound")
        half, sign = np.nan_to_num(half), 1 if validation[-1] >= validation[0] else -1
        axes.fill_between(costs, score - half, score + half, color=colours[0], alpha=0.15, lw=0)
        axes.plot(costs, score, "o-", color=colours[0], ms=4, label="held-out samples")
        if not np.isnan(in_turn).all():
            order = np.argsort(in_turn, kind="stable")
            # Panels that no other panel beats in both expected cost and validation score.
            best = np.maximum.accumulate(np.append(-np.inf, validation[order] * sign))[:-1]
            order = order[validation[order] * sign > best]
            label = "asked in turn"
            axes.plot(in_turn[order], score[order], ".-.", color=colours[3], label=label)
        (line,) = axes.plot(costs, validation, "--", color=colours[1], label="validation samples")
        line.set_drawstyle("steps-post")
        if not (np.isnan(bounds) | (bounds == validation)).all():
            label = "at best possible on them"
            axes.plot(costs, bounds, ":", color=colours[2], drawstyle="steps-pre", label=label)
        full = self.frontier["full"]["score"]
        axes.axhline(full, color="0.4", linewidth=1, label="full ensemble")
        axes.set(xlabel="cost per query", ylabel=self.score)
        if costs[0] > 0 and costs[-1] / costs[0] > 8:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize="small")
        return self

    def _column(self, name: str) -> FloatArray:
        values = [row[name] for row in self.frontier["rows"]]
        return np.array([np.nan if value is None else value for value in values], dtype=float)
