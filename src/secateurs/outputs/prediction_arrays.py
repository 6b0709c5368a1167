"""Predictions as people have them, in one array: labels, numbers, or probabilities of classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs.input_checks import text_column_names
from secateurs.outputs.label_coding import plain_text
from secateurs.typing import Array

_OFF = 1e-3  # of the sum of probabilities, which may be rounded


@dataclass(frozen=True)
class PredictionArray:
    """Predictions of all members.

    Attributes
    ----------
    values : array-like
        Labels or numbers (samples × members), or probabilities (samples × members × classes);
        masked where a member has none.
    classes : ndarray of shape (n_classes,) or None
        The labels that probabilities are of, sorted; None for labels and numbers.
    names : ndarray of shape (n_members,) or None
        Names of the members, if they have any.
    by_member : bool
        Whether it came as a dict or list of members.
    """

    values: Any
    classes: Array | None
    names: Array | None
    is_by_member: bool


def is_prediction_data(model: Any) -> bool:
    """Tell whether something is predictions rather than models."""
    if isinstance(model, Mapping):
        answers = [_is_array(part) or isinstance(part, (list, tuple)) for part in model.values()]
        return len(model) > 0 and all(answers)
    if isinstance(model, (list, tuple)):
        return len(model) > 0 and not any(hasattr(member, "predict") for member in model)
    return _is_array(model)


def as_prediction_array(
    given: Any, classes: Any, names: Any, n_labels: int | None
) -> PredictionArray:
    """Return predictions in any form as a table; the number of true labels tells rows by."""
    members = _split_members(given, n_labels)
    values, known = (given, None) if members is None else _stack_members(members)
    shape = _array_shape(values)
    if n_labels is not None and len(shape) > 1 and shape[0] != n_labels == shape[1]:
        raise InputError(
            f"Predictions have shape {shape} and y has {n_labels} labels: they look transposed. "
            "Rows are samples, columns are members; give "
            f"predictions.{'T' if len(shape) == 2 else 'swapaxes(0, 1)'}."
        )
    own = (
        list(members)
        if members is not None and isinstance(given, Mapping)
        else text_column_names(given)
    )
    titles = _check_member_names(own if names is None else names, shape)
    if len(shape) == 3:
        values, known = _sort_by_class(values, known if classes is None else classes)
        _check_probabilities(values, titles)
    return PredictionArray(values, known, titles, members is not None)


def _is_array(given: Any) -> bool:
    return hasattr(given, "__array__") and not hasattr(given, "predict")


def _split_members(given: Any, n_labels: int | None) -> dict[str, Any] | None:
    """Return the members of a dict, or of a list of arrays of one value per label; else None."""
    if isinstance(given, Mapping):
        return {str(name): values for name, values in given.items()}
    if not isinstance(given, (list, tuple)) or n_labels is None:
        return None
    arrays = [part for part in given if _is_array(part) and np.ndim(part) > 0]
    if len(arrays) < len(given) or n_labels not in map(len, arrays):
        return None
    if len(arrays) == n_labels:
        raise InputError(
            f"A list of {n_labels} arrays of {n_labels} values may hold samples or members. Give a "
            "dict of name to array, or numpy.stack(arrays, axis=1)."
        )
    return {f"member {place}": values for place, values in enumerate(arrays)}


def _stack_members(members: Mapping[str, Any]) -> tuple[Array, Array | None]:
    """Return members' labels or probabilities in one array, and the classes that frames name."""
    columns = {name: _member_column(name, given) for name, given in members.items()}
    known = {
        name: list(given.columns) if hasattr(given, "columns") and columns[name].ndim == 2 else None
        for name, given in members.items()
    }
    _check_same_form(columns, known)
    _check_index(members)
    classes = None
    for name, labels in known.items():
        if labels is not None:
            by_class, classes = _sort_by_class(columns[name][:, None], labels)
            columns[name] = by_class[:, 0]
    values = list(columns.values())
    if len({column.dtype.kind for column in values}) > 1 and values[0].ndim == 1:
        values = [column.astype(object) for column in values]  # else 1 would become "1"
    stack = np.ma.stack if any(map(np.ma.isMaskedArray, values)) else np.stack
    return stack(values, axis=1), classes


