"""Find the members of a table of predictions: its columns, or the parts of a dict or list."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.outputs.input_checks import text_column_names
from secateurs.outputs.label_coding import as_same_kind
from secateurs.text_format import replace_surrogates, shorten_list
from secateurs.thread_safety import reject_polars_after_fork
from secateurs.typing import Array, PredictionKind

# The columns of each member, by the text of their class; None if a member has a single column.
ColumnGroups: TypeAlias = dict[str, dict[str | None, str]]
PROBABILITY_COLUMNS = "{model}:{class}"  # recognised without a pattern
_MAX_NAME = 1 << 12  # characters
_PLACEHOLDERS = {"{model}": "(?P<model>.+)", "{class}": "(?P<label>.+)"}


def is_member_name(name: object) -> bool:
    """Return whether a name can be written to a file and read again."""
    is_text = isinstance(name, str) and 0 < len(name) <= _MAX_NAME
    return is_text and replace_surrogates(name) == name  # type: ignore[arg-type]


@dataclass(frozen=True)
class TableFormat:
    """How to read a table of predictions: parameters of `prune`, or found in another table."""

    classes: ArrayLike | None = None  # labels in the order of the probabilities
    names: Iterable[object] | None = None  # of the members, in the order of the table
    positive: object = None  # class that single probabilities refer to
    columns: str | None = None  # pattern of column names, such as "{model}:{class}"
    kind: PredictionKind | None = None  # None: determined by the values
    members: Sequence[str] | None = None  # names to select and sort by, if the table has names


@dataclass(frozen=True)
class TableMembers:
    """The predictions of all members, before their kind is known."""

    values: ArrayLike  # one array, or the table as it was passed
    names: Array | None = None
    classes: Sequence[object] | None = None  # named by columns, in the order of the probabilities
    is_by_member: bool = False  # whether the predictions came as a dict or list of members
    columns: Sequence[Sequence[str]] | None = None  # of each member in a data frame

    def with_names(self, names: Iterable[object] | None, shape: tuple[int, ...]) -> TableMembers:
        """Return the members with these names, or else their own; raise unless all have one."""
        given = self.names if names is None else names
        if given is None:
            return self
        texts = np.array([str(name) for name in given], dtype=object)
        n_members = shape[1] if len(shape) > 1 else 1
        if len(texts) != n_members or len(set(texts)) != n_members:
            raise InputError(
                f"{{names}} has {len(set(texts))} different names for {n_members} members. Pass "
                "one name for each member.",
                names=...,
            )
        if not all(map(is_member_name, texts)):
            member = [is_member_name(text) for text in texts].index(False)
            raise InputError(
                f"Member {member} has the name {texts[member][:40]!r}. Pass names of 1 to "
                f"{_MAX_NAME} characters without lone surrogates."
            )
        return replace(self, names=texts)

    def describe(self, member: int) -> str:
        """Return a member's name in quotes, or its index."""
        return str(member) if self.names is None else repr(self.names[member])


def find_members(
    table: Any, table_format: TableFormat, n_labels: int | None, known: ArrayLike | None
) -> TableMembers:
    """Return the members of a table; ``known`` are the known labels of the classes."""
    names, wanted = _column_names(table), table_format.members
    has_flat_columns = not isinstance(table, Mapping) or _has_flat_columns(table, table_format)
    if names is not None and has_flat_columns:
        groups = _group_columns(names, table_format.columns, known, wanted)
        if groups is not None:
            return _stack_columns(table, _select(groups, wanted))
    elif table_format.columns is not None and wanted is None:  # not of another table
        raise InputError(
            "{columns} needs a data frame, a file or a dict with named columns. Leave it out.",
            columns=table_format.columns,
        )
    if isinstance(table, Mapping):
        members = _select({str(name): values for name, values in table.items()}, wanted)
        values, classes = _stack_members(members)
        return TableMembers(values, np.array([*members], dtype=object), classes, True)
    if (members_in_list := _split_list(table, n_labels)) is not None:
        values, classes = _stack_members(members_in_list)
        return TableMembers(values, None, classes, True)
    if names is None:
        return TableMembers(table)
    if wanted is not None:
        names = [*_select(dict.fromkeys(names), wanted)]
        table = table[names]
    return TableMembers(table, np.array(names, dtype=object), columns=[[name] for name in names])


