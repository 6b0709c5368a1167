"""What a command says and where: results to stdout, everything else to stderr."""

import json
import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from secateurs._text import one_line
from secateurs.commands._errors import Failure, as_options

_EVERY = 10.0  # seconds between lines where there is no terminal
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)

Report = Callable[..., None]


@dataclass
class Output:
    """How much a command says, and in which form.

    Attributes
    ----------
    as_json : bool
        Print the result as one JSON object and nothing else.
    quiet : bool
        Print the result, warnings and errors only.
    verbose : bool
        Print details too.
    warnings : list of str
        What was warned of.
    """

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    warnings: list[str] = field(default_factory=list)

    def result(self, data: Mapping[str, Any], text: str) -> None:
        """Print what the command found out."""
        if self.as_json:
            click.echo(to_json({**data, "warnings": self.warnings}))
        elif text:
            click.echo(text)

    def note(self, text: str) -> None:
        """Say what is being done."""
        if not self.as_json and not self.quiet:
            click.echo(one_line(text), err=True)

    def dry_run(self, paths: Sequence[object]) -> None:
        """Say that nothing is in the way, and what would be written."""
        planned = [str(path) for path in paths]
        self.note(f"all input is fine; would write {', '.join(planned) or 'nothing'}")
        self.result({"dry_run": True, "would_write": planned}, "")

    def detail(self, text: str) -> None:
        """Say what only some want to know."""
        if self.verbose:
            self.note(text)

    def warn(self, text: str) -> None:
        """Warn, once of the same thing."""
        line = as_options(text)
        if line in self.warnings:
            return
        self.warnings.append(line)
        if not self.as_json:
            _marked("warning", "yellow", line)

    @contextmanager
    def catching_warnings(self) -> Iterator[None]:
        """Turn warnings of libraries into lines; leave out those for programmers."""

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            if not issubclass(category, _SILENT):
                self.warn(str(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield

    @contextmanager
    def progress(self, label: str) -> Iterator[Report]:
        """Show that something is going on: a bar on a terminal, else a line every ten seconds.

        Gives a function to call as ``report(done, total, seconds_left)``.
        """
        if self.as_json or self.quiet:
            yield lambda *_: None
        elif sys.stderr.isatty():
            with _bar(label) as report:
                yield report
        else:
            with _lines(label) as report:
                yield report


def say_failure(failure: Failure, as_json: bool) -> None:
    """Print why a command ends."""
    if as_json:
        click.echo(to_json(failure.as_json()), err=True)
    else:
        _marked("error", "red", failure.text)


def to_json(data: Mapping[str, Any]) -> str:
    """Write plain values as JSON on one line; what is no number becomes null."""
    return json.dumps(_plain(data), allow_nan=False)


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Set a table in columns: the first ones to the left, the others to the right."""
    table = [[one_line(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def line(cells: Sequence[str]) -> str:
        set_cells = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(set_cells).rstrip()

    return "\n".join(line(row) for row in table if any(row))


def signed(value: float, digits: int) -> str:
    """Write a change with its sign, as it is printed."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("+-")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _marked(mark: str, colour: str, text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble((f"{mark}: ", f"bold {colour}"), text))


@contextmanager
def _bar(label: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    state = TextColumn("{task.fields[state]}")
    with Progress(*shown, state, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, state="")

        def report(done: int, total: int, seconds_left: float | None = None) -> None:
            text = f"{done} of {total}{_left(seconds_left)}"
            bar.update(task, completed=done, total=total, state=text)

        yield report


@contextmanager
def _lines(label: str) -> Iterator[Report]:
    state, over, start = [""], threading.Event(), time.monotonic()

    def tell() -> None:
        while not over.wait(_EVERY):
            seconds = time.monotonic() - start
            click.echo(f"{label}{state[0]}, {seconds:.0f} s so far", err=True)

    def report(done: int, total: int, seconds_left: float | None = None) -> None:
        state[0] = f", {done} of {total}" + _left(seconds_left)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield report
    finally:
        over.set()
        teller.join()


def _left(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f", about {minutes} min left" if minutes > 1 else f", about {60 * minutes + rest} s left"
