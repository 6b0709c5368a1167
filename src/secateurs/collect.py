"""Votes of a fitted ensemble: every member's label for every row."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import _num_samples, check_array, validate_data

from secateurs import _kernels
from secateurs._labels import Array, check_number, code_dtype
from secateurs.ensembles import Ensemble, as_ensemble
from secateurs.exceptions import InputError
from secateurs.votes import Votes

_TELLING = 0.05  # better by this share on rows seen: more than chance
_BLOCK_ROWS = 1 << 16  # rows walked at once: bounds the leaf indices held by a thread


def collect_votes(
    ensemble: Any, X: Any, *, oob: bool = False, n_jobs: int | None = None
) -> NDArray[Any]:
    """Ask every member for its label on every row.

    Parameters
    ----------
    ensemble : object
        A fitted RandomForest, ExtraTrees, Bagging, Voting or AdaBoost classifier, a pipeline or
        fitted search around one, or a list or dict of fitted classifiers.
    X : array-like of shape (n_samples, n_features)
        The rows, as for the ensemble's own predict.
    oob : bool, default=False
        Mask the votes on rows that a member was trained on. X must be the training rows, in their
        order, of a forest or bagging ensemble trained with bootstrap.
    n_jobs : int or None, default=None
        Members asked at once, in threads.

    Returns
    -------
    ndarray of shape (n_samples, n_members)
        Labels as in the ensemble's ``classes_``; a masked array if ``oob``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import collect_votes
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> collect_votes(forest, X).shape
    (150, 10)
    """
    known = ensemble if isinstance(ensemble, Ensemble) else as_ensemble(ensemble)
    mask = _in_bag_mask(known, _num_samples(X)) if oob else None  # refuses before any work
    labels = known.classes[_codes(known, X, n_jobs).T]
    return labels if mask is None else np.ma.array(labels, mask=mask.T)


def votes_of(
    ensemble: Ensemble,
    X: Any,
    y: ArrayLike | None = None,
    oob: bool = False,
    n_jobs: int | None = None,
) -> Votes:
    """Collect votes straight into their packed form."""
    mask = _in_bag_mask(ensemble, _num_samples(X)) if oob else None
    codes = _codes(ensemble, X, n_jobs)
    return Votes.from_codes(codes, ensemble.classes, y, mask, ensemble.names)


def _codes(ensemble: Ensemble, X: Any, n_jobs: int | None) -> Array:
    """Collect votes as places among the classes: (members, samples)."""
    check_number(ensemble.classes)
    prepared = ensemble.prepare(X)
    shape = (ensemble.n_members, _num_samples(prepared))
    codes = np.empty(shape, dtype=code_dtype(len(ensemble.classes)))
    walk = _tree_walk(ensemble, prepared)

    def ask(member: int) -> None:
        if walk is not None and _is_tree(ensemble.members[member]):
            walk(member, codes[member])
        else:
            codes[member] = ensemble.codes(prepared, member)

    Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(ask)(member) for member in range(ensemble.n_members)
    )
    return codes


def _is_tree(member: Any) -> bool:
    return type(member) in (DecisionTreeClassifier, ExtraTreeClassifier)


def _tree_walk(ensemble: Ensemble, X: Any) -> Callable[[int, Array], None] | None:
    """Prepare to fill in votes of trees, X checked and converted once; None without trees."""
    trees = {i: member for i, member in enumerate(ensemble.members) if _is_tree(member)}
    if not trees:
        return None
    for index, tree in trees.items():
        if ensemble.features(index) is None:  # else the ensemble has checked X as a whole
            validate_data(tree, X, reset=False, skip_check_array=True)
    allow_nan = all(tree.__sklearn_tags__().input_tags.allow_nan for tree in trees.values())
    finite = "allow-nan" if allow_nan and not issparse(X) else True
    floats = check_array(
        X, dtype=np.float32, order="C", accept_sparse="csr", ensure_all_finite=finite
    )
    if issparse(floats) or np.isnan(floats).any():
        return partial(_apply_tree, ensemble, floats)
    return partial(_walk_tree, ensemble, floats)


def _walk_tree(ensemble: Ensemble, X: NDArray[np.float32], member: int, codes: Array) -> None:
    """Fill in a tree's votes: down to the leaf, and from the leaf to its class."""
    tree = ensemble.members[member].tree_
    nodes = np.arange(tree.node_count)
    leaf = tree.children_left == -1
    children = np.stack([tree.children_left, tree.children_right], axis=1)
    children[leaf] = nodes[leaf, None]
    # The largest float32 not above the threshold splits float32 values just as it does.
    thresholds = tree.threshold.astype(np.float32)
    above = thresholds > tree.threshold
    thresholds[above] = np.nextafter(thresholds[above], np.float32(-np.inf))
    features = ensemble.features(member)
    seen = np.where(leaf, 0, tree.feature)
    _kernels.walk_tree(
        X.ravel(),
        X.shape[1],
        (seen if features is None else features[seen]).astype(np.uint32),
        thresholds,
        children.astype(np.uint32).ravel(),
        _leaf_codes(ensemble, member, codes),
        codes,
    )


def _apply_tree(ensemble: Ensemble, X: Any, member: int, codes: Array) -> None:
    """Fill in a tree's votes by its own walk, which knows sparse and missing values."""
    leaf_codes = _leaf_codes(ensemble, member, codes)
    tree = ensemble.members[member].tree_
    for first in range(0, len(codes), _BLOCK_ROWS):
        rows = slice(first, first + _BLOCK_ROWS)
        codes[rows] = leaf_codes[tree.apply(ensemble.view(X[rows], member))]


def _leaf_codes(ensemble: Ensemble, member: int, codes: Array) -> Array:
    """Give the code of the class that each node of a tree votes for."""
    winners = ensemble.members[member].tree_.value[:, 0, :].argmax(axis=1)
    return ensemble.positions(member)[winners].astype(codes.dtype)


def looks_trained_on(ensemble: Ensemble, votes: Votes) -> bool:
    """Whether votes seem to be on the training rows: members are better on those they saw.

    Told for ensembles that keep a record of the rows, and only if there are as many.
    """
    if getattr(ensemble.model, "_n_samples", None) != votes.n_samples:
        return False
    try:
        seen = _in_bag_mask(ensemble, votes.n_samples)
    except InputError:
        return False
    right = votes.oracle.packed.decode() == 0
    return bool(right[seen].mean() - right[~seen].mean() > _TELLING)


def _in_bag_mask(ensemble: Ensemble, n_samples: int) -> NDArray[np.bool_]:
    """Mark the rows that each member was trained on: (members, samples)."""
    mask = np.zeros((ensemble.n_members, n_samples), dtype=bool)
    n_trained = getattr(ensemble.model, "_n_samples", n_samples)
    if n_trained != n_samples:
        raise InputError(
            f"Out-of-bag votes are on the training rows, of which there were {n_trained}; X has "
            f"{n_samples}. Give the rows the ensemble was trained on, in their order."
        )
    for member, rows in enumerate(ensemble.in_bag()):
        mask[member, rows] = True
    return mask
