"""Store results in a folder of files with one line of JSON per cell.

A line is appended by a single write and forced to disk, so a run that is killed at any moment
leaves complete lines and at most one incomplete line. Incomplete and invalid lines are skipped, and
their cells are measured again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd

from secateurs.exceptions import InputError
from secateurs.persistence.atomic_files import name_in_errors, write_file
from secateurs.text_format import to_json_value
from secateurs.typing import JsonObject

RESULTS = "results"
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
        types: dict[str, object] = {
            **get_type_hints(self.cell_type),
            **self.common_fields,
            **self.fields_by_kind[line.get("kind", "")],
        }
        types |= {name: kind for name, kind in self.optional_fields.items() if name in line}
        typed = all(name in line and _has_type(line[name], kind) for name, kind in types.items())
        return typed and len(line.get("sizes", ())) == len(line.get("accuracies", ()))


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
    line = json.dumps(result, ensure_ascii=False, allow_nan=False).encode() + b"\n"
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


def read_results(path: Path, schema: ResultSchema) -> list[Result]:
    """Return the valid results of a file, in its order."""
    results = []
    for line in path.read_bytes().split(b"\n"):
        try:
            result = json.loads(line)
        except (ValueError, RecursionError):  # incomplete, or empty after the last newline
            continue
        if schema.is_valid(result):
            results.append(result)
    return results


def stored_results(folder: Path, schema: ResultSchema) -> dict[Any, Result]:
    """Return the results of a folder by cell; the last result of a cell counts."""
    return {
        schema.cell_of(result): result
        for path in sorted(folder.glob("*.jsonl"))
        for result in read_results(path, schema)
    }


def results_frame(results: Iterable[Result], columns: Iterable[str]) -> pd.DataFrame:
    """Return results as a frame that starts with the given columns."""
    lines = list(results)
    names = dict.fromkeys([*columns, *sorted({name for line in lines for name in line})])
    return pd.DataFrame(lines, columns=list(names))


def write_json(path: Path, value: object) -> None:
    """Write values as JSON, completely or not at all; NaN and infinity become null."""
    text = json.dumps(to_json_value(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_file(path, f"{text}\n".encode())