def prediction_columns(names: Sequence[str], table_format: TableFormat) -> list[str]:
    """Return the columns of a data frame that have predictions, by names or by their pattern."""
    wanted = table_format.members
    if table_format.columns is None:
        return [*_select(dict.fromkeys(names), wanted)]
    groups = _group_columns(names, table_format.columns, None, wanted)
    members = _select(groups or {}, wanted)
    return [name for columns in members.values() for name in columns.values()]


def mask_missing(values: ArrayLike) -> ArrayLike:
    """Return predictions with NaN, None and NA masked, in addition to masked entries.

    A table without missing predictions is returned as an unmasked array, or as it is.
    """
    reject_polars_after_fork(values)
    is_masked = isinstance(values, np.ma.MaskedArray)
    data: Array = np.ma.getdata(values) if is_masked else np.asarray(values)
    if data.dtype.kind == "T":  # text of variable width, possibly with missing values
        data = data.astype(object)
    if not is_masked and data.dtype.kind not in "fO":
        return values
    mask: Array = np.ma.getmaskarray(values) if is_masked else np.zeros(data.shape, dtype=bool)  # type: ignore[arg-type]
    if data.dtype.kind == "f":
        mask = mask | np.isnan(data)
    elif data.dtype.kind == "O":
        import pandas as pd

        mask = mask | pd.isna(data)
    if not mask.any():
        return data if is_masked else values
    data = np.array(data)
    if data.dtype.kind == "O" and not mask.all():
        data[mask] = data[~mask][0]  # so that the remaining values decide the type
    return np.ma.array(data, mask=mask)


def _column_names(table: object) -> list[str] | None:
    """Return the names in a dict, or of the columns of a data frame; None if there are none."""
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    names = text_column_names(table)
    return None if names is None else names.tolist()


def _has_flat_columns(table: Mapping[str, Any], table_format: TableFormat) -> bool:
    """Return whether a dict has one column of values per name, and names that may be grouped."""
    is_named = all(isinstance(name, str) for name in table)
    if not is_named or (table_format.columns is None and not all(":" in name for name in table)):
        return False
    return all(np.ndim(part) == 1 for part in table.values())


def _group_columns(
    names: Sequence[str], pattern: str | None, known: ArrayLike | None, wanted: Sequence[str] | None
) -> ColumnGroups | None:
    """Return the columns of each member by a pattern; None if each column is a member.

    If all wanted members have columns, other columns are ignored.
    """
    matches = [
        (name, compile_pattern(pattern or PROBABILITY_COLUMNS).fullmatch(name)) for name in names
    ]
    groups: ColumnGroups = {}
    for name, match in matches:
        if match is not None:
            groups.setdefault(match["model"], {})[match.groupdict().get("label")] = name
    if wanted is not None and set(wanted) <= set(groups):
        groups = {name: groups[name] for name in wanted}
    if pattern is not None:
        if not groups:
            raise InputError(
                f"No column matches {{columns}}. Columns: {shorten_list(names, 8)}.",
                columns=pattern,
            )
        _check_groups(groups)
        return groups
    # Names such as "llama:8b" have a colon too, so the labels must be those of the classes.
    named = {frozenset(columns) for columns in groups.values()}
    texts = {str(text) for columns in named for text in columns}
    if known is None or len(named) != 1 or len(texts) < 2 or not _are_classes(texts, known):
        return None
    others = [name for name, match in matches if match is None]
    if others:
        raise InputError(
            f"Columns are named model:class, except {others[0]!r}. Leave that column out, or pass "
            "{columns} to read only the others.",
            columns=PROBABILITY_COLUMNS,
        )
    return groups


