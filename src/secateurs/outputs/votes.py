"""Votes: labels of an ensemble's members, coded and packed once, with counts on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties, as_labels, merge_classes, row_blocks
from secateurs.outputs import label_coding, vote_kernels
from secateurs.outputs.bit_kernels import WORD_BITS
from secateurs.outputs.input_checks import (
    as_label_column,
    check_code_range,
    check_table_shape,
    effective_members,
    fill_missing_votes,
    text_column_names,
)
from secateurs.outputs.label_coding import code_dtype, encode_column, encode_labels, mark_missing
from secateurs.outputs.vote_packing import CountBuffer, PackedVotes, empty_packed_votes, pack_column
from secateurs.text_format import format_count
from secateurs.typing import Array, MemberIndices

_MOST_TABLE_CELLS = 1 << 18  # cells of joint counts held at once: 2 MB, near the processor
_BUFFER = CountBuffer()


class BaseVotes:
    """What votes in memory and votes in a folder have in common."""

    n_samples: int
    n_members: int
    classes: Array
    has_missing: bool
    is_sequential: bool = False

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
        shape = (
            f"{format_count(self.n_samples, 'sample')}, {format_count(self.n_members, 'member')}"
        )
        return f"{type(self).__name__}({shape}, {format_count(self.n_classes, 'class')})"


@dataclass(frozen=True, eq=False, repr=False)
class Votes(BaseVotes):
    """Labels that members give to samples, and the true labels beside them.

    Made by `encode`, and never changed. Labels of any kind are coded by their place among the
    sorted classes and kept as bit planes, so that every count is exact and cheap.

    Attributes
    ----------
    packed : PackedVotes
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
    is_sequential : bool
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

    packed: PackedVotes
    classes: Array
    y: Array | None = None
    names: NDArray[np.object_] | None = None
    has_missing: bool = False
    is_sequential: bool = False

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
        labels = as_labels(votes if mask is np.ma.nomask else fill_missing_votes(votes), "votes")
        truth = None if y is None else as_label_column(y)
        check_table_shape(labels, None if truth is None else len(truth))
        classes = label_coding.find_classes(labels)
        if truth is not None:
            classes = merge_classes(classes, label_coding.find_classes(truth))
        n_samples, n_members = labels.shape
        has_missing = bool(np.any(mask))
        label_coding.check_class_count(classes, has_missing)

        def coded_rows(rows: slice) -> Array:
            codes = encode_labels(labels[rows], classes)
            return mark_missing(codes, mask[rows], len(classes)) if has_missing else codes

        packed = _pack_blocks(n_samples, n_members, len(classes) + has_missing, coded_rows)
        coded = None if truth is None else encode_column(truth, classes)
        return cls(packed, classes, coded, text_column_names(votes), has_missing)

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
        check_table_shape(codes.T, None)
        has_missing = mask is not None and bool(mask.any())
        n_members, n_samples = codes.shape
        label_coding.check_class_count(classes, has_missing)
        check_code_range(codes, len(classes), mask)

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
        return self.packed.code_counts[:, : self.n_classes]

    @cached_property
    def truth_counts(self) -> NDArray[np.int64]:
        """Count samples by vote and true label: (members, classes, classes)."""
        tables = empty_count_tables(self.n_members, self.n_classes)
        for block in self.member_blocks():
            counted = self.packed.select_members(block).joint_counts(self._packed_truth)
            tables[block] = self._drop_missing_counts(counted[:, 0])
        return tables

    @cached_property
    def _packed_truth(self) -> PackedVotes:
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
        packed = self.packed.compare_with_truth(self.truth, self.has_missing)
        return Votes(packed, np.array([0, 1]), has_missing=self.has_missing)

    def codes(self, members: MemberIndices) -> Array:
        """Return the coded votes of some members: (members, samples)."""
        return self.packed.decode(np.asarray(members, dtype=np.intp))

    def joint_counts(
        self, members: MemberIndices | slice, others: MemberIndices | slice = slice(None)
    ) -> NDArray[np.int64]:
        """Count samples by label pair: (members, others, classes, classes)."""
        return self._drop_missing_counts(
            self._select_packed(members).joint_counts(self._select_packed(others))
        )

    def joint_counts_of(self, others: Votes, block: slice) -> NDArray[np.int64]:
        """Count samples by the labels of members held elsewhere and a block of those here.

        Returns an array (others, block, classes, classes) that lasts until the thread asks again.
        """
        return self._drop_missing_counts(
            others.packed.joint_counts(self._select_packed(block), _BUFFER)
        )

    def tally(self, members: MemberIndices | None = None) -> NDArray[np.int32]:
        """Count the votes that each class gets: (samples, classes)."""
        chosen = effective_members(self, members)
        tally = np.zeros((self.n_samples, self.n_classes), dtype=np.int32)
        for member in chosen:
            vote_kernels.tally_votes(self.codes([member]), 1, tally)
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
        tally: Array = (
            self.tally(members) if weights is None else self._weighted_tally(members, weights)
        )
        if weights is None:
            winner = np.empty(self.n_samples, dtype=np.intp)
            vote_kernels.find_winners(tally, winner)
        else:
            winner = argmax_with_ties(tally)
        labels = self.classes[winner]
        if silent is None or not self.has_missing:
            return labels
        return np.where(tally.any(axis=1), labels, silent)

    def _weighted_tally(
        self, members: MemberIndices | None, weights: ArrayLike
    ) -> NDArray[np.float64]:
        """Sum the weights of the votes that each class gets: (samples, classes)."""
        chosen = np.arange(self.n_members) if members is None else members
        shares = np.zeros((self.n_samples, self.n_classes))
        for member, weight in zip(chosen, np.asarray(weights, dtype=float), strict=True):
            vote_kernels.tally_votes(self.codes([member]), weight, shares)
        return shares

    def is_right(self, members: MemberIndices | None = None) -> NDArray[np.bool_]:
        """Mark the samples on which the vote is right."""
        everybody = members is None and not self.is_sequential
        packed = self.packed if everybody else self._select_packed(effective_members(self, members))
        return packed.is_vote_correct(self._packed_truth, self.n_classes)

    def accuracy(self, members: MemberIndices | None = None) -> float:
        """Return the fraction of samples on which the vote is right."""
        return np.count_nonzero(self.is_right(members)) / self.n_samples

    def take(self, members: MemberIndices) -> Votes:
        """Return the votes of some members, in the order given."""
        chosen = np.asarray(members, dtype=np.intp)
        names = None if self.names is None else self.names[chosen]
        return replace(self, packed=self.packed.select_members(chosen), names=names)

    def rows(self, samples: NDArray[np.intp]) -> Votes:
        """Return the votes on some samples, with the same classes."""
        codes = self.packed.decode()[:, samples]
        mask = codes == self.n_classes if self.has_missing else None
        part = Votes.from_codes(codes, self.classes, None, mask, self.names)
        part = replace(
            part._with_classes(self.classes, self.has_missing), is_sequential=self.is_sequential
        )
        return part if self.y is None else replace(part, y=_make_read_only(self.y[samples]))

    def run(self, samples: slice) -> Votes:
        """Return the votes on a run of samples that starts at a multiple of 64."""
        start, stop, _ = samples.indices(self.n_samples)
        packed = empty_packed_votes(stop - start, self.n_members, self.packed.n_classes)
        first, last = start // packed.samples_per_cell, -(-stop // packed.samples_per_cell)
        packed.cells[..., : last - first] = self.packed.cells[..., first:last]
        packed.make_read_only()
        return replace(self, packed=packed, y=None if self.y is None else self.y[start:stop])

    def with_labels(self, y: ArrayLike) -> Votes:
        """Return the same votes with these true labels, in place of any they have."""
        truth = as_label_column(y, self.n_samples)
        classes = merge_classes(self.classes, label_coding.find_classes(truth))
        moved = self._with_classes(classes, self.has_missing)
        return replace(moved, y=encode_column(truth, moved.classes))

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
        first, second = self._with_classes(classes, missing), more._with_classes(classes, missing)
        packed = first.packed.append_samples(second.packed)
        packed.make_read_only()
        y_both = None
        if first.y is not None and second.y is not None:
            y_both = _make_read_only(np.concatenate([first.y, second.y]))
        return replace(first, packed=packed, y=y_both)

    def _select_packed(self, members: MemberIndices | slice) -> PackedVotes:
        if isinstance(members, slice):
            return self.packed if members == slice(None) else self.packed.select_members(members)
        if len(members) == 1:
            return self.packed.select_members(slice(members[0], members[0] + 1))  # a view, no copy
        return self.packed.select_members(np.asarray(members, dtype=np.intp))

    def _drop_missing_counts(self, tables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leave out the counts of missing votes."""
        return tables[..., : self.n_classes, : self.n_classes]

    def _with_classes(self, classes: Array, has_missing: bool) -> Votes:
        if len(classes) == self.n_classes and has_missing == self.has_missing:
            return replace(self, classes=classes)
        new_codes = np.append(np.searchsorted(classes, self.classes), len(classes))
        packed = self.packed.recode_classes(
            len(classes) + has_missing, new_codes[: self.packed.n_classes]
        )
        packed.make_read_only()
        y = None if self.y is None else encode_column(self.classes[self.y][:, None], classes)
        return replace(self, packed=packed, classes=classes, y=y, has_missing=has_missing)


def empty_count_tables(n_members: int, n_classes: int) -> NDArray[np.int64]:
    """Return an uninitialised table of counts per member, laid out cell by cell.

    The last bit of sums over cells depends on the layout, so this is the only one in use.
    """
    return np.empty((n_classes, n_classes, n_members), dtype=np.int64).transpose(2, 0, 1)


def _pack_blocks(
    n_samples: int, n_members: int, n_codes: int, coded_rows: Callable[[slice], Array]
) -> PackedVotes:
    """Pack votes, a block of rows at a time."""
    packed = empty_packed_votes(n_samples, n_members, n_codes)
    for rows in row_blocks(n_samples, n_members, multiple=WORD_BITS):
        codes = np.ascontiguousarray(coded_rows(rows), dtype=code_dtype(n_codes))
        packed.write_rows(rows.start, codes)
    packed.make_read_only()
    return packed


def _make_read_only(values: Array) -> Array:
    values.flags.writeable = False
    return values
