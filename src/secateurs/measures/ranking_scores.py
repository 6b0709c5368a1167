"""Scores of rankings: areas under ROC curves and average precision, as scikit-learn defines them.

All of them are functions of the pairs of samples that are ranked in the right order, by class, and
of the average precision for each class. Compiled code counts both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.outputs import ranking_kernels
from secateurs.typing import Array, FloatArray, IndexArray

RANKING_SCORES = (
    *("roc_auc", "roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "roc_auc_ovo_weighted"),
    "average_precision",
)


def is_ranking_score(
    name: str, classes: Array, codes: IndexArray, weights: FloatArray | None
) -> bool:
    """Return whether a score can be computed here; if not, scikit-learn explains the reason."""
    if name not in RANKING_SCORES or len(classes) < 2:
        return False
    if not np.bincount(codes, weights=weights, minlength=len(classes)).all():
        return False
    if len(classes) > 2:
        return name != "roc_auc" and (weights is None or "ovo" not in name)
    # Without further parameters, scikit-learn's positive class is 1, not the second class.
    return name != "average_precision" or bool(classes[1] == 1)


class SampleKinds(NamedTuple):
    """The kinds of samples, by true class and weight: one per class, or with weights per sample."""

    kind_bits: int  # of the largest kind
    kinds: NDArray[np.int64]  # of each sample
    kind_labels: NDArray[np.int64]
    kind_weights: FloatArray

    @classmethod
    def from_samples(
        cls, codes: IndexArray, weights: FloatArray | None, n_classes: int
    ) -> SampleKinds:
        """Return the kinds of samples with these true classes and weights."""
        if weights is None:
            kinds, labels, kind_weights = codes, np.arange(n_classes), np.ones(n_classes)
        else:
            # A power of two keeps products of sums of weights finite, and their order.
            kind_weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
            kinds, labels = np.arange(len(codes)), codes
        bits = (len(labels) - 1).bit_length()
        return cls(bits, kinds.astype(np.int64), labels.astype(np.int64), kind_weights)

    @property
    def class_weights(self) -> FloatArray:
        """Sum of the weights of each class."""
        weights = self.kind_weights[self.kinds]
        return np.bincount(self.kind_labels[self.kinds], weights=weights).astype(float)


def ranking_values(
    name: str, won: FloatArray, precisions: FloatArray, class_weights: FloatArray
) -> FloatArray:
    """Return scores from the weights of rightly ranked pairs, and average precisions, by class.

    The first axes of ``won`` (…, classes, classes) and ``precisions`` (…, classes) are those of
    the result; see `ranking_kernels.mean_rankings`.
    """
    n_classes = len(class_weights)
    if name == "average_precision":
        return precisions[..., 1] if n_classes == 2 else precisions.mean(axis=-1)
    if n_classes == 2:
        return won[..., 1, 0] / class_weights.prod()
    if "ovr" in name:
        others = class_weights.sum() - class_weights
        among_others = won.sum(axis=-1) - won.diagonal(axis1=-2, axis2=-1)
        areas = among_others / (class_weights * others)
        return np.average(areas, axis=-1, weights=class_weights if "weighted" in name else None)
    areas = won / np.multiply.outer(class_weights, class_weights)
    first, second = np.triu_indices(n_classes, 1)
    of_pairs = (areas[..., first, second] + areas[..., second, first]) / 2
    prevalence = class_weights[first] + class_weights[second]
    return np.average(of_pairs, axis=-1, weights=prevalence if "weighted" in name else None)


def ranking_score(
    name: str, probabilities: FloatArray, codes: IndexArray, weights: FloatArray | None
) -> float:
    """Return the score of probabilities (samples, classes) for the true classes' codes."""
    n_classes = probabilities.shape[1]
    samples = SampleKinds.from_samples(codes, weights, n_classes)
    won, precisions = np.zeros((n_classes, n_classes)), np.zeros(n_classes)
    for label in range(1 if n_classes == 2 else 0, n_classes):
        values = probabilities[:, label]
        order = np.argsort(values, kind="stable")
        steps = np.diff(values[order], prepend=values[order[:1]]) > 0
        ranks = np.cumsum(steps, dtype=np.intp)
        keys = (ranks << samples.kind_bits) | samples.kinds[order]
        if weights is None:
            precisions[label] = _compare_unweighted(codes[order], ranks, label, won[label])
        else:
            precisions[label] = ranking_kernels.compare_classes(
                *(keys, samples.kind_bits, samples.kind_labels, samples.kind_weights),
                *(label, won[label]),
            )
    return float(ranking_values(name, won, precisions, samples.class_weights))


def _compare_unweighted(codes: IndexArray, ranks: IndexArray, label: int, won: FloatArray) -> float:
    """Do the same as `ranking_kernels.compare_classes` for samples without weights, with NumPy.

    ``codes`` are the true classes in the order of ``ranks``. All counts are exact.
    """
    is_label = codes == label
    tied = np.bincount(ranks, weights=is_label)[::-1]  # samples of the class, by descending rank
    above = np.cumsum(tied)
    totals = np.cumsum(np.bincount(ranks)[::-1])
    n_won = (above - 0.5 * tied)[::-1][ranks]
    won += np.bincount(codes, weights=n_won, minlength=len(won))
    # A running sum, because `np.sum` adds in another order, which rounds differently.
    return float(np.cumsum(tied * above / totals)[-1] / above[-1]) if above[-1] > 0 else 0.0
