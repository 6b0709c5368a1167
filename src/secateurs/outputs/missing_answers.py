"""What missing predictions mean: rules that methods, measures and scores share.

With the rule "ignore", for out-of-bag votes, missing predictions are left out: two members are
compared on the samples that both predict. With the rule "wrong", for tables of predictions, a
missing prediction is an abstention, and never correct:

* A member's missing label is a label of its own, which is not the true one; so it is for
  probabilities. A missing regression value is the mean of y.
* The vote or mean of a set is that of its members with a prediction. A sample without any is
  wrong in scores of labels. In other scores its prediction is the frequencies of the classes, or
  the mean of y.
* The first selected member has at least half as many predictions as any other member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateurs.exceptions import InputError
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, MissingRule

if TYPE_CHECKING:
    from secateurs.outputs.predictions import Predictions
    from secateurs.outputs.votes import Votes

_LEAST_SHARE = 2  # the first member has at least 1/2 of the largest number of predictions


def check_missing_rule(missing: object) -> MissingRule:
    """Return the parameter ``missing`` if it is valid."""
    if missing == "wrong":
        return "wrong"
    if missing == "ignore":
        return "ignore"
    raise InputError(
        '{missing} is not valid. Pass "wrong", so that a missing prediction is not a correct one, '
        'or "ignore".',
        missing=missing,
    )


def counts_as_wrong(outputs: Any) -> bool:
    """Return whether predictions are missing, and count as wrong."""
    return outputs.has_missing and outputs.missing_rule == "wrong"


def first_members(outputs: Any) -> BoolArray:
    """Return the mask of the members that may be selected first; all with the rule "ignore"."""
    if not counts_as_wrong(outputs):
        return np.ones(outputs.n_members, dtype=bool)
    n_answered = outputs.n_answered
    return _LEAST_SHARE * n_answered >= n_answered.max()


def with_valid_first(order: list[int], outputs: Any) -> list[int]:
    """Return members with the first one that may be selected first moved to the front."""
    if not counts_as_wrong(outputs):
        return order
    is_valid = first_members(outputs)
    front = next((member for member in order if is_valid[member]), order[0])
    return [front, *(member for member in order if member != front)]


def wrong_codes(truth: Array, n_classes: int) -> IndexArray:
    """Return for each sample the code of the most frequent class other than its true class.

    Ties go to the class that occurs first in y, so that names and order of classes do not matter.
    """
    codes, first, counts = np.unique(truth, return_index=True, return_counts=True)
    by_frequency = codes[np.lexsort((first, -counts))].tolist()
    others = [code for code in range(n_classes) if code not in by_frequency[:2]]
    ranked = [*by_frequency, *others, by_frequency[0]]
    return np.where(truth == ranked[0], ranked[1], ranked[0])


def fill_unanswered(
    predicted: Array, is_answered: BoolArray, outputs: Votes | Predictions
) -> Array:
    """Return the predictions of a set for scores, filled in where no member has a prediction.

    Labels are then wrong. If missing predictions are wrong, probabilities are the class
    frequencies, and values the mean of y; else they remain as they are.
    """
    if is_answered.all():
        return predicted
    filled, is_open = np.array(predicted), ~is_answered
    if predicted.ndim == 1 and outputs.n_classes:
        codes = wrong_codes(outputs.truth, outputs.n_classes)
        filled[is_open] = outputs.classes[codes[is_open]]
    elif counts_as_wrong(outputs):
        filled[is_open] = outputs.fallback_prediction  # type: ignore[union-attr]
    return filled


def most_frequent_class(outputs: Any) -> Any:
    """Return the most frequent true label; without true labels, the most frequent vote."""
    if outputs.y is not None:
        counts = np.bincount(outputs.y, minlength=len(outputs.classes))
    else:
        loaded = outputs.load() if hasattr(outputs, "load") else outputs  # from a store
        votes = loaded if hasattr(loaded, "packed") else loaded.votes
        counts = votes.packed.code_counts[:, : votes.n_classes].sum(axis=0)
    return outputs.classes[int(np.argmax(counts))]


def fallback_prediction(
    truth: Array, n_classes: int, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Return the class frequencies, or the mean of y without classes, as an array."""
    if n_classes == 0:
        return np.array([np.average(truth, weights=sample_weight)])
    counts = np.bincount(truth, sample_weight, minlength=n_classes)
    return counts / counts.sum()
