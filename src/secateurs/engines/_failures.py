"""How work ends before it is done: failures of workers, and flags that stop running tasks."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from joblib.parallel import get_active_backend

from secateurs import __version__
from secateurs.exceptions import ExecutorError, SecateursError, cause_of

_SAME_VERSION = f"secateurs {__version__} on all workers"
_LOCAL_BACKENDS = ("LokyBackend", "MultiprocessingBackend", "ThreadingBackend", "SequentialBackend")


@contextmanager
def explained() -> Iterator[None]:
    """Turn failures of workers into a one-line ExecutorError; errors of tasks pass unchanged."""
    try:
        yield
    except BrokenExecutor as error:
        raise ExecutorError(
            f"A worker process died ({cause_of(error)}): killed, or out of memory. Run again; "
            "a Dask cluster goes on with the workers that are left."
        ) from error
    except CancelledError as error:
        raise ExecutorError("The tasks were cancelled: the scheduler is lost.") from error
    except Exception as error:
        explanation = _explanation(error)
        if explanation is None:
            raise
        raise explanation from error


@contextmanager
def scheduler_answers() -> Iterator[None]:
    """Turn a lost scheduler into a one-line ExecutorError."""
    try:
        yield
    except (OSError, AttributeError) as error:  # the attribute of a client that gave it up
        raise _scheduler_lost(error) from error


def _scheduler_lost(error: Exception) -> ExecutorError:
    return ExecutorError(f"The scheduler is lost ({cause_of(error)}). Start it and run again.")


def _explanation(error: Exception) -> ExecutorError | None:
    kind = type(error).__name__
    if kind == "KilledWorker":
        return ExecutorError(
            "Several workers died one after another while running the same task: most likely it "
            "needs more memory than they have. Use more groups or shards, or larger workers."
        )
    if kind in ("FutureCancelledError", "CommClosedError"):
        return _scheduler_lost(error)
    if kind == "RuntimeError" and str(error).startswith("cannot open a task"):
        return ExecutorError(f"A worker {error}. Install what it lacks, and {_SAME_VERSION}.")
    lacks_us = isinstance(error, (ImportError, AttributeError)) and "secateurs" in str(error)
    if lacks_us and not isinstance(error, SecateursError):
        return ExecutorError(
            f"A worker cannot run this task ({cause_of(error)}). Install {_SAME_VERSION}."
        )
    return None


class ThreadFlag(threading.Event):
    """A flag that all threads of a process see."""

    __call__ = threading.Event.is_set


@dataclass(frozen=True)
class FileFlag:
    """A flag that all processes of a machine see: raised once its file is gone."""

    path: Path

    @classmethod
    def new(cls) -> "FileFlag":
        """Return a flag that is not raised."""
        handle, name = tempfile.mkstemp(prefix="secateurs-wanted-")
        os.close(handle)
        return cls(Path(name))

    def set(self) -> None:
        """Raise the flag."""
        self.path.unlink(missing_ok=True)

    def __call__(self) -> bool:
        return not self.path.exists()


def dask_task_is_cancelled() -> bool:
    """Whether the client has cancelled the task that runs here."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def joblib_is_local() -> bool:
    """Whether joblib's active backend is this machine; loky maps large arrays by itself."""
    return type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS


@contextmanager
def joblib_flag() -> Iterator[Callable[[], bool] | None]:
    """Yield a flag for tasks that joblib runs, and raise it at the end; None if they are remote."""
    if not joblib_is_local():
        yield None
        return
    flag = FileFlag.new()
    try:
        yield flag
    finally:
        flag.set()
