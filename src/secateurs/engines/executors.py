"""Engines: one interface to threads, processes, Dask and any other executor; limits of runs."""

import os
import sys
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
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
from secateurs.exceptions import ExecutorError, InputError
from secateurs.thread_safety import ForkSafeLock, is_forked_child

_POLL_SECONDS = 1.0  # between checks that workers are alive; results wake the client earlier

Result = TypeVar("Result")


@dataclass
class Limits:
    """Limits of distributed runs; set them on ``secateurs.distributed.limits``.

    Attributes
    ----------
    sent_bytes : int, default=50 MB
        Largest size of encoded predictions that are sent from memory to workers on other
        machines. Write larger ones to a `VoteStore` or `PredictionStore` on storage that all
        workers share.
    held_bytes : int, default=4 GB
        Largest size of a store that a pruner loads into memory when it runs in one process. COMEP
        and joint error read a larger store tile by tile in every step.
    keep_seconds : float, default=1
        Seconds between checkpoints of a run on a store. A later run continues from the last
        checkpoint.
    wait_seconds : float, default=30
        Seconds to wait for the first worker, and for a new worker when all are lost.

    Examples
    --------
    >>> from secateurs.distributed import limits
    >>> limits.sent_bytes
    50000000
    """

    sent_bytes: int = 50_000_000
    held_bytes: int = 4_000_000_000
    keep_seconds: float = 1.0
    wait_seconds: float = 30.0


limits = Limits()


