"""Two packings of the encoded votes of many members: bit planes, and integers for many classes.

Both have the same interface and count exactly. `BitPlanes` holds one bit per sample for each class
except the last, which follows from the others; its joint counts cost (classes - 1)² popcounts per
64 samples. `CodeMatrix` holds a small integer per sample; its joint counts are a histogram, whose
cost does not depend on the number of classes. `MOST_PLANE_CLASSES` is where the costs are equal.
"""

# ruff: noqa: D102
# (Both packings inherit the docstrings of `PackedVotes`.)

import math
import threading
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from secateurs._renamed_modules import restore_renamed
from secateurs.labels import row_blocks
from secateurs.outputs import bit_kernels, vote_kernels
from secateurs.outputs.label_coding import MOST_BY_NUMPY, code_dtype
from secateurs.typing import Array, BoolArray, IndexArray

# Both packings take equally long between 16 and 20 classes (`python -m benchmarks many_classes`,
# docs/decisions/0001-bit-planes-and-bytes.md).
MOST_PLANE_CLASSES = 16

# Pairs of words to count; with fewer, compiling the faster kernel would take longer than it saves.
_LEAST_BY_FOUR = 1 << 22

MemberSelection = IndexArray | slice


class PackedVotes(Protocol):
    """Encoded votes of many members, and counts of them."""

    cells: Array  # the packed votes: members along the first axis, samples along the last
    n_samples: int
    n_classes: int
    samples_per_cell: ClassVar[int]
    counts_cells_first: ClassVar[bool]  # whether tables of joint counts have cells first in memory

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.cells)

    @property
    def nbytes(self) -> int:
        """Size of the packed votes in bytes."""
        return self.cells.nbytes

    @cached_property
    def code_counts(self) -> NDArray[np.int64]:
        """Number of votes of each member for each class: (members, classes)."""

    def make_read_only(self) -> None:
        """Make the cells read-only."""
        self.cells.flags.writeable = False

    def write_rows(self, first_row: int, codes: Array) -> None:
        """Fill in a block of codes (samples × members) that starts at a multiple of 64."""

    def select_members(self, members: MemberSelection) -> "PackedVotes":
        """Return the votes of some members, in the given order."""

    def decode(self, members: MemberSelection = slice(None)) -> Array:
        """Return the codes: (members, samples)."""

    def recode_classes(self, n_classes: int, new_codes: Array) -> "PackedVotes":
        """Return the votes with more classes; class c becomes ``new_codes[c]``."""

    def append_samples(self, other: Self) -> "PackedVotes":
        """Return these samples, followed by the samples of another packing of the same members."""

    def joint_counts(self, other: Self, buffer: "CountBuffer | None" = None) -> NDArray[np.int64]:
        """Count samples by label pair: (members, other's members, classes, classes)."""

    def outcome_counts(self, outcomes: Array, n_outcomes: int) -> NDArray[np.int64]:
        """Count for each member the samples on which its vote leads to each outcome.

        ``outcomes[c, n]``, below ``n_outcomes``, is the outcome of a vote for class c on sample n.
        """

    def weighted_sums(self, weights: Array) -> NDArray[np.int64]:
        """Sum for each member the weights of its votes.

        The integer ``weights[c, n]`` is the weight of a vote for class c on sample n.
        """

    def is_vote_correct(self, truth: Self, n_classes: int) -> BoolArray:
        """Return the mask of the samples on which the vote of all members is the true label."""

    def has_any_vote(self) -> BoolArray:
        """Return the mask of the samples with a vote, if the last code stands for missing votes."""

    def compare_with_truth(self, truth: Array, missing: bool) -> "BitPlanes":
        """Return 0 where a member's vote is the true label, and 1 elsewhere.

        If the last code stands for missing votes, a missing vote is 2.
        """


