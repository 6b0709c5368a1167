"""How much the ranking of samples changes if members are left out, for a rare class.

The variance of probabilities is mostly that of samples with a high probability. If a class is rare,
the ranking of the others can change much while the variance hardly does, and with it the AUC.
"""

from __future__ import annotations

import numpy as np

from secateurs.outputs.predictions import Predictions
from secateurs.typing import FloatArray

# If one of two classes has at most this share of the samples, rules for the ranking apply.
RARE_SHARE = 0.15
_N_SPLITS = 8  # into two random halves; the mean loss of sixteen halves varies by about a tenth


def has_rare_class(predictions: Predictions, sample_weight: FloatArray | None = None) -> bool:
    """Return whether one of two classes has at most `RARE_SHARE` of the samples."""
    if predictions.n_classes != 2:
        return False
    counts = np.bincount(predictions.truth, sample_weight, 2)
    return bool(counts.min() <= RARE_SHARE * counts.sum())


def expected_auc(
    scores: FloatArray, probabilities: FloatArray, sample_weight: FloatArray | None = None
) -> float:
    """Return the AUC of scores if each sample is positive with its probability.

    Equal scores count one half. It is 1 if there are no pairs of a positive and a negative sample.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.evaluation.ranking_spread import expected_auc
    >>> expected_auc(np.array([0.1, 0.4, 0.8]), np.array([0.0, 1.0, 1.0]))
    1.0
    """
    weight = np.ones(len(scores)) if sample_weight is None else sample_weight
    values, group = np.unique(scores, return_inverse=True)
    positive = np.bincount(group, weight * probabilities, len(values))
    negative = np.bincount(group, weight * (1 - probabilities), len(values))
    pairs = positive.sum() * negative.sum()
    if pairs <= 0:
        return 1.0
    return float(positive @ (np.cumsum(negative) - negative / 2) / pairs)


def ranking_spread(
    predictions: Predictions,
    weights: FloatArray | None = None,
    sample_weight: FloatArray | None = None,
) -> float:
    """Return s, if the mean of k of n members drawn at random loses about s·(1/k − 1/n) of AUC.

    There are two classes. The labels are drawn from the probabilities of the full ensemble, and the
    loss is measured for random halves. It is in proportion to the squared change of probabilities,
    which is in proportion to 1/k − 1/n.
    """
    n_members = predictions.n_members
    if n_members < 2:
        return 0.0
    full = predictions.average(weights=weights)[:, 1]
    best = expected_auc(full, full, sample_weight)
    rng = np.random.RandomState(0)  # the rule does not depend on the random state of a method
    ratios = []
    for _ in range(_N_SPLITS):
        for half in np.array_split(rng.permutation(n_members), 2):
            own = None if weights is None else weights[half]
            changed = predictions.average(half.tolist(), own)[:, 1]
            loss = best - expected_auc(changed, full, sample_weight)
            ratios.append(loss / (1 / len(half) - 1 / n_members))
    return max(0.0, float(np.mean(ratios)))
