"""State of the process that threads and forked children share: locks, and recorded warnings."""

import _imp
import importlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Protocol, TextIO, TypeAlias

from secateurs.exceptions import InputError

# A module whose import forks in a second thread and waits for that thread would never be imported.
_MOST_IMPORT_SECONDS = 10.0
_POLARS_SECONDS = 5.0  # for four numbers, which take microseconds


class ForkSafeLock:
    """A lock that is free in a forked child, where the thread that held it does not exist."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        self._acquired = lock  # still the one to release if this thread forks meanwhile

    def __exit__(self, *_: object) -> None:
        self._acquired.release()


def _renew_property_locks() -> None:
    """Give the cached properties of the package and of numba new locks, which no thread holds.

    In Python 3.11, a cached property has one lock for all objects of its class. A child that was
    forked while another thread computed the property would wait for it forever.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in {"secateurs", "numba"}:
            for value in list(vars(module).values()):
                for attribute in vars(value).values() if isinstance(value, type) else ():
                    if isinstance(attribute, cached_property) and hasattr(attribute, "lock"):
                        vars(attribute)["lock"] = threading.RLock()


class _Lock(Protocol):
    def acquire(self) -> object: ...
    def release(self) -> object: ...


_held_over_forks: list[_Lock] = []


def hold_over_forks(lock: _Lock) -> None:
    """Let forks wait until a lock is free, so that no child inherits it in the locked state."""
    _held_over_forks.append(lock)


def _acquire_before_fork() -> None:
    """Acquire the locks, and wait until no other thread imports a module.

    A child would wait forever for the end of an import that a thread of its parent had begun.
    """
    end = time.monotonic() + _MOST_IMPORT_SECONDS
    while True:
        for lock in _held_over_forks:
            lock.acquire()
        _imp.acquire_lock()  # no thread can begin an import
        if not _is_importing_elsewhere() or time.monotonic() > end:
            return
        _release_after_fork()  # the import may need any of the locks
        time.sleep(0.001)


def _is_importing_elsewhere() -> bool:
    """Return whether another thread imports a module, or has fetched the lock to do so."""
    bootstrap: Any = vars(importlib)["_bootstrap"]
    locks = [reference() for reference in list(bootstrap._module_locks.values())]
    return any(lock is not None and lock.owner != threading.get_ident() for lock in locks)


def _release_after_fork() -> None:
    _imp.release_lock()
    for lock in reversed(_held_over_forks):
        lock.release()


_forked_thread: int | None = None  # in a forked child, until its number of threads is limited


_is_forked_child = False


def _note_fork() -> None:
    global _forked_thread, _is_forked_child
    _forked_thread, _is_forked_child = threading.get_ident(), True


def is_forked_child() -> bool:
    """Return whether this process was forked after secateurs was imported."""
    return _is_forked_child


def reject_polars_after_fork(samples: object) -> None:
    """Reject a polars frame in a forked child where the threads of polars do not exist.

    Conversions of a frame would wait forever for these threads. They exist if polars was first used
    in the child.
    """
    if not _is_forked_child or type(samples).__module__.partition(".")[0] != "polars":
        return
    small_frame: Any = vars(sys.modules["polars"])["DataFrame"]({"a": [1, 2], "b": [3, 4]})
    probe = threading.Thread(target=small_frame.to_numpy, daemon=True)
    probe.start()
    probe.join(_POLARS_SECONDS)
    if probe.is_alive():
        raise InputError(
            "polars does not work in this process, which was forked after polars was used. Pass "
            "NumPy arrays or pandas frames, or start processes with the method 'spawn'."
        )


def limit_threads_after_fork() -> None:
    """Let the thread that forked use one thread of OpenMP from now on.

    The threads of OpenMP do not exist in a forked child, but GNU's implementation waits for them:
    predictions of gradient boosting would never end.
    """
    global _forked_thread  # noqa: PLW0603
    if _forked_thread != threading.get_ident():  # other threads get new threads of OpenMP
        return
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="openmp")
    if (lightgbm := sys.modules.get("lightgbm.basic")) is not None:  # has its own number of threads
        vars(lightgbm)["_LIB"].LGBM_SetMaxThreads(1)
    _forked_thread = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_acquire_before_fork,
        after_in_parent=_release_after_fork,
        after_in_child=_release_after_fork,
    )
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew_property_locks)
    os.register_at_fork(after_in_child=_note_fork)


# Held while NumPy reads an array from a file. It parses the header with `ast`, and in Python 3.11
# all threads share the recursion depth of `ast`: a switch of threads can end in "SystemError: AST
# constructor recursion depth mismatch".
array_header_lock = ForkSafeLock()


