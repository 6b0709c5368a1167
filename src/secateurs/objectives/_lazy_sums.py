"""Sums over the pairs with selected members, computed only for members that may be the best."""

from __future__ import annotations

import numpy as np

from secateurs.measures.member_errors import PredictionErrors
from secateurs.measures.pair_measure import Counts, Floats
from secateurs.typing import Array, BoolArray, IndexArray

_FIRST_MEMBERS = 8  # computed before bounds are compared; four times as many in each round after it
_TRIAL_STEPS = 6  # before lazy evaluation is given up; the first three complete many sums anyway
_MARGIN = 1e-9  # relative; larger than differences that count as ties
_ROUNDING = 1e-9  # relative; larger than the rounding errors of differences of squares
_LEAST_SQUARE = 1e-6  # relative; rounding errors of larger squares are below _ROUNDING


class LazySums:
    """Sums of −G of all members with the selected members, with lazy evaluation [1]_.

    A member that was far behind some steps ago need not be compared in each step. Let e be its
    errors, u the sum of the errors of the selected members that its sum includes, and v the sum of
    those it lacks. By the Cauchy–Schwarz inequality for the parts that are orthogonal to u,

        ⟨e, v⟩ ≥ ⟨e, u⟩⟨u, v⟩ / |u|² − √(|e|² − ⟨e, u⟩² / |u|²) · √(|v|² − ⟨u, v⟩² / |u|²).

    All products on the right are known. If the member cannot be the best with this bound, its sum
    is left as it is. Otherwise its predictions are read once for all the pairs that it lacks, whose
    values are added in the order of the selection, so that the sums are those of a search that
    computes all pairs, to the last bit.

    References
    ----------
    .. [1] Minoux. "Accelerated greedy algorithms for maximizing submodular set functions".
       Optimization Techniques 1978.
    """

    def __init__(self, errors: PredictionErrors, own_values: Floats) -> None:
        self._errors, self._own_values = errors, own_values  # own_values: −G(i, i) / 2
        self.sums = np.zeros(errors.n_members)
        self._n_completed = 0  # sums, over all steps
        self._n_included = np.zeros(errors.n_members, dtype=np.intp)
        self._selected: list[int] = []
        # Of the selected members: errors, and the products of these with the true values.
        self._selected_errors = errors.errors_of_members([])[0]
        self._truth_products = np.zeros(0, dtype=np.int64)
        # For the first 0, 1, … selected members: the square of the sum of their errors.
        self._squares, self._own_total = [0.0], 0.0
        self._row_sums = np.zeros(0)  # of G, over the selected members

    @property
    def is_slow(self) -> bool:
        """Whether most sums are completed in each step, as for members of similar quality."""
        n_steps = len(self._selected)
        return n_steps >= _TRIAL_STEPS and 2 * self._n_completed > n_steps * len(self.sums)

    def add(self, member: int) -> None:
        """Add a member to the selected members."""
        errors, truth_products = self._errors.errors_of_members([member])
        count = len(self._selected)
        if count == len(self._selected_errors):
            larger = np.empty_like(errors, shape=(2 * count + 8, *errors.shape[1:]))
            larger[:count] = self._selected_errors
            self._selected_errors = larger
        self._selected_errors[count] = errors[0]
        earlier = np.array(self._selected, dtype=np.intp)
        products = self._mean_products(errors, truth_products, earlier, np.zeros_like(earlier))[0]
        own = -2 * self._own_values[member]
        self._own_total += own
        self._squares.append(self._squares[-1] + 2 * products.sum() + own)
        self._row_sums = np.append(self._row_sums + products, products.sum() + own)
        self._truth_products = np.append(self._truth_products, truth_products)
        self._selected.append(member)

    def gains(self, free: BoolArray) -> Floats:
        """Return the gains of the free members that may be the best, and −∞ for all others."""
        bounds = np.where(free, self._upper_bounds(), -np.inf)
        is_open = free & (self._n_included < len(self._selected))
        best = np.max(bounds, initial=-np.inf, where=free & ~is_open)
        n_members = _FIRST_MEMBERS
        while True:
            threshold = best - _MARGIN * max(1.0, abs(best)) if best > -np.inf else best
            members = np.flatnonzero(is_open & (bounds >= threshold))
            if not len(members):
                break
            if len(members) > n_members:
                members = members[np.argpartition(-bounds[members], n_members)[:n_members]]
            self.complete(members)
            bounds[members] = self.sums[members] + self._own_values[members]
            is_open[members] = False
            best = max(best, bounds[members].max())
            n_members *= 4
        return np.where(is_open, -np.inf, bounds)

    def complete(self, members: IndexArray) -> None:
        """Complete the sums of some members."""
        n_selected = len(self._selected)
        members = members[self._n_included[members] < n_selected]
        if not len(members):
            return
        members = members[np.argsort(self._n_included[members], kind="stable")]
        starts = self._n_included[members]
        rows = slice(int(starts[0]), n_selected)
        products = self._mean_products(
            self._selected_errors[rows], self._truth_products[rows], members, starts - rows.start
        )
        values = np.where(np.arange(rows.start, n_selected)[:, None] < starts, 0.0, -products)
        values[np.array(self._selected[rows])[:, None] == members] = 0.0
        # Running sums are added in this order; NumPy's other sums need not be.
        self.sums[members] = np.cumsum(np.vstack([self.sums[members], values]), axis=0)[-1]
        self._n_included[members] = n_selected
        self._n_completed += len(members)

    def _mean_products(
        self, errors: Array, truth_products: Counts, members: IndexArray, starts: IndexArray
    ) -> Floats:
        """Return G of rows of errors with some members, each from the row of its start on."""
        products = self._errors.products(errors, truth_products, members, starts)
        return products / self._errors.n_samples

    def _upper_bounds(self) -> Floats:
        """Return an upper bound of the gain of each member; the gain, if its sum is complete."""
        squares, n_selected = np.array(self._squares), len(self._selected)
        products = np.cumsum(np.append(0.0, self._row_sums))  # of each prefix with all selected
        largest = n_selected * self._own_total  # of the squares of sums
        with_u, own = -self.sums, -2 * self._own_values
        square_u = squares[self._n_included]
        u_with_v = products[self._n_included] - square_u
        square_v = squares[-1] - 2 * products[self._n_included] + square_u
        # If errors cancel, rounding errors in |u|² matter, so that nothing is projected on u.
        is_large = square_u > _LEAST_SQUARE * largest
        inverse = np.where(is_large, 1.0 / np.where(is_large, square_u, 1.0), 0.0)
        rest = np.maximum(own - with_u**2 * inverse, 0.0) + _ROUNDING * own
        rest_v = np.maximum(square_v - u_with_v**2 * inverse, 0.0) + _ROUNDING * largest
        least = with_u * u_with_v * inverse - np.sqrt(rest * rest_v)
        is_complete = self._n_included == n_selected
        return np.where(is_complete, self.sums, self.sums - least) + self._own_values
