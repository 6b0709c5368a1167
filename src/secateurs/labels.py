"""Check and convert labels, merge sets of classes, and turn labels into class indices."""

from collections.abc import Iterator

import numpy as np

from secateurs.exceptions import InputError
from secateurs.text_format import replace_surrogates
from secateurs.thread_safety import reject_polars_after_fork
from secateurs.typing import Array, FloatArray, IndexArray

EXACT_FLOATS = 2.0**53  # larger neighbouring integers are the same float
_BLOCK_VALUES = 1 << 22  # values checked at a time: bounds the memory of copies to 32 MB of floats
# Larger than the rounding errors of sums in a different order; smaller than any real difference.
_TIE = 1e-12


def as_labels(values: object, name: str) -> Array:
    """Return array-like labels as an array of booleans, integers, whole floats or text."""
    labels = _as_array(values, name)
    if labels.dtype.kind == "O":
        labels = _labels_from_objects(labels, name)
    kind = labels.dtype.kind
    if kind == "c":
        raise InputError(f"Complex data not supported: {name} holds {labels.dtype} values.")
    if kind == "S":
        try:
            return labels.astype(str)
        except UnicodeDecodeError:
            raise InputError(
                f"{name} holds bytes that are not ASCII. Decode them to text first."
            ) from None
    if kind not in "biufUO":
        raise InputError(
            f"{name} holds {labels.dtype} values, which are not labels. "
            "Pass text, integers, booleans or whole floats."
        )
    if kind == "f" and labels.size:
        _check_whole(labels, name)
    return labels


def row_blocks(n_rows: int, n_columns: int, multiple: int = 1) -> Iterator[slice]:
    """Yield slices of rows with a bounded number of values, and a multiple of ``multiple`` rows."""
    step = max(1, _BLOCK_VALUES // max(1, n_columns) // multiple) * multiple
    for first in range(0, n_rows, step):
        yield slice(first, min(n_rows, first + step))


def merge_classes(first: Array, second: Array) -> Array:
    """Return the sorted union of two sets of classes; text and numbers do not mix."""
    if is_text(first) != is_text(second):
        text, numbers = (first, second) if is_text(first) else (second, first)
        raise InputError(
            f"Labels are coded differently: some are text such as {str(text[0])!r}, others "
            f"numbers such as {numbers[0]}. Pass votes and true labels in the same coding."
        )
    check_surrogates(first)
    if np.array_equal(first, second) and first.dtype == second.dtype:
        return first
    merged = np.concatenate([first, second])
    if merged.dtype.kind == "f" and (np.abs(merged) > EXACT_FLOATS).any():
        both_floats = first.dtype.kind == second.dtype.kind == "f"
        raise InputError(
            f"Votes and y hold whole numbers up to {np.abs(merged).max():.3g} as floats, which are "
            "exact labels only up to 2**53. Pass labels as integers or text, or for regression the "
            "values in a larger unit."
            if both_floats
            else f"Labels beyond 2**53 are of type {first.dtype} and of type {second.dtype}: as "
            "floats they cannot be distinguished. Pass votes and true labels as the same integer "
            "type."
        )
    return np.unique(merged)


def check_surrogates(classes: Array) -> None:
    """Raise an error for text with a lone surrogate, which can be neither printed nor written."""
    for label in classes if is_text(classes) else ():
        if replace_surrogates(label) != label:
            raise InputError(
                f"The label {replace_surrogates(label)!r} holds half of a character (a lone "
                "surrogate). Decode the labels again, for instance with errors='replace'."
            )


def label_indices(labels: Array, classes: Array, whose: str) -> IndexArray:
    """Return the indices of labels in sorted classes; raise an error for an unknown label."""
    labels = np.asarray(labels)
    indices = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    is_unknown = classes[indices] != labels
    if is_unknown.any():
        raise InputError(
            f"{whose} predicts the label {labels[is_unknown][0]!r}, which is not among its classes "
            f"({classes[0]!r} to {classes[-1]!r}). Fit it again, or pass predictions instead."
        )
    return indices


def argmax_with_ties(shares: FloatArray) -> IndexArray:
    """Return the index of the largest value in each row, the lowest index of those that tie."""
    return (shares >= shares.max(axis=1, keepdims=True) - _TIE).argmax(axis=1)


def one_hot(codes: Array, n_classes: int) -> FloatArray:
    """Return votes as (samples, classes): 1 for the class voted for, 0 if the vote is missing."""
    return (codes[:, None] == np.arange(n_classes)).astype(float)


def _as_array(values: object, name: str) -> Array:
    if hasattr(values, "tocsr"):
        raise TypeError(
            f"{name} is sparse; labels are dense data. Pass {name}.toarray(), with the labels "
            "that its zeros represent."
        )
    reject_polars_after_fork(values)
    try:
        labels = np.asarray(values)
        if labels.dtype.kind == "T":  # text of variable width (numpy.dtypes.StringDType)
            labels = labels.astype(object)
        if labels.dtype.kind in "US" and not hasattr(values, "__array__"):
            labels = np.asarray(values, dtype=object)  # NumPy turns [1, "a"] into ["1", "a"]
    except ValueError as error:
        raise InputError(f"{name} is not a regular table: {error}") from None
    return labels


def _labels_from_objects(labels: Array, name: str) -> Array:
    import pandas as pd

    flat = labels.ravel()
    missing = pd.isna(flat)
    if missing.any():
        _raise_missing(name, flat[int(np.argmax(missing))])
    kind = pd.api.types.infer_dtype(flat, skipna=False)
    if kind in ("string", "empty"):
        return labels
    if kind == "boolean":
        return labels.astype(bool)
    if kind == "integer":
        integers = np.array(labels.tolist())
        if integers.dtype.kind in "iu":
            return integers
        kind = "integers beyond 64 bits"
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return labels.astype(np.float64)
    if kind == "complex":
        return labels.astype(np.complex128)
    if kind == "bytes":
        raise InputError(f"{name} holds bytes, such as {flat[0]!r}. Decode them to text first.")
    raise InputError(
        f"{name} mixes kinds of labels ({kind}), such as {flat[0]!r}. "
        "Pass text only, or numbers only."
    )


def _raise_missing(name: str, value: object) -> None:
    raise InputError(
        f"{name} holds {value!r}: NaN, inf and missing values are not labels. "
        "Drop these samples, or assign them a class of their own."
    )


def _check_whole(labels: Array, name: str) -> None:
    """Raise an error for float labels that are missing, infinite or not integers."""
    table = labels.reshape(len(labels), -1)
    for rows in row_blocks(*table.shape):
        block = table[rows]
        bad = ~np.isfinite(block)
        if bad.any():
            value = float(block[bad][0])
            _raise_missing(name, "NaN" if np.isnan(value) else value)
    for rows in row_blocks(*table.shape):
        block = table[rows]
        bad = block != np.floor(block)
        if bad.any():
            problem = f"{name} holds {float(block[bad][0]):.6g}, which is not a label"
            if name.startswith("y"):
                raise InputError(
                    f"{problem}: it looks like a continuous target, but the members predict "
                    "classes. Pass the true classes, or regressors."
                )
            raise InputError(
                f"{problem}. Pass predicted classes, such as the argmax of probabilities, or "
                "probabilities (samples × members × classes). For predictions of regressors, pass "
                "a regression metric, such as r2."
            )


def is_text(labels: Array) -> bool:
    """Return whether labels are text."""
    return labels.dtype.kind in "OU"
