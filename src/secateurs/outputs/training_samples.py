"""Recognise samples: whether they are the training samples in their order, or were seen before."""

from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing

from secateurs.ensembles import Ensemble
from secateurs.exceptions import SecateursWarning
from secateurs.typing import Array, IndexArray, Samples

_MOST_TREES = 5  # number of trees checked, which bounds the time; one mismatch is enough to warn
_MOST_STRAY = 0.002  # fraction of samples in other leaves: features may have been rounded since
_MOST_LOSS = 0.1  # accuracy lost on a tree's own samples: labels may have been corrected since


def training_order_warning(
    ensemble: Ensemble, X: Samples, y: Array | None = None
) -> SecateursWarning | None:
    """Return a warning if X is not the training samples in their order; None if it is or unknown.

    A tree records how many training samples each leaf has, and how many of them it predicts
    correctly; other members keep no such record.
    """
    trees = [index for index, member in enumerate(ensemble.members) if hasattr(member, "tree_")]
    prepared, in_bag = ensemble.prepare_input(X), ensemble.in_bag_samples() if trees else []
    for member in trees[:_MOST_TREES]:
        tree = ensemble.members[member].tree_
        samples, counts = np.unique(in_bag[member], return_counts=True)
        if tree.n_node_samples[0] != len(samples):  # samples with weight 0 are not in the tree
            continue
        tree_input = _safe_indexing(ensemble.member_input(prepared, member), samples)
        leaves = ensemble.members[member].apply(tree_input)
        loss = 0.0 if y is None else _accuracy_loss(ensemble, member, leaves, y[samples], counts)
        if _stray_fraction(tree, leaves) > _MOST_STRAY or loss > _MOST_LOSS:
            return SecateursWarning(
                f"These are not the samples that member {member} was trained on, or not in their "
                "original order, so that {oob} cannot identify the samples a member has seen. Pass "
                "the training samples in their original order, or other samples without {oob}.",
                oob=...,
            )
    return None


def _stray_fraction(tree: Tree, leaves: IndexArray) -> float:
    """Return the fraction of samples that exceed the recorded number of samples in their leaf."""
    expected = np.where(tree.children_left == -1, tree.n_node_samples, 0)
    counts = np.bincount(leaves, minlength=len(expected))
    return float(np.maximum(counts - expected, 0).sum() / len(leaves))


def _accuracy_loss(
    ensemble: Ensemble, member: int, leaves: IndexArray, y: Array, counts: IndexArray
) -> float:
    """Return how much accuracy a tree has lost since its training; 0 if samples had weights."""
    tree = ensemble.members[member].tree_
    models = (ensemble.model, ensemble.members[member])
    is_weighted = any(getattr(model, "class_weight", None) is not None for model in models)
    if is_weighted or tree.weighted_n_node_samples[0] != counts.sum():
        return 0.0
    winners = tree.value[:, 0].argmax(axis=1)[leaves]
    is_right = ensemble.classes[ensemble.member_class_indices(member)[winners]] == y
    training_accuracy = tree.value[leaves, 0].max(axis=1)  # class fractions in each leaf
    return float(((training_accuracy - is_right) * counts).sum() / counts.sum())


def row_hashes(X: Samples) -> NDArray[np.uint64]:
    """Return a hash of each sample; equal rows have equal hashes."""
    if hasattr(X, "tocsr"):
        return _sparse_row_hashes(X.tocsr(copy=True))
    values = X if hasattr(X, "iloc") else np.asarray(X)
    if isinstance(values, np.ndarray):
        values = values.reshape(len(values), -1)
        if values.dtype.kind in "biuf":
            values = values.astype(np.float64, copy=False)  # equal numbers of any type hash alike
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(values), index=False))


def _sparse_row_hashes(X: Samples) -> NDArray[np.uint64]:
    """Return a hash of each row of a CSR matrix, which does not depend on explicit zeros."""
    X.sum_duplicates()
    X.eliminate_zeros()
    data, indices = X.data.astype(np.float64), X.indices.astype(np.int64)
    rows = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    digests = [
        blake2b(indices[start:stop].tobytes() + data[start:stop].tobytes(), digest_size=8).digest()
        for start, stop in rows
    ]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
