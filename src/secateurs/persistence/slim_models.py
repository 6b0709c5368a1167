"""Slim models: trees of scikit-learn without the numbers that prediction does not read."""

import copy
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as kinds
from sklearn.base import BaseEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from secateurs.exceptions import UnsupportedEnsembleError
from secateurs.persistence._model_faults import reachable_objects
from secateurs.typing import FloatArray

ModelT = TypeVar("ModelT")

_LEAF = -1  # child of a leaf, as in scikit-learn
# Trees in these models are read for more than their leaf values, or compare features as float64.
_OTHERS = (
    kinds.IsolationForest,
    kinds.HistGradientBoostingClassifier,
    kinds.HistGradientBoostingRegressor,
)
_OTHER_LIBRARIES = ("xgboost", "lightgbm", "catboost")


def slim(model: ModelT) -> ModelT:
    """Return a copy of a model whose trees hold only the numbers that prediction reads.

    Predictions stay equal to the last bit, and files become three to four times smaller as .joblib,
    two to three times as .skops, where each tree is compressed on its own. A pickle is not
    compressed and stays as large. Impurities, numbers of samples and the values of inner nodes are
    cleared. Thresholds are rounded down to the nearest float32, which changes nothing, because
    scikit-learn's trees compare them with features of type float32.

    Parameters
    ----------
    model : object
        A fitted model with trees of scikit-learn: a forest, bagged trees, AdaBoost or gradient
        boosting, also inside a pipeline, search, calibration, Voting ensemble, list or dict.

    Returns
    -------
    object
        A model of the same class. Its ``feature_importances_`` and the numbers that `plot_tree` and
        `export_text` show for nodes are lost.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs.persistence import slim
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["ant", "ant", "bee", "bee"]
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> small = slim(forest)
    >>> (small.predict_proba(X) == forest.predict_proba(X)).all()
    np.True_
    >>> small.estimators_[0].tree_.impurity.any()
    np.False_
    """
    _check_supported(model)
    copied = copy.deepcopy(model)
    shared: dict[tuple[object, ...], object] = {}
    for part in reachable_objects(copied):
        if isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
            part.tree_ = _slim_tree(part.tree_)
            _share_class_labels(part, shared)
    return copied


def _share_class_labels(tree: BaseDecisionTree, shared: dict[tuple[object, ...], object]) -> None:
    """Let trees with equal classes refer to the same arrays, which files then store once."""
    for name in ("classes_", "n_classes_"):
        value = getattr(tree, name, None)
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
            key = (name, value.dtype.str, value.shape, value.tobytes())
            setattr(tree, name, shared.setdefault(key, value))


def _check_supported(model: object) -> None:
    """Raise an error if a model has no trees that can become slim, or others that cannot."""
    n_trees = 0
    for part in reachable_objects(model):
        module = type(part).__module__
        if isinstance(part, _OTHERS) or module.partition(".")[0] in _OTHER_LIBRARIES:
            _raise_unsupported(part, "its trees are not compared with float32 features only")
        if isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
            n_trees += 1
        is_owner = isinstance(part, BaseEstimator) and (
            isinstance(part, BaseDecisionTree)
            or any(isinstance(m, BaseDecisionTree) for m in _members(part))
        )
        if is_owner and not module.startswith("sklearn."):
            _raise_unsupported(part, "its predictions may need more than the leaves of its trees")
    if n_trees == 0:
        _raise_unsupported(model, "it has no fitted decision trees of scikit-learn")


def _members(estimator: BaseEstimator) -> list[object]:
    members = getattr(estimator, "estimators_", [])
    return list(np.ravel(members)) if isinstance(members, np.ndarray) else list(members)


def _raise_unsupported(part: object, reason: str) -> None:
    raise UnsupportedEnsembleError(
        f"{type(part).__name__} cannot be made slim: {reason}. Leave out {{slim}}.", slim=True
    )


def _slim_tree(tree: Tree) -> Tree:
    """Return a tree without the numbers that prediction does not read."""
    state = tree.__getstate__()
    values = state["values"].copy()
    # Nodes have seven bytes of padding, which a copy would fill with any content of the memory. It
    # could make compressed files twice as large.
    nodes = np.zeros(len(values), dtype=state["nodes"].dtype)
    for name in ("left_child", "right_child", "feature", "threshold", "missing_go_to_left"):
        nodes[name] = state["nodes"][name]
    is_inner = nodes["left_child"] != _LEAF
    # Where `has_missing_splits` finds it again.
    nodes["n_node_samples"][0] = has_missing_splits(tree)
    nodes["threshold"][is_inner] = round_down_to_float32(nodes["threshold"][is_inner])
    values[is_inner] = 0
    return rebuilt_tree(tree, state | {"nodes": nodes, "values": values})


def is_slim(tree: Tree) -> bool:
    """Return whether a tree has lost its numbers of samples."""
    return not tree.weighted_n_node_samples.any()


def has_missing_splits(tree: Tree) -> bool:
    """Return whether the nodes of a tree show that it was trained with missing values."""
    parents = np.flatnonzero(tree.children_left != _LEAF)
    sizes = tree.n_node_samples
    # Only a split between missing and other values has an infinite threshold.
    if np.isinf(tree.threshold[parents]).any():
        return True
    if is_slim(tree):
        return bool(sizes[0])
    # Without missing values in training, scikit-learn sends them to the child with more samples.
    larger = sizes[tree.children_left[parents]] > sizes[tree.children_right[parents]]
    return bool((tree.missing_go_to_left[parents].astype(bool) != larger).any())


def rebuilt_tree(tree: Tree, state: dict[str, object]) -> Tree:
    """Return a new tree with the features, classes and outputs of a tree, and another state."""
    constructor, arguments, _ = tree.__reduce__()
    rebuilt: Tree = constructor(*arguments)
    rebuilt.__setstate__(state)
    return rebuilt


def round_down_to_float32(thresholds: FloatArray) -> NDArray[np.float32]:
    """Return the largest float32 up to each threshold, which splits float32 samples equally."""
    with np.errstate(over="ignore"):  # thresholds beyond float32 become infinite, then the largest
        rounded = thresholds.astype(np.float32)
    is_above = rounded > thresholds
    rounded[is_above] = np.nextafter(rounded[is_above], np.float32(-np.inf))
    return rounded
