"""Read arrays from .npy and .npz files, after checking their sizes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.commands._table_files import UNPACKED_HINT
from secateurs.commands.command_errors import Refusal
from secateurs.exceptions import UntrustedFileError, reading_file

if TYPE_CHECKING:
    from secateurs.typing import Array


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
    from secateurs.persistence.table_limits import check_row_count

    with path.open("rb") as handle:
        if not zipfile.is_zipfile(handle):
            handle.seek(0)
            shape = check_array_header(handle, path.stat().st_size)
            check_row_count(max(shape, default=0), 0, max_unpacked, UNPACKED_HINT)
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
                check_row_count(max(shape, default=0), unpacked, max_unpacked, UNPACKED_HINT)
