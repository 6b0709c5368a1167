"""The files of a store: written atomically, listed when finished, checked when read."""

import json
import os
import secrets
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from secateurs.exceptions import InputError, describe_error, reading_file
from secateurs.persistence.atomic_files import load_array, sync_folder, write_array, write_file
from secateurs.thread_safety import ForkSafeLock
from secateurs.typing import Array, BoolArray, IndexArray, JsonObject

StrPath = str | os.PathLike[str]

META, LOG = "meta.json", "tiles.jsonl"
_STORE_CLASSES = {"votes": "VoteStore", "scores": "PredictionStore"}  # by key of the format
_FORMATS, _VERSION = tuple(f"secateurs {key}" for key in _STORE_CLASSES), 1
_DAMAGED = "is damaged: its checksum does not match. Write the store again."


def create_store_folder(
    folder: Path, format_key: str, meta: Mapping[str, object], arrays: Mapping[str, Array]
) -> None:
    """Create the folder of a store without its tiles, by renaming a complete temporary folder."""
    temporary = folder.with_name(f".{secrets.token_hex(8)}-{folder.name}")
    full_meta: JsonObject = {"format": f"secateurs {format_key}", "version": _VERSION, **meta}
    full_meta["crc32"] = {name: zlib.crc32(array.tobytes()) for name, array in arrays.items()}
    full_meta["own_crc32"] = _meta_checksum(full_meta)
    try:
        temporary.mkdir()
        for name, array in arrays.items():
            write_array(temporary / f"{name}.npy", array)
        (temporary / LOG).touch()
        write_file(temporary / META, json.dumps(full_meta, indent=2).encode())
        try:
            temporary.rename(folder)
        except OSError:
            if folder.exists():  # created by another process in the meantime
                raise InputError(f"{folder} exists. Pass another folder.") from None
            raise
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_meta(folder: Path, format_key: str | None = None) -> JsonObject:
    """Read the description of a store; raise if its format is not the expected one."""
    file = folder / META
    expected = _STORE_CLASSES[format_key or "votes"]
    if not file.exists():
        raise InputError(f"{folder} is not a {expected}: it has no {META}.")
    with reading_file(file):
        meta: JsonObject = json.loads(file.read_text())
        if meta["format"] not in _FORMATS or meta["version"] != _VERSION:
            raise InputError(
                f"has the format {meta['format']!r}, version {meta['version']}; this secateurs "
                f"reads version {_VERSION}."
            )
        if format_key is not None and meta["format"] != f"secateurs {format_key}":
            actual = _STORE_CLASSES[meta["format"].removeprefix("secateurs ")]
            raise InputError(f"describes a {actual}, not a {expected}. Open it with {actual}.")
        if meta.pop("own_crc32") != _meta_checksum(meta):
            raise InputError(_DAMAGED)
    return meta


def _meta_checksum(meta: JsonObject) -> int:
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def read_array(folder: Path, meta: JsonObject, name: str) -> Array | None:
    """Read one of the small arrays of a store; None if the store does not have it."""
    if name not in meta["crc32"]:
        return None
    file = folder / f"{name}.npy"
    with reading_file(file):
        array = load_array(file)
        if zlib.crc32(array.tobytes()) != meta["crc32"][name]:
            raise InputError(_DAMAGED)
    if name == "names":
        array = array.astype(object)  # the type of names in Votes
    array.flags.writeable = False
    return array


@lru_cache(maxsize=32)
def read_cached_array(folder: Path, store_id: str, name: str) -> Array | None:
    """Read one of the small arrays of a store, once per process."""
    meta = read_meta(folder)
    if meta["id"] != store_id:
        raise InputError(f"{folder} is no longer the store that was opened. Open it again.")
    return read_array(folder, meta, name)


@lru_cache(maxsize=8)
def storage_indices(folder: Path, store_id: str) -> IndexArray:
    """Return the storage index of each member: its position in the order of the tiles."""
    indices = np.argsort(np.asarray(read_cached_array(folder, store_id, "order")))
    indices.flags.writeable = False  # all threads get the same array
    return indices


