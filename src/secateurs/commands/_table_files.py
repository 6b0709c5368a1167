"""Read tables from CSV (also gzipped) and Parquet files, and arrays from .npy and .npz files."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from secateurs.commands._column_types import AS_TEXT, cast_columns
from secateurs.commands.command_errors import Refusal
from secateurs.exceptions import SecateursError, UntrustedFileError, import_extra, reading_file
from secateurs.persistence.table_limits import (
    MAX_TABLE_BYTES,
    NUMBER_BYTES,
    TEXT_BYTES,
    check_row_count,
    check_table_size,
)
from secateurs.text_format import shorten_list, to_one_line

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.typing import Array

# Returns the types of some columns, by name, from the names of all columns.
TypesByColumn = Callable[[Sequence[str]], Mapping[str, str]]

_FORMATS = {  # by the first bytes of a file
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_UNSUPPORTED = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"\x89HDF": "HDF5"}
_SUFFIXES = {".parquet": "parquet", ".npy": "npy", ".npz": "zip", ".gz": "gzip"}
_UNPACKED_HINT = "Pass a sample of its rows, or a larger {max_unpacked}, if you expect this size."


def require_file(path: Path) -> None:
    """Raise if a path is not a file, before the packages that read it are imported."""
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise Refusal("no_file", f"{path} {what}. Pass the path of a file.")


def file_format(path: Path) -> str:
    """Return a file's format by its first bytes: parquet, gzip, npy, zip, or csv for any text."""
    require_file(path)
    with path.open("rb") as handle:
        start = handle.read(1 << 16)  # enough to find NUL bytes in binary data
    if not start:
        raise Refusal(
            "empty", f"{path} is empty. Pass a table with column names in its first line."
        )
    formats = (kind for mark, kind in (_FORMATS | _UNSUPPORTED).items() if start.startswith(mark))
    kind = next(formats, "csv")
    expected = _SUFFIXES.get(path.suffix.lower(), kind)
    if kind != expected or kind in _UNSUPPORTED.values() or (kind == "csv" and b"\0" in start):
        content = "binary data" if kind == "csv" and b"\0" in start else kind
        raise Refusal(
            "format",
            f"{path} contains {content}. Pass a table as .csv, .csv.gz or .parquet"
            f"{', predictions also as .npy or .npz' if {kind, expected} & {'npy', 'zip'} else ''}.",
        )
    return kind


def read_table(
    path: Path,
    as_text: Sequence[str] | None = (),
    types_of: TypesByColumn | None = None,
    *,
    max_unpacked: float = MAX_TABLE_BYTES,
) -> pd.DataFrame:
    """Read a table; the columns ``as_text`` (None for all) keep the text of the file."""
    kind = file_format(path)
    if kind not in ("csv", "gzip", "parquet"):
        raise Refusal("format", f"{path} is not a table. Pass a .csv, .csv.gz or .parquet file.")
    if kind == "parquet":
        import_extra("pyarrow.parquet", "parquet", "reading .parquet")
    with reading_file(path):
        cell_bytes = TEXT_BYTES if as_text is None else NUMBER_BYTES
        check_table_size(path, max_unpacked, cell_bytes, _UNPACKED_HINT)
    read = _read_parquet if kind == "parquet" else _read_csv
    frame, types = read(path, kind, as_text, types_of or (lambda names: {}))
    if not len(frame):
        raise Refusal("empty", f"{path} has column names but no rows. Add at least one row.")
    require_columns(path, frame, list(types))
    return cast_columns(path, frame, types)


