"""A folder with files to type commands about, fresh for each test."""

import shutil

import pytest
from command_line import make_files


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    make_files(folder)
    return folder


@pytest.fixture
def desk(originals, tmp_path, monkeypatch):
    """The folder that commands are typed in."""
    folder = tmp_path / "desk"
    shutil.copytree(originals, folder)
    monkeypatch.chdir(folder)
    return folder
