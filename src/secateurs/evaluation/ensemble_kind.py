"""The kind of an ensemble: alike or mixed members, weighted votes, regressors, or a library."""

from __future__ import annotations

import numpy as np

from secateurs.ensembles import ModelCollection, Voting
from secateurs.measures.group_predictions import member_prediction
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem

_MIXED_SPREAD = 0.1  # spread of error rates from which members count as mixed, not alike
# Of squared errors of probabilities, which also differ between trees of one forest if a class is
# rare: it was at most 0.15 for nearly all forests and at least 0.17 for libraries.
_MIXED_LOSS_SPREAD = 0.15


def is_library(problem: Problem) -> bool:
    """Return whether members are different models, some much better than others.

    Members of forests, bagging and boosting were trained in the same way. Of other ensembles, only
    the spread of the members' errors is known. If there are probabilities, it is that of squared
    errors: members may be equally often right, and some of them certain where they are wrong.
    """
    if not isinstance(problem.ensemble, (Voting, ModelCollection, PredictionTable)):
        return False
    if problem.is_soft and problem.has_soft_predictions:
        return loss_spread(problem.soft_predictions) >= _MIXED_LOSS_SPREAD
    return member_similarity(problem)["spread"] >= _MIXED_SPREAD


def loss_spread(predictions: Predictions) -> float:
    """Return the standard deviation of members' squared errors, as a share of their mean.

    What chance explains is left out: members whose errors have the same distribution differ on
    each sample, and the variance of their mean errors is that of a sample by the number of samples.
    """
    targets = np.eye(predictions.n_classes)[predictions.truth]
    n_samples = predictions.n_samples
    total, squares, count = np.zeros(n_samples), np.zeros(n_samples), np.zeros(n_samples)
    means, n_predicted = [], []
    for member in range(predictions.n_members):
        values, is_present = member_prediction(predictions, member)
        errors = is_present * np.square(values - targets).sum(axis=1)
        total, squares, count = total + errors, squares + errors**2, count + is_present
        n_predicted.append(max(1, int(is_present.sum())))
        means.append(errors.sum() / n_predicted[-1])
    present = np.maximum(1, count)
    within = np.maximum(0.0, squares / present - (total / present) ** 2)
    by_chance = float(np.average(within, weights=present)) * float(
        np.mean(1 / np.array(n_predicted))
    )
    beyond = float(np.sqrt(max(0.0, float(np.var(means)) - by_chance)))
    return beyond / max(float(np.mean(means)), 1e-300)


def ensemble_kind(problem: Problem) -> str:
    """Return the kind of an ensemble, determined by its members' validation errors."""
    has_weights = problem.ensemble.weights is not None and not problem.ensemble.is_soft
    spread = member_similarity(problem)["spread"]
    return kind_from_spread(spread, problem.is_regression, has_weights)


def kind_from_spread(spread: float, is_regression: bool, has_weights: bool) -> str:
    """Return the kind of an ensemble: members whose error rates hardly differ are alike.

    Examples
    --------
    >>> from secateurs.evaluation.ensemble_kind import kind_from_spread
    >>> kind_from_spread(0.02, is_regression=False, has_weights=False)
    'alike'
    >>> kind_from_spread(0.5, is_regression=False, has_weights=False)
    'mixed'
    """
    if is_regression:
        return "numbers"
    if has_weights:
        return "weighted"
    return "alike" if spread < _MIXED_SPREAD else "mixed"


def member_similarity(problem: Problem) -> dict[str, float]:
    """Return how much the members' errors differ on the validation samples.

    ``spread`` is the standard deviation of the error rates beyond what chance explains. ``gap`` is
    the lead of the best member. Both are shares of the mean error rate, or of the mean squared
    error in regression.
    """
    votes = problem.predictions
    if not isinstance(votes, Votes):
        errors = votes.squared_errors
        mean = max(float(errors.mean()), 1e-300)
        # Scaled by a power of two, squares of squared errors do not overflow.
        scale = -int(np.frexp(mean)[1])
        spread = float(np.ldexp(errors, scale).std()) / float(np.ldexp(mean, scale))
        return {"spread": spread, "gap": 1 - float(errors.min()) / mean}
    n_voted = np.maximum(1, votes.n_voted)
    wrong = 1 - votes.n_right / n_voted
    mean = max(float(wrong.mean()), 1e-9)
    by_chance = float(np.mean(wrong * (1 - wrong) / n_voted))
    beyond = float(np.sqrt(max(0.0, float(wrong.var()) - by_chance)))
    return {"spread": beyond / mean, "gap": 1 - float(wrong.min()) / mean}
