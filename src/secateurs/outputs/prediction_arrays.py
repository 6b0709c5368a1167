"""Tables of predictions in one array: labels, regression values, or probabilities.

Every table is read here: the input of `prune` and `compare`, the test set of `summary`, the input
of `Blend`, and the files of the command line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.labels import EXACT_FLOATS, as_labels, is_text
from secateurs.outputs.fixed_point import PROBABILITY_TOLERANCE
from secateurs.outputs.input_checks import has_fractions
from secateurs.outputs.label_coding import as_same_kind, plain_text
from secateurs.outputs.table_members import TableFormat, TableMembers, find_members, mask_missing
from secateurs.text_format import shorten_list
from secateurs.typing import Array, FloatArray, PredictionKind, Samples

_LEAST_PAIRED = 10  # samples


@dataclass(frozen=True)
class PredictionArray:
    """Predictions of all members."""

    # Labels or values (samples × members), or probabilities (samples × members × classes); masked
    # where a prediction is missing.
    values: ArrayLike
    kind: PredictionKind
    classes: Array | None  # of the probabilities, sorted; None for labels and values
    members: TableMembers
    positive: object = None  # class of single probabilities; None for other tables
    is_recognised: bool = False  # whether single probabilities were recognised by their values

    @property
    def names(self) -> Array | None:
        """Names of the members, if they have any."""
        return self.members.names


def is_prediction_data(model: object) -> bool:
    """Tell whether an object holds predictions rather than models."""
    if isinstance(model, Mapping):
        are_arrays = [_is_array(part) or isinstance(part, (list, tuple)) for part in model.values()]
        return len(model) > 0 and all(are_arrays)
    if isinstance(model, (list, tuple)):
        return len(model) > 0 and not any(hasattr(member, "predict") for member in model)
    return _is_array(model)


def _is_array(candidate: object) -> bool:
    return hasattr(candidate, "__array__") and not hasattr(candidate, "predict")


def as_prediction_array(
    table: Any,
    table_format: TableFormat,
    n_labels: int | None = None,
    true_labels: Array | None = None,
    is_regression: bool | None = None,
) -> PredictionArray:
    """Return predictions in any form as one array.

    ``n_labels`` is the number of true labels, which identifies the sample axis, and
    ``true_labels`` the distinct true labels. ``is_regression`` is None if the values decide.
    """
    known = table_format.classes if true_labels is None else true_labels
    members = find_members(table, table_format, n_labels, known)
    shape = _array_shape(members.values)
    if n_labels is not None and len(shape) > 1 and shape[0] != n_labels == shape[1]:
        raise InputError(
            f"Predictions have shape {shape} and y has {n_labels} labels: they look transposed. "
            "Rows are samples, columns are members; pass "
            f"predictions.{'T' if len(shape) == 2 else 'swapaxes(0, 1)'}."
        )
    members = members.with_names(table_format.names, shape)
    values = mask_missing(members.values) if shape else members.values
    if len(shape) == 3:
        if table_format.positive is not None and table_format.kind is None:
            raise InputError(
                "{positive} is for tables with one column per member, but this table has a "
                "probability of each class. Leave it out.",
                positive=table_format.positive,
            )
        return _read_probabilities(values, table_format, members, known)
    labels = true_labels if table_format.classes is None else np.ravel(table_format.classes)
    distinct = None if labels is None else set(labels.tolist())
    kind = _kind_of_columns(values, table_format, distinct, is_regression)
    if kind == "labels" and distinct is not None and len(distinct) <= 2:
        _reject_stray_columns(values, members)
    if kind == "probabilities":
        return _read_single_probabilities(values, table_format, members, known)
    if kind == "labels":
        values = _without_float_gaps(values)
    return PredictionArray(values, kind, None, members)


def _without_float_gaps(values: ArrayLike) -> ArrayLike:
    """Return integer labels as integers if they are floats only because some are missing."""
    if not np.ma.is_masked(values):
        return values
    import pandas as pd

    table: Any = np.ma.asanyarray(values)
    present: Array = table.compressed()
    if table.dtype.kind == "O" and pd.api.types.infer_dtype(present, skipna=False) == "floating":
        present = present.astype(float)
    is_whole = present.dtype.kind == "f" and bool((present == np.floor(present)).all())
    if not is_whole or np.abs(present).max(initial=0) > EXACT_FLOATS:
        return values
    labels: Array = np.zeros(table.shape, dtype=np.int64)
    labels[~np.ma.getmaskarray(table)] = present
    return np.ma.array(labels, mask=np.ma.getmaskarray(table))


def _array_shape(values: ArrayLike) -> tuple[int, ...]:
    try:
        return np.shape(values)
    except ValueError:  # an irregular table, which `as_labels` reports later
        return ()


def _kind_of_columns(
    values: ArrayLike,
    table_format: TableFormat,
    labels: set[object] | None,
    is_regression: bool | None,
) -> PredictionKind:
    """Return the kind of a table with one column per member."""
    kind = table_format.kind or ("values" if is_regression else None)
    if kind == "values" and table_format.positive is not None:
        raise InputError(
            "{positive} is for probabilities of one class, but this is a regression, by the true "
            "values, the score or the name of the array. Leave it out.",
            positive=table_format.positive,
        )
    if kind is not None:
        return kind
    if table_format.positive is not None:
        return "probabilities"
    if not has_fractions(values):
        return "labels"
    if labels is not None and _are_shares(values):
        if len(labels) > 2:
            raise _too_many_labels(labels)
        return "probabilities"
    # Two numbers are labels, too: other predictions than labels and probabilities are an error,
    # rather than a classification that silently becomes a regression.
    is_binary = labels is not None and len(labels) <= 2
    is_continuous = is_regression is None and table_format.classes is None and not is_binary
    return "values" if is_continuous else "labels"


def _too_many_labels(labels: set[object]) -> InputError:
    """Return the error for one number from 0 to 1 per member in a task with several classes."""
    has_text = any(isinstance(label, str) for label in labels)
    otherwise = " For a regression, pass a regression {scoring}, such as r2."
    return InputError(
        "Predictions are numbers from 0 to 1, one per sample and member, but there are "
        f"{len(labels)} different labels. Pass labels, or a probability of each class: an array of "
        "samples × members × classes, or columns named model:class (see {columns})."
        f"{'' if has_text else otherwise}",
        columns=...,
        **({} if has_text else {"scoring": ...}),
    )


def _are_shares(values: ArrayLike) -> bool:
    """Return whether all values that are present are between 0 and 1."""
    try:
        numbers = np.asarray(np.ma.compressed(values), dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(((numbers >= 0) & (numbers <= 1)).all())


def _reject_stray_columns(values: ArrayLike, members: TableMembers) -> None:
    """Raise an error if most columns have probabilities, and others, such as an ID, do not."""
    if members.names is None:
        return
    table: Array = np.ma.asanyarray(values)
    are_shares = [_are_shares(column) for column in table.T]
    n_shares = sum(
        is_shares and has_fractions(column)
        for is_shares, column in zip(are_shares, table.T, strict=True)
    )
    if 2 * n_shares > len(are_shares) and not all(are_shares):
        stray = members.describe(are_shares.index(False))
        raise InputError(
            f"Column {stray} does not have numbers from 0 to 1 as the other columns do. Leave it "
            "out (on the command line: --ignore), or name the columns with probabilities by "
            "{columns}.",
            columns=...,
        )


def _read_probabilities(
    values: ArrayLike, table_format: TableFormat, members: TableMembers, known: ArrayLike | None
) -> PredictionArray:
    """Return probabilities of all classes, sorted by class and checked."""
    table = values if np.ma.isMaskedArray(values) else np.asarray(values)
    classes = _named_classes(table_format.classes, members.classes, known)
    by_class, sorted_classes = sort_by_class(_as_numbers(table), classes)
    checked = _mask_missing_rows(by_class)
    _check_probabilities(checked, members)
    return PredictionArray(checked, "probabilities", sorted_classes, members)


def _named_classes(
    given: ArrayLike | None, column_names: Sequence[object] | None, known: ArrayLike | None
) -> ArrayLike | None:
    """Return the classes in the order of the probabilities, by the names of columns if any."""
    # Frames without names of their own have the columns 0, 1, 2, …
    if column_names is None or (given is not None and [*column_names] == [*range(np.size(given))]):
        return given
    own = as_labels(column_names, "classes").ravel()
    if known is not None:
        own = as_same_kind(own, as_labels(known, "y").ravel())
    if given is not None and set(np.ravel(given).tolist()) != set(own.tolist()):
        raise InputError(
            f"Columns name the classes {shorten_list(own.tolist(), 5)}, but the classes are "
            f"{shorten_list(np.ravel(given).tolist(), 5)}. Pass columns of the same classes."
        )
    return own


def _as_numbers(table: Array) -> Array:
    """Return a table of objects as floats, if its values are numbers."""
    if table.dtype.kind != "O":
        return table
    try:
        return table.astype(float)
    except (TypeError, ValueError):
        return table


def _mask_missing_rows(table: Array) -> Array:
    """Return probabilities in which a prediction without any number is masked as a whole."""
    mask: Array = np.asarray(np.ma.getmaskarray(table))
    if not mask.any():
        return table
    data = np.array(np.ma.getdata(table))
    is_missing: Array = np.asarray(mask.all(axis=2))
    if data.dtype.kind == "f":  # rows that are missing in part are invalid, and shown as such
        data[mask & ~is_missing[:, :, None]] = np.nan
    return np.ma.array(data, mask=np.broadcast_to(is_missing[:, :, None], table.shape))


def _read_single_probabilities(
    values: ArrayLike, table_format: TableFormat, members: TableMembers, known: ArrayLike | None
) -> PredictionArray:
    """Return probabilities of both classes from a table with those of one class."""
    classes, positive = _resolve_positive(table_format, known)
    _reject_columns_of_other_class(members, classes, positive)
    table = _as_numbers(np.ma.asanyarray(values))
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise InputError(
            f"Predictions of shape {table.shape} and type {table.dtype} are not probabilities. "
            f"Pass a number from 0 to 1 for each sample and member: the probability of {positive}."
        )
    mask, shares = np.ma.getmaskarray(table), np.ma.getdata(table).astype(float)
    is_invalid = ~mask & ~((shares >= 0) & (shares <= 1))
    if is_invalid.any():
        sample, member = (int(index) for index in np.argwhere(is_invalid)[0])
        raise InputError(
            f"Member {members.describe(member)} gives sample {sample} the probability "
            f"{shares[sample, member]:g} of class {positive}. Pass numbers from 0 to 1."
        )
    if table_format.kind is None:
        _reject_columns_of_both_classes(np.where(mask, np.nan, shares), members, positive)
    is_second = bool(classes[1] == positive)
    both = np.stack([1 - shares, shares] if is_second else [shares, 1 - shares], axis=2)
    if mask.any():
        both = np.ma.array(both, mask=np.repeat(mask[:, :, None], 2, axis=2))
    is_recognised = table_format.positive is None
    return PredictionArray(both, "probabilities", classes, members, positive, is_recognised)


def _reject_columns_of_other_class(members: TableMembers, classes: Array, positive: object) -> None:
    """Raise an error if a column is named model:class, with another class than the positive one."""
    (other,) = (label for label in classes.tolist() if label != positive)
    text = f"{other:g}" if isinstance(other, float) else str(other)
    for name in () if members.names is None else members.names:
        suffix = np.array([name.rpartition(":")[2]])
        is_other = as_same_kind(suffix, np.array([other])).item() == other  # also "0.0" for 0
        if name.endswith(f":{other}") or (":" in name and is_other):
            raise InputError(
                f"Column {name!r} is named like a probability of class {text}, but the columns are "
                f"read as probabilities of class {positive}. Pass columns of both classes for each "
                "member, or columns of one class, with this class as {positive}.",
                positive=...,
            )


def _reject_columns_of_both_classes(
    shares: FloatArray, members: TableMembers, positive: object
) -> None:
    """Raise an error if columns are pairs that sum to 1, as probabilities of both classes do.

    Otherwise a column of the other class would be a member that is reliably wrong. A few samples
    may sum to 1 by chance.
    """
    n_pairs, is_odd = divmod(shares.shape[1], 2)
    if is_odd or not n_pairs or len(shares) < _LEAST_PAIRED:
        return
    for first, second in ((0, 1), (0, n_pairs)):  # by member, and by class
        step = 2 if second == 1 else 1
        one = shares[:, first::step][:, :n_pairs]
        other = shares[:, second::step][:, :n_pairs]
        is_gap = np.isnan(one) & np.isnan(other)
        differs = np.abs(one - 0.5) > PROBABILITY_TOLERANCE  # constant members are not pairs
        if differs.any() and (is_gap | (np.abs(one + other - 1) <= PROBABILITY_TOLERANCE)).all():
            raise InputError(
                f"Columns {members.describe(0)} and {members.describe(second)} sum to 1, and so do "
                "the others, as probabilities of both classes do. But each column is read as a "
                f"member with the probability of class {positive}. Leave out the columns of the "
                "other class, or describe the names of the columns, such as by {columns}.",
                columns="{model}_{class}",
            )


def _resolve_positive(table_format: TableFormat, known: ArrayLike | None) -> tuple[Array, object]:
    """Return the two classes, sorted, and the class that single probabilities refer to."""
    labels = None if known is None else np.unique(plain_text(as_labels(known, "y").ravel()))
    if table_format.classes is not None:
        given = plain_text(as_labels(table_format.classes, "classes").ravel())
        labels = np.unique(given)
        default = (given if is_text(given) else labels)[-1].item()
    elif labels is not None and labels.dtype.kind != "U":
        if len(labels) == 1 and labels[0] in (0, 1):
            labels = np.array([0, 1]).astype(labels.dtype)
        default = labels[-1].item()
    else:
        default = None
    positive = table_format.positive
    if positive is not None and labels is not None:
        positive = as_same_kind(np.array([positive]), labels)[0].item()
        if len(labels) == 1 and is_text(np.array([positive])) == is_text(labels):
            labels = np.unique(np.append(labels, positive))
    if labels is None or len(labels) != 2:
        n_labels = 0 if labels is None else len(labels)
        raise InputError(
            f"Predictions have one probability per sample and member, which needs two classes, but "
            f"there are {n_labels}. Pass {{classes}} with both labels; for more classes, pass "
            "probabilities of all of them.",
            classes=...,
        )
    if positive is None and default is None:
        raise InputError(
            "Predictions have one probability per sample and member. Of which class? Pass "
            f"{{positive}}: {labels[0].item()!r} or {labels[1].item()!r}.",
            positive=...,
        )
    positive = default if positive is None else positive
    if positive not in labels.tolist():
        raise InputError(
            f"{{positive}} is not one of the classes. Pass {labels[0].item()!r} or "
            f"{labels[1].item()!r}.",
            positive=positive,
        )
    return labels, positive


def sort_by_class(table: Array, classes: ArrayLike | None) -> tuple[Array, Array]:
    """Return probabilities in the sorted order of their classes, and the sorted classes."""
    if classes is None:
        return table, np.arange(table.shape[2])
    labels, n_classes = plain_text(as_labels(classes, "classes")).ravel(), table.shape[2]
    if len(labels) != n_classes or len(np.unique(labels)) != n_classes:
        raise InputError(
            f"{{classes}} has {len(np.unique(labels))} different labels for probabilities of "
            f"{n_classes} classes. Pass one label for each, in their order.",
            classes=...,
        )
    order = np.argsort(labels, kind="stable")
    return table[:, :, order], labels[order]


def _check_probabilities(table: Array, members: TableMembers) -> None:
    """Raise an error that names the first invalid probabilities."""
    if table.size == 0 or table.dtype.kind not in "fiu":
        raise InputError(
            f"Probabilities of shape {table.shape} and type {table.dtype} are not numbers. Pass "
            "numbers: samples × members × classes."
        )
    values, is_present = np.ma.getdata(table), ~np.ma.getmaskarray(table).any(axis=2)
    faults = {
        "are not all finite numbers": ~np.isfinite(values).all(axis=2),
        "are partly negative": (values < 0).any(axis=2),
        "do not sum to 1": np.abs(values.sum(axis=2) - 1) > PROBABILITY_TOLERANCE,
    }
    for fault, is_faulty in faults.items():
        if (is_faulty & is_present).any():
            sample, member = (int(index) for index in np.argwhere(is_faulty & is_present)[0])
            name = members.describe(member)
            raise InputError(
                f"Member {name} gives sample {sample} the probabilities {values[sample, member]}, "
                f"which {fault}. Pass samples × members × classes, in this order."
            )


def column_types(X: Samples) -> dict[str, str]:
    """Return the types of a data frame's columns, as needed to read such samples from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from secateurs.outputs.prediction_arrays import column_types
    >>> column_types(pd.DataFrame({"postcode": ["01234", None], "age": [40.5, 38.0]}))
    {'postcode': 'str', 'age': 'float'}
    """
    import pandas as pd

    types = {"boolean": "bool", "integer": "int", "floating": "float", "string": "str"}
    types["categorical"] = "category"
    columns = X.items() if isinstance(X, pd.DataFrame) else ()
    kinds = {str(name): pd.api.types.infer_dtype(column, skipna=True) for name, column in columns}
    return {name: types[kind] for name, kind in kinds.items() if kind in types}
