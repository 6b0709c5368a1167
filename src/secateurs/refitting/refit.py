"""A sub-ensemble whose trees have other values in their leaves: it imitates the whole."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Bagging, Ensemble, Forest
from secateurs.ensembles.decision_trees import is_tree, with_node_values
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.labels import one_hot
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.tree_walk import TreeWalk, leaf_predictions
from secateurs.outputs.votes import Votes
from secateurs.progress import current_stage, open_stage
from secateurs.refitting._leaf_fit import LeafFit, fit_leaves
from secateurs.refitting._synthetic_samples import synthetic_samples
from secateurs.typing import Array

SYNTHETIC_RATIO = 20  # times the rows given
# Weight of the values that leaves have at first, as measured. Rows held out are fewer than those
# trained on: most leaves see only what was made of one or two of them, and should stay near what
# training taught.
_PRIOR, _PRIOR_HELD_OUT = 1.0, 5.0  # the second times the rows made of one
_N_SWEEPS = 15
_MOST_SYNTHETIC = 1_000_000  # rows; memory grows with them
_BLOCK_CELLS = 1 << 24  # rows × members asked at once


@dataclass(frozen=True)
class RefitSamples:
    """Rows on which the kept trees are to answer as the whole ensemble.

    Parameters
    ----------
    X : array-like
        The rows given.
    labelled_predictions : Votes or Predictions
        Their votes or scores, for the true labels or numbers.
    oob : bool, default=False
        Whether these are training rows. The members know them too well, so that only rows made
        from them serve; but leaves begin with the classes of all of them, not only of those that
        a tree was trained on.
    X_unlabelled : array-like, optional
        Further rows, from which rows are made as well.
    synthetic_ratio : int or float, default=20
        Number of rows to make, as a multiple of the rows given; at most a million.
    """

    X: Any
    labelled_predictions: Votes | Predictions
    oob: bool = False
    X_unlabelled: Any = None
    synthetic_ratio: float = SYNTHETIC_RATIO


def refit_ensemble(
    ensemble: Ensemble,
    members: Sequence[int],
    rows: RefitSamples,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Ensemble:
    """Return the ensemble with other values in the leaves of some trees; see `Pruning.refit`.

    The original, and the trees that it shares, are unchanged.
    """
    _check_refittable(ensemble, members, rows)
    rng = check_random_state(random_state)
    walks = [TreeWalk(ensemble, part) for part in _refit_inputs(ensemble, rows, rng)]
    with open_stage("asking all members", len(walks) * ensemble.n_members):
        target = np.concatenate(
            [_full_ensemble_predictions(ensemble, walk, n_jobs) for walk in walks]
        )
    leaves = [
        np.concatenate([walk.leaf_indices(member) for walk in walks]).astype(np.int32)
        for member in members
    ]
    values = [_node_values(ensemble, member) for member in members]
    if rows.oob:
        walk = TreeWalk(ensemble, ensemble.prepare_input(rows.X))
        truth = _true_targets(ensemble, rows.labelled_predictions)
        for place, member in enumerate(members):
            values[place] = _leaf_means(walk.leaf_indices(member), truth, values[place])
    few = not rows.oob and rows.X_unlabelled is None
    prior = _PRIOR_HELD_OUT * max(1.0, rows.synthetic_ratio) if few else _PRIOR
    fit = LeafFit(
        leaves, values, target, np.ones(len(target)), prior, _known_classes(ensemble, members)
    )
    with open_stage("refitting", _N_SWEEPS):
        fit_leaves(fit, _N_SWEEPS)
    changed = copy.copy(ensemble)
    changed.members, changed.weights = list(ensemble.members), None
    for member, own in zip(members, fit.values, strict=True):
        changed.members[member] = _with_leaf_values(ensemble, member, own)
    return changed


def _check_refittable(ensemble: Ensemble, members: Sequence[int], rows: RefitSamples) -> None:
    name = type(ensemble.model).__name__
    if not isinstance(ensemble, (Forest, Bagging)):
        raise UnsupportedEnsembleError(
            f"{name} cannot be refitted: only the trees of a RandomForest, ExtraTrees or Bagging "
            "ensemble have leaves whose average is its answer. Leave out {refit}.",
            refit=True,
        )
    other = next((m for m in members if not is_tree(ensemble.members[m])), None)
    if other is not None:
        raise UnsupportedEnsembleError(
            f"Member {other} of {name}, a {type(ensemble.members[other]).__name__}, has no leaves "
            "to refit: it is not a decision tree. Leave out {refit}.",
            refit=True,
        )
    if not rows.synthetic_ratio >= 0 or (
        rows.oob and rows.synthetic_ratio == 0 and rows.X_unlabelled is None
    ):
        raise InputError(
            "{synthetic_ratio} is not a valid number of rows to make, as a multiple of those given. Give 0 "
            "or more; on training rows, more than 0.",
            synthetic_ratio=rows.synthetic_ratio,
        )


def _refit_inputs(ensemble: Ensemble, rows: RefitSamples, rng: np.random.RandomState) -> list[Any]:
    """Return the rows to refit on, prepared as the members see them."""
    sources = [X for X in (rows.X, rows.X_unlabelled) if X is not None]
    given = [ensemble.prepare_input(X) for X in sources]
    parts = given[1:] if rows.oob else list(given)
    for X, prepared in zip(sources, given, strict=True):
        n_made = min(round(rows.synthetic_ratio * _num_samples(X)), _MOST_SYNTHETIC)
        if not n_made:
            continue
        if issparse(prepared) or issparse(X):
            raise InputError(
                "Rows cannot be made from sparse ones. Give {synthetic_ratio}, and rows of your own as "
                "{X_unlabelled}.",
                synthetic_ratio=0,
                X_unlabelled=...,
            )
        X = X if hasattr(X, "iloc") else np.asarray(X)  # noqa: PLW2901
        parts.append(
            ensemble.prepare_input(synthetic_samples(X, np.asarray(prepared), n_made, rng))
        )
    return parts


def _full_ensemble_predictions(
    ensemble: Ensemble, walk: TreeWalk, n_jobs: int | None
) -> NDArray[np.float64]:
    """Return the whole ensemble's own answer: (rows, classes), or (rows, 1) for numbers."""
    total = np.zeros((walk.n_samples, max(1, len(ensemble.classes))))
    weights = np.ones(ensemble.n_members) if ensemble.weights is None else ensemble.weights
    others = [m for m in range(ensemble.n_members) if m not in walk]
    step = max(1, _BLOCK_CELLS // max(1, total.size))
    trees = [m for m in range(ensemble.n_members) if m in walk]
    for first in range(0, len(trees), step):
        block = trees[first : first + step]
        asked = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
            delayed(_tree_predictions)(ensemble, walk, member) for member in block
        )
        for member, answer in zip(block, asked, strict=True):
            total += weights[member] * answer
            current_stage().step()
    for member in others:
        if ensemble.is_regression:
            total[:, 0] += weights[member] * ensemble.predicted_values(walk.rows, member)
        else:
            total += ensemble.vote_contribution(walk.rows, member)
    return total / weights.sum()


