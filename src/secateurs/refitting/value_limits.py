"""The values that the nodes of a tree may have: distributions, and values within limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.tree._tree import Tree

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.persistence.slim_models import is_slim
from secateurs.typing import Array, BoolArray, FloatArray

_NO_LIMIT = (-np.inf, np.inf)
_ROUNDING = 1e-12  # of the sum of a distribution


@dataclass(frozen=True, eq=False)
class ValueLimits:
    """The values that the nodes of a tree may have.

    ``classes`` is a mask of the classes that the tree knows, over which values are distributions;
    None in regression. ``low`` and ``high`` limit the first output of each node: the value of a
    regressor, or in a binary classification the probability of the first class.
    """

    classes: BoolArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None

    @property
    def are_free(self) -> bool:
        """Whether any value is allowed."""
        return self.classes is None and self.low is None

    def nearest(self, values: FloatArray) -> FloatArray:
        """Return the nearest allowed value of each node: (n_nodes, n_outputs)."""
        if self.classes is None:
            return values if self.low is None else np.clip(values, self.low, self.high)
        allowed = np.zeros_like(values)
        allowed[:, self.classes] = project_to_simplex(values[:, self.classes])
        if self.low is not None:  # two classes, so that the first one determines the second one
            allowed[:, :1] = np.clip(allowed[:, :1], self.low, self.high)
            allowed[:, 1] = 1 - allowed[:, 0]
        return allowed


def node_limits(ensemble: Ensemble, member: int) -> ValueLimits:
    """Return the values that the nodes of a tree may have so that the ensemble stays valid.

    Classifiers need distributions. Trees with monotonic constraints need values within the limits
    that were used to grow them: at a split on a constrained feature, the mean of the values of the
    two children separates the two subtrees.
    """
    tree = ensemble.members[member]
    constraints = getattr(tree, "monotonic_cst", None)
    signs = None if constraints is None else np.asarray(constraints)
    classes = None
    if not ensemble.is_regression:
        classes = np.zeros(len(ensemble.classes), dtype=bool)
        classes[ensemble.member_class_indices(member)] = True
        if signs is not None:
            # The constraint is on the second class; the limits are on the first. A tree that has
            # seen one class only has no split.
            signs = -signs
    is_nonnegative = ensemble.is_regression and tree.criterion == "poisson"
    if signs is None and not is_nonnegative:
        return ValueLimits(classes)
    nodes = tree.tree_
    low, high = np.empty((2, nodes.node_count, 1))
    low[:], high[:] = (0.0, np.inf) if is_nonnegative else _NO_LIMIT
    if signs is not None and nodes.node_count > 1:
        if is_slim(nodes):
            raise InputError(
                "A slim tree with monotonic constraints has lost the values of its inner nodes. "
                "Use the model from before it was made slim."
            )
        _separate_subtrees(nodes, signs, low, high)
    return ValueLimits(classes, low, high)


def _separate_subtrees(nodes: Tree, signs: Array, low: FloatArray, high: FloatArray) -> None:
    """Pass limits from each node to its children, which have larger indices than the node."""
    first_output = nodes.value[:, 0, 0]
    for node in np.flatnonzero(nodes.children_left >= 0):
        left, right = nodes.children_left[node], nodes.children_right[node]
        low[left], high[left] = low[right], high[right] = low[node], high[node]
        sign = signs[nodes.feature[node]]
        if sign == 0:
            continue
        middle = (first_output[left] + first_output[right]) / 2
        if sign > 0:
            high[left], low[right] = middle, middle
        else:
            low[left], high[right] = middle, middle


def project_to_simplex(points: FloatArray) -> FloatArray:
    """Return the distribution closest to each row: non-negative, with a sum of 1 [1]_.

    References
    ----------
    .. [1] Duchi et al. "Efficient projections onto the l1-ball for learning in high dimensions".
       ICML 2008.
    """
    # Most leaf values are distributions already, and sorting takes most of the time.
    is_outside = np.abs(points.sum(axis=1) - 1) > _ROUNDING
    # scikit-learn's log loss rejects probabilities above 1, even by rounding.
    is_outside |= (points.min(axis=1, initial=0.0) < 0) | (points.max(axis=1, initial=1.0) > 1)
    if not is_outside.all():
        projected = points.copy()
        if is_outside.any():
            projected[is_outside] = project_to_simplex(points[is_outside])
        return projected
    ordered = -np.sort(-points, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    counts = np.arange(1, points.shape[1] + 1)
    n_positive = np.count_nonzero(ordered * counts > excess, axis=1)
    threshold = excess[np.arange(len(points)), n_positive - 1] / n_positive
    return np.clip(points - threshold[:, None], 0.0, 1.0)
