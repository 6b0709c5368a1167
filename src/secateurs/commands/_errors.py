"""What goes wrong, as an exit code and one line; for ``--json`` as an object."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from secateurs._text import one_line
from secateurs.exceptions import (
    BudgetError,
    ExecutorError,
    InputError,
    MissingExtraError,
    ParityError,
    SecateursError,
    UnsupportedEnsembleError,
    UntrustedFileError,
)

INTERRUPTED = 130
_LONGEST = 1000  # letters in a line: names from files may be of any length
_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (UnsupportedEnsembleError, "input.unsupported_ensemble"),
    (UntrustedFileError, "safety.refused"),
    (BudgetError, "budget.not_met"),
    (ParityError, "parity.differs"),
    (MissingExtraError, "extra.missing"),
    (ExecutorError, "workers.failed"),
    (SecateursError, "input.unusable"),
)
# The library speaks of parameters, the command line of options.
_OPTIONS: tuple[tuple[str, str], ...] = (
    (r"meets max_bytes=(\S+?)\. ", r"meets --max-size \1. "),
    (r"meets max_latency=(\S+?)\. ", r"meets --max-latency \1s. "),
    (r"max_bytes=(\d+)", r"--max-bytes \1"),
    (r"\bmax_bytes\b", "--max-bytes"),
    (r"trust='pickle'", "--trust-pickle"),
    (r"sha256='([0-9a-f]+)'", r"--sha256 \1"),
    (r"Give its sha256", "Give its --sha256"),
    (r"force=True", "--force"),
    (r"oob=True", "--oob"),
    (r"\bkeep=(\S+)", r"--keep \1"),
    (r"\bn_groups=(\S+)", r"--groups \1"),
    (r"\bdiversity_weight=(\S+)", r"--lambda \1"),
    (r"\bX_check\b", "The table to check"),
    (r"\bdata_dir\b", "--data"),
)


class Refusal(InputError):  # noqa: N818
    """Bad input that a command found by itself, with a code of its own.

    Parameters
    ----------
    code : str
        What is wrong, in one or two words with underscores.
    message : str
        What came, what is allowed, what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = f"input.{code}"


@dataclass(frozen=True)
class Failure:
    """The end of a command that did not succeed."""

    exit_code: int
    code: str
    text: str

    def as_json(self) -> dict[str, Any]:
        """Give the error as ``--json`` prints it: what is wrong, and what to do."""
        message, _, hint = self.text.partition(". ")
        message = message if not hint else f"{message}."
        return {"error": {"code": self.code, "message": message, "hint": hint or None}}


def failure(error: BaseException) -> Failure:
    """Find out what an exception means to the one who typed the command."""
    for kind, explain in _MEANINGS:
        if isinstance(error, kind):
            return explain(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = one_line(f"internal error ({text}). Run again with --debug and report it.")
    return Failure(1, "internal", text)


def _of_ours(error: Any) -> Failure:
    code = getattr(error, "code", None)
    code = code or next(code for kind, code in _CODES if isinstance(error, kind))
    return Failure(error.exit_code, code, as_options(str(error)))


def _of_click(error: Any) -> Failure:
    context, text = getattr(error, "ctx", None), one_line(error.format_message())
    if context is not None:
        end = "" if text.endswith((".", "?")) else "."
        text = f"{text}{end} See: {context.command_path} --help"
    return Failure(error.exit_code, "usage", text)


def _of_system(error: Any) -> Failure:
    where = f"{error.filename}: " if error.filename else ""
    return Failure(3, "input.file", as_options(f"{where}{error.strerror or error}"))


_STOPPED = Failure(INTERRUPTED, "interrupted", "stopped. The same command goes on or starts again.")
_TOO_LARGE = Failure(3, "input.too_large", "This takes more memory than there is. Give less.")
_MEANINGS: tuple[tuple[Any, Callable[[Any], Failure]], ...] = (
    ((KeyboardInterrupt, click.Abort), lambda _: _STOPPED),
    (click.ClickException, _of_click),
    (SecateursError, _of_ours),
    (MemoryError, lambda _: _TOO_LARGE),
    (OSError, _of_system),
    # What the library and scikit-learn refuse.
    (ValueError, lambda error: Failure(3, "input.unusable", as_options(str(error)))),
)


def as_options(text: str) -> str:
    """Say a message of the library in the words of the command line, on one line."""
    for pattern, option in _OPTIONS:
        text = re.sub(pattern, option, text)
    line = one_line(re.sub(r"trust_types=\[(.*?)\]", _trust_options, text))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _trust_options(found: re.Match[str]) -> str:
    names = re.findall(r"'([^']*)'", found[1])
    return " ".join(f"--trust-type {name}" for name in names) or "--trust-type"
