"""The base class of displays: how they are created, and the axes they draw on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from secateurs.comparison import Comparison
from secateurs.evaluation.size_curves import Evaluation
from secateurs.exceptions import InputError, import_extra
from secateurs.pruners import BasePruner
from secateurs.pruning import Pruning, prune

# Okabe and Ito's colours, which colour-blind readers can distinguish; dashes help as well.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
DASHES = ("-", "--", ":", "-.", (0, (7, 2)), (0, (3, 1, 1, 1)))


class BaseDisplay(ABC):
    """Numbers that can be drawn any number of times.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What they are drawn on.
    """

    ax_: Any
    figure_: Any

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        Display
            The object itself.
        """

    def _set_up_axes(self, ax: Any, **figure: Any) -> Any:
        """Set up the axes: those given, or those of a new figure."""
        if ax is None:
            pyplot = import_extra("matplotlib.pyplot", "plot", "drawing")
            ax = pyplot.subplots(layout="constrained", **figure)[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class Display(BaseDisplay):
    """Base class of displays of results, which implement ``_compute_from_result`` and ``plot``."""

    _can_show_regression = False

    @classmethod
    def from_estimator(
        cls,
        ensemble: Any,
        X: Any,
        y: ArrayLike,
        *,
        pruner: str | BasePruner = "auto",
        keep: int | float | None = None,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        random_state: Any = None,
        ax: Any = None,
        **parameters: Any,
    ) -> Self:
        """Prune a fitted ensemble and draw.

        Parameters
        ----------
        ensemble : object
            A fitted ensemble, as for `secateurs.prune`.
        X, y : array-like
            Rows to choose on, and their true labels.
        pruner : str or pruner, default="auto"
            The method, as for `secateurs.prune`.
        keep : int or float, optional
            Number of members to keep: a count, or a fraction of the ensemble.
        X_test, y_test : array-like, optional
            Rows to judge on; without them, the rows to choose on by cross-fitting.
        random_state : int, RandomState or None, default=None
            Random state of the method.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **parameters
            Parameters of the method.

        Returns
        -------
        Display
        """
        pruning = prune(ensemble, X, y, pruner, keep, random_state=random_state, **parameters)
        return cls.from_result(pruning, X_test, y_test, X=X, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        votes: Any,
        y: ArrayLike,
        *,
        votes_test: Any = None,
        y_test: ArrayLike | None = None,
        ax: Any = None,
        **parameters: Any,
    ) -> Self:
        """Prune predictions and draw.

        Parameters
        ----------
        votes : array-like
            Labels (samples × members) or probabilities (samples × members × classes).
        y : array-like of shape (n_samples,)
            The true labels.
        votes_test, y_test : array-like, optional
            Predictions on rows to judge on; without them, cross-fitting.
        ax, **parameters
            As for `from_estimator`: ``pruner``, ``keep``, ``random_state``, and the method's own.

        Returns
        -------
        Display
        """
        test = {"X_test": votes_test, "y_test": y_test}
        return cls.from_estimator(votes, None, y, **test, ax=ax, **parameters)

    @classmethod
    def from_result(
        cls,
        result: Pruning | Comparison,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        *,
        X: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the result of `secateurs.prune` or `secateurs.compare`.

        Parameters
        ----------
        result : Pruning or Comparison
            The result; where one pruning is shown, the best line of a comparison.
        X_test, y_test : array-like, optional
            Rows to judge a pruning on.
        X : array-like, optional
            The rows a pruning was chosen on, so that cross-fitting follows the ensemble's own vote.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        Display
        """
        if result.problem.is_regression and not cls._can_show_regression:
            raise InputError(
                f"{cls.__name__} needs classes, and these are numbers. For regression use "
                "AccuracySizeDisplay."
            )
        return cls._compute_from_result(result, {"X_test": X_test, "y_test": y_test, "X": X}).plot(
            ax
        )

    @classmethod
    @abstractmethod
    def _compute_from_result(cls, result: Pruning | Comparison, rows: Mapping[str, Any]) -> Self:
        """Compute what is drawn; rows go to `shown_evaluation`."""


def shown_pruning(result: Pruning | Comparison) -> Pruning:
    """Return the pruning to show."""
    return result if isinstance(result, Pruning) else result.pruning()


def shown_evaluation(result: Pruning | Comparison, rows: Mapping[str, Any]) -> Evaluation:
    """Return a comparison as it is, and a pruning evaluated at all sizes."""
    if isinstance(result, Comparison):
        return result
    return result.featured(**rows, beside=False).evaluation
