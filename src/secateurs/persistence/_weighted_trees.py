"""Trees with weights in their leaves, in exported forests and bagged trees.

Converters take the values in leaves for counts, and divide them by their sum. Trees with weights
have other sums than 1, which are given back here.
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as kinds
from sklearn.base import ClassifierMixin
from sklearn.tree._tree import Tree

FORESTS = (
    kinds.RandomForestClassifier,
    kinds.ExtraTreesClassifier,
    kinds.RandomForestRegressor,
    kinds.ExtraTreesRegressor,
)


def leaf_totals(model: Any) -> NDArray[np.float64] | None:
    """Return what the values in a leaf of each tree add up to; None where that is 1, or no matter.

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
    if not isinstance(model, ClassifierMixin) or not all(isinstance(one, Tree) for one in trees):
        return None
    totals = np.array([tree.value[0, 0].sum() for tree in trees if tree is not None])
    return None if np.allclose(totals, 1, rtol=0, atol=1e-9) else totals


def restore_onnx_totals(converted: Any, model: Any) -> None:
    """Restore the totals of the trees of an ONNX model."""
    totals = leaf_totals(model)
    if totals is None:
        return
    graph, helper = converted.graph, import_module("onnx").helper
    nodes = [node for node in graph.node if node.op_type == "TreeEnsembleClassifier"]
    if isinstance(model, FORESTS):
        (of_forest,) = nodes
        given = {each.name: each for each in of_forest.attribute}
        weights = np.array(given["class_weights"].floats) * totals[given["class_treeids"].ints]
        given["class_weights"].floats[:] = weights.tolist()
        return
    for place, (node, total) in enumerate(zip(nodes, totals, strict=True)):
        shares, factor = node.output[1], f"total_of_tree_{place}"
        node.output[1] = f"{shares}_of_tree"
        graph.initializer.append(helper.make_tensor(factor, 1, [1], [total]))
        product = helper.make_node("Mul", [node.output[1], factor], [shares])
        graph.node.insert(list(graph.node).index(node) + 1, product)


def restore_treelite_totals(converted: Any, model: Any) -> None:
    """Restore the totals of the trees of a treelite model."""
    totals = leaf_totals(model)
    for place, total in enumerate(() if totals is None else totals):
        tree = converted.get_tree_accessor(place)
        for name in ("leaf_vector", "leaf_value"):
            values = tree.get_field(name)
            tree.set_field(name, (values * total).astype(values.dtype))
