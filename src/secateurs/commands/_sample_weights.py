"""Read sample weights from a column of a table, or from an array of an .npz file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.commands._labelled_samples import reject_empty_cells
from secateurs.commands._prediction_files import read_arrays
from secateurs.commands._table_files import file_format, format_names, read_table, require_columns
from secateurs.commands.command_errors import Refusal

if TYPE_CHECKING:
    from secateurs.typing import FloatArray


def read_sample_weights(
    path: Path | None, column: str | None, max_unpacked: float
) -> FloatArray | None:
    """Return the sample weights of a file; None without a file or a column."""
    import numpy as np
    import pandas as pd

    if path is None or column is None:
        return None
    is_array_file = file_format(path) in ("npy", "zip")
    cells = (_read_array if is_array_file else _read_column)(path, column, max_unpacked)
    where = f"{path}, {'array' if is_array_file else 'column'} {column!r}"
    reject_empty_cells(where, cells)
    weights = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(dtype=float)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise Refusal(
            "no_weight",
            f"{where}, row {row + 1}: {str(cells[row])[:40]!r} is not a valid weight. Pass numbers "
            "of 0 or more.",
        )
    return weights


def _read_column(path: Path, column: str, max_unpacked: float) -> list[str]:
    frame = read_table(path, as_text=[column], max_unpacked=max_unpacked)
    require_columns(path, frame, [column])
    return list(frame[column])


def _read_array(path: Path, name: str, max_unpacked: float) -> list[str]:
    arrays = read_arrays(path, max_unpacked)
    if path.suffix.lower() == ".npy" or name not in arrays or arrays[name].ndim != 1:
        raise Refusal(
            "weights",
            f"{path} has no array {name!r} with one weight per sample. Pass an .npz file that has "
            f"it; the arrays are: {format_names(sorted(arrays))}",
        )
    return list(arrays[name].tolist())
