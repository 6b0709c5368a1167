"""The one seam to executors: threads, processes, Dask, or anything with submit()."""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateurs import __version__
from secateurs._interrupt import interruptible
from secateurs.distributed._limits import limits
from secateurs.exceptions import ExecutorError, InputError, one_line

_POLL_SECONDS = 1.0


class Engine:
    """Where tasks run. This one: any executor of which nothing else is known."""

    shares_memory = False
    is_local = False

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._run = os.urandom(8)
        self._n_held = 0

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    def start(self) -> None:
        """Make sure that somebody is there to work."""

    def submit(self, function: Callable[..., Any], *args: Any, worker: int = 0) -> "Future[Any]":
        """Start a task."""
        task = _Task(__version__, function, self.flag)
        return self.executor.submit(task, *args)

    def hold(self, function: Callable[..., Any], *args: Any, worker: int = 0) -> Any:
        """Name a value that workers make once, keep for later tasks, and make again if lost."""
        self._n_held += 1
        return _Recipe(self._run, self._n_held, function, args)

    @property
    def flag(self) -> "Callable[[], bool] | None":
        """What tells a running task that its result is no longer wanted."""
        return None

    def stop(self) -> None:
        """Raise that flag."""

    def check(self, idle_seconds: float) -> None:
        """Give up if nobody is left to work."""

    def close(self) -> None:
        """Tidy up."""


class InlineEngine(Engine):
    """The calling thread itself."""

    shares_memory = is_local = True
    n_workers = 1

    def __init__(self) -> None:
        super().__init__(_Inline())

    def close(self) -> None:
        """Let go of what was held."""
        _let_go()


class ThreadEngine(Engine):
    """Threads of this process: nothing needs to be sent."""

    shares_memory = is_local = True

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor)
        self._event = threading.Event()

    @property
    def flag(self) -> Callable[[], bool]:
        """What tells a running task that its result is no longer wanted."""
        return self._event.is_set

    def stop(self) -> None:
        """Raise that flag."""
        self._event.set()

    def close(self) -> None:
        """Let go of what was held."""
        _let_go()


class ProcessEngine(Engine):
    """Processes of this machine: votes are shared through a memory map."""

    is_local = True

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor)
        handle, name = tempfile.mkstemp(prefix="secateurs-wanted-")
        os.close(handle)
        self._wanted = Path(name)

    @property
    def flag(self) -> "_FileGone":
        """What tells a running task that its result is no longer wanted."""
        return _FileGone(self._wanted)

    def stop(self) -> None:
        """Raise that flag."""
        self._wanted.unlink(missing_ok=True)

    close = stop


