"""Errors as an exit code and one line of text; for ``--json``, as an object."""

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from secateurs.exceptions import InputError, SecateursError
from secateurs.text_format import to_one_line

_LONGEST = 1000  # letters in a line: names from files may be of any length


class Refusal(InputError):  # noqa: N818
    """Invalid input found by a command itself, with an error code of its own.

    Parameters
    ----------
    code : str
        What is wrong, in one or two words with underscores.
    message : str
        What came, what is allowed, what to do.
    **parameters
        The parameters that the message names, as for `SecateursError`.
    """

    def __init__(self, code: str, message: str, **parameters: Any) -> None:
        super().__init__(message, **parameters)
        self.code = f"input.{code}"


@dataclass(frozen=True)
class CommandFailure:
    """The end of a command that did not succeed."""

    exit_code: int
    code: str
    text: str

    def to_json_data(self) -> dict[str, Any]:
        """Return the error as ``--json`` prints it: what is wrong, and what to do."""
        message, _, hint = self.text.partition(". ")
        message = message if not hint else f"{message}."
        return {"error": {"code": self.code, "message": message, "hint": hint or None}}


def failure_from_error(error: BaseException) -> CommandFailure:
    """Return what an exception means to the user of the command line."""
    for kind, explain in _MEANINGS:
        if isinstance(error, kind):
            return explain(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = to_one_line(f"internal error ({text}). Run again with --debug and report it.")
    return CommandFailure(1, "internal", text)


@contextmanager
def name_options_in_errors() -> Iterator[None]:
    """Let errors of the library name options of the running command instead of parameters."""
    try:
        yield
    except SecateursError as error:
        error.args = (error.spelled(format_option),)
        raise


def format_option(name: str, value: Any) -> str:
    """Return a parameter as the running command takes it, such as ``--keep 40``."""
    context = click.get_current_context(silent=True)
    declared = () if context is None else context.command.params
    option: Any = next((one for one in declared if one.name == name), None)
    if isinstance(option, click.Argument):
        return option.human_readable_name
    word = f"--{name.replace('_', '-')}" if option is None else max(option.opts, key=len)
    if value is ... or value is True or getattr(option, "is_flag", False):
        return word
    values = value if isinstance(value, (list, tuple)) else [value]
    spell = getattr(getattr(option, "type", None), "format_quantity", _format_value)
    return " ".join(f"{word} {spell(one)}" for one in values) or word


def _format_value(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def short_line(text: str) -> str:
    """Return text on one line, cut where it gets too long to read."""
    line = to_one_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _failure_from_click(error: Any) -> CommandFailure:
    context, text = getattr(error, "ctx", None), to_one_line(error.format_message())
    if context is not None:
        end = "" if text.endswith((".", "?")) else "."
        text = f"{text}{end} See: {context.command_path} --help"
    return CommandFailure(error.exit_code, "usage", text)


def _failure_from_system(error: Any) -> CommandFailure:
    where = f"{error.filename}: " if error.filename else ""
    return CommandFailure(3, "input.file", short_line(f"{where}{error.strerror or error}"))


def _failure_from_pool(error: Any) -> CommandFailure:
    from secateurs.engines.failures import worker_died_error

    return failure_from_error(worker_died_error(error))


_STOPPED = CommandFailure(130, "interrupted", "interrupted. Run the same command to resume.")
_TOO_LARGE = CommandFailure(
    3, "input.too_large", "not enough memory. Give a smaller model or fewer rows."
)
_MEANINGS: tuple[tuple[Any, Callable[[Any], CommandFailure]], ...] = (
    ((KeyboardInterrupt, click.Abort), lambda _: _STOPPED),
    (click.ClickException, _failure_from_click),
    (
        SecateursError,
        lambda error: CommandFailure(error.exit_code, error.code, short_line(str(error))),
    ),
    (BrokenExecutor, _failure_from_pool),
    (MemoryError, lambda _: _TOO_LARGE),
    (OSError, _failure_from_system),
    # Refused by scikit-learn, or by NumPy.
    (ValueError, lambda error: CommandFailure(3, "input.unusable", short_line(str(error)))),
)