def append_line(file: Path, line: str) -> None:
    """Append a line to a file; a last line without its end, left by a crash, is cut off."""
    with file.open("r+b") as handle:
        content = handle.read()
        handle.seek(content.rfind(b"\n") + 1)
        handle.write(line.encode() + b"\n")
        handle.truncate()
        handle.flush()
        os.fsync(handle.fileno())


@contextmanager
def filling_lock(folder: Path) -> Iterator[None]:
    """Hold the lock for filling a store; raise if another process holds it."""
    with _hold_file_lock(folder / META, wait=False) as is_ours:
        if not is_ours:
            raise InputError(
                f"{folder} is being filled by another process. Wait until it has ended, then run "
                "again; or pass another folder."
            )
        yield


@contextmanager
def tile_lock(folder: Path) -> Iterator[None]:
    """Hold the lock for writing a tile, so that processes and threads write one after another."""
    with _thread_lock, _hold_file_lock(folder / LOG, wait=True):
        yield


_thread_lock = ForkSafeLock()


@contextmanager
def _hold_file_lock(file: Path, wait: bool) -> Iterator[bool]:
    """Hold the lock of a file and yield whether it is ours; it ends with the process.

    On a file system without locks, it is always ours.
    """
    with file.open("r+b") as handle:
        is_ours = _acquire_lock(handle, wait)
        try:
            yield is_ours
        finally:
            if is_ours:
                _release_lock(handle)


if sys.platform == "win32":
    import msvcrt

    def _acquire_lock(handle: IO[bytes], wait: bool) -> bool:
        """Lock a store on Windows; return whether the lock was acquired."""
        # Windows locks are mandatory: a byte far behind the end leaves the file readable.
        handle.seek(1 << 40)
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release_lock(handle: IO[bytes]) -> None:
        """Do nothing: Windows releases a lock when the file is closed."""
else:
    import fcntl

    def _acquire_lock(handle: IO[bytes], wait: bool) -> bool:
        """Lock a store; return False if it is locked already. Some file systems have no locks."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _release_lock(handle: IO[bytes]) -> None:
        """Unlock a store, also for children that were forked meanwhile and keep the file open."""
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)


class FinishedTile(NamedTuple):
    """A finished tile: the checksums of its members, and the exponent of regression values."""

    crc32: list[int]
    exponent: int


def read_log(folder: Path) -> Mapping[int, FinishedTile]:
    """Return the log entries of the finished tiles by tile."""
    with reading_file(folder / LOG):
        state = (folder / LOG).stat()
        return _read_cached_log(folder, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read_cached_log(folder: Path, changed: int, size: int) -> Mapping[int, FinishedTile]:
    lines = (folder / LOG).read_bytes().split(b"\n")[:-1]  # without a last line torn by a crash
    entries = [json.loads(line) for line in lines]
    return {e["tile"]: FinishedTile(e["crc32"], int(e.get("exponent", 0))) for e in entries}


@contextmanager
def convert_write_errors(
    folder: Path, state: Callable[[], str] = lambda: "nothing is"
) -> Iterator[None]:
    """Turn errors of a full or broken disk into an InputError that names the tiles written."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {describe_error(error)}; {state()} written so far. "
            "Free some space and resume the store (finished tiles stay valid), or pass another "
            "folder."
        ) from error


_checked: dict[tuple[Path, int, int], BoolArray] = {}
_checked_lock = ForkSafeLock()


def checked_members(file: Path, n_rows: int) -> BoolArray:
    """Return the mask of a tile's members that this process has checked since the file changed."""
    state = file.stat()
    key = (file, state.st_mtime_ns, state.st_size)
    with _checked_lock:
        if key not in _checked:
            _forget(file)
            _checked[key] = np.zeros(n_rows, dtype=bool)
        return _checked[key]


def forget_checks(file: Path) -> None:
    """Forget the checks of a tile, so that it is checked when it is next read."""
    with _checked_lock:
        _forget(file)


def _forget(file: Path) -> None:
    """Forget that the members of a changed file were checked."""
    for key in [key for key in _checked if key[0] == file]:
        del _checked[key]
