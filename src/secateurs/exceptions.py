"""Exceptions of secateurs, with the exit and error codes of the command line."""

import difflib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from secateurs.text_format import replace_unprintable

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

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _ParameterMessage(Exception):  # noqa: N818
    """A message with placeholders for parameters, formatted for Python or the command line."""

    def __init__(self, message: str, **parameters: Any) -> None:
        self.message = message
        self.parameters = parameters
        self.parameter = next(iter(parameters), None)
        super().__init__(self.spelled(_as_python))

    def spelled(self, spell: Callable[[str, Any], str]) -> str:
        """Return the message with each placeholder replaced by ``spell(name, value)``."""
        text = self.message
        for name, value in self.parameters.items():
            text = text.replace(f"{{{name}}}", spell(name, value))
        return replace_unprintable(" ".join(text.splitlines()))  # names may have line breaks

    def prepend(self, text: str) -> None:
        """Put text in front of the message, usually the name of a file."""
        self.message = replace_unprintable(f"{text}{self.message}")
        self.args = (self.spelled(_as_python),)

    def __reduce__(self) -> tuple[object, ...]:  # exceptions of workers travel between processes
        return _restore_message, (type(self), self.message, self.parameters, self.__dict__)


class SecateursWarning(_ParameterMessage, UserWarning):
    """A warning of secateurs, whose message is formatted like that of a `SecateursError`."""


def caller_stacklevel() -> int:
    """Return the ``stacklevel`` of a warning that names the line which called the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("secateurs"):
        frame, level = frame.f_back, level + 1
    return level


class SecateursError(_ParameterMessage):
    """Base class of all exceptions raised by secateurs.

    A message has placeholders for parameters, which are formatted for Python, ``keep=40``, or for
    the command line, ``--keep 40``.

    Parameters
    ----------
    message : str
        The value that was passed, the allowed values, and what to do. ``{name}`` is replaced by
        the parameter of this name with its value.
    **parameters
        The values of the parameters in the message; ``...`` shows the name only.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line when this exception reaches it.
    code : str
        The kind of error, as ``--json`` prints it.
    parameter : str or None
        The parameter that the message is about: the first of ``parameters``.

    Examples
    --------
    >>> from secateurs.exceptions import InputError
    >>> error = InputError("{keep} is not a valid count. Pass 1 or more.", keep=0)
    >>> error, error.parameter, error.exit_code
    (InputError('keep=0 is not a valid count. Pass 1 or more.'), 'keep', 3)
    >>> error.spelled(lambda name, value: f"--{name} {value}")
    '--keep 0 is not a valid count. Pass 1 or more.'
    """

    exit_code = 1
    code = "input.unusable"


class InputError(SecateursError, ValueError):
    """An argument cannot be used: a missing file, a wrong shape, an unknown name."""

    exit_code = 3


class UnknownParameterError(InputError, TypeError):
    """A function or class has no parameter of this name; a TypeError, as Python raises it."""


class UnsupportedEnsembleError(SecateursError, TypeError):
    """The operation is not supported for this kind of model; the message gives the reason."""

    exit_code = 3
    code = "input.unsupported_ensemble"


class UntrustedFileError(SecateursError):
    """A file was rejected for safety, before anything in it could do harm."""

    exit_code = 4
    code = "safety.refused"


class BudgetError(SecateursError, ValueError):
    """No set of members meets the budget."""

    exit_code = 5
    code = "budget.not_met"


class ParityError(SecateursError):
    """An exported model predicts something else than the original; nothing was written."""

    exit_code = 6
    code = "parity.differs"


class MissingExtraError(SecateursError, ImportError):
    """A package of an optional extra is not installed."""

    exit_code = 7
    code = "extra.missing"


class ExecutorError(SecateursError, RuntimeError):
    """An executor or cluster has no workers, or lost them."""

    exit_code = 8
    code = "workers.failed"


def import_extra(module: str, extra: str, doing: str) -> ModuleType:
    """Import and return a module of an optional extra; raise `MissingExtraError` without it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'{doing} needs: pip install "secateurs[{extra}]"') from error


def unknown_name_error(parameter: str, value: object, names: Iterable[str]) -> InputError:
    """Return the error for a parameter that is not one of the names; it suggests similar names."""
    allowed = list(names)
    hint = suggest_similar(str(value), allowed)
    return InputError(
        f"{{{parameter}}} is unknown.{hint} Pass one of: {', '.join(allowed)}.",
        **{parameter: value},
    )


def suggest_similar(word: str, names: Iterable[str]) -> str:
    """Return " Did you mean …?" with the names similar to a word; empty if there are none."""
    similar = difflib.get_close_matches(word.lower(), list(names), n=3)
    return f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def unknown_parameter_error(
    function: str, name: str, known: Iterable[str], others: str = ""
) -> UnknownParameterError:
    """Return the error for a misspelt parameter; it suggests similar names."""
    return UnknownParameterError(
        f"{name!r} is not a parameter of {function}{others}.{suggest_similar(name, known)} See "
        f"help(secateurs.{function})."
    )


def check_parameter_names(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function, or the ``__init__`` of a class, suggest names for a misspelt parameter."""
    known = inspect.signature(function).parameters

    @wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        for name in kwargs:
            if name not in known:
                is_class = function.__name__ == "__init__"
                label = type(args[0]).__name__ if is_class else function.__name__
                raise unknown_parameter_error(label, name, [key for key in known if key != "self"])
        return function(*args, **kwargs)

    return checked


# Raised by fitted models with inconsistent attributes, for instance after they were changed.
STATE_ERRORS = (TypeError, LookupError, AttributeError, ArithmeticError)


def describe_error(error: BaseException) -> str:
    """Return a short description of another library's error, without the name of the file."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        without_path = f"[Errno {error.errno}] {error.strerror}"
        text = without_path if error.strerror else " ".join(map(str, error.args))
    lines = text.strip().splitlines() or [""]
    # Other libraries' messages may fill pages, and hold bytes of the file that was read.
    return replace_unprintable(f"{type(error).__name__}: {lines[0][:200]}").rstrip(" :.")


@contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """Turn any error inside this context into a `SecateursError` that names the file."""
    try:
        yield
    except Warning:  # for users who turn warnings into errors
        raise
    except SecateursError as error:
        error.prepend(f"{path} ")
        raise
    except MemoryError as error:
        raise InputError(f"{path} needs more memory than is available.") from error
    except Exception as error:
        raise InputError(
            f"{path} cannot be read: {describe_error(error)}. It is damaged, or was written by "
            "another program or version."
        ) from error


def _as_python(name: str, value: object) -> str:
    return name if value is ... else f"{name}={value!r}"


def _restore_message(
    kind: type[_ParameterMessage],
    message: str,
    parameters: dict[str, object],
    state: dict[str, object],
) -> _ParameterMessage:
    """Return a pickled exception; subclasses may have other arguments in `__init__`."""
    error = kind.__new__(kind)
    _ParameterMessage.__init__(error, message, **parameters)
    error.__dict__.update(state)
    return error
