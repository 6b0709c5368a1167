"""Labels as codes: 0, 1, 2, … in the sorted order of the classes."""

import numpy as np

from secateurs.exceptions import InputError
from secateurs.labels import check_surrogates, is_text, row_blocks
from secateurs.outputs import bit_kernels
from secateurs.typing import Array, BoolArray

_WIDEST_TABLE = 1 << 16  # integer labels with a wider range are found by sorting instead
MOST_CLASSES = 1 << 16  # codes have at most 16 bits
# Up to this number of values NumPy is fast enough that no kernel needs to be compiled for the first
# call (docs/decisions/0017-first-call.md).
MOST_BY_NUMPY = 1 << 20


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
    """Raise an error for more classes than codes can hold; missing votes need one more code."""
    most = MOST_CLASSES - has_missing
    if len(classes) > most:
        and_missing = " and missing votes" * has_missing
        raise InputError(
            f"There are {len(classes)} distinct labels{and_missing}; at most {most} are allowed. "
            "Pass predicted classes, not probabilities or identifiers."
        )


def mark_missing(codes: Array, mask: BoolArray, n_classes: int) -> Array:
    """Return codes in which missing votes have the code after the last class."""
    missing = code_dtype(n_classes + 1)(n_classes)  # one more code may need a wider type
    return np.where(mask, missing, codes)


def encode_column(labels: Array, classes: Array) -> Array:
    """Return one column of labels as a read-only copy of its codes."""
    return make_read_only(encode_labels(labels, classes)[:, 0].copy())  # it may be a view of labels


def make_read_only(values: Array) -> Array:
    """Return the same array after making it read-only."""
    values.flags.writeable = False
    return values


def code_dtype(n_classes: int) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest unsigned type for the codes of n_classes classes."""
    return np.uint8 if n_classes <= 1 << 8 else np.uint16


def encode_labels(labels: Array, classes: Array) -> Array:
    """Return the codes of a 2-D array of labels of these classes; the result may be a view."""
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
    """Return text labels in NumPy's own string type, which can be written without pickle."""
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def _fits_table(low: int, high: int) -> bool:
    """Tell whether a table can be indexed by labels; differences must not overflow 64 bits."""
    return high - low < _WIDEST_TABLE and max(-low, high) < 1 << 62


def _as_integers(labels: Array) -> Array:
    """Return labels as a contiguous integer array, so that few kernel variants are compiled."""
    if labels.dtype.kind == "f":
        return labels.astype(np.int64, order="C")
    values = np.ascontiguousarray(labels)
    return values.view(np.uint8) if values.dtype.kind == "b" else values


def _distinct_text(labels: Array) -> Array:
    import pandas as pd

    distinct: set[str] = set()
    for rows in row_blocks(*labels.shape):
        distinct.update(pd.unique(labels[rows].astype(object).ravel()))
    classes = np.array(sorted(distinct), dtype=labels.dtype)
    check_surrogates(classes)
    return classes


def as_same_kind(labels: Array, known: Array) -> Array:
    """Convert text to numbers or booleans if the known labels are numbers or booleans.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.outputs.label_coding import as_same_kind
    >>> as_same_kind(np.array(["0", "1"]), np.array([0, 1]))
    array([0, 1])
    """
    if not is_text(labels) or is_text(known):
        return labels
    values = [_parse_label(str(text), known) for text in labels.ravel()]
    return labels if None in values else np.array(values)


def _parse_label(text: str, known: Array) -> bool | int | float | None:
    """Return the number or boolean of the text; None if it is none."""
    if known.dtype.kind == "b":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
