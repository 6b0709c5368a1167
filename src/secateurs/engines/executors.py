"""The one seam to executors: threads, processes, Dask, or anything with submit()."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from joblib.parallel import get_active_backend

from secateurs import __version__
from secateurs.engines.failures import (
    FileFlag,
    ThreadFlag,
    explain_failures,
    explain_lost_scheduler,
    explain_pool_failure,
    is_dask_task_cancelled,
    run_while_wanted,
)
from secateurs.engines.run_limits import limits
from secateurs.exceptions import ExecutorError, InputError

_POLL_SECONDS = 1.0


@dataclass(eq=False)
class Engine:
    """Where tasks run; by itself it serves any executor of which nothing else is known."""

    executor: Executor
    stop_flag: FileFlag | ThreadFlag | None = None  # raised once results are no longer wanted
    is_local: bool = False  # votes reach workers through a memory map
    has_shared_memory: bool = False  # votes need not be sent at all
    _run_id: bytes = field(default_factory=lambda: os.urandom(8), init=False)
    _n_held_values: int = field(default=0, init=False)
    n_threads = 1  # that a task may use

    @property
    def n_workers(self) -> int:
        """Number of workers; each holds a shard."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    def wait_for_worker(self) -> None:
        """Make sure that there is a worker."""

    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        """Start a task."""
        with explain_pool_failure():
            return self.executor.submit(_Task(__version__, function, self.stop_flag), *args)

    def hold_value(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return a handle of a value that workers make once, keep, and make again if lost."""
        self._n_held_values += 1
        return _ValueRecipe(self._run_id, self._n_held_values, function, args)

    def stop_tasks(self) -> None:
        """Raise the flag."""
        if self.stop_flag is not None:
            self.stop_flag.set()

    def check_workers(self, idle_seconds: float) -> None:
        """Raise an error if no worker is left."""

    def close(self) -> None:
        """Release everything that belongs to the run."""
        self.stop_tasks()
        if self.has_shared_memory:
            with _held_lock:
                _held.clear()


class DaskEngine(Engine):
    """A Dask cluster: lost tasks and values are made again on other workers."""

    def __init__(self, client: Any, **options: Any) -> None:
        self._submit_options = {"retries": 2, **options, "pure": False}
        super().__init__(client.get_executor(**self._submit_options))
        self.client = client
        self._held_futures: list[Any] = []
        self._last_busy_time = time.monotonic()  # when a worker was at work

    @property
    def n_workers(self) -> int:
        """Number of worker processes: each holds a shard, once for all its threads."""
        return max(1, len(self.client.nthreads()))

    @property
    def n_threads(self) -> int:  # type: ignore[override]
        """Number of threads per worker, the smallest if they differ."""
        return min(self.client.nthreads().values(), default=1)

    def wait_for_worker(self) -> None:
        """Wait for a first worker."""
        with explain_lost_scheduler():
            try:
                self.client.wait_for_workers(1, timeout=limits.wait_seconds)
            except TimeoutError:
                raise self._no_workers_error() from None

    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        """Start a task."""
        with _silence_size_warning():
            return self.executor.submit(*_seal_task(function, is_dask_task_cancelled, args))

    def hold_value(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return a handle of a value that one worker keeps, and another makes again if lost.

        Dask deals values to idle workers by itself. It must not be told which: a task for a worker
        that is gone, even with others allowed, is never given to one that comes later.
        """
        with _silence_size_warning():
            held = self.client.submit(*_seal_task(function, None, args), **self._submit_options)
        self._held_futures.append(held)
        return held

    def check_workers(self, idle_seconds: float) -> None:
        """Raise an error if no worker was busy for too long, whatever the scheduler waits for."""
        now = time.monotonic()
        with explain_lost_scheduler():
            known = self.client.scheduler_info(n_workers=-1)
            if "workers" not in known:  # of a client that has closed itself
                raise ConnectionError("the client gave it up")
            workers = known["workers"].values()
            is_busy = any(self.client.processing().values())
        if is_busy and any(worker["status"] == "running" for worker in workers):
            self._last_busy_time = now
        elif min(idle_seconds, now - self._last_busy_time) > limits.wait_seconds:
            raise self._no_workers_error() if not workers else self._stuck_workers_error()

    def close(self) -> None:
        """Release all tasks on the cluster, even if an error's traceback still holds them."""
        for future in [*self._held_futures, *self.executor._futures]:  # type: ignore[attr-defined]
            future.release()

    def _no_workers_error(self) -> ExecutorError:
        address = getattr(self.client.scheduler, "address", "tcp://…")
        return ExecutorError(
            f"{{executor}} has had no workers for {limits.wait_seconds:g} s. "
            f"Start one: dask worker {address}",
            executor=...,
        )

    def _stuck_workers_error(self) -> ExecutorError:
        return ExecutorError(
            f"No worker of {{executor}} has done anything for {limits.wait_seconds:g} s: they are "
            "paused, most likely out of memory, or the scheduler waits for one that is gone. "
            "Give more groups or shards, or larger workers, and run again.",
            executor=...,
        )


def engine_for(executor: Any) -> Engine:
    """Return the engine for an executor, recognised without importing Dask; None works inline."""
    if executor is None:
        return Engine(_InlineExecutor(), is_local=True, has_shared_memory=True)
    home = type(executor).__module__.split(".")
    if home[0] == "distributed" and hasattr(executor, "get_executor"):
        return DaskEngine(executor)
    if home[0] == "distributed" and hasattr(executor, "_client"):
        return DaskEngine(executor._client, **executor._kwargs)
    if isinstance(executor, ThreadPoolExecutor):
        return Engine(executor, ThreadFlag(), is_local=True, has_shared_memory=True)
    if isinstance(executor, ProcessPoolExecutor) or "loky" in home:
        return Engine(executor, FileFlag.create_unset(), is_local=True)
    if isinstance(executor, Executor):
        return Engine(executor)
    raise InputError(
        "{executor} is not a valid executor. Give a concurrent.futures.Executor or a Dask "
        "Client, or leave it out.",
        executor=executor,
    )


def joblib_dask_engine() -> Engine | None:
    """Return the engine for the Dask cluster that joblib's ``parallel_config`` names, if any."""
    backend = get_active_backend()[0]
    if type(backend).__name__ != "DaskDistributedBackend":
        return None
    known = ("workers", "allow_other_workers", "resources", "retries")
    options = {name: backend.submit_kwargs[name] for name in known if name in backend.submit_kwargs}
    return DaskEngine(backend.client, **options)


@contextmanager
def running_engine(engine: Engine) -> Iterator[Engine]:
    """Start an engine, explain its failures in one line, and leave nothing behind."""
    try:
        with explain_failures():
            engine.wait_for_worker()
            yield engine
    finally:
        engine.close()


def gather_results(
    engine: Engine,
    futures: "Sequence[Future[Any]]",
    finished: Callable[[int, Any], None] = lambda index, result: None,
) -> list[Any]:
    """Return the results of all tasks; on an error or interrupt, cancel or stop the others."""
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
                engine.check_workers(time.monotonic() - last)
    except BaseException:
        engine.stop_tasks()
        for future in futures:
            future.cancel()
        raise
    return results


@dataclass(frozen=True)
class _Task:
    """A function for a worker; checks that both sides have the same version."""

    version: str
    function: Callable[..., Any]
    stop_flag: Callable[[], bool] | None

    def __call__(self, *args: Any) -> Any:
        if self.version != __version__:
            raise ExecutorError(
                f"A worker has secateurs {__version__}, this process {self.version}. Install the "
                "same version on all workers."
            )
        made = [_held_value(arg) if isinstance(arg, _ValueRecipe) else arg for arg in args]
        return run_while_wanted(self.stop_flag, self.function, *made)


def _seal_task(
    function: Callable[..., Any], unwanted: Callable[[], bool] | None, args: Sequence[Any]
) -> tuple[Any, ...]:
    """Return a task as a function, bytes for it to unpickle, and held values, which come first.

    Dask unpickles what it sends in the scheduler and in the worker's connection, which breaks if a
    module is missing there. The function that unpickles these bytes is sent whole and needs none.
    """
    from distributed.protocol.pickle import dumps

    from distributed import Future as Held

    def run_sealed(sealed: bytes, *held: Any) -> Any:
        from pickle import loads

        try:
            task, rest = loads(sealed)
        except (ImportError, AttributeError) as error:
            raise RuntimeError(f"cannot open a task ({type(error).__name__}: {error})") from error
        return task(*held, *rest)

    held = [arg for arg in args if isinstance(arg, Held)]
    task = _Task(__version__, function, unwanted)
    return (run_sealed, dumps((task, args[len(held) :])), *held)


def _silence_size_warning() -> Any:
    """Keep Dask from warning about large tasks: `limits` decides what is too large."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})


@dataclass(frozen=True)
class _ValueRecipe:
    """How to make a value; each worker process makes it once per run."""

    run_id: bytes
    number: int
    function: Callable[..., Any]
    args: tuple[Any, ...]


_held: dict[tuple[bytes, int], Any] = {}
_held_lock = threading.Lock()


def _held_value(recipe: _ValueRecipe) -> Any:
    key = (recipe.run_id, recipe.number)
    with _held_lock:
        if key not in _held:
            for old in [other for other in _held if other[0] != recipe.run_id]:
                del _held[old]
            _held[key] = recipe.function(*recipe.args)
        return _held[key]


def _forget_held_values() -> None:
    """Start afresh in a forked child: another thread of the parent may have held the lock."""
    global _held_lock  # noqa: PLW0603
    _held_lock = threading.Lock()
    _held.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forget_held_values)


class _InlineExecutor(Executor):
    """Run each task in the calling thread as it is submitted."""

    _max_workers = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
