"""Votes: labels predicted by an ensemble's members, encoded and packed, with counts on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs._renamed_modules import restore_renamed
from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties, as_labels, merge_classes
from secateurs.outputs import code_kernels, label_coding, vote_kernels
from secateurs.outputs.base_votes import BaseVotes, count_agreed, empty_count_tables
from secateurs.outputs.input_checks import (
    as_label_column,
    check_code_range,
    check_table_shape,
    effective_members,
    fill_missing_votes,
    text_column_names,
)
from secateurs.outputs.label_coding import MOST_BY_NUMPY, encode_column, encode_labels, mark_missing
from secateurs.outputs.missing_answers import check_missing_rule, most_frequent_class
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.vote_packing import (
    CodeMatrix,
    CountBuffer,
    PackedVotes,
    empty_packed_votes,
    pack_blocks,
    pack_column,
)
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, MemberIndices, MissingRule
from secateurs.units import format_bytes

_MOST_CELLS = 1 << 29  # 4 GiB of counts; more is rejected, as it rarely fits beside the rest
_BUFFER = CountBuffer()


@dataclass(frozen=True, eq=False, repr=False)
class Votes(BaseVotes):
    """Labels that members predict, with the true labels.

    Create it with `encode`; it is immutable. Labels of any kind are encoded as indices of the
    sorted classes and stored as bit planes, so that counts are exact and fast.

    Attributes
    ----------
    packed : PackedVotes
        The encoded votes: bit planes, or small integers if there are many classes.
    classes : ndarray of shape (n_classes,)
        The distinct labels of votes and true labels together, sorted.
    y : ndarray of shape (n_samples,) or None
        The codes of the true labels.
    names : ndarray of shape (n_members,) or None
        Names of the members, if the votes had column names.
    has_missing : bool
        Whether votes are missing, as masked entries of a NumPy masked array. A missing vote has the
        code after the last class.
    missing_rule : {"wrong", "ignore"}
        What a missing vote means. With "wrong" it is a label of its own, which is never the true
        one. With "ignore", counts include only samples on which both members vote.
    is_sequential : bool
        Whether a member's votes are those of all members up to it, as in boosting, so that the
        vote of several members is the vote of the last.

    See Also
    --------
    VoteStore : Votes in a folder, for votes that do not fit into memory.
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

    def __getstate__(self) -> dict[str, object]:
        # Without cached counts: pickle does not keep the memory layout of `truth_counts`, on which
        # sums depend in their last bit, and the counts may be larger than the votes.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        known = {field.name for field in fields(self)} | {"staged"}
        restored = {name: value for name, value in state.items() if name in known}
        restore_renamed(staged="is_sequential")(self, restored)

    packed: PackedVotes
    classes: Array
    y: Array | None = None
    names: NDArray[np.object_] | None = None
    has_missing: bool = False
    is_sequential: bool = False
    samples: SampleRows | None = None  # only if a scorer reads them
    missing_rule: MissingRule = "ignore"

    @classmethod
    def encode(
        cls, votes: ArrayLike, y: ArrayLike | None = None, missing: MissingRule = "ignore"
    ) -> Votes:
        """Encode a table of labels.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members)
            Labels of the members; masked where a vote is missing.
        y : array-like of shape (n_samples,), optional
            The true labels.
        missing : {"ignore", "wrong"}, default="ignore"
            What a missing vote means: nothing, as for out-of-bag votes, or an abstention, which is
            not correct.

        Returns
        -------
        Votes
        """
        rule = check_missing_rule(missing)
        mask = np.ma.getmask(votes)
        labels = as_labels(votes if mask is np.ma.nomask else fill_missing_votes(votes), "votes")
        true_labels = None if y is None else as_label_column(y)
        check_table_shape(labels, None if true_labels is None else len(true_labels))
        classes = label_coding.find_classes(labels)
        if true_labels is not None:
            classes = merge_classes(classes, label_coding.find_classes(true_labels))
        n_samples, n_members = labels.shape
        has_missing = bool(np.any(mask))
        label_coding.check_class_count(classes, has_missing)

        def encoded_rows(rows: slice) -> Array:
            codes = encode_labels(labels[rows], classes)
            if has_missing and isinstance(mask, np.ndarray):
                return mark_missing(codes, mask[rows], len(classes))
            return codes

        packed = pack_blocks(n_samples, n_members, len(classes) + has_missing, encoded_rows)
        y_codes = None if true_labels is None else encode_column(true_labels, classes)
        names = text_column_names(votes)
        return cls(packed, classes, y_codes, names, has_missing, missing_rule=rule)

    @classmethod
    def from_codes(
        cls,
        codes: Array,
        classes: Array,
        y: ArrayLike | None = None,
        mask: BoolArray | None = None,
        names: ArrayLike | None = None,
    ) -> Votes:
        """Pack votes that are already encoded.

        Parameters
        ----------
        codes : ndarray of shape (n_members, n_samples)
            Indices of the classes.
        classes : ndarray of shape (n_classes,)
            The labels, sorted.
        y : array-like of shape (n_samples,), optional
            The true labels.
        mask : ndarray of shape (n_members, n_samples), optional
            True where a vote is missing.
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

        def encoded_rows(rows: slice) -> Array:
            block = codes[:, rows]
            if mask is not None and has_missing:
                block = mark_missing(block, mask[:, rows], len(classes))
            return block.T

        packed = pack_blocks(n_samples, n_members, len(classes) + has_missing, encoded_rows)
        name_array = None if names is None else np.array(names, dtype=object)
        votes = cls(packed, classes, None, name_array, has_missing)
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
        """Size of the packed votes in bytes."""
        return self.packed.nbytes

    @property
    def truth(self) -> Array:
        """The codes of the true labels; raises an error if there are none."""
        if self.y is None:
            raise InputError("These votes have no true labels. Pass y: Votes.encode(votes, y).")
        return self.y

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of votes of each member for each class: (members, classes)."""
        return self.packed.code_counts[:, : self.n_labels]

    @cached_property
    def truth_counts(self) -> NDArray[np.int64]:
        """Number of samples by vote and true label: (members, classes, classes)."""
        self._check_table_size(self.n_members)
        tables = empty_count_tables(self.n_members, self.n_labels)
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
        """Number of samples that each member predicts correctly."""
        if self.n_members * self.n_samples <= MOST_BY_NUMPY:
            return self.oracle.sizes[:, 0]  # no kernel needs to be compiled for it
        # Not the diagonal of `truth_counts`, whose size is members × classes².
        compared = self.packed.compare_with_truth(self.truth, self.leaves_out_missing)
        return compared.code_counts[:, 0]

    @property
    def n_voted(self) -> NDArray[np.int64]:
        """Number of samples that each member is compared on: all if missing votes are wrong."""
        return self.sizes.sum(axis=1)

    @property
    def n_answered(self) -> NDArray[np.int64]:
        """Number of samples that each member votes on."""
        return self.packed.code_counts[:, : self.n_classes].sum(axis=1)

    def with_missing_rule(self, missing: MissingRule) -> Votes:
        """Return the votes with another meaning of missing votes."""
        return self if missing == self.missing_rule else replace(self, missing_rule=missing)

    def has_prediction(self, members: MemberIndices | None = None) -> BoolArray:
        """Return the mask of the samples that at least one of some members votes on."""
        if not self.has_missing:
            return np.ones(self.n_samples, dtype=bool)
        return self._effective_packed(members).has_any_vote()

    @cached_property
    def completed(self) -> Votes:
        """The votes without gaps, if missing votes are wrong: they are votes for a new class."""
        if self.n_labels == self.n_classes:
            return self
        labels = np.arange(self.n_labels)
        return Votes(self.packed, labels, self.y, self.names, is_sequential=self.is_sequential)

    @cached_property
    def oracle(self) -> Votes:
        """Votes for class 0 where a member is correct and for class 1 where it is wrong."""
        packed = self.packed.compare_with_truth(self.truth, self.leaves_out_missing)
        return Votes(packed, np.array([0, 1]), has_missing=self.leaves_out_missing)

    def codes(self, members: MemberIndices) -> Array:
        """Return the codes of some members' votes: (members, samples)."""
        return self.packed.decode(np.asarray(members, dtype=np.intp))

    def joint_counts(
        self, members: MemberIndices | slice, others: MemberIndices | slice = slice(None)
    ) -> NDArray[np.int64]:
        """Count samples by label pair: (members, others, classes, classes)."""
        first, second = self._select_packed(members), self._select_packed(others)
        self._check_table_size(first.n_members * second.n_members)
        return self._drop_missing_counts(first.joint_counts(second))

    def joint_counts_of(self, others: Votes, block: slice) -> NDArray[np.int64]:
        """Count samples by label pair for the members of other votes and a block of these members.

        The result (others, block, classes, classes) is a buffer, which each thread reuses.
        """
        self._check_table_size(others.n_members * len(range(*block.indices(self.n_members))))
        return self._drop_missing_counts(
            others.packed.joint_counts(self._select_packed(block), _BUFFER)
        )

    def agreement_counts(
        self, others: Votes, block: slice, by_chance: bool = False
    ) -> dict[str, NDArray[np.int64]]:
        """Count equal labels for the members of other votes and a block of these members.

        Returns arrays (others, block): ``n_common``, the samples that both members vote on,
        ``n_agreed``, those with equal labels, and, if ``by_chance``, the sums of the products of
        their numbers of votes for each label.
        """
        if not isinstance(self.packed, CodeMatrix):
            tables = self.joint_counts_of(others, block)
            counts = {"n_common": tables.sum(axis=(-2, -1)), "n_agreed": count_agreed(tables)}
            if by_chance:
                counts["by_chance"] = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1)
            return counts
        # For many classes, without tables of classes².
        codes = others.packed.decode(), self.packed.decode(block)
        shape = others.n_members, len(codes[1])
        counts = {name: np.empty(shape, dtype=np.int64) for name in ("n_common", "n_agreed")}
        code_kernels.count_agreed(*codes, self.n_labels, counts["n_agreed"], counts["n_common"])
        if by_chance:
            counts["by_chance"] = np.empty(shape, dtype=np.int64)
            code_kernels.count_agreed_by_chance(*codes, self.n_labels, counts["by_chance"])
        return counts

    def tally(self, members: MemberIndices | None = None) -> NDArray[np.int32]:
        """Count the votes for each class: (samples, classes)."""
        tally = self.empty_tally()
        counted = effective_members(self, members)
        if self.n_classes * len(counted) * self.n_samples <= MOST_BY_NUMPY:
            codes = self.codes(counted)
            for label in range(self.n_classes):
                tally[:, label] = np.count_nonzero(codes == label, axis=0)
            return tally
        for member in counted:
            vote_kernels.tally_votes(self.codes([member]), 1, tally)
        return tally

    def vote(
        self,
        members: MemberIndices | None = None,
        silent: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Array:
        """Return the label with the most votes, per sample; ties go to the lowest class.

        A sample without votes gets the label ``silent``; by default the most frequent true label,
        or the most frequent vote if there are no true labels.
        """
        tally: Array
        if weights is None:
            tally, winner = self.tally(members), np.empty(self.n_samples, dtype=np.intp)
            vote_kernels.find_winners(tally, winner)
        else:
            tally = self._weighted_tally(members, weights)
            winner = argmax_with_ties(tally)
        labels = self.classes[winner]
        if not self.has_missing:
            return labels
        fallback = most_frequent_class(self) if silent is None else silent
        return np.where(tally.any(axis=1), labels, fallback)

    def _weighted_tally(self, members: MemberIndices | None, weights: ArrayLike) -> FloatArray:
        """Sum the weights of the votes for each class: (samples, classes)."""
        selected = np.arange(self.n_members) if members is None else members
        tally = np.zeros((self.n_samples, self.n_classes))
        for member, weight in zip(selected, np.asarray(weights, dtype=float), strict=True):
            vote_kernels.tally_votes(self.codes([member]), weight, tally)
        return tally

    def is_right(self, members: MemberIndices | None = None) -> BoolArray:
        """Return the mask of the samples on which the vote of some members is correct.

        A sample without any vote is not correct, whatever its true label.
        """
        packed = self._effective_packed(members)
        is_correct = packed.is_vote_correct(self._packed_truth, self.n_classes)
        return is_correct & packed.has_any_vote() if self.has_missing else is_correct

    def accuracy(self, members: MemberIndices | None = None) -> float:
        """Return the fraction of samples on which the vote of some members is correct."""
        return np.count_nonzero(self.is_right(members)) / self.n_samples

    def take(self, members: MemberIndices) -> Votes:
        """Return the votes of some members, in the given order."""
        selected = np.asarray(members, dtype=np.intp)
        names = None if self.names is None else self.names[selected]
        rows = None if self.samples is None else self.samples.for_columns(selected)
        packed = self.packed.select_members(selected)
        return replace(self, packed=packed, names=names, samples=rows)

    def rows(self, samples: IndexArray) -> Votes:
        """Return the votes on some samples, with the same classes."""
        codes = self.packed.decode()[:, samples]
        mask = codes == self.n_classes if self.has_missing else None
        part = Votes.from_codes(codes, self.classes, None, mask, self.names)
        part = part._with_classes(self.classes, self.has_missing)
        y = None if self.y is None else label_coding.make_read_only(self.y[samples])
        rows = None if self.samples is None else self.samples.take(samples)
        return replace(
            part,
            y=y,
            is_sequential=self.is_sequential,
            samples=rows,
            missing_rule=self.missing_rule,
        )

    def run(self, samples: slice) -> Votes:
        """Return the votes on consecutive samples that start at a multiple of 64."""
        start, stop, _ = samples.indices(self.n_samples)
        packed = empty_packed_votes(stop - start, self.n_members, self.packed.n_classes)
        first, last = start // packed.samples_per_cell, -(-stop // packed.samples_per_cell)
        packed.cells[..., : last - first] = self.packed.cells[..., first:last]
        packed.make_read_only()
        y = None if self.y is None else self.y[start:stop]
        rows = None if self.samples is None else self.samples.take(slice(start, stop))
        return replace(self, packed=packed, y=y, samples=rows)

    def with_labels(self, y: ArrayLike) -> Votes:
        """Return the same votes with other true labels."""
        labels = as_label_column(y, self.n_samples)
        classes = merge_classes(self.classes, label_coding.find_classes(labels))
        recoded = self._with_classes(classes, self.has_missing)
        return replace(recoded, y=encode_column(labels, recoded.classes))

    def append(self, votes: Votes | ArrayLike, y: ArrayLike | None = None) -> Votes:
        """Return these votes followed by further samples, as if encoded together."""
        more = votes if isinstance(votes, Votes) else Votes.encode(votes, y)
        if more.n_members != self.n_members:
            raise InputError(
                f"The new votes have {more.n_members} members, the earlier votes "
                f"{self.n_members}. Pass the same members, in the same order."
            )
        if (more.y is None) != (self.y is None):
            raise InputError("Pass true labels with all batches of votes, or with none.")
        classes = merge_classes(self.classes, more.classes)
        has_missing = self.has_missing or more.has_missing
        batches = [batch._with_classes(classes, has_missing) for batch in (self, more)]
        packed = batches[0].packed.append_samples(batches[1].packed)
        packed.make_read_only()
        targets = [batch.y for batch in batches if batch.y is not None]
        y_codes = label_coding.make_read_only(np.concatenate(targets)) if targets else None
        return replace(batches[0], packed=packed, y=y_codes, samples=None)

    def _effective_packed(self, members: MemberIndices | None) -> PackedVotes:
        """Return the packed votes of the members whose votes are combined."""
        if members is None and not self.is_sequential:
            return self.packed
        return self._select_packed(effective_members(self, members))

    def _select_packed(self, members: MemberIndices | slice) -> PackedVotes:
        if isinstance(members, slice):
            return self.packed if members == slice(None) else self.packed.select_members(members)
        if len(members) == 1:
            return self.packed.select_members(slice(members[0], members[0] + 1))  # a view, no copy
        return self.packed.select_members(np.asarray(members, dtype=np.intp))

    def _check_table_size(self, n_tables: int) -> None:
        """Raise an error if tables of labels × labels would need too much memory."""
        n_cells = n_tables * self.packed.n_classes**2
        if n_cells > _MOST_CELLS:
            raise InputError(
                f"Counts by pairs of {self.n_classes:,} classes need {format_bytes(8 * n_cells)} "
                f"here, more than {format_bytes(8 * _MOST_CELLS)}. Use a measure without them: "
                "kappa or disagreement. Or merge rare classes."
            )

    def empty_tally(
        self, n_columns: int | None = None, dtype: type[np.generic] = np.int32
    ) -> Array:
        """Return zeros for votes by sample and class; raise if they would need too much memory."""
        shape = (self.n_samples, self.n_classes if n_columns is None else n_columns)
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if n_bytes > 8 * _MOST_CELLS:
            raise InputError(
                f"Votes by sample and class need {format_bytes(n_bytes)} here ({shape[0]:,} "
                f"samples, {shape[1]:,} classes), more than {format_bytes(8 * _MOST_CELLS)}. Pass "
                "fewer samples, merge rare classes, or use a method that compares pairs of "
                "members, such as comep or joint."
            )
        return np.zeros(shape, dtype)

    def _drop_missing_counts(self, tables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return tables of counts without the counts of missing votes, unless they are wrong."""
        return tables[..., : self.n_labels, : self.n_labels]

    def _with_classes(self, classes: Array, has_missing: bool) -> Votes:
        """Return the votes encoded with a set of classes that contains the present classes."""
        if len(classes) == self.n_classes and has_missing == self.has_missing:
            return replace(self, classes=classes)
        new_codes = np.append(np.searchsorted(classes, self.classes), len(classes))
        packed = self.packed.recode_classes(
            len(classes) + has_missing, new_codes[: self.packed.n_classes]
        )
        packed.make_read_only()
        y = None if self.y is None else encode_column(self.classes[self.y][:, None], classes)
        return replace(self, packed=packed, classes=classes, y=y, has_missing=has_missing)
