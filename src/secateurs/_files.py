"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file under another name; give it its own once all is written and on disk."""
    fresh = path.with_name(f".{secrets.token_hex(8)}-{path.name}")
    try:
        with fresh.open("xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(fresh, path)
        sync_folder(path.parent)
    finally:
        fresh.unlink(missing_ok=True)


def write_file(path: Path, content: bytes) -> None:
    """Write a file, in the place of any that was there."""
    with new_file(path) as handle:
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