class SharedContext:
    """A context for all threads of the process: entered by the first thread, left by the last.

    If each of several threads saved and restored the state itself, a thread that enters second and
    leaves last would restore the changed state, for the rest of the process.
    """

    def __init__(self, make_context: Callable[[], AbstractContextManager[object]]) -> None:
        self._make_context = make_context
        self._lock, self._n_inside = ForkSafeLock(), 0
        self._entered: AbstractContextManager[object] = nullcontext()
        self._own = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_other_threads)

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._entered = self._make_context()
                self._entered.__enter__()
            self._n_inside += 1
        self._own.n_inside = getattr(self._own, "n_inside", 0) + 1

    def __exit__(self, *_: object) -> None:
        self._own.n_inside -= 1
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._entered.__exit__(None, None, None)

    def _forget_other_threads(self) -> None:
        """Leave the context in a forked child, unless the thread that forked is inside."""
        was_inside, self._n_inside = self._n_inside, getattr(self._own, "n_inside", 0)
        if was_inside and not self._n_inside:
            self._entered.__exit__(None, None, None)


@contextmanager
def _limit_blas() -> Iterator[None]:
    """Let BLAS use one thread, and restore its limit in whichever thread leaves the context."""
    from threadpoolctl import ThreadpoolController

    pools = ThreadpoolController().select(user_api="blas")
    # Threadpoolctl 3.8 lets one living thread change OpenBLAS: the one that did so first.
    limit = _call_in_new_thread(lambda: pools.limit(limits=1))
    is_ignored = any(pool["num_threads"] > 1 for pool in pools.info())
    try:
        with pools.limit(limits=1) if is_ignored else nullcontext():
            yield
    finally:
        _call_in_new_thread(limit.restore_original_limits)


def _call_in_new_thread(function: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


_one_blas_thread = SharedContext(_limit_blas)


@contextmanager
def limit_libraries_to_one_thread() -> Iterator[None]:
    """Let BLAS and OpenMP use one thread, so that rounding does not depend on the number of cores.

    All threads of the process share the limit of BLAS; each has its own limit of OpenMP.
    """
    from threadpoolctl import ThreadpoolController

    with _one_blas_thread, ThreadpoolController().select(user_api="openmp").limit(limits=1):
        yield


# The warnings that the current thread records; None if it shows them as usual.
_recorded: ContextVar[list[Warning] | None] = ContextVar("recorded warnings", default=None)


@contextmanager
def record_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of this thread in a list instead of showing them.

    ``warnings.catch_warnings`` changes the filters of all threads. Threads that use it at the same
    time record each other's warnings, and can leave the wrong filters behind.
    """
    recorded: list[Warning] = []
    with _sorted_by_thread:
        token = _recorded.set(recorded)
        try:
            yield recorded
        finally:
            _recorded.reset(token)


@contextmanager
def _sort_warnings_by_thread() -> Iterator[None]:
    """Pass each warning to the list of its thread, or handle it as the user's filters do."""
    with warnings.catch_warnings():
        # The wrong filters are active if another library's catch_warnings ended too late.
        if warnings.showwarning is not _receive_warning:
            _usual[:] = [(list(warnings.filters), warnings.showwarning)]
        warnings.simplefilter("always")
        warnings.showwarning = _receive_warning
        yield


# Action, pattern of the message, category, pattern of the module, and line.
_Filter: TypeAlias = tuple[Any, Any, Any, Any, Any]
_usual: list[tuple[list[_Filter], Callable[..., object]]] = []  # the user's filters and display
_sorted_by_thread = SharedContext(_sort_warnings_by_thread)
# Threads of scikit-learn 1.9 that predict with ``n_jobs`` replace the filters of the process at the
# same time and can leave an empty list, until a context restores them. Each prediction then warns.
_FILTERS_LOST = "`sklearn.utils.parallel.delayed` should be used with"


def _receive_warning(  # noqa: PLR0917 (as warnings.showwarning)
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    recorded = _recorded.get()
    warning = message if isinstance(message, Warning) else category(message)
    if recorded is not None:
        recorded.append(warning)
        return
    if str(message).startswith(_FILTERS_LOST):
        return
    ((filters, show),) = _usual
    action = _usual_action(filters, str(message), category, lineno)
    if action == "error":
        raise warning
    if action != "ignore":
        show(message, category, filename, lineno, file, line)


def _usual_action(filters: list[_Filter], text: str, category: type[Warning], lineno: int) -> str:
    """Return the action of the first filter that matches a warning."""
    for action, pattern, kind, module, line in filters:
        is_match = pattern is None or pattern.match(text)
        # The name of the module is not known here, so its filters do not apply.
        if is_match and module is None and issubclass(category, kind) and line in (0, lineno):
            return action
    return "default"
