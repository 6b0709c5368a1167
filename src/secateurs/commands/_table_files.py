"""Tables from files: CSV (also gzipped) and Parquet as frames, .npy and .npz as arrays."""

import csv
import gzip
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateurs.commands._column_types import AS_TEXT, cast_columns
from secateurs.commands.command_errors import Refusal
from secateurs.exceptions import SecateursError, import_extra, reading_file
from secateurs.text_format import to_one_line

if TYPE_CHECKING:
    import pandas as pd

TypesByColumn = Callable[[Sequence[str]], Mapping[str, str]]  # of columns, by the names of all

_KINDS = {
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"\x89HDF": "HDF5"}
_NAMED = {".parquet": "parquet", ".npy": "npy", ".npz": "zip", ".gz": "gzip"}
_MOST_SHOWN = 12


def require_file(path: Path) -> None:
    """Refuse a path that is not a file, before anything is loaded to read it."""
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise Refusal("no_file", f"{path} {what}. Give the path of a file.")


def file_format(path: Path) -> str:
    """Return a file's format by its first bytes: parquet, gzip, npy, zip, or csv for any text."""
    require_file(path)
    with path.open("rb") as handle:
        start = handle.read(1 << 16)
    if not start:
        raise Refusal(
            "empty", f"{path} is empty. Give a table with column names in its first line."
        )
    known = (kind for mark, kind in (_KINDS | _OTHERS).items() if start.startswith(mark))
    kind = next(known, "csv")
    wanted = _NAMED.get(path.suffix.lower(), kind)
    if kind != wanted or kind in _OTHERS.values() or (kind == "csv" and b"\0" in start):
        inside = "binary data" if kind == "csv" and b"\0" in start else kind
        raise Refusal(
            "format",
            f"{path} contains {inside}. Give a table as .csv, .csv.gz or .parquet"
            f"{', predictions also as .npy or .npz' if kind == 'zip' else ''}.",
        )
    return kind


def read_table(
    path: Path, as_text: Sequence[str] | None = (), types_of: TypesByColumn | None = None
) -> "pd.DataFrame":
    """Read a table; the columns ``as_text``, or all of them (None), as the text in the file.

    ``types_of`` tells by the names of all columns which types some have; missing values stay.
    """
    kind = file_format(path)
    if kind not in ("csv", "gzip", "parquet"):
        raise Refusal("format", f"{path} is not a table. Give .csv, .csv.gz or .parquet.")
    read = _read_parquet if kind == "parquet" else _read_csv
    frame, types = read(path, kind, as_text, types_of or (lambda names: {}))
    if not len(frame):
        raise Refusal("empty", f"{path} has column names but no rows. Give at least one.")
    require_columns(path, frame, list(types))
    return cast_columns(path, frame, types)


def require_columns(path: Path, frame: "pd.DataFrame", names: Sequence[str]) -> None:
    """Refuse a table that lacks a column, and suggest a similar one."""
    import difflib

    known = [str(name) for name in frame.columns]
    for name in names:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise Refusal(
            "missing_column", f"{path} has no column {name!r}. {hint}Columns: {format_names(known)}"
        )


def format_names(names: Sequence[object], most: int = _MOST_SHOWN) -> str:
    """Return the first few of many names."""
    some = ", ".join(str(name) for name in names[:most])
    return some if len(names) <= most else f"{some}, … ({len(names)} in total)"


@contextmanager
def name_file_in_errors(path: Path | str) -> Iterator[None]:
    """Name the file in any error about its content."""
    try:
        yield
    except SecateursError as error:
        error.prepend(f"{path}: ")
        raise
    except Warning:
        raise
    except ValueError as error:
        raise Refusal("unusable", f"{path}: {to_one_line(str(error))}") from error


def _read_csv(
    path: Path, kind: str, as_text: Sequence[str] | None, types_of: TypesByColumn
) -> tuple["pd.DataFrame", Mapping[str, str]]:
    import pandas as pd

    plain: dict[str, Any] = {"dtype": str, "na_filter": False}
    settings: dict[str, Any] = {
        "encoding": "utf-8-sig",
        "compression": "gzip" if kind == "gzip" else None,
        "index_col": False,
        "low_memory": False,
    }
    try:
        names = _read_header(path, kind)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            if as_text is None:
                return pd.read_csv(path, **settings, **plain), {}
            types = types_of(names)
            text: Any = {name: object for name, kind in types.items() if kind in AS_TEXT}
            frame = pd.read_csv(path, dtype=text, **settings)
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
        if found := re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error)):
            raise _ragged_error(path, f"line {found[1]} has {found[2]} fields") from error
        text = f"{path} cannot be read: {to_one_line(str(error))}. It is damaged."
        raise Refusal("unreadable", text) from error


def _read_header(path: Path, kind: str) -> list[str]:
    """Read and check the column names as they are; pandas would rename duplicates."""
    opener: Any = gzip.open if kind == "gzip" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
        names = next((row for row in csv.reader(text) if row), [])
    _check_header(path, names)
    return names


def _check_header(path: Path, names: Sequence[str]) -> None:
    if not names:
        raise Refusal("empty", f"{path} has no column names. Give them in its first line.")
    mark = re.search(r"[;\t|]", names[0]) if len(names) == 1 else None
    if mark is not None:
        raise Refusal(
            "separator",
            f"{path} has a single column, {names[0][:60]!r}, which looks separated by {mark[0]!r}. "
            "Separate columns by commas.",
        )
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not name.strip():
            raise Refusal(
                "unnamed_column",
                f"{path}, column {place} has no name. Name it, or write the table without "
                "it (pandas: to_csv(..., index=False)).",
            )
        if places.setdefault(name, place) != place:
            raise Refusal(
                "duplicate_column",
                f"{path} has two columns named {name!r}: {places[name]} and {place}. Rename one.",
            )


def _ragged_error(path: Path, where: str) -> Refusal:
    text = f"{path}, {where}, more than there are column names. Quote cells that contain commas."
    return Refusal("ragged", text)


def _read_parquet(
    path: Path, kind: str, as_text: Sequence[str] | None, types_of: TypesByColumn
) -> tuple["pd.DataFrame", Mapping[str, str]]:
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
