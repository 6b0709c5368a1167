"""The command ``secateurs``: its subcommands, imported when they are used, and its exit codes."""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from secateurs import __version__
from secateurs.commands._errors import failure
from secateurs.commands._options import suggest
from secateurs.commands._output import print_failure

COMMANDS = (
    *("prune", "compare", "report", "inspect", "convert", "export"),
    *("methods", "cite", "data", "reproduce", "demo"),
)
_EPILOG = """\b
Start with:  secateurs demo
Exit codes:  0 success, 1 internal error, 2 usage, 3 invalid input, 4 refused for safety,
5 budget not met, 6 exported model differs, 7 missing extra, 8 workers lost, 130 interrupted.
"""


class Secateurs(click.Group):
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
            raise click.UsageError(f"{name!r} is not a command.{suggest(name, COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, **settings: Any) -> NoReturn:  # type: ignore[override]
        """Run the command, and exit with its code."""
        given = list(sys.argv[1:] if args is None else args)
        _never_fail_to_print()
        settings["standalone_mode"] = False
        try:
            code = super().main(args=given, **settings)
        except Exception as error:
            if "--debug" in given:
                traceback.print_exception(error)
            found = failure(error)
            print_failure(found, "--json" in given)
            sys.exit(found.exit_code)
        sys.exit(code if isinstance(code, int) else 0)


def _never_fail_to_print() -> None:
    """Print question marks for characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


@click.group(
    cls=Secateurs,
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
    secateurs.main(prog_name="secateurs")
