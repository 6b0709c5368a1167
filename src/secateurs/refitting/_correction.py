"""Correct the leaf values of trees by honest residuals, with a leave-one-out stop.

A residual of a sample is honest in a tree that was not trained on the sample. A step adds to each
leaf the shrunken mean of the honest residuals of its samples. For each sample, the same step is
also taken without the sample itself; the mean of these leave-one-out values over the honest trees
is a prediction that has not seen the sample's label. Steps end when its loss does not fall.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from secateurs.refitting.refit_kernels import correction_step
from secateurs.typing import BoolArray, FloatArray, IndexArray

# Steps must reduce the loss by more than this share of the squared target to count as progress.
_LEAST_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class LabelledLeaves:
    """The leaves that labelled samples reach in the trees of an ensemble."""

    leaves: NDArray[np.int32]  # (n_trees, n_samples), as nodes of each tree
    honest: BoolArray  # (n_trees, n_samples): whether the tree was not trained on the sample
    targets: FloatArray  # one-hot labels or values: (n_samples, n_outputs)
    sample_weight: FloatArray  # (n_samples,), with a mean of 1
    tree_weights: FloatArray  # (n_trees,), weights of the trees in the average

    def on_samples(self, samples: IndexArray | BoolArray) -> LabelledLeaves:
        """Return the leaves of some of the samples."""
        return replace(
            self,
            leaves=np.ascontiguousarray(self.leaves[:, samples]),
            honest=np.ascontiguousarray(self.honest[:, samples]),
            targets=self.targets[samples],
            sample_weight=self.sample_weight[samples],
        )


@dataclass(frozen=True, eq=False)
class Correction:
    """Corrected leaf values, and the leave-one-out loss after each step."""

    values: list[FloatArray]  # for each tree, (n_nodes, n_outputs)
    losses: list[float]  # the first is the loss before any step
    predictions: FloatArray  # leave-one-out predictions: (n_samples, n_outputs)

    @property
    def n_steps(self) -> int:
        """Number of steps that were taken."""
        return len(self.losses) - 1


def correct_leaves(
    values: list[FloatArray], samples: LabelledLeaves, shrinkage: float = 1.0, max_steps: int = 8
) -> Correction:
    """Return leaf values corrected by honest residuals; with zero steps, the values themselves.

    ``shrinkage`` is the number of samples with a residual of zero that each leaf is given. The loss
    is the weighted mean of the squared residual, summed over the outputs: the Brier score of
    probabilities or the squared error.
    """
    flat, offsets = _flat_values(values)
    predictions, scale, counts = _honest_mean(flat, offsets, samples)
    tree_arrays = (samples.leaves, samples.honest, offsets)
    known = scale[:, 0] > 0
    losses = [_loss(predictions, samples, known)]
    least_gain = _LEAST_GAIN * float(np.mean(np.square(samples.targets).sum(axis=1)))
    for _ in range(max_steps):
        residuals = np.where(known[:, None], samples.targets - predictions, 0.0)
        sums, changes = np.zeros_like(flat), np.zeros_like(predictions)
        correction_step(
            *tree_arrays,
            *(residuals, samples.sample_weight, samples.tree_weights),
            *(counts, shrinkage, sums, changes),
        )
        stepped = predictions + scale * changes
        loss = _loss(stepped, samples, known)
        if not loss < losses[-1] - least_gain:
            break
        losses.append(loss)
        predictions = stepped
        flat = flat + sums / (counts + shrinkage)[:, None]
    return Correction(np.split(flat, offsets[1:-1]), losses, predictions)


def honest_predictions(
    values: list[FloatArray], samples: LabelledLeaves
) -> tuple[FloatArray, BoolArray]:
    """Return the mean of the honest trees for each sample, and which samples have such trees."""
    predictions, scale, _ = _honest_mean(*_flat_values(values), samples)
    return predictions, scale[:, 0] > 0


def _flat_values(values: list[FloatArray]) -> tuple[FloatArray, IndexArray]:
    """Return the values of all trees in one array, and where each tree starts and the last ends."""
    return np.concatenate(values), np.concatenate([[0], np.cumsum([len(tree) for tree in values])])


def _honest_mean(
    flat: FloatArray, offsets: IndexArray, samples: LabelledLeaves
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return honest predictions, their scale, and the weight of honest samples in each leaf.

    The scale is 1 / the weight of the honest trees of each sample; 0 if there are none.
    """
    counts = np.zeros(len(flat))
    honest_weight = np.zeros(len(samples.targets))
    predictions = np.zeros_like(samples.targets)
    for tree, is_honest in enumerate(samples.honest):
        nodes = offsets[tree] + samples.leaves[tree, is_honest]
        np.add.at(counts, nodes, samples.sample_weight[is_honest])
        honest_weight[is_honest] += samples.tree_weights[tree]
        predictions[is_honest] += samples.tree_weights[tree] * flat[nodes]
    known = honest_weight > 0
    scale = np.where(known, 1 / np.where(known, honest_weight, 1.0), 0.0)[:, None]
    return predictions * scale, scale, counts


def _loss(predictions: FloatArray, samples: LabelledLeaves, known: BoolArray) -> float:
    errors = np.square(samples.targets - predictions).sum(axis=1)[known]
    weights = samples.sample_weight[known]
    total = float(weights.sum())
    return float(weights @ errors) / total if total > 0 else 0.0
