"""The results store: a folder of files, one line of JSON per cell.

A line is appended by a single write and forced to disk, so that a run that is killed at any moment
leaves whole lines and at most one torn one. A line that is torn, or not what the runner writes, is
skipped, and its cell is run again.
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

RESULTS = "results"
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

Result = dict[str, Any]  # the fields of a cell, and what was measured


@dataclass(frozen=True)
class ResultSchema:
    """What a line of results holds.

    Types are ``str``, ``int``, ``float`` (integers too); a list of one type has one or more values,
    a tuple as many as it names.

    Attributes
    ----------
    cell_type : type
        Dataclass of a cell; its fields are in every line.
    common_fields : mapping of str to type
        Further fields of every line.
    fields_by_kind : mapping of str to mapping
        Further fields by the cell's ``kind``; "" for cells without one.
    optional_fields : mapping of str to type
        Fields that some lines have.
    """

    cell_type: type[Any]
    common_fields: Mapping[str, Any]
    fields_by_kind: Mapping[str, Mapping[str, Any]]
    optional_fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cell_fields(self) -> tuple[str, ...]:
        """The fields of a cell."""
        return tuple(item.name for item in fields(self.cell_type))

    def cell_of(self, result: Result) -> Any:
        """Return the cell that a result belongs to."""
        return self.cell_type(**{name: result[name] for name in self.cell_fields})

    def is_valid(self, found: Any) -> bool:
        """Tell whether a line holds what the runner writes."""
        if not isinstance(found, dict) or str(found.get("kind", "")) not in self.fields_by_kind:
            return False
        wanted = {
            **get_type_hints(self.cell_type),
            **self.common_fields,
            **self.fields_by_kind[found.get("kind", "")],
        }
        wanted |= {name: kind for name, kind in self.optional_fields.items() if name in found}
        typed = all(name in found and _has_type(found[name], kind) for name, kind in wanted.items())
        return typed and len(found.get("sizes", ())) == len(found.get("accuracies", ()))


def _has_type(value: Any, kind: Any) -> bool:
    """Tell whether a value of a line has a type; integers are numbers, true and false are not."""
    if isinstance(kind, list):
        return isinstance(value, list) and value != [] and all(_has_type(v, kind[0]) for v in value)
    if isinstance(kind, tuple):
        same = isinstance(value, list) and len(value) == len(kind)
        return same and all(map(_has_type, value, kind))
    if kind is str:
        return isinstance(value, str) and value.isprintable()
    whole = type(value) is int and abs(value) < 1 << 63
    return whole or (kind is float and type(value) is float and math.isfinite(value))


def append_result(path: Path, result: Result) -> None:
    """Append a result to a file: whole and on disk, or torn and recognisable as such."""
    line = json.dumps(result, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    handle = os.open(path, _APPENDING, 0o644)
    try:
        if _ends_torn(handle):
            line = b"\n" + line  # the torn line stays behind on a line of its own
        with name_in_errors(path):
            written = os.write(handle, line)
            if written != len(line):
                raise InputError(f"{path} took {written} of {len(line)} bytes: the disk is full.")
            os.fsync(handle)
    finally:
        os.close(handle)


def _ends_torn(handle: int) -> bool:
    if os.fstat(handle).st_size == 0:
        return False
    os.lseek(handle, -1, os.SEEK_END)  # writing is at the end all the same
    return os.read(handle, 1) != b"\n"


def read_results(path: Path, schema: ResultSchema) -> list[Result]:
    """Return the whole results of a file, in its order."""
    results = []
    for line in path.read_bytes().split(b"\n"):
        try:
            result = json.loads(line)
        except (ValueError, RecursionError):  # torn, or the empty end of the last line
            continue
        if schema.is_valid(result):
            results.append(result)
    return results


def stored_results(folder: Path, schema: ResultSchema) -> dict[Any, Result]:
    """Return the results of a folder by cell; the later of two for the same cell counts."""
    return {
        schema.cell_of(result): result
        for path in sorted(folder.glob("*.jsonl"))
        for result in read_results(path, schema)
    }


def results_frame(results: Iterable[Result], columns: Iterable[str]) -> pd.DataFrame:
    """Return results as a frame that has all these columns first."""
    found = list(results)
    names = dict.fromkeys([*columns, *sorted({name for result in found for name in result})])
    return pd.DataFrame(found, columns=list(names))


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON, whole or not at all; NaN and infinity become null."""
    text = json.dumps(to_json_value(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_file(path, f"{text}\n".encode())