@dataclass(eq=False)
class Engine:
    """Runs tasks on an executor; this class makes no assumption about its kind."""

    executor: Executor
    stop_flag: FileFlag | ThreadFlag | None = None  # set once the results are no longer needed
    is_local: bool = False  # workers can map files of this machine
    has_shared_memory: bool = False  # predictions need not be sent at all
    _run_id: bytes = field(default_factory=lambda: os.urandom(8), init=False)
    _n_held_values: int = field(default=0, init=False)
    n_threads = 1  # threads that a task may use

    @property
    def n_workers(self) -> int:
        """Number of workers; each holds one shard."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    def wait_for_worker(self) -> None:
        """Wait until there is a worker; reject the pool of a process that forked this process."""
        if not is_forked_child():
            return
        # No thread of the parent runs in the child, which would wait forever for a task's result.
        threads = set(getattr(self.executor, "_threads", ()))
        threads |= {getattr(self.executor, "_executor_manager_thread", None)} - {None}
        if threads and not any(thread.is_alive() for thread in threads):
            raise _inherited_error()

    def submit(self, function: Callable[..., Result], *args: object) -> "Future[Result]":
        """Submit a task and return its future."""
        with explain_pool_failure():
            return self.executor.submit(_Task(__version__, function, self.stop_flag), *args)

    def hold_value(self, function: Callable[..., object], *args: object) -> object:
        """Return a handle for a value that workers compute once, keep, and recompute if lost."""
        self._n_held_values += 1
        return _ValueRecipe(self._run_id, self._n_held_values, function, args)

    def stop_tasks(self) -> None:
        """Set the stop flag, so that running tasks end early."""
        if self.stop_flag is not None:
            self.stop_flag.set()

    def check_workers(self, idle_seconds: float) -> None:
        """Raise an error if no worker is left; does nothing here."""

    def close(self) -> None:
        """Stop tasks that still run, and release the values held for the run."""
        self.stop_tasks()
        if self.has_shared_memory:
            with _held_lock:
                _held.clear()


class DaskEngine(Engine):
    """Runs tasks on a Dask cluster, which repeats lost tasks on other workers."""

    def __init__(self, client: Any, **options: object) -> None:
        # Dask runs a task that raises twice more before it reports the error. With pure=False each
        # task has a key of its own, so that Dask does not merge equal tasks of two runs.
        self._submit_options = {"retries": 2, **options, "pure": False}
        super().__init__(client.get_executor(**self._submit_options))
        self.client = client
        self._held_futures: list[Any] = []
        self._last_busy_time = time.monotonic()  # when a worker was last seen running a task

    @property
    def n_workers(self) -> int:
        """Number of worker processes; the threads of a process share one shard."""
        return max(1, len(self.client.nthreads()))

    @property
    def n_threads(self) -> int:  # type: ignore[override]
        """Smallest number of threads of a worker."""
        return min(self.client.nthreads().values(), default=1)

    def wait_for_worker(self) -> None:
        """Wait until the cluster has a worker."""
        if is_forked_child():
            answered = threading.Event()
            self.client.loop.add_callback(answered.set)
            if not answered.wait(limits.wait_seconds):
                raise _inherited_error()
        with explain_lost_scheduler():
            try:
                self.client.wait_for_workers(1, timeout=limits.wait_seconds)
            except TimeoutError:
                raise self._no_workers_error() from None

    def submit(self, function: Callable[..., Result], *args: object) -> "Future[Result]":
        """Submit a task and return its future."""
        with _silence_size_warning():
            return self.executor.submit(*_seal_task(function, is_dask_task_cancelled, args))

    def hold_value(self, function: Callable[..., object], *args: object) -> object:
        """Return a future whose value one worker keeps; if lost, another worker recomputes it."""
        # Dask assigns values to idle workers by itself. Do not name a worker here: Dask never
        # moves a task for a worker that is gone to a new worker, even if it allows other workers.
        with _silence_size_warning():
            held = self.client.submit(*_seal_task(function, None, args), **self._submit_options)
        self._held_futures.append(held)
        return held

    def check_workers(self, idle_seconds: float) -> None:
        """Raise an error if no worker was busy for longer than ``limits.wait_seconds``."""
        now = time.monotonic()
        with explain_lost_scheduler():
            scheduler = self.client.scheduler_info(n_workers=-1)
            if "workers" not in scheduler:  # the client has closed itself
                raise ConnectionError("the client gave it up")
            workers = scheduler["workers"].values()
            is_busy = any(self.client.processing().values())
        if is_busy and any(worker["status"] == "running" for worker in workers):
            self._last_busy_time = now
        elif min(idle_seconds, now - self._last_busy_time) > limits.wait_seconds:
            raise self._no_workers_error() if not workers else self._stuck_workers_error()

    def close(self) -> None:
        """Release all tasks on the cluster, even if a traceback still refers to their futures."""
        for future in [*self._held_futures, *self.executor._futures]:  # type: ignore[attr-defined]
            future.release()

    def _no_workers_error(self) -> ExecutorError:
        address = getattr(self.client.scheduler, "address", "tcp://…")
        return ExecutorError(
            f"{{executor}} has had no workers for {limits.wait_seconds:g} s. "
            f"Start a worker: dask worker {address}",
            executor=...,
        )

    def _stuck_workers_error(self) -> ExecutorError:
        return ExecutorError(
            f"No worker of {{executor}} has done anything for {limits.wait_seconds:g} s: they are "
            "paused, most likely out of memory, or the scheduler waits for a worker that is gone. "
            "Use more groups or shards, or larger workers, and run again.",
            executor=...,
        )


def _inherited_error() -> ExecutorError:
    return ExecutorError(
        "{executor} belongs to the process that forked this one, and does not work here. Create "
        "it in this process.",
        executor=...,
    )


def engine_for(executor: Any) -> Engine:
    """Return the engine for an executor; None runs tasks in the calling thread."""
    if executor is None:
        return Engine(_InlineExecutor(), is_local=True, has_shared_memory=True)
    home = type(executor).__module__.split(".")  # recognises Dask without importing it
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
        "{executor} is not a valid executor. Pass a concurrent.futures.Executor or a Dask "
        "Client, or leave it out.",
        executor=executor,
    )


def joblib_dask_engine() -> Engine | None:
    """Return the engine for the Dask cluster of joblib's ``parallel_config``, None without one."""
    backend = get_active_backend()[0]
    if type(backend).__name__ != "DaskDistributedBackend":
        return None
    names = ("workers", "allow_other_workers", "resources", "retries")
    options = {name: backend.submit_kwargs[name] for name in names if name in backend.submit_kwargs}
    return DaskEngine(backend.client, **options)


