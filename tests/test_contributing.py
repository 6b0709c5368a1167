"""CONTRIBUTING's method, added to a copy of the project as the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).parents[1]
TOUCHED = (
    *("src/secateurs/pruners/_my_method.py", "src/secateurs/_methods.py"),
    *("tests/naive.py", "tests/pruners/test_my_method.py"),
)


def written():
    """The page's blocks of code: twin, file, line and test."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    blocks = re.findall(r"^   ```python\n(.*?)^   ```$", text, re.M | re.S)
    return [dedent(block) for block in blocks]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with one more method, as CONTRIBUTING adds it."""
    twin, file, line, test = written()
    project = tmp_path_factory.mktemp("project")
    unwanted = shutil.ignore_patterns("*.pyc")  # but compiled kernels save time
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, project / folder, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", project)
    with (project / "tests/naive.py").open("a", encoding="utf-8") as naive:
        naive.write(f"\n\n{twin}")
    (project / "src/secateurs/pruners/_my_method.py").write_text(file, "utf-8")
    (project / "tests/pruners/test_my_method.py").write_text(test, "utf-8")
    registry = project / "src/secateurs/_methods.py"
    before, after = registry.read_text("utf-8").split("        ),\n    )\n)\n")
    entry = indent(f"{line.rstrip()},\n", " " * 8)
    registry.write_text(f"{before}        ),\n{entry}    )\n)\n{after}", "utf-8")
    return project


def runs(project, *command):
    """Run a tool of Python's in the copy; what it prints is shown where it fails."""
    paths = {"PYTHONPATH": str(project / "src")}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_template_is_as_the_linters_want_it(project):
    runs(project, "ruff", "check", *TOUCHED)
    runs(project, "ruff", "format", "--check", *TOUCHED)


def test_the_template_has_its_types(project):
    known = ROOT / ".mypy_cache"  # saves most of the time, where types were checked before
    cache = known if known.exists() else project / ".mypy_cache"
    told = runs(project, "mypy", "--cache-dir", str(cache), *TOUCHED[:2])
    assert "Success" in told


def test_the_template_passes_the_common_tests_and_its_own(project):
    """Scikit-learn's checks, ours, declarations, names, reports and its doctest."""
    told = runs(
        *(project, "pytest", "-q", "-k", "mine or MyPruner or my_method"),
        *("tests/test_common.py", "tests/test_bad_input.py", "tests/outputs/test_missing.py"),
        *("tests/pruners/test_my_method.py", "src/secateurs/pruners/_my_method.py"),
    )
    n_passed = int(re.search(r"(\d+) passed", told)[1])
    assert n_passed > 80
    assert not re.search(r"\d failed", told)


def test_the_template_is_found_by_everything_else(project):
    """By public names, the command line, comparisons and reports."""
    runs(
        *(project, "pytest", "-q", "tests/test_package.py", "tests/test_methods.py"),
        *("-k", "not readme"),
    )
    assert "MyPruner" in runs(project, "secateurs", "methods")
    assert "errors of the vote" in runs(project, "secateurs", "methods", "mine")
