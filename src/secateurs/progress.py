"""Progress of long work: told to a callback, and shown to a person who looks.

What runs inside of `watch_progress` is made of stages, such as collecting votes, which count their steps.
A stage inside another one is silent: of a comparison one sees how many choices are made, not how
far each is. After two seconds a bar appears in a terminal or notebook, and goes away at the end.
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
from typing import Any, NamedTuple, Protocol

ProgressCallback = Callable[
    [int, int, float | None], object
]  # steps done, in total, the best value so far

SHOWN_AFTER = 2.0  # seconds
_EVERY = 0.2  # seconds between looks at how far it is
_UNATTENDED = ("CI", "PYTEST_CURRENT_TEST")  # variables that tell that no person looks
_OFF = ("0", "off", "false", "no")


class ProgressState(NamedTuple):
    """How far work is: what is shown of it."""

    label: str
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    seconds_left: float | None = None

    def __str__(self) -> str:
        told = "" if self.total is None else f"{self.done:,} of {self.total:,}"
        return told + _format_seconds_left(self.seconds_left)


class ProgressDisplay(Protocol):
    """Where progress is shown."""

    def show(self, state: ProgressState) -> None:
        """Show how far the work is."""

    def close(self) -> None:
        """Take away what is shown."""


class ProgressWatch:
    """Work that is watched: tells the callback of steps at once, and the display when asked to.

    Parameters
    ----------
    callback : callable(done, total, best), optional
        Called after each step.
    display : ProgressDisplay, optional
        Where to show it.
    label : str
        What is being done while no stage says it.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        callback: ProgressCallback | None = None,
        display: ProgressDisplay | None = None,
        label: str = "working",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.callback, self.display, self.label = callback, display, label
        self.stage: ProgressStage | None = None
        self._clock, self._start = clock, clock()
        self.state = ProgressState(label)

    def report_progress(
        self, done: int, total: int, best: float | None = None, seconds_left: float | None = None
    ) -> None:
        """Remember how far the work is, and tell the callback."""
        self.state = self.state._replace(done=done, total=total, seconds_left=seconds_left)
        if self.callback is not None:
            self.callback(done, total, best)

    def refresh_display(self) -> None:
        """Show how far the work is, once it takes long enough to be worth it."""
        seconds = self._clock() - self._start
        if self.display is not None and seconds >= SHOWN_AFTER:
            self.display.show(self.state._replace(seconds=seconds))


class ProgressStage:
    """Steps of one kind. Without a watch, as inside of another stage, nobody is told."""

    def __init__(self, watch: ProgressWatch | None, total: int | None = None) -> None:
        self._watch, self._total, self._lock = watch, total, threading.Lock()
        self.done = 0

    @property
    def has_callback(self) -> bool:
        """Whether a callback is told."""
        return self._watch is not None and self._watch.callback is not None

    def step(self) -> None:
        """Tell that one more step is done; threads may."""
        with self._lock:
            self.report_progress(self.done + 1, self._total or 0)

    def report_progress(self, done: int, total: int, best: float | None = None) -> None:
        """Tell how many steps are done."""
        self.done = done
        if self._watch is not None:
            self._watch.report_progress(done, total, best)


_watch: ContextVar[ProgressWatch | None] = ContextVar("watch", default=None)
_stage: ContextVar[ProgressStage | None] = ContextVar("stage", default=None)


def _forget_stages() -> None:
    """Report nothing from a forked child: the parent's display and locks are not its own."""
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
    """Watch what runs inside: tell a callback, or else show it to a person who looks.

    Inside of another one, without a callback or display of its own, it is the other one.
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
    """Count steps of one kind: with `ProgressStage.step`, or by `report_progress` in what is called inside."""
    with watch_progress() as watch:
        inside = _stage.get() is not None
        opened = ProgressStage(None if inside else watch, total)
        token = _stage.set(opened)
        before = watch.state
        if not inside:
            watch.state = ProgressState(label, 0, total)
        try:
            yield opened
        finally:
            _stage.reset(token)
            if not inside:
                watch.state = before


def current_stage() -> ProgressStage:
    """Return the stage that runs; one that nobody is told of if there is none."""
    return _stage.get() or ProgressStage(None)


def report_progress(done: int, total: int, best: float | None = None) -> None:
    """Tell how many steps of the stage that runs are done, and the best value so far."""
    current_stage().report_progress(done, total, best)


@contextmanager
def _refreshing_display(watch: ProgressWatch) -> Iterator[None]:
    """Look now and then, if there is a display, and take it away at the end."""
    if watch.display is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        while not over.wait(_EVERY):
            watch.refresh_display()

    looker = threading.Thread(target=look, daemon=True)
    looker.start()
    try:
        yield
    finally:
        over.set()
        looker.join()
        watch.display.close()


def _default_display() -> ProgressDisplay | None:
    """Return where a person would see progress; None if nobody looks."""
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
    """Whether a person sees what is written to stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)


class TerminalBar:
    """A bar at the bottom of a terminal, on stderr."""

    def __init__(self) -> None:
        self._bar: Any = None

    def show(self, state: ProgressState) -> None:
        """Draw the bar; lines that others print stay above it."""
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            text, told = TextColumn("{task.description}"), TextColumn("{task.fields[told]}")
            columns = (SpinnerColumn(), text, BarColumn(), Elapsed(), told)
            console = Console(stderr=True)
            self._bar = Progress(*columns, console=console, transient=True, auto_refresh=False)
            self._bar.add_task("", total=None, told="")
            self._bar.tasks[0].start_time = self._bar.get_time() - state.seconds
            self._bar.start()
        (task,) = self._bar.task_ids
        values = {"completed": state.done, "total": state.total, "told": str(state)}
        self._bar.update(task, description=state.label, **values)
        self._bar.refresh()

    def close(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class NotebookBar:
    """A bar below the cell of a notebook."""

    def __init__(self) -> None:
        self._shown: Any = None

    def show(self, state: ProgressState) -> None:
        """Draw the bar, in place."""
        from IPython.display import HTML, display

        size = "" if state.total is None else f' value="{state.done}" max="{state.total}"'
        told = f"{state.label} {state}".strip()
        text = html.escape(f"{told}, {state.seconds:.0f} s")
        bar = HTML(f"<progress{size}></progress> {text}")
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)

    def close(self) -> None:
        """Leave nothing but an empty line of output."""
        if self._shown is not None:
            from IPython.display import HTML

            self._shown.update(HTML(""))
            self._shown = None


def _format_seconds_left(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f", about {minutes} min left" if minutes > 1 else f", about {60 * minutes + rest} s left"
