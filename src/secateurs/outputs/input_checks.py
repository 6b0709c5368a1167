"""Checks of votes and true labels, before any work is done on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from secateurs.exceptions import InputError
from secateurs.labels import as_labels, merge_classes, row_blocks
from secateurs.outputs.label_coding import encode_column, find_classes, plain_text
from secateurs.text_format import format_count
from secateurs.typing import Array, MemberIndices

NO_VOTES = "votes is masked everywhere: there is not a single vote. Give some votes."

_LARGEST = 1e150


def check_table_shape(labels: Array, n_labels: int | None) -> None:
    """Refuse votes that are not a table of samples × members, or do not match y."""
    if labels.ndim != 2:
        raise InputError(
            f"votes has {labels.ndim} dimension(s), shape={labels.shape}; it must have 2: rows are "
            "samples, columns are members. Reshape your data: one member is votes.reshape(-1, 1)."
        )
    n_samples, n_members = labels.shape
    for count, what, rows in ((n_samples, "sample", "rows"), (n_members, "feature", "columns")):
        if count == 0:
            raise InputError(
                f"votes is empty: it has 0 {what}(s) (shape={labels.shape}) while a minimum of 1 "
                f"is required. Rows are samples, columns are members; give some {rows}."
            )
    if n_labels is None or n_labels == n_samples:
        return
    check_not_transposed(labels.shape, (n_labels,))
    raise InputError(
        f"votes has {format_count(n_samples, 'sample')} (shape={labels.shape}) but y has "
        f"{format_count(n_labels, 'label')}. "
        "Give one true label per sample."
    )


def check_not_transposed(shape: tuple[int, ...], of_y: tuple[int, ...] | None) -> None:
    """Refuse a table whose columns, not its rows, are as many as the true labels."""
    n_labels = of_y[0] if of_y else None
    if n_labels is not None and len(shape) > 1 and shape[0] != n_labels == shape[1]:
        raise InputError(
            f"votes has shape {shape} and y has {format_count(n_labels, 'label')}: votes looks "
            "transposed. Rows are samples, columns are members; give "
            f"votes.{'T' if len(shape) == 2 else 'swapaxes(0, 1)'}."
        )


def check_code_range(codes: Array, n_classes: int, mask: NDArray[np.bool_] | None) -> None:
    """Refuse codes that are not places among the classes: kernels index with them."""
    for rows in row_blocks(*codes.shape):
        block = codes[rows] if mask is None else codes[rows][~mask[rows]]
        if block.size and not 0 <= block.min() <= block.max() < n_classes:
            wrong = block.max() if block.max() >= n_classes else block.min()
            raise InputError(
                f"codes hold {wrong}, which is not a place among the {n_classes} classes. Give "
                f"integers from 0 to {n_classes - 1}."
            )


def as_label_column(y: Any, n_samples: int | None = None) -> Array:
    """Return true labels, one per sample, as a column: (samples, 1)."""
    if np.ma.is_masked(y):
        raise InputError("y has masked entries: true labels cannot be missing. Drop those rows.")
    labels = as_labels(y, "y")
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise InputError(
            f"y has shape {labels.shape}; it should be a 1d array with one true label per sample."
        )
    if n_samples is not None and len(labels) != n_samples:
        raise InputError(
            f"votes has {format_count(n_samples, 'sample')} but y has {format_count(len(labels), 'label')}. "
            "Give one true label per sample."
        )
    return column_or_1d(labels, warn=True)[:, None]


def as_target_values(y: Any, n_samples: int) -> NDArray[np.float64]:
    """Return true numbers, one per sample, in memory of their own."""
    if np.ma.is_masked(y):
        raise InputError("y has masked entries: true numbers cannot be missing. Drop those rows.")
    try:
        numbers = np.array(y, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"y holds {np.asarray(y).dtype} values, which are not numbers. The members predict "
            "numbers; give the true ones."
        ) from None
    if numbers.ndim != 1 and numbers.shape[1:] != (1,):
        raise InputError(
            f"y has shape {numbers.shape}; it should be a 1d array with one true number per sample."
        )
    if len(numbers) != n_samples:
        raise InputError(
            f"scores has {format_count(n_samples, 'sample')} but y has "
            f"{format_count(len(numbers), 'number')}. "
            "Give one true number per sample."
        )
    if not np.isfinite(numbers).all():
        raise InputError("y holds NaN or inf. Drop those rows.")
    check_magnitude(numbers, "y")
    return column_or_1d(numbers, warn=True)


def check_magnitude(numbers: Array, name: str) -> None:
    """Refuse numbers whose squares have no sum."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > _LARGEST:
        raise InputError(
            f"{name} holds {largest:.3g}: squares of numbers beyond {_LARGEST:g} cannot be added "
            "up. Give them in a larger unit."
        )


