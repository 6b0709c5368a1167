"""Checks of votes, true labels, targets and weights, before any work is done on them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from secateurs.exceptions import InputError
from secateurs.labels import as_labels, merge_classes, row_blocks
from secateurs.outputs.label_coding import encode_column, find_classes, plain_text
from secateurs.text_format import format_count
from secateurs.typing import Array, BoolArray, FloatArray, MemberIndices

if TYPE_CHECKING:
    from secateurs.outputs.base_votes import BaseVotes
    from secateurs.outputs.predictions import Predictions

NO_VOTES = "All predictions are missing (masked everywhere). Pass members that predict samples."

# The square of 1e150 is 1e300, so that sums of 10**8 squares stay below the largest float.
_LARGEST = 1e150
_SMALLEST = 1e-140  # squares of errors of a billionth of it are not yet rounded to zero


def check_table_shape(labels: Array, n_labels: int | None) -> None:
    """Raise an error if votes are not a table of samples × members, or do not match y."""
    if labels.ndim != 2:
        raise InputError(
            f"votes has {labels.ndim} dimension(s), shape={labels.shape}; it must have 2: rows are "
            "samples, columns are members. Reshape your data: one member is votes.reshape(-1, 1)."
        )
    n_samples, n_members = labels.shape
    # scikit-learn's estimator checks expect this wording, with members as features.
    for count, unit, axis in ((n_samples, "sample", "row"), (n_members, "feature", "column")):
        if count == 0:
            raise InputError(
                f"votes is empty: it has 0 {unit}(s) (shape={labels.shape}) while a minimum of 1 "
                f"is required. Rows are samples, columns are members; pass at least one {axis}."
            )
    if n_labels is None or n_labels == n_samples:
        return
    check_not_transposed(labels.shape, (n_labels,))
    raise InputError(
        f"votes has {format_count(n_samples, 'sample')} (shape={labels.shape}) but y has "
        f"{format_count(n_labels, 'label')}. "
        "Pass one true label per sample."
    )


def check_not_transposed(shape: tuple[int, ...], y_shape: tuple[int, ...] | None) -> None:
    """Raise an error if y has one value for each column of a table instead of each row."""
    n_labels = y_shape[0] if y_shape else None
    if n_labels is not None and len(shape) > 1 and shape[0] != n_labels == shape[1]:
        raise InputError(
            f"votes has shape {shape} and y has {format_count(n_labels, 'label')}: votes looks "
            "transposed. Rows are samples, columns are members; pass "
            f"votes.{'T' if len(shape) == 2 else 'swapaxes(0, 1)'}."
        )


def check_code_range(codes: Array, n_classes: int, mask: BoolArray | None) -> None:
    """Raise an error if codes are not class indices, because kernels do not check bounds."""
    for rows in row_blocks(*codes.shape):
        block = codes[rows] if mask is None else codes[rows][~mask[rows]]
        if block.size and not 0 <= block.min() <= block.max() < n_classes:
            invalid = block.max() if block.max() >= n_classes else block.min()
            raise InputError(
                f"codes contain {invalid}, which is not an index of the {n_classes} classes. Pass "
                f"integers from 0 to {n_classes - 1}."
            )


def as_label_column(y: ArrayLike, n_samples: int | None = None) -> Array:
    """Return true labels, one per sample, as a column: (samples, 1)."""
    if np.ma.is_masked(y):
        raise InputError("y has masked entries: true labels cannot be missing. Drop those samples.")
    labels = as_labels(y, "y")
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise InputError(
            f"y has shape {labels.shape}; it should be a 1d array with one true label per sample."
        )
    if n_samples is not None and len(labels) != n_samples:
        raise InputError(
            f"votes has {format_count(n_samples, 'sample')} but y has "
            f"{format_count(len(labels), 'label')}. Pass one true label per sample."
        )
    return column_or_1d(labels, warn=True)[:, None]


def as_target_values(y: ArrayLike, n_samples: int) -> FloatArray:
    """Return a copy of the true values of a regression, one per sample."""
    if np.ma.is_masked(y):
        raise InputError("y has masked entries: true values cannot be missing. Drop those samples.")
    try:
        values = np.array(y, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"y holds {np.asarray(y).dtype} values, which are not numbers. Predictions or score "
            "are those of a regression; pass the true values of its target."
        ) from None
    if values.ndim != 1 and values.shape[1:] != (1,):
        raise InputError(
            f"y has shape {values.shape}; it should be a 1d array with one true value per sample."
        )
    if len(values) != n_samples:
        raise InputError(
            f"predictions has {format_count(n_samples, 'sample')} but y has "
            f"{format_count(len(values), 'value')}. Pass one true value per sample."
        )
    if not np.isfinite(values).all():
        raise InputError("y holds NaN or inf. Drop those samples.")
    check_magnitude(values, "y")
    return column_or_1d(values, warn=True)


def check_magnitude(values: Array, name: str) -> None:
    """Raise an error if values are so large that sums of their squares overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST:
        raise InputError(
            f"{name} holds {largest:.3g}, and sums of squares of values beyond {_LARGEST:g} "
            "overflow. Pass the values in a larger unit."
        )


