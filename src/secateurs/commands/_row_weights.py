"""Weights of rows: a column of the table that has the rows, or an array beside predictions."""

from pathlib import Path
from typing import Any

from secateurs.commands._errors import Refusal
from secateurs.commands._predictions import label_arrays
from secateurs.commands._rows import refuse_gaps
from secateurs.commands._tables import kind_of, read_table, require_columns, shown


def read_weights(path: Path | None, column: str | None, max_unpacked: float) -> Any:
    """Read the weights of the rows in a file; None without a file or a column."""
    import numpy as np
    import pandas as pd

    if path is None or column is None:
        return None
    arrays = kind_of(path) in ("npy", "zip")
    given = (_array if arrays else _column)(path, column, max_unpacked)
    where = f"{path}, {'array' if arrays else 'column'} {column!r}"
    refuse_gaps(where, given)
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


def _column(path: Path, column: str, max_unpacked: float) -> list[Any]:
    frame = read_table(path, as_text=[column])
    require_columns(path, frame, [column])
    return list(frame[column])


def _array(path: Path, name: str, max_unpacked: float) -> list[Any]:
    arrays = label_arrays(path, max_unpacked)
    if path.suffix.lower() == ".npy" or name not in arrays or arrays[name].ndim != 1:
        raise Refusal(
            "weights",
            f"{path} has no array {name!r} with one weight per row. Give an .npz file with one; "
            f"its arrays are: {shown(sorted(arrays))}",
        )
    return list(arrays[name].tolist())
