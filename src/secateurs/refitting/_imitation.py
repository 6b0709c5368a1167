"""The task of imitating the full ensemble: real and synthetic samples, with targets and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.outputs.sample_rows import as_indexable
from secateurs.outputs.tree_walk import TreeWalk
from secateurs.refitting._correction import LabelledLeaves
from secateurs.refitting._synthetic_samples import synthetic_samples
from secateurs.refitting.refit_kernels import add_children
from secateurs.refitting.teacher import LabelledSamples, Teacher, labelled_leaves, walk_all_trees
from secateurs.refitting.value_limits import ValueLimits, node_limits, project_to_simplex
from secateurs.typing import BoolArray, FloatArray, IndexArray, Samples

# Real and synthetic samples each; bounds time and memory. On eight data sets with 29,000 to 35,000
# samples, 15 refitted trees were 0.06 points less accurate than with all 350,000 synthetic samples,
# as they were with 200,000.
_MOST_SAMPLES = 100_000
_MOST_CELLS = 1 << 27  # trees × samples: 512 MB of leaves
_MOST_VALUES = 1 << 25  # synthetic samples × features, in several copies of 256 MB
# Samples at the decision boundary count up to eleven times more than sure samples: 1 / (margin +
# 0.1). Measured on 27 data sets by a prototype; 0.1 keeps the weights of ties finite.
_LEAST_MARGIN = 0.1
# Share of the synthetic samples that are not fitted, so that the error of the imitation is honest.
_CHECKED_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class ImitatedSamples:
    """Real and synthetic samples on which trees imitate the full ensemble, by their leaves."""

    labelled: LabelledLeaves
    leaves: NDArray[np.int32]  # in all trees: (n_trees, n_samples)
    sources: IndexArray  # the labelled sample that each sample is or comes from, or -1
    is_checked: BoolArray  # synthetic samples that are not fitted
    oob: bool
    has_training_samples: bool  # whether samples near the training samples are among them


@dataclass(frozen=True, eq=False)
class Imitation:
    """Samples on which the average of the kept trees shall be close to the teacher's prediction."""

    leaves: NDArray[np.int32]  # in each kept tree: (n_kept, n_samples)
    target: FloatArray  # (n_samples, n_outputs)
    weights: FloatArray  # (n_samples,), with a mean of 1
    start: list[FloatArray]  # for each kept tree, initial values of all nodes
    limits: list[ValueLimits]  # for each kept tree, the values its nodes may have