@contextmanager
def running_engine(engine: Engine) -> Iterator[Engine]:
    """Wait for a worker, turn failures into one-line errors, and close the engine at the end."""
    try:
        with explain_failures():
            engine.wait_for_worker()
            yield engine
    finally:
        engine.close()


def gather_results(
    engine: Engine,
    futures: "Sequence[Future[Result]]",
    finished: Callable[[int, Result], None] = lambda index, result: None,
) -> list[Result]:
    """Return the results of all tasks; on an error or interrupt, cancel or stop the others."""
    indices = {future: index for index, future in enumerate(futures)}
    results: dict[int, Result] = {}
    pending = set(futures)
    last_result_time = time.monotonic()
    try:
        while pending:
            done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=indices.__getitem__):
                results[indices[future]] = future.result()
                finished(indices[future], future.result())
            if done:
                last_result_time = time.monotonic()
            else:
                engine.check_workers(time.monotonic() - last_result_time)
    except BaseException:
        engine.stop_tasks()
        for future in futures:
            future.cancel()
        raise
    return [results[indices[future]] for future in futures]


@dataclass(frozen=True)
class _Task:
    """A function for a worker, which checks that client and worker have the same version."""

    version: str
    function: Callable[..., Any]
    stop_flag: Callable[[], bool] | None

    def __call__(self, *args: object) -> Any:
        if self.version != __version__:
            raise ExecutorError(
                f"A worker has secateurs {__version__}, this process {self.version}. Install the "
                "same version on all workers."
            )
        values = [_held_value(arg) if isinstance(arg, _ValueRecipe) else arg for arg in args]
        return run_while_wanted(self.stop_flag, self.function, *values)


def _seal_task(
    function: Callable[..., object], stop_flag: Callable[[], bool] | None, args: Sequence[object]
) -> tuple[Any, ...]:
    """Return a function, the pickled task that it opens, and the held values among ``args``."""
    # Dask unpickles messages in the scheduler and in the worker's connection, which breaks if a
    # module is missing there. The nested function is pickled by value and needs no module.
    from distributed.protocol.pickle import dumps

    from distributed import Future as Held

    def run_sealed(sealed: bytes, *held: object) -> object:
        from pickle import loads

        try:
            task, rest = loads(sealed)
        except (ImportError, AttributeError) as error:
            raise RuntimeError(f"cannot open a task ({type(error).__name__}: {error})") from error
        return task(*held, *rest)

    held = [arg for arg in args if isinstance(arg, Held)]
    task = _Task(__version__, function, stop_flag)
    return (run_sealed, dumps((task, args[len(held) :])), *held)


def _silence_size_warning() -> AbstractContextManager[object]:
    """Keep Dask from warning about large tasks, since `limits` sets the largest size."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})


@dataclass(frozen=True)
class _ValueRecipe:
    """How to compute a value; each worker process computes it once per run."""

    run_id: bytes
    number: int
    function: Callable[..., object]
    args: tuple[object, ...]


_held: dict[tuple[bytes, int], object] = {}
_held_lock = ForkSafeLock()


def _held_value(recipe: _ValueRecipe) -> object:
    """Return a value from the process's cache, or compute it; values of other runs are dropped."""
    key = (recipe.run_id, recipe.number)
    with _held_lock:
        if key not in _held:
            for old_key in [held_key for held_key in _held if held_key[0] != recipe.run_id]:
                del _held[old_key]
            _held[key] = recipe.function(*recipe.args)
        return _held[key]


def _forget_parent_workers() -> None:
    """Forget what belongs to the parent's runs: a forked child has neither threads nor workers."""
    _held.clear()
    # joblib would wait for the workers of the parent, whose threads do not exist in the child.
    loky: Any = sys.modules.get("joblib.externals.loky.reusable_executor")
    if loky is not None:
        loky._executor, loky._executor_lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_parent_workers)


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
