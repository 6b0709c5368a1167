"""`PairMeasure`: a pairwise diversity measure, for two columns of labels or for all pairs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs.votes import Votes
from secateurs.typing import BoolArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Members per block of rows. `member_blocks` cuts the columns so that the joint counts of a block
# stay in the processor's cache (docs/decisions/0014-counts-and-memory.md).
_BLOCK_ROWS = 16


class _MemberBlocks(Protocol):
    """Votes, or an objective, whose pairs of members are computed in blocks."""

    @property
    def n_members(self) -> int: ...

    def member_blocks(self, first: int = 0, n_rows: int = 1) -> Iterator[slice]: ...


def as_votes(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> Votes:
    """Return a table of labels as `Votes`, with the true labels if there are any."""
    if not isinstance(votes, Votes):
        return Votes.encode(votes, y)
    return votes if y is None else votes.with_labels(y)


def as_complete_votes(votes: ArrayLike | Votes, y: ArrayLike | None = None) -> Votes:
    """Return votes as `as_votes` does, and raise an error if some are missing.

    Missing votes that count as wrong are votes for a further class.
    """
    voted = as_votes(votes, y).completed
    if voted.has_missing:
        raise InputError(
            "Measures of an ensemble need a vote of every member on every sample, but some votes "
            'are masked. Pass Votes.encode(votes, y, missing="wrong") to count them as wrong, or '
            "use a pairwise measure, which accepts missing votes."
        )
    return voted


class PairMeasure:
    """Measure of two members, computed from the counts of their labels.

    Parameters
    ----------
    formula : callable
        Function of counts, which are passed by name: ``labels``, the tables of label pairs
        (…, classes, classes); ``n_common``, ``n_agreed`` and ``by_chance``, which need no such
        tables (see `Votes.agreement_counts`); and ``oracle``, the tables of correct (0) and wrong
        (1) votes, which need the true labels. It must work on arrays of counts.
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
        """Return the measure of two columns of labels, which are masked where votes are missing."""
        columns = {"first": first, "second": second}
        labels = [as_labels(column, name) for name, column in columns.items()]
        shapes = [column.shape for column in labels]
        if shapes[0] != shapes[1] or len(shapes[0]) != 1:
            raise InputError(
                f"first has shape {shapes[0]} and second has shape {shapes[1]}. Pass two columns "
                f"with one label per sample. For a table, call {self.__name__}.matrix(votes)."
            )
        joined = np.stack(labels, axis=1)
        if any(np.ma.is_masked(column) for column in columns.values()):
            masks = [np.ma.getmaskarray(np.ma.asanyarray(c)) for c in columns.values()]
            joined = np.ma.array(joined, mask=np.stack(masks, axis=1))
        voted = self._encode_votes(joined, y)
        return float(self._block_values(voted, slice(0, 1), slice(1, 2))[0, 0])

    def matrix(self, votes: ArrayLike | Votes, y: ArrayLike | None = None) -> Floats:
        """Return the measure of all pairs of members: a symmetric (members, members) array.

        The diagonal holds the measure of each member with itself.
        """
        voted = self._encode_votes(votes, y)
        return pair_matrix(voted, lambda rows, columns: self._block_values(voted, rows, columns))

    def mean(self, votes: ArrayLike | Votes, y: ArrayLike | None = None) -> float:
        """Return the mean over all pairs; for a single member, its measure with itself."""
        voted = self._encode_votes(votes, y)
        if voted.n_members == 1:
            return float(self._block_values(voted, slice(0, 1), slice(0, 1))[0, 0])
        total = sum(float(values[pairs].sum()) for _, _, values, pairs in self.blocks(voted))
        return total / (voted.n_members * (voted.n_members - 1) / 2)

    def blocks(self, votes: Votes) -> Iterator[tuple[slice, slice, Floats, BoolArray]]:
        """Yield blocks of the matrix: rows, columns, values, and a mask of the pairs i < j.

        The pairs i < j of each member are yielded in the order of (i, j).
        """
        for rows, columns in _pair_blocks(votes):
            first = np.arange(rows.start, rows.stop)[:, None]
            second = np.arange(columns.start, columns.stop)
            yield rows, columns, self._block_values(votes, rows, columns), second > first

    def of_counts(self, **tables: Counts) -> Floats:
        """Apply the formula to count tables, passed by the names of its parameters."""
        return self._formula(**tables)

    def _encode_votes(self, votes: ArrayLike | Votes, y: ArrayLike | None) -> Votes:
        voted = as_votes(votes, y)
        if self.needs_truth and voted.y is None:
            raise InputError(f"{self.__name__} needs the true labels. Pass y.")
        return voted

    def _block_values(self, votes: Votes, rows: slice, columns: slice) -> Floats:
        """Return the measure for pairs of members, from their tables of counts."""
        names, tables = self._table_names, {}
        if "labels" in names:
            tables["labels"] = votes.joint_counts(rows, columns)
        if "n_agreed" in names:
            members = votes.take(range(rows.start, rows.stop))
            tables |= votes.agreement_counts(members, columns, by_chance="by_chance" in names)
        if "oracle" in names:
            tables["oracle"] = votes.oracle.joint_counts(rows, columns)
        return self._formula(**tables)

    def __repr__(self) -> str:
        return f"<measure {self.__name__}>"


def pair_matrix(members: _MemberBlocks, block_values: Callable[[slice, slice], Floats]) -> Floats:
    """Return the symmetric matrix of all pairs, computed block by block and each pair once."""
    values = np.empty((members.n_members, members.n_members))
    for rows, columns in _pair_blocks(members):
        values[rows, columns] = block_values(rows, columns)
        values[columns, rows] = values[rows, columns].T
        if columns.start == rows.start:
            # The diagonal block has both triangles; one is mirrored, so that they are bit-equal.
            corner = values[rows, rows]
            values[rows, rows] = np.triu(corner) + np.triu(corner, 1).T
    return values


def _pair_blocks(members: _MemberBlocks) -> Iterator[tuple[slice, slice]]:
    """Cut the pairs i ≤ j into blocks of rows and columns."""
    n_rows = members.rows_per_block if isinstance(members, Votes) else _BLOCK_ROWS
    for first in range(0, members.n_members, n_rows):
        rows = slice(first, min(members.n_members, first + n_rows))
        for columns in members.member_blocks(first, n_rows):
            yield rows, columns


def safe_divide(numerator: ArrayLike, denominator: ArrayLike, otherwise: ArrayLike) -> Floats:
    """Return the quotients, and ``otherwise`` where the denominator is zero."""
    is_nonzero = np.asarray(denominator) != 0
    divisors = np.where(is_nonzero, denominator, 1)
    return np.where(is_nonzero, np.asarray(numerator) / divisors, otherwise)