def require_columns(path: Path, frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise if a table lacks a column, and suggest a similar column."""
    import difflib

    columns = [str(name) for name in frame.columns]
    for name in names:
        if name in columns:
            continue
        similar = difflib.get_close_matches(name, columns, n=1)
        hint = f"Did you mean {similar[0]!r}? " if similar else ""
        raise Refusal(
            "missing_column",
            f"{path} has no column {name!r}. {hint}Columns: {shorten_list(columns)}",
        )


@contextmanager
def name_file_in_errors(path: Path | str) -> Iterator[None]:
    """Put the name of the file in front of every error about its content."""
    try:
        yield
    except SecateursError as error:
        error.prepend(f"{path}: ")
        raise
    except Warning:  # for users who turn warnings into errors
        raise
    except ValueError as error:
        raise Refusal("unusable", f"{path}: {to_one_line(str(error))}") from error


def _read_csv(
    path: Path, kind: str, as_text: Sequence[str] | None, types_of: TypesByColumn
) -> tuple[pd.DataFrame, Mapping[str, str]]:
    import pandas as pd

    plain: dict[str, Any] = {"dtype": str, "na_filter": False}
    settings: dict[str, Any] = {
        "encoding": "utf-8-sig",
        "compression": "gzip" if kind == "gzip" else None,
        "index_col": False,  # else pandas shifts the columns if lines have one field too many
        "low_memory": False,  # else the type of a column could differ between chunks
    }
    try:
        names = _read_header(path, kind)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            if as_text is None:
                return pd.read_csv(path, **settings, **plain), {}
            types = types_of(names)
            dtypes = {name: object for name, kind in types.items() if kind in AS_TEXT}
            frame = pd.read_csv(path, dtype=dtypes, **settings)
            for name in set(as_text) & set(names):
                frame[name] = pd.read_csv(path, usecols=[name], **settings, **plain)[name]
            return frame, types
    except pd.errors.ParserWarning as error:
        raise _ragged_error(path, "a line has too many fields") from error
    except UnicodeDecodeError as error:
        raise Refusal("encoding", f"{path} is not UTF-8 text. Save it as UTF-8.") from error
    except SecateursError:
        raise
    except (OSError, EOFError, ValueError, OverflowError, csv.Error, zlib.error) as error:
        if ragged := re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error)):
            raise _ragged_error(path, f"line {ragged[1]} has {ragged[2]} fields") from error
        message = f"{path} cannot be read: {to_one_line(str(error))}. The file is damaged."
        raise Refusal("unreadable", message) from error


def _read_header(path: Path, kind: str) -> list[str]:
    """Read and check the column names; pandas would rename duplicates without a warning."""
    opener: Callable[..., TextIO] = gzip.open if kind == "gzip" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
        names = next((row for row in csv.reader(text) if row), [])
    _check_header(path, names)
    return names


def _check_header(path: Path, names: Sequence[str]) -> None:
    if not names:
        raise Refusal("empty", f"{path} has no column names. Add them as its first line.")
    separator = re.search(r"[;\t|]", names[0]) if len(names) == 1 else None
    if separator is not None:
        raise Refusal(
            "separator",
            f"{path} has a single column, {names[0][:60]!r}, which looks separated by "
            f"{separator[0]!r}. Separate columns by commas.",
        )
    numbers: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise Refusal(
                "unnamed_column",
                f"{path}, column {number} has no name. Name it, or write the table without "
                "it (pandas: to_csv(..., index=False)).",
            )
        if numbers.setdefault(name, number) != number:
            raise Refusal(
                "duplicate_column",
                f"{path} has two columns named {name!r}: {numbers[name]} and {number}. Rename one.",
            )


def _ragged_error(path: Path, where: str) -> Refusal:
    text = f"{path}, {where}, more than there are column names. Quote cells that contain commas."
    return Refusal("ragged", text)


def _read_parquet(
    path: Path, kind: str, as_text: Sequence[str] | None, types_of: TypesByColumn
) -> tuple[pd.DataFrame, Mapping[str, str]]:
    parquet = import_extra("pyarrow.parquet", "parquet", "reading .parquet")
    with reading_file(path):
        names = parquet.read_schema(path).names
    _check_header(path, names)
    with reading_file(path):
        frame = parquet.read_table(path).to_pandas()
        for name in frame.columns if as_text is None else as_text:
            if name in frame.columns:
                column = frame[name]
                frame[name] = column.astype(object).where(column.notna(), "").map(str)
    return frame, types_of(names)


def read_arrays(path: Path, max_unpacked: float) -> dict[str, Array]:
    """Return the arrays of an .npz file, or the votes of an .npy file, numeric or text."""
    import numpy as np

    with reading_file(path):
        _check_array_sizes(path, max_unpacked)
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays = {"votes": loaded}
        else:
            with loaded:
                arrays = dict(loaded)
    for name, array in arrays.items():
        if array.dtype.kind == "S":
            with reading_file(path):
                arrays[name] = np.char.decode(array, "utf-8")
        elif array.dtype.kind not in "biufU":
            raise Refusal(
                "type",
                f"{path} has values of type {array.dtype} in {name}. Pass labels or numbers.",
            )
    return arrays


def _check_array_sizes(path: Path, max_unpacked: float) -> None:
    """Raise if the arrays of a file would need too much memory, in total or for their values."""
    from secateurs.persistence.atomic_files import check_array_header

    with path.open("rb") as handle:
        if not zipfile.is_zipfile(handle):
            handle.seek(0)
            shape = check_array_header(handle, path.stat().st_size)
            check_row_count(max(shape, default=0), 0, max_unpacked, _UNPACKED_HINT)
            return
        with zipfile.ZipFile(handle) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > max_unpacked:
                raise UntrustedFileError(
                    f"unpacks to {unpacked} bytes, more than {{max_unpacked}}. Pass a larger limit "
                    "if you expect this size.",
                    max_unpacked=max_unpacked,
                )
            for entry in archive.infolist():
                with archive.open(entry) as array:
                    shape = check_array_header(array, entry.file_size)
                check_row_count(max(shape, default=0), unpacked, max_unpacked, _UNPACKED_HINT)
