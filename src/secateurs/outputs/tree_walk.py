"""Decision trees, asked by way of their leaves: the rows are checked once for all of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples, check_array, validate_data

from secateurs.ensembles import Ensemble
from secateurs.ensembles.decision_trees import is_tree
from secateurs.exceptions import InputError
from secateurs.outputs import _tree_kernels
from secateurs.typing import Array

_BLOCK_ROWS = 1 << 16  # rows walked at once: bounds the leaf indices held by a thread


class TreeWalk:
    """Sends rows down the trees of an ensemble; members that are not trees are not in it.

    Parameters
    ----------
    ensemble : Ensemble
        The ensemble.
    X : array-like or sparse matrix
        The rows, as the ensemble prepares them.

    Attributes
    ----------
    rows : array-like or sparse matrix
        The same rows.
    n_samples : int
        Number of rows.
    """

    def __init__(self, ensemble: Ensemble, X: Any) -> None:
        trees = {i: m for i, m in enumerate(ensemble.members) if is_tree(m)}
        self._ensemble, self._trees = ensemble, trees
        self.rows, self.n_samples = X, _num_samples(X)
        if not trees:
            return
        for index, tree in trees.items():
            if (
                ensemble.member_features(index) is None
            ):  # else the ensemble has checked X as a whole
                validate_data(tree, X, reset=False, skip_check_array=True)
        allow_nan = all(tree.__sklearn_tags__().input_tags.allow_nan for tree in trees.values())
        finite = "allow-nan" if allow_nan and not issparse(X) else True
        self._X = check_array(
            X, dtype=np.float32, order="C", accept_sparse="csr", ensure_all_finite=finite
        )
        # Sparse and missing values are left to the trees' own ``apply``.
        self._is_compiled = not issparse(self._X) and not np.isnan(self._X).any()

    def __contains__(self, member: int) -> bool:
        return member in self._trees

    def fill_from_leaves(self, member: int, table: Array, out: Array) -> None:
        """Fill in, for each row, what a table with an entry per node has for the row's leaf."""
        for rows, leaves in self._leaf_blocks(member):
            out[rows] = table[leaves]

    def leaf_indices(self, member: int) -> NDArray[np.uint32]:
        """Return the node that each row ends in."""
        found = np.empty(self._X.shape[0], dtype=np.uint32)
        for rows, leaves in self._leaf_blocks(member):
            found[rows] = leaves
        return found

    def _leaf_blocks(self, member: int) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield rows, block by block, and the nodes they end in."""
        tree = self._trees[member].tree_
        splits = _tree_splits(self._ensemble, member, self._X.shape[1]) if self._is_compiled else ()
        for first in range(0, self._X.shape[0], _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            X = self._X[rows]
            if self._is_compiled:
                leaves = np.empty(len(X), dtype=np.uint32)
                _tree_kernels.walk_tree(X.ravel(), X.shape[1], *splits, leaves)
                yield rows, leaves
            else:
                yield rows, tree.apply(self._ensemble.member_input(X, member))


def leaf_votes(ensemble: Ensemble, member: int, dtype: Any) -> Array:
    """Return the code of the class that each node of a tree votes for."""
    winners = ensemble.members[member].tree_.value[:, 0, :].argmax(axis=1)
    return ensemble.member_class_indices(member)[winners].astype(dtype)


def leaf_predictions(ensemble: Ensemble, member: int) -> NDArray[np.float64]:
    """Return what each node of a tree predicts: (nodes, classes), or (nodes,) for numbers."""
    values = ensemble.members[member].tree_.value[:, 0, :]
    if ensemble.is_regression:
        return values[:, 0]
    return ensemble.align_probabilities(values, member)


def _tree_splits(ensemble: Ensemble, member: int, n_features: int) -> tuple[Array, Array, Array]:
    """Return the features, thresholds and children of a tree's nodes, as the kernel takes them."""
    tree = ensemble.members[member].tree_
    nodes = np.arange(tree.node_count)
    leaf = tree.children_left == -1
    children = np.stack([tree.children_left, tree.children_right], axis=1)
    children[leaf] = nodes[leaf, None]
    # The largest float32 not above the threshold splits float32 values just as it does.
    thresholds = tree.threshold.astype(np.float32)
    above = thresholds > tree.threshold
    thresholds[above] = np.nextafter(thresholds[above], np.float32(-np.inf))
    features = ensemble.member_features(member)
    seen = np.where(leaf, 0, tree.feature)
    seen = seen if features is None else features[seen]
    if seen.min() < 0 or seen.max() >= n_features:  # the kernel reads wherever it is told
        raise InputError(
            f"Member {member} sees features that X, with {n_features}, does not have. Fit the "
            "ensemble again, or get a new copy of its file."
        )
    return seen.astype(np.uint32), thresholds, children.astype(np.uint32).ravel()
