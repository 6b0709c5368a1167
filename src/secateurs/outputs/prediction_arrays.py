"""Tables of predictions in one array: labels, regression values, or probabilities."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs.fixed_point import PROBABILITY_TOLERANCE
from secateurs.outputs.input_checks import text_column_names
from secateurs.outputs.label_coding import plain_text
from secateurs.typing import Array, Samples


@dataclass(frozen=True)
class PredictionArray:
    """Predictions of all members."""

    # Labels or values (samples × members), or probabilities (samples × members × classes); masked
    # where a prediction is missing.
    values: ArrayLike
    classes: Array | None  # of the probabilities, sorted; None for labels and values
    names: Array | None  # of the members, if they have any
    is_by_member: bool  # whether the predictions came as a dict or list of members


def is_prediction_data(model: object) -> bool:
    """Tell whether an object holds predictions rather than models."""
    if isinstance(model, Mapping):
        are_arrays = [_is_array(part) or isinstance(part, (list, tuple)) for part in model.values()]
        return len(model) > 0 and all(are_arrays)
    if isinstance(model, (list, tuple)):
        return len(model) > 0 and not any(hasattr(member, "predict") for member in model)
    return _is_array(model)


def as_prediction_array(
    table: Any, classes: ArrayLike | None, names: Iterable[object] | None, n_labels: int | None
) -> PredictionArray:
    """Return predictions in any form as one array; ``n_labels`` identifies the sample axis."""
    members = _split_members(table, n_labels)
    values, frame_classes = (table, None) if members is None else _stack_members(members)
    shape = _array_shape(values)
    if n_labels is not None and len(shape) > 1 and shape[0] != n_labels == shape[1]:
        raise InputError(
            f"Predictions have shape {shape} and y has {n_labels} labels: they look transposed. "
            "Rows are samples, columns are members; pass "
            f"predictions.{'T' if len(shape) == 2 else 'swapaxes(0, 1)'}."
        )
    own_names = (
        list(members)
        if members is not None and isinstance(table, Mapping)
        else text_column_names(table)
    )
    member_names = _check_member_names(own_names if names is None else names, shape)
    if len(shape) != 3:
        return PredictionArray(values, None, member_names, members is not None)
    by_class, sorted_classes = _sort_by_class(
        values if np.ma.isMaskedArray(values) else np.asarray(values),
        frame_classes if classes is None else classes,
    )
    _check_probabilities(by_class, member_names)
    return PredictionArray(by_class, sorted_classes, member_names, members is not None)


def _is_array(candidate: object) -> bool:
    return hasattr(candidate, "__array__") and not hasattr(candidate, "predict")


def _split_members(table: object, n_labels: int | None) -> dict[str, Any] | None:
    """Return the members of a dict, or of a list of arrays with one value per label; else None."""
    if isinstance(table, Mapping):
        return {str(name): values for name, values in table.items()}
    if not isinstance(table, (list, tuple)) or n_labels is None:
        return None
    arrays = [part for part in table if _is_array(part) and np.ndim(part) > 0]
    if len(arrays) < len(table) or n_labels not in map(len, arrays):
        return None
    if len(arrays) == n_labels:
        raise InputError(
            f"A list of {n_labels} arrays of {n_labels} values may hold samples or members. Pass a "
            "dict of name to array, or numpy.stack(arrays, axis=1)."
        )
    return {f"member {index}": values for index, values in enumerate(arrays)}


def _stack_members(members: Mapping[str, Any]) -> tuple[Array, Array | None]:
    """Return members' predictions in one array, and the classes named by columns of frames."""
    columns = {name: _member_column(name, values) for name, values in members.items()}
    frame_classes = {
        name: list(frame.columns) if hasattr(frame, "columns") and columns[name].ndim == 2 else None
        for name, frame in members.items()
    }
    _check_same_form(columns, frame_classes)
    _check_index(members)
    classes = None
    for name, labels in frame_classes.items():
        if labels is not None:
            by_class, classes = _sort_by_class(columns[name][:, None], labels)
            columns[name] = by_class[:, 0]
    values = list(columns.values())
    if len({column.dtype.kind for column in values}) > 1 and values[0].ndim == 1:
        values = [column.astype(object) for column in values]  # NumPy would turn 1 into "1"
    stack = np.ma.stack if any(map(np.ma.isMaskedArray, values)) else np.stack
    return stack(values, axis=1), classes


def _member_column(name: str, predictions: ArrayLike) -> Array:
    """Return a member's labels (n_samples,) or probabilities (n_samples, n_classes)."""
    as_array = np.ma.asanyarray if np.ma.isMaskedArray(predictions) else np.asarray
    values: Array = as_array(predictions)
    if values.dtype.kind in "US" and isinstance(predictions, (list, tuple)):
        values = np.asarray(predictions, dtype=object)  # NumPy would have turned 1 into "1"
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim not in (1, 2):
        raise InputError(
            f"Member {name!r} has predictions of shape {values.shape}. Pass labels (n_samples,) or "
            "probabilities (n_samples, n_classes)."
        )
    return values


def _check_same_form(
    columns: Mapping[str, Array], frame_classes: Mapping[str, list[object] | None]
) -> None:
    """Raise an error if the members' predictions differ in kind, length or classes."""
    first = next(iter(columns))
    for name, values in columns.items():
        first_kind, kind = _describe_kind(columns[first]), _describe_kind(values)
        if first_kind != kind:
            raise InputError(
                f"Member {first!r} has {first_kind}, member {name!r} has {kind}. Pass one kind."
            )
        if len(values) != len(columns[first]):
            raise InputError(
                f"Member {first!r} has {len(columns[first])} predictions, member {name!r} has "
                f"{len(values)}. Pass predictions on the same samples."
            )
        if set(frame_classes[name] or ()) != set(frame_classes[first] or ()):
            raise InputError(
                f"The columns of member {name!r} name other classes than those of {first!r}. Use "
                "the same column names in all frames, or pass arrays and {classes}.",
                classes=...,
            )


def _describe_kind(values: Array) -> str:
    return "labels" if values.ndim == 1 else f"probabilities of {values.shape[1]} classes"


def _check_index(members: Mapping[str, Any]) -> None:
    """Raise an error if Series and frames have different indices."""
    indexed = {name: part.index for name, part in members.items() if hasattr(part, "iloc")}
    first = next(iter(indexed), "")
    for name, index in indexed.items():
        if not index.equals(indexed[first]):
            raise InputError(
                f"The predictions of members {first!r} and {name!r} have different indices. Bring "
                "them into the same order, or pass arrays."
            )


def _array_shape(values: ArrayLike) -> tuple[int, ...]:
    try:
        return np.shape(values)
    except ValueError:  # an irregular table, which `as_labels` reports later
        return ()


def _check_member_names(names: Iterable[object] | None, shape: tuple[int, ...]) -> Array | None:
    """Return the names of the members as text; raise unless there is one for each member."""
    if names is None:
        return None
    texts = np.array([str(name) for name in names], dtype=object)
    n_members = shape[1] if len(shape) > 1 else 1
    if len(texts) != n_members or len(set(texts)) != n_members:
        raise InputError(
            f"{{names}} has {len(set(texts))} different names for {n_members} members. Pass one "
            "name for each member.",
            names=...,
        )
    return texts


def _sort_by_class(table: Array, classes: ArrayLike | None) -> tuple[Array, Array]:
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


def _check_probabilities(table: Array, names: Array | None) -> None:
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
            name = member if names is None else repr(names[member])
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
