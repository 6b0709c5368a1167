"""Refit the leaves of the kept trees so that their average imitates the full ensemble."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Bagging, Ensemble, Forest
from secateurs.ensembles.decision_trees import DecisionTree, is_tree, with_node_values
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.labels import one_hot
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.tree_walk import TreeWalk, leaf_predictions
from secateurs.outputs.votes import Votes
from secateurs.progress import current_stage, open_stage
from secateurs.refitting._leaf_fit import LeafFit, fit_leaves
from secateurs.refitting._synthetic_samples import synthetic_samples
from secateurs.typing import Array, BoolArray, FloatArray, RandomStateLike, Samples

# Synthetic samples per sample. Up to 60, and more sweeps than 15, made no difference on seven data
# sets (docs/decisions/0019).
SYNTHETIC_RATIO = 20
_N_SWEEPS = 15
# Weight of the initial leaf values, measured there too: 0.1 to 5 made no difference on training
# samples. Validation samples are fewer, so that most leaves contain synthetic samples of one or two
# of them only and should stay close to their initial values: 5 for each synthetic sample.
_PRIOR, _PRIOR_HELD_OUT = 1.0, 5.0
_MOST_SYNTHETIC = 1_000_000  # bounds memory, which grows with the synthetic samples
_BLOCK_CELLS = 1 << 24  # samples × classes × trees at a time: 128 MB of predictions


@dataclass(frozen=True)
class RefitSamples:
    """Samples on which the kept trees are fitted to predict as the full ensemble."""

    X: Samples
    labelled_predictions: Votes | Predictions  # of the members on X, with the true labels or values
    # Whether X are training samples. Members have seen them, so that only synthetic samples are
    # used; but the initial leaf values are the means over all of them, not over the bootstrap only.
    oob: bool = False
    X_unlabelled: Samples = None  # further samples, from which samples are generated as well
    # Synthetic samples, as a multiple of the samples; at most a million.
    synthetic_ratio: float = SYNTHETIC_RATIO


def refit_ensemble(
    ensemble: Ensemble,
    members: Sequence[int],
    samples: RefitSamples,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
) -> Ensemble:
    """Return a copy of the ensemble in which the leaves of these members are refitted."""
    _check_refittable(ensemble, members, samples)
    rng = check_random_state(random_state)
    walks = [TreeWalk(ensemble, X) for X in _refit_inputs(ensemble, samples, rng)]
    with open_stage("predicting with all members", len(walks) * ensemble.n_members):
        target = np.concatenate(
            [_full_ensemble_predictions(ensemble, walk, n_jobs) for walk in walks]
        )
    leaves = [
        np.concatenate([walk.leaf_indices(member) for walk in walks]).astype(np.int32)
        for member in members
    ]
    values = [_node_values(ensemble, member) for member in members]
    if samples.oob:
        walk = TreeWalk(ensemble, ensemble.prepare_input(samples.X))
        targets = _true_targets(ensemble, samples.labelled_predictions)
        for index, member in enumerate(members):
            values[index] = _leaf_means(walk.leaf_indices(member), targets, values[index])
    is_held_out_only = not samples.oob and samples.X_unlabelled is None
    prior = _PRIOR_HELD_OUT * max(1.0, samples.synthetic_ratio) if is_held_out_only else _PRIOR
    fit = LeafFit(
        leaves, values, target, np.ones(len(target)), prior, _known_classes(ensemble, members)
    )
    with open_stage("refitting", _N_SWEEPS):
        fit_leaves(fit, _N_SWEEPS)
    refitted_members = list(ensemble.members)
    for member, member_values in zip(members, fit.values, strict=True):
        refitted_members[member] = _with_leaf_values(ensemble, member, member_values)
    refitted = copy.copy(ensemble)
    refitted.members, refitted.weights = refitted_members, None
    return refitted


def _check_refittable(ensemble: Ensemble, members: Sequence[int], samples: RefitSamples) -> None:
    name = type(ensemble.model).__name__
    if not isinstance(ensemble, (Forest, Bagging)):
        raise UnsupportedEnsembleError(
            f"{name} cannot be refitted: only the trees of a RandomForest, ExtraTrees or Bagging "
            "ensemble have leaves whose average is its prediction. Leave out {refit}.",
            refit=True,
        )
    no_tree = next((m for m in members if not is_tree(ensemble.members[m])), None)
    if no_tree is not None:
        raise UnsupportedEnsembleError(
            f"Member {no_tree} of {name}, a {type(ensemble.members[no_tree]).__name__}, has no "
            "leaves to refit: it is not a decision tree. Leave out {refit}.",
            refit=True,
        )
    ratio = samples.synthetic_ratio
    if not ratio >= 0 or (samples.oob and ratio == 0 and samples.X_unlabelled is None):
        raise InputError(
            "{synthetic_ratio} is not a valid number of synthetic samples, as a multiple of the "
            "samples. Pass 0 or more; with training samples, more than 0.",
            synthetic_ratio=ratio,
        )


def _refit_inputs(
    ensemble: Ensemble, samples: RefitSamples, rng: np.random.RandomState
) -> list[Samples]:
    """Return the samples to refit on, real and synthetic, as prepared input of the members."""
    sources = [X for X in (samples.X, samples.X_unlabelled) if X is not None]
    prepared_sources = [ensemble.prepare_input(X) for X in sources]
    inputs = prepared_sources[1:] if samples.oob else list(prepared_sources)
    for X, prepared in zip(sources, prepared_sources, strict=True):
        n_synthetic = min(round(samples.synthetic_ratio * _num_samples(X)), _MOST_SYNTHETIC)
        if not n_synthetic:
            continue
        if issparse(prepared) or issparse(X):
            raise InputError(
                "Synthetic samples cannot be generated from sparse samples. Pass "
                "{synthetic_ratio}, and further samples as {X_unlabelled}.",
                synthetic_ratio=0,
                X_unlabelled=...,
            )
        X = X if hasattr(X, "iloc") else np.asarray(X)  # noqa: PLW2901
        synthetic = synthetic_samples(X, np.asarray(prepared), n_synthetic, rng)
        inputs.append(ensemble.prepare_input(synthetic))
    return inputs


def _full_ensemble_predictions(
    ensemble: Ensemble, walk: TreeWalk, n_jobs: int | None
) -> FloatArray:
    """Return the full ensemble's own predictions: (samples, classes), or (samples, 1)."""
    total = np.zeros((walk.n_samples, max(1, len(ensemble.classes))))
    weights = np.ones(ensemble.n_members) if ensemble.weights is None else ensemble.weights
    non_trees = [m for m in range(ensemble.n_members) if m not in walk]
    step = max(1, _BLOCK_CELLS // max(1, total.size))
    trees = [m for m in range(ensemble.n_members) if m in walk]
    for first in range(0, len(trees), step):
        block = trees[first : first + step]
        # Summed in the order of the members, so that n_jobs does not change the rounding.
        block_predictions = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
            delayed(_tree_predictions)(ensemble, walk, member) for member in block
        )
        for member, predictions in zip(block, block_predictions, strict=True):
            total += weights[member] * predictions
            current_stage().step()
    for member in non_trees:
        if ensemble.is_regression:
            total[:, 0] += weights[member] * ensemble.predicted_values(walk.rows, member)
        else:
            total += ensemble.vote_contribution(walk.rows, member)
    return total / weights.sum()


