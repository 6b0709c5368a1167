"""Progress of long work: reported to a callback, or shown as a bar in a terminal or notebook.

Work inside `watch_progress` consists of stages, such as collecting votes, which count their steps.
A stage inside another stage reports nothing: a comparison shows the number of selections made, not
the progress of each. The bar appears after two seconds and is removed at the end.
"""

import html
import math
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from IPython.display import DisplayHandle
    from rich.progress import Progress

# Called with the steps done, their total number and the best value so far.
ProgressCallback: TypeAlias = Callable[[int, int, float | None], object]

SHOWN_AFTER = 2.0  # seconds without a bar: most calls are shorter, and a flashing bar distracts
_EVERY = 0.2  # seconds between updates of the bar: smooth to the eye, and almost free
_UNATTENDED = ("CI", "PYTEST_CURRENT_TEST")  # environment variables of unattended runs
_OFF = ("0", "off", "false", "no")


class ProgressState(NamedTuple):
    """The progress of a stage, as it is shown."""

    label: str
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    seconds_left: float | None = None

    def __str__(self) -> str:
        steps = "" if self.total is None else f"{self.done:,} of {self.total:,}"
        return steps + _format_seconds_left(self.seconds_left)


class ProgressDisplay(Protocol):
    """A place where progress is shown."""

    def show(self, state: ProgressState) -> None:
        """Show the progress."""

    def close(self) -> None:
        """Remove the display."""


class ProgressWatch:
    """Reports each step to a callback, and the current state to a display on `refresh_display`."""

    def __init__(
        self,
        callback: ProgressCallback | None = None,
        display: ProgressDisplay | None = None,
        label: str = "working",  # shown outside stages
        clock: Callable[[], float] = time.monotonic,  # returns seconds
    ) -> None:
        self.callback, self.display, self.label = callback, display, label
        self.stage: ProgressStage | None = None
        self._clock, self._start = clock, clock()
        self.state = ProgressState(label)

    def report_progress(
        self, done: int, total: int, best: float | None = None, seconds_left: float | None = None
    ) -> None:
        """Store the progress and report it to the callback."""
        self.state = self.state._replace(done=done, total=total, seconds_left=seconds_left)
        if self.callback is not None:
            self.callback(done, total, best)

    def refresh_display(self) -> None:
        """Show the progress if the work has taken long enough."""
        seconds = self._clock() - self._start
        if self.display is not None and seconds >= SHOWN_AFTER:
            self.display.show(self.state._replace(seconds=seconds))


class ProgressStage:
    """Steps of one kind; without a watch, as inside another stage, nothing is reported."""

    def __init__(self, watch: ProgressWatch | None, total: int | None = None) -> None:
        self._watch, self._total, self._lock = watch, total, threading.Lock()
        self.done = 0

    @property
    def has_callback(self) -> bool:
        """Whether progress is reported to a callback."""
        return self._watch is not None and self._watch.callback is not None

    def step(self) -> None:
        """Report that one more step is done; safe in threads."""
        with self._lock:
            self.report_progress(self.done + 1, self._total or 0)

    def report_progress(self, done: int, total: int, best: float | None = None) -> None:
        """Report the number of steps done."""
        self.done = done
        if self._watch is not None:
            self._watch.report_progress(done, total, best)


_watch: ContextVar[ProgressWatch | None] = ContextVar("watch", default=None)
_stage: ContextVar[ProgressStage | None] = ContextVar("stage", default=None)


def _forget_stages() -> None:
    """Report nothing from a forked child, which must not use the parent's display and locks."""
    _watch.set(None)
    _stage.set(None)


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forget_stages)


@contextmanager
def watch_progress(
    callback: ProgressCallback | None = None,
    display: ProgressDisplay | None = None,
    label: str | None = None,
) -> Iterator[ProgressWatch]:
    """Report progress inside this context to a callback, or show it in a terminal or notebook.

    Without arguments, a nested context uses the watch of the outer context.
    """
    outer = _watch.get()
    if callback is None and display is None and label is None:
        if outer is not None:
            yield outer
            return
        display = _default_display()
    watch = ProgressWatch(callback, display, label or "working")
    watch_token, stage_token = _watch.set(watch), _stage.set(None)
    try:
        with _refreshing_display(watch):
            yield watch
    finally:
        _watch.reset(watch_token)
        _stage.reset(stage_token)


