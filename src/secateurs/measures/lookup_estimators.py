"""Estimators that look up stored predictions, for scorers of scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from secateurs.outputs.sample_rows import SampleRows
from secateurs.typing import Array, FloatArray, Samples

# Keeps the logarithms of probabilities of 0 and 1 finite without changing their order.
_SMALLEST = 1e-300


def normalise(probabilities: FloatArray) -> FloatArray:
    """Return probabilities that sum to 1 closely enough for scikit-learn's multi-class scores.

    Means of fixed-point probabilities sum to 1 up to rounding, whereas scikit-learn rejects larger
    differences than those of `allclose`.
    """
    totals = probabilities.sum(axis=1, keepdims=True)
    return probabilities if np.allclose(totals, 1) else probabilities / totals


class _LookupEstimator(BaseEstimator):
    """Returns stored predictions for its samples, and predictions of the model for others."""

    def __init__(self, predictions: Array, samples: SampleRows) -> None:
        self.predictions, self.samples = predictions, samples
        self.n_features_in_ = np.shape(samples.X)[1] if np.ndim(samples.X) > 1 else 1

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _stored_or_predicted(self, X: Samples, method: str) -> Array:
        """Return stored predictions for known samples; the model predicts the other samples."""
        if X is self.samples.X:
            return self.predictions
        found = self.samples.find(X)
        predicted = self.predictions[found]
        other = np.flatnonzero(found < 0)
        if len(other):
            model_input = X if len(other) == len(found) else _safe_indexing(X, other)
            values = np.asarray(getattr(self.samples.model, method)(model_input))
            if predicted.dtype.kind in "US":  # the model's labels may be longer
                predicted = predicted.astype(np.result_type(predicted, values))
            predicted[other] = values
        return predicted


class LookupRegressor(RegressorMixin, _LookupEstimator):
    """A regressor that looks up stored predictions."""

    def predict(self, X: Samples) -> Array:
        """Return the stored predictions."""
        return self._stored_or_predicted(X, "predict")


class LookupClassifier(ClassifierMixin, _LookupEstimator):
    """A classifier that looks up stored labels or probabilities."""

    def __init__(
        self,
        predictions: Array,
        samples: SampleRows,
        classes: Array,
        has_decision_function: bool = True,
    ) -> None:
        super().__init__(predictions, samples)
        self.classes = self.classes_ = classes
        self.has_decision_function = has_decision_function
        self.called_methods: set[str] = set()

    @property
    def _is_soft(self) -> bool:
        return self.predictions.ndim == 2

    def predict(self, X: Samples) -> Array:
        """Return the stored labels, or those with the largest probabilities."""
        if self._is_soft:
            return self.classes_[self._probabilities(X).argmax(axis=1)]
        return self._stored_or_predicted(X, "predict")

    def _probabilities(self, X: Samples) -> FloatArray:
        return normalise(self._stored_or_predicted(X, "predict_proba"))

    @available_if(lambda self: self._is_soft)
    def predict_proba(self, X: Samples) -> FloatArray:
        """Return the stored probabilities."""
        self.called_methods.add("predict_proba")
        return self._probabilities(X)

    @available_if(lambda self: self._is_soft)
    def predict_log_proba(self, X: Samples) -> FloatArray:
        """Return the logarithms of the stored probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(lambda self: self._is_soft and self.has_decision_function)
    def decision_function(self, X: Samples) -> FloatArray:
        """Return log odds of the second of two classes; log probabilities of more classes."""
        logarithms = np.log(np.maximum(self.predict_proba(X), _SMALLEST))
        return logarithms[:, 1] - logarithms[:, 0] if len(self.classes_) == 2 else logarithms
