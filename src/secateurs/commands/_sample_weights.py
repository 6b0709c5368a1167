"""Weights of rows: a column of the table that has the rows, or an array beside predictions."""

from pathlib import Path
from typing import Any

from secateurs.commands._labelled_samples import reject_empty_cells
from secateurs.commands._prediction_files import read_arrays
from secateurs.commands._table_files import file_format, format_names, read_table, require_columns
from secateurs.commands.command_errors import Refusal


def read_sample_weights(path: Path | None, column: str | None, max_unpacked: float) -> Any:
    """Read the weights of the rows in a file; None without a file or a column."""
    import numpy as np
    import pandas as pd

    if path is None or column is None:
        return None
    arrays = file_format(path) in ("npy", "zip")
    given = (_read_array if arrays else _read_column)(path, column, max_unpacked)
    where = f"{path}, {'array' if arrays else 'column'} {column!r}"
    reject_empty_cells(where, given)
    weights = pd.to_numeric(pd.Series(given, dtype=object), errors="coerce").to_numpy(dtype=float)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise Refusal(
            "no_weight",
            f"{where}, row {row + 1}: {str(given[row])[:40]!r} is not a valid weight. Give numbers "
            "of 0 or more.",
        )
    return weights


def _read_column(path: Path, column: str, max_unpacked: float) -> list[Any]:
    frame = read_table(path, as_text=[column])
    require_columns(path, frame, [column])
    return list(frame[column])


def _read_array(path: Path, name: str, max_unpacked: float) -> list[Any]:
    arrays = read_arrays(path, max_unpacked)
    if path.suffix.lower() == ".npy" or name not in arrays or arrays[name].ndim != 1:
        raise Refusal(
            "weights",
            f"{path} has no array {name!r} with one weight per row. Give an .npz file with one; "
            f"its arrays are: {format_names(sorted(arrays))}",
        )
    return list(arrays[name].tolist())
