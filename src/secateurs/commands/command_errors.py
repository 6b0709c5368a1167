"""Turn exceptions into an exit code and one line of text, or a JSON object for ``--json``."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from secateurs.exceptions import InputError, SecateursError
from secateurs.text_format import interrupt_hint, to_one_line

if TYPE_CHECKING:
    from secateurs.typing import Array

_MAX_LINE_LENGTH = 1000  # column names and cells quoted in a message can have any length


class Refusal(InputError):  # noqa: N818
    """Invalid input that a command itself detects; ``code`` becomes the error code input.CODE."""

    def __init__(self, code: str, message: str, **parameters: object) -> None:
        super().__init__(message, **parameters)
        self.code = f"input.{code}"


def reject_cells(is_invalid: "Array", cells: Any, where: str, code: str, fault: str) -> None:
    """Raise if a cell of a column is invalid; ``fault`` says what is wrong with the first."""
    if is_invalid.any():
        row = int(is_invalid.argmax())
        raise Refusal(code, f"{where}, row {row + 1}: {str(cells[row])[:40]!r} {fault}")


@dataclass(frozen=True)
class CommandFailure:
    """Exit code, error code and message of a command that failed."""

    exit_code: int
    code: str
    text: str

    def to_json_data(self) -> dict[str, dict[str, str | None]]:
        """Return the error as ``--json`` prints it: error code, message and hint."""
        message, _, hint = self.text.partition(". ")
        message = message if not hint else f"{message}."
        return {"error": {"code": self.code, "message": message, "hint": hint or None}}


def failure_from_error(error: BaseException) -> CommandFailure:
    """Return the exit code and message with which a command reports an exception."""
    for kind, explain in _FAILURES:
        if isinstance(error, kind):
            return explain(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = to_one_line(f"internal error ({text}). Run again with --debug and report it.")
    return CommandFailure(1, "internal", text)


@contextmanager
def name_options_in_errors() -> Iterator[None]:
    """Make errors name options of the running command instead of Python parameters."""
    try:
        yield
    except SecateursError as error:
        error.args = (error.spelled(format_option),)
        raise


def format_option(name: str, value: object) -> str:
    """Return a Python parameter as an option of the running command, such as ``--keep 40``."""
    context = click.get_current_context(silent=True)
    declared = () if context is None else context.command.params
    option = next((parameter for parameter in declared if parameter.name == name), None)
    if isinstance(option, click.Argument):
        return option.human_readable_name
    if option is None and declared:  # the command has no such option
        word = name.replace("_", " ")
    else:
        word = f"--{name.replace('_', '-')}" if option is None else max(option.opts, key=len)
    if value is ... or value is True or getattr(option, "is_flag", False):
        return word
    values = value if isinstance(value, (list, tuple)) else [value]
    value_type = getattr(option, "type", None)
    format_item: Callable[[object], str] = getattr(value_type, "format_quantity", _format_value)
    return " ".join(f"{word} {format_item(item)}" for item in values) or word


def _format_value(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def short_line(text: str) -> str:
    """Return text on one line, shortened if it is too long to read."""
    line = to_one_line(text)
    return line if len(line) <= _MAX_LINE_LENGTH else f"{line[: _MAX_LINE_LENGTH - 1]}…"


def _failure_from_click(error: click.ClickException) -> CommandFailure:
    context, text = getattr(error, "ctx", None), to_one_line(error.format_message())
    if context is not None:
        end = "" if text.endswith((".", "?")) else "."
        text = f"{text}{end} See: {context.command_path} --help"
    return CommandFailure(error.exit_code, "usage", text)


def _failure_from_system(error: OSError) -> CommandFailure:
    where = f"{error.filename}: " if error.filename else ""
    return CommandFailure(3, "input.file", short_line(f"{where}{error.strerror or error}"))


def _failure_from_pool(error: BrokenExecutor) -> CommandFailure:
    from secateurs.engines.failures import worker_died_error

    return failure_from_error(worker_died_error(error))


_TOO_LARGE = CommandFailure(
    3, "input.too_large", "not enough memory. Use a smaller model or fewer rows."
)
_Kinds = type[BaseException] | tuple[type[BaseException], ...]
# The first match counts. Our own errors come before OSError and ValueError, from which some of them
# are derived; the function of an entry receives an exception of the entry's kind.
_FAILURES: tuple[tuple[_Kinds, Callable[[Any], CommandFailure]], ...] = (
    (
        (KeyboardInterrupt, click.Abort),
        lambda _: CommandFailure(
            130, "interrupted", f"interrupted. {interrupt_hint(sys.argv[1:])}"
        ),
    ),
    (click.ClickException, _failure_from_click),
    (
        SecateursError,
        lambda error: CommandFailure(error.exit_code, error.code, short_line(str(error))),
    ),
    (BrokenExecutor, _failure_from_pool),
    (MemoryError, lambda _: _TOO_LARGE),
    (OSError, _failure_from_system),
    # Raised by scikit-learn or NumPy for input that they reject.
    (ValueError, lambda error: CommandFailure(3, "input.unusable", short_line(str(error)))),
)
