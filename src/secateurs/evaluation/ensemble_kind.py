"""The kind of an ensemble: alike or mixed members, weighted votes, regressors, or a library."""

from __future__ import annotations

import numpy as np

from secateurs.ensembles import ModelCollection, Voting
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem

_MIXED_SPREAD = 0.1  # spread of error rates from which members count as mixed, not alike


def is_library(problem: Problem) -> bool:
    """Return whether members are different models, some much better than others.

    Members of forests, bagging and boosting were trained in the same way. Of other ensembles, only
    the spread of the members' errors is known.
    """
    is_collection = isinstance(problem.ensemble, (Voting, ModelCollection, PredictionTable))
    return is_collection and member_similarity(problem)["spread"] >= _MIXED_SPREAD


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
