"""Two ways to hold the labels of many members: bit planes, and bytes for many classes.

Both answer the same questions by exact counting. `Planes` keeps one bit a sample for each class
but the last, which follows from the others; its joint counts cost (classes - 1)² popcounts for 64
samples. `Codes` keeps a small integer a sample; its joint counts are a histogram, whose cost does
not depend on the number of classes. The two cross where `MOST_PLANE_CLASSES` says.
"""

import math
import threading
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs.outputs import _kernels
from secateurs.outputs._coding import code_dtype

Members = NDArray[np.intp] | slice

MOST_PLANE_CLASSES = 16  # `python -m benchmarks many_classes` measures both sides of the crossing


def pack(n_samples: int, n_members: int, n_classes: int) -> "Planes | Codes":
    """Make an empty packing, to be filled by `write`."""
    if n_classes <= MOST_PLANE_CLASSES:
        return Planes(_empty_planes(n_members, max(0, n_classes - 1), n_samples), n_samples)
    codes = np.zeros((n_members, n_samples), dtype=code_dtype(n_classes))
    return Codes(codes, n_classes)


def pack_column(codes: Array, n_classes: int) -> "Planes | Codes":
    """Pack one column of codes, as of one member."""
    if n_classes <= MOST_PLANE_CLASSES:
        return Planes(_bits(codes == np.arange(n_classes - 1)[:, None])[None], len(codes))
    return Codes(codes[None].astype(code_dtype(n_classes)), n_classes)


def packing_of(cells: Array, n_samples: int, n_classes: int) -> "Planes | Codes":
    """Make a packing of cells that another one held."""
    if n_classes <= MOST_PLANE_CLASSES:
        return Planes(cells, n_samples)
    return Codes(cells, n_classes)


