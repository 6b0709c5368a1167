"""Fit the values in the leaves of trees so that the average of the trees is close to a target.

For samples i with weights ω, k trees with leaf values v, and targets F, minimise

    Σᵢ ωᵢ ‖(1/k) Σₜ vₜ[leafₜ(xᵢ)] − F(xᵢ)‖²  +  (λ/k²) Σ ‖v − v⁰‖²

over all leaves; for classes, each v is a distribution. A sample is in one leaf of each tree, so
that all leaves of a tree reach their exact minimum at the same time while the other trees are
fixed. The objective therefore never rises from tree to tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateurs.progress import report_progress
from secateurs.typing import Array, BoolArray, FloatArray


@dataclass
class LeafFit:
    """Trees whose leaves are being fitted."""

    leaves: Sequence[Array]  # for each tree, the leaf of each sample
    values: list[FloatArray]  # for each tree, (n_nodes, n_outputs); replaced by the fitted values
    target: FloatArray  # of the average: (n_samples, n_outputs)
    weights: FloatArray  # of the samples (ω)
    prior: float = 1.0  # weight of the initial leaf values (λ)
    # For each tree, a mask of its classes, over which values are distributions; None in regression.
    allowed: Sequence[BoolArray] | None = None

    def __post_init__(self) -> None:
        self._initial_values = [values.copy() for values in self.values]
        self._prediction_sums = np.zeros_like(self.target)
        for leaves, values in zip(self.leaves, self.values, strict=True):
            self._prediction_sums += values[leaves]

    @property
    def objective(self) -> float:
        """The objective at the current values."""
        k = len(self.values)
        errors = ((self._prediction_sums / k - self.target) ** 2).sum(axis=1)
        distance = sum(
            float(((values - initial) ** 2).sum())
            for values, initial in zip(self.values, self._initial_values, strict=True)
        )
        return float(self.weights @ errors) + self.prior / k**2 * distance

    def sweep(self) -> float:
        """Fit the leaves of the trees one after the other; return the largest change of a value."""
        return max(self._fit_tree(tree) for tree in range(len(self.values)))

    def _fit_tree(self, tree: int) -> float:
        leaves, old = self.leaves[tree], self.values[tree]
        n_nodes, n_outputs = old.shape
        wanted = len(self.values) * self.target - self._prediction_sums + old[leaves]
        total = np.bincount(leaves, self.weights, n_nodes)
        new = np.empty_like(old)
        for output in range(n_outputs):
            new[:, output] = np.bincount(leaves, self.weights * wanted[:, output], n_nodes)
        new = (new + self.prior * self._initial_values[tree]) / (total + self.prior)[:, None]
        if self.allowed is not None:
            allowed = self.allowed[tree]
            new[:, allowed] = project_to_simplex(new[:, allowed])
            new[:, ~allowed] = 0.0
        self._prediction_sums += (new - old)[leaves]
        self.values[tree] = new
        return float(np.abs(new - old)[np.unique(leaves)].max(initial=0.0))


def fit_leaves(fit: LeafFit, n_sweeps: int, tolerance: float = 1e-4) -> int:
    """Sweep over the trees until no value changes by more than a tolerance; return the count."""
    # The default tolerance saves sweeps that would hardly change a probability.
    for sweep in range(n_sweeps):
        change = fit.sweep()
        report_progress(sweep + 1, n_sweeps)
        if change <= tolerance:
            return sweep + 1
    return n_sweeps


def project_to_simplex(points: FloatArray) -> FloatArray:
    """Return the distribution closest to each row: non-negative, with a sum of 1 [1]_.

    References
    ----------
    .. [1] Duchi et al. "Efficient projections onto the l1-ball for learning in high dimensions".
       ICML 2008.
    """
    ordered = -np.sort(-points, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    counts = np.arange(1, points.shape[1] + 1)
    n_positive = np.count_nonzero(ordered * counts > excess, axis=1)
    threshold = excess[np.arange(len(points)), n_positive - 1] / n_positive
    return np.maximum(points - threshold[:, None], 0.0)
