"""The base class of fitted ensembles: members, classes, features, predictions and slicing."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from secateurs._renamed_modules import restore_renamed
from secateurs.exceptions import STATE_ERRORS, InputError, describe_error
from secateurs.labels import label_indices, one_hot
from secateurs.thread_safety import reject_polars_after_fork
from secateurs.typing import Array, FloatArray, IndexArray, Samples

# Weights become up to this many copies of members, each of which costs a prediction. The weights of
# ensemble selection, small fractions, are then exact (docs/decisions/0018).
_MOST_COPIES = 100
# Relative weights agree with proportions up to rounding of floating-point divisions.
_ROUNDING = 1e-9


class Ensemble(ABC):
    """A fitted ensemble: its model, its members, their weights and its classes."""

    __setstate__ = restore_renamed(tables="column_members", pipelines="wrappers", soft="is_soft")

    model: Any  # the original: a fitted ensemble, or a list or dict of models
    members: Sequence[BaseEstimator]
    classes: Array  # sorted; empty for regressors
    is_soft = False  # whether it averages probabilities or values instead of counting labels
    is_sequential = False  # whether a member's prediction includes all members before it
    # Factor that turns shares back into margins, for forests that average margins.
    margin_scale: float | None = None
    has_coded_labels = False  # whether members predict class indices instead of labels
    weights: FloatArray | None = None  # of the members in its own vote
    notes: tuple[str, ...] = ()  # how the input was read, for summaries
    # Pipelines and calibrations around the ensemble, the outermost first.
    wrappers: tuple[BaseEstimator, ...] = ()

    def __init__(self, model: Any, members: Sequence[BaseEstimator], classes: Array) -> None:
        self.model, self.members, self.classes = model, members, classes
        self.column_members: set[int] = set()  # members seen to predict (n_samples, 1)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def is_regression(self) -> bool:
        """Whether members predict a continuous target instead of labels."""
        return len(self.classes) == 0

    @property
    def member_names(self) -> list[str]:
        """Names of the members."""
        return [f"member {index}" for index in range(self.n_members)]

    def slice(self, members: Sequence[int]) -> Any:
        """Return the model with these members only, in this order."""
        sliced = self._slice_model(members)
        for wrapper in reversed(self.wrappers):
            sliced = _wrap_model(wrapper, sliced)
        return sliced

    def original_members(
        self, members: Sequence[int]
    ) -> list[BaseEstimator] | dict[str, BaseEstimator]:
        """Return the original objects of these members."""
        return [self.members[member] for member in members]

    def as_predictor(self, members: Sequence[int]) -> BaseEstimator:
        """Return these members as one model that predicts: the sliced model if it has `predict`."""
        return self.slice(members)

    def with_member_weights(self, weights: FloatArray) -> "Ensemble":
        """Return the ensemble with the weights of its vote multiplied by these member weights.

        Members with a weight of 0 must not be sliced.
        """
        shares, relative = weights / weights.sum(), np.zeros(len(weights))
        # Integers are preferred because their sums are exact, so that equal votes tie.
        relative[weights > 0] = integer_proportions(weights[weights > 0])
        if not np.allclose(relative / relative.sum(), shares, rtol=0, atol=_ROUNDING):
            relative = np.count_nonzero(weights) * shares
        if np.ptp(relative[weights > 0]) == 0:
            return self
        changed = copy.copy(self)
        changed.weights = relative if self.weights is None else self.weights * relative
        return changed

    def attainable_weights(self, weights: FloatArray) -> FloatArray:
        """Return the weights closest to these that a sliced ensemble can represent."""
        return weights

    def prepare_input(self, X: Samples) -> Samples:
        """Return X checked, preprocessed and converted once for all members."""
        reject_polars_after_fork(X)
        for wrapper in self.wrappers:
            transforms = isinstance(wrapper, Pipeline) and len(wrapper) > 1
            X = wrapper[:-1].transform(X) if transforms else X
        return self._convert_input(X)

    def wrapped_in(self, wrapper: BaseEstimator) -> "Ensemble":
        """Return the ensemble as the last step of a pipeline, or inside a calibration."""
        wrapped = copy.copy(self)
        wrapped.wrappers = (wrapper, *self.wrappers)
        return wrapped

    @abstractmethod
    def _slice_model(self, members: Sequence[int]) -> Any:
        """Return the model, without its wrappers, with these members only."""

    def _copy_with(self, members: Sequence[int]) -> BaseEstimator:
        """Return a copy of the model with these members only; other attributes are kept."""
        copied = copy.copy(self.model)
        copied.estimators_ = [self.members[member] for member in members]
        return copied

    def _convert_input(self, X: Samples) -> Samples:
        """Return samples in the form that the members expect."""
        return X

    def member_features(self, member: int) -> IndexArray | None:
        """Return the columns of prepared X that a member uses; None for all columns."""
        return None

    def member_input(self, X: Samples, member: int) -> Samples:
        """Return the columns of prepared X that a member uses."""
        features = self.member_features(member)
        return X if features is None else X[:, features]

    def member_class_indices(self, member: int) -> IndexArray:
        """Return the index, among the ensemble's classes, of each class of a member."""
        return self._label_indices(self.members[member].classes_, member)

    def predicted_codes(self, X: Samples, member: int) -> Array:
        """Return a member's votes on prepared X, as indices of the ensemble's classes."""
        return self._label_indices(self._predicted_column(X, member), member)

    def _call_member(self, X: Samples, member: int, method: str) -> Array:
        """Return the result of a prediction method of a member on prepared X."""
        try:
            return getattr(self.members[member], method)(self.member_input(X, member))
        except STATE_ERRORS as error:
            if isinstance(error, TypeError) and getattr(X, "dtype", None) == np.dtype(object):
                raise  # caused by the values in X, not by the member
            raise InputError(
                f"{self._describe_member(member)} cannot {method}: {describe_error(error)}. "
                "Fit it again."
            ) from error

    def _describe_member(self, member: int) -> str:
        return f"Member {member}, a {type(self.members[member]).__name__},"

    def _label_indices(self, labels: ArrayLike, member: int) -> IndexArray:
        """Return a member's labels as indices of the ensemble's classes."""
        classes = np.arange(len(self.classes)) if self.has_coded_labels else self.classes
        return label_indices(np.asarray(labels), classes, self._describe_member(member))

    def predicted_values(self, X: Samples, member: int) -> FloatArray:
        """Return a regressor's predictions on prepared X."""
        return self._predicted_column(X, member).astype(float)

    def _predicted_column(self, X: Samples, member: int) -> Array:
        """Return a member's predictions as (n_samples,); some members predict (n_samples, 1)."""
        predictions = np.asarray(self._call_member(X, member, "predict"))
        if predictions.ndim > 1:
            self.column_members.add(member)
        if predictions.ndim != 1 and predictions.shape[1:] != (1,):
            raise InputError(
                f"{self._describe_member(member)} predicts {predictions.shape[-1]} values per "
                "sample; pruning needs one. Fit a model per output."
            )
        return predictions.ravel()

    def predicted_probabilities(self, X: Samples, member: int) -> FloatArray:
        """Return a member's probabilities on prepared X: (samples, classes).

        For a member without ``predict_proba``, the predicted label has probability 1.
        """
        if not hasattr(self.members[member], "predict_proba"):
            return one_hot(self.predicted_codes(X, member), len(self.classes))
        return self.align_probabilities(self._call_member(X, member, "predict_proba"), member)

    def align_probabilities(self, probabilities: Array, member: int) -> FloatArray:
        """Return a member's probabilities with one column for each class of the ensemble."""
        aligned = np.zeros((len(probabilities), len(self.classes)))
        aligned[:, self.member_class_indices(member)] = probabilities
        return aligned

    def vote_contribution(self, X: Samples, member: int) -> FloatArray:
        """Return a member's weighted contribution to the ensemble's vote: (samples, classes)."""
        weight = 1.0 if self.weights is None else float(self.weights[member])
        if self._is_member_soft(member):
            return weight * self.predicted_probabilities(X, member)
        return weight * one_hot(self.predicted_codes(X, member), len(self.classes))

    def _is_member_soft(self, member: int) -> bool:
        return self.is_soft

    def in_bag_samples(self) -> list[IndexArray]:
        """Return the indices of the training samples of each member."""
        raise InputError(
            f"{type(self.model).__name__} does not record which samples its members were trained "
            "on. Out-of-bag votes need a forest or a bagging ensemble; for other ensembles, use a "
            "validation set."
        )


