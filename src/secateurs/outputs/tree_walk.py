"""Evaluation of decision trees by their leaves, on samples that are checked once for all trees."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples, check_array, validate_data

from secateurs.ensembles import Ensemble
from secateurs.ensembles.decision_trees import is_tree
from secateurs.exceptions import InputError
from secateurs.outputs import vote_kernels
from secateurs.persistence.slim_models import round_down_to_float32
from secateurs.typing import Array, FloatArray, IndexArray, Samples

_BLOCK_ROWS = 1 << 16  # samples per block, which bounds the memory of a thread's leaf indices


class TreeWalk:
    """Finds the leaves of prepared samples in the trees of an ensemble; contains only trees."""

    def __init__(self, ensemble: Ensemble, X: Samples) -> None:
        trees = {i: m for i, m in enumerate(ensemble.members) if is_tree(m)}
        self._ensemble, self._trees = ensemble, trees
        self.rows, self.n_samples = X, _num_samples(X)
        if not trees:
            return
        checked = set()  # trees of one forest expect the same features
        for index, tree in trees.items():
            expected = tree.n_features_in_, tuple(getattr(tree, "feature_names_in_", ()))
            # If a member has its own features, the ensemble has checked all of X.
            if expected not in checked and ensemble.member_features(index) is None:
                validate_data(tree, X, reset=False, skip_check_array=True)
                checked.add(expected)
        allow_nan = all(tree.__sklearn_tags__().input_tags.allow_nan for tree in trees.values())
        finite = "allow-nan" if allow_nan and not issparse(X) else True
        self._X = check_array(
            X, dtype=np.float32, order="C", accept_sparse="csr", ensure_all_finite=finite
        )
        # Sparse data and missing values are left to the trees' own ``apply``.
        self._is_compiled = not issparse(self._X) and not np.isnan(self._X).any()

    def __contains__(self, member: int) -> bool:
        return member in self._trees

    def fill_from_leaves(self, member: int, table: Array, out: Array) -> None:
        """Fill in, for each sample, the entry of a table (one per node) for the sample's leaf."""
        for rows, leaves in self._leaf_blocks(member):
            out[rows] = table[leaves]

    def leaf_indices(self, member: int) -> NDArray[np.uint32]:
        """Return the leaf of each sample, as a node of the tree."""
        indices = np.empty(self._X.shape[0], dtype=np.uint32)
        for rows, leaves in self._leaf_blocks(member):
            indices[rows] = leaves
        return indices

    def _leaf_blocks(self, member: int) -> Iterator[tuple[slice, NDArray[np.uint32] | IndexArray]]:
        """Yield blocks of samples with their leaves."""
        tree = self._trees[member].tree_
        splits = (
            _tree_splits(self._ensemble, member, self._X.shape[1]) if self._is_compiled else None
        )
        for first in range(0, self._X.shape[0], _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            X = self._X[rows]
            if splits is not None:
                leaves = np.empty(len(X), dtype=np.uint32)
                vote_kernels.walk_tree(X.ravel(), X.shape[1], *splits, leaves)
                yield rows, leaves
            else:
                yield rows, tree.apply(self._ensemble.member_input(X, member))


def leaf_votes(ensemble: Ensemble, member: int, dtype: DTypeLike) -> Array:
    """Return the code of the class that each node of a tree votes for."""
    winners = ensemble.members[member].tree_.value[:, 0, :].argmax(axis=1)
    return ensemble.member_class_indices(member)[winners].astype(dtype)


def leaf_predictions(ensemble: Ensemble, member: int) -> FloatArray:
    """Return the prediction of each node of a tree: (nodes, classes), or (nodes,)."""
    values = ensemble.members[member].tree_.value[:, 0, :]
    if ensemble.is_regression:
        return values[:, 0]
    return ensemble.align_probabilities(values, member)


def _tree_splits(ensemble: Ensemble, member: int, n_features: int) -> tuple[Array, Array, Array]:
    """Return the features, thresholds and children of a tree's nodes for `walk_tree`."""
    tree = ensemble.members[member].tree_
    nodes = np.arange(tree.node_count)
    is_leaf = tree.children_left == -1
    children = np.stack([tree.children_left, tree.children_right], axis=1)
    children[is_leaf] = nodes[is_leaf, None]
    # The largest float32 up to the threshold splits float32 samples exactly as the threshold does.
    thresholds = round_down_to_float32(tree.threshold)
    member_features = ensemble.member_features(member)
    features = np.where(is_leaf, 0, tree.feature)
    features = features if member_features is None else member_features[features]
    if features.min() < 0 or features.max() >= n_features:  # the kernel does not check bounds
        raise InputError(
            f"Member {member} uses features that X, with {n_features} features, does not have. Fit "
            "the ensemble again, or get a new copy of its file."
        )
    return features.astype(np.uint32), thresholds, children.astype(np.uint32).ravel()
