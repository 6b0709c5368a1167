"""Bagged RBF SVMs for two classes, trained on parts of one kernel matrix.

Every member of a bag of SVMs computes the kernel of the same rows again: on 18,000 rows that is
nearly all of the time. Here it is computed once for all members. Rows far from all others, with a
kernel of 0, are taken together: the dual variables of those that are alike are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from secateurs.outputs.votes import Votes

MOST_ROWS = 20_000  # their kernel matrix takes 3.2 GB
_BLOCK = 500  # rows whose kernel is computed at a time, to vote


class SharedKernelSVMs:
    """Train and ask what ``BaggingClassifier(SVC(gamma="auto"))`` would, in less time.

    Parameters
    ----------
    n_members : int
        Number of SVMs.
    random_state : int
        Seed of the bags, which are those of a `BaggingClassifier` with this seed.
    """

    def __init__(self, n_members: int, random_state: int) -> None:
        self.n_members = n_members
        self.random_state = random_state

    def fit(self, X: NDArray[np.float64], y: NDArray[np.str_]) -> SharedKernelSVMs:
        """Train on labels of two classes."""
        bags = BaggingClassifier(
            DummyClassifier(), n_estimators=self.n_members, random_state=self.random_state
        ).fit(X, y)
        self._X, self._classes = X, bags.classes_
        kernel = rbf_kernel(X)  # gamma: one by the number of features
        alone = np.count_nonzero(kernel, axis=1) == 1
        self._coefficients = np.zeros((len(X), self.n_members))
        self._intercepts = np.zeros(self.n_members)
        for member, sample in enumerate(bags.estimators_samples_):
            rows, times = np.unique(sample, return_counts=True)
            first, groups, size = _group_alike(y[rows], times, alone[rows])
            # As one row, n alike have the n-th part of its kernel and n times its weight.
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
        """Return the votes on labelled rows."""
        codes = np.empty((self.n_members, len(X)), dtype=np.uint8)
        for start in range(0, len(X), _BLOCK):
            block = slice(start, start + _BLOCK)
            sums = rbf_kernel(X[block], self._X) @ self._coefficients + self._intercepts
            codes[:, block] = sums.T > 0
        return Votes.from_codes(codes, self._classes, y)


def _group_alike(
    y: NDArray[np.str_], times: NDArray[np.int64], alone: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], ...]:
    """Group rows that an SVM must treat alike; return first rows, groups of rows, and sizes.

    Those are rows whose kernel with any other row is 0, of the same class and drawn as often. On
    raw values that is nearly every row of some data sets. Any other row is a group of its own.
    """
    keys = np.unique(y, return_inverse=True)[1] + 2 * times
    keys = np.where(alone, keys, -1 - np.arange(len(y)))
    return np.unique(keys, return_index=True, return_inverse=True, return_counts=True)[1:]
