"""Print the result of a command to stdout, and warnings, notes and progress to stderr."""

import json
import logging
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import click

from secateurs.commands.command_errors import CommandFailure, format_option, short_line
from secateurs.progress import (
    ProgressDisplay,
    ProgressState,
    TerminalBar,
    is_disabled,
    is_terminal,
    watch_progress,
)
from secateurs.text_format import to_json_value, to_one_line

_EVERY = 10.0  # seconds between progress lines in a log: a run of hours stays readable
# Meant for programmers: users of the command line cannot act on these.
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)

ReportProgress = Callable[..., None]


@dataclass
class Output:
    """Print what a command has to report, as text or JSON."""

    as_json: bool = False  # print the result as one JSON object and nothing else
    quiet: bool = False  # print the result, warnings and errors only
    verbose: bool = False  # also print details
    warnings: list[str] = field(default_factory=list)  # printed so far
    # Kept from the start: while a command runs, `sys.stdout` is redirected to stderr, so that the
    # output of members trained with ``verbose`` does not mix with the result.
    stdout: TextIO | None = field(default_factory=lambda: sys.stdout)

    def print_result(self, data: Mapping[str, object], text: str) -> None:
        """Print the result of the command, as text or as JSON with the warnings."""
        shown = to_json({**data, "warnings": self.warnings}) if self.as_json else text
        if shown and self.stdout is not None:  # None if the process was started without stdout
            click.echo(shown, file=self.stdout)

    def print_note(self, text: str) -> None:
        """Print a line about the run, unless the command is quiet or prints JSON."""
        if not self.as_json and not self.quiet:
            click.echo(to_one_line(text), err=True)

    def print_dry_run(self, paths: Sequence[object]) -> None:
        """Print that all input is valid, and which files would be written."""
        planned = [str(path) for path in paths]
        self.print_note(f"all input is valid; would write {', '.join(planned) or 'nothing'}")
        self.print_result({"dry_run": True, "would_write": planned}, "")

    def print_detail(self, text: str) -> None:
        """Print a line with ``--verbose`` only."""
        if self.verbose:
            self.print_note(text)

    def warn(self, text: str) -> None:
        """Print a warning, unless it was printed before."""
        line = short_line(text)
        if line in self.warnings:
            return
        self.warnings.append(line)
        if not self.as_json:
            _print_marked("warning", "yellow", line)

    @contextmanager
    def print_library_warnings(self) -> Iterator[None]:
        """Print warnings of libraries and records of our logger, one line each."""

        def print_library_warning(
            message: Warning | str, category: type[Warning], *_: object, **__: object
        ) -> None:
            if not issubclass(category, _SILENT):
                spelled = getattr(message, "spelled", None)
                self.warn(str(message) if spelled is None else spelled(format_option))

        handler, logger = logging.Handler(), logging.getLogger("secateurs")
        handler.emit = lambda record: self.print_note(record.getMessage())  # type: ignore[method-assign]
        logger.addHandler(handler)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.showwarning = print_library_warning
                yield
        finally:
            logger.removeHandler(handler)

    @contextmanager
    def show_progress(self, label: str) -> Iterator[ReportProgress]:
        """Show progress as a bar on a terminal, or else as a line every ten seconds.

        Yields a function to call as ``report(done, total, seconds_left)``.
        """
        display: ProgressDisplay | None = None
        if not (self.as_json or self.quiet or is_disabled()):
            display = TerminalBar() if is_terminal() else _ProgressLines()
        with watch_progress(display=display, label=label) as watch:
            yield lambda done, total, left=None: watch.report_progress(done, total, None, left)


def print_failure(failure: CommandFailure, as_json: bool) -> None:
    """Print the error of a command that failed."""
    if as_json:
        click.echo(to_json(failure.to_json_data()), err=True)
    else:
        _print_marked("error", "red", failure.text)


def to_json(data: Mapping[str, object]) -> str:
    """Return values as JSON on one line; NaN and infinity become null."""
    return json.dumps(to_json_value(data), allow_nan=False)


def _print_marked(mark: str, colour: str, text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    # rich itself would end the process with exit code 1 if the reader of stderr has exited.
    with console.capture() as written:
        console.print(Text.assemble((f"{mark}: ", f"bold {colour}"), text))
    click.echo(written.get(), nl=False, err=True)


class _ProgressLines:
    """Progress as a line on stderr every ten seconds, if there is no terminal."""

    def __init__(self) -> None:
        self._next_seconds = _EVERY

    def show(self, state: ProgressState) -> None:
        """Print a line if ten seconds have passed since the last one."""
        if state.seconds >= self._next_seconds:
            self._next_seconds = state.seconds + _EVERY
            steps = f", {state}" if str(state) else ""
            click.echo(f"{state.label}{steps}, {state.seconds:.0f} s so far", err=True)

    def close(self) -> None:
        """Do nothing: printed lines stay."""


def runnable_command(words: Sequence[object]) -> str:
    """Return a command of this program as a line that runs in the user's shell.

    The program may not be on the PATH, for example after ``make demo``.
    """
    return shlex.join([*_program_words(), *map(str, words)])


def _program_words() -> list[str]:
    """Return the words that started this program: its name if it is on the PATH."""
    started, found = Path(sys.argv[0]), shutil.which("secateurs")
    if started.stem == "secateurs":
        is_on_path = found is not None and Path(found).resolve() == started.resolve()
        return ["secateurs"] if is_on_path else [str(started)]
    return ["secateurs"] if found is not None else [sys.executable, "-m", "secateurs"]
