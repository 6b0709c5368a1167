"""The package as a whole: what it exports, and that importing it is light."""

import subprocess
import sys
from importlib import resources

import pytest

import secateurs


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    ).stdout


def test_public_names_can_be_had():
    for name in secateurs.__all__:
        assert getattr(secateurs, name) is not None
        assert name in dir(secateurs)
    with pytest.raises(AttributeError, match="no attribute 'COMPE'"):
        _ = secateurs.COMPE


def test_public_names_stay_what_they_are():
    """A submodule of the same name would take a function's place once it is loaded."""
    first = {name: getattr(secateurs, name) for name in secateurs.__all__}
    assert all(getattr(secateurs, name) is first[name] for name in first)
    assert callable(secateurs.export)
    assert callable(secateurs.prune)


def test_importing_the_package_loads_nothing_heavy():
    loaded = run("import sys, secateurs; print(*sorted(sys.modules))").split()
    assert not {"numpy", "sklearn", "numba", "pandas"} & set(loaded)


def test_types_are_shipped():
    assert resources.files(secateurs).joinpath("py.typed").is_file()
