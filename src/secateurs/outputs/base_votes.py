"""Base classes of predictions in memory and in a folder, and tables of counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import caller_stacklevel
from secateurs.text_format import format_count
from secateurs.typing import Array, MissingRule

# Joint counts are computed in blocks of at most 2 MB, which stay in the processor's cache. Blocks
# of 32 MB took up to twice as long (docs/decisions/0014-counts-and-memory.md).
_MOST_TABLE_CELLS = 1 << 18
# Above, a table of labels × labels takes more than 8 MB, and pairs are counted without it.
MOST_TABLE_CLASSES = 1 << 10


class BaseOutputs:
    """Base class of votes and predictions in memory, and of both in a folder."""

    n_samples: int
    n_members: int
    classes: Array
    is_sequential: bool = False

    @property
    def staged(self) -> bool:
        """The old name of `is_sequential`, until the next release."""
        warnings.warn(
            "staged was renamed to is_sequential. The old name will be removed in the next "
            "release.",
            FutureWarning,
            stacklevel=caller_stacklevel(),
        )
        return self.is_sequential

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return len(self.classes)

    @property
    def is_numbers(self) -> bool:
        """Whether these are regression values rather than labels or probabilities."""
        return self.n_classes == 0

    def __repr__(self) -> str:
        sizes = {"sample": self.n_samples, "member": self.n_members, "class": self.n_classes}
        shown = list(sizes.items())[: 2 if self.is_numbers else 3]
        counts = ", ".join(format_count(size, noun) for noun, size in shown)
        return f"{type(self).__name__}({counts})"


class BaseVotes(BaseOutputs):
    """Base class of votes in memory and votes in a folder."""

    has_missing: bool
    missing_rule: MissingRule = "ignore"

    @property
    def leaves_out_missing(self) -> bool:
        """Whether counts leave out the samples on which a vote is missing."""
        return self.has_missing and self.missing_rule == "ignore"

    @property
    def n_labels(self) -> int:
        """Number of labels in counts: a missing vote is a further label if it is wrong."""
        return self.n_classes + (self.has_missing and not self.leaves_out_missing)

    @property
    def rows_per_block(self) -> int:
        """Number of members in a block of rows of pairs; one if tables of labels are large."""
        return 16 if self.n_classes <= MOST_TABLE_CLASSES else 1

    def member_blocks(
        self, first: int = 0, n_rows: int = 1, most_cells: int | None = None
    ) -> Iterator[slice]:
        """Yield slices of members from ``first`` on, with small tables of counts for n_rows."""
        most_cells = _MOST_TABLE_CELLS if most_cells is None else most_cells
        step = max(1, most_cells // (n_rows * (self.n_classes + self.has_missing) ** 2))
        for start in range(first, self.n_members, step):
            yield slice(start, min(self.n_members, start + step))


def count_agreed(tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the samples with equal labels in tables of label pairs (…, classes, classes)."""
    return np.trace(tables, axis1=-2, axis2=-1)


def empty_count_tables(n_members: int, n_classes: int) -> NDArray[np.int64]:
    """Return an uninitialised table of counts per member, with the cells along the first axes.

    Sums over cells depend on this layout in their last bit, so all tables must have it.
    """
    return np.empty((n_classes, n_classes, n_members), dtype=np.int64).transpose(2, 0, 1)
