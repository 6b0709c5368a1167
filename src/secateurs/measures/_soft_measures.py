"""Measures of the members' outputs before they become labels: probabilities or numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.measures.pair_measure import Floats


class AmbiguityDecomposition(NamedTuple):
    """Squared error of the average output: ensemble_error = member_error − ambiguity."""

    ensemble_error: float
    member_error: float
    ambiguity: float


def krogh_vedelsby(outputs: ArrayLike, targets: ArrayLike) -> AmbiguityDecomposition:
    """Split the squared error of the average output into error and ambiguity [1]_.

    Parameters
    ----------
    outputs : array-like of shape (n_samples, n_members) or (n_samples, n_members, n_outputs)
        Outputs of the members: numbers, or for instance probabilities of classes.
    targets : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The outputs they should have.

    Returns
    -------
    AmbiguityDecomposition
        Errors of the average and of the members, and the ambiguity, their difference.

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
    wanted = np.asarray(targets, dtype=float).reshape(len(values), 1, -1)
    if wanted.shape[2] != values.shape[2]:
        raise InputError(
            f"outputs has {values.shape[2]} number(s) per sample and member but targets "
            f"has {wanted.shape[2]} per sample. Give as many targets as outputs."
        )
    average = values.mean(axis=1, keepdims=True)
    return AmbiguityDecomposition(
        _mean_square(average - wanted),
        _mean_square(values - wanted),
        _mean_square(values - average),
    )


def correlation_penalty(outputs: ArrayLike) -> Floats:
    """Compute the penalty of negative correlation learning for each member [1]_.

    The mean over samples of ⟨fₜ − f̄, Σ_{s≠t} (fₛ − f̄)⟩, which is minus the member's squared
    distance from the average output: less is more diverse.

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
    apart = values - values.mean(axis=1, keepdims=True)
    others = apart.sum(axis=1, keepdims=True) - apart
    return (apart * others).sum(axis=2).mean(axis=0)


def loss_correlation(probabilities: ArrayLike, y: ArrayLike) -> float:
    """Compute the mean absolute correlation, over pairs, of the losses 1 − p(true class) [1]_.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_members, n_classes)
        Probability that each member gives to each class.
    y : array-like of int of shape (n_samples,)
        The true class, as its position along the last axis.

    Returns
    -------
    float
        From 0 to 1; less is more diverse. A member of constant loss correlates with no other;
        one member alone gives 1.

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
    truth = np.asarray(y, dtype=np.intp)
    losses = 1 - values[np.arange(len(values)), :, truth]
    n_members = losses.shape[1]
    if n_members == 1:
        return 1.0
    apart = losses - losses.mean(axis=0)
    lengths = np.sqrt((apart**2).sum(axis=0))
    constant = lengths <= 1e-12 * np.sqrt(len(losses))
    scaled = np.where(constant, 0.0, apart / np.where(constant, 1.0, lengths))
    pairs = np.abs(scaled.T @ scaled)[np.triu_indices(n_members, k=1)]
    return float(np.minimum(pairs, 1.0).mean())


def _as_output_array(outputs: ArrayLike) -> Floats:
    values = np.asarray(outputs, dtype=float)
    if values.ndim not in (2, 3) or values.size == 0:
        raise InputError(
            f"outputs has shape {values.shape}; it must be (samples, members) or "
            "(samples, members, outputs), and not empty."
        )
    return values if values.ndim == 3 else values[:, :, None]


def _mean_square(differences: Floats) -> float:
    return float((differences**2).sum(axis=2).mean())