def _tree_predictions(ensemble: Ensemble, walk: TreeWalk, member: int) -> Array:
    return _node_values(ensemble, member)[walk.leaf_indices(member)]


def _true_targets(ensemble: Ensemble, labelled: Votes | Predictions) -> FloatArray:
    """Return the true labels, one-hot encoded, or the true values: (samples, classes or 1)."""
    if ensemble.is_regression:
        return labelled.truth[:, None]
    return one_hot(np.searchsorted(ensemble.classes, true_values(labelled)), len(ensemble.classes))


def _leaf_means(leaves: Array, targets: FloatArray, values: FloatArray) -> FloatArray:
    """Return the mean target of the samples in each leaf; empty leaves keep their value."""
    counts = np.bincount(leaves, minlength=len(values))
    sums = np.stack([np.bincount(leaves, column, len(values)) for column in targets.T], axis=1)
    return np.where(counts[:, None] > 0, sums / np.maximum(1, counts)[:, None], values)


def _node_values(ensemble: Ensemble, member: int) -> FloatArray:
    """Return the prediction of each node of a tree: (nodes, classes), or (nodes, 1)."""
    predictions = leaf_predictions(ensemble, member)
    return predictions[:, None] if predictions.ndim == 1 else predictions


def _known_classes(ensemble: Ensemble, members: Sequence[int]) -> list[BoolArray] | None:
    """Return a mask of the classes of each tree, which may be trained without some of them."""
    if ensemble.is_regression:
        return None
    known = np.zeros((len(members), len(ensemble.classes)), dtype=bool)
    for row, member in zip(known, members, strict=True):
        row[ensemble.member_class_indices(member)] = True
    return list(known)


def _with_leaf_values(ensemble: Ensemble, member: int, values: FloatArray) -> DecisionTree:
    """Return a copy of a tree with these values in its nodes."""
    own = values if ensemble.is_regression else values[:, ensemble.member_class_indices(member)]
    return with_node_values(ensemble.members[member], own)
