"""Diversity measures of probabilities or values that members predict, before any labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.measures.pair_measure import Floats


class AmbiguityDecomposition(NamedTuple):
    """Squared error of the average prediction: ensemble_error = member_error − ambiguity."""

    ensemble_error: float
    member_error: float
    ambiguity: float


def krogh_vedelsby(outputs: ArrayLike, targets: ArrayLike) -> AmbiguityDecomposition:
    """Split the squared error of the average prediction into mean error and ambiguity [1]_.

    Parameters
    ----------
    outputs : array-like of shape (n_samples, n_members) or (n_samples, n_members, n_outputs)
        Predictions of the members: values, or for instance probabilities of classes.
    targets : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The true outputs.

    Returns
    -------
    AmbiguityDecomposition
        Error of the average, mean error of the members, and their difference, the ambiguity.

    References
    ----------
    .. [1] Krogh and Vedelsby. "Neural network ensembles, cross validation, and active learning".
       NIPS 1995.

    Examples
    --------
    >>> from secateurs.measures import krogh_vedelsby
    >>> krogh_vedelsby([[0.0, 1.0]], [1.0])
    AmbiguityDecomposition(ensemble_error=0.25, member_error=0.5, ambiguity=0.25)
    """
    values = _as_output_array(outputs)
    true_values = np.asarray(targets, dtype=float).reshape(len(values), 1, -1)
    if true_values.shape[2] != values.shape[2]:
        raise InputError(
            f"outputs has {values.shape[2]} value(s) per sample and member, but targets has "
            f"{true_values.shape[2]} per sample. Pass as many targets as outputs."
        )
    average = values.mean(axis=1, keepdims=True)
    return AmbiguityDecomposition(
        _mean_square(average - true_values),
        _mean_square(values - true_values),
        _mean_square(values - average),
    )


def correlation_penalty(outputs: ArrayLike) -> Floats:
    """Compute the penalty of negative correlation learning for each member [1]_.

    The penalty is the mean over samples of ⟨fₜ − f̄, Σ_{s≠t} (fₛ − f̄)⟩, which is minus the squared
    distance of the member from the average prediction. Smaller values mean more diversity.

    References
    ----------
    .. [1] Liu and Yao. "Ensemble learning via negative correlation". Neural Networks 1999.

    Examples
    --------
    >>> from secateurs.measures import correlation_penalty
    >>> correlation_penalty([[0.0, 1.0], [0.0, 0.0]])
    array([-0.125, -0.125])
    """
    values = _as_output_array(outputs)
    deviations = values - values.mean(axis=1, keepdims=True)
    sums_of_others = deviations.sum(axis=1, keepdims=True) - deviations
    return (deviations * sums_of_others).sum(axis=2).mean(axis=0)


def loss_correlation(probabilities: ArrayLike, y: ArrayLike) -> float:
    """Compute the mean absolute correlation, over pairs, of the losses 1 − p(true class) [1]_.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_members, n_classes)
        Probability that each member predicts for each class.
    y : array-like of int of shape (n_samples,)
        Index of the true class along the last axis.

    Returns
    -------
    float
        Between 0 and 1; smaller values mean more diversity. A member with constant loss has
        correlation 0 with every other member. The result for a single member is 1.

    References
    ----------
    .. [1] Purucker et al. "Q(D)O-ES: population-based quality (diversity) optimisation for post
       hoc ensemble selection in AutoML". AutoML 2023.

    Examples
    --------
    >>> from secateurs.measures import loss_correlation
    >>> probabilities = [[[0.2, 0.8], [0.6, 0.4]], [[0.9, 0.1], [0.3, 0.7]]]
    >>> round(loss_correlation(probabilities, [1, 0]), 12)
    1.0
    """
    values = _as_output_array(probabilities)
    true_codes = np.asarray(y, dtype=np.intp)
    losses = 1 - values[np.arange(len(values)), :, true_codes]
    n_members = losses.shape[1]
    if n_members == 1:
        return 1.0
    deviations = losses - losses.mean(axis=0)
    lengths = np.sqrt((deviations**2).sum(axis=0))
    # Rounding leaves tiny deviations where a loss is constant. Losses are at most 1.
    is_constant = lengths <= 1e-12 * np.sqrt(len(losses))
    scaled = np.where(is_constant, 0.0, deviations / np.where(is_constant, 1.0, lengths))
    pairs = np.abs(scaled.T @ scaled)[np.triu_indices(n_members, k=1)]
    return float(np.minimum(pairs, 1.0).mean())


def _as_output_array(outputs: ArrayLike) -> Floats:
    values = np.asarray(outputs, dtype=float)
    if values.ndim not in (2, 3) or values.size == 0:
        raise InputError(
            f"outputs has shape {values.shape}. Pass a non-empty array of shape (samples, members) "
            "or (samples, members, outputs)."
        )
    return values if values.ndim == 3 else values[:, :, None]


def _mean_square(differences: Floats) -> float:
    """Return the mean squared length of vectors of differences of probabilities."""
    return float((differences**2).sum(axis=2).mean())