def _tree_predictions(ensemble: Ensemble, walk: TreeWalk, member: int) -> Array:
    return _node_values(ensemble, member)[walk.leaf_indices(member)]


def _true_targets(ensemble: Ensemble, truth: Votes | Predictions) -> NDArray[np.float64]:
    """Return what should be said of the rows: (rows, classes), or (rows, 1) for numbers."""
    if ensemble.is_regression:
        return truth.truth[:, None]
    return one_hot(np.searchsorted(ensemble.classes, true_values(truth)), len(ensemble.classes))


def _leaf_means(leaves: Array, truth: Array, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean truth of the rows in each leaf; where there are none, the value it has."""
    counts = np.bincount(leaves, minlength=len(values))
    sums = np.stack([np.bincount(leaves, column, len(values)) for column in truth.T], axis=1)
    return np.where(counts[:, None] > 0, sums / np.maximum(1, counts)[:, None], values)


def _node_values(ensemble: Ensemble, member: int) -> NDArray[np.float64]:
    """Return what each node of a tree predicts: (nodes, classes), or (nodes, 1)."""
    answers = leaf_predictions(ensemble, member)
    return answers[:, None] if answers.ndim == 1 else answers


def _known_classes(ensemble: Ensemble, members: Sequence[int]) -> list[NDArray[np.bool_]] | None:
    if ensemble.is_regression:
        return None
    known = np.zeros((len(members), len(ensemble.classes)), dtype=bool)
    for row, member in zip(known, members, strict=True):
        row[ensemble.member_class_indices(member)] = True
    return list(known)


def _with_leaf_values(ensemble: Ensemble, member: int, values: NDArray[np.float64]) -> Any:
    """Return a copy of a tree with these values in its nodes."""
    own = values if ensemble.is_regression else values[:, ensemble.member_class_indices(member)]
    return with_node_values(ensemble.members[member], own)
