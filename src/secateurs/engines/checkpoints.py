"""Checkpoints of long runs, kept beside the store: the next run continues from there."""

import hashlib
import io
import json
import shutil
import warnings
import zlib
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from secateurs import __version__
from secateurs.exceptions import describe_error
from secateurs.outputs.store_base import Store
from secateurs.persistence.atomic_files import write_file


class Checkpoints:
    """Finished parts of one run, by name; nothing is kept for votes in memory.

    A run is identified by everything that decides its result, the votes and ``identity``: only the
    same run continues. A file starts with a checksum of its content, its run and its name: one
    that is damaged, or belongs elsewhere, counts as not there.
    """

    def __init__(self, votes: Any, *identity: Any) -> None:
        self._folder: Path | None = None
        if isinstance(votes, Store):
            labels = zlib.crc32(votes.truth.tobytes())
            try:
                key = joblib.hash((__version__, votes.id, labels, identity))
            except Exception as error:  # such as a function among the pruner's parameters
                _warn_not_kept(f"of a pruner that cannot be pickled ({describe_error(error)})")
            else:
                self._folder = votes.path / "runs" / key

    def read_value(self, name: str) -> Any:
        """Return a finished part, or None."""
        content = self._read_bytes(f"{name}.json")
        return None if content is None else json.loads(content)

    def read_array(self, name: str) -> NDArray[np.float64] | None:
        """Return a finished array, or None."""
        content = self._read_bytes(f"{name}.npy")
        return None if content is None else np.load(io.BytesIO(content), allow_pickle=False)

    def _read_bytes(self, name: str) -> bytes | None:
        if self._folder is None:
            return None
        try:
            checksum, _, content = (self._folder / name).read_bytes().partition(b"\n")
        except OSError:  # most often not there
            return None
        return content if checksum == _content_checksum(self._folder / name, content) else None

    def write_value(self, name: str, value: Any) -> None:
        """Write a finished part."""
        self._write_bytes(f"{name}.json", json.dumps(value).encode())

    def write_array(self, name: str, array: NDArray[np.float64]) -> None:
        """Write a finished array."""
        if self._folder is not None:
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            self._write_bytes(f"{name}.npy", buffer.getvalue())

    def _write_bytes(self, name: str, content: bytes) -> None:
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Not synced to disk: that would take longer than a step, and helps only against a
            # machine that goes down, not against a process that is stopped.
            checksum = _content_checksum(self._folder / name, content)
            write_file(self._folder / name, checksum + b"\n" + content, lasting=False)
        except OSError as error:
            _warn_not_kept(f"in {self._folder} ({error.strerror})")
            self._folder = None

    def delete_all(self) -> None:
        """Delete the checkpoints of a run that is done."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _content_checksum(path: Path, content: bytes) -> bytes:
    known = b"%s/%s " % (path.parent.name.encode(), path.name.encode())
    return hashlib.sha256(known + content).hexdigest().encode()


def _warn_not_kept(why: str) -> None:
    warnings.warn(
        f"Finished parts cannot be kept {why}: if this run is stopped, it has to start again.",
        stacklevel=3,
    )
