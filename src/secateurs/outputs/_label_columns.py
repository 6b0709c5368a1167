"""Tables of labels that are read a few columns at a time: arrays of any kind, zarr, Parquet."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError, import_extra, reading_file
from secateurs.labels import as_labels, merge_classes
from secateurs.outputs.input_checks import NO_VOTES, as_label_column, text_column_names
from secateurs.outputs.label_coding import find_classes, plain_text
from secateurs.typing import Array, IndexArray

_BLOCK_BYTES = 64 << 20  # bounds the memory of one block of columns, at 8 bytes per label


@dataclass(frozen=True)
class LabelColumns:
    """A table of labels, samples × members."""

    n_samples: int
    n_members: int
    read_members: Callable[[IndexArray], Array]  # returns the columns of some members
    names: Sequence[str] | None = None
    has_missing: bool = False

    def find_all_classes(self, y: ArrayLike | None) -> Array:
        """Return the distinct labels of the table and of y."""
        parts = [] if y is None else [plain_text(find_classes(as_label_column(y)))]
        step = max(1, _BLOCK_BYTES // (8 * max(1, self.n_samples)))
        for first in range(0, self.n_members, step):
            block = self.read_members(np.arange(first, min(self.n_members, first + step)))
            if np.ma.is_masked(block):
                block = np.ma.getdata(block)[~np.ma.getmaskarray(block)][:, None]
            if block.size:
                parts.append(plain_text(find_classes(as_labels(block, "votes"))))
        if not parts:
            raise InputError(NO_VOTES)
        return reduce(merge_classes, parts)


def as_label_columns(table: object) -> LabelColumns:
    """Return the columns of anything with a shape and slices, a data frame, or nested lists."""
    is_frame = hasattr(table, "columns")
    is_sliceable = hasattr(table, "shape") and not is_frame
    # h5py, zarr and other array types share no base class, so their type is not checked.
    labels: Any = table if is_sliceable else as_labels(table, "votes")
    if len(labels.shape) != 2:
        raise InputError(
            f"votes has shape {labels.shape}; it must have 2 dimensions: rows are samples, columns "
            "are members."
        )
    names = text_column_names(table)
    as_array = np.ma.asanyarray if np.ma.isMaskedArray(labels) else np.asarray

    def read_members(members: IndexArray) -> Array:
        low, high = int(members.min()), int(members.max()) + 1
        if high - low == len(members):  # consecutive columns, which any array can slice
            return as_array(labels[:, low:high])[:, members - low]
        return np.ma.stack([as_array(labels[:, int(member)]) for member in members], axis=1)

    n_samples, n_members = labels.shape
    name_list = None if names is None else names.tolist()
    return LabelColumns(n_samples, n_members, read_members, name_list, np.ma.is_masked(labels))


def open_zarr(array: object) -> object:
    """Return a zarr array, opened if it is a path."""
    if not isinstance(array, (str, os.PathLike)):
        return array
    zarr = import_extra("zarr", "zarr", "reading a zarr array")
    with reading_file(Path(array)):
        return zarr.open_array(os.fspath(array), mode="r")


def open_parquet_columns(file: Path, y: ArrayLike | None) -> tuple[LabelColumns, ArrayLike | None]:
    """Return the columns of a Parquet file, and y, read from the file if y names a column."""
    parquet = import_extra("pyarrow.parquet", "parquet", "reading .parquet")
    with reading_file(file):
        opened = parquet.ParquetFile(file)
        columns = opened.schema_arrow.names
        if isinstance(y, str) and y not in columns:
            raise InputError(f"has no column {y!r}. It has: {', '.join(columns[:8])}.")
        true_labels = opened.read(columns=[y])[0].to_numpy() if isinstance(y, str) else y
    names = [name for name in columns if not (isinstance(y, str) and name == y)]

    def read_members(members: IndexArray) -> Array:
        with reading_file(file):
            table = opened.read(columns=[names[member] for member in members])
            return np.stack([table[names[member]].to_numpy() for member in members], axis=1)

    return LabelColumns(opened.metadata.num_rows, len(names), read_members, names), true_labels
