"""Limits of the memory that a table needs when it is read, checked before it is read.

A compressed file of some kilobytes can hold millions of rows, so that the size of the file says
nothing about the memory that reading it takes.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from secateurs.exceptions import UntrustedFileError
from secateurs.units import format_bytes

MAX_TABLE_BYTES = 4 << 30  # the default of `secateurs.load`
# Estimated bytes of memory, measured with pandas 2 and 3 on tables of 1 to 10 million rows: a row
# takes 100 to 250 bytes besides its cells, mostly for the labels and the index.
_ROW_BYTES = 256
_COLUMN_BYTES = 1600  # of a table of 4 rows and 100,000 or a million columns
NUMBER_BYTES = 16  # a parsed cell, while pandas joins the columns
TEXT_BYTES = 64  # a Python string
_CHUNK = 1 << 20


def check_table_size(path: Path, max_bytes: float, cell_bytes: int, hint: str) -> None:
    """Raise an error if reading a CSV (also gzipped) or Parquet file needs too much memory."""
    with path.open("rb") as handle:
        start = handle.read(4)
    if start == b"PAR1":
        _check_parquet_size(path, max_bytes, cell_bytes, hint)
    elif start[:2] == b"\x1f\x8b":
        # Whoever reads the table reports a damaged file.
        with suppress(OSError, EOFError, zlib.error), gzip.open(path, "rb") as unpacked:
            _check_text_size(unpacked, max_bytes, cell_bytes, hint)
    elif path.stat().st_size * _COLUMN_BYTES > max_bytes:  # smaller files cannot exceed the limit
        with path.open("rb") as text:
            _check_text_size(text, max_bytes, cell_bytes, hint)


def check_row_count(n_rows: int, n_bytes: int, max_bytes: float, hint: str) -> None:
    """Raise an error if a table with this many rows and bytes needs too much memory."""
    needed = n_bytes + _ROW_BYTES * n_rows
    if needed > max_bytes:
        raise UntrustedFileError(
            f"needs {format_bytes(needed)} or more when unpacked ({n_rows:,} rows or more), more "
            f"than {format_bytes(max_bytes)}. {hint}",
            max_unpacked=max_bytes,
        )


def _check_text_size(text: IO[bytes] | Any, max_bytes: float, cell_bytes: int, hint: str) -> None:
    """Count the lines and cells of a text, at most up to the limit."""
    n_bytes = n_rows = n_commas = n_columns = 0
    while chunk := text.read(_CHUNK):
        if not n_rows:
            n_columns += chunk.partition(b"\n")[0].count(b",")
        n_bytes += len(chunk)
        n_rows += chunk.count(b"\n") or chunk.count(b"\r")
        n_commas += chunk.count(b",")
        needed = max(n_bytes, cell_bytes * (n_rows + n_commas)) + _COLUMN_BYTES * n_columns
        check_row_count(n_rows, needed, max_bytes, hint)


def _check_parquet_size(path: Path, max_bytes: float, cell_bytes: int, hint: str) -> None:
    """Add up the values of all columns, of which lists have more than rows, and the texts."""
    from pyarrow import compute, parquet

    metadata = parquet.read_metadata(path)
    n_rows, n_columns = metadata.num_rows, metadata.num_columns
    n_bytes, n_cells, texts = _COLUMN_BYTES * n_columns, n_rows * n_columns, set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        n_bytes += group.total_byte_size
        for column in map(group.column, range(n_columns)):
            n_cells += max(0, column.num_values - group.num_rows)
            if column.physical_type == "BYTE_ARRAY":
                texts.add(column.path_in_schema)
    check_row_count(n_rows, max(n_bytes, cell_bytes * n_cells), max_bytes, hint)
    # The file has each distinct text once, and may use it in every row.
    file = parquet.ParquetFile(path, read_dictionary=sorted(texts))
    for batch in file.iter_batches(columns=sorted(texts)) if texts else ():
        for column in batch.columns:
            if hasattr(column, "dictionary"):
                lengths = compute.binary_length(column.dictionary).take(column.indices)
                n_bytes += compute.sum(lengths).as_py() or 0
        check_row_count(n_rows, n_bytes, max_bytes, hint)