@contextmanager
def open_stage(label: str, total: int | None = None) -> Iterator[ProgressStage]:
    """Count steps of one kind, with `ProgressStage.step` or calls of `report_progress` inside."""
    with watch_progress() as watch:
        is_nested = _stage.get() is not None
        stage = ProgressStage(None if is_nested else watch, total)
        token = _stage.set(stage)
        previous_state = watch.state
        if not is_nested:
            watch.state = ProgressState(label, 0, total)
        try:
            yield stage
        finally:
            _stage.reset(token)
            if not is_nested:
                watch.state = previous_state


def current_stage() -> ProgressStage:
    """Return the current stage, or a stage that reports nothing."""
    return _stage.get() or ProgressStage(None)


def report_progress(done: int, total: int, best: float | None = None) -> None:
    """Report the number of steps of the current stage that are done, and the best value so far."""
    current_stage().report_progress(done, total, best)


@contextmanager
def _refreshing_display(watch: ProgressWatch) -> Iterator[None]:
    """Refresh the display from a thread, since a step may take minutes; close it at the end."""
    if watch.display is None:
        yield
        return
    finished = threading.Event()

    def refresh_repeatedly() -> None:
        while not finished.wait(_EVERY):
            watch.refresh_display()

    refresher = threading.Thread(target=refresh_repeatedly, daemon=True)
    refresher.start()
    try:
        yield
    finally:
        finished.set()
        refresher.join()
        watch.display.close()


def _default_display() -> ProgressDisplay | None:
    """Return a bar for a terminal or notebook; None in scripts, threads and worker processes."""
    if is_disabled():
        return None
    if any(name in os.environ for name in _UNATTENDED):
        return None
    if threading.current_thread() is not threading.main_thread():
        return None
    if multiprocessing.current_process().name != "MainProcess":  # a worker
        return None
    if _is_notebook():
        return NotebookBar()
    return TerminalBar() if is_terminal() else None


def is_disabled() -> bool:
    """Whether the environment variable ``SECATEURS_PROGRESS`` turns bars off."""
    return os.environ.get("SECATEURS_PROGRESS", "").lower() in _OFF


def is_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)


class TerminalBar:
    """A bar at the bottom of a terminal, on stderr."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def show(self, state: ProgressState) -> None:
        """Draw the bar below printed lines."""
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            label, steps = TextColumn("{task.description}"), TextColumn("{task.fields[steps]}")
            columns = (SpinnerColumn(), label, BarColumn(), Elapsed(), steps)
            console = Console(stderr=True)
            self._bar = Progress(*columns, console=console, transient=True, auto_refresh=False)
            self._bar.add_task("", total=None, steps="")
            # The bar appears late; the time that it shows starts with the work.
            self._bar.tasks[0].start_time = self._bar.get_time() - state.seconds
            self._bar.start()
        (task,) = self._bar.task_ids
        self._bar.update(
            task, description=state.label, completed=state.done, total=state.total, steps=str(state)
        )
        self._bar.refresh()

    def close(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class NotebookBar:
    """A bar below the cell of a notebook."""

    def __init__(self) -> None:
        self._shown: DisplayHandle | None = None

    def show(self, state: ProgressState) -> None:
        """Draw the bar, or replace the one that is shown."""
        from IPython.display import HTML, display

        size = "" if state.total is None else f' value="{state.done}" max="{state.total}"'
        description = f"{state.label} {state}".strip()
        text = html.escape(f"{description}, {state.seconds:.0f} s")
        bar = HTML(f"<progress{size}></progress> {text}")
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)

    def close(self) -> None:
        """Replace the bar with an empty line of output."""
        if self._shown is not None:
            from IPython.display import HTML

            self._shown.update(HTML(""))
            self._shown = None


def _format_seconds_left(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f", about {minutes} min left" if minutes > 1 else f", about {60 * minutes + rest} s left"