def _are_classes(texts: Iterable[str], known: ArrayLike) -> bool:
    """Return whether texts in column names, such as "1" or "1.0", include all known labels."""
    labels = np.ravel(np.asarray(known))
    named = {as_same_kind(np.array([text]), labels).item() for text in texts}
    return len(labels) > 0 and set(labels.tolist()) <= named


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern of column names."""
    parts = re.split(r"(\{model\}|\{class\})", pattern)
    if parts.count("{model}") != 1 or parts.count("{class}") > 1:
        raise InputError(
            "{columns} is not a valid pattern. Pass text with {model}, and with {class} if each "
            "class has a column, such as {model}:{class}.",
            columns=pattern if len(pattern) <= 80 else f"{pattern[:79]}…",
        )
    return re.compile("".join(_PLACEHOLDERS.get(part, re.escape(part)) for part in parts))


def _check_groups(groups: ColumnGroups) -> None:
    first = next(iter(groups))
    for name, columns in groups.items():
        if set(columns) != set(groups[first]):
            (label, *_) = set(columns) ^ set(groups[first])
            one, other = (name, first) if label in columns else (first, name)
            raise InputError(
                f"Member {one!r} has a column for class {label!r}, member {other!r} has none. Pass "
                "the same classes for all members."
            )


def _select(members: Mapping[str, Any], wanted: Sequence[str] | None) -> dict[str, Any]:
    """Return the wanted members in their order; raise an error if one is not there."""
    if wanted is None:
        return dict(members)
    if missing := [name for name in wanted if name not in members]:
        raise InputError(
            f"The table has no predictions of {shorten_list(missing, 5)}. Pass predictions of "
            f"{shorten_list(wanted, 8)}; those of a member that did not answer may be NaN."
        )
    return {name: members[name] for name in wanted}


def _stack_columns(table: Any, groups: ColumnGroups) -> TableMembers:
    """Return the members of a table with columns of each member and class."""
    labels = list(next(iter(groups.values())))
    ordered = [[columns[label] for label in labels] for columns in groups.values()]
    parts = {name: table[name] for columns in ordered for name in columns}
    values, _ = _stack_members(parts)
    names = np.array([*groups], dtype=object)
    if labels == [None]:
        return TableMembers(values, names, None, False, ordered)
    shape = (len(values), len(groups), len(labels))
    return TableMembers(values.reshape(shape), names, labels, False, ordered)


def _split_list(table: object, n_labels: int | None) -> dict[str, Any] | None:
    """Return the members in a list of arrays with one value per label; else None."""
    if n_labels is None:
        return None
    arrays = _arrays_in_list(table)
    if arrays is None or n_labels not in map(len, arrays):
        return None
    if len(arrays) == n_labels:
        raise _ambiguous_list_error(n_labels, n_labels)
    return {f"member {index}": values for index, values in enumerate(arrays)}


def samples_per_member(table: object, numbers_of_members: Collection[int]) -> int | None:
    """Return the length of the arrays in a list with one of each member; None for other tables."""
    arrays = _arrays_in_list(table)
    if not arrays or len(arrays) not in numbers_of_members:
        return None
    if len(arrays[0]) in numbers_of_members:
        raise _ambiguous_list_error(len(arrays), len(arrays[0]))
    return len(arrays[0])


def _arrays_in_list(table: object) -> list[Any] | None:
    """Return the parts of a list of arrays; else None."""
    if not isinstance(table, (list, tuple)):
        return None
    arrays = [part for part in table if hasattr(part, "__array__") and np.ndim(part) > 0]
    return arrays if len(arrays) == len(table) else None


def _ambiguous_list_error(n_arrays: int, n_values: int) -> InputError:
    return InputError(
        f"A list of {n_arrays} arrays of {n_values} values may hold samples or members. Pass a "
        "dict of name to array, or numpy.stack(arrays, axis=1)."
    )


def _stack_members(members: Mapping[str, Any]) -> tuple[Array, list[object] | None]:
    """Return members' predictions in one array, and the classes named by columns of frames."""
    arrays = {name: _member_array(name, values) for name, values in members.items()}
    frame_classes = {
        name: list(frame.columns) if hasattr(frame, "columns") and arrays[name].ndim == 2 else None
        for name, frame in members.items()
    }
    _check_same_form(arrays, frame_classes)
    _check_index(members)
    classes = frame_classes[next(iter(members))]
    for name, labels in frame_classes.items():
        if classes is not None and labels is not None and labels != classes:
            arrays[name] = arrays[name][:, [labels.index(label) for label in classes]]
    values = list(arrays.values())
    if len({array.dtype.kind for array in values}) > 1 and values[0].ndim == 1:
        values = [array.astype(object) for array in values]  # NumPy would turn 1 into "1"
    stack = np.ma.stack if any(map(np.ma.isMaskedArray, values)) else np.stack
    return stack(values, axis=1), classes


def _member_array(name: str, predictions: ArrayLike) -> Array:
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
