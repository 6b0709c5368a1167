"""Restore the weights in the leaves of exported forests and bagged trees.

The converters treat leaf values as counts and divide them by their sum. The leaves of weighted
trees have sums other than 1, which are restored here.
"""

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from sklearn import ensemble as kinds
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree._tree import Tree

from secateurs.typing import FloatArray

if TYPE_CHECKING:
    from onnx import ModelProto
    from treelite import Model as TreeliteModel

FORESTS = (
    kinds.RandomForestClassifier,
    kinds.ExtraTreesClassifier,
    kinds.RandomForestRegressor,
    kinds.ExtraTreesRegressor,
)


def leaf_totals(model: BaseEstimator) -> FloatArray | None:
    """Return the sum of the values in a leaf of each tree; None if all are 1 or do not matter.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs.persistence._weighted_trees import leaf_totals
    >>> forest = RandomForestClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    >>> leaf_totals(forest) is None
    True
    >>> forest.estimators_[1].tree_.value[:] *= 1.5
    >>> leaf_totals(forest)
    array([1. , 1.5])
    """
    if not isinstance(model, (*FORESTS, kinds.BaggingClassifier)):
        return None
    trees = [getattr(member, "tree_", None) for member in model.estimators_]
    if not isinstance(model, ClassifierMixin) or not all(isinstance(tree, Tree) for tree in trees):
        return None
    # A leaf, because slim trees have no values in inner nodes. The last node is always a leaf.
    totals = np.array([tree.value[-1, 0].sum() for tree in trees if tree is not None])
    # The tolerance only allows for rounding in sums of shares.
    return None if np.allclose(totals, 1, rtol=0, atol=1e-9) else totals


def restore_onnx_totals(converted: "ModelProto", model: BaseEstimator) -> None:
    """Restore the leaf totals of the trees of an ONNX model."""
    totals = leaf_totals(model)
    if totals is None:
        return
    graph, helper = converted.graph, import_module("onnx").helper
    nodes = [node for node in graph.node if node.op_type == "TreeEnsembleClassifier"]
    if isinstance(model, FORESTS):
        (forest_node,) = nodes  # all trees of a forest are in one node
        attributes = {attribute.name: attribute for attribute in forest_node.attribute}
        tree_totals = totals[attributes["class_treeids"].ints]
        weights = np.array(attributes["class_weights"].floats) * tree_totals
        attributes["class_weights"].floats[:] = weights.tolist()
        return
    # Bagging has a node for each tree: its probabilities are multiplied in a node after it.
    for index, (node, total) in enumerate(zip(nodes, totals, strict=True)):
        shares, factor = node.output[1], f"total_of_tree_{index}"
        node.output[1] = f"{shares}_of_tree"
        graph.initializer.append(helper.make_tensor(factor, 1, [1], [total]))
        product = helper.make_node("Mul", [node.output[1], factor], [shares])
        graph.node.insert(list(graph.node).index(node) + 1, product)


def restore_treelite_totals(converted: "TreeliteModel", model: BaseEstimator) -> None:
    """Restore the leaf totals of the trees of a treelite model."""
    totals = leaf_totals(model)
    for index, total in enumerate(() if totals is None else totals):
        tree = converted.get_tree_accessor(index)
        for name in ("leaf_vector", "leaf_value"):
            values = tree.get_field(name)
            tree.set_field(name, (values * total).astype(values.dtype))
