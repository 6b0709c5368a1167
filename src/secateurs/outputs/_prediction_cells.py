"""Cells of predictions: integers that are filled in member by member."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.outputs.fixed_point import (
    PROBABILITY_BITS,
    coarsen_steps,
    fixed_probabilities,
    fixed_values,
    missing_cell_value,
)
from secateurs.outputs.label_coding import check_class_count
from secateurs.typing import Array, BoolArray, FloatArray


class PredictionFiller:
    """Cells that threads fill in member by member; classes are empty for regression."""

    def __init__(self, n_members: int, n_samples: int, classes: Array) -> None:
        check_class_count(classes)
        self.classes, self._has_missing = classes, False
        self.cells = empty_cells(n_members, n_samples, len(classes))
        self._exponents = np.full(n_members, PROBABILITY_BITS)

    def fill_member(
        self,
        member: int,
        predicted: ArrayLike,
        missing: BoolArray | None = None,
        leaves: NDArray[np.uint32] | None = None,
    ) -> None:
        """Fill in a member's probabilities (samples, classes), or values (samples,).

        With ``leaves``, the predictions belong to leaves, and each sample gets those of its leaf.
        """
        whose = f"Member {member}"
        if missing is not None and leaves is None:
            # Masked entries may hold anything; replace them by valid predictions before the checks.
            filled = np.array(predicted, dtype=float)
            filled[missing] = filled[~missing][:1] if (~missing).any() else self._neutral_prediction
            predicted = filled
        if len(self.classes):
            fixed: Array = fixed_probabilities(predicted, whose)
        else:
            column, self._exponents[member] = fixed_values(predicted, whose)
            fixed = column[None, :]
        if leaves is None:
            self.cells[member] = fixed
        else:
            np.take(fixed, leaves, axis=1, out=self.cells[member])
        if missing is not None and missing.any():
            self._has_missing = True
            self.cells[member][:, missing] = missing_cell_value(self.cells)

    @property
    def _neutral_prediction(self) -> FloatArray:
        return np.eye(len(self.classes))[0] if len(self.classes) else np.zeros(())

    def finish_cells(self) -> tuple[Array, bool, int]:
        """Return the cells, whether any is missing, and the exponent, after all are filled in."""
        exponent = int(self._exponents.min())
        for member in np.flatnonzero(self._exponents > exponent):
            n_bits = int(self._exponents[member]) - exponent
            self.cells[member] = coarsen_steps(self.cells[member], n_bits)
        self.cells.flags.writeable = False
        return self.cells, self._has_missing, exponent


def empty_cells(n_members: int, n_samples: int, n_classes: int) -> Array:
    """Return uninitialised cells for probabilities, or for regression without classes."""
    n_components = 1 if n_classes in (0, 2) else n_classes
    return np.empty((n_members, n_components, n_samples), np.int16 if n_classes else np.int32)
