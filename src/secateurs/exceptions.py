"""What secateurs raises on its own account; each class carries the command line's exit code."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


class SecateursError(Exception):
    """Base class of all errors that secateurs raises on its own account.

    Attributes
    ----------
    exit_code : int
        What the command line ends with when this error reaches it.

    Examples
    --------
    >>> from secateurs.exceptions import InputError, SecateursError
    >>> issubclass(InputError, SecateursError), issubclass(InputError, ValueError)
    (True, True)
    >>> InputError.exit_code
    3
    """

    exit_code = 1


class InputError(SecateursError, ValueError):
    """Something given cannot be used: a missing file, a wrong shape, an unknown name."""

    exit_code = 3


class UnsupportedEnsembleError(SecateursError, TypeError):
    """The model is of a kind that cannot be treated as asked; the message says why."""

    exit_code = 3


class UntrustedFileError(SecateursError):
    """A file was refused for safety, before anything in it could do harm."""

    exit_code = 4


class BudgetError(SecateursError, ValueError):
    """No set of members meets the budget."""

    exit_code = 5


class ParityError(SecateursError):
    """An exported model disagrees with the one it was made from; nothing was written."""

    exit_code = 6


class MissingExtraError(SecateursError, ImportError):
    """A package that is only installed on request is missing."""

    exit_code = 7


class ExecutorError(SecateursError, RuntimeError):
    """The workers of an executor or cluster failed: there are none, or they were lost."""

    exit_code = 8


def import_extra(module: str, extra: str, doing: str) -> Any:
    """Import a module of a package that is only installed on request."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'{doing} needs: pip install "secateurs[{extra}]"') from error


def one_line(error: BaseException) -> str:
    """Say shortly what went wrong inside another library."""
    lines = str(error).strip().splitlines() or [""]
    return printable(f"{type(error).__name__}: {lines[0][:200]}").rstrip(" :.")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one line of ours that names the file."""
    try:
        yield
    except Warning:  # for users who turn warnings into errors
        raise
    except SecateursError as error:
        raise type(error)(printable(f"{path} {error}")) from None
    except MemoryError as error:
        raise InputError(f"{path} needs more memory than there is.") from error
    except Exception as error:
        raise InputError(
            f"{path} cannot be read: {one_line(error)}. It is damaged, or was written by another "
            "program or version."
        ) from error


def printable(text: str) -> str:
    """Keep names from a file from breaking lines or steering a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
