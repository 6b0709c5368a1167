"""Blends as JSON: written without predictions, and checked value by value when read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from secateurs.exceptions import InputError
from secateurs.outputs.label_coding import MOST_CLASSES
from secateurs.outputs.table_members import compile_pattern, is_member_name
from secateurs.text_format import replace_surrogates, to_json_value
from secateurs.typing import JsonObject
from secateurs.units import format_bytes

if TYPE_CHECKING:
    from secateurs.pruning.blend import Blend

FORMAT = "secateurs.Blend"
_VERSION = 1
_MAX_BYTES = 16 << 20
_MAX_MEMBERS = 1 << 20
_KINDS = ("labels", "probabilities", "values")

_Check: TypeAlias = Callable[[Any], bool]


def blend_to_text(blend: Blend, provenance: JsonObject | None) -> str:
    """Return a blend as JSON text."""
    check_parameters(blend)
    record = {"format": FORMAT, "version": _VERSION, **blend.get_params(deep=False)}
    record = to_json_value(record | ({"provenance": provenance} if provenance else {}))
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def blend_from_text(text: str | bytes) -> JsonObject:
    """Return the parameters of a blend from JSON text; raise if anything in it is invalid."""
    if not isinstance(text, (str, bytes)):
        raise InputError(
            f"Expected the JSON text of a blend, but got {type(text).__name__}. Pass text or "
            "bytes, such as Path(file).read_text() or json.dumps(record)."
        )
    if len(text) > _MAX_BYTES:
        raise InputError(f"The JSON text of a blend is limited to {format_bytes(_MAX_BYTES)}.")
    try:
        record = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"This is not the JSON text of a blend: {reason}.") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f'This is not the JSON text of a blend: it has no "format": "{FORMAT}".')
    if not _is_index(record.get("version")) or record["version"] != _VERSION:
        raise InputError(
            f"The blend has version {str(record.get('version'))[:40]!r}, but only version "
            f"{_VERSION} is known. Install a newer version of secateurs."
        )
    record = {key: value for key, value in record.items() if key not in ("format", "version")}
    _check_record(record, "The JSON text of the blend is invalid")
    del record["provenance"]
    return _with_arrays(record)


def check_parameters(blend: Blend) -> None:
    """Raise an error for parameters that `blend_from_text` does not accept, except weights."""
    parameters = to_json_value(blend.get_params(deep=False) | {"weights": None})
    _check_record(parameters, "The parameters of the blend are invalid")


def _check_record(record: JsonObject, fault: str) -> None:
    """Raise an error for a key or value that `blend_to_text` does not write."""
    try:
        _check_values(record)
    except ValueError as error:
        raise InputError(f"{fault}: {error}") from None


def _check_values(record: JsonObject) -> None:
    record.setdefault("provenance", {})
    if unknown := sorted(set(record) ^ set(_CHECKS)):
        fault = "unknown" if unknown[0] in record else "missing"
        raise ValueError(f"{unknown[0][:40]!r} is {fault}.")
    for key, (is_valid, expected) in _CHECKS.items():
        if not is_valid(record[key]):
            raise _value_error(key, record[key], expected)
    n_names, classes = len(record["names"]), record["classes"]
    for key in ("weights", "member_indices"):
        if record[key] is not None and len(record[key]) != n_names:
            raise _value_error(key, record[key], f"one number for each of the {n_names} names")
    if record["weights"] is not None and not sum(record["weights"]) > 0:
        raise _value_error("weights", record["weights"], "weights that are not all zero")
    if (classes is None) != (record["kind"] == "values"):
        raise _value_error("classes", classes, "labels for classifiers, and none for values")
    _check_prior(record["prior"], classes)
    if record["positive"] is not None and record["positive"] not in (classes or ()):
        raise _value_error("positive", record["positive"], "one of the classes")
    indices, n_members = record["member_indices"], record["n_members"]
    if indices is not None and (n_members is None or max(indices) >= n_members):
        raise _value_error("n_members", n_members, "more than the largest of member_indices")
    if indices is None and n_members not in (None, n_names):
        raise _value_error("n_members", n_members, f"{n_names}, or null, without member_indices")
    if record["columns"] is not None:
        compile_pattern(record["columns"])


def _check_prior(prior: Any, classes: Sequence[object] | None) -> None:
    if prior is None:
        return
    if classes is None and not isinstance(prior, list):
        return
    if classes is None or not isinstance(prior, list) or len(prior) != len(classes):
        raise _value_error("prior", prior, "a frequency for each class, or a number for values")
    if min(prior) < 0 or abs(sum(prior) - 1) > 1e-6:
        raise _value_error("prior", prior, "frequencies with a sum of 1")


def _value_error(key: str, value: object, expected: str) -> ValueError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:59]}…"
    return ValueError(f"{key!r} is {shown}. Expected: {expected}.")


def _with_arrays(record: JsonObject) -> JsonObject:
    """Return the parameters with arrays in place of numeric lists."""
    for key, dtype in (("weights", float), ("prior", float), ("member_indices", np.intp)):
        if isinstance(record[key], list):
            record[key] = np.array(record[key], dtype=dtype)
    if record["classes"] is not None:
        record["classes"] = np.array(record["classes"])
    return record


def _unique_keys(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _is_number(value: object) -> bool:
    is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_real and abs(value) < 1e300  # type: ignore[arg-type]


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _is_label(value: object) -> bool:
    """Return whether a value is text, a boolean, a number, or an integer of 64 bits."""
    if isinstance(value, str):
        return replace_surrogates(value) == value
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 64
    return _is_number(value)


def _is_list(value: object, is_item: _Check, most: int = _MAX_MEMBERS) -> bool:
    return isinstance(value, list) and 0 < len(value) <= most and all(map(is_item, value))


def _are_names(value: Any) -> bool:
    return _is_list(value, is_member_name) and len(set(value)) == len(value)


def _are_classes(value: Any) -> bool:
    """Return whether labels are different, and all text, all numbers or all booleans."""
    if not _is_list(value, _is_label):
        return False
    kinds = {str if isinstance(label, str) else isinstance(label, bool) for label in value}
    is_valid = len(kinds) == 1 and len(value) <= MOST_CLASSES
    return is_valid and len(set(value)) == len(value)


def _is_none_or(is_valid: _Check) -> _Check:
    return lambda value: value is None or is_valid(value)


_CHECKS: dict[str, tuple[_Check, str]] = {
    "names": (_are_names, "different names, as a list of texts without lone surrogates"),
    "weights": (
        _is_none_or(lambda value: _is_list(value, lambda w: _is_number(w) and w >= 0)),
        "numbers of 0 or more, or null",
    ),
    "classes": (
        _is_none_or(_are_classes),
        "different labels of one type (text, numbers of 64 bits or booleans), or null",
    ),
    "kind": (lambda value: value in _KINDS, f"one of {', '.join(_KINDS)}"),
    "positive": (
        _is_none_or(_is_label),
        "a label, or null",
    ),
    "columns": (_is_none_or(is_member_name), "a pattern of column names, or null"),
    "prior": (
        _is_none_or(lambda value: _is_number(value) or _is_list(value, _is_number)),
        "frequencies of the classes, or a number for values",
    ),
    "unanswered": (lambda value: value in ("majority", "missing"), "majority or missing"),
    "member_indices": (
        _is_none_or(lambda value: _is_list(value, _is_index) and len(set(value)) == len(value)),
        "different indices, or null",
    ),
    "n_members": (_is_none_or(_is_index), "a number of members, or null"),
    "provenance": (lambda value: isinstance(value, dict), "an object"),
}
