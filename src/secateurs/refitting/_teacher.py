"""The label-corrected full ensemble, which the kept trees imitate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, compute_sample_weight
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble
from secateurs.labels import one_hot
from secateurs.outputs.tree_walk import TreeWalk, leaf_predictions
from secateurs.progress import current_stage
from secateurs.refitting._correction import Correction, LabelledLeaves, correct_leaves
from secateurs.typing import Array, BoolArray, FloatArray, Samples

_MOST_CELLS = 1 << 27  # trees × labelled samples: 640 MB of leaves and honesty
_BLOCK_TREES = 64  # trees walked at a time by several threads: bounds the leaves in memory


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Labelled samples of an ensemble: validation samples, or training samples out of bag."""

    X: Samples
    y: Array  # labels or target values
    oob: bool = False  # whether X contains the training samples, in their order
    sample_weight: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Teacher:
    """The full ensemble with corrected leaf values."""

    ensemble: Ensemble
    correction: Correction
    labelled: LabelledLeaves
    tree_values: list[FloatArray]  # values of all nodes before the correction

    def predict(
        self, walks: Sequence[TreeWalk], kept: Sequence[int], n_jobs: int | None
    ) -> tuple[FloatArray, FloatArray, NDArray[np.int32]]:
        """Return predictions after and before the correction, and the leaves in the kept trees."""
        n_samples = sum(walk.n_samples for walk in walks)
        corrected, original = np.zeros((2, n_samples, self.labelled.targets.shape[1]))
        leaves = np.empty((len(kept), n_samples), dtype=np.int32)
        rows = {member: row for row, member in enumerate(kept)}
        weights = self.labelled.tree_weights
        for member, tree_leaves in enumerate(all_leaves(self.ensemble, walks, n_jobs)):
            corrected += weights[member] * self.correction.values[member][tree_leaves]
            if self.correction.n_steps:
                original += weights[member] * self.tree_values[member][tree_leaves]
            if member in rows:
                leaves[rows[member]] = tree_leaves
            current_stage().step()
        corrected /= weights.sum()
        original = original / weights.sum() if self.correction.n_steps else corrected
        return corrected, original, leaves


def make_teacher(
    ensemble: Ensemble,
    samples: LabelledSamples,
    rng: np.random.RandomState,
    shrinkage: float,
    max_steps: int,
    n_jobs: int | None = None,
) -> Teacher:
    """Return the full ensemble, corrected by its honest residuals on labelled samples."""
    values = [node_values(ensemble, member) for member in range(ensemble.n_members)]
    labelled = _labelled_leaves(ensemble, samples, rng, n_jobs)
    return Teacher(
        ensemble, correct_leaves(values, labelled, shrinkage, max_steps), labelled, values
    )


def all_leaves(
    ensemble: Ensemble, walks: Sequence[TreeWalk], n_jobs: int | None
) -> Iterator[NDArray[np.int32]]:
    """Yield the leaves of all samples in each tree, in the order of the trees."""

    def tree_leaves(member: int) -> NDArray[np.int32]:
        return np.concatenate([walk.leaf_indices(member) for walk in walks]).astype(np.int32)

    for first in range(0, ensemble.n_members, _BLOCK_TREES):
        members = range(first, min(first + _BLOCK_TREES, ensemble.n_members))
        yield from Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
            delayed(tree_leaves)(member) for member in members
        )


def _labelled_leaves(
    ensemble: Ensemble,
    samples: LabelledSamples,
    rng: np.random.RandomState,
    n_jobs: int | None,
) -> LabelledLeaves:
    """Return the leaves of the samples whose labels the ensemble knows."""
    n_samples, y = _num_samples(samples.X), samples.y
    known = np.arange(n_samples) if ensemble.is_regression else known_labels(y, ensemble.classes)
    most = max(1, _MOST_CELLS // ensemble.n_members)
    if len(known) > most:  # honest residuals of a random part bound the memory
        known = np.sort(rng.choice(known, most, replace=False))
    X = samples.X if len(known) == n_samples else _safe_indexing(samples.X, known)
    leaves = np.empty((ensemble.n_members, len(known)), dtype=np.int32)
    if len(known):
        walk = TreeWalk(ensemble, ensemble.prepare_input(X))
        for row, tree_leaves in zip(leaves, all_leaves(ensemble, [walk], n_jobs), strict=True):
            row[:] = tree_leaves
    weight = label_weights(ensemble, y[known], samples.sample_weight, known)
    tree_weights = np.ones(ensemble.n_members) if ensemble.weights is None else ensemble.weights
    honest = _honest_cells(ensemble, n_samples)[:, known] if samples.oob else None
    return LabelledLeaves(
        leaves,
        np.ones(leaves.shape, dtype=bool) if honest is None else honest,
        encode_targets(ensemble, y[known]),
        weight,
        np.asarray(tree_weights, dtype=float),
    )


def _honest_cells(ensemble: Ensemble, n_samples: int) -> BoolArray:
    """Return, for each tree and training sample, whether the tree was not trained on it."""
    honest = np.ones((ensemble.n_members, n_samples), dtype=bool)
    for row, in_bag in zip(honest, ensemble.in_bag_samples(), strict=True):
        row[in_bag] = False
    return honest


def known_labels(y: Array, classes: Array) -> NDArray[np.intp]:
    """Return the samples whose label is a class of the ensemble."""
    return np.flatnonzero(np.isin(y, classes))


def encode_targets(ensemble: Ensemble, y: Array) -> FloatArray:
    """Return known labels, one-hot encoded, or values: (n_samples, n_classes or 1)."""
    if ensemble.is_regression:
        return np.asarray(y, dtype=float)[:, None]
    return one_hot(np.searchsorted(ensemble.classes, y), len(ensemble.classes))


def label_weights(
    ensemble: Ensemble, y: Array, sample_weight: FloatArray | None, known: NDArray[np.intp]
) -> FloatArray:
    """Return weights of labels with a mean of 1, including the class weights of the ensemble.

    An ensemble that was trained with class weights predicts shares of weighted samples. Without the
    class weights, the correction would undo them.
    """
    weights = np.ones(len(y)) if sample_weight is None else sample_weight[known]
    models = (ensemble.model, getattr(ensemble.model, "estimator_", None))
    class_weight = next(filter(None, (getattr(m, "class_weight", None) for m in models)), None)
    if class_weight is not None and not ensemble.is_regression and len(y):
        is_text = class_weight in ("balanced", "balanced_subsample")
        if not is_text:  # labels without an entry have a weight of 1
            class_weight = {c: class_weight.get(c, 1.0) for c in np.unique(y).tolist()}
        weights = weights * compute_sample_weight("balanced" if is_text else class_weight, y)
    total = weights.sum()
    return weights * (len(y) / total) if total > 0 else weights


def node_values(ensemble: Ensemble, member: int) -> FloatArray:
    """Return the prediction of each node of a tree: (nodes, classes), or (nodes, 1)."""
    predictions = leaf_predictions(ensemble, member)
    return predictions[:, None] if predictions.ndim == 1 else predictions