def collect_samples(  # noqa: PLR0917
    ensemble: Ensemble,
    samples: LabelledSamples,
    X_unlabelled: Samples,
    synthetic_ratio: float,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
) -> ImitatedSamples:
    """Return the samples to imitate the full ensemble on, with their leaves in all trees."""
    sources = [samples.X] if X_unlabelled is None else [samples.X, as_indexable(X_unlabelled)]
    prepared_sources = [ensemble.prepare_input(samples.X)]
    if X_unlabelled is not None:
        n_features = prepared_sources[0].shape[1]
        prepared_sources.append(_prepare_unlabelled(ensemble, X_unlabelled, n_features))
    inputs, origins, synthetic = [], [], []
    most = most_synthetic = min(_MOST_SAMPLES, _MOST_CELLS // ensemble.n_members)
    if not issparse(prepared_sources[0]):
        most_synthetic = min(most, _MOST_VALUES // prepared_sources[0].shape[1])
    ratio = min(synthetic_ratio, most_synthetic / sum(map(_num_samples, sources)))
    for is_unlabelled, (X, prepared) in enumerate(zip(sources, prepared_sources, strict=True)):
        n_samples = _num_samples(X)
        # Members were trained on out-of-bag samples, so that only synthetic samples are used.
        if is_unlabelled or not samples.oob:
            chosen = np.arange(n_samples)
            if n_samples > most:
                chosen = np.sort(rng.choice(n_samples, most, replace=False))
                inputs.append(_safe_indexing(prepared, chosen))
            else:
                inputs.append(prepared)
            origins.append(np.full(len(chosen), -1) if is_unlabelled else chosen)
            synthetic.append(np.zeros(len(chosen), dtype=bool))
        if n_synthetic := round(ratio * n_samples):
            made, first = _synthetic_input(ensemble, X, prepared, n_synthetic, rng)
            inputs.append(made)
            origins.append(np.full(n_synthetic, -1) if is_unlabelled else first)
            synthetic.append(np.ones(n_synthetic, dtype=bool))
    is_synthetic = np.concatenate(synthetic)
    return ImitatedSamples(
        labelled_leaves(ensemble, samples, prepared_sources[0], n_jobs),
        walk_all_trees(ensemble, inputs, n_jobs),
        np.concatenate(origins),
        is_synthetic & (rng.random_sample(len(is_synthetic)) < _CHECKED_SHARE),
        samples.oob,
        samples.oob or X_unlabelled is not None,
    )


def _synthetic_input(
    ensemble: Ensemble, X: Samples, prepared: Samples, n_synthetic: int, rng: np.random.RandomState
) -> tuple[Samples, IndexArray]:
    """Return prepared synthetic samples, and the sample that each of them comes from."""
    # Columns of the original samples are exchanged, not of the prepared ones: a category may become
    # several columns, which belong together. A list of texts has no columns to exchange.
    n_axes = len(X.shape) if hasattr(X, "shape") else np.ndim(X)
    if n_axes != 2:
        return synthetic_samples(prepared, prepared, n_synthetic, rng)
    source = X if hasattr(X, "columns") or issparse(X) else np.asarray(X)
    made, first = synthetic_samples(source, prepared, n_synthetic, rng)
    return ensemble.prepare_input(made), first


def make_imitation(
    teacher: Teacher, kept: Sequence[int], samples: ImitatedSamples, used: BoolArray | None = None
) -> Imitation:
    """Return the task of imitating a teacher with the kept trees, on all or some samples."""
    ensemble = teacher.ensemble
    fitted = ~samples.is_checked if used is None else used & ~samples.is_checked
    leaves = samples.leaves[:, fitted]
    target = teacher.predict(leaves)
    weights = np.ones(len(target))
    if not ensemble.is_regression:
        target = project_to_simplex(target)
        if target.shape[1] > 1:
            second, first = np.partition(target, -2, axis=1)[:, -2:].T
            weights = 1 / (first - second + _LEAST_MARGIN)
            weights /= weights.mean() if len(weights) else 1.0
    limits = [node_limits(ensemble, member) for member in kept]
    start = [
        limits[row].nearest(_initial_values(teacher, member, samples.oob))
        for row, member in enumerate(kept)
    ]
    return Imitation(leaves[list(kept)], target, weights, start, limits)


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
        # Weights of training samples may have any scale; those of labelled samples have a mean of
        # 1. A slim tree has no counts, so that only labelled samples are counted.
        scale = nodes.n_node_samples[0] / bag[0] if bag[0] > 0 else 0.0
        counts = counts + scale * bag
        sums = sums + (scale * bag)[:, None] * values
    return np.where(counts[:, None] > 0, sums / np.where(counts > 0, counts, 1.0)[:, None], values)


def _prepare_unlabelled(ensemble: Ensemble, X: Samples, n_features: int) -> Samples:
    """Return prepared unlabelled samples; raise an error in one line if they cannot be used."""
    advice = f"Pass samples with the {n_features} features of X"
    try:
        n_samples = _num_samples(X)
    except TypeError:
        raise InputError(
            f"{{X_unlabelled}} is of type {type(X).__name__}. {advice}.", X_unlabelled=...
        ) from None
    if n_samples == 0:
        raise InputError(
            f"{{X_unlabelled}} has no samples. {advice}, or leave it out.", X_unlabelled=...
        )
    try:
        prepared = ensemble.prepare_input(X)
        TreeWalk(ensemble, prepared)
    except (ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0].rstrip(".:")
        raise InputError(
            f"{{X_unlabelled}} cannot be used: {reason}. {advice}.", X_unlabelled=...
        ) from error
    return prepared
