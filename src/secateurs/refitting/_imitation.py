"""The task of imitating the full ensemble: real and synthetic samples, with targets and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.outputs.tree_walk import TreeWalk
from secateurs.progress import open_stage
from secateurs.refitting._synthetic_samples import synthetic_samples
from secateurs.refitting._teacher import LabelledSamples, Teacher
from secateurs.refitting.refit_kernels import add_children
from secateurs.refitting.value_limits import ValueLimits, node_limits, project_to_simplex
from secateurs.typing import Array, FloatArray, Samples

_MOST_SYNTHETIC = 1_000_000  # bounds memory, which grows with the synthetic samples
_MOST_CELLS = 1 << 27  # kept trees × samples: 512 MB of leaves
# Samples at the decision boundary count up to this many times more than sure ones: 1 / (margin +
# 0.1). Measured on 27 data sets by a prototype; 0.1 keeps the weights of ties finite.
_LEAST_MARGIN = 0.1
# Share of the synthetic samples that are not fitted, so that the error of the imitation is honest.
_CHECKED_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Imitation:
    """Samples on which the average of the kept trees shall be close to the teacher's prediction."""

    leaves: NDArray[np.int32]  # in each kept tree: (n_kept, n_samples)
    target: FloatArray  # (n_samples, n_outputs)
    weights: FloatArray  # (n_samples,), with a mean of 1
    start: list[FloatArray]  # for each kept tree, initial values of all nodes
    limits: list[ValueLimits]  # for each kept tree, the values its nodes may have
    # Further synthetic samples, which are not fitted: leaves, and the predictions of the teacher
    # and of the full ensemble.
    checked_leaves: NDArray[np.int32]
    checked_target: FloatArray
    checked_original: FloatArray
    teacher: Teacher

    def distance(self, values: Sequence[FloatArray], target: FloatArray | None = None) -> float:
        """Return the mean squared distance of the trees' average to a target, checked samples."""
        wanted = self.checked_target if target is None else target
        average = np.zeros_like(wanted)
        for leaves, tree_values in zip(self.checked_leaves, values, strict=True):
            average += tree_values[leaves]
        errors = np.square(average / len(values) - wanted).sum(axis=1)
        return float(errors.mean()) if len(errors) else 0.0


def make_imitation(
    teacher: Teacher,
    kept: Sequence[int],
    samples: LabelledSamples,
    X_unlabelled: Samples,
    synthetic_ratio: float,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
) -> Imitation:
    """Return the task of imitating a teacher on real and synthetic samples."""
    ensemble = teacher.ensemble
    inputs = _imitated_inputs(ensemble, samples, X_unlabelled, synthetic_ratio, rng, len(kept))
    walks = [TreeWalk(ensemble, X) for X, _ in inputs]
    with open_stage("predicting with all members", ensemble.n_members):
        target, original, leaves = teacher.predict(walks, kept, n_jobs)
    is_synthetic = np.concatenate(
        [np.full(walk.n_samples, synthetic) for walk, (_, synthetic) in zip(walks, inputs, strict=True)]
    )
    is_checked = is_synthetic & (rng.random_sample(len(target)) < _CHECKED_SHARE)
    if not is_synthetic.any():  # sparse or unlabelled samples only: check on all of them
        is_checked, fitted = np.ones(len(target), dtype=bool), np.ones(len(target), dtype=bool)
    else:
        fitted = ~is_checked
    weights = np.ones(int(fitted.sum()))
    fit_target = target[fitted]
    if not ensemble.is_regression:
        fit_target = project_to_simplex(fit_target)
        top = np.partition(fit_target, -2, axis=1)[:, -2:] if fit_target.shape[1] > 1 else None
        if top is not None:
            weights = 1 / (top[:, 1] - top[:, 0] + _LEAST_MARGIN)
            weights /= weights.mean()
    limits = [node_limits(ensemble, member) for member in kept]
    start = [
        limits[row].nearest(_initial_values(teacher, member, samples.oob))
        for row, member in enumerate(kept)
    ]
    checked_target = target[is_checked]
    if not ensemble.is_regression:
        checked_target = project_to_simplex(checked_target)
    return Imitation(
        np.ascontiguousarray(leaves[:, fitted]),
        fit_target,
        weights,
        start,
        limits,
        np.ascontiguousarray(leaves[:, is_checked]),
        checked_target,
        original[is_checked],
        teacher,
    )


