"""What tells a running task, wherever it runs, that its result is no longer wanted."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from joblib.parallel import get_active_backend

_LOCAL_BACKENDS = ("LokyBackend", "MultiprocessingBackend", "ThreadingBackend", "SequentialBackend")


@dataclass(frozen=True)
class FileGone:
    """A flag that all processes of a machine see: a file, until it is gone."""

    path: Path

    @classmethod
    def new(cls) -> "FileGone":
        """Make one that is not raised."""
        handle, name = tempfile.mkstemp(prefix="secateurs-wanted-")
        os.close(handle)
        return cls(Path(name))

    def set(self) -> None:
        """Raise it."""
        self.path.unlink(missing_ok=True)

    def __call__(self) -> bool:
        return not self.path.exists()


def dask_task_is_gone() -> bool:
    """Whether the client has cancelled the task that runs here."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def joblib_is_local() -> bool:
    """Whether joblib's backend of the moment is this machine; loky maps large arrays by itself."""
    return type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS


@contextmanager
def joblib_flag() -> Iterator[Callable[[], bool] | None]:
    """Give the flag for tasks that joblib runs; it is raised at the end."""
    if not joblib_is_local():
        yield None
        return
    flag = FileGone.new()
    try:
        yield flag
    finally:
        flag.set()
