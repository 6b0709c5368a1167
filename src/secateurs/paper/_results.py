"""The results store: a folder of files, one per bag, one line of JSON per cell.

A line is appended by a single write and forced to disk, so that a run that is killed at any moment
leaves whole lines and at most one torn one. A line that is torn, or not what the runner writes, is
skipped, and its cell is run again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd

from secateurs._text import plain
from secateurs.exceptions import InputError
from secateurs.paper._plan import CELL_FIELDS, Cell, PaperRow, Plan
from secateurs.persistence._files import naming, write_file

RESULTS = "results"
_COLUMNS = (
    *(*CELL_FIELDS, "accuracy", "validation_accuracy", "n_kept", "members", "objective"),
    *("seconds", "path_seconds", "train_seconds", "vote_seconds"),
    *("n_train", "n_validation", "n_test", "n_classes", "source"),
)
# The fields of a line and their types, by kind of cell: a list of one type has one or more values,
# a tuple as many as it names.
_COMMON = {
    **get_type_hints(Cell),
    **dict.fromkeys(("n_train", "n_validation", "n_test", "n_classes"), int),
    **{"source": str, "train_seconds": float, "vote_seconds": float},
}
_FIELDS: dict[Any, dict[str, Any]] = {
    "prune": {
        **dict.fromkeys(("accuracy", "validation_accuracy", "objective", "seconds"), float),
        **{"n_kept": int, "members": [int]},
    },
    "combination": {"size": int, "points": [(float, float, float)]},
    "size": {"sizes": [int], "accuracies": [float]},
    "speedup": {
        **{"workers": int, "n_groups": int},
        **{f"seconds_{side}": [float] for side in ("comep", "domep", "path")},
    },
    "scale": {"n": int, "d": int, "seconds": float},
}
_OPTIONAL = {"path_seconds": float}
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

Result = dict[str, Any]  # the fields of a cell, and what was measured


def append_result(path: Path, result: Result) -> None:
    """Append a result to a file: whole and on disk, or torn and recognisable as such."""
    line = json.dumps(result, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    handle = os.open(path, _APPENDING, 0o644)
    try:
        if _ends_torn(handle):
            line = b"\n" + line  # the torn line stays behind on a line of its own
        with naming(path):
            written = os.write(handle, line)
            if written != len(line):
                raise InputError(f"{path} took {written} of {len(line)} bytes: the disk is full.")
            os.fsync(handle)
    finally:
        os.close(handle)


def read_results(path: Path) -> list[Result]:
    """Return the whole results of a file, in its order."""
    results = []
    for line in path.read_bytes().split(b"\n"):
        try:
            result = json.loads(line)
        except (ValueError, RecursionError):  # torn, or the empty end of the last line
            continue
        if _is_result(result):
            results.append(result)
    return results


def _is_result(found: Any) -> bool:
    """Tell whether a line holds what the runner writes."""
    if not isinstance(found, dict) or str(found.get("kind")) not in _FIELDS:
        return False
    wanted = _COMMON | _FIELDS[found["kind"]]
    wanted |= {name: kind for name, kind in _OPTIONAL.items() if name in found}
    typed = all(name in found and _is_of(found[name], kind) for name, kind in wanted.items())
    return typed and len(found.get("sizes", ())) == len(found.get("accuracies", ()))


def _is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value of a line has a type; integers are numbers, true and false are not."""
    if isinstance(kind, list):
        return isinstance(value, list) and value != [] and all(_is_of(v, kind[0]) for v in value)
    if isinstance(kind, tuple):
        same = isinstance(value, list) and len(value) == len(kind)
        return same and all(map(_is_of, value, kind))
    if kind is str:
        return isinstance(value, str) and value.isprintable()
    whole = type(value) is int and abs(value) < 1 << 63
    return whole or (kind is float and type(value) is float and math.isfinite(value))


def stored(folder: Path) -> dict[Cell, Result]:
    """Return the results of a folder by cell; the later of two for the same cell counts."""
    return {
        Cell(**{name: result[name] for name in CELL_FIELDS}): result
        for path in sorted(folder.glob("*.jsonl"))
        for result in read_results(path)
    }


def load_results(out_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """Read all results of a run.

    Parameters
    ----------
    out_dir : str or path-like
        The folder that was given to `run`.

    Returns
    -------
    DataFrame
        One row per cell, sorted by the fields of cells, so that the order in which they were
        measured does not matter. Fields that a kind of cell lacks are NaN or None.

    See Also
    --------
    run : Measures the cells.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from secateurs.paper import load_results
    >>> with TemporaryDirectory() as folder:
    ...     len(load_results(folder))
    0
    """
    results = stored(Path(out_dir) / RESULTS)
    return as_frame(results[cell] for cell in sorted(results))


def as_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Return results as a frame that has all the usual columns."""
    found = list(results)
    names = dict.fromkeys([*_COLUMNS, *sorted({name for result in found for name in result})])
    return pd.DataFrame(found, columns=list(names))


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON, whole or not at all; NaN and infinity become null."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_file(path, f"{text}\n".encode())


def results_of(plan: Plan, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the results that a plan asks for, of any seed, in a fixed order."""
    names = [name for name in CELL_FIELDS if name != "seed"]
    wanted = {tuple(getattr(cell, name) for name in names) for cell in plan.cells()}
    keys = frame[names].itertuples(index=False, name=None)
    chosen = frame[np.array([key in wanted for key in keys], dtype=bool)]
    return chosen.sort_values(list(CELL_FIELDS), kind="stable", ignore_index=True)


def results_by_row(plan: Plan, frame: pd.DataFrame) -> Iterator[tuple[str, PaperRow, pd.DataFrame]]:
    """Yield the name, the source and the results of each row of a plan, also where none exist."""
    wanted = results_of(plan, frame)
    for name, row in zip(plan.row_names, plan.rows, strict=True):
        source = {"dataset": row.dataset, "reading": row.reading, "learner": row.learner}
        yield name, row, where(wanted, **source)


def where(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows of a frame that have these values."""
    return frame[np.logical_and.reduce([frame[name] == value for name, value in values.items()])]


def _ends_torn(handle: int) -> bool:
    if os.fstat(handle).st_size == 0:
        return False
    os.lseek(handle, -1, os.SEEK_END)  # writing is at the end all the same
    return os.read(handle, 1) != b"\n"
