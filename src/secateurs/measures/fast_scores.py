"""Scores of answers in NumPy, equal to what scikit-learn's scorers of the same names return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError
from secateurs.typing import Array

SampleWeights = NDArray[np.float64] | None


class FastScore(NamedTuple):
    """What a score needs, and its function of (answers, y, weights, classes)."""

    needs: str
    score_function: Callable[[Any, Array, SampleWeights, Array], Any]


def _class_codes(y: Array, classes: Array) -> NDArray[np.intp]:
    """Return true labels as places among the classes."""
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = classes[places] != y
    if unknown.any():
        raise InputError(
            f"y holds the label {y[unknown][0].item()!r}, which has no probability. The classes "
            f"are {classes[0].item()!r} to {classes[-1].item()!r}."
        )
    return places


def _predicted_labels(answers: Array, classes: Array) -> Array:
    return answers if answers.ndim == 1 else classes[answers.argmax(axis=1)]


def _accuracy(answers: Array, y: Array, weights: SampleWeights, classes: Array) -> Any:
    return np.average(_predicted_labels(answers, classes) == y, weights=weights)


def _balanced_accuracy(answers: Array, y: Array, weights: SampleWeights, classes: Array) -> Any:
    right = _predicted_labels(answers, classes) == y
    codes = np.unique(y, return_inverse=True)[1]
    shares = np.ones(len(y)) if weights is None else weights
    totals = np.bincount(codes, weights=shares)
    hits = np.bincount(codes, weights=shares * right)
    return np.mean(hits[totals > 0] / totals[totals > 0])


def _neg_log_loss(answers: Array, y: Array, weights: SampleWeights, classes: Array) -> Any:
    floats = answers.astype(float)
    eps = np.finfo(float).eps
    of_truth = floats[np.arange(len(y)), _class_codes(y, classes)]
    return np.average(np.log(np.clip(of_truth, eps, 1 - eps)), weights=weights)


def _neg_brier_score(answers: Array, y: Array, weights: SampleWeights, classes: Array) -> Any:
    off = answers.astype(float)
    off[np.arange(len(y)), _class_codes(y, classes)] -= 1
    share = 0.5 if len(classes) < 3 else 1.0
    return -share * np.average((off**2).sum(axis=1), weights=weights)


def _neg_squared_error(answers: Array, y: Array, weights: SampleWeights, classes: Array) -> Any:
    return -np.average((answers - y) ** 2, weights=weights)


def _neg_root_squared_error(
    answers: Array, y: Array, weights: SampleWeights, classes: Array
) -> Any:
    return -np.sqrt(-_neg_squared_error(answers, y, weights, classes))


def _neg_absolute_error(answers: Array, y: Array, weights: SampleWeights, classes: Array) -> Any:
    return -np.average(np.abs(answers - y), weights=weights)


def _r2_score(answers: Array, y: Array, weights: SampleWeights, classes: Array) -> Any:
    # One sample counts as a target that is constant, for which scikit-learn has 1 or 0.
    apart = _neg_squared_error(np.average(y, weights=weights), y, weights, classes)
    off = _neg_squared_error(answers, y, weights, classes)
    if apart == 0:
        return 1.0 if off == 0 else 0.0
    return 1 - off / apart


FAST_SCORES = {
    "accuracy": FastScore("labels", _accuracy),
    "balanced_accuracy": FastScore("labels", _balanced_accuracy),
    "neg_log_loss": FastScore("probabilities", _neg_log_loss),
    "neg_brier_score": FastScore("probabilities", _neg_brier_score),
    "neg_mean_squared_error": FastScore("numbers", _neg_squared_error),
    "neg_root_mean_squared_error": FastScore("numbers", _neg_root_squared_error),
    "neg_mean_absolute_error": FastScore("numbers", _neg_absolute_error),
    "r2": FastScore("numbers", _r2_score),
}
