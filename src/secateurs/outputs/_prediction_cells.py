"""Cells of scores: integers that are filled in member by member."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.outputs.fixed_point import (
    PROBABILITY_BITS,
    coarsen_steps,
    fixed_probabilities,
    fixed_values,
    missing_cell_value,
)
from secateurs.outputs.label_coding import check_class_count
from secateurs.typing import Array


class PredictionFiller:
    """Scores in the making: cells that are filled in member by member, by any thread.

    Parameters
    ----------
    n_members, n_samples : int
        The shape.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty for numbers.
    """

    def __init__(self, n_members: int, n_samples: int, classes: Array) -> None:
        check_class_count(classes)
        self.classes, self._has_missing = classes, False
        self.cells = empty_cells(n_members, n_samples, len(classes))
        self._exponents = np.full(n_members, PROBABILITY_BITS)

    def fill_member(
        self,
        member: int,
        answers: Any,
        missing: NDArray[np.bool_] | None = None,
        leaves: NDArray[np.uint32] | None = None,
    ) -> None:
        """Fill in a member's answers: (samples, classes), or (samples,) for numbers.

        With ``leaves``, the answers are of leaves, and each sample takes those of its leaf.
        """
        whose = f"Member {member}"
        if missing is not None and leaves is None:
            answers = np.array(answers, dtype=float)
            answers[missing] = (
                answers[~missing][:1] if (~missing).any() else self._neutral_prediction
            )
        if len(self.classes):
            fixed: Array = fixed_probabilities(answers, whose)
        else:
            column, self._exponents[member] = fixed_values(answers, whose)
            fixed = column[None, :]
        if leaves is None:
            self.cells[member] = fixed
        else:
            np.take(fixed, leaves, axis=1, out=self.cells[member])
        if missing is not None and missing.any():
            self._has_missing = True
            self.cells[member][:, missing] = missing_cell_value(self.cells)

    @property
    def _neutral_prediction(self) -> Any:
        return np.eye(len(self.classes))[0] if len(self.classes) else 0.0

    def finish_cells(self) -> tuple[Array, bool, int]:
        """Return the cells, whether values are missing, and the exponent, after all are filled."""
        exponent = int(self._exponents.min())
        for member in np.flatnonzero(self._exponents > exponent):
            by = int(self._exponents[member]) - exponent
            self.cells[member] = coarsen_steps(self.cells[member], by)
        self.cells.flags.writeable = False
        return self.cells, self._has_missing, exponent


def empty_cells(n_members: int, n_samples: int, n_classes: int) -> Array:
    """Return uninitialised cells of probabilities, or of numbers where there are no classes."""
    n_components = 1 if n_classes in (0, 2) else n_classes
    return np.empty((n_members, n_components, n_samples), np.int16 if n_classes else np.int32)
