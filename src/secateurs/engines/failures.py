"""Errors that explain failures of workers, and flags that stop running tasks."""

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
from typing import TypeVar

from joblib.parallel import get_active_backend

from secateurs import __version__
from secateurs.exceptions import ExecutorError, SecateursError, describe_error
from secateurs.search import stop_when
from secateurs.thread_safety import ForkSafeLock

_SAME_VERSION = f"secateurs {__version__} on all workers"
# The classes are compared by name, so that backends of joblib that are not used are not imported.
_LOCAL_BACKENDS = ("LokyBackend", "MultiprocessingBackend", "ThreadingBackend", "SequentialBackend")
_RUN_AGAIN = "Run again; a Dask cluster goes on with the workers that are left."
_POLL_SECONDS = 1.0  # a worker outlives its owner by at most this; each check is one system call

Result = TypeVar("Result")


@contextmanager
def explain_failures(way_out: str = _RUN_AGAIN, **parameters: object) -> Iterator[None]:
    """Turn failures of workers into a one-line ExecutorError; errors of tasks pass unchanged.

    ``way_out`` is the advice for a killed process of this machine, with ``{name}`` placeholders.
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
    error: BrokenExecutor, way_out: str = _RUN_AGAIN, **parameters: object
) -> ExecutorError:
    """Return the error for a process of this machine that ended before its task."""
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
    except (OSError, EOFError) as error:  # the fork server was killed, or no process is free
        raise ExecutorError(
            f"The pool cannot start a process ({describe_error(error)}). Make a new pool and run "
            "again."
        ) from error


@contextmanager
def explain_lost_scheduler() -> Iterator[None]:
    """Turn a lost scheduler into a one-line ExecutorError."""
    try:
        yield
    except ExecutorError:  # a RuntimeError as well, but already explained
        raise
    except (OSError, AttributeError, RuntimeError) as error:  # a closed client raises the last two
        raise _lost_scheduler_error(error) from error


def _lost_scheduler_error(error: Exception) -> ExecutorError:
    return ExecutorError(
        f"The scheduler is lost ({describe_error(error)}). Start it and run again."
    )


def _explained_error(error: Exception) -> ExecutorError | None:
    """Return the explanation of a failure of a cluster, None for an error of the task itself."""
    kind = type(error).__name__  # recognises Dask's errors without importing Dask
    if kind == "KilledWorker":
        return ExecutorError(
            "Several workers died one after another while running the same task: most likely it "
            "needs more memory than they have. Use more groups or shards, or larger workers."
        )
    if kind in ("FutureCancelledError", "CommClosedError"):
        return _lost_scheduler_error(error)
    if kind == "RuntimeError" and str(error).startswith("cannot open a task"):
        return ExecutorError(f"A worker {error}. Install what it lacks, and {_SAME_VERSION}.")
    lacks_secateurs = isinstance(error, (ImportError, AttributeError)) and "secateurs" in str(error)
    if lacks_secateurs and not isinstance(error, SecateursError):
        return ExecutorError(
            f"A worker cannot run this task ({describe_error(error)}). Install {_SAME_VERSION}."
        )
    return None


class ThreadFlag(threading.Event):
    """A stop flag that all threads of a process see."""

    __call__ = threading.Event.is_set


@dataclass(frozen=True)
class FileFlag:
    """A stop flag that all processes of a machine see; it is set once its file is gone."""

    path: Path
    owner_pid: int = field(default_factory=os.getpid)  # the process that needs the results

    @classmethod
    def create_unset(cls) -> "FileFlag":
        """Return a flag that is not set."""
        handle, name = tempfile.mkstemp(prefix="secateurs-wanted-")
        os.close(handle)
        return cls(Path(name))

    def set(self) -> None:
        """Set the flag."""
        self.path.unlink(missing_ok=True)

    def __call__(self) -> bool:
        """Return whether the flag is set."""
        return not self.path.exists()

    def follow_owner(self) -> None:
        """End this process when the owner ends, because a killed owner cannot set the flag."""
        follower = (os.getpid(), self.owner_pid)
        with _followed_lock:
            if self.owner_pid == os.getpid() or follower in _followed:
                return
            _followed.add(follower)
        threading.Thread(target=self._end_with_owner, daemon=True).start()

    def _end_with_owner(self) -> None:
        _wait_for_process_end(self.owner_pid)
        self.set()
        os._exit(1)


# Processes whose thread already waits for an owner, and the owner: a forked child lacks the thread.
_followed: set[tuple[int, int]] = set()
_followed_lock = ForkSafeLock()


def _wait_for_process_end(process: int) -> None:
    """Return once a process of the same user, or the parent of this process, has ended."""
    if sys.platform == "win32":
        import _winapi

        handle = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, process)
        _winapi.WaitForSingleObject(handle, _winapi.INFINITE)
        return
    parent = os.getppid()
    try:
        while os.getppid() == parent:
            os.kill(process, 0)  # signal 0 only checks that the process exists
            time.sleep(_POLL_SECONDS)
    except ProcessLookupError:
        pass


def run_while_wanted(
    flag: Callable[[], bool] | None, function: Callable[..., Result], *args: object
) -> Result:
    """Run a task on a worker and stop it once its flag is set; without a flag, just run it."""
    if flag is None:
        return function(*args)
    if isinstance(flag, FileFlag):
        flag.follow_owner()
    with stop_when(flag):
        return function(*args)


def is_dask_task_cancelled() -> bool:
    """Return whether the client has cancelled the Dask task that runs in this thread."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def is_joblib_local() -> bool:
    """Return whether joblib's active backend runs tasks on this machine."""
    # No scratch store is needed then: loky maps large arrays into its processes by itself.
    return type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS


@contextmanager
def joblib_stop_flag() -> Iterator[Callable[[], bool] | None]:
    """Yield a flag for tasks of joblib and set it at the end; None if they run elsewhere."""
    if not is_joblib_local():
        yield None
        return
    flag = FileFlag.create_unset()
    try:
        yield flag
    finally:
        flag.set()
