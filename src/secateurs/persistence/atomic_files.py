"""Write files that appear complete or not at all."""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Literal

import numpy as np
from numpy.lib import format as npy

from secateurs.exceptions import InputError, describe_error
from secateurs.thread_safety import array_header_lock
from secateurs.typing import Array, JsonObject


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Set the file name of operating-system errors, which may have none or a temporary name."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise


@contextmanager
def new_file(path: Path, lasting: bool = True, force: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed to its path once it is complete, see `publish_file`."""
    fresh = path.with_name(f".{secrets.token_hex(8)}-{path.name}")
    try:
        with name_in_errors(path):
            with fresh.open("xb") as handle:
                yield handle
                handle.flush()
                if lasting:
                    os.fsync(handle.fileno())
            publish_file(fresh, path, force)
            if lasting:
                sync_folder(path.parent)
    finally:
        fresh.unlink(missing_ok=True)


def write_array(path: Path, array: Array, lasting: bool = True) -> None:
    """Write an array as `.npy`; unlike np.save, raise an error when the disk is full."""
    contiguous = np.ascontiguousarray(array)
    with new_file(path, lasting) as handle:
        npy.write_array_header_1_0(handle, npy.header_data_from_array_1_0(contiguous))
        handle.write(contiguous.data)


def load_array(file: Path | IO[bytes], mmap_mode: Literal["r"] | None = None) -> Array:
    """Read an array from an `.npy` file, without pickle; other threads may do the same."""
    with array_header_lock:
        return np.load(file, mmap_mode=mmap_mode, allow_pickle=False)


def write_file(path: Path, content: bytes, lasting: bool = True, force: bool = True) -> None:
    """Write a file; an existing file is replaced if ``force``, otherwise an error is raised."""
    with new_file(path, lasting, force) as handle:
        handle.write(content)


def publish_file(fresh: Path, path: Path, force: bool) -> None:
    """Rename a complete file to its path; without ``force``, only if the path is free.

    If several processes use the same path without ``force``, only one process succeeds.
    """
    if force:
        os.replace(fresh, path)
        return
    try:
        os.link(fresh, path)  # unlike a rename, it fails if the path exists
    except FileExistsError:
        raise _exists_error(path) from None
    except OSError:  # a file system without links: reserve the path with an empty file first
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            raise _exists_error(path) from None
        try:
            os.replace(fresh, path)
        except BaseException:
            path.unlink()
            raise


def _exists_error(path: Path) -> InputError:
    return InputError(
        f"{path} exists. Pass another path, or {{force}} to overwrite it.", force=True
    )


def check_array_header(handle: IO[bytes], n_bytes: int) -> tuple[int, ...]:
    """Return the shape in the header of a `.npy` file; raise an error if its size is not n_bytes.

    NumPy allocates memory by the header before it reads any value.
    """
    is_version_1 = npy.read_magic(handle) == (1, 0)
    read_header = npy.read_array_header_1_0 if is_version_1 else npy.read_array_header_2_0
    with array_header_lock:
        shape, _, dtype = read_header(handle)
    if dtype.hasobject:
        raise InputError(
            "has an array of Python objects, which only pickle reads. Convert text with "
            "array.astype(str), and numbers with array.astype(float)."
        )
    n_values, n_left = prod(shape), n_bytes - handle.tell()
    # The second condition rejects dtypes of 0 bytes, of which any number fits into the file.
    if n_values * dtype.itemsize != n_left or n_values > n_left:
        raise InputError(
            f"has an array of shape {shape} and dtype {dtype} in {n_left} bytes. Write it again."
        )
    return shape


def sync_folder(path: Path) -> None:
    """Flush a folder to disk, so that new files in it survive a crash."""
    if os.name == "nt":  # Windows cannot open folders
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_path_encoding(path: Path) -> None:
    """Raise an error for a path with lone surrogates, which the file system cannot encode."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InputError(f"{path} holds half of a character. Pass another path.") from None


def check_writable(paths: Iterable[Path], force: bool) -> None:
    """Raise an error for paths that cannot be written, and for existing files without ``force``."""
    all_paths = list(paths)
    for path in all_paths:
        check_path_encoding(path)
        if not path.parent.is_dir():
            raise InputError(f"{path.parent} is not a folder. Create it first.")
        if path.is_dir():
            raise InputError(f"{path} is a folder. Pass the path of a file.")
        if path.exists() and not force:
            raise _exists_error(path)
    for folder in dict.fromkeys(path.parent for path in all_paths):
        _check_folder(folder)


def check_output_folder(folder: Path) -> None:
    """Raise an error if a folder, which need not exist, cannot be created or written to."""
    check_path_encoding(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Pass the path of a folder.")
    _check_folder(next(path for path in (folder, *folder.absolute().parents) if path.exists()))


def _check_folder(folder: Path) -> None:
    """Create and delete a file: permissions do not show a read-only file system."""
    probe = folder / f".{secrets.token_hex(8)}-secateurs"
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written to: {error.strerror}. Pass another folder, or change its "
            "permissions."
        ) from error


def write_with_sidecar(
    path: Path,
    content: bytes,
    sidecar: Path,
    record: JsonObject,
    *,
    force: bool,
    check: Callable[[Path], object] | None = None,
    beside: Mapping[Path, bytes] | None = None,
) -> None:
    """Write a file, its side-car and further files together, see `write_files`."""
    try:
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{{provenance}} is not plain JSON: {error}. Pass numbers, strings, lists and dicts.",
            provenance=...,
        ) from error
    sidecar_content = text.encode(errors="backslashreplace")  # JSON escapes surrogates like this
    files = {path: content, sidecar: sidecar_content, **(beside or {})}
    write_files(files, force=force, check=check)


def write_files(
    contents: Mapping[Path, bytes],
    *,
    force: bool = True,
    check: Callable[[Path], object] | None = None,
) -> None:
    """Write all files after a check of the first, or none; see `publish_file` for ``force``."""
    token = secrets.token_hex(8)
    new, backups = (
        [path.with_name(f".{token}-{age}-{path.name}") for path in contents]
        for age in ("new", "old")
    )
    published = []
    try:
        for (path, content), fresh in zip(contents.items(), new, strict=True):
            with name_in_errors(path):
                _write_synced(fresh, content)
        if check is not None:
            check(new[0])
        for path, fresh, backup in zip(contents, new, backups, strict=True):
            with name_in_errors(path):
                if force and path.exists():
                    shutil.copy2(path, backup)
                publish_file(fresh, path, force)
            published.append((path, backup))
    except BaseException as error:
        for path, backup in published:
            os.replace(backup, path) if backup.exists() else path.unlink()
        if isinstance(error, OSError):
            raise InputError(
                f"{error.filename} cannot be written: {describe_error(error)}."
            ) from error
        raise
    finally:
        for leftover in (*new, *backups):
            leftover.unlink(missing_ok=True)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
