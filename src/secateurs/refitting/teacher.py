"""The label-corrected full ensemble, which the kept trees imitate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.labels import one_hot
from secateurs.outputs.tree_walk import TreeWalk, leaf_predictions
from secateurs.progress import current_stage
from secateurs.refitting._correction import (
    Correction,
    LabelledLeaves,
    correct_leaves,
    honest_predictions,
)
from secateurs.refitting.refit_kernels import subtract_values
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, Samples

_MOST_CELLS = 1 << 27  # trees × labelled samples: 640 MB of leaves and honesty
# Standard errors by which class shares of the training must differ from those of the labels, so
# that the samples were clearly resampled or weighted. Chance alone hardly ever reaches five.
_CLEAR_ERRORS = 5.0


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

    def with_known_labels(self, ensemble: Ensemble, rng: np.random.RandomState) -> LabelledSamples:
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
    weights = np.ones(len(samples.y)) if samples.sample_weight is None else samples.sample_weight
    labelled = LabelledLeaves(
        leaves,
        honest,
        encode_targets(ensemble, samples.y),
        _with_mean_one(weights),
        np.asarray(tree_weights, dtype=float),
    )
    if ensemble.is_regression:
        return labelled
    values = [node_values(ensemble, member) for member in range(ensemble.n_members)]
    if _has_class_weights(ensemble) or _has_other_shares(ensemble, values, labelled):
        return _with_class_weights(values, labelled)
    return labelled


def mark_in_bag(ensemble: Ensemble, indices: IndexArray, honest: BoolArray) -> None:
    """Mark as not honest, for each tree, the samples that the tree was trained on."""
    for row, in_bag in zip(honest, ensemble.in_bag_samples(), strict=True):
        row[np.isin(indices, in_bag)] = False


def encode_targets(ensemble: Ensemble, y: Array) -> FloatArray:
    """Return known labels, one-hot encoded, or values: (n_samples, n_classes or 1)."""
    if ensemble.is_regression:
        return np.asarray(y, dtype=float)[:, None]
    return one_hot(np.searchsorted(ensemble.classes, y), len(ensemble.classes))


def _has_class_weights(ensemble: Ensemble) -> bool:
    """Return whether an ensemble was trained with class weights."""
    models = (ensemble.model, getattr(ensemble.model, "estimator_", None))
    return any(getattr(model, "class_weight", None) is not None for model in models)


def _has_other_shares(
    ensemble: Ensemble, values: list[FloatArray], labelled: LabelledLeaves
) -> bool:
    """Return whether the trees were trained on other class shares than those of the labels.

    The training samples were then resampled, or had weights.
    """
    weights, targets = labelled.sample_weight, labelled.targets
    if not weights.any():
        return False
    shares = np.average(targets, axis=0, weights=weights)
    trained = np.mean([tree[0] for tree in values], axis=0)
    n_labelled = weights.sum() ** 2 / np.square(weights).sum()
    n_trained = np.mean([member.tree_.n_node_samples[0] for member in ensemble.members])
    variance = shares * (1 - shares) / n_labelled + trained * (1 - trained) / max(1, n_trained)
    return bool((np.abs(trained - shares) > _CLEAR_ERRORS * np.sqrt(variance)).any())


def _with_class_weights(values: list[FloatArray], labelled: LabelledLeaves) -> LabelledLeaves:
    """Return labelled samples with weights that agree with the predictions of the ensemble.

    An ensemble that was trained with class weights predicts shares of weighted samples. Without
    weights, the correction would undo them. The weights of the training are too large, though: in
    leaves with samples of one class, they have no effect.
    """
    predictions, known = honest_predictions(values, labelled)
    targets, weights = labelled.targets, labelled.sample_weight
    by_class = implied_class_weights(targets[known], predictions[known], weights[known])
    return replace(labelled, sample_weight=_with_mean_one(weights * (targets @ by_class)))


def implied_class_weights(
    targets: FloatArray, predictions: FloatArray, sample_weight: FloatArray
) -> FloatArray:
    """Return the class weights by which the mean prediction of each class is its share.

    With the weight w_c of class c, and the predictions F of all samples,
    Σ_d w_d Σ_{i in d} F_ic is w_c times the number of samples of c. If hardly any sample has a
    probability of another class, the weights are uncertain. One sample of each class is therefore
    added whose probability is that of the other classes, which moves the weights towards 1.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.refitting.teacher import implied_class_weights
    >>> targets = np.repeat([[1.0, 0.0], [0.0, 1.0]], [9000, 1000], axis=0)
    >>> predictions = np.tile([0.6, 0.4], (10_000, 1))
    >>> implied_class_weights(targets, predictions, np.ones(10_000)).round(2)
    array([0.29, 1.71])
    """
    n_classes = targets.shape[1]
    moved = targets.T @ (sample_weight[:, None] * predictions)
    moved += 1 / max(1, n_classes - 1)
    np.fill_diagonal(moved, 0.0)
    # The equations of all classes add up to 0 = 0: the mean of the weights replaces the first one.
    equations = np.diag(moved.sum(axis=1)) - moved.T
    equations[0] = 1.0
    return np.linalg.solve(equations, np.eye(n_classes)[0] * n_classes)


def _with_mean_one(weights: FloatArray) -> FloatArray:
    total = weights.sum()
    return weights * (len(weights) / total) if total > 0 else weights


def node_values(ensemble: Ensemble, member: int) -> FloatArray:
    """Return the prediction of each node of a tree: (nodes, classes), or (nodes, 1)."""
    predictions = leaf_predictions(ensemble, member)
    return predictions[:, None] if predictions.ndim == 1 else predictions
