"""Scores computed with NumPy, equal to those of scikit-learn's scorers with the same names.

A selection scores thousands of sets, and a call of scikit-learn's scorer takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from secateurs.exceptions import InputError
from secateurs.typing import Array, FloatArray, IndexArray

SampleWeights: TypeAlias = FloatArray | None
RequiredPredictions: TypeAlias = Literal["labels", "probabilities", "numbers", "any"]


class FastScore(NamedTuple):
    """The predictions that a score needs, and its function of (predicted, y, weights, classes)."""

    needs: RequiredPredictions
    score_function: Callable[[Array, Array, SampleWeights, Array], float]


def _class_codes(y: Array, classes: Array) -> IndexArray:
    """Return the indices of true labels among the classes."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = classes[codes] != y
    if unknown.any():
        raise InputError(
            f"y holds the label {y[unknown].tolist()[0]!r}, which has no probability. The classes "
            f"are {classes.tolist()[0]!r} to {classes.tolist()[-1]!r}."
        )
    return codes


def _predicted_labels(predicted: Array, classes: Array) -> Array:
    return predicted if predicted.ndim == 1 else classes[predicted.argmax(axis=1)]


def _accuracy(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    return np.average(_predicted_labels(predicted, classes) == y, weights=weights)


def _balanced_accuracy(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    is_right = _predicted_labels(predicted, classes) == y
    codes = np.unique(y, return_inverse=True)[1]
    sample_weight = np.ones(len(y)) if weights is None else weights
    totals = np.bincount(codes, weights=sample_weight)
    hits = np.bincount(codes, weights=sample_weight * is_right)
    return float(np.mean(hits[totals > 0] / totals[totals > 0]))


def _neg_log_loss(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    probabilities = predicted.astype(float)
    # scikit-learn keeps probabilities one epsilon of their dtype away from 0 and 1.
    eps = np.finfo(float).eps
    of_true_class = probabilities[np.arange(len(y)), _class_codes(y, classes)]
    return np.average(np.log(np.clip(of_true_class, eps, 1 - eps)), weights=weights)


def _neg_brier_score(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    errors = predicted.astype(float)
    errors[np.arange(len(y)), _class_codes(y, classes)] -= 1
    factor = 0.5 if len(classes) < 3 else 1.0  # as scikit-learn scales it for two classes
    return -factor * np.average((errors**2).sum(axis=1), weights=weights)


def _neg_squared_error(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    return -np.average((predicted - y) ** 2, weights=weights)


def _neg_root_error(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    return -np.sqrt(-_neg_squared_error(predicted, y, weights, classes))


def _neg_abs_error(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    return -np.average(np.abs(predicted - y), weights=weights)


def _r2_score(predicted: Array, y: Array, weights: SampleWeights, classes: Array) -> float:
    # A single sample is a constant target, for which scikit-learn returns 1 or 0.
    of_mean = _neg_squared_error(np.average(y, weights=weights), y, weights, classes)
    of_predictions = _neg_squared_error(predicted, y, weights, classes)
    if of_mean == 0:
        return 1.0 if of_predictions == 0 else 0.0
    return 1 - of_predictions / of_mean


FAST_SCORES = {
    "accuracy": FastScore("labels", _accuracy),
    "balanced_accuracy": FastScore("labels", _balanced_accuracy),
    "neg_log_loss": FastScore("probabilities", _neg_log_loss),
    "neg_brier_score": FastScore("probabilities", _neg_brier_score),
    "neg_mean_squared_error": FastScore("numbers", _neg_squared_error),
    "neg_root_mean_squared_error": FastScore("numbers", _neg_root_error),
    "neg_mean_absolute_error": FastScore("numbers", _neg_abs_error),
    "r2": FastScore("numbers", _r2_score),
}


# The correct samples of each class count this often, and the predicted and the true samples that
# the score divides by: F1 is 2·correct / (predicted + true).
_COUNT_RATIOS = {"f1": (2, 0, 1, 1), "precision": (1, 0, 1, 0), "recall": (1, 0, 0, 1)}
_COUNT_RATIOS["jaccard"] = (1, -1, 1, 1)
_AVERAGES = ("macro", "micro", "weighted")


def is_count_score(name: str, classes: Array) -> bool:
    """Return whether `count_score` computes the score for these classes."""
    ratio, _, average = name.partition("_")
    has_positive_class = np.array_equal(classes, (0, 1))  # the default of scikit-learn is class 1
    return ratio in _COUNT_RATIOS and (average in _AVERAGES or (not average and has_positive_class))


def count_score(
    name: str, predicted: Array, y: Array, weights: SampleWeights, classes: Array
) -> float:
    """Return F1, precision, recall or the Jaccard index; a class without samples has 0.

    As in scikit-learn, averages are over the classes that are true or predicted for a sample.
    """
    ratio, _, average = name.partition("_")
    factor, shared, *totals = _COUNT_RATIOS[ratio]
    labels = _predicted_labels(predicted, classes)
    found, codes = np.unique(np.concatenate([y, labels]), return_inverse=True)
    true_codes, predicted_codes = codes[: len(y)], codes[len(y) :]
    sample_weight = np.ones(len(y)) if weights is None else weights

    def count(selected: IndexArray, weight: FloatArray) -> FloatArray:
        return np.bincount(selected, weights=weight, minlength=len(found)).astype(float)

    correct = count(true_codes, sample_weight * (true_codes == predicted_codes))
    true = count(true_codes, sample_weight)
    divisors = shared * correct + totals[0] * count(predicted_codes, sample_weight)
    divisors += totals[1] * true
    if average == "micro":
        correct, divisors = correct.sum(keepdims=True), divisors.sum(keepdims=True)
    values = np.divide(factor * correct, divisors, out=np.zeros_like(divisors), where=divisors > 0)
    if not average:
        return float(values[found == 1].sum())
    if average == "weighted":
        return float(np.average(values, weights=true)) if true.any() else 0.0
    return float(values.mean())
