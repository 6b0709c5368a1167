"""Rows recognised: whether rows are the training rows, in their order, or rows seen before."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from secateurs.ensembles import Ensemble
from secateurs.exceptions import SecateursWarning
from secateurs.typing import Array

_MOST_TREES = 5  # that are asked
_STRAYS = 0.002  # fraction of rows that may be in other leaves: values that were rounded since
_MISSED = 0.1  # accuracy that a tree may lose on its own rows: labels that were corrected since


def training_order_warning(
    ensemble: Ensemble, X: Any, y: Array | None = None
) -> SecateursWarning | None:
    """Return a warning if rows are not the training rows in their order; None if nobody knows.

    A tree knows how many training rows each leaf got, and how many of them it labels rightly; other
    members keep no such record.
    """
    trees = [index for index, one in enumerate(ensemble.members) if hasattr(one, "tree_")]
    prepared, drawn = ensemble.prepare_input(X), ensemble.in_bag_samples() if trees else []
    for member in trees[:_MOST_TREES]:
        tree = ensemble.members[member].tree_
        rows, times = np.unique(drawn[member], return_counts=True)
        if tree.n_node_samples[0] != len(rows):  # some had no weight
            continue
        seen = _safe_indexing(ensemble.member_input(prepared, member), rows)
        leaves = ensemble.members[member].apply(seen)
        missed = 0.0 if y is None else _accuracy_loss(ensemble, member, leaves, y[rows], times)
        if _stray_fraction(tree, leaves) > _STRAYS or missed > _MISSED:
            return SecateursWarning(
                f"These are not the rows that member {member} was trained on, or not in their "
                "order, so {oob} does not tell which rows a member has seen. Give the training "
                "rows in their order, or other rows without {oob}.",
                oob=...,
            )
    return None


def _stray_fraction(tree: Any, leaves: NDArray[np.intp]) -> float:
    """Return the fraction of rows that are too many in their leaf."""
    expected = np.where(tree.children_left == -1, tree.n_node_samples, 0)
    found = np.bincount(leaves, minlength=len(expected))
    return float(np.maximum(found - expected, 0).sum() / len(leaves))


def _accuracy_loss(
    ensemble: Ensemble, member: int, leaves: NDArray[np.intp], y: Array, times: NDArray[np.intp]
) -> float:
    """Return how much less accurate a tree is than it was in training; 0 where rows had weights."""
    tree = ensemble.members[member].tree_
    models = (ensemble.model, ensemble.members[member])
    weighted = any(getattr(model, "class_weight", None) is not None for model in models)
    if weighted or tree.weighted_n_node_samples[0] != times.sum():
        return 0.0
    winners = tree.value[:, 0].argmax(axis=1)[leaves]
    right = ensemble.classes[ensemble.member_class_indices(member)[winners]] == y
    known = tree.value[leaves, 0].max(axis=1)  # fractions of the classes in each leaf
    return float(((known - right) * times).sum() / times.sum())


def row_hashes(X: Any) -> NDArray[np.uint64] | None:
    """Return a hash of each row; None where rows cannot be compared (sparse, predictions)."""
    if X is None or hasattr(X, "tocsr"):
        return None
    values = X if hasattr(X, "iloc") else np.asarray(X)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        values = values.astype(np.float64, copy=False)  # equal numbers of any type hash alike
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(values), index=False))
