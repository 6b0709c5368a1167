"""The label-corrected full ensemble, which the kept trees imitate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, compute_sample_weight

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.labels import one_hot
from secateurs.outputs.tree_walk import TreeWalk, leaf_predictions
from secateurs.progress import current_stage
from secateurs.refitting._correction import Correction, LabelledLeaves, correct_leaves
from secateurs.refitting.refit_kernels import subtract_values
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, Samples

_MOST_CELLS = 1 << 27  # trees × labelled samples: 640 MB of leaves and honesty


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Labelled samples of an ensemble: validation samples, or training samples out of bag."""

    X: Samples
    y: Array  # labels or target values
    oob: bool = False  # whether X contains the training samples, in their order
    sample_weight: FloatArray | None = None
    known: IndexArray | None = None  # the samples that these are among all passed samples

    @property
    def indices(self) -> IndexArray:
        """Indices of these samples among all passed samples."""
        return np.arange(len(self.y)) if self.known is None else self.known

    def restrict(self, ensemble: Ensemble, rng: np.random.RandomState) -> LabelledSamples:
        """Return the samples whose label the ensemble knows; at most as many as memory allows."""
        known = np.arange(len(self.y))
        if not ensemble.is_regression:
            known = np.flatnonzero(np.isin(self.y, ensemble.classes))
        if len(known) == 0:
            raise InputError(
                "No label in {y} is a class of the ensemble. Pass labels such as "
                f"{ensemble.classes[:1].tolist()[0]!r}.",
                y=...,
            )
        most = max(1, _MOST_CELLS // ensemble.n_members)
        if len(known) > most:
            known = np.sort(rng.choice(known, most, replace=False))
        if len(known) == len(self.y):
            return self
        weight = None if self.sample_weight is None else self.sample_weight[known]
        return LabelledSamples(
            _safe_indexing(self.X, known), self.y[known], self.oob, weight, known
        )


@dataclass(frozen=True, eq=False)
class Teacher:
    """The full ensemble with corrected leaf values."""

    ensemble: Ensemble
    correction: Correction
    labelled: LabelledLeaves
    tree_values: list[FloatArray]  # values of all nodes before the correction

    def predict(self, leaves: NDArray[np.int32]) -> FloatArray:
        """Return the teacher's predictions for samples with these leaves: (n_trees, n_samples)."""
        return self._average(self.correction.values, leaves)

    def predict_uncorrected(self, leaves: NDArray[np.int32]) -> FloatArray:
        """Return the full ensemble's own predictions for samples with these leaves."""
        return self._average(self.tree_values, leaves)

    def _average(self, values: list[FloatArray], leaves: NDArray[np.int32]) -> FloatArray:
        total = np.zeros((leaves.shape[1], values[0].shape[1]))
        weights = self.labelled.tree_weights / self.labelled.tree_weights.sum()
        for weight, tree_values, tree_leaves in zip(weights, values, leaves, strict=True):
            # Contiguous, as elsewhere, so that the kernel is compiled once.
            subtract_values(np.ascontiguousarray(tree_leaves), -weight * tree_values, total)
        return total


def make_teacher(
    ensemble: Ensemble, labelled: LabelledLeaves, shrinkage: float, max_steps: int
) -> Teacher:
    """Return the full ensemble, corrected by its honest residuals on labelled samples."""
    values = [node_values(ensemble, member) for member in range(ensemble.n_members)]
    return Teacher(
        ensemble, correct_leaves(values, labelled, shrinkage, max_steps), labelled, values
    )


def walk_all_trees(
    ensemble: Ensemble, inputs: Sequence[Samples], n_jobs: int | None
) -> NDArray[np.int32]:
    """Return the leaves of prepared samples in all trees: (n_trees, n_samples)."""
    walks = [TreeWalk(ensemble, X) for X in inputs]

    def fill(member: int) -> None:
        first = 0
        for walk in walks:
            leaves[member, first : first + walk.n_samples] = walk.leaf_indices(member)
            first += walk.n_samples
        current_stage().step()

    leaves = np.empty((ensemble.n_members, sum(walk.n_samples for walk in walks)), dtype=np.int32)
    Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(fill)(member) for member in range(ensemble.n_members)
    )
    return leaves


def labelled_leaves(
    ensemble: Ensemble, samples: LabelledSamples, prepared: Samples, n_jobs: int | None
) -> LabelledLeaves:
    """Return the leaves of labelled samples, which are prepared, in all trees."""
    leaves = walk_all_trees(ensemble, [prepared], n_jobs)
    honest = np.ones(leaves.shape, dtype=bool)
    if samples.oob:
        mark_in_bag(ensemble, samples.indices, honest)
    tree_weights = np.ones(ensemble.n_members) if ensemble.weights is None else ensemble.weights
    return LabelledLeaves(
        leaves,
        honest,
        encode_targets(ensemble, samples.y),
        label_weights(ensemble, samples.y, samples.sample_weight),
        np.asarray(tree_weights, dtype=float),
    )


def mark_in_bag(ensemble: Ensemble, indices: IndexArray, honest: BoolArray) -> None:
    """Mark as not honest, for each tree, the samples that the tree was trained on."""
    for row, in_bag in zip(honest, ensemble.in_bag_samples(), strict=True):
        row[np.isin(indices, in_bag)] = False


def encode_targets(ensemble: Ensemble, y: Array) -> FloatArray:
    """Return known labels, one-hot encoded, or values: (n_samples, n_classes or 1)."""
    if ensemble.is_regression:
        return np.asarray(y, dtype=float)[:, None]
    return one_hot(np.searchsorted(ensemble.classes, y), len(ensemble.classes))


def label_weights(ensemble: Ensemble, y: Array, sample_weight: FloatArray | None) -> FloatArray:
    """Return weights of labels with a mean of 1, including the class weights of the ensemble.

    An ensemble that was trained with class weights predicts shares of weighted samples. Without the
    class weights, the correction would undo them.
    """
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
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
