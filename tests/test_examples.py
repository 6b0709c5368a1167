"""The examples run, and are as the gallery wants them."""

import ast
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
GALLERY = ROOT / "docs" / "_build" / "html" / "gallery"

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)

# Imports what examples need, which takes most of the time, and runs each in a forked child.
RUN_EXAMPLES = """
import json, os, runpy, sys, traceback
import matplotlib.pyplot, sklearn.ensemble, sklearn.model_selection
import secateurs.displays, secateurs.pruning
for line in sys.stdin:
    path, log = json.loads(line)
    child = os.fork()
    if not child:
        output = os.open(log, os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        try:
            runpy.run_path(path, run_name="__main__")
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def runner():
    """A process that runs the examples that it reads from its input."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning:secateurs", "-c", RUN_EXAMPLES],
        env=os.environ | {"MPLBACKEND": "Agg"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate(timeout=300)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@each_example
def test_the_example_runs(path, runner, tmp_path):
    page = (GALLERY / path.relative_to(ROOT / "examples")).with_suffix(".html")
    if page.exists() and page.stat().st_mtime > path.stat().st_mtime:
        pytest.skip("make docs has run it")
    log = tmp_path / "log.txt"
    runner.stdin.write(json.dumps([str(path), str(log)]) + "\n")
    runner.stdin.flush()
    assert select.select([runner.stdout], [], [], 600)[0], "no answer in time"
    assert runner.stdout.readline() == "0\n", log.read_text("utf-8")


@each_example
def test_the_example_has_a_title_and_ends_in_a_figure(path):
    tree = ast.parse(path.read_text("utf-8"))
    title, line = (ast.get_docstring(tree) or "").splitlines()[:2]
    assert path.name.startswith("plot_")
    assert line == "=" * len(title)
    assert ast.unparse(tree.body[-1]) == "plt.show()"