class Planes:
    """Bit planes: (members, classes - 1, words) of 64 samples each."""

    samples_a_cell = _kernels.WORD_BITS
    counts_cells_first = True  # memory layout of joint counts

    def __init__(
        self,
        planes: NDArray[np.uint64],
        n_samples: int,
        sizes: NDArray[np.int64] | None = None,
    ) -> None:
        self.planes = planes
        self.n_samples = n_samples
        if sizes is not None:
            self.sizes = sizes

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.planes.shape[0]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.planes.shape[1] + 1

    @property
    def cells(self) -> NDArray[np.uint64]:
        """What is held, member by member."""
        return self.planes

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.planes.nbytes

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Votes of each member for each class: (members, classes)."""
        sizes = np.zeros((self.n_members, self.n_classes), dtype=np.int64)
        _kernels.plane_sizes(self.planes, sizes[:, :-1])
        sizes[:, -1] = self.n_samples - sizes.sum(axis=1)
        return sizes

    def write(self, first_row: int, codes: Array) -> None:
        """Fill in a block of coded rows (rows × members) that starts at a word."""
        _kernels.pack_rows(codes, self.planes, first_row // _kernels.WORD_BITS)

    def freeze(self) -> None:
        """Forbid further writing."""
        self.planes.flags.writeable = False

    def take(self, members: Members) -> "Planes":
        """Keep some members, in the order given."""
        sizes = self.sizes[members]  # refuses who is not there
        if isinstance(members, slice):
            planes = self.planes[members]
        else:
            planes = _aligned((len(members), *self.planes.shape[1:]))
            _kernels.copy_rows(flat(self.planes), members, flat(planes), np.arange(len(members)))
        taken = Planes(planes, self.n_samples, sizes)
        taken.freeze()
        return taken

    def decode(self, members: Members = slice(None)) -> Array:
        """Give the codes back: (members, samples)."""
        planes = self.planes[members]
        n_planes = planes.shape[1]
        codes = np.full((len(planes), self.n_samples), n_planes, dtype=np.uint8)
        for label in range(n_planes):
            bits = _unpacked(planes[:, label], self.n_samples)
            bits *= np.uint8(n_planes - label)
            codes -= bits
        return codes

    def recode(self, n_classes: int, new_codes: Array) -> "Planes | Codes":
        """Move to a larger set of classes; ``new_codes[c]`` is the new code of class c."""
        if n_classes > MOST_PLANE_CLASSES:
            return Codes(new_codes.astype(code_dtype(n_classes))[self.decode()], n_classes)
        moved = pack(self.n_samples, self.n_members, n_classes)
        assert isinstance(moved, Planes)
        every = _with_last(self.planes, self.n_samples)
        for code, new_code in enumerate(new_codes):
            if new_code < n_classes - 1:
                moved.planes[:, new_code] = every[:, code]
        return moved

    def append(self, other: "Planes") -> "Planes":
        """Put the samples of another packing of the same members and classes behind these."""
        n_samples = self.n_samples + other.n_samples
        joined = _empty_planes(self.n_members, self.n_classes - 1, n_samples)
        _kernels.append_bits(self.planes, 0, joined)
        _kernels.append_bits(other.planes, self.n_samples, joined)
        return Planes(joined, n_samples)

    def joint_counts(self, other: "Planes", room: "Room | None" = None) -> NDArray[np.int64]:
        """Count samples by label pair: (members, other's members, classes, classes)."""
        shape = (self.n_classes, other.n_classes, self.n_members, other.n_members)
        zeros = np.zeros(shape, dtype=np.int64) if room is None else room.zeros(shape)
        tables = zeros.transpose(2, 3, 0, 1)  # sums over cells are fast
        _kernels.joint_planes(self.planes, other.planes, tables)
        _kernels.complete_tables(self.sizes, other.sizes, tables)
        return tables

    def outcome_counts(self, outcomes: Array, n_outcomes: int) -> NDArray[np.int64]:
        """Count for each member the samples that its votes bring to each outcome.

        ``outcomes[c, n]`` is what a vote for class c on sample n leads to, below ``n_outcomes``.
        """
        counts = np.zeros((self.n_members, n_outcomes), dtype=np.int64)
        _kernels.plane_outcomes(self.planes, outcomes, counts)
        return counts

    def is_right(self, truth: "Planes", n_classes: int) -> NDArray[np.bool_]:
        """Say on which samples the vote of all members is the label of one, the truth."""
        right = np.empty(self.planes.shape[2], dtype=np.uint64)
        known = truth.planes[0]
        last = ~np.bitwise_or.reduce(known, axis=0, keepdims=True)
        _kernels.right_votes(self.planes, np.concatenate([known, last])[:n_classes], right)
        return _unpacked(right, self.n_samples).view(bool)

    def agreement(self, truth: Array, missing: bool) -> "Planes":
        """Say where each member's label is that of one coded column: 0 where it is, 1 elsewhere.

        If the last code stands for missing votes, it is 2 where there is no vote.
        """
        every = _bits(truth == np.arange(self.n_classes)[:, None])
        agreed = _empty_planes(self.n_members, 1 + missing, self.n_samples)
        _kernels.agreement_planes(self.planes, every, agreed)
        if missing:
            agreed[:, 1] = np.bitwise_or.reduce(self.planes, axis=1) & ~agreed[:, 0]
        return Planes(agreed, self.n_samples)


class Codes:
    """One small integer a vote: (members, samples)."""

    samples_a_cell = 1
    counts_cells_first = False

    def __init__(self, codes: Array, n_classes: int) -> None:
        self.codes = codes
        self.n_classes = n_classes

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.codes.shape[0]

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.codes.shape[1]

    @property
    def cells(self) -> Array:
        """What is held, member by member."""
        return self.codes

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.codes.nbytes

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Votes of each member for each class: (members, classes)."""
        return np.array([np.bincount(row, minlength=self.n_classes) for row in self.codes])

    def write(self, first_row: int, codes: Array) -> None:
        """Fill in a block of coded rows (rows × members)."""
        self.codes[:, first_row : first_row + len(codes)] = codes.T

    def freeze(self) -> None:
        """Forbid further writing."""
        self.codes.flags.writeable = False

    def take(self, members: Members) -> "Codes":
        """Keep some members, in the order given."""
        taken = Codes(self.codes[members], self.n_classes)
        taken.freeze()
        return taken

    def decode(self, members: Members = slice(None)) -> Array:
        """Give the codes: (members, samples)."""
        return self.codes[members]

    def recode(self, n_classes: int, new_codes: Array) -> "Codes":
        """Move to a larger set of classes; ``new_codes[c]`` is the new code of class c."""
        return Codes(new_codes.astype(code_dtype(n_classes))[self.codes], n_classes)

    def append(self, other: "Codes") -> "Codes":
        """Put the samples of another packing of the same members and classes behind these."""
        return Codes(np.concatenate([self.codes, other.codes], axis=1), self.n_classes)

    def joint_counts(self, other: "Codes", room: "Room | None" = None) -> NDArray[np.int64]:
        """Count samples by label pair: (members, other's members, classes, classes)."""
        shape = (self.n_members, other.n_members, self.n_classes, self.n_classes)
        tables = np.zeros(shape, dtype=np.int64) if room is None else room.zeros(shape)
        _kernels.joint_codes(self.codes, other.codes, tables)
        return tables

    def outcome_counts(self, outcomes: Array, n_outcomes: int) -> NDArray[np.int64]:
        """Count for each member the samples that its votes bring to each outcome."""
        counts = np.zeros((self.n_members, n_outcomes), dtype=np.int64)
        _kernels.code_outcomes(self.codes, outcomes, counts)
        return counts

    def agreement(self, truth: Array, missing: bool) -> Planes:
        """Say where each member's label is that of one coded column, as for planes."""
        agreed = _empty_planes(self.n_members, 1 + missing, self.n_samples)
        for member, codes in enumerate(self.codes):
            agreed[member, 0] = _bits(codes == truth)
            if missing:
                agreed[member, 1] = _bits((codes != truth) & (codes < self.n_classes - 1))
        return Planes(agreed, self.n_samples)


Packing = Planes | Codes


class Room(threading.local):
    """Memory that each thread uses again and again for counts.

    Where memory goes back to the system at once, as on Dask's workers, fetching it anew takes
    longer than counting.
    """

    _cells = np.empty(0, dtype=np.int64)

    def zeros(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Give zeros; they are the thread's until it asks again."""
        n_cells = math.prod(shape)
        if self._cells.size < n_cells:
            self._cells = np.empty(n_cells, dtype=np.int64)
        zeros = self._cells[:n_cells].reshape(shape)
        zeros[...] = 0
        return zeros


def flat(cells: Array) -> Array:
    """View what is held as a table with a row for each member."""
    return cells.reshape(len(cells), math.prod(cells.shape[1:]))


def _n_words(n_samples: int) -> int:
    """Words of a plane; long planes are whole cache lines, so that no load straddles two."""
    n_words = -(-n_samples // _kernels.WORD_BITS)
    return n_words if n_words < 64 else -(-n_words // 8) * 8


def _empty_planes(n_members: int, n_planes: int, n_samples: int) -> NDArray[np.uint64]:
    """Make planes of zeros."""
    return _aligned((n_members, n_planes, _n_words(n_samples)), np.zeros)


def _aligned(
    shape: tuple[int, ...], make: Callable[..., NDArray[np.uint8]] = np.empty
) -> NDArray[np.uint64]:
    """Make planes that start at a cache line."""
    n_bytes = 8 * math.prod(shape)
    buffer = make(n_bytes + 64, dtype=np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + n_bytes].view(np.uint64).reshape(shape)


def _bits(mask: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack the last axis of a mask into words."""
    n_words = _n_words(mask.shape[-1])
    packed = np.zeros((*mask.shape[:-1], n_words * 8), dtype=np.uint8)
    found = np.packbits(mask, axis=-1, bitorder="little")
    packed[..., : found.shape[-1]] = found
    return packed.view("<u8").astype(np.uint64, copy=False)


def _unpacked(words: NDArray[np.uint64], n_samples: int) -> NDArray[np.uint8]:
    """Give the bits of words, each as a byte."""
    data = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(data, axis=-1, count=n_samples, bitorder="little")


def _with_last(planes: NDArray[np.uint64], n_samples: int) -> NDArray[np.uint64]:
    """Add the plane of the last class."""
    everywhere = _bits(np.ones(n_samples, dtype=bool))
    last = everywhere & ~np.bitwise_or.reduce(planes, axis=1)
    return np.concatenate([planes, last[:, None]], axis=1)
