"""Exceptions raised by secateurs; each class has exit code and error code of the command line."""

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from secateurs.text_format import replace_surrogates, replace_unprintable

__all__ = [
    "BudgetError",
    "ExecutorError",
    "InputError",
    "MissingExtraError",
    "ParityError",
    "SecateursError",
    "SecateursWarning",
    "UnsupportedEnsembleError",
    "UntrustedFileError",
]


class _ParameterMessage(Exception):  # noqa: N818
    """A message that names parameters by placeholders, to be spelled for whoever reads it."""

    def __init__(self, message: str, **parameters: Any) -> None:
        self.message = message
        self.parameters = parameters
        self.parameter = next(iter(parameters), None)
        super().__init__(self.spelled(_as_python))

    def spelled(self, spell: Callable[[str, Any], str]) -> str:
        """Return the message with its parameters in the words of the reader."""
        text = self.message
        for name, value in self.parameters.items():
            text = text.replace(f"{{{name}}}", spell(name, value))
        return replace_surrogates(text)

    def prepend(self, text: str) -> None:
        """Put text in front of the message: most often the name of a file."""
        self.message = replace_unprintable(f"{text}{self.message}")
        self.args = (self.spelled(_as_python),)

    def __reduce__(self) -> tuple[Any, ...]:  # exceptions of workers travel between processes
        return _restore_message, (type(self), self.message, self.parameters, self.__dict__)


class SecateursWarning(_ParameterMessage, UserWarning):
    """A warning that names parameters; its message is spelled as that of `SecateursError`."""


class SecateursError(_ParameterMessage):
    """Base class of all exceptions raised by secateurs.

    A message names parameters by placeholders, and is spelled for whoever reads it: ``keep=40`` in
    Python, ``--keep 40`` on the command line.

    Parameters
    ----------
    message : str
        What came, what is allowed, what to do. ``{name}`` stands for a parameter with its value.
    **parameters
        The parameters that the message speaks of, and their values; ``...`` for the name alone.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line when this exception reaches it.
    code : str
        What is wrong, as ``--json`` prints it.
    parameter : str or None
        The parameter that the message is about: the first one given.

    Examples
    --------
    >>> from secateurs.exceptions import InputError
    >>> error = InputError("{keep} is not a valid count. Give 1 or more.", keep=0)
    >>> error, error.parameter, error.exit_code
    (InputError('keep=0 is not a valid count. Give 1 or more.'), 'keep', 3)
    >>> error.spelled(lambda name, value: f"--{name} {value}")
    '--keep 0 is not a valid count. Give 1 or more.'
    """

    exit_code = 1
    code = "input.unusable"


class InputError(SecateursError, ValueError):
    """Something given cannot be used: a missing file, a wrong shape, an unknown name."""

    exit_code = 3


class UnsupportedEnsembleError(SecateursError, TypeError):
    """The model is of a kind that cannot be treated as asked; the message says why."""

    exit_code = 3
    code = "input.unsupported_ensemble"


class UntrustedFileError(SecateursError):
    """A file was refused for safety, before anything in it could do harm."""

    exit_code = 4
    code = "safety.refused"


class BudgetError(SecateursError, ValueError):
    """No set of members meets the budget."""

    exit_code = 5
    code = "budget.not_met"


class ParityError(SecateursError):
    """An exported model disagrees with the one it was made from; nothing was written."""

    exit_code = 6
    code = "parity.differs"


class MissingExtraError(SecateursError, ImportError):
    """A package that is only installed on request is missing."""

    exit_code = 7
    code = "extra.missing"


class ExecutorError(SecateursError, RuntimeError):
    """The workers of an executor or cluster failed: there are none, or they were lost."""

    exit_code = 8
    code = "workers.failed"


def import_extra(module: str, extra: str, doing: str) -> Any:
    """Import a module of a package that is only installed on request."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'{doing} needs: pip install "secateurs[{extra}]"') from error


def unknown_name_error(parameter: str, value: Any, names: Iterable[str]) -> InputError:
    """Return the error for a parameter that is none of some names; it suggests close ones."""
    known = list(names)
    allowed = f"Give one of: {', '.join(known)}."
    hint = suggest_similar(str(value), known)
    return InputError(f"{{{parameter}}} is unknown.{hint} {allowed}", **{parameter: value})


def suggest_similar(word: str, names: Iterable[str]) -> str:
    """Return a question after the names that a word is close to, with a space before it, if any."""
    near = difflib.get_close_matches(word.lower(), list(names), n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


# What a fitted model raises whose state makes no sense, such as a changed one.
STATE_ERRORS = (TypeError, LookupError, AttributeError, ArithmeticError)


def describe_error(error: BaseException) -> str:
    """Return in a few words what went wrong inside another library; the caller names the file."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        known = f"[Errno {error.errno}] {error.strerror}"
        text = known if error.strerror else " ".join(map(str, error.args))
    lines = text.strip().splitlines() or [""]
    return replace_unprintable(f"{type(error).__name__}: {lines[0][:200]}").rstrip(" :.")


@contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one line of ours that names the file."""
    try:
        yield
    except Warning:  # for users who turn warnings into errors
        raise
    except SecateursError as error:
        error.prepend(f"{path} ")
        raise
    except MemoryError as error:
        raise InputError(f"{path} needs more memory than there is.") from error
    except Exception as error:
        raise InputError(
            f"{path} cannot be read: {describe_error(error)}. It is damaged, or was written by another "
            "program or version."
        ) from error


def _as_python(name: str, value: Any) -> str:
    return name if value is ... else f"{name}={value!r}"


def _restore_message(
    kind: type[_ParameterMessage], message: str, parameters: dict[str, Any], state: dict[str, Any]
) -> _ParameterMessage:
    error = kind.__new__(kind)
    _ParameterMessage.__init__(error, message, **parameters)
    error.__dict__.update(state)
    return error