def check_sample_weights(
    weights: Any, n_rows: int, name: str = "sample_weight"
) -> NDArray[np.float64] | None:
    """Return weights of rows, checked; None without any."""
    if weights is None:
        return None
    try:
        checked = np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{{{name}}} holds values that are not numbers.", **{name: ...}) from None
    if checked.shape != (n_rows,):
        raise InputError(
            f"{{{name}}} has shape {checked.shape}. Give a weight for each of the {n_rows} rows.",
            **{name: ...},
        )
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any() or not checked.any():
        row = int(wrong.argmax())
        what = f"is {checked[row]:g} in row {row}" if wrong.any() else "is 0 in all rows"
        raise InputError(
            f"{{{name}}} {what}. Give weights that are finite, zero or more, and not all zero.",
            **{name: ...},
        )
    return checked


def has_fractions(values: Any) -> bool:
    """Tell whether some values are finite numbers that are not whole."""
    numbers: Array = values.compressed() if np.ma.isMaskedArray(values) else np.asarray(values)
    if numbers.dtype.kind == "O":  # columns of several kinds
        try:
            numbers = numbers.astype(float)
        except (TypeError, ValueError):
            return False
    if numbers.dtype.kind != "f":
        return False
    return bool((np.isfinite(numbers) & (numbers != np.floor(numbers))).any())


def fill_missing_votes(votes: Any) -> Array:
    """Return masked votes with some label in place of the missing ones."""
    mask = np.ma.getmaskarray(votes)
    if mask.size and mask.all():
        raise InputError(NO_VOTES)
    labels = np.array(np.ma.getdata(votes))
    labels[mask] = labels[~mask][:1]
    return labels


def text_column_names(votes: Any) -> NDArray[np.object_] | None:
    """Return the column names of a data frame; None if there are none, or not all are text."""
    columns = getattr(votes, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def check_store_sizes(
    n_members: int,
    n_samples: int,
    tile_members: int | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Refuse sizes that a store cannot have."""
    if n_members < 1 or n_samples < 1:
        raise InputError(
            f"A store of {format_count(n_members, 'member')} and {format_count(n_samples, 'sample')} is "
            "empty."
        )
    if tile_members is not None and tile_members < 1:
        raise InputError(
            "{tile_members} is not a valid number of members. Give 1 or more.",
            tile_members=tile_members,
        )
    if names is not None and len(names) != n_members:
        raise InputError(
            f"There are {format_count(len(names), 'name')} for {format_count(n_members, 'member')}. Give one "
            "per member."
        )


def check_known_labels(labels: Array, classes: Array, name: str) -> None:
    """Refuse labels that are not among the classes of a store."""
    found = plain_text(labels)
    if len(merge_classes(classes, found)) > len(classes):  # refuses text beside numbers
        unknown = np.setdiff1d(found, classes).tolist()[0]
        raise InputError(
            f"{name} holds the label {unknown!r}, which is not one of the store's {len(classes)} "
            "classes. Create the store with all of them."
        )


def encode_true_labels(y: ArrayLike, classes: Array, n_samples: int) -> Array:
    """Return true labels as codes of a store's classes."""
    truth = as_label_column(y, n_samples)
    check_known_labels(find_classes(truth), classes, "y")
    return encode_column(truth, classes)


def effective_members(outputs: Any, members: MemberIndices | None) -> MemberIndices:
    """Return the members whose answers are that of a group: all of it, or the last of stages."""
    group = np.arange(outputs.n_members) if members is None else members
    return [max(group)] if outputs.is_sequential else group
