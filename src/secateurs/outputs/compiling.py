"""Compilation of kernels: at their first call, with a cache on disk where a folder is writable.

A kernel is compiled for each combination of types, so a process that uses another method, or other
data, may compile again. ``secateurs warm`` compiles all kernels. The logger "secateurs" reports a
long compilation once per process.
"""

import gc
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numba import njit
from numba.core import caching, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock

from secateurs.thread_safety import hold_over_forks

P = ParamSpec("P")
R = TypeVar("R")

if sys.platform != "win32":
    import fcntl

_LOCK_FILE = "secateurs.lock"
# Kernels are called from Python and from other kernels only. Without a wrapper for C, compiling the
# kernels of a plain `prune` takes a tenth less.
_OPTIONS: Any = {"nogil": True, "no_cfunc_wrapper": True}
_LONG_SECONDS = 1.0  # shorter delays are hardly noticed, so they are not reported
_CACHED_MESSAGE = (
    "secateurs: compiling for this machine, which takes a few seconds. The results are cached on "
    "disk: later runs compile only what other methods or kinds of data need. To compile everything "
    "now, run: secateurs warm"
)
_UNCACHED_MESSAGE = (
    "secateurs: compiling, which takes a few seconds in every new process, because no folder is "
    "writable to cache the results. Set NUMBA_CACHE_DIR to a writable folder. Or run `secateurs "
    "warm` once, as a user who may write to the installed package."
)


class _CompileListener(event.Listener):
    """Adds up the time to compile or load our kernels, and logs a message if it is long.

    Numba calls it while holding its own lock, also for kernels that other kernels call.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_cached = True  # whether compiled kernels are cached on disk
        self.n_compiled = 0  # combinations of kernels and types
        self.is_reporting = True
        self._depth, self._start, self._has_warned = 0, 0.0, False
        self._has_paused_collector = False

    def on_start(self, event: event.Event) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""  # None in code that exec runs
        if self._depth or module.startswith("secateurs."):
            self.start_timer()
            self.n_compiled += self._depth == 1
            self._warn_once()

    def on_end(self, event: object) -> None:
        if self._depth:
            self.stop_timer()

    def start_timer(self) -> None:
        if self._depth == 0:
            self._start = time.perf_counter()
            # Numba allocates many objects. The garbage collector, which then searches all objects
            # of the process, took a seventh of the first plain `prune`.
            self._has_paused_collector = gc.isenabled()
            gc.disable()
        self._depth += 1

    def stop_timer(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start
            if self._has_paused_collector:
                gc.enable()

    def _warn_once(self) -> None:
        if self._has_warned or not self.is_reporting:
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
hold_over_forks(global_compiler_lock)
# A thread that draws many numbers holds the first lock, a thread that starts a process of
# multiprocessing the second.
hold_over_forks(vars(np.random)["get_bit_generator"]().lock)
hold_over_forks(vars(resource_tracker)["_resource_tracker"]._lock)


class _KernelCache(FunctionCache):
    """A cache on disk that treats a full disk or a deleted folder as a cache miss.

    Numba reads the index of a kernel, adds a line, and writes the index and the compiled code. If
    two processes do so at the same time, one line is lost, or names the code of another line. A
    lock prevents this.
    """

    def load_overload(self, sig: object, target_context: object) -> object:
        _LISTENER.start_timer()
        try:
            with _folder_lock(self._cache_path, is_shared=True):
                return super().load_overload(sig, target_context)
        except OSError:
            _LISTENER.is_cached = False
            return None
        finally:
            _LISTENER.stop_timer()

    def save_overload(self, sig: object, data: object) -> None:
        try:
            with _folder_lock(self._cache_path, is_shared=False):
                super().save_overload(sig, data)
        except OSError:
            _LISTENER.is_cached = False


@contextmanager
def _folder_lock(folder: str, is_shared: bool) -> Iterator[None]:
    """Hold the lock of a cache folder, if the folder and the system have locks."""
    with ExitStack() as stack:
        with suppress(OSError):
            mode = "rb" if is_shared else "ab"
            handle = stack.enter_context(open(os.path.join(folder, _LOCK_FILE), mode))
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)
        yield


def _find_locator(name: str) -> Any:
    """Return a class of numba's caches; in numba 0.60, its name starts with an underscore."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


_InTreeLocator: Any = _find_locator("InTreeCacheLocator")
_ProvidedLocator: Any = _find_locator("UserProvidedCacheLocator")


class _InstalledLocator(_InTreeLocator):
    """The cache beside the source, as ``secateurs warm`` filled it; it need not be writable."""

    def ensure_cache_path(self) -> None:
        if not os.path.isdir(self.get_cache_path()):
            raise FileNotFoundError(self.get_cache_path())


class _UserProvidedLocator(_ProvidedLocator):
    """The folder ``NUMBA_CACHE_DIR``; it need not be writable."""

    ensure_cache_path = _InstalledLocator.ensure_cache_path


class _InstalledCacheImpl(CompileResultCacheImpl):
    _locator_classes: Any = (_UserProvidedLocator, _InstalledLocator)


class _InstalledCache(_KernelCache):
    """Compiled kernels in a folder that is read only."""

    _impl_class: Any = _InstalledCacheImpl

    def save_overload(self, sig: object, data: object) -> None:
        """Save nothing."""


class _LayeredCache(_KernelCache):
    """A writable cache; kernels that it lacks are looked up in the installed cache."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        installed = _installed_cache(function)
        is_other = installed is not None and installed.cache_path != self.cache_path
        self._installed = installed if is_other else None

    def load_overload(self, sig: object, target_context: object) -> object:
        loaded = super().load_overload(sig, target_context)
        if loaded is None and self._installed is not None:
            loaded = self._installed.load_overload(sig, target_context)
        return loaded


def _installed_cache(function: Callable[..., object]) -> _InstalledCache | None:
    with suppress(RuntimeError):  # there is none
        return _InstalledCache(function)
    return None


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; it releases the GIL and is cached on disk if possible.

    Numba caches it beside the source, in the user's cache, or in ``NUMBA_CACHE_DIR``. If none of
    these is writable, each process compiles the function again, unless ``secateurs warm`` did so
    when the package was installed.
    """
    compiled: Any = njit(**_OPTIONS)(function)
    if compiled is not function:  # with NUMBA_DISABLE_JIT=1, njit returns the function itself
        try:
            compiled._cache = _LayeredCache(function)
        except RuntimeError:  # Numba found no writable folder: "no locator available"
            _LISTENER.is_cached = False
            if (installed := _installed_cache(function)) is not None:
                compiled._cache = installed
    return compiled


def cache_folder() -> str | None:
    """Return the folder in which new kernels are cached; None if no folder is writable."""
    try:
        return str(_KernelCache(start_stopwatch).cache_path)
    except RuntimeError:  # "no locator available"
        return None


@contextmanager
def count_compilations() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the kernels compiled so far; a delay is not reported."""
    n_before, _LISTENER.is_reporting = _LISTENER.n_compiled, False
    try:
        yield lambda: _LISTENER.n_compiled - n_before
    finally:
        _LISTENER.is_reporting = True


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
