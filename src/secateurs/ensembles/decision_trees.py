"""Decision trees of scikit-learn: recognise them, and copy them with other values or branches."""

import copy
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn import tree as kinds
from sklearn.tree._tree import Tree

from secateurs.persistence.slim_models import rebuilt_tree
from secateurs.typing import BoolArray, IndexArray

DecisionTree: TypeAlias = kinds.BaseDecisionTree

_TREES = (
    kinds.DecisionTreeClassifier,
    kinds.ExtraTreeClassifier,
    kinds.DecisionTreeRegressor,
    kinds.ExtraTreeRegressor,
)
_LEAF, _NO_FEATURE = -1, -2  # child and feature of a leaf, as in scikit-learn


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


def with_pruned_branches(
    tree: DecisionTree, is_split: BoolArray, values: ArrayLike
) -> DecisionTree:
    """Return a copy of a tree in which only some nodes are split, with these values in its nodes.

    ``is_split`` and ``values`` have an entry for each node of the original tree; nodes below a node
    that is not split are left out. The counts and impurities of the other nodes stay.
    """
    state = tree.tree_.__getstate__()
    nodes = state["nodes"]
    kept, depth = _reachable_nodes(tree.tree_, is_split)
    new_index = np.full(len(nodes), _LEAF, dtype=nodes["left_child"].dtype)
    new_index[kept] = np.arange(len(kept))
    new_nodes, has_children = nodes[kept], is_split[kept]
    for name in ("left_child", "right_child"):
        new_nodes[name] = np.where(has_children, new_index[new_nodes[name]], _LEAF)
    new_nodes["feature"][~has_children] = _NO_FEATURE
    new_nodes["threshold"][~has_children] = _NO_FEATURE
    new_nodes["missing_go_to_left"][~has_children] = 0
    new_values = np.ascontiguousarray(state["values"][kept])
    new_values[:, 0, :] = np.asarray(values)[kept]
    copied = copy.copy(tree)
    copied.tree_ = rebuilt_tree(
        tree.tree_,
        state
        | {"nodes": new_nodes, "values": new_values, "node_count": len(kept), "max_depth": depth},
    )
    return copied


def _reachable_nodes(tree: Tree, is_split: BoolArray) -> tuple[IndexArray, int]:
    """Return the nodes that samples still reach, in their order, and the depth."""
    level, depth = np.zeros(1, dtype=np.intp), 0
    levels = [level]
    while (inner := level[is_split[level]]).size:
        level = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
        levels.append(level)
        depth += 1
    return np.sort(np.concatenate(levels)), depth
