"""How kernels are compiled: at their first call, and kept on disk where a folder can be written to.

What a person should know of it is logged by the logger "secateurs", once in a process.
"""

import logging
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

_LONG = 1.0  # seconds of compiling that are worth a line
_TAKES_TIME = (
    "secateurs: compiling for this machine, which takes a few seconds. The results are kept on "
    "disk: the next run starts at once."
)
_NOT_KEPT = (
    "secateurs: compiling, which takes a few seconds in every new process: there is no folder to "
    "keep the results in. Set NUMBA_CACHE_DIR to a folder that can be written to."
)


class _CompileListener(event.Listener):
    """Adds up the seconds that our kernels take to compile or to load, and says if it is long.

    Numba calls it under its own lock, for kernels inside of kernels as well.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_cached = True  # whether compiled kernels are kept on disk
        self._depth, self._start, self._has_warned = 0, 0.0, False

    def on_start(self, event: Any) -> None:
        if self._depth or event.data["dispatcher"].py_func.__module__.startswith("secateurs."):
            self.start_timer()
            self._warn_once()

    def on_end(self, event: Any) -> None:
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
        if self.is_cached and self.seconds + time.perf_counter() - self._start < _LONG:
            return
        self._has_warned = True
        if multiprocessing.current_process().name == "MainProcess":  # not in each worker
            logging.getLogger("secateurs").warning(_TAKES_TIME if self.is_cached else _NOT_KEPT)


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
    """Kernels on disk; a disk that is full, or a folder that is gone, costs time alone."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _LISTENER.start_timer()
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            _LISTENER.is_cached = False
            return None
        finally:
            _LISTENER.stop_timer()

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            _LISTENER.is_cached = False


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call; it releases the GIL, and is kept on disk if possible.

    Numba keeps it beside the source, in the user's cache, or in ``NUMBA_CACHE_DIR``. Where none of
    these can be written to, each process compiles for itself.
    """
    compiled: Any = njit(nogil=True)(function)
    if compiled is not function:  # which it is with NUMBA_DISABLE_JIT=1
        try:
            compiled._cache = _KernelCache(function)
        except RuntimeError:  # no locator available
            _LISTENER.is_cached = False
    return compiled


def compiling_seconds() -> float:
    """Return the seconds that kernels have taken to compile or to load so far."""
    return _LISTENER.seconds


def start_stopwatch() -> Callable[[], float]:
    """Return a function that returns the seconds since now, without those of compiling."""

    def seconds_without_compiling() -> float:
        return time.perf_counter() - _LISTENER.seconds

    start = seconds_without_compiling()
    return lambda: seconds_without_compiling() - start
