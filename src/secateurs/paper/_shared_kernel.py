"""Bagged RBF SVMs for two classes, trained on parts of one kernel matrix.

Every member of a bag of SVMs computes the kernel of the same rows again: on 18,000 rows that is
nearly all of the time. Here it is computed once for all members.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from secateurs.outputs._votes import Votes

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
        self._coefficients = np.zeros((len(X), self.n_members))
        self._intercepts = np.zeros(self.n_members)
        space = np.empty(0)
        for member, sample in enumerate(bags.estimators_samples_):
            rows, times = np.unique(sample, return_counts=True)
            if len(space) < len(rows) ** 2:
                space = np.empty(len(rows) ** 2)
            part = space[: len(rows) ** 2].reshape(len(rows), -1)
            for place, row in enumerate(rows):
                np.take(kernel[row], rows, out=part[place], mode="clip")
            svm = SVC(kernel="precomputed").fit(part, y[rows], sample_weight=times)
            self._coefficients[rows[svm.support_], member] = svm.dual_coef_[0]
            self._intercepts[member] = svm.intercept_[0]
        return self

    def votes(self, X: NDArray[np.float64], y: NDArray[np.str_]) -> Votes:
        """Return the votes on labelled rows."""
        codes = np.empty((self.n_members, len(X)), dtype=np.uint8)
        for start in range(0, len(X), _BLOCK):
            block = slice(start, start + _BLOCK)
            sums = rbf_kernel(X[block], self._X) @ self._coefficients + self._intercepts
            codes[:, block] = sums.T > 0
        return Votes.from_codes(codes, self._classes, y)
