"""The files of a store: written whole, listed when finished, checked when read."""

import json
import os
import secrets
import shutil
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError, describe_error, reading_file
from secateurs.persistence.atomic_files import sync_folder, write_array, write_file
from secateurs.typing import Array

StrPath = str | os.PathLike[str]

META, LOG = "meta.json", "tiles.jsonl"
_FORMATS, _VERSION = ("secateurs votes", "secateurs scores"), 1


def create_store_folder(
    folder: Path, of: str, meta: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Create a folder with all but the tiles; it appears whole or not at all."""
    fresh = folder.with_name(f".{secrets.token_hex(8)}-{folder.name}")
    known = {"format": f"secateurs {of}", "version": _VERSION, **meta}
    known["crc32"] = {name: zlib.crc32(array.tobytes()) for name, array in arrays.items()}
    known["own_crc32"] = _meta_checksum(known)
    try:
        fresh.mkdir()
        for name, array in arrays.items():
            write_array(fresh / f"{name}.npy", array)
        (fresh / LOG).touch()
        write_file(fresh / META, json.dumps(known, indent=2).encode())
        try:
            fresh.rename(folder)
        except OSError:
            if folder.exists():  # made by another process in the meantime
                raise InputError(f"{folder} exists. Give another folder.") from None
            raise
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def read_meta(folder: Path, of: str | None = None) -> dict[str, Any]:
    """Read the description of a store, of votes or of scores if it has to be."""
    file = folder / META
    if not file.exists():
        raise InputError(f"{folder} is not a store of {of or 'votes'}: it has no {META}.")
    with reading_file(file):
        meta: dict[str, Any] = json.loads(file.read_text())
        if meta["format"] not in _FORMATS or meta["version"] != _VERSION:
            raise InputError(f"is of format {meta['version']}, this secateurs knows {_VERSION}.")
        if of is not None and meta["format"] != f"secateurs {of}":
            kind = meta["format"].removeprefix("secateurs ")
            raise InputError(f"describes a store of {kind}, not of {of}. Open it as what it is.")
        if meta.pop("own_crc32") != _meta_checksum(meta):
            raise InputError("is damaged: it is not what was written. Write the store again.")
    return meta


def _meta_checksum(meta: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def read_array(folder: Path, meta: Mapping[str, Any], name: str) -> Array | None:
    """Read one of the small arrays; None if the store does not have it."""
    if name not in meta["crc32"]:
        return None
    file = folder / f"{name}.npy"
    with reading_file(file):
        array: Array = np.load(file, allow_pickle=False)
        if zlib.crc32(array.tobytes()) != meta["crc32"][name]:
            raise InputError("is damaged: it is not what was written. Write the store again.")
    if name == "names":
        array = array.astype(object)  # as Votes has them
    array.flags.writeable = False
    return array


@lru_cache(maxsize=32)
def read_cached_array(folder: Path, store_id: str, name: str) -> Array | None:
    """Read one of the small arrays, once per process."""
    meta = read_meta(folder)
    if meta["id"] != store_id:
        raise InputError(f"{folder} is no longer the store that was opened. Open it again.")
    return read_array(folder, meta, name)


@lru_cache(maxsize=8)
def storage_indices(folder: Path, store_id: str) -> NDArray[np.intp]:
    """Return the place at which each member lies."""
    return np.argsort(np.asarray(read_cached_array(folder, store_id, "order")))


def append_line(file: Path, line: str) -> None:
    """Add a line to a file, in place of one that a crash has torn."""
    with file.open("r+b") as handle:
        content = handle.read()
        handle.seek(content.rfind(b"\n") + 1)
        handle.write(line.encode() + b"\n")
        handle.truncate()
        handle.flush()
        os.fsync(handle.fileno())


@contextmanager
def filling_lock(folder: Path) -> Iterator[None]:
    """Let one process fill a store; refuse a second one."""
    with _hold_file_lock(folder / META, wait=False) as is_ours:
        if not is_ours:
            raise InputError(
                f"{folder} is being filled by another process. Wait until it has ended, then run "
                "again; or give another folder."
            )
        yield


@contextmanager
def tile_lock(folder: Path) -> Iterator[None]:
    """Let processes and threads that write tiles of a store take turns."""
    with _thread_lock, _hold_file_lock(folder / LOG, wait=True):
        yield


_thread_lock = threading.Lock()


@contextmanager
def _hold_file_lock(file: Path, wait: bool) -> Iterator[bool]:
    """Hold the lock of a file, and tell whether it is ours; the system drops it with the process.

    Where a file system knows no locks, there is none.
    """
    with file.open("r+b") as handle:
        yield _acquire_lock(handle, wait)


if sys.platform == "win32":
    import msvcrt

    def _acquire_lock(handle: IO[bytes], wait: bool) -> bool:
        handle.seek(1 << 40)  # far behind the end, for others to read the file
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _acquire_lock(handle: IO[bytes], wait: bool) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True


class FinishedTile(NamedTuple):
    """A finished tile: checksums of its members, and the exponent of numbers."""

    crc32: list[int]
    exponent: int


def read_log(folder: Path) -> Mapping[int, FinishedTile]:
    """Return what is known of each finished tile."""
    with reading_file(folder / LOG):
        state = (folder / LOG).stat()
        return _read_cached_log(folder, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read_cached_log(folder: Path, changed: int, size: int) -> Mapping[int, FinishedTile]:
    lines = (folder / LOG).read_bytes().split(b"\n")[:-1]  # what a crash has torn has no end
    entries = [json.loads(line) for line in lines]
    return {e["tile"]: FinishedTile(e["crc32"], int(e.get("exponent", 0))) for e in entries}


@contextmanager
def convert_write_errors(
    folder: Path, state: Callable[[], str] = lambda: "nothing is"
) -> Iterator[None]:
    """Turn a full or broken disk into an InputError; ``state`` tells what is written so far."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {describe_error(error)}; {state()} written so far. Make room, "
            "or give another folder; what is written stays good, and can be resumed."
        ) from error


_checked: dict[tuple[Path, int, int], NDArray[np.bool_]] = {}
_checked_lock = threading.Lock()


def checked_members(file: Path, n_rows: int) -> NDArray[np.bool_]:
    """Return a mask of the members of a tile that this process has checked.

    A file that has changed since counts as another one.
    """
    state = file.stat()
    key = (file, state.st_mtime_ns, state.st_size)
    with _checked_lock:
        if key not in _checked:
            _forget(file)
            _checked[key] = np.zeros(n_rows, dtype=bool)
        return _checked[key]


def forget_checks(file: Path) -> None:
    """Make sure that a tile is checked again when it is next read."""
    with _checked_lock:
        _forget(file)


def _forget(file: Path) -> None:
    for key in [key for key in _checked if key[0] == file]:
        del _checked[key]


def _renew_locks() -> None:
    """Replace the locks in a forked child: another thread of the parent may have held them."""
    global _thread_lock, _checked_lock
    _thread_lock, _checked_lock = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_renew_locks)
