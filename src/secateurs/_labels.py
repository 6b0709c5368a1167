"""Labels of any kind, found and coded as 0, 1, 2, … in sorted order."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs import _kernels

Array = NDArray[Any]

_BLOCK_VALUES = 1 << 22  # values looked at in one go: bounds the memory for copies
_WIDEST_TABLE = 1 << 16  # integer labels spread wider than this are found by sorting
MOST_CLASSES = 1 << 16


def as_labels(values: Any, name: str) -> Array:
    """Turn array-like labels into an array of booleans, integers, whole floats or text."""
    labels = _as_array(values, name)
    if labels.dtype.kind == "O":
        labels = _from_objects(labels, name)
    kind = labels.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds {labels.dtype} values.")
    if kind == "S":
        return labels.astype(str)
    if kind not in "biufUO":
        raise ValueError(
            f"{name} holds {labels.dtype} values, which are no labels. "
            "Give text, integers, booleans or whole floats."
        )
    if kind == "f" and labels.size:
        _refuse_fractions(labels, name)
    return labels


def row_blocks(n_rows: int, n_columns: int, multiple: int = 1) -> Iterator[slice]:
    """Cut rows into slices of a bounded number of values, each a multiple of rows long."""
    step = max(1, _BLOCK_VALUES // max(1, n_columns) // multiple) * multiple
    for first in range(0, n_rows, step):
        yield slice(first, min(n_rows, first + step))


def find_classes(labels: Array) -> Array:
    """Find the distinct labels of a 2-D array, sorted."""
    if labels.dtype.kind == "b":
        return np.array([value for value in (False, True) if (labels == value).any()])
    if _is_text(labels):
        return _distinct_text(labels)
    low, high = int(labels.min()), int(labels.max())
    if not _fits_table(low, high):
        return np.unique(labels)
    seen = np.zeros(high - low + 1, dtype=bool)
    for rows in row_blocks(*labels.shape):
        _kernels.mark_present(_as_integers(labels[rows]), low, seen)
    return (np.flatnonzero(seen) + low).astype(labels.dtype)


def merge_classes(first: Array, second: Array) -> Array:
    """Join two sorted sets of classes; text and numbers do not mix."""
    if _is_text(first) != _is_text(second):
        text, numbers = (first, second) if _is_text(first) else (second, first)
        raise ValueError(
            f"Labels are coded differently: some are text such as {text[0]!r}, others "
            f"numbers such as {numbers[0]}. Give votes and true labels in the same coding."
        )
    if np.array_equal(first, second) and first.dtype == second.dtype:
        return first
    return np.unique(np.concatenate([first, second]))


def check_number(classes: Array) -> None:
    """Refuse more classes than a code can hold: they are something else."""
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"There are {len(classes)} distinct labels, more than {MOST_CLASSES}. "
            "Give predicted classes, not scores or identifiers."
        )


def code_dtype(n_classes: int) -> type[np.unsignedinteger[Any]]:
    """Name the smallest type that holds the codes of so many classes."""
    return np.uint8 if n_classes <= 1 << 8 else np.uint16


def encode(labels: Array, classes: Array) -> Array:
    """Code a 2-D array of labels, all of which are among the classes."""
    codes = np.empty(labels.shape, dtype=code_dtype(len(classes)))
    if _is_text(labels):
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
    _kernels.look_up(_as_integers(labels), low, table, codes)
    return codes


def one_hot(codes: Array, n_classes: int) -> NDArray[np.float64]:
    """Give votes as (samples, classes), 1 for the class voted for; no class for a missing vote."""
    return (codes[:, None] == np.arange(n_classes)).astype(float)


def _as_array(values: Any, name: str) -> Array:
    if hasattr(values, "tocsr"):
        raise TypeError(
            f"{name} is sparse; labels are dense data. Give {name}.toarray(), with the labels "
            "that its zeros stand for."
        )
    try:
        labels = np.asarray(values)
        if labels.dtype.kind in "US" and not hasattr(values, "__array__"):
            labels = np.asarray(values, dtype=object)  # NumPy would have turned 1 into "1"
    except ValueError as error:
        raise ValueError(f"{name} is no regular table: {error}") from None
    return labels


def _from_objects(labels: Array, name: str) -> Array:
    import pandas as pd

    flat = labels.ravel()
    missing = pd.isna(flat)
    if missing.any():
        _refuse_missing(name, flat[int(np.argmax(missing))])
    kind = pd.api.types.infer_dtype(flat, skipna=False)
    if kind in ("string", "empty"):
        return labels
    if kind == "boolean":
        return labels.astype(bool)
    if kind == "integer":
        whole = np.array(labels.tolist())
        if whole.dtype.kind in "iu":
            return whole
        kind = "integers beyond 64 bits"
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return labels.astype(np.float64)
    if kind == "complex":
        return labels.astype(np.complex128)
    raise ValueError(
        f"{name} mixes kinds of labels ({kind}), such as {flat[0]!r}. "
        "Give text only, or numbers only."
    )


def _refuse_missing(name: str, value: object) -> None:
    raise ValueError(
        f"{name} holds {value!r}: NaN, inf and missing values are no labels. "
        "Drop those rows, or give them a class of their own."
    )


def _refuse_fractions(labels: Array, name: str) -> None:
    table = labels.reshape(len(labels), -1)
    for rows in row_blocks(*table.shape):
        block = table[rows]
        bad = ~np.isfinite(block)
        if bad.any():
            value = float(block[bad][0])
            _refuse_missing(name, "NaN" if np.isnan(value) else value)
    for rows in row_blocks(*table.shape):
        block = table[rows]
        bad = block != np.floor(block)
        if bad.any():
            raise ValueError(
                f"{name} holds {float(block[bad][0]):.6g}, which is no label. Give predicted "
                "classes; turn probabilities into classes first, for instance by argmax."
            )


def _fits_table(low: int, high: int) -> bool:
    return high - low < _WIDEST_TABLE and max(-low, high) < 1 << 62


def _as_integers(labels: Array) -> Array:
    """Give whole labels as a contiguous integer array, so that few kernels are compiled."""
    if labels.dtype.kind == "f":
        return labels.astype(np.int64, order="C")
    values = np.ascontiguousarray(labels)
    return values.view(np.uint8) if values.dtype.kind == "b" else values


def _distinct_text(labels: Array) -> Array:
    import pandas as pd

    found: set[Any] = set()
    for rows in row_blocks(*labels.shape):
        found.update(pd.unique(labels[rows].astype(object).ravel()))
    return np.array(sorted(found), dtype=labels.dtype)


def _is_text(labels: Array) -> bool:
    return labels.dtype.kind in "OU"
