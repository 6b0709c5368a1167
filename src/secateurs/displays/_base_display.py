"""Base classes of displays: their constructors, and the axes they draw on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self, TypedDict

from numpy.typing import ArrayLike

from secateurs.comparison import Comparison
from secateurs.evaluation.score_table import Evaluation
from secateurs.exceptions import InputError, import_extra
from secateurs.outputs.store_base import PredictionsLike
from secateurs.pruners import BasePruner
from secateurs.pruning import Pruning, prune
from secateurs.typing import AxesLike, RandomStateLike, Samples

if TYPE_CHECKING:  # matplotlib is optional, and loaded when a figure is drawn
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Okabe and Ito's colours, which colour-blind readers can distinguish; dashes help as well.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
DASHES = ("-", "--", ":", "-.", (0, (7, 2)), (0, (3, 1, 1, 1)))


class BaseDisplay(ABC):
    """Base class of objects that store values and draw them as a figure.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the last call of `plot`.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    @abstractmethod
    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default the axes of a new figure.

        Returns
        -------
        Display
            The object itself.
        """

    def _set_up_axes(self, ax: AxesLike, figsize: tuple[float, float] | None = None) -> Axes:
        """Store and return the axes to draw on, by default the axes of a new figure."""
        if ax is None:
            pyplot = import_extra("matplotlib.pyplot", "plot", "drawing")
            ax = pyplot.subplots(layout="constrained", figsize=figsize)[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class SampleSets(TypedDict):
    """Validation and test samples, as keyword arguments of `Pruning.featured`."""

    X_test: Samples
    y_test: ArrayLike | None
    X: Samples  # the validation set


class Display(BaseDisplay):
    """Base class of displays of results, which implement ``_compute_from_result`` and ``plot``."""

    _can_show_regression = False

    @classmethod
    def from_estimator(
        cls,
        ensemble: object,
        X: Samples,
        y: ArrayLike,
        *,
        pruner: str | BasePruner = "auto",
        keep: int | float | None = None,
        X_test: Samples = None,
        y_test: ArrayLike | None = None,
        random_state: RandomStateLike = None,
        ax: AxesLike = None,
        **parameters: Any,
    ) -> Self:
        """Prune a fitted ensemble and draw the result.

        Parameters
        ----------
        ensemble : object
            A fitted ensemble, as for `secateurs.prune`.
        X, y : array-like
            Validation samples, and their true labels.
        pruner : str or pruner, default="auto"
            The method, as for `secateurs.prune`.
        keep : int or float, optional
            Number of members to keep: a count, or a fraction of the ensemble.
        X_test, y_test : array-like, optional
            Test set; by default, scores are cross-validated on the validation samples.
        random_state : int, RandomState or None, default=None
            Random state of the method.
        ax : matplotlib Axes, optional
            Axes to draw on; by default the axes of a new figure.
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
        votes: PredictionsLike,
        y: ArrayLike,
        *,
        votes_test: PredictionsLike | None = None,
        y_test: ArrayLike | None = None,
        ax: AxesLike = None,
        **parameters: Any,
    ) -> Self:
        """Select members by their predictions and draw the result.

        Parameters
        ----------
        votes : array-like
            Labels (samples × members) or probabilities (samples × members × classes).
        y : array-like of shape (n_samples,)
            The true labels.
        votes_test, y_test : array-like, optional
            Predictions on the test set; by default, scores are cross-validated.
        ax, **parameters
            As for `from_estimator`: ``pruner``, ``keep``, ``random_state``, and parameters of the
            method.

        Returns
        -------
        Display
        """
        return cls.from_estimator(
            votes, None, y, X_test=votes_test, y_test=y_test, ax=ax, **parameters
        )

    @classmethod
    def from_result(
        cls,
        result: Pruning | Comparison,
        X_test: Samples = None,
        y_test: ArrayLike | None = None,
        *,
        X: Samples = None,
        ax: AxesLike = None,
    ) -> Self:
        """Draw the result of `secateurs.prune` or `secateurs.compare`.

        Parameters
        ----------
        result : Pruning or Comparison
            The result. Displays of a single pruning show the best row of a comparison.
        X_test, y_test : array-like, optional
            Test set for a pruning.
        X : array-like, optional
            Validation samples of a pruning, so that cross-validated scores use the ensemble's own
            vote.
        ax : matplotlib Axes, optional
            Axes to draw on; by default the axes of a new figure.

        Returns
        -------
        Display
        """
        if not isinstance(result, (Pruning, Comparison)):
            raise InputError(
                f"{cls.__name__} cannot show a {type(result).__name__}. Pass the result of "
                "secateurs.prune or secateurs.compare."
            )
        if result.problem.is_regression and not cls._can_show_regression:
            raise InputError(
                f"{cls.__name__} needs classes, but this is a regression. Use AccuracySizeDisplay."
            )
        samples: SampleSets = {"X_test": X_test, "y_test": y_test, "X": X}
        return cls._compute_from_result(result, samples).plot(ax)

    @classmethod
    @abstractmethod
    def _compute_from_result(cls, result: Pruning | Comparison, samples: SampleSets) -> Self:
        """Compute the values to draw; samples are passed to `shown_evaluation`."""


def shown_pruning(result: Pruning | Comparison) -> Pruning:
    """Return a pruning itself, or the best pruning of a comparison."""
    return result if isinstance(result, Pruning) else result.pruning()


def shown_evaluation(result: Pruning | Comparison, samples: SampleSets) -> Evaluation:
    """Return a comparison itself, or the evaluation of a pruning at all sizes."""
    if isinstance(result, Comparison):
        return result
    return result.featured(**samples, beside=False).evaluation
