"""Measures of two members: formulas over counts, for two columns or for all pairs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs.votes import Votes

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_ROWS = 16  # members whose tables against all others are counted in one go


def as_votes(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> Votes:
    """Return votes, given as they are or as a table of labels, with true labels beside them."""
    if not isinstance(votes, Votes):
        return Votes.encode(votes, y)
    return votes if y is None else votes.with_labels(y)


def as_complete_votes(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> Votes:
    """Return votes as `as_votes` does; an error if some are missing."""
    voted = as_votes(votes, y)
    if voted.has_missing:
        raise InputError(
            "Measures of an ensemble need every vote of every member; some are masked. "
            "Measures of pairs work with missing votes."
        )
    return voted


class PairMeasure:
    """Measure of two members, computed from the counts of their labels.

    Parameters
    ----------
    formula : callable
        Its arguments name what it is computed from: ``labels``, the table of label pairs
        (…, classes, classes), and ``oracle``, the table of right (0) and wrong (1), which needs
        the true labels. It works on whole arrays of tables.
    """

    def __init__(self, formula: Callable[..., Floats]) -> None:
        self._formula = formula
        self._table_names = tuple(inspect.signature(formula).parameters)
        self.__name__ = formula.__name__
        self.__doc__ = formula.__doc__

    @property
    def needs_truth(self) -> bool:
        """Whether the measure needs the true labels."""
        return "oracle" in self._table_names

    def __call__(self, first: ArrayLike, second: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return the measure of two columns of labels; masked where votes are missing."""
        columns = {"first": first, "second": second}
        joined = np.stack([as_labels(column, name) for name, column in columns.items()], axis=1)
        if any(np.ma.is_masked(column) for column in columns.values()):
            masks = [np.ma.getmaskarray(np.ma.asanyarray(c)) for c in columns.values()]
            joined = np.ma.array(joined, mask=np.stack(masks, axis=1))
        return float(
            self._block_values(self._encode_votes(joined, y), slice(0, 1), slice(1, 2))[0, 0]
        )

    def matrix(self, votes: ArrayLike | Votes, y: ArrayLike | None = None) -> Floats:
        """Return the measure of all pairs of members: a symmetric (members, members) array.

        The diagonal holds the measure of each member with itself.
        """
        voted = self._encode_votes(votes, y)
        return pair_matrix(voted, lambda rows, others: self._block_values(voted, rows, others))

    def mean(self, votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
        """Return the mean over all pairs; for one member alone, its measure with itself."""
        voted = self._encode_votes(votes, y)
        if voted.n_members == 1:
            return float(self._block_values(voted, slice(0, 1), slice(0, 1))[0, 0])
        total = sum(float(values[pairs].sum()) for _, _, values, pairs in self.blocks(voted))
        return total / (voted.n_members * (voted.n_members - 1) / 2)

    def blocks(self, votes: Votes) -> Iterator[tuple[slice, slice, Floats, NDArray[np.bool_]]]:
        """Yield the measure of all pairs in blocks: members, others, values, and which are i < j.

        The pairs i < j of a member come in the order of (i, j).
        """
        for rows, others in _pair_blocks(votes):
            first = np.arange(rows.start, rows.stop)[:, None]
            second = np.arange(others.start, others.stop)
            yield rows, others, self._block_values(votes, rows, others), second > first

    def of_counts(self, **tables: Counts) -> Floats:
        """Apply the formula to tables of counts, given by the names of its arguments."""
        return self._formula(**tables)

    def _encode_votes(self, votes: ArrayLike | Votes, y: ArrayLike | None) -> Votes:
        voted = as_votes(votes, y)
        if self.needs_truth and voted.y is None:
            raise InputError(f"{self.__name__} needs to know which votes are right. Give y.")
        return voted

    def _block_values(self, votes: Votes, rows: slice, others: slice) -> Floats:
        tables = {}
        if "labels" in self._table_names:
            tables["labels"] = votes.joint_counts(rows, others)
        if "oracle" in self._table_names:
            tables["oracle"] = votes.oracle.joint_counts(rows, others)
        return self._formula(**tables)

    def __repr__(self) -> str:
        return f"<measure {self.__name__}>"


def pair_matrix(votes: Any, values_of: Callable[[slice, slice], Floats]) -> Floats:
    """Fill a symmetric matrix from the values of some members against others, each pair once."""
    values = np.empty((votes.n_members, votes.n_members))
    for rows, others in _pair_blocks(votes):
        values[rows, others] = values_of(rows, others)
        values[others, rows] = values[rows, others].T
        if others.start == rows.start:
            corner = values[rows, rows]
            values[rows, rows] = np.triu(corner) + np.triu(corner, 1).T
    return values


def _pair_blocks(votes: Any) -> Iterator[tuple[slice, slice]]:
    """Cut the pairs i ≤ j into blocks of rows and columns."""
    for first in range(0, votes.n_members, _ROWS):
        rows = slice(first, min(votes.n_members, first + _ROWS))
        for others in votes.member_blocks(first, _ROWS):
            yield rows, others


def safe_divide(numerator: Any, denominator: Any, otherwise: Any) -> Floats:
    """Divide; the result is ``otherwise`` where the denominator is zero."""
    fine = np.asarray(denominator) != 0
    divided: Floats = np.where(
        fine, np.asarray(numerator) / np.where(fine, denominator, 1), otherwise
    )
    return divided
