"""Checkpoints of long runs, in the folder of the store, from which the next run continues."""

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
from secateurs.outputs.store_base import EncodedPredictions, Store
from secateurs.persistence.atomic_files import load_array, write_file


class Checkpoints:
    """Finished parts of one run on a store, by name; runs on votes in memory have no checkpoints.

    A run is identified by the votes and by ``identity``, which together determine its result. Each
    file starts with a checksum of its content, run and name. A file that is damaged or belongs to
    another run counts as missing, with a warning that names it.
    """

    def __init__(self, votes: EncodedPredictions, *identity: object) -> None:
        self._folder: Path | None = None
        if isinstance(votes, Store):
            labels = zlib.crc32(votes.truth.tobytes())
            try:
                key = joblib.hash((__version__, votes.id, labels, identity))
            except Exception as error:  # e.g. a lambda among the pruner's parameters
                _warn_not_kept(f"of a pruner that cannot be pickled ({describe_error(error)})")
            else:
                self._folder = votes.path / "runs" / key

    def read_value(self, name: str) -> Any:
        """Return a finished part, None if it is missing."""
        content = self._read_bytes(f"{name}.json")
        return None if content is None else json.loads(content)

    def read_array(self, name: str) -> NDArray[np.float64] | None:
        """Return a finished array, None if it is missing."""
        content = self._read_bytes(f"{name}.npy")
        return None if content is None else load_array(io.BytesIO(content))

    def _read_bytes(self, name: str) -> bytes | None:
        """Return the content of a finished part; None if it is missing or its checksum is wrong."""
        if self._folder is None:
            return None
        try:
            checksum, _, content = (self._folder / name).read_bytes().partition(b"\n")
        except OSError:  # most often because the file does not exist
            return None
        if checksum == _content_checksum(self._folder / name, content):
            return content
        warnings.warn(
            f"{self._folder / name} is damaged: its content does not match its checksum. This part "
            "is computed again.",
            stacklevel=3,
        )
        return None

    def write_value(self, name: str, value: object) -> None:
        """Write a finished part as JSON."""
        self._write_bytes(f"{name}.json", json.dumps(value).encode())

    def write_array(self, name: str, array: NDArray[np.float64]) -> None:
        """Write a finished array."""
        if self._folder is not None:
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            self._write_bytes(f"{name}.npy", buffer.getvalue())

    def _write_bytes(self, name: str, content: bytes) -> None:
        """Write the content of a finished part with its checksum."""
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Not synced to disk: syncing would take longer than a step, and only helps if the
            # machine goes down, not if the process is stopped.
            checksum = _content_checksum(self._folder / name, content)
            write_file(self._folder / name, checksum + b"\n" + content, lasting=False)
        except OSError as error:
            _warn_not_kept(f"in {self._folder} ({error.strerror})")
            self._folder = None

    def delete_all(self) -> None:
        """Delete the checkpoints of a finished run."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _content_checksum(path: Path, content: bytes) -> bytes:
    """Return the checksum of a checkpoint, which includes the names of its run and file."""
    run_and_name = b"%s/%s " % (path.parent.name.encode(), path.name.encode())
    return hashlib.sha256(run_and_name + content).hexdigest().encode()


def _warn_not_kept(reason: str) -> None:
    warnings.warn(
        f"Finished parts cannot be kept {reason}: if this run is stopped, it has to start again.",
        stacklevel=3,
    )