def empty_packed_votes(n_samples: int, n_members: int, n_classes: int) -> PackedVotes:
    """Return an empty packing, to be filled in with `write_rows`."""
    if n_classes <= MOST_PLANE_CLASSES:
        return BitPlanes(_empty_planes(n_members, max(0, n_classes - 1), n_samples), n_samples)
    return CodeMatrix(np.zeros((n_members, n_samples), dtype=code_dtype(n_classes)), n_classes)


def pack_blocks(
    n_samples: int, n_members: int, n_codes: int, encoded_rows: Callable[[slice], Array]
) -> PackedVotes:
    """Return packed votes from codes that are computed in blocks of samples."""
    packed = empty_packed_votes(n_samples, n_members, n_codes)
    for rows in row_blocks(n_samples, n_members, multiple=bit_kernels.WORD_BITS):
        codes = np.ascontiguousarray(encoded_rows(rows), dtype=code_dtype(n_codes))
        packed.write_rows(rows.start, codes)
    packed.make_read_only()
    return packed


def pack_column(codes: Array, n_classes: int) -> PackedVotes:
    """Return one column of codes, packed like the votes of one member."""
    if n_classes <= MOST_PLANE_CLASSES:
        planes = BitPlanes(pack_bits(codes == np.arange(n_classes - 1)[:, None])[None], len(codes))
        planes.make_read_only()
        return planes
    return CodeMatrix(codes[None].astype(code_dtype(n_classes)), n_classes)


def packed_from_cells(cells: Array, n_samples: int, n_classes: int) -> PackedVotes:
    """Return a packing with the cells of another packing."""
    if n_classes <= MOST_PLANE_CLASSES:
        return BitPlanes(cells, n_samples)
    return CodeMatrix(cells, n_classes)


