"""Votes: labels of an ensemble's members, coded and packed once, with counts on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs._labels import Array, MemberIndices, as_labels, largest, merge_classes, row_blocks
from secateurs._text import counted
from secateurs.exceptions import InputError
from secateurs.outputs import _coding, _vote_kernels
from secateurs.outputs._checks import (
    as_column,
    check_codes,
    check_table,
    fill_missing,
    names_of,
    speaking,
)
from secateurs.outputs._coding import code_column, code_dtype, encode, mark_missing
from secateurs.outputs._packing import CountBuffer, Packing, empty_packing, pack_column
from secateurs.outputs._pair_kernels import WORD_BITS

_MOST_TABLE_CELLS = 1 << 18  # cells of joint counts held at once: 2 MB, near the processor
_BUFFER = CountBuffer()


class VoteTable:
    """What votes in memory and votes in a folder have in common."""

    n_samples: int
    n_members: int
    classes: Array
    has_missing: bool
    staged: bool = False

    @property
    def n_classes(self) -> int:
        """Number of distinct labels."""
        return len(self.classes)

    def member_blocks(
        self, first: int = 0, n_rows: int = 1, most_cells: int = _MOST_TABLE_CELLS
    ) -> Iterator[slice]:
        """Cut the members from one on into slices whose tables against n_rows are small."""
        step = max(1, most_cells // (n_rows * (self.n_classes + self.has_missing) ** 2))
        for start in range(first, self.n_members, step):
            yield slice(start, min(self.n_members, start + step))

    def __repr__(self) -> str:
        shape = f"{counted(self.n_samples, 'sample')}, {counted(self.n_members, 'member')}"
        return f"{type(self).__name__}({shape}, {counted(self.n_classes, 'class')})"


@dataclass(frozen=True, eq=False, repr=False)
class Votes(VoteTable):
    """Labels that members give to samples, and the true labels beside them.

    Made by `encode`, and never changed. Labels of any kind are coded by their place among the
    sorted classes and kept as bit planes, so that every count is exact and cheap.

    Attributes
    ----------
    packed : Packing
        The coded votes, member by member: bit planes, or bytes if there are many classes.
    classes : ndarray of shape (n_classes,)
        The distinct labels of votes and true labels together, sorted.
    y : ndarray of shape (n_samples,) or None
        The true labels, coded.
    names : ndarray of shape (n_members,) or None
        Names of the members, where they came with the votes.
    has_missing : bool
        Whether votes are missing, as masked entries of a NumPy masked array. A missing vote has a
        code of its own behind the classes; counts are over the samples that both sides have.
    staged : bool
        Whether a member's votes are those of all members up to it, as in boosting: the vote of
        several is that of the last.

    See Also
    --------
    VoteStore : The same in a folder, for votes that do not fit into memory.
    collect_votes : Collect the votes of a fitted ensemble.

    Examples
    --------
    >>> from secateurs import Votes
    >>> votes = Votes.encode([["cat", "dog"], ["cat", "cat"], ["dog", "dog"]])
    >>> votes
    Votes(3 samples, 2 members, 2 classes)
    >>> votes.joint_counts([0], [1])[0, 0]
    array([[1, 1],
           [0, 1]])
    """

    packed: Packing
    classes: Array
    y: Array | None = None
    names: NDArray[np.object_] | None = None
    has_missing: bool = False
    staged: bool = False

    @classmethod
    def encode(cls, votes: Any, y: ArrayLike | None = None) -> Votes:
        """Code a table of labels.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members)
            Labels of the members; masked where a vote is missing.
        y : array-like of shape (n_samples,), optional
            The true labels.

        Returns
        -------
        Votes
        """
        mask = np.ma.getmask(votes)
        labels = as_labels(votes if mask is np.ma.nomask else fill_missing(votes), "votes")
        truth = None if y is None else as_column(y)
        check_table(labels, None if truth is None else len(truth))
        classes = _coding.find_classes(labels)
        if truth is not None:
            classes = merge_classes(classes, _coding.find_classes(truth))
        n_samples, n_members = labels.shape
        has_missing = bool(np.any(mask))
        _coding.check_number(classes, has_missing)

        def coded_rows(rows: slice) -> Array:
            codes = encode(labels[rows], classes)
            return mark_missing(codes, mask[rows], len(classes)) if has_missing else codes

        packed = _pack_blocks(n_samples, n_members, len(classes) + has_missing, coded_rows)
        coded = None if truth is None else code_column(truth, classes)
        return cls(packed, classes, coded, names_of(votes), has_missing)

    @classmethod
    def from_codes(
        cls,
        codes: Array,
        classes: Array,
        y: ArrayLike | None = None,
        mask: NDArray[np.bool_] | None = None,
        names: Any = None,
    ) -> Votes:
        """Pack votes that are coded already.

        Parameters
        ----------
        codes : ndarray of shape (n_members, n_samples)
            Places among the classes, member by member.
        classes : ndarray of shape (n_classes,)
            The labels, sorted.
        y : array-like of shape (n_samples,), optional
            The true labels.
        mask : ndarray of shape (n_members, n_samples), optional
            Where a vote is missing.
        names : sequence of str, optional
            Names of the members.

        Returns
        -------
        Votes
        """
        check_table(codes.T, None)
        has_missing = mask is not None and bool(mask.any())
        n_members, n_samples = codes.shape
        _coding.check_number(classes, has_missing)
        check_codes(codes, len(classes), mask)

        def coded_rows(rows: slice) -> Array:
            block = codes[:, rows]
            if mask is not None and has_missing:
                block = mark_missing(block, mask[:, rows], len(classes))
            return block.T

        packed = _pack_blocks(n_samples, n_members, len(classes) + has_missing, coded_rows)
        named = None if names is None else np.array(names, dtype=object)
        votes = cls(packed, classes, None, named, has_missing)
        return votes if y is None else votes.with_labels(y)

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """Number of samples."""
        return self.packed.n_samples

    @property
    def n_members(self) -> int:  # type: ignore[override]
        """Number of members."""
        return self.packed.n_members

    @property
    def nbytes(self) -> int:
        """Number of bytes that the packed votes take."""
        return self.packed.nbytes

    @property
    def truth(self) -> Array:
        """The coded true labels; an error if there are none."""
        if self.y is None:
            raise InputError("These votes have no true labels. Give Votes.encode(votes, y).")
        return self.y

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of votes of each member for each class: (members, classes)."""
        return self.packed.sizes[:, : self.n_classes]

    @cached_property
    def truth_counts(self) -> NDArray[np.int64]:
        """Count samples by vote and true label: (members, classes, classes)."""
        tables = empty_tables(self.n_members, self.n_classes)
        for block in self.member_blocks():
            counted = self.packed.take(block).joint_counts(self._packed_truth)
            tables[block] = self._voted(counted[:, 0])
        return tables

    @cached_property
    def _packed_truth(self) -> Packing:
        """The true labels, packed like one member's votes."""
        return pack_column(self.truth, self.packed.n_classes)

    @cached_property
    def n_right(self) -> NDArray[np.int64]:
        """Number of samples that each member gets right."""
        return np.trace(self.truth_counts, axis1=1, axis2=2)

    @property
    def n_voted(self) -> NDArray[np.int64]:
        """Number of samples that each member has a vote on."""
        return self.sizes.sum(axis=1)

    @cached_property
    def oracle(self) -> Votes:
        """Right (class 0) or wrong (class 1), as votes of their own."""
        packed = self.packed.agreement(self.truth, self.has_missing)
        return Votes(packed, np.array([0, 1]), has_missing=self.has_missing)

    def codes(self, members: MemberIndices) -> Array:
        """Return the coded votes of some members: (members, samples)."""
        return self.packed.decode(np.asarray(members, dtype=np.intp))

    def joint_counts(
        self, members: MemberIndices | slice, others: MemberIndices | slice = slice(None)
    ) -> NDArray[np.int64]:
        """Count samples by label pair: (members, others, classes, classes)."""
        return self._voted(self._taken(members).joint_counts(self._taken(others)))

    def joint_counts_of(self, others: Votes, block: slice) -> NDArray[np.int64]:
        """Count samples by the labels of members held elsewhere and a block of those here.

        Returns an array (others, block, classes, classes) that lasts until the thread asks again.
        """
        return self._voted(others.packed.joint_counts(self._taken(block), _BUFFER))

    def tally(self, members: MemberIndices | None = None) -> NDArray[np.int32]:
        """Count the votes that each class gets: (samples, classes)."""
        chosen = speaking(self, members)
        tally = np.zeros((self.n_samples, self.n_classes), dtype=np.int32)
        for member in chosen:
            _vote_kernels.tally_votes(self.codes([member]), 1, tally)
        return tally

    def vote(
        self,
        members: MemberIndices | None = None,
        silent: Any = None,
        weights: ArrayLike | None = None,
    ) -> Array:
        """Return the label with the most votes, per sample; ties go to the lowest class.

        So does a sample without any vote, unless ``silent`` gives its label.
        """
        tally: Array = self.tally(members) if weights is None else self._shares(members, weights)
        if weights is None:
            winner = np.empty(self.n_samples, dtype=np.intp)
            _vote_kernels.winners(tally, winner)
        else:
            winner = largest(tally)
        labels = self.classes[winner]
        if silent is None or not self.has_missing:
            return labels
        return np.where(tally.any(axis=1), labels, silent)

    def _shares(self, members: MemberIndices | None, weights: ArrayLike) -> NDArray[np.float64]:
        """Sum the weights of the votes that each class gets: (samples, classes)."""
        chosen = np.arange(self.n_members) if members is None else members
        shares = np.zeros((self.n_samples, self.n_classes))
        for member, weight in zip(chosen, np.asarray(weights, dtype=float), strict=True):
            _vote_kernels.tally_votes(self.codes([member]), weight, shares)
        return shares

    def is_right(self, members: MemberIndices | None = None) -> NDArray[np.bool_]:
        """Mark the samples on which the vote is right."""
        everybody = members is None and not self.staged
        packed = self.packed if everybody else self._taken(speaking(self, members))
        return packed.is_right(self._packed_truth, self.n_classes)

    def accuracy(self, members: MemberIndices | None = None) -> float:
        """Return the fraction of samples on which the vote is right."""
        return np.count_nonzero(self.is_right(members)) / self.n_samples

    def take(self, members: MemberIndices) -> Votes:
        """Return the votes of some members, in the order given."""
        chosen = np.asarray(members, dtype=np.intp)
        names = None if self.names is None else self.names[chosen]
        return replace(self, packed=self.packed.take(chosen), names=names)

    def rows(self, samples: NDArray[np.intp]) -> Votes:
        """Return the votes on some samples, with the same classes."""
        codes = self.packed.decode()[:, samples]
        mask = codes == self.n_classes if self.has_missing else None
        part = Votes.from_codes(codes, self.classes, None, mask, self.names)
        part = replace(part._recoded(self.classes, self.has_missing), staged=self.staged)
        return part if self.y is None else replace(part, y=_frozen(self.y[samples]))

    def run(self, samples: slice) -> Votes:
        """Return the votes on a run of samples that starts at a multiple of 64."""
        start, stop, _ = samples.indices(self.n_samples)
        packed = empty_packing(stop - start, self.n_members, self.packed.n_classes)
        first, last = start // packed.samples_per_cell, -(-stop // packed.samples_per_cell)
        packed.cells[..., : last - first] = self.packed.cells[..., first:last]
        packed.freeze()
        return replace(self, packed=packed, y=None if self.y is None else self.y[start:stop])

    def with_labels(self, y: ArrayLike) -> Votes:
        """Return the same votes with these true labels, in place of any they have."""
        truth = as_column(y, self.n_samples)
        classes = merge_classes(self.classes, _coding.find_classes(truth))
        moved = self._recoded(classes, self.has_missing)
        return replace(moved, y=code_column(truth, moved.classes))

    def append(self, votes: Votes | ArrayLike, y: ArrayLike | None = None) -> Votes:
        """Return these votes followed by further samples, as if all were encoded at once."""
        more = votes if isinstance(votes, Votes) else Votes.encode(votes, y)
        if more.n_members != self.n_members:
            raise InputError(
                f"The further votes are of {more.n_members} members, the earlier ones of "
                f"{self.n_members}. Give the same members, in the same order."
            )
        if (more.y is None) != (self.y is None):
            raise InputError("Give true labels with all batches of votes, or with none.")
        classes = merge_classes(self.classes, more.classes)
        missing = self.has_missing or more.has_missing
        first, second = self._recoded(classes, missing), more._recoded(classes, missing)
        packed = first.packed.append(second.packed)
        packed.freeze()
        y_both = None
        if first.y is not None and second.y is not None:
            y_both = _frozen(np.concatenate([first.y, second.y]))
        return replace(first, packed=packed, y=y_both)

    def _taken(self, members: MemberIndices | slice) -> Packing:
        if isinstance(members, slice):
            return self.packed if members == slice(None) else self.packed.take(members)
        if len(members) == 1:
            return self.packed.take(slice(members[0], members[0] + 1))  # a view, no copy
        return self.packed.take(np.asarray(members, dtype=np.intp))

    def _voted(self, tables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leave out the counts of missing votes."""
        return tables[..., : self.n_classes, : self.n_classes]

    def _recoded(self, classes: Array, has_missing: bool) -> Votes:
        if len(classes) == self.n_classes and has_missing == self.has_missing:
            return replace(self, classes=classes)
        new_codes = np.append(np.searchsorted(classes, self.classes), len(classes))
        packed = self.packed.recode(len(classes) + has_missing, new_codes[: self.packed.n_classes])
        packed.freeze()
        y = None if self.y is None else code_column(self.classes[self.y][:, None], classes)
        return replace(self, packed=packed, classes=classes, y=y, has_missing=has_missing)


def empty_tables(n_members: int, n_classes: int) -> NDArray[np.int64]:
    """Return an uninitialised table of counts per member, laid out cell by cell.

    The last bit of sums over cells depends on the layout, so this is the only one in use.
    """
    return np.empty((n_classes, n_classes, n_members), dtype=np.int64).transpose(2, 0, 1)


def _pack_blocks(
    n_samples: int, n_members: int, n_codes: int, coded_rows: Callable[[slice], Array]
) -> Packing:
    """Pack votes, a block of rows at a time."""
    packed = empty_packing(n_samples, n_members, n_codes)
    for rows in row_blocks(n_samples, n_members, multiple=WORD_BITS):
        codes = np.ascontiguousarray(coded_rows(rows), dtype=code_dtype(n_codes))
        packed.write(rows.start, codes)
    packed.freeze()
    return packed


def _frozen(values: Array) -> Array:
    values.flags.writeable = False
    return values
