"""Decision trees of scikit-learn: recognise them, and copy them with other node values."""

import copy
from typing import TypeAlias

from numpy.typing import ArrayLike
from sklearn import tree as kinds

DecisionTree: TypeAlias = kinds.BaseDecisionTree

_TREES = (
    kinds.DecisionTreeClassifier,
    kinds.ExtraTreeClassifier,
    kinds.DecisionTreeRegressor,
    kinds.ExtraTreeRegressor,
)


def is_tree(member: object) -> bool:
    """Return whether a member is a decision tree of scikit-learn itself, not of a subclass."""
    return type(member) in _TREES


def with_node_values(tree: DecisionTree, values: ArrayLike) -> DecisionTree:
    """Return a copy of a tree with one output and these values in its nodes."""
    copied = copy.deepcopy(tree)
    copied.tree_.value[:, 0, :] = values
    return copied


def with_scaled_values(tree: DecisionTree, factor: float) -> DecisionTree:
    """Return a copy of a tree whose node values are multiplied by a factor."""
    return with_node_values(tree, factor * tree.tree_.value[:, 0, :])
