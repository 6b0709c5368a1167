"""The command ``secateurs``: its subcommands, imported when they are used, and exit codes."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from secateurs import __version__
from secateurs.commands.command_errors import failure_from_error
from secateurs.commands.console_output import print_failure
from secateurs.commands.parameter_types import suggest_names
from secateurs.exceptions import ExecutorError, describe_error

COMMANDS = (
    *("prune", "predict", "compare", "frontier", "report", "inspect", "convert", "export"),
    *("benchmark", "methods", "cite", "data", "reproduce", "warm", "demo"),
)
_EPILOG = """\b
Start with:  secateurs demo
Exit codes:  0 success, 1 internal error, 2 usage, 3 invalid input, 4 rejected for safety,
5 budget not met, 6 exported model differs, 7 missing extra, 8 workers lost, 130 interrupted,
141 output closed by its reader.
"""
_OUTPUT_CLOSED = 141  # 128 + SIGPIPE, as shells report it
_STREAMS = ("stdout", "stderr")


class SecateursGroup(click.Group):
    """A group that imports commands when they are used, and exits with the documented codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"secateurs.commands.{cmd_name}"), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or raise and suggest similar names."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{name!r} is not a command.{suggest_names(name, COMMANDS)}", ctx
            )
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Parse the options before the command."""
        with _convert_exceptions():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _convert_exceptions():
            return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, **settings: Any) -> NoReturn:  # type: ignore[override]
        """Run the command, and exit with its code."""
        words = list(sys.argv[1:] if args is None else args)
        _replace_unprintable_characters()
        settings["standalone_mode"] = False
        try:
            code = super().main(args=words, **settings)
        except Exception as error:
            if "--debug" in words:
                traceback.print_exception(error)
            failure = failure_from_error(click.Abort() if _interrupts else error)
            with suppress(OSError):
                print_failure(failure, "--json" in words)
            sys.exit(failure.exit_code)
        sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _convert_exceptions() -> Iterator[None]:
    """Convert interrupts and closed outputs to exceptions that `SecateursGroup.main` handles.

    click itself would print an empty line for an interrupt, and exit with 1 for a closed output.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise click.Abort from None
    except BrokenPipeError as error:
        if error.filename in _STREAMS:
            raise click.exceptions.Exit(_OUTPUT_CLOSED) from error
        raise ExecutorError(
            f"A connection was lost ({describe_error(error)}). Run again."
        ) from error


class _OutputStream(io.FileIO):
    """stdout or stderr, named in errors; after an error, further output is discarded."""

    def __init__(self, number: int) -> None:
        super().__init__(os.dup(number), "w")
        self.shown_name = _STREAMS[number - 1]

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self.shown_name
            # The interpreter flushes again at exit, which must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise


_interrupts: list[int] = []  # signal numbers received so far


def _handle_interrupts() -> None:
    """Let the first interrupt stop the work and clean up, and the second end the process at once.

    An interrupt during an import ends the process at once too: there is nothing to clean up, and
    some modules suppress exceptions while they are imported.
    """
    previous = signal.getsignal(signal.SIGINT)

    def raise_first_interrupt(number: int, frame: FrameType | None) -> NoReturn:
        _interrupts.append(number)
        signal.signal(signal.SIGINT, previous)
        while frame is not None:
            if frame.f_code.co_filename == "<frozen importlib._bootstrap>" and callable(previous):
                previous(number, frame)
            frame = frame.f_back
        raise KeyboardInterrupt

    def resend_lost_interrupt(unraisable: sys.UnraisableHookArgs) -> None:
        # Raised in a destructor or callback, from which it does not reach the main program.
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        else:
            sys.__unraisablehook__(unraisable)

    signal.signal(signal.SIGINT, raise_first_interrupt)
    # Registered first, so it runs last: the little work left at exit is not interrupted.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.unraisablehook = resend_lost_interrupt


def _replace_unprintable_characters() -> None:
    """Make the output print question marks for characters that its encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _reserve_stdout() -> None:
    """Reserve stdout for results: libraries and worker processes print to stderr instead."""
    with suppress(AttributeError, OSError):  # a stream is closed, or is not a file
        out, err = (
            io.TextIOWrapper(
                io.BufferedWriter(_OutputStream(number)), encoding, line_buffering=True
            )
            for number, encoding in ((1, sys.stdout.encoding), (2, sys.stderr.encoding))
        )
        os.dup2(2, 1)
        sys.stdout, sys.stderr = out, err


@click.group(
    cls=SecateursGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
    invoke_without_command=True,
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def secateurs(ctx: click.Context) -> None:
    """Prune ensembles: keep the few classifiers or regressors that together predict best."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def main() -> NoReturn:
    """Run the command line."""
    # Numba warns about every threading layer that it cannot load, although it finds another.
    os.environ.setdefault("NUMBA_WARNINGS", "0")
    _handle_interrupts()
    _reserve_stdout()
    try:
        secateurs.main(prog_name="secateurs")
    except SystemExit as end:
        # All output is printed: an interrupt from now on ends the process with the same code.
        code = end.code if isinstance(end.code, int) else 0
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        raise
