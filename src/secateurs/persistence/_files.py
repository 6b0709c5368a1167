"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.format import header_data_from_array_1_0, write_array_header_1_0
from numpy.typing import NDArray


@contextmanager
def new_file(path: Path, lasting: bool = True) -> Iterator[IO[bytes]]:
    """Open a file under another name; it gets its own when all is written, and on disk if asked."""
    fresh = path.with_name(f".{secrets.token_hex(8)}-{path.name}")
    try:
        with fresh.open("xb") as handle:
            yield handle
            handle.flush()
            if lasting:
                os.fsync(handle.fileno())
        os.replace(fresh, path)
        if lasting:
            sync_folder(path.parent)
    finally:
        fresh.unlink(missing_ok=True)


def write_array(path: Path, array: NDArray[Any], lasting: bool = True) -> None:
    """Write an array as `.npy`; unlike np.save, it says when the disk is full."""
    whole = np.ascontiguousarray(array)
    with new_file(path, lasting) as handle:
        write_array_header_1_0(handle, header_data_from_array_1_0(whole))
        handle.write(whole.data)


def write_file(path: Path, content: bytes, lasting: bool = True) -> None:
    """Write a file, in the place of any that was there."""
    with new_file(path, lasting) as handle:
        handle.write(content)


def sync_folder(path: Path) -> None:
    """Make sure that new names in a folder survive a crash."""
    if os.name == "nt":  # folders cannot be opened there
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
