"""Type aliases and protocols that several packages share."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array: TypeAlias = NDArray[Any]  # of any dtype; use NDArray[np.float64] etc. where it is known
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]
MemberIndices: TypeAlias = Sequence[int] | IndexArray

Samples: TypeAlias = Any  # array-like, data frame (pandas, polars) or sparse matrix of samples
RandomStateLike: TypeAlias = int | np.random.RandomState | None
Parameters: TypeAlias = Mapping[str, Any]  # of an estimator: any value may be given
JsonObject: TypeAlias = dict[str, Any]  # as json.loads returns it

AxesLike: TypeAlias = "Axes | None"  # of matplotlib, which is optional; None for a new figure

# One score, or several of which the first is optimised: names, scorers or functions.
ScoringOption: TypeAlias = str | Callable[..., float] | Sequence[Any] | Mapping[str, Any] | None

PredictionKind: TypeAlias = Literal["labels", "probabilities", "values"]
MissingRule: TypeAlias = Literal["wrong", "ignore"]  # how a missing prediction counts


class Classifier(Protocol):
    """A fitted scikit-learn classifier with probabilities."""

    classes_: Array

    def predict(self, X: Samples) -> Array:
        """Return a prediction for each sample."""

    def predict_proba(self, X: Samples) -> FloatArray:
        """Return probabilities, samples × classes."""


class ExecutorLike(Protocol):
    """Anything that runs functions in the background: an `Executor` or a Dask `Client`."""

    submit: Callable[..., "Future[Any]"]
