"""Labels as codes: 0, 1, 2, … in the sorted order of the classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError
from secateurs.labels import check_surrogates, is_text, row_blocks
from secateurs.outputs import bit_kernels
from secateurs.typing import Array

_WIDEST_TABLE = 1 << 16  # integer labels spread wider than this are found by sorting
MOST_CLASSES = 1 << 16
MOST_BY_NUMPY = 1 << 20  # values up to which NumPy takes less time than compiling a kernel


def find_classes(labels: Array) -> Array:
    """Return the distinct labels of a 2-D array, sorted."""
    if labels.dtype.kind == "b":
        return np.array([value for value in (False, True) if (labels == value).any()])
    if is_text(labels):
        return _distinct_text(labels)
    low, high = int(labels.min()), int(labels.max())
    if not _fits_table(low, high):
        return np.unique(labels)
    seen = np.zeros(high - low + 1, dtype=bool)
    if labels.size <= MOST_BY_NUMPY:
        seen[labels.astype(np.int64) - low] = True
    else:
        for rows in row_blocks(*labels.shape):
            bit_kernels.mark_present(_as_integers(labels[rows]), low, seen)
    return (np.flatnonzero(seen) + low).astype(labels.dtype)


def check_class_count(classes: Array, has_missing: bool = False) -> None:
    """Refuse more classes than codes can hold; a missing vote takes one code of its own."""
    most = MOST_CLASSES - has_missing
    if len(classes) > most:
        besides = " beside missing votes" * has_missing
        raise InputError(
            f"There are {len(classes)} distinct labels{besides}, more than {most}. "
            "Give predicted classes, not scores or identifiers."
        )


def mark_missing(codes: Array, mask: NDArray[np.bool_], n_classes: int) -> Array:
    """Return codes in which missing votes have the code behind the classes."""
    missing = code_dtype(n_classes + 1)(n_classes)  # of its own type: it may need one more byte
    return np.where(mask, missing, codes)


def encode_column(labels: Array, classes: Array) -> Array:
    """Return one column of labels as codes, in memory of its own that is read-only."""
    codes = encode_labels(labels, classes)[
        :, 0
    ].copy()  # for labels of one byte `encode_labels` returns a view
    codes.flags.writeable = False
    return codes


def code_dtype(n_classes: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest type that holds the codes of n_classes classes."""
    return np.uint8 if n_classes <= 1 << 8 else np.uint16


def encode_labels(labels: Array, classes: Array) -> Array:
    """Return a 2-D array of labels, all among the classes, as codes; may return a view."""
    codes = np.empty(labels.shape, dtype=code_dtype(len(classes)))
    if is_text(labels):
        import pandas as pd

        index = pd.Index(classes.astype(object))
        codes[...] = index.get_indexer(labels.astype(object).ravel()).reshape(labels.shape)
        return codes
    low, high = int(classes[0]), int(classes[-1])
    if labels.dtype.itemsize == 1 and (low, high) == (0, len(classes) - 1):
        return np.ascontiguousarray(labels).view(np.uint8)
    if not _fits_table(low, high):
        codes[...] = np.searchsorted(classes, labels)
        return codes
    table = np.zeros(high - low + 1, dtype=codes.dtype)
    table[classes.astype(np.int64) - low] = np.arange(len(classes))
    if labels.size <= MOST_BY_NUMPY:
        return table[labels.astype(np.int64) - low]
    bit_kernels.look_up_codes(_as_integers(labels), low, table, codes)
    return codes


def plain_text(labels: Array) -> Array:
    """Return text in NumPy's own type, which can be written without pickle."""
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def _fits_table(low: int, high: int) -> bool:
    return high - low < _WIDEST_TABLE and max(-low, high) < 1 << 62


def _as_integers(labels: Array) -> Array:
    """Return whole labels as a contiguous integer array, so that few kernels are compiled."""
    if labels.dtype.kind == "f":
        return labels.astype(np.int64, order="C")
    values = np.ascontiguousarray(labels)
    return values.view(np.uint8) if values.dtype.kind == "b" else values


def _distinct_text(labels: Array) -> Array:
    import pandas as pd

    found: set[Any] = set()
    for rows in row_blocks(*labels.shape):
        found.update(pd.unique(labels[rows].astype(object).ravel()))
    classes = np.array(sorted(found), dtype=labels.dtype)
    check_surrogates(classes)
    return classes
