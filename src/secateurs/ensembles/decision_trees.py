"""Decision trees of scikit-learn: what they are, and copies with other values in their nodes."""

import copy
from typing import Any

from numpy.typing import ArrayLike
from sklearn import tree as kinds

_TREES = (
    kinds.DecisionTreeClassifier,
    kinds.ExtraTreeClassifier,
    kinds.DecisionTreeRegressor,
    kinds.ExtraTreeRegressor,
)


def is_tree(member: Any) -> bool:
    """Tell whether a member is a decision tree of scikit-learn itself."""
    return type(member) in _TREES


def with_node_values(tree: Any, values: ArrayLike) -> Any:
    """Return a copy of a tree with one output and these values in its nodes."""
    copied = copy.deepcopy(tree)
    copied.tree_.value[:, 0, :] = values
    return copied


def with_scaled_values(tree: Any, factor: float) -> Any:
    """Return a copy of a tree that answers with a multiple of its values."""
    return with_node_values(tree, factor * tree.tree_.value[:, 0, :])
