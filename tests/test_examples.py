"""The examples run, and are as the gallery wants them."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
GALLERY = ROOT / "docs" / "_build" / "html" / "gallery"

pytestmark = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def test_the_example_runs(path):
    page = (GALLERY / path.relative_to(ROOT / "examples")).with_suffix(".html")
    if page.exists() and page.stat().st_mtime > path.stat().st_mtime:
        pytest.skip("make docs has run it")
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:secateurs", str(path)],
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


def test_the_example_has_a_title_and_ends_in_a_figure(path):
    tree = ast.parse(path.read_text("utf-8"))
    title, line = (ast.get_docstring(tree) or "").splitlines()[:2]
    assert path.name.startswith("plot_")
    assert line == "=" * len(title)
    assert ast.unparse(tree.body[-1]) == "plt.show()"
