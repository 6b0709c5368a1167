"""The files of a vote store: written whole, listed when finished, checked when read."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from secateurs._files import sync_folder, write_file
from secateurs._labels import Array
from secateurs.exceptions import InputError, one_line

META, LOG = "meta.json", "tiles.jsonl"


def lay_out(folder: Path, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Make a folder with all but the tiles; it appears whole or not at all."""
    fresh = folder.with_name(f".{secrets.token_hex(8)}-{folder.name}")
    try:
        fresh.mkdir()
        for name, array in arrays.items():
            np.save(fresh / f"{name}.npy", array, allow_pickle=False)
        (fresh / LOG).touch()
        write_file(fresh / META, json.dumps(meta, indent=2).encode())
        fresh.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def read_array(folder: Path, name: str, length: int) -> Array | None:
    """Read one of the small arrays; None if the store has none of that name."""
    file = folder / f"{name}.npy"
    if not file.exists():
        return None
    array: Array = np.load(file, allow_pickle=False)
    if array.shape != (length,):
        raise InputError(f"is damaged: {file.name} has shape {array.shape}, not ({length},).")
    return array


def append_line(file: Path, line: str) -> None:
    """Add a line to a list, in the place of one that a crash has torn."""
    with file.open("r+b") as handle:
        content = handle.read()
        handle.seek(content.rfind(b"\n") + 1)
        handle.write(line.encode() + b"\n")
        handle.truncate()
        handle.flush()
        os.fsync(handle.fileno())


def read_log(folder: Path) -> Mapping[int, list[int]]:
    """Give the checksums of the members of each tile that is finished."""
    state = (folder / LOG).stat()
    return _read_log(folder, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read_log(folder: Path, changed: int, size: int) -> Mapping[int, list[int]]:
    lines = (folder / LOG).read_bytes().split(b"\n")[:-1]  # what a crash has torn has no end
    entries = [json.loads(line) for line in lines]
    return {entry["tile"]: entry["crc32"] for entry in entries}


@contextmanager
def writing(folder: Path, state: str = "nothing") -> Iterator[None]:
    """Turn a full or broken disk into one line of ours."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {one_line(error)}; {state} written so far. Make room, or "
            "give another folder; what is written stays good, and can be resumed."
        ) from error
