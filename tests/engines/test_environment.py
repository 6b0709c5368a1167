"""What a bug report shows of versions, machine and threads."""

import platform
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

import secateurs
from secateurs.engines import environment

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def shown(capsys):
    """The sections as they are printed: names and values."""
    secateurs.show_versions()
    sections = {}
    for line in capsys.readouterr().out.splitlines():
        if re.fullmatch(r"\w+", line):
            section = sections[line] = {}
        elif line:
            name, value = line.split(": ", 1)
            section[name.strip()] = value
    return sections


def test_versions_are_those_that_run(capsys):
    sections = shown(capsys)
    system = sections["System"]
    assert system["secateurs"] == secateurs.__version__
    assert system["python"].startswith(platform.python_version())
    assert system["executable"] == sys.executable
    assert system["machine"] == platform.platform()
    assert sections["Dependencies"]["numpy"] == np.__version__
    assert sections["Dependencies"]["scikit-learn"] == version("scikit-learn")
    assert all(int(n) >= 1 for n in sections["Threads"].values())
    assert {"machine", "joblib"} < set(sections["Threads"])


def test_packages_that_are_not_installed_are_none(capsys, monkeypatch):
    def only_numpy(package):
        if package != "numpy":
            raise PackageNotFoundError(package)
        return "2.0"

    monkeypatch.setattr(environment, "version", only_numpy)
    sections = shown(capsys)
    assert sections["Dependencies"]["numpy"] == "2.0"
    assert sections["Dependencies"]["scipy"] == "None"
    assert set(sections["Extras"].values()) == {"None"}


@pytest.mark.skipif(not PYPROJECT.exists(), reason="needs the repository")
def test_every_dependency_is_shown():
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    extras = {
        requirement
        for extra, requirements in project["optional-dependencies"].items()
        for requirement in requirements
        if extra not in ("test", "docs")
    }

    def names(requirements):
        return sorted(re.match(r"[\w-]+", requirement)[0] for requirement in requirements)

    assert sorted(environment._DEPENDENCIES) == names(project["dependencies"])
    assert sorted(environment._EXTRAS) == names(extras)
