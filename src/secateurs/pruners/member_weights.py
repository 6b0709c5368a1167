"""Weights of selected members, for any method."""

from __future__ import annotations

import numpy as np

from secateurs.ensembles import CORRECTS
from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.objectives import MeanScore
from secateurs.outputs.predictions import Predictions, predictions_from_votes
from secateurs.outputs.votes import Votes
from secateurs.search import best_prefix, greedy_repeated
from secateurs.typing import FloatArray, MemberIndices

_STEPS = 4  # additions per member: more would allow finer weights, but take longer to search


def fit_member_weights(
    outputs: Votes | Predictions,
    members: MemberIndices,
    scoring: Scoring,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return weights of the given members, with a sum of 1, for which their mean scores best.

    Each member counts once. Then the member that improves the score the most is added again, as in
    ensemble selection, up to the step with the best score. No member is lost, and a small
    validation set changes the weights only a little.
    """
    n_kept, kept = len(members), outputs.take(members)
    scoring = Scoring.from_scorer(scoring.given_scorer, kept.classes)
    if scoring.name == "accuracy":  # small changes of the weights hardly affect accuracy
        scoring = Scoring.from_scorer("neg_brier_score", kept.classes)
        kept = predictions_from_votes(kept) if isinstance(kept, Votes) else kept
    objective = MeanScore.for_predictions(kept, scoring, sample_weight)
    n_steps = (1 + _STEPS) * n_kept
    steps, values = greedy_repeated(objective, n_steps, n_kept, start=range(n_kept))
    n_steps = n_kept - 1 + best_prefix(values[n_kept - 1 :])
    return np.bincount(steps[:n_steps], minlength=n_kept) / n_steps


def check_weights_option(weights: bool | None, refit: bool, is_sequential: bool) -> bool | None:
    """Return the option ``weights`` if it is valid together with the other options."""
    if weights not in (True, False, None):
        raise InputError("{weights} is not valid. Pass True, False or None.", weights=weights)
    if weights and refit:
        raise InputError(
            "{weights} and {refit} exclude each other: the refitted values of the leaves take the "
            "place of weights. Leave out one of the two.",
            weights=True,
            refit=True,
        )
    if weights and is_sequential:
        raise InputError(
            f"{{weights}} does not apply to the rounds of a boosted model: {CORRECTS}. Leave it "
            "out.",
            weights=True,
        )
    return False if refit else weights
