"""Errors: one family, told apart by the command line's exit codes."""

from pathlib import Path

import pytest

from secateurs import exceptions
from secateurs.exceptions import InputError, SecateursError, UntrustedFileError, reading

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
    with pytest.raises(expected) as caught, reading(Path("a.skops")):
        raise raised
    assert type(caught.value) is expected
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)