class DaskEngine(Engine):
    """A Dask cluster: lost tasks and values are made again on other workers."""

    def __init__(self, client: Any) -> None:
        super().__init__(client.get_executor(retries=2, pure=False))
        self.client = client
        self._addresses: list[str] = []

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time."""
        return max(1, sum(self.client.nthreads().values()))

    def start(self) -> None:
        """Wait for a first worker."""
        try:
            self.client.wait_for_workers(1, timeout=limits.wait_seconds)
        except TimeoutError:
            raise self._nobody() from None
        self._addresses = sorted(self.client.nthreads())

    def submit(self, function: Callable[..., Any], *args: Any, worker: int = 0) -> "Future[Any]":
        """Start a task."""
        import dask

        task = _Task(__version__, function, _dask_task_is_gone)
        quiet = {"distributed.admin.large-graph-warning-threshold": "1 TB"}  # `limits` says it
        with dask.config.set(quiet):
            return self.executor.submit(task, *args)

    def hold(self, function: Callable[..., Any], *args: Any, worker: int = 0) -> Any:
        """Name a value that one worker keeps; Dask makes it again elsewhere if that is lost."""
        task = _Task(__version__, function, None)
        where = self._addresses[worker % len(self._addresses)]
        return self.client.submit(
            task, *args, workers=[where], allow_other_workers=True, pure=False, retries=2
        )

    def check(self, idle_seconds: float) -> None:
        """Give up if nobody is left to work."""
        if idle_seconds > limits.wait_seconds and not self.client.nthreads():
            raise self._nobody()

    def _nobody(self) -> ExecutorError:
        address = getattr(self.client.scheduler, "address", "tcp://…")
        return ExecutorError(
            f"executor=<Client> has had no workers for {limits.wait_seconds:g} s. "
            f"Start one: dask worker {address}"
        )


def engine_for(executor: Any) -> Engine:
    """Recognise an executor, without importing what is not installed."""
    home = type(executor).__module__.split(".")
    if home[0] == "distributed" and hasattr(executor, "get_executor"):
        return DaskEngine(executor)
    if home[0] == "distributed" and hasattr(executor, "_client"):
        return DaskEngine(executor._client)
    if isinstance(executor, ThreadPoolExecutor):
        return ThreadEngine(executor)
    if isinstance(executor, ProcessPoolExecutor) or "loky" in home:
        return ProcessEngine(executor)
    if isinstance(executor, Executor):
        return Engine(executor)
    raise InputError(
        f"executor={executor!r} is no executor. Give a concurrent.futures.Executor or a Dask "
        "Client, or leave it out."
    )


@contextmanager
def running(engine: Engine) -> Iterator[Engine]:
    """Start an engine, tell its failures in one line, and leave nothing behind."""
    try:
        engine.start()
        yield engine
    except BrokenExecutor as error:
        raise ExecutorError(
            f"A worker process died ({one_line(error)}): killed, or out of memory. Run again; "
            "a Dask cluster goes on with the workers that are left."
        ) from error
    except CancelledError as error:
        raise ExecutorError("The tasks were cancelled: the scheduler is lost.") from error
    except Exception as error:
        explained = _explained(error)
        if explained is None:
            raise
        raise explained from error
    finally:
        engine.close()


def gather(
    engine: Engine,
    futures: "Sequence[Future[Any]]",
    finished: Callable[[int, Any], None] = lambda index, result: None,
) -> list[Any]:
    """Wait for all tasks; on any error or interrupt, cancel those that wait and stop the rest."""
    places = {future: index for index, future in enumerate(futures)}
    results: list[Any] = [None] * len(futures)
    pending = set(futures)
    last = time.monotonic()
    try:
        while pending:
            done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=places.__getitem__):
                results[places[future]] = future.result()
                finished(places[future], future.result())
            if done:
                last = time.monotonic()
            else:
                engine.check(time.monotonic() - last)
    except BaseException:
        engine.stop()
        for future in futures:
            future.cancel()
        raise
    return results


@dataclass(frozen=True)
class _Task:
    """A function for a worker, which checks that both sides speak of the same thing."""

    version: str
    function: Callable[..., Any]
    unwanted: Callable[[], bool] | None

    def __call__(self, *args: Any) -> Any:
        if self.version != __version__:
            raise ExecutorError(
                f"A worker has secateurs {__version__}, this process {self.version}. Install the "
                "same version on all workers."
            )
        made = [_made(arg) if isinstance(arg, _Recipe) else arg for arg in args]
        if self.unwanted is None:
            return self.function(*made)
        with interruptible(self.unwanted):
            return self.function(*made)


@dataclass(frozen=True)
class _FileGone:
    path: Path

    def __call__(self) -> bool:
        return not self.path.exists()


def _dask_task_is_gone() -> bool:
    """Whether the client has cancelled the task that runs here."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


@dataclass(frozen=True)
class _Recipe:
    """A value that each worker process makes for itself, once in a run."""

    run: bytes
    number: int
    function: Callable[..., Any]
    args: tuple[Any, ...]


_held: dict[tuple[bytes, int], Any] = {}
_held_lock = threading.Lock()


def _made(recipe: _Recipe) -> Any:
    key = (recipe.run, recipe.number)
    with _held_lock:
        if key not in _held:
            for old in [other for other in _held if other[0] != recipe.run]:
                del _held[old]
            _held[key] = recipe.function(*recipe.args)
        return _held[key]


def _let_go() -> None:
    with _held_lock:
        _held.clear()


class _Inline(Executor):
    """Does everything at once, in the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def _explained(error: Exception) -> ExecutorError | None:
    """Turn the failures of a cluster into one line; errors of the task itself stay as they are."""
    kind = type(error).__name__
    if kind == "KilledWorker":
        return ExecutorError(
            "A task was on several workers that died, one after another: most likely it needs more "
            "memory than they have. Give more groups or shards, or larger workers."
        )
    if kind in ("FutureCancelledError", "CommClosedError"):
        return ExecutorError(f"The scheduler is lost ({one_line(error)}). Start it and run again.")
    absent = isinstance(error, (ImportError, AttributeError)) and "secateurs" in str(error)
    if absent:
        return ExecutorError(
            f"A worker cannot run this task ({one_line(error)}). Install secateurs {__version__} "
            "on all workers."
        )
    return None