def _initial_values(teacher: Teacher, member: int, oob: bool) -> FloatArray:
    """Return the mean target of the samples in each node of a tree; empty nodes keep their value.

    Training samples are counted whether a tree has seen them or not; validation samples are counted
    in addition to the samples that a tree was trained on.
    """
    nodes, values = teacher.ensemble.members[member].tree_, teacher.tree_values[member]
    labelled = teacher.labelled
    leaves, weights = labelled.leaves[member], labelled.sample_weight
    counts = np.bincount(leaves, weights, len(values))
    sums = np.stack(
        [np.bincount(leaves, weights * column, len(values)) for column in labelled.targets.T],
        axis=1,
    )
    add_children(nodes.children_left, nodes.children_right, counts, sums)
    if not oob:
        bag = nodes.weighted_n_node_samples
        scale = nodes.n_node_samples[0] / bag[0] if bag[0] > 0 else 0.0
        counts = counts + scale * bag
        sums = sums + (scale * bag)[:, None] * values
    return np.where(counts[:, None] > 0, sums / np.where(counts > 0, counts, 1.0)[:, None], values)


def _imitated_inputs(
    ensemble: Ensemble,
    samples: LabelledSamples,
    X_unlabelled: Samples,
    synthetic_ratio: float,
    rng: np.random.RandomState,
    n_kept: int,
) -> list[tuple[Samples, bool]]:
    """Return prepared samples, real and synthetic, and whether they are synthetic."""
    sources = [samples.X] if X_unlabelled is None else [samples.X, X_unlabelled]
    prepared_sources = [ensemble.prepare_input(samples.X)]
    if X_unlabelled is not None:
        prepared_sources.append(_prepare_unlabelled(ensemble, X_unlabelled, prepared_sources[0]))
    # Members were trained on out-of-bag samples, so that only synthetic samples are used.
    real = prepared_sources[1:] if samples.oob else prepared_sources
    inputs = [(prepared, False) for prepared in real]
    most = min(_MOST_SYNTHETIC, _MOST_CELLS // max(1, n_kept))
    n_samples = sum(map(_num_samples, sources))
    ratio = min(synthetic_ratio, most / n_samples)
    for X, prepared in zip(sources, prepared_sources, strict=True):
        n_synthetic = round(ratio * _num_samples(X))
        if n_synthetic:
            # Columns of the original samples are exchanged, not of the prepared ones: a category
            # may become several columns, which belong together.
            is_table = np.ndim(X) == 2 if not hasattr(X, "shape") else len(X.shape) == 2
            if is_table:
                source = X if hasattr(X, "columns") or issparse(X) else np.asarray(X)
                synthetic = synthetic_samples(source, prepared, n_synthetic, rng)
                inputs.append((ensemble.prepare_input(synthetic), True))
            else:
                inputs.append((synthetic_samples(prepared, prepared, n_synthetic, rng), True))
    return inputs


def _prepare_unlabelled(ensemble: Ensemble, X: Samples, reference: Array) -> Samples:
    """Return prepared unlabelled samples; raise an error in one line if they cannot be used."""
    if not hasattr(X, "shape") and not hasattr(X, "__len__"):
        raise InputError(
            f"{{X_unlabelled}} is of type {type(X).__name__}. Pass samples with the features of X.",
            X_unlabelled=...,
        )
    if _num_samples(X) == 0:
        raise InputError(
            "{X_unlabelled} has no samples. Pass at least one, or leave it out.", X_unlabelled=...
        )
    try:
        prepared = ensemble.prepare_input(X)
        TreeWalk(ensemble, prepared)
    except (ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"{{X_unlabelled}} cannot be used: {reason}. Pass samples with the "
            f"{reference.shape[1]} features of X, with finite values.",
            X_unlabelled=...,
        ) from error
    return prepared
