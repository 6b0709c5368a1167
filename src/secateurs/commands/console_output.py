"""What a command prints and where: results to stdout, everything else to stderr."""

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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

_EVERY = 10.0  # seconds between lines where there is no terminal
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)

ReportProgress = Callable[..., None]


@dataclass
class Output:
    """How much a command prints, and in which form.

    Attributes
    ----------
    as_json : bool
        Print the result as one JSON object and nothing else.
    quiet : bool
        Print the result, warnings and errors only.
    verbose : bool
        Also print details.
    warnings : list of str
        Warnings printed so far.
    stdout : file
        Where results are printed. Whatever else prints there while a command runs, such as members
        that were trained with ``verbose``, prints to stderr.
    """

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    warnings: list[str] = field(default_factory=list)
    stdout: Any = field(default_factory=lambda: sys.stdout)

    def print_result(self, data: Mapping[str, Any], text: str) -> None:
        """Print the result of the command."""
        shown = to_json({**data, "warnings": self.warnings}) if self.as_json else text
        if shown and self.stdout is not None:  # None if it was closed from the start
            click.echo(shown, file=self.stdout)

    def print_note(self, text: str) -> None:
        """Print a line about what is being done."""
        if not self.as_json and not self.quiet:
            click.echo(to_one_line(text), err=True)

    def print_dry_run(self, paths: Sequence[object]) -> None:
        """Print that all input is valid, and what would be written."""
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
        """Print warnings of libraries, and what is logged, as lines.

        Warnings meant for programmers are dropped.
        """

        def print_library_warning(
            message: Warning | str, category: type[Warning], *_: Any, **__: Any
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
        """Show progress: a bar on a terminal, else a line every ten seconds.

        Yields a function to call as ``report(done, total, seconds_left)``.
        """
        display: ProgressDisplay | None = None
        if not (self.as_json or self.quiet or is_disabled()):
            display = TerminalBar() if is_terminal() else _ProgressLines()
        with watch_progress(display=display, label=label) as watch:
            yield lambda done, total, left=None: watch.report_progress(done, total, None, left)


def print_failure(failure: CommandFailure, as_json: bool) -> None:
    """Print why a command failed."""
    if as_json:
        click.echo(to_json(failure.to_json_data()), err=True)
    else:
        _print_marked("error", "red", failure.text)


def to_json(data: Mapping[str, Any]) -> str:
    """Return values as JSON on one line; NaN and infinity become null."""
    return json.dumps(to_json_value(data), allow_nan=False)


def _print_marked(mark: str, colour: str, text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with console.capture() as written:  # rich ends the process where its reader went away
        console.print(Text.assemble((f"{mark}: ", f"bold {colour}"), text))
    click.echo(written.get(), nl=False, err=True)


class _ProgressLines:
    """A line on stderr every ten seconds, where there is no terminal."""

    def __init__(self) -> None:
        self._next_seconds = _EVERY

    def show(self, state: ProgressState) -> None:
        """Print a line if it is time."""
        if state.seconds >= self._next_seconds:
            self._next_seconds = state.seconds + _EVERY
            far = f", {state}" if str(state) else ""
            click.echo(f"{state.label}{far}, {state.seconds:.0f} s so far", err=True)

    def close(self) -> None:
        """Leave the lines as they are."""
