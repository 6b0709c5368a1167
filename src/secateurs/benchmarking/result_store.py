"""Store results in a folder of files with one line of JSON per cell.

A line is appended by a single write and forced to disk, so a run that is killed at any moment
leaves complete lines and at most one incomplete line. Every line ends with a checksum of its other
fields. Incomplete lines are skipped, damaged lines are skipped with a warning that names them, and
their cells are measured again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pandas as pd

from secateurs.exceptions import InputError
from secateurs.persistence.atomic_files import name_in_errors, write_file
from secateurs.text_format import format_count, format_list, to_json_value
from secateurs.typing import JsonObject

RESULTS = "results"
_CHECKSUM = "checksum"  # the last field of a line
_MOST_NAMED_LINES = 3  # in a warning, which stays one line
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

Result = JsonObject  # the fields of a cell, and the measured values


@dataclass(frozen=True)
class ResultSchema:
    """The fields of a line of results, with their types.

    Types are ``str``, ``int``, ``float`` (also integers), ``[type]`` (a list of one or more values)
    and ``(type, type, …)`` (a list with exactly these values).
    """

    cell_type: type[Any]  # dataclass of a cell; its fields are in every line
    common_fields: Mapping[str, object]  # further fields of every line
    fields_by_kind: Mapping[str, Mapping[str, object]]  # by the cell's ``kind``, "" without one
    optional_fields: Mapping[str, object] = field(default_factory=dict)

    @property
    def cell_fields(self) -> tuple[str, ...]:
        """The fields of a cell."""
        return tuple(item.name for item in fields(self.cell_type))

    def cell_of(self, result: Result) -> Any:
        """Return the cell that a result belongs to."""
        return self.cell_type(**{name: result[name] for name in self.cell_fields})

    def is_valid(self, line: object) -> bool:
        """Return whether a line has all fields, with the right types."""
        if not isinstance(line, dict) or str(line.get("kind", "")) not in self.fields_by_kind:
            return False
        types = self._field_types(line)
        types |= {name: kind for name, kind in self.optional_fields.items() if name in line}
        typed = all(name in line and _has_type(line[name], kind) for name, kind in types.items())
        return typed and len(line.get("sizes", ())) == len(line.get("accuracies", ()))

    def has_only_known_fields(self, result: Result) -> bool:
        """Return whether a valid result has no fields that the schema does not list."""
        return set(result) <= {*self._field_types(result), *self.optional_fields}

    def _field_types(self, line: Result) -> dict[str, object]:
        return {
            **get_type_hints(self.cell_type),
            **self.common_fields,
            **self.fields_by_kind[line.get("kind", "")],
        }


def _has_type(value: object, kind: object) -> bool:
    """Return whether a value has a type; booleans are not numbers."""
    if isinstance(kind, list):
        return isinstance(value, list) and value != [] and all(_has_type(v, kind[0]) for v in value)
    if isinstance(kind, tuple):
        if not isinstance(value, list) or len(value) != len(kind):
            return False
        return all(map(_has_type, value, kind))
    if kind is str:
        return isinstance(value, str) and value.isprintable()
    if type(value) is int:
        return abs(value) < 1 << 63  # pandas would store larger ones as objects
    return kind is float and type(value) is float and math.isfinite(value)


def append_result(path: Path, result: Result) -> None:
    """Append a result to a file and force it to disk; a failure leaves a recognisable line."""
    line = _signed_line(result)
    handle = os.open(path, _APPENDING, 0o644)
    try:
        if _ends_incomplete(handle):
            line = b"\n" + line  # ends the incomplete line
        with name_in_errors(path):
            written = os.write(handle, line)
            if written != len(line):
                raise InputError(
                    f"Only {written} of {len(line)} bytes were written to {path}: the disk is full."
                )
            os.fsync(handle)
    finally:
        os.close(handle)


def _ends_incomplete(handle: int) -> bool:
    if os.fstat(handle).st_size == 0:
        return False
    os.lseek(handle, -1, os.SEEK_END)  # for reading: O_APPEND always writes at the end
    return os.read(handle, 1) != b"\n"


def _signed_line(result: Result) -> bytes:
    """Return a result as a line of JSON with its checksum."""
    signed = {**result, _CHECKSUM: _result_checksum(result)}
    return json.dumps(signed, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _result_checksum(result: Result) -> str:
    # Python writes a float with the digits that identify it, so that a value that is read back
    # gives the same text.
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _FileContent(NamedTuple):
    """The lines of a file of results."""

    results: list[Result]  # valid results, in their order
    damaged: list[int]  # numbers of the lines whose content is not what was written
    n_unsigned: int  # valid results of an earlier version, which wrote no checksums


def _read_file(path: Path, schema: ResultSchema) -> _FileContent:
    signed, unsigned, damaged = {}, {}, []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.endswith(b"}"):  # incomplete, or empty after the last newline
            continue
        try:
            result = json.loads(line)
            checksum = result.pop(_CHECKSUM, None)
            is_intact = checksum in (None, _result_checksum(result))
        except (ValueError, RecursionError, AttributeError, TypeError):
            damaged.append(number)
            continue
        if not is_intact or not schema.is_valid(result):
            damaged.append(number)
        elif checksum is not None:
            signed[number] = result
        elif schema.has_only_known_fields(result):
            unsigned[number] = result
        else:
            damaged.append(number)
    if signed:  # this version writes checksums: a line without one has lost it
        damaged, unsigned = sorted([*damaged, *unsigned]), {}
    return _FileContent(list((signed or unsigned).values()), damaged, len(unsigned))


def stored_results(
    folder: Path, schema: ResultSchema, *, is_resumed: bool = False
) -> dict[Any, Result]:
    """Return the results of a folder by cell; the last result of a cell counts.

    A run that is resumed also rewrites files with damaged lines, which are left out, and with
    results of an earlier version, which get checksums, so that it warns about them only once.
    """
    results: dict[Any, Result] = {}
    damaged, n_unsigned = [], 0
    for path in sorted(folder.glob("*.jsonl")):
        content = _read_file(path, schema)
        results |= {schema.cell_of(result): result for result in content.results}
        damaged += [f"{path} (line {number})" for number in content.damaged]
        n_unsigned += content.n_unsigned
        if is_resumed and (content.damaged or content.n_unsigned):
            write_file(path, b"".join(map(_signed_line, content.results)))
    if damaged:
        more = len(damaged) - _MOST_NAMED_LINES
        named = [*damaged[:_MOST_NAMED_LINES], *([f"{more} more"] if more > 0 else [])]
        warnings.warn(
            f"Damaged results are skipped {'and' if is_resumed else 'until they are'} measured "
            f"again: {format_list(named)}.",
            stacklevel=2,
        )
    if n_unsigned:
        warnings.warn(
            f"{format_count(n_unsigned, 'result')} in {folder} come from an earlier version, which "
            "wrote no checksums: whether they were changed since is unknown."
            + (" They have checksums from now on." if is_resumed else ""),
            stacklevel=2,
        )
    return results


def results_frame(results: Iterable[Result], columns: Iterable[str]) -> pd.DataFrame:
    """Return results as a frame that starts with the given columns."""
    lines = list(results)
    names = dict.fromkeys([*columns, *sorted({name for line in lines for name in line})])
    return pd.DataFrame(lines, columns=list(names))


def write_json(path: Path, value: object) -> None:
    """Write values as JSON, completely or not at all; NaN and infinity become null."""
    text = json.dumps(to_json_value(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_file(path, f"{text}\n".encode())
