"""Benchmarks of the first call and the demo after an installation: processor time."""

import compileall
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import secateurs
from benchmarks.report import Row, pretty

_PRUNE = """
import json, sys, time
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

settings = json.loads(sys.argv[1])
is_regression = settings.pop("is_regression", False)
X, y = (load_diabetes if is_regression else load_digits)(return_X_y=True)
kind = RandomForestRegressor if is_regression else RandomForestClassifier
forest = kind(100, random_state=0).fit(X[::2], y[::2])
took = []
for _ in range(2):
    start = time.process_time()
    from secateurs import prune

    prune(forest, X[1::2], y[1::2], random_state=0, **settings)
    took.append(time.process_time() - start)
print(json.dumps(took))
"""


def first_call() -> Iterator[Row]:
    """Processor time of the first `prune` of 100 trees after an installation, and of a second one.

    The first call imports the package and compiles what it needs.
    """
    for what, settings in {
        "by default": {},
        "COMEP, a tenth": {"pruner": "comep", "keep": 0.1},
        'pruner="auto" within a tolerance': {"pruner": "auto", "tolerance": 0.005},
        "of regressors": {"is_regression": True},
    }.items():
        with installed_copy() as environment:
            done = subprocess.run(
                [sys.executable, "-c", _PRUNE, json.dumps(settings)],
                env=environment,
                capture_output=True,
                check=True,
            )
        first, second = json.loads(done.stdout)
        figures = f"{pretty(first)}, then {pretty(second)}"
        most = 2 if not settings else 3
        yield Row(f"the first `prune`, {what}", figures, first, at_most=most, unit="s")


def demo() -> Iterator[Row]:
    """Processor time of `secateurs demo` after an installation, and of a second run."""
    took = []
    with installed_copy() as environment, tempfile.TemporaryDirectory() as folder:
        for run in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, "-m", "secateurs", "demo", "--output", f"{folder}/{run}"],
                env=environment,
                capture_output=True,
                check=True,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.append(sum(after[:2]) - sum(before[:2]))
    figures = f"{pretty(took[0])}, then {pretty(took[1])}"
    yield Row("`secateurs demo` after an installation", figures, took[0], at_most=30, unit="s")


@contextmanager
def installed_copy() -> Iterator[dict[str, str]]:
    """Copy the package as pip installs it, with bytecode and without kernels; yield environment."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "secateurs"
        shutil.copytree(
            Path(secateurs.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
        )
        compileall.compile_dir(copy, quiet=1)
        kept = {name: text for name, text in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        yield {**kept, "PYTHONPATH": folder}


PARTS = (first_call, demo)
