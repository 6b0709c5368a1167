"""Write reports and their data to files, and read the data back."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from pathlib import Path

from secateurs.exceptions import InputError, describe_error, reading_file
from secateurs.persistence.atomic_files import check_writable, write_file
from secateurs.report._report_data import HEADER, SCHEMA, SHAPES
from secateurs.report._report_page import render
from secateurs.report._schema import check_shape
from secateurs.typing import JsonObject

# 256 MB, more than any run has: the votes and distances in it are limited by `MOST_LABELS` and
# `MOST_LIVE`. The limit keeps other files from filling the memory.
_MOST_BYTES = 1 << 28
_CHECKSUM = "checksum"  # the last field of a run file


def write_report(data: JsonObject, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the page of a report as an HTML file.

    Parameters
    ----------
    data : dict
        The result of `report_data` or `load_run`.
    path : str or path-like
        The file to write.
    force : bool, default=False
        Whether to overwrite an existing file.

    Returns
    -------
    Path
        The file.
    """
    return _write_content(render(data).encode(), Path(path), force)


def write_run(data: JsonObject, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the data of a report as JSON with a checksum, for `load_run`.

    Parameters
    ----------
    data, path, force
        As for `write_report`.

    Returns
    -------
    Path
        The file.
    """
    return _write_content(run_content(data), Path(path), force)


def run_content(data: JsonObject) -> bytes:
    """Return the content of a run file: the data of a report as JSON with a checksum."""
    signed = {**data, _CHECKSUM: _data_checksum(data)}
    return (json.dumps(signed, allow_nan=False) + "\n").encode()


def load_run(path: str | os.PathLike[str]) -> JsonObject:
    """Read the data of a report from a JSON file, and check it.

    Parameters
    ----------
    path : str or path-like
        A file that `write_run` or the command line wrote.

    Returns
    -------
    dict
        Data that `render` accepts.

    Examples
    --------
    >>> from secateurs.report import load_run
    >>> load_run("run.json")
    Traceback (most recent call last):
    secateurs.exceptions.InputError: run.json does not exist. Pass the JSON file of a run.
    """
    target = Path(path)
    if not target.is_file():
        reason = "is not a file" if target.exists() else "does not exist"
        raise InputError(f"{target} {reason}. Pass the JSON file of a run.")
    with reading_file(target):
        if target.stat().st_size > _MOST_BYTES:
            raise InputError(
                f"is larger than {_MOST_BYTES:,} bytes, which is more than any run has."
            )
        data = _parse_json(target.read_bytes())
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise InputError(
                f"is not a run of this version: its schema is not {SCHEMA!r}. Write it again."
            )
        checksum = data.pop(_CHECKSUM, None)
        check_shape(data, HEADER)
        check_shape(data, SHAPES.get(data["ensemble"]["predicts"], SHAPES["labels"]))
        if checksum is None:
            warnings.warn(
                f"{target} comes from an earlier version, which wrote no checksum: whether it was "
                "changed since is unknown. Write it again for a checksum.",
                stacklevel=2,
            )
        elif checksum != _data_checksum(data):
            raise InputError(
                "is damaged or was edited: its content does not match its checksum. Write it again."
            )
        render(data)  # also finds values that have the right type but do not fit together
    return data


def _data_checksum(data: JsonObject) -> str:
    return hashlib.sha256(json.dumps(data, allow_nan=False).encode()).hexdigest()


def _parse_json(content: bytes) -> object:
    try:
        return json.loads(content, parse_constant=_reject_constant)
    except RecursionError:
        raise InputError("is not valid JSON of a run, because it is nested too deeply.") from None
    except ValueError as error:
        raise InputError(f"is not valid JSON: {describe_error(error)}.") from None


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _write_content(content: bytes, path: Path, force: bool) -> Path:
    check_writable([path], force)
    try:
        write_file(path, content, force=force)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {describe_error(error)}.") from error
    return path
