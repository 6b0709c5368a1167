"""Values in the leaves of trees, fitted so that the trees' average is near a target.

For rows i with weights ω, k trees with values v in their leaves, and targets F, minimise

    Σᵢ ωᵢ ‖(1/k) Σₜ vₜ[leafₜ(xᵢ)] − F(xᵢ)‖²  +  (λ/k²) Σ ‖v − v⁰‖²

over all leaves, each v a distribution for classes. The rows of different leaves of a tree are
different rows, so that all leaves of a tree have their exact minimum at once, the other trees
fixed; sweeping over the trees never lets the objective rise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateurs.progress import report_progress
from secateurs.typing import Array

Floats = NDArray[np.float64]


@dataclass
class LeafFit:
    """Trees whose leaves are being fitted.

    Parameters
    ----------
    leaves : sequence of ndarray of shape (n_rows,)
        The node that each row ends in, tree by tree.
    values : list of ndarray of shape (n_nodes, n_outputs)
        The values of each tree's nodes; replaced by those fitted.
    target : ndarray of shape (n_rows, n_outputs)
        What the average is to be near.
    weights : ndarray of shape (n_rows,)
        Weights of the rows (ω).
    prior : float
        Weight of the values that the leaves have at first (λ).
    allowed : sequence of ndarray of shape (n_outputs,), optional
        Which classes a tree knows, so that values are distributions over these; None for numbers,
        which may be anything.
    """

    leaves: Sequence[Array]
    values: list[Floats]
    target: Floats
    weights: Floats
    prior: float = 1.0
    allowed: Sequence[NDArray[np.bool_]] | None = None

    def __post_init__(self) -> None:
        self._initial_values = [values.copy() for values in self.values]
        self._prediction_sums = np.zeros_like(self.target)
        for leaves, values in zip(self.leaves, self.values, strict=True):
            self._prediction_sums += values[leaves]

    @property
    def objective(self) -> float:
        """The objective at the present values."""
        k = len(self.values)
        off = ((self._prediction_sums / k - self.target) ** 2).sum(axis=1)
        moved = sum(
            float(((now - first) ** 2).sum())
            for now, first in zip(self.values, self._initial_values, strict=True)
        )
        return float(self.weights @ off) + self.prior / k**2 * moved

    def sweep(self) -> float:
        """Fit the leaves of each tree in turn; return the largest change of a value."""
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
            known = self.allowed[tree]
            new[:, known] = project_to_simplex(new[:, known])
            new[:, ~known] = 0.0
        self._prediction_sums += (new - old)[leaves]
        self.values[tree] = new
        return float(np.abs(new - old)[np.unique(leaves)].max(initial=0.0))


def fit_leaves(fit: LeafFit, n_sweeps: int, tolerance: float = 1e-4) -> int:
    """Sweep over the trees until no value changes by more than a tolerance; return how often."""
    for sweep in range(n_sweeps):
        change = fit.sweep()
        report_progress(sweep + 1, n_sweeps)
        if change <= tolerance:
            return sweep + 1
    return n_sweeps


def project_to_simplex(points: Floats) -> Floats:
    """Return the nearest distribution to each row: not negative, with a sum of 1 [1]_.

    References
    ----------
    .. [1] Duchi et al. "Efficient projections onto the l1-ball for learning in high dimensions".
       ICML 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.refitting._leaf_fit import project_to_simplex
    >>> project_to_simplex(np.array([[0.5, 0.9], [2.0, 0.0]]))
    array([[0.3, 0.7],
           [1. , 0. ]])
    """
    ordered = -np.sort(-points, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    counts = np.arange(1, points.shape[1] + 1)
    n_positive = np.count_nonzero(ordered * counts > excess, axis=1)
    threshold = excess[np.arange(len(points)), n_positive - 1] / n_positive
    return np.maximum(points - threshold[:, None], 0.0)
