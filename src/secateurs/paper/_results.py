"""The results store: a folder of files, one for each bag, one line of JSON for each cell.

A line is appended by a single write and forced to disk, so that a run that is killed at any moment
leaves whole lines and at most one torn one. A torn line is no JSON: it is passed over, and its
cell is run again.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateurs.exceptions import InputError
from secateurs.paper._cells import CELL_FIELDS, Cell, cell_of
from secateurs.persistence._files import write_file

if TYPE_CHECKING:
    import pandas as pd

RESULTS = "results"
TIME_FIELDS = (
    "seconds",
    "path_seconds",
    "train_seconds",
    "vote_seconds",
    "seconds_comep",
    "seconds_domep",
    "seconds_path",
)
_COLUMNS = (
    *CELL_FIELDS,
    "accuracy",
    "validation_accuracy",
    "n_kept",
    "members",
    "objective",
    "seconds",
    "path_seconds",
    "train_seconds",
    "vote_seconds",
    "n_train",
    "n_validation",
    "n_test",
    "n_classes",
    "source",
)
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

Row = dict[str, Any]


def append_row(path: Path, row: Row) -> None:
    """Put a row at the end of a file, whole and on disk, or torn and recognisable as such."""
    line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    handle = os.open(path, _APPENDING, 0o644)
    try:
        if _ends_torn(handle):
            line = b"\n" + line  # the torn line stays behind on a line of its own
        written = os.write(handle, line)
        if written != len(line):
            raise InputError(f"{path} took {written} of {len(line)} bytes: the disk is full.")
        os.fsync(handle)
    finally:
        os.close(handle)


def read_rows(path: Path) -> list[Row]:
    """Give the whole rows of a file, in its order."""
    rows = []
    for line in path.read_bytes().split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:  # torn, or the empty end of the last line
            continue
        if isinstance(row, dict) and all(name in row for name in CELL_FIELDS):
            rows.append(row)
    return rows


def stored(folder: Path) -> dict[Cell, Row]:
    """Give the rows of a results folder by cell; of two rows of a cell the later one counts."""
    rows: dict[Cell, Row] = {}
    for path in sorted(folder.glob("*.jsonl")):
        rows |= {cell_of(row): row for row in read_rows(path)}
    return rows


def load_results(out_dir: str | os.PathLike[str]) -> "pd.DataFrame":
    """Read all results of a run.

    Parameters
    ----------
    out_dir : str or path-like
        The folder that was given to `run`.

    Returns
    -------
    DataFrame
        One row a cell, sorted by what tells cells apart, so that the order in which they were
        measured does not matter. Fields that a kind of cell has not are NaN or None.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from secateurs.paper import load_results
    >>> with TemporaryDirectory() as folder:
    ...     len(load_results(folder))
    0
    """
    rows = stored(Path(out_dir) / RESULTS)
    return as_frame(rows[cell] for cell in sorted(rows))


def as_frame(rows: Iterable[Row]) -> "pd.DataFrame":
    """Turn rows into a frame that has all the usual columns."""
    import pandas as pd

    listed = list(rows)
    names = dict.fromkeys([*_COLUMNS, *sorted({name for row in listed for name in row})])
    return pd.DataFrame(listed, columns=list(names))


def write_json(path: Path, value: Any) -> None:
    """Write a small file of plain values, whole or not at all."""
    write_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def _ends_torn(handle: int) -> bool:
    if os.fstat(handle).st_size == 0:
        return False
    os.lseek(handle, -1, os.SEEK_END)  # writing is at the end all the same
    return os.read(handle, 1) != b"\n"