def integer_proportions(weights: FloatArray) -> IndexArray:
    """Return integers of at least 1 in proportion to weights: exactly if a sum up to 100 allows it.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.ensembles._base_ensemble import integer_proportions
    >>> integer_proportions(np.array([0.5, 0.2, 0.3])), integer_proportions(np.array([1.0, np.pi]))
    (array([5, 2, 3]), array([24, 76]))
    """
    shares = weights / weights.sum()
    for total in range(len(shares), _MOST_COPIES + 1):
        counts = np.rint(shares * total)
        if (counts > 0).all() and np.allclose(counts, shares * total, rtol=0, atol=_ROUNDING):
            return counts.astype(np.intp)
    return np.maximum(1, np.rint(shares * _MOST_COPIES)).astype(np.intp)


def _wrap_model(wrapper: BaseEstimator, model: BaseEstimator) -> BaseEstimator:
    """Return a copy of a pipeline or calibration with another model inside."""
    copied = copy.copy(wrapper)
    if isinstance(wrapper, Pipeline):
        copied.steps = [*wrapper.steps[:-1], (wrapper.steps[-1][0], model)]
        return copied
    (calibrated,) = wrapper.calibrated_classifiers_
    if isinstance(calibrated.estimator, FrozenEstimator):
        model = copied.estimator = FrozenEstimator(model)
    recalibrated = copy.copy(calibrated)
    recalibrated.estimator, copied.calibrated_classifiers_ = model, [recalibrated]
    return copied
