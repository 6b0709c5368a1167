"""Weights for members that any method has chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from secateurs.ensembles import CORRECTS
from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.objectives import MeanScore
from secateurs.outputs.predictions import Predictions, predictions_from_votes
from secateurs.outputs.votes import Votes
from secateurs.search import best_prefix, greedy_repeated
from secateurs.typing import MemberIndices

_STEPS = 4  # per member: how often one may be added again


def fit_member_weights(
    outputs: Votes | Predictions,
    members: MemberIndices,
    scoring: Scoring,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return weights of some members, with a sum of 1, with which their mean scores well.

    Each member counts once. Then the one that helps the most is added again, as in ensemble
    selection, and the best step is kept. So none is lost, and few rows move the weights little. In
    place of accuracy, which small changes of weights hardly move, the Brier score is followed.

    Parameters
    ----------
    outputs : Votes or Predictions
        What all members predict, with the true labels or numbers.
    members : sequence of int
        Those to weigh.
    scoring : Scoring
        The score to follow.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the samples in the score.

    Returns
    -------
    ndarray of shape (n_kept,)
        In the order of ``members``.

    Examples
    --------
    >>> from secateurs import Predictions
    >>> from secateurs.measures.scoring import Scoring
    >>> from secateurs.pruners.member_weights import fit_member_weights
    >>> scores = Predictions.encode([[1.0, 3.0, 9.0], [2.0, 4.0, 9.0]], [1.5, 2.5])
    >>> fit_member_weights(scores, [1, 0], Scoring.from_scorer("r2"))
    array([0.25, 0.75])
    """
    n_kept, kept = len(members), outputs.take(members)
    scoring = Scoring.from_scorer(scoring.given_scorer, kept.classes)
    if scoring.name == "accuracy":
        scoring = Scoring.from_scorer("neg_brier_score", kept.classes)
        kept = predictions_from_votes(kept) if isinstance(kept, Votes) else kept
    objective = MeanScore.for_predictions(kept, scoring, sample_weight)
    n_steps = (1 + _STEPS) * n_kept
    steps, values = greedy_repeated(objective, n_steps, n_kept, start=range(n_kept))
    n_steps = n_kept - 1 + best_prefix(values[n_kept - 1 :])
    return np.bincount(steps[:n_steps], minlength=n_kept) / n_steps


def check_weights_option(weights: bool | None, refit: bool, staged: bool) -> bool | None:
    """Return whether kept members get weights, checked."""
    if weights not in (True, False, None):
        raise InputError("{weights} is not valid. Give True, False or None.", weights=weights)
    if weights and refit:
        raise InputError(
            "{weights} and {refit} exclude each other: the values in the leaves that are fitted "
            "count as weights would. Leave out one of them.",
            weights=True,
            refit=True,
        )
    if weights and staged:
        raise InputError(
            f"{{weights}} is not for the rounds of a boosted model: {CORRECTS}. Leave it out.",
            weights=True,
        )
    return False if refit else weights