class BitPlanes(PackedVotes):
    """Bit planes: cells are (members, classes - 1, words), with 64 samples per word."""

    __setstate__ = restore_renamed(sizes="code_counts")

    samples_per_cell = bit_kernels.WORD_BITS
    counts_cells_first = True

    def __init__(
        self, planes: NDArray[np.uint64], n_samples: int, sizes: NDArray[np.int64] | None = None
    ) -> None:
        self.cells, self.n_samples, self.n_classes = planes, n_samples, planes.shape[1] + 1
        if sizes is not None:
            self.code_counts = sizes

    @cached_property
    def code_counts(self) -> NDArray[np.int64]:
        sizes = np.zeros((self.n_members, self.n_classes), dtype=np.int64)
        for planes, counts in zip(self.cells, sizes, strict=True):
            counts[:-1] = np.bitwise_count(planes).sum(axis=-1, dtype=np.int64)
        sizes[:, -1] = self.n_samples - sizes.sum(axis=1)
        return sizes

    def write_rows(self, first_row: int, codes: Array) -> None:
        first_word = first_row // bit_kernels.WORD_BITS
        if self.n_samples * self.n_members > MOST_BY_NUMPY:
            bit_kernels.pack_rows(codes, self.cells, first_word)
            return
        rows = np.ascontiguousarray(codes.T)
        for label in range(self.n_classes - 1):
            bits = pack_bits(rows == label)[:, : self.cells.shape[2] - first_word]
            self.cells[:, label, first_word : first_word + bits.shape[1]] = bits

    def select_members(self, members: MemberSelection) -> "BitPlanes":
        sizes = self.code_counts[members]  # raises for indices out of range, unlike the kernel
        if isinstance(members, slice):
            planes = self.cells[members]
        else:
            planes = _aligned_planes((len(members), *self.cells.shape[1:]))
            copy_member_cells(self.cells, members, planes, np.arange(len(members)))
        selected = BitPlanes(planes, self.n_samples, sizes)
        selected.make_read_only()
        return selected

    def decode(self, members: MemberSelection = slice(None)) -> Array:
        planes = self.cells[members]
        n_planes = planes.shape[1]
        codes = np.full((len(planes), self.n_samples), n_planes, dtype=np.uint8)
        for label in range(n_planes):
            bits = _unpack_bits(planes[:, label], self.n_samples)
            bits *= np.uint8(n_planes - label)
            codes -= bits
        return codes

    def recode_classes(self, n_classes: int, new_codes: Array) -> PackedVotes:
        if n_classes > MOST_PLANE_CLASSES:
            return CodeMatrix(new_codes.astype(code_dtype(n_classes))[self.decode()], n_classes)
        recoded = empty_packed_votes(self.n_samples, self.n_members, n_classes)
        all_planes = _add_last_plane(self.cells, self.n_samples)
        for code, new_code in enumerate(new_codes):
            if new_code < n_classes - 1:
                recoded.cells[:, new_code] = all_planes[:, code]
        return recoded

    def append_samples(self, other: Self) -> "BitPlanes":
        n_samples = self.n_samples + other.n_samples
        joined = _empty_planes(self.n_members, self.n_classes - 1, n_samples)
        bit_kernels.append_bits(self.cells, 0, joined)
        bit_kernels.append_bits(other.cells, self.n_samples, joined)
        return BitPlanes(joined, n_samples)

    def joint_counts(self, other: Self, buffer: "CountBuffer | None" = None) -> NDArray[np.int64]:
        shape = (self.n_classes, other.n_classes, self.n_members, other.n_members)
        cells = np.zeros(shape, dtype=np.int64) if buffer is None else buffer.zero_counts(shape)
        tables = cells.transpose(2, 3, 0, 1)  # this layout makes sums over cells fast
        n_planes = self.n_members * (self.n_classes - 1)
        if n_planes < 4 or n_planes * other.cells.size < _LEAST_BY_FOUR:
            bit_kernels.count_joint_planes(self.cells, other.cells, tables)
        else:
            n_words = self.cells.shape[2]
            planes, others = self.cells.reshape(-1, n_words), other.cells.reshape(-1, n_words)
            counts = np.empty((len(planes), len(others)), dtype=np.int64)
            bit_kernels.count_four_by_four(planes, others, counts)
            by_label = counts.reshape(*self.cells.shape[:2], *other.cells.shape[:2])
            cells[:-1, :-1] = by_label.transpose(1, 3, 0, 2)
        # The last label has no plane: its votes are the remaining votes.
        cells[:-1, -1] = self.code_counts.T[:-1, :, None] - cells[:-1, :-1].sum(axis=1)
        cells[-1] = other.code_counts.T[:, None] - cells[:-1].sum(axis=0)
        return tables

    def outcome_counts(self, outcomes: Array, n_outcomes: int) -> NDArray[np.int64]:
        counts = np.zeros((self.n_members, n_outcomes), dtype=np.int64)
        counts[:, 0] = self.n_samples
        bits = np.zeros((n_outcomes, self.n_classes, self.cells.shape[2]), dtype=np.uint64)
        seen, last_sizes = np.zeros(n_outcomes, dtype=bool), np.zeros(n_outcomes, dtype=np.int64)
        vote_kernels.plane_outcomes(self.cells, outcomes, bits, seen, last_sizes, counts)
        return counts

    def weighted_sums(self, weights: Array) -> NDArray[np.int64]:
        # The last class has no plane. Its weight is counted for every vote, and the other classes
        # add the difference from it, whose minimum is subtracted to get digits without a sign.
        difference = weights[:-1] - weights[-1]
        least = difference.min(axis=1)
        difference -= least[:, None]
        n_digits = int(difference.max(initial=0)).bit_length()
        digits = np.empty((len(difference), n_digits, self.cells.shape[2]), dtype=np.uint64)
        for digit in range(n_digits):
            digits[:, digit] = pack_bits((difference >> digit & 1).astype(bool))
        digits.flags.writeable = False
        totals = np.full(self.n_members, weights[-1].sum(dtype=np.int64))
        totals += self.code_counts[:, :-1] @ least
        vote_kernels.plane_weights(self.cells, digits, totals)
        return totals

    def is_vote_correct(self, truth: Self, n_classes: int) -> BoolArray:
        n_words = self.cells.shape[2]
        is_right = np.empty(n_words, dtype=np.uint64)
        work = np.zeros((2 * self.n_members.bit_length() + 1, n_words), dtype=np.uint64)
        planes = truth.cells[0]
        last = ~np.bitwise_or.reduce(planes, axis=0, keepdims=True)
        vote_kernels.mark_correct_votes(
            self.cells, np.concatenate([planes, last])[:n_classes], work, is_right
        )
        return _unpack_bits(is_right, self.n_samples).view(bool)

    def has_any_vote(self) -> BoolArray:
        words = np.bitwise_or.reduce(self.cells, axis=(0, 1))
        return _unpack_bits(words, self.n_samples).view(bool)

    def compare_with_truth(self, truth: Array, missing: bool) -> "BitPlanes":
        true_planes = pack_bits(truth == np.arange(self.n_classes)[:, None])
        compared = _empty_planes(self.n_members, 1 + missing, self.n_samples)
        equal = compared[:, 0]
        equal[:] = true_planes[-1]
        for label in range(self.n_classes - 1):
            equal &= ~self.cells[:, label]
        for label in range(self.n_classes - 1):
            equal |= self.cells[:, label] & true_planes[label]
        if missing:
            compared[:, 1] = np.bitwise_or.reduce(self.cells, axis=1) & ~compared[:, 0]
        return BitPlanes(compared, self.n_samples)