def _member_column(name: str, given: Any) -> Array:
    """Return a member's labels (n_samples,) or probabilities (n_samples, n_classes)."""
    values = given if np.ma.isMaskedArray(given) else np.asarray(given)
    if values.dtype.kind in "US" and isinstance(given, (list, tuple)):
        values = np.asarray(given, dtype=object)  # NumPy would have turned 1 into "1"
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim not in (1, 2):
        raise InputError(
            f"Member {name!r} has predictions of shape {values.shape}. Give labels (n_samples,) or "
            "probabilities (n_samples, n_classes)."
        )
    return values


def _check_same_form(columns: Mapping[str, Array], known: Mapping[str, Any]) -> None:
    """Refuse members whose predictions differ in form."""
    first = next(iter(columns))
    for name, values in columns.items():
        kinds = [_describe_kind(one) for one in (columns[first], values)]
        if kinds[0] != kinds[1]:
            raise InputError(
                f"Member {first!r} has {kinds[0]}, member {name!r} has {kinds[1]}. Give one kind."
            )
        if len(values) != len(columns[first]):
            raise InputError(
                f"Member {first!r} has {len(columns[first])} predictions, member {name!r} has "
                f"{len(values)}. Give predictions on the same rows."
            )
        if set(known[name] or ()) != set(known[first] or ()):
            raise InputError(
                f"The columns of member {name!r} name other classes than those of {first!r}. Name "
                "the same in all frames, or give arrays and {classes}.",
                classes=...,
            )


def _describe_kind(values: Array) -> str:
    return "labels" if values.ndim == 1 else f"probabilities of {values.shape[1]} classes"


def _check_index(members: Mapping[str, Any]) -> None:
    """Refuse Series and frames whose rows are named differently."""
    indexed = {name: part.index for name, part in members.items() if hasattr(part, "iloc")}
    first = next(iter(indexed), "")
    for name, index in indexed.items():
        if not index.equals(indexed[first]):
            raise InputError(
                f"The rows of members {first!r} and {name!r} have different indices. Bring them "
                "into one order, or give arrays."
            )


def _array_shape(values: Any) -> tuple[int, ...]:
    try:
        return np.shape(values)
    except ValueError:  # refused later, where labels are read
        return ()


def _check_member_names(given: Any, shape: tuple[int, ...]) -> Array | None:
    """Return the names of the members, one each."""
    if given is None:
        return None
    names = np.array([str(name) for name in given], dtype=object)
    n_members = shape[1] if len(shape) > 1 else 1
    if len(names) != n_members or len(set(names)) != n_members:
        raise InputError(
            f"{{names}} has {len(set(names))} different names for {n_members} members. Give one "
            "each.",
            names=...,
        )
    return names


def _sort_by_class(values: Any, classes: Any) -> tuple[Array, Array]:
    """Return probabilities in the sorted order of their classes, and these."""
    table = values if np.ma.isMaskedArray(values) else np.asarray(values)
    if classes is None:
        return table, np.arange(table.shape[2])
    labels, n_classes = plain_text(as_labels(classes, "classes")).ravel(), table.shape[2]
    if len(labels) != n_classes or len(np.unique(labels)) != n_classes:
        raise InputError(
            f"{{classes}} has {len(np.unique(labels))} different labels for probabilities of "
            f"{n_classes} classes. Give one each, in their order.",
            classes=...,
        )
    order = np.argsort(labels, kind="stable")
    return table[:, :, order], labels[order]


def _check_probabilities(table: Array, names: Array | None) -> None:
    """Refuse what is not probabilities, and name the first place."""
    if table.size == 0 or table.dtype.kind not in "fiu":
        raise InputError(
            f"Probabilities of shape {table.shape} and type {table.dtype} are not numbers. Give "
            "samples × members × classes."
        )
    values, there = np.ma.getdata(table), ~np.ma.getmaskarray(table).any(axis=2)
    faults = {
        "are not all finite numbers": ~np.isfinite(values).all(axis=2),
        "are partly negative": (values < 0).any(axis=2),
        "do not sum to 1": np.abs(values.sum(axis=2) - 1) > _OFF,
    }
    for fault, where in faults.items():
        if (where & there).any():
            sample, member = (int(place) for place in np.argwhere(where & there)[0])
            who = member if names is None else repr(names[member])
            raise InputError(
                f"Member {who} gives sample {sample} the probabilities {values[sample, member]}, "
                f"which {fault}. Give samples × members × classes, in this order."
            )


def column_types(X: Any) -> dict[str, str]:
    """Return the types of a data frame's columns, for who reads such rows from a file.

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
