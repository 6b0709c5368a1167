"""Bagged RBF SVMs for two classes, trained on parts of one shared kernel matrix.

In scikit-learn, every SVM of a bag computes the kernel of the same samples again, which takes
nearly all of the time on 18,000 samples. Here the kernel is computed once for all members. Samples
that are far from all others (kernel 0) and equal in class and weight have equal dual variables, so
each group of such samples is trained as a single sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from secateurs.outputs.votes import Votes

MAX_SAMPLES = 20_000  # bounds the memory of the kernel matrix to 3.2 GB
_BLOCK = 500  # samples per block when voting: bounds a block of kernels to 80 MB


class SharedKernelSVMs:
    """The bag of ``BaggingClassifier(SVC(gamma="auto"))`` with the same seed, in less time."""

    def __init__(self, n_members: int, random_state: int) -> None:
        self.n_members = n_members
        self.random_state = random_state

    def fit(self, X: NDArray[np.float64], y: NDArray[np.str_]) -> SharedKernelSVMs:
        """Train the SVMs on samples of two classes."""
        # A bag of dummies draws the same samples as a bag of SVMs with this seed.
        bags = BaggingClassifier(
            DummyClassifier(), n_estimators=self.n_members, random_state=self.random_state
        ).fit(X, y)
        self._X, self._classes = X, bags.classes_
        kernel = rbf_kernel(X)  # gamma defaults to 1 / n_features, as gamma="auto" of SVC
        alone = np.count_nonzero(kernel, axis=1) == 1
        self._coefficients = np.zeros((len(X), self.n_members))
        self._intercepts = np.zeros(self.n_members)
        for member, sample in enumerate(bags.estimators_samples_):
            rows, times = np.unique(sample, return_counts=True)
            first, groups, size = _group_equal_duals(y[rows], times, alone[rows])
            # A group of n equal samples becomes one sample of kernel 1/n and n times the weight.
            part = kernel[np.ix_(rows[first], rows[first])]
            np.fill_diagonal(part, 1 / size)
            svm = SVC(kernel="precomputed")
            svm.fit(part, y[rows[first]], sample_weight=size * times[first])
            duals = np.zeros(len(size))
            duals[svm.support_] = svm.dual_coef_[0]
            self._coefficients[rows, member] = (duals / size)[groups]
            self._intercepts[member] = svm.intercept_[0]
        return self

    def predict_votes(self, X: NDArray[np.float64], y: NDArray[np.str_]) -> Votes:
        """Return the votes on labelled samples."""
        codes = np.empty((self.n_members, len(X)), dtype=np.uint8)
        for start in range(0, len(X), _BLOCK):
            block = slice(start, start + _BLOCK)
            sums = rbf_kernel(X[block], self._X) @ self._coefficients + self._intercepts
            codes[:, block] = sums.T > 0
        return Votes.from_codes(codes, self._classes, y)


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
