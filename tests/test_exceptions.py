"""Errors: one family, told apart by the command line's exit codes."""

import pickle
import warnings
from pathlib import Path

import pytest

from secateurs import exceptions
from secateurs.exceptions import (
    InputError,
    SecateursError,
    SecateursWarning,
    UntrustedFileError,
    reading_file,
)

EXIT_CODES = {
    "SecateursError": (1, Exception),
    "InputError": (3, ValueError),
    "UnsupportedEnsembleError": (3, TypeError),
    "UntrustedFileError": (4, SecateursError),
    "BudgetError": (5, ValueError),
    "ParityError": (6, SecateursError),
    "MissingExtraError": (7, ImportError),
}


@pytest.mark.parametrize("name", EXIT_CODES)
def test_every_error_has_its_exit_code_and_its_family(name):
    error = getattr(exceptions, name)
    code, parent = EXIT_CODES[name]
    assert error.exit_code == code
    assert issubclass(error, SecateursError)
    assert issubclass(error, parent)


@pytest.mark.parametrize(
    ("raised", "expected", "text"),
    [
        (KeyError("b"), InputError, "a.skops cannot be read: KeyError: 'b'. It is damaged"),
        (ValueError("one\ntwo"), InputError, "a.skops cannot be read: ValueError: one. It is"),
        (OSError(), InputError, "a.skops cannot be read: OSError. It is damaged"),
        (MemoryError(), InputError, "a.skops needs more memory"),
        (UntrustedFileError("is bad"), UntrustedFileError, "a.skops is bad"),
        (UserWarning("old"), UserWarning, "old"),
        (KeyboardInterrupt(), KeyboardInterrupt, ""),
    ],
)
def test_errors_while_reading_become_one_line_that_names_the_file(raised, expected, text):
    with pytest.raises(expected) as caught, reading_file(Path("a.skops")):
        raise raised
    assert type(caught.value) is expected
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [InputError, SecateursWarning])
def test_messages_are_formatted_for_the_reader_also_after_pickling(kind):
    message = pickle.loads(pickle.dumps(kind("Give {oob}, not {keep}.", oob=True, keep=...)))
    assert type(message) is kind
    assert str(message) == "Give oob=True, not keep."
    assert message.spelled(lambda name, _: f"--{name}") == "Give --oob, not --keep."


def test_our_warnings_are_user_warnings():
    with pytest.warns(UserWarning, match="Give oob=True"):
        warnings.warn(SecateursWarning("Give {oob}.", oob=True), stacklevel=1)


def test_messages_about_any_name_can_be_printed():
    name = "\ud800.csv"
    error = InputError(f"{name} lacks {{column}}.", column=name)
    assert str(error).encode().startswith(b"?.csv lacks column='")
    assert error.spelled(lambda _, value: value) == "?.csv lacks ?.csv."
