"""Compilation of kernels: at their first call, with a cache on disk where a folder is writable.

The logger "secateurs" reports a long compilation once per process.
"""

import logging
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

P = ParamSpec("P")
R = TypeVar("R")

# Kernels are called from Python and from other kernels only. Without a wrapper for C, compiling the
# kernels of a plain `prune` takes a tenth less.
_OPTIONS: Any = {"nogil": True, "no_cfunc_wrapper": True}
_LONG_SECONDS = 1.0  # shorter delays are hardly noticed, so they are not reported
_CACHED_MESSAGE = (
    "secateurs: compiling for this machine, which takes a few seconds. The results are cached on "
    "disk, so that the next run starts without this delay."
)
_UNCACHED_MESSAGE = (
    "secateurs: compiling, which takes a few seconds in every new process, because no folder is "
    "writable to cache the results. Set NUMBA_CACHE_DIR to a writable folder."
)


class _CompileListener(event.Listener):
    """Adds up the time to compile or load our kernels, and logs a message if it is long.

    Numba calls it while holding its own lock, also for kernels that other kernels call.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_cached = True  # whether compiled kernels are cached on disk
        self._depth, self._start, self._has_warned = 0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        if self._depth or event.data["dispatcher"].py_func.__module__.startswith("secateurs."):
            self.start_timer()
            self._warn_once()

    def on_end(self, event: object) -> None:
        if self._depth:
            self.stop_timer()

    def start_timer(self) -> None:
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def stop_timer(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start

    def _warn_once(self) -> None:
        if self._has_warned:
            return
        if self.is_cached and self.seconds + time.perf_counter() - self._start < _LONG_SECONDS:
            return
        self._has_warned = True
        if multiprocessing.current_process().name == "MainProcess":  # not in each worker
            message = _CACHED_MESSAGE if self.is_cached else _UNCACHED_MESSAGE
            logging.getLogger("secateurs").warning(message)


_LISTENER = _CompileListener()
event.register("numba:compile", _LISTENER)

# A child that is forked while another thread compiles would inherit numba's lock in the locked
# state and wait for it forever at its first kernel. So a fork waits until the compilation is over.
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


class _KernelCache(FunctionCache):
    """A cache on disk that treats a full disk or a deleted folder as a cache miss."""

    def load_overload(self, sig: object, target_context: object) -> object:
        _LISTENER.start_timer()
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            _LISTENER.is_cached = False
            return None
        finally:
            _LISTENER.stop_timer()

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            _LISTENER.is_cached = False


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; it releases the GIL and is cached on disk if possible.

    Numba caches it beside the source, in the user's cache, or in ``NUMBA_CACHE_DIR``. If none of
    these is writable, each process compiles the function again.
    """
    compiled: Any = njit(**_OPTIONS)(function)
    if compiled is not function:  # with NUMBA_DISABLE_JIT=1, njit returns the function itself
        try:
            compiled._cache = _KernelCache(function)
        except RuntimeError:  # Numba found no writable folder: "no locator available"
            _LISTENER.is_cached = False
    return compiled


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function part of the kernels that call it, which saves compiling it on its own."""
    return njit(inline="always")(function)


def compiling_seconds() -> float:
    """Return the seconds spent so far on compiling and loading kernels."""
    return _LISTENER.seconds


def start_stopwatch() -> Callable[[], float]:
    """Return a function that returns the elapsed seconds, excluding compilation."""

    def seconds_without_compiling() -> float:
        return time.perf_counter() - _LISTENER.seconds

    start = seconds_without_compiling()
    return lambda: seconds_without_compiling() - start
