"""Collect the votes of a fitted ensemble: the label of every member for every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, overload

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import _num_samples, check_array, validate_data

from secateurs._labels import Array, merge_classes
from secateurs.ensembles import Ensemble, as_ensemble
from secateurs.exceptions import InputError
from secateurs.outputs import _tree_kernels
from secateurs.outputs._checks import as_column
from secateurs.outputs._coding import check_number, code_dtype, find_classes, mark_missing
from secateurs.outputs._fingerprint import fingerprint
from secateurs.outputs._store import VoteStore
from secateurs.outputs._store_files import StrPath
from secateurs.outputs._votes import Votes

_TELLING = 0.05  # accuracy on rows seen minus that on others: more than chance
_BLOCK_ROWS = 1 << 16  # rows walked at once: bounds the leaf indices held by a thread


@overload
def collect_votes(
    ensemble: Any, X: Any, *, oob: bool = ..., n_jobs: int | None = ..., store: None = ...
) -> Array: ...
@overload
def collect_votes(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: StrPath,
    y: ArrayLike | None = ...,
) -> VoteStore: ...
def collect_votes(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = False,
    n_jobs: int | None = None,
    store: StrPath | None = None,
    y: ArrayLike | None = None,
) -> Array | VoteStore:
    """Collect the label of every member for every row.

    Parameters
    ----------
    ensemble : object
        A fitted RandomForest, ExtraTrees, Bagging, Voting or AdaBoost classifier, a pipeline or
        fitted search around one, or a list or dict of fitted classifiers.
    X : array-like of shape (n_samples, n_features)
        The rows, as for the ensemble's own ``predict``.
    oob : bool, default=False
        Mask the votes on rows that a member was trained on. X must be the training rows, in their
        order, of a forest or bagging ensemble trained with bootstrap.
    n_jobs : int or None, default=None
        Number of threads used to collect votes.
    store : path, optional
        Folder to write the votes to, some members at a time, instead of holding all in memory. If
        it already holds part of these votes, the rest is added.
    y : array-like of shape (n_samples,), optional
        True labels to keep in the store.

    Returns
    -------
    ndarray of shape (n_samples, n_members) or VoteStore
        Labels as in the ensemble's ``classes_``, masked where votes are missing because of
        ``oob``; with ``store``, the store that holds them.

    See Also
    --------
    Votes : Votes coded and packed, with counts on demand.
    VoteStore : Votes in a folder, for more than fit into memory.

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
    if store is not None:
        return _collect_into(Path(store), known, _Questions(known, X, n_jobs), oob, y)
    if y is not None:
        raise InputError("y is kept in a store only; pruners take it in fit(votes, y).")
    mask = _in_bag_mask(known, _num_samples(X)) if oob else None  # refuses before any work
    labels = known.classes[collect_codes(known, X, n_jobs).T]
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
    codes = collect_codes(ensemble, X, n_jobs)
    return Votes.from_codes(codes, ensemble.classes, y, mask, ensemble.names)


def collect_codes(ensemble: Ensemble, X: Any, n_jobs: int | None) -> Array:
    """Collect votes as places among the classes: (members, samples)."""
    return _Questions(ensemble, X, n_jobs).codes(range(ensemble.n_members))


class _Questions:
    """Rows that members are asked about, checked and converted once."""

    def __init__(self, ensemble: Ensemble, X: Any, n_jobs: int | None) -> None:
        check_number(ensemble.classes)
        self._ensemble, self._n_jobs = ensemble, n_jobs
        self.rows = ensemble.prepare(X)
        self._walk = _tree_walk(ensemble, self.rows)
        self.n_samples = _num_samples(self.rows)

    def codes(self, members: Sequence[int]) -> Array:
        """Return the votes of some members: (members, samples)."""
        shape = (len(members), self.n_samples)
        codes = np.empty(shape, dtype=code_dtype(len(self._ensemble.classes)))
        Parallel(n_jobs=self._n_jobs, require="sharedmem")(
            delayed(self._ask)(member, row) for member, row in zip(members, codes, strict=True)
        )
        return codes

    def _ask(self, member: int, codes: Array) -> None:
        if self._walk is not None and _is_tree(self._ensemble.members[member]):
            self._walk(member, codes)
        else:
            codes[:] = self._ensemble.codes(self.rows, member)


