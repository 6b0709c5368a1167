"""Read a value of each sample from a column of a table, or from an array of an .npz file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.commands._labelled_samples import reject_empty_cells
from secateurs.commands._table_files import (
    file_format,
    read_arrays,
    read_table,
    require_columns,
)
from secateurs.commands.command_errors import Refusal, reject_cells
from secateurs.text_format import shorten_list

if TYPE_CHECKING:
    from secateurs.typing import Array, FloatArray, IndexArray


def read_sample_weights(
    path: Path | None, column: str | None, max_unpacked: float
) -> FloatArray | None:
    """Return the sample weights of a file; None without a file or a column."""
    import numpy as np
    import pandas as pd

    if (cells := read_sample_labels(path, column, max_unpacked)) is None:
        return None
    where = f"{path}, {'array' if _is_array_file(path) else 'column'} {column!r}"
    weights = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(dtype=float)
    is_invalid = ~(np.isfinite(weights) & (weights >= 0))
    fault = "is not a valid weight. Pass numbers of 0 or more."
    reject_cells(is_invalid, cells, where, "no_weight", fault)
    return weights


def read_sample_labels(
    path: Path | None, column: str | None, max_unpacked: float
) -> list[str] | None:
    """Return a label of each sample, such as its group; None without a file or a column."""
    if (cells := _read_cells(path, column, max_unpacked)) is None:
        return None
    reject_empty_cells(f"{path}, {'array' if _is_array_file(path) else 'column'} {column!r}", cells)
    return [str(cell) for cell in cells]


def read_subgroups(path: Path | None, column: str | None, max_unpacked: float) -> Array | None:
    """Return the subgroup of each sample, None in empty cells; None without a file or a column."""
    import numpy as np

    if (cells := _read_cells(path, column, max_unpacked)) is None:
        return None
    return np.array([None if cell == "" else cell for cell in cells], dtype=object)


def read_time_order(
    path: Path | None, column: str | None, max_unpacked: float
) -> IndexArray | None:
    """Return the samples in the order of a column with numbers or dates; None without a column."""
    import numpy as np
    import pandas as pd

    if (cells := read_sample_labels(path, column, max_unpacked)) is None:
        return None
    series = pd.Series(cells, dtype=object)
    times = pd.to_numeric(series, errors="coerce")
    if times.isna().any():
        times = pd.to_datetime(series, errors="coerce", utc=True, format="mixed")
    fault = "is neither a number nor a date. Pass a column of either."
    reject_cells(times.isna().to_numpy(), cells, f"{path}, column {column!r}", "no_time", fault)
    return np.argsort(times.to_numpy(), kind="stable")


def time_order_folds(order: IndexArray, n_folds: int) -> list[tuple[Array, Array]]:
    """Return folds that each hold out later samples than those that members are selected on."""
    from sklearn.model_selection import TimeSeriesSplit

    if len(order) <= n_folds:
        raise Refusal(
            "few_rows",
            f"{len(order)} rows are too few for {n_folds} folds in order of time. Pass more rows.",
        )
    splits = TimeSeriesSplit(n_folds).split(order)
    return [(order[training], order[held_out]) for training, held_out in splits]


def _is_array_file(path: Path | None) -> bool:
    return path is not None and file_format(path) in ("npy", "zip")


def _read_cells(path: Path | None, column: str | None, max_unpacked: float) -> list[str] | None:
    if path is None or column is None:
        return None
    return (_read_array if _is_array_file(path) else _read_column)(path, column, max_unpacked)


def _read_column(path: Path, column: str, max_unpacked: float) -> list[str]:
    frame = read_table(path, as_text=[column], max_unpacked=max_unpacked)
    require_columns(path, frame, [column])
    return list(frame[column])


def _read_array(path: Path, name: str, max_unpacked: float) -> list[str]:
    arrays = read_arrays(path, max_unpacked)
    if path.suffix.lower() == ".npy" or name not in arrays or arrays[name].ndim != 1:
        raise Refusal(
            "weights",
            f"{path} has no array {name!r} with one value per sample. Pass an .npz file that has "
            f"it; the arrays are: {shorten_list(sorted(arrays))}",
        )
    return list(arrays[name].tolist())