def check_target_scale(y: Array, largest_prediction: float) -> None:
    """Raise an error if values are so small that squares of errors vanish."""
    largest = max(float(np.abs(y).max(initial=0.0)), largest_prediction)
    if 0 < largest < _SMALLEST:
        raise InputError(
            f"y and the predictions hold values up to {largest:.3g} only, and squares of errors of "
            f"values below {_SMALLEST:g} are rounded to zero. Pass the values in a smaller unit."
        )


def check_sample_weights(
    weights: ArrayLike | None, n_samples: int, name: str = "sample_weight"
) -> FloatArray | None:
    """Return the checked sample weights as floats; None without weights."""
    if weights is None:
        return None
    try:
        checked = np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{{{name}}} holds values that are not numbers. Pass a number for each sample.",
            **{name: ...},
        ) from None
    if checked.shape != (n_samples,):
        raise InputError(
            f"{{{name}}} has shape {checked.shape}. Pass a weight for each of the {n_samples} "
            "samples.",
            **{name: ...},
        )
    is_invalid = ~(np.isfinite(checked) & (checked >= 0))
    if is_invalid.any() or not checked.any():
        sample = int(is_invalid.argmax())
        fault = f"{checked[sample]:g} for sample {sample}" if is_invalid.any() else "0 everywhere"
        raise InputError(
            f"{{{name}}} is {fault}. Pass weights that are finite, zero or more, and not all zero.",
            **{name: ...},
        )
    if not _SMALLEST <= checked.max() <= _LARGEST:
        raise InputError(
            f"{{{name}}} has {checked.max():.3g} as its largest weight, and sums of weighted "
            f"errors need one from {_SMALLEST:g} to {_LARGEST:g}. Divide all weights by their "
            "mean: only their ratios matter.",
            **{name: ...},
        )
    return checked


def has_fractions(values: ArrayLike | None) -> bool:
    """Tell whether some values are finite numbers that are not integers."""
    numbers: Array = np.asarray(
        values.compressed() if isinstance(values, np.ma.MaskedArray) else values
    )
    if numbers.dtype.kind == "O":  # a data frame with columns of several types
        try:
            numbers = numbers.astype(float)
        except (TypeError, ValueError):
            return False
    if numbers.dtype.kind != "f":
        return False
    return bool((np.isfinite(numbers) & (numbers != np.floor(numbers))).any())


def fill_missing_votes(votes: ArrayLike) -> Array:
    """Return masked votes with the first present label in place of the missing votes."""
    table: Array = np.ma.asanyarray(votes)
    mask = np.ma.getmaskarray(table)
    if mask.size and mask.all():
        raise InputError(NO_VOTES)
    labels = np.array(np.ma.getdata(table))
    labels[mask] = labels[~mask][:1]
    return labels


def text_column_names(votes: object) -> NDArray[np.object_] | None:
    """Return the column names of a data frame; None if it has none, or not all are text."""
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
    """Raise an error if a store cannot have these sizes."""
    if n_members < 1 or n_samples < 1:
        raise InputError(
            f"A store with {format_count(n_members, 'member')} and "
            f"{format_count(n_samples, 'sample')} is empty. Pass at least one of each."
        )
    if tile_members is not None and tile_members < 1:
        raise InputError(
            "{tile_members} is not a valid number of members. Pass 1 or more.",
            tile_members=tile_members,
        )
    if names is not None and len(names) != n_members:
        raise InputError(
            f"There are {format_count(len(names), 'name')} for "
            f"{format_count(n_members, 'member')}. Pass one name per member."
        )


def check_known_labels(labels: Array, classes: Array, name: str) -> None:
    """Raise an error if labels are not among the classes of a store."""
    text_or_numbers = plain_text(labels)
    # `merge_classes` raises if one side is text and the other is not.
    if len(merge_classes(classes, text_or_numbers)) > len(classes):
        unknown = np.setdiff1d(text_or_numbers, classes).tolist()[0]
        raise InputError(
            f"{name} holds the label {unknown!r}, which is not one of the store's {len(classes)} "
            "classes. Create the store with all classes."
        )


def encode_true_labels(y: ArrayLike, classes: Array, n_samples: int) -> Array:
    """Return true labels as codes of a store's classes."""
    labels = as_label_column(y, n_samples)
    check_known_labels(find_classes(labels), classes, "y")
    return encode_column(labels, classes)


def effective_members(
    outputs: "BaseVotes | Predictions", members: MemberIndices | None
) -> MemberIndices:
    """Return the members whose predictions are combined: in boosting, only the last one."""
    group = np.arange(outputs.n_members) if members is None else members
    return [max(group)] if outputs.is_sequential else group
