"""Bagged RBF SVMs for two classes, trained on parts of one shared kernel matrix.

In scikit-learn, every SVM of a bag computes the kernel of the same samples again, which takes
nearly all of the time on 18,000 samples. Here the kernel is computed once for all members, and only
among samples that are near another sample. Samples that are far from all others (kernel 0) and
equal in class and weight have equal dual variables, so each group of such samples is trained as a
single sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KDTree
from sklearn.svm import SVC

from secateurs.outputs.votes import Votes

MAX_SAMPLES = 20_000  # bounds the memory of the kernel matrix to 3.2 GB
_BLOCK = 500  # samples per block when voting: bounds a block of kernels to 80 MB
_VANISHING = 746.0  # exp(-746) is 0 in floating point


class SharedKernelSVMs:
    """``SVC(gamma="auto")`` trained on each bag, in less time."""

    def fit(
        self, X: NDArray[np.float64], y: NDArray[np.str_], bags: Sequence[NDArray[np.integer]]
    ) -> SharedKernelSVMs:
        """Train an SVM on each bag, given as sample indices; there are two classes."""
        self._X, self._classes = X, np.unique(y)
        self._tree = KDTree(X)
        near = self._count_neighbours(X) > 1  # each sample is its own neighbour
        kernel = rbf_kernel(X[near])  # gamma defaults to 1 / n_features, as gamma="auto" of SVC
        position = np.cumsum(near) - 1
        self._coefficients = np.zeros((len(X), len(bags)))
        self._intercepts = np.zeros(len(bags))
        for member, bag in enumerate(bags):
            rows, times = np.unique(bag, return_counts=True)
            first, groups, size = _group_equal_duals(y[rows], times, ~near[rows])
            samples = rows[first]
            part = np.zeros((len(samples), len(samples)))
            block = near[samples]
            part[np.ix_(block, block)] = kernel[np.ix_(*2 * (position[samples[block]],))]
            # A group of n equal samples becomes one sample of kernel 1/n and n times the weight.
            np.fill_diagonal(part, 1 / size)
            svm = SVC(kernel="precomputed")
            svm.fit(part, y[samples], sample_weight=size * times[first])
            duals = np.zeros(len(size))
            duals[svm.support_] = svm.dual_coef_[0]
            self._coefficients[rows, member] = (duals / size)[groups]
            self._intercepts[member] = svm.intercept_[0]
        return self

    def predict_votes(self, X: NDArray[np.float64], y: NDArray[np.str_]) -> Votes:
        """Return the votes on labelled samples."""
        sums = np.tile(self._intercepts, (len(X), 1))
        near = np.flatnonzero(self._count_neighbours(X))
        for start in range(0, len(near), _BLOCK):
            block = near[start : start + _BLOCK]
            sums[block] += rbf_kernel(X[block], self._X) @ self._coefficients
        return Votes.from_codes((sums.T > 0).astype(np.uint8), self._classes, y)

    def _count_neighbours(self, X: NDArray[np.float64]) -> NDArray[np.integer]:
        """Return the number of training samples whose kernel with each sample is not 0."""
        radius = float(np.sqrt(_VANISHING * X.shape[1]))
        counts: NDArray[np.integer] = self._tree.query_radius(X, radius, count_only=True)
        return counts


def _group_equal_duals(
    y: NDArray[np.str_], times: NDArray[np.int64], alone: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], ...]:
    """Group samples with equal dual variables; return first samples, group indices and sizes.

    These are samples of the same class, drawn equally often, whose kernel with any other sample is
    0: nearly all samples of some unscaled data sets. Any other sample is a group of its own.
    """
    keys = np.unique(y, return_inverse=True)[1] + 2 * times
    keys = np.where(alone, keys, -1 - np.arange(len(y)))
    return np.unique(keys, return_index=True, return_inverse=True, return_counts=True)[1:]