class CodeMatrix(PackedVotes):
    """One small integer per vote: cells are (members, samples)."""

    __setstate__ = restore_renamed(sizes="code_counts")

    samples_per_cell = 1
    counts_cells_first = False

    def __init__(self, codes: Array, n_classes: int) -> None:
        self.cells, self.n_samples, self.n_classes = codes, codes.shape[1], n_classes

    @cached_property
    def code_counts(self) -> NDArray[np.int64]:
        return np.array([np.bincount(row, minlength=self.n_classes) for row in self.cells])

    def write_rows(self, first_row: int, codes: Array) -> None:
        self.cells[:, first_row : first_row + len(codes)] = codes.T

    def select_members(self, members: MemberSelection) -> "CodeMatrix":
        selected = CodeMatrix(self.cells[members], self.n_classes)
        selected.make_read_only()
        return selected

    def decode(self, members: MemberSelection = slice(None)) -> Array:
        return self.cells[members]

    def recode_classes(self, n_classes: int, new_codes: Array) -> "CodeMatrix":
        return CodeMatrix(new_codes.astype(code_dtype(n_classes))[self.cells], n_classes)

    def append_samples(self, other: Self) -> "CodeMatrix":
        return CodeMatrix(np.concatenate([self.cells, other.cells], axis=1), self.n_classes)

    def joint_counts(self, other: Self, buffer: "CountBuffer | None" = None) -> NDArray[np.int64]:
        shape = (self.n_members, other.n_members, self.n_classes, self.n_classes)
        tables = np.zeros(shape, dtype=np.int64) if buffer is None else buffer.zero_counts(shape)
        bit_kernels.count_joint_codes(self.cells, other.cells, tables)
        return tables

    def outcome_counts(self, outcomes: Array, n_outcomes: int) -> NDArray[np.int64]:
        counts = np.zeros((self.n_members, n_outcomes), dtype=np.int64)
        vote_kernels.code_outcomes(self.cells, outcomes, counts)
        return counts

    def weighted_sums(self, weights: Array) -> NDArray[np.int64]:
        totals = np.zeros(self.n_members, dtype=np.int64)
        vote_kernels.code_weights(self.cells, weights, totals)
        return totals

    def is_vote_correct(self, truth: Self, n_classes: int) -> BoolArray:
        tally = np.zeros((self.n_samples, n_classes), dtype=np.int32)
        for member in range(self.n_members):
            vote_kernels.tally_votes(self.cells[[member]], 1, tally)
        winner = np.empty(self.n_samples, dtype=np.intp)
        vote_kernels.find_winners(tally, winner)
        return winner == truth.cells[0]

    def has_any_vote(self) -> BoolArray:
        has_vote = np.zeros(self.n_samples, dtype=bool)
        for codes in self.cells:
            has_vote |= codes < self.n_classes - 1
        return has_vote

    def compare_with_truth(self, truth: Array, missing: bool) -> BitPlanes:
        compared = _empty_planes(self.n_members, 1 + missing, self.n_samples)
        for member, codes in enumerate(self.cells):
            compared[member, 0] = pack_bits(codes == truth)
            if missing:
                compared[member, 1] = pack_bits((codes != truth) & (codes < self.n_classes - 1))
        return BitPlanes(compared, self.n_samples)


