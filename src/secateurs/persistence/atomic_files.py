"""Files that appear whole or not at all."""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from secateurs.exceptions import InputError, describe_error


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Let errors of the system name a file; those of writing name none, or a temporary one."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise


@contextmanager
def new_file(path: Path, lasting: bool = True, force: bool = True) -> Iterator[IO[bytes]]:
    """Open a file under a temporary name; it gets its own once it is complete, see `publish_file`."""
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


def write_array(path: Path, array: NDArray[Any], lasting: bool = True) -> None:
    """Write an array as `.npy`; unlike np.save, raise an error when the disk is full."""
    whole = np.ascontiguousarray(array)
    with new_file(path, lasting) as handle:
        npy.write_array_header_1_0(handle, npy.header_data_from_array_1_0(whole))
        handle.write(whole.data)


def write_file(path: Path, content: bytes, lasting: bool = True, force: bool = True) -> None:
    """Write a file; one of that name is replaced if forced, and else stays."""
    with new_file(path, lasting, force) as handle:
        handle.write(content)


def publish_file(fresh: Path, path: Path, force: bool) -> None:
    """Let a complete file appear under its name; unless forced, only if no other file has it.

    Of several processes that take one name without force, one succeeds.
    """
    if force:
        os.replace(fresh, path)
        return
    try:
        os.link(fresh, path)  # unlike a rename, it fails where the name is taken
    except FileExistsError:
        raise _exists_error(path) from None
    except OSError:  # a file system without links: take the name first, for an instant empty
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
        f"{path} exists. Give another path, or {{force}} to overwrite it.", force=True
    )


def check_array_header(handle: IO[bytes], n_bytes: int) -> tuple[int, ...]:
    """Return the shape that a `.npy` file of ``n_bytes`` claims; refuse one that is not its size.

    NumPy takes as much memory as the claim says, before it reads any value.
    """
    old = npy.read_magic(handle) == (1, 0)
    read = npy.read_array_header_1_0 if old else npy.read_array_header_2_0
    shape, _, dtype = read(handle)
    if dtype.hasobject:
        raise InputError(
            "has an array of Python objects, which only pickle reads. Write text with "
            "array.astype(str), and numbers as numbers."
        )
    n_values, n_left = prod(shape), n_bytes - handle.tell()
    if n_values * dtype.itemsize != n_left or n_values > n_left:
        raise InputError(
            f"has an array of shape {shape} and dtype {dtype} in {n_left} bytes. Write it again."
        )
    return shape


def sync_folder(path: Path) -> None:
    """Make sure that new names in a folder survive a crash."""
    if os.name == "nt":  # folders cannot be opened there
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_path_encoding(path: Path) -> None:
    """Refuse a path that no file can have."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InputError(f"{path} holds half of a character. Give another path.") from None


def check_writable(paths: Iterable[Path], force: bool) -> None:
    """Refuse paths that cannot be written, and files that exist unless forced."""
    for path in paths:
        check_path_encoding(path)
        if not path.parent.is_dir():
            raise InputError(f"{path.parent} is not a folder. Make it first.")
        if path.is_dir():
            raise InputError(f"{path} is a folder. Give the path of a file.")
        if path.exists() and not force:
            raise _exists_error(path)


def write_with_sidecar(
    path: Path,
    content: bytes,
    sidecar: Path,
    record: dict[str, Any],
    *,
    force: bool,
    check: Callable[[Path], object] | None = None,
    beside: Mapping[Path, bytes] | None = None,
) -> None:
    """Write a file and its side-car, and others beside them, as `write_files` does."""
    try:
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{{provenance}} is not plain JSON: {error}. Give numbers, strings, lists and dicts.",
            provenance=...,
        ) from error
    described = text.encode(errors="backslashreplace")  # as JSON escapes halves of letters
    files = {path: content, sidecar: described, **(beside or {})}
    write_files(files, force=force, check=check)


def write_files(
    contents: Mapping[Path, bytes],
    *,
    force: bool = True,
    check: Callable[[Path], object] | None = None,
) -> None:
    """Write files after a check of the first; all of them, or on failure none.

    Names are taken as by `publish_file`.
    """
    token = secrets.token_hex(8)
    new, old = (
        [path.with_name(f".{token}-{age}-{path.name}") for path in contents]
        for age in ("new", "old")
    )
    placed = []
    try:
        for (path, content), fresh in zip(contents.items(), new, strict=True):
            with name_in_errors(path):
                _write_synced(fresh, content)
        if check is not None:
            check(new[0])
        for path, fresh, spare in zip(contents, new, old, strict=True):
            with name_in_errors(path):
                if force and path.exists():
                    shutil.copy2(path, spare)
                publish_file(fresh, path, force)
            placed.append((path, spare))
    except BaseException as error:
        for path, spare in placed:
            os.replace(spare, path) if spare.exists() else path.unlink()
        if isinstance(error, OSError):
            raise InputError(
                f"{error.filename} cannot be written: {describe_error(error)}."
            ) from error
        raise
    finally:
        for leftover in (*new, *old):
            leftover.unlink(missing_ok=True)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