def _collect_into(
    path: Path, ensemble: Ensemble, questions: _Questions, oob: bool, y: ArrayLike | None
) -> VoteStore:
    """Fill a store, or write what is missing of one."""
    shape = (ensemble.n_members, questions.n_samples)
    content = fingerprint(ensemble, questions.rows)

    def codes(members: list[int]) -> Array:
        asked = store.places_of(ensemble.classes)[questions.codes(members)]
        if not oob:
            return asked
        seen = _in_bag_mask(ensemble, questions.n_samples, members)
        return mark_missing(asked, seen, store.n_classes)

    if path.exists():
        store = VoteStore.resume(path)
        same = (store.n_members, store.n_samples, store.has_missing) == (*shape, oob)
        if not same or not _is_content_of(store, content, codes):
            raise InputError(
                f"{path} holds votes of another ensemble or on other rows. Give another folder."
            )
        store = store if y is None else _with_same_labels(store, y)
    else:
        classes = ensemble.classes
        if y is not None:
            classes = merge_classes(classes, find_classes(as_column(y)))
        names = ensemble.names
        store = VoteStore.create(
            path, *shape, classes, y=y, names=names, has_missing=oob, content=content
        )
    for members in store.missing:
        store.write_codes(members, codes(members.tolist()))
    return store


def _is_content_of(store: VoteStore, content: str, codes: Callable[[list[int]], Array]) -> bool:
    """Tell whether a store holds votes of these members on these rows; one is asked again."""
    written = np.setdiff1d(store.order, np.concatenate([[], *store.missing]))[:1].tolist()
    if not written:
        return store.content in (None, content)
    held = store.take(written).codes([0])
    return store.content == content and np.array_equal(held, codes(written))


def _with_same_labels(store: VoteStore, y: ArrayLike) -> VoteStore:
    """Return a store with true labels; refuse labels other than those it has."""
    labelled = store.with_labels(y)
    if store.y is not None and not np.array_equal(store.y, labelled.truth):
        raise InputError(
            f"{store.path} holds other true labels than y. Give the same y or none, and the other "
            "labels to the pruner's fit; or give another folder."
        )
    return labelled


def _is_tree(member: Any) -> bool:
    return type(member) in (DecisionTreeClassifier, ExtraTreeClassifier)


def _tree_walk(ensemble: Ensemble, X: Any) -> Callable[[int, Array], None] | None:
    """Return a function that fills in the votes of a tree; None if there are no trees.

    X is checked and converted once for all of them.
    """
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
    seen = seen if features is None else features[seen]
    if seen.min() < 0 or seen.max() >= X.shape[1]:  # the kernel reads wherever it is told
        raise InputError(
            f"Member {member} sees features that X, with {X.shape[1]}, does not have. Fit the "
            "ensemble again, or get a new copy of its file."
        )
    splits = (seen.astype(np.uint32), thresholds, children.astype(np.uint32).ravel())
    leaf_codes = _leaf_codes(ensemble, member, codes)
    _tree_kernels.walk_tree(X.ravel(), X.shape[1], *splits, leaf_codes, codes)


def _apply_tree(ensemble: Ensemble, X: Any, member: int, codes: Array) -> None:
    """Fill in a tree's votes by its own ``apply``, which handles sparse and missing values."""
    leaf_codes = _leaf_codes(ensemble, member, codes)
    tree = ensemble.members[member].tree_
    for first in range(0, len(codes), _BLOCK_ROWS):
        rows = slice(first, first + _BLOCK_ROWS)
        codes[rows] = leaf_codes[tree.apply(ensemble.view(X[rows], member))]


def _leaf_codes(ensemble: Ensemble, member: int, codes: Array) -> Array:
    """Return the code of the class that each node of a tree votes for."""
    winners = ensemble.members[member].tree_.value[:, 0, :].argmax(axis=1)
    return ensemble.positions(member)[winners].astype(codes.dtype)


def looks_trained_on(ensemble: Ensemble, votes: Votes) -> bool:
    """Tell whether votes seem to be on the training rows: members do better on those they saw.

    False for ensembles that keep no record of the rows, and for another number of rows.
    """
    if getattr(ensemble.model, "_n_samples", None) != votes.n_samples:
        return False
    try:
        seen = _in_bag_mask(ensemble, votes.n_samples)
    except InputError:
        return False
    right = votes.oracle.packed.decode() == 0
    return bool(right[seen].mean() - right[~seen].mean() > _TELLING)


def _in_bag_mask(
    ensemble: Ensemble, n_samples: int, members: Sequence[int] | None = None
) -> NDArray[np.bool_]:
    """Mark the rows that members were trained on: (members, samples)."""
    wanted = range(ensemble.n_members) if members is None else members
    places = {member: place for place, member in enumerate(wanted)}
    mask = np.zeros((len(places), n_samples), dtype=bool)
    n_trained = getattr(ensemble.model, "_n_samples", n_samples)
    if n_trained != n_samples:
        raise InputError(
            f"Out-of-bag votes need the {n_trained} rows that the ensemble was trained on; X has "
            f"{n_samples} rows. Give the training rows, in their order."
        )
    for member, rows in enumerate(ensemble.in_bag()):
        if member in places:
            mask[places[member], rows] = True
    return mask