class CountBuffer(threading.local):
    """Memory for counts that each thread reuses.

    Dask's workers return freed memory to the system at once, so that allocating it again takes
    longer than counting (docs/decisions/0014-counts-and-memory.md).
    """

    _cells = np.empty(0, dtype=np.int64)

    def zero_counts(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return zeros in the thread's buffer, which the next call overwrites."""
        n_cells = math.prod(shape)
        if self._cells.size < n_cells:
            self._cells = np.empty(n_cells, dtype=np.int64)
        zeros = self._cells[:n_cells].reshape(shape)
        zeros[...] = 0
        return zeros


def copy_member_cells(
    cells: Array, members: IndexArray, copies: Array, targets: IndexArray
) -> None:
    """Copy the cells of some members to the target rows of another array."""
    if math.prod(cells.shape[1:]) * len(members) <= MOST_BY_NUMPY:
        copies[targets] = cells[members]
    else:
        bit_kernels.copy_rows(_flatten_cells(cells), members, _flatten_cells(copies), targets)


def _flatten_cells(cells: Array) -> Array:
    """Return a view of cells as a table with one row per member."""
    return cells.reshape(len(cells), math.prod(cells.shape[1:]))


def pack_bits(mask: BoolArray) -> NDArray[np.uint64]:
    """Return a mask with its last axis packed into words of 64 bits."""
    n_words = _words_per_plane(mask.shape[-1])
    packed = np.zeros((*mask.shape[:-1], n_words * 8), dtype=np.uint8)
    packed_bytes = np.packbits(mask, axis=-1, bitorder="little")
    packed[..., : packed_bytes.shape[-1]] = packed_bytes
    return packed.view("<u8").astype(np.uint64, copy=False)


def _words_per_plane(n_samples: int) -> int:
    """Return the number of words of a plane; long planes are padded to complete cache lines."""
    # Loads that straddle two cache lines made counting take half as long again
    # (docs/decisions/0001-bit-planes-and-bytes.md). Short planes would be mostly padding.
    n_words = -(-n_samples // bit_kernels.WORD_BITS)
    return n_words if n_words < 64 else -(-n_words // 8) * 8


def _empty_planes(n_members: int, n_planes: int, n_samples: int) -> NDArray[np.uint64]:
    return _aligned_planes((n_members, n_planes, _words_per_plane(n_samples)), np.zeros)


def _aligned_planes(
    shape: tuple[int, ...], allocate: Callable[..., NDArray[np.uint8]] = np.empty
) -> NDArray[np.uint64]:
    """Return planes that start at a cache line of 64 bytes."""
    n_bytes = 8 * math.prod(shape)
    buffer = allocate(n_bytes + 64, dtype=np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + n_bytes].view(np.uint64).reshape(shape)


def _unpack_bits(words: NDArray[np.uint64], n_samples: int) -> NDArray[np.uint8]:
    """Return the bits of words as bytes."""
    data = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(data, axis=-1, count=n_samples, bitorder="little")


def _add_last_plane(planes: NDArray[np.uint64], n_samples: int) -> NDArray[np.uint64]:
    """Return planes with the plane of the last class added."""
    all_samples = pack_bits(np.ones(n_samples, dtype=bool))
    last = all_samples & ~np.bitwise_or.reduce(planes, axis=1)
    return np.concatenate([planes, last[:, None]], axis=1)
