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
from secateurs.refitting.refit_kernels import add_leaf_sums, subtract_values
from secateurs.refitting.value_limits import ValueLimits
from secateurs.typing import Array, FloatArray


@dataclass
class LeafFit:
    """Trees whose leaves are being fitted."""

    leaves: Sequence[Array]  # for each tree, the leaf of each sample
    values: list[FloatArray]  # for each tree, (n_nodes, n_outputs); replaced by the fitted values
    target: FloatArray  # of the average: (n_samples, n_outputs)
    weights: FloatArray  # of the samples (ω)
    prior: float = 1.0  # weight of the initial leaf values (λ)
    limits: Sequence[ValueLimits] | None = None  # for each tree, the values its nodes may have

    def __post_init__(self) -> None:
        self._initial_values = [values.copy() for values in self.values]
        k = len(self.values)
        # k · F minus the sum of the trees' predictions, kept up to date.
        self._residuals = k * np.asarray(self.target, dtype=np.float64)
        self._leaf_weights = []
        for leaves, values in zip(self.leaves, self.values, strict=True):
            subtract_values(leaves, values, self._residuals)
            self._leaf_weights.append(np.bincount(leaves, self.weights, len(values)))

    @property
    def objective(self) -> float:
        """The objective at the current values."""
        k = len(self.values)
        errors = ((self._residuals / k) ** 2).sum(axis=1)
        distance = sum(
            float(((values - initial) ** 2).sum())
            for values, initial in zip(self.values, self._initial_values, strict=True)
        )
        return float(self.weights @ errors) + self.prior / k**2 * distance

    def sweep(self) -> float:
        """Fit the leaves of the trees one after the other; return the largest change of a value."""
        return max(self._fit_tree(tree) for tree in range(len(self.values)))

    def _fit_tree(self, tree: int) -> float:
        leaves, old, total = self.leaves[tree], self.values[tree], self._leaf_weights[tree][:, None]
        sums = np.zeros_like(old)
        add_leaf_sums(leaves, self.weights, self._residuals, sums)
        new = (sums + total * old + self.prior * self._initial_values[tree]) / (total + self.prior)
        if self.limits is not None:
            new = self.limits[tree].nearest(new)
        subtract_values(leaves, new - old, self._residuals)
        self.values[tree] = new
        return float(np.abs(new - old)[total[:, 0] > 0].max(initial=0.0))


def fit_leaves(fit: LeafFit, n_sweeps: int, tolerance: float = 1e-4) -> int:
    """Sweep over the trees until no value changes by more than a tolerance; return the count."""
    # The default tolerance saves sweeps that would hardly change a probability.
    for sweep in range(n_sweeps):
        change = fit.sweep()
        report_progress(sweep + 1, n_sweeps)
        if change <= tolerance:
            return sweep + 1
    return n_sweeps
