"""How work ends before it is done: failures of workers, and flags that stop running tasks."""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib.parallel import get_active_backend

from secateurs import __version__
from secateurs.exceptions import ExecutorError, SecateursError, describe_error
from secateurs.search import stop_when

_SAME_VERSION = f"secateurs {__version__} on all workers"
_LOCAL_BACKENDS = ("LokyBackend", "MultiprocessingBackend", "ThreadingBackend", "SequentialBackend")
_RUN_AGAIN = "Run again; a Dask cluster goes on with the workers that are left."
_POLL_SECONDS = 1.0


@contextmanager
def explain_failures(way_out: str = _RUN_AGAIN, **parameters: Any) -> Iterator[None]:
    """Turn failures of workers into a one-line ExecutorError; errors of tasks pass unchanged.

    ``way_out`` says what to do when a process of this machine was killed, and may name parameters.
    """
    try:
        yield
    except BrokenExecutor as error:
        raise worker_died_error(error, way_out, **parameters) from error
    except CancelledError as error:
        raise ExecutorError("The tasks were cancelled: the scheduler is lost.") from error
    except Exception as error:
        explanation = _explained_error(error)
        if explanation is None:
            raise
        raise explanation from error


def worker_died_error(
    error: BrokenExecutor, way_out: str = _RUN_AGAIN, **parameters: Any
) -> ExecutorError:
    """Return what to say of a process of this machine that has ended before its task."""
    return ExecutorError(
        f"A worker process died ({type(error).__name__}): the system has killed it, most likely "
        f"because memory ran out. {way_out}",
        **parameters,
    )


@contextmanager
def explain_pool_failure() -> Iterator[None]:
    """Turn a pool that cannot start its processes into a one-line ExecutorError."""
    try:
        yield
    except (OSError, EOFError) as error:  # what starts them was killed, or the system is full
        raise ExecutorError(
            f"The pool cannot start a process ({describe_error(error)}). Make a new pool and run again."
        ) from error


@contextmanager
def explain_lost_scheduler() -> Iterator[None]:
    """Turn a lost scheduler into a one-line ExecutorError."""
    try:
        yield
    except ExecutorError:  # which is a RuntimeError, and says what is wrong
        raise
    except (OSError, AttributeError, RuntimeError) as error:  # the last two of a closed client
        raise _lost_scheduler_error(error) from error


def _lost_scheduler_error(error: Exception) -> ExecutorError:
    return ExecutorError(
        f"The scheduler is lost ({describe_error(error)}). Start it and run again."
    )


def _explained_error(error: Exception) -> ExecutorError | None:
    kind = type(error).__name__
    if kind == "KilledWorker":
        return ExecutorError(
            "Several workers died one after another while running the same task: most likely it "
            "needs more memory than they have. Use more groups or shards, or larger workers."
        )
    if kind in ("FutureCancelledError", "CommClosedError"):
        return _lost_scheduler_error(error)
    if kind == "RuntimeError" and str(error).startswith("cannot open a task"):
        return ExecutorError(f"A worker {error}. Install what it lacks, and {_SAME_VERSION}.")
    lacks_us = isinstance(error, (ImportError, AttributeError)) and "secateurs" in str(error)
    if lacks_us and not isinstance(error, SecateursError):
        return ExecutorError(
            f"A worker cannot run this task ({describe_error(error)}). Install {_SAME_VERSION}."
        )
    return None


class ThreadFlag(threading.Event):
    """A flag that all threads of a process see."""

    __call__ = threading.Event.is_set


@dataclass(frozen=True)
class FileFlag:
    """A flag that all processes of a machine see: raised once its file is gone."""

    path: Path
    owner_pid: int = field(default_factory=os.getpid)  # the process that wants results

    @classmethod
    def create_unset(cls) -> "FileFlag":
        """Return a flag that is not raised."""
        handle, name = tempfile.mkstemp(prefix="secateurs-wanted-")
        os.close(handle)
        return cls(Path(name))

    def set(self) -> None:
        """Raise the flag."""
        self.path.unlink(missing_ok=True)

    def __call__(self) -> bool:
        return not self.path.exists()

    def follow_owner(self) -> None:
        """Let this process end with its owner, which may be killed and then raises no flag."""
        if self.owner_pid not in (os.getpid(), *_followed):
            _followed.add(self.owner_pid)
            threading.Thread(target=self._end_with_owner, daemon=True).start()

    def _end_with_owner(self) -> None:
        _wait_for_process_end(self.owner_pid)
        self.set()
        os._exit(1)


_followed: set[int] = set()


def _wait_for_process_end(process: int) -> None:
    """Return once a process has ended: the parent of this one, or another of the same user."""
    if sys.platform == "win32":
        import _winapi

        handle = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, process)
        _winapi.WaitForSingleObject(handle, _winapi.INFINITE)
        return
    parent = os.getppid()
    try:
        while os.getppid() == parent:
            os.kill(process, 0)  # only asks whether it is there
            time.sleep(_POLL_SECONDS)
    except ProcessLookupError:
        pass


def run_while_wanted(
    flag: Callable[[], bool] | None, function: Callable[..., Any], *args: Any
) -> Any:
    """Run a task that stops once its flag is raised, in a process that ends with the flag's owner.

    For workers; without a flag, the task simply runs.
    """
    if flag is None:
        return function(*args)
    if isinstance(flag, FileFlag):
        flag.follow_owner()
    with stop_when(flag):
        return function(*args)


def is_dask_task_cancelled() -> bool:
    """Whether the client has cancelled the task that runs here."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def is_joblib_local() -> bool:
    """Whether joblib's active backend is this machine; loky maps large arrays by itself."""
    return type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS


@contextmanager
def joblib_stop_flag() -> Iterator[Callable[[], bool] | None]:
    """Yield a flag for tasks that joblib runs, and raise it at the end; None if they are remote."""
    if not is_joblib_local():
        yield None
        return
    flag = FileFlag.create_unset()
    try:
        yield flag
    finally:
        flag.set()
