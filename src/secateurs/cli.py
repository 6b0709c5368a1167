"""The command ``secateurs``: its subcommands, imported when they are used, and its exit codes."""

import atexit
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from secateurs import __version__
from secateurs.commands.command_errors import failure_from_error
from secateurs.commands.console_output import print_failure
from secateurs.commands.shared_options import suggest_names
from secateurs.exceptions import ExecutorError, describe_error

COMMANDS = (
    *("prune", "compare", "report", "inspect", "convert", "export"),
    *("benchmark", "methods", "cite", "data", "reproduce", "demo"),
)
_EPILOG = """\b
Start with:  secateurs demo
Exit codes:  0 success, 1 internal error, 2 usage, 3 invalid input, 4 refused for safety,
5 budget not met, 6 exported model differs, 7 missing extra, 8 workers lost, 130 interrupted,
141 the reader of the output went away.
"""
_READER_GONE = 141
_STREAMS = ("stdout", "stderr")


class SecateursGroup(click.Group):
    """A group that imports a command when it is used, and exits with the documented codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"secateurs.commands.{cmd_name}"), cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command, or suggest similar ones."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{name!r} is not a command.{suggest_names(name, COMMANDS)}", ctx
            )
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Read the options before the command."""
        with _convert_exceptions():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _convert_exceptions():
            return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, **settings: Any) -> NoReturn:  # type: ignore[override]
        """Run the command, and exit with its code."""
        given = list(sys.argv[1:] if args is None else args)
        _replace_unprintable_characters()
        settings["standalone_mode"] = False
        try:
            code = super().main(args=given, **settings)
        except Exception as error:
            if "--debug" in given:
                traceback.print_exception(error)
            found = failure_from_error(click.Abort() if _interrupts else error)
            with suppress(OSError):
                print_failure(found, "--json" in given)
            sys.exit(found.exit_code)
        sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _convert_exceptions() -> Iterator[None]:
    """Turn interrupts and outputs that cannot be written into what `SecateursGroup.main` handles.

    Left to itself, click prints an empty line for an interrupt, and exits with 1 if the reader of
    the output went away.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise click.Abort from None
    except BrokenPipeError as error:
        if error.filename in _STREAMS:
            raise click.exceptions.Exit(_READER_GONE) from error
        raise ExecutorError(
            f"A connection was lost ({describe_error(error)}). Run again."
        ) from error


class _OutputStream(io.FileIO):
    """An output that errors name; once it has failed, what is still to be written is dropped."""

    def __init__(self, number: int) -> None:
        super().__init__(os.dup(number), "w")
        self.shown_name = _STREAMS[number - 1]

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self.shown_name
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise


_interrupts: list[int] = []  # that have come


def _handle_interrupts() -> None:
    """Let the first interrupt stop work and clean up, and the second end the process as before.

    While a module is imported there is nothing to clean up, and some modules swallow exceptions.
    """
    before = signal.getsignal(signal.SIGINT)

    def raise_first_interrupt(number: int, frame: Any) -> NoReturn:
        _interrupts.append(number)
        signal.signal(signal.SIGINT, before)
        while frame is not None:
            if frame.f_code.co_filename == "<frozen importlib._bootstrap>" and callable(before):
                before(number, frame)
            frame = frame.f_back
        raise KeyboardInterrupt

    def resend_lost_interrupt(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):  # raised where nothing can be
            os.kill(os.getpid(), signal.SIGINT)
        else:
            sys.__unraisablehook__(unraisable)

    signal.signal(signal.SIGINT, raise_first_interrupt)
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # runs last; little is left then
    sys.unraisablehook = resend_lost_interrupt


def _replace_unprintable_characters() -> None:
    """Print question marks for characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _reserve_stdout() -> None:
    """Leave stdout to results: what libraries and worker processes print goes to stderr."""
    with suppress(AttributeError, OSError):  # closed, or not a file
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
    """Keep the few members of a trained ensemble of classifiers that together predict best."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def main() -> NoReturn:
    """Run the command line."""
    # Numba writes a line about every thread layer it cannot load; nobody asked.
    os.environ.setdefault("NUMBA_WARNINGS", "0")
    _handle_interrupts()
    _reserve_stdout()
    try:
        secateurs.main(prog_name="secateurs")
    except SystemExit as end:  # all is said: an interrupt that comes now ends the process as it is
        code = end.code if isinstance(end.code, int) else 0
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        raise
