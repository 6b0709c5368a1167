"""Typing commands in a test, and the files they are typed about."""

import inspect
import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.ensemble import RandomForestClassifier

from secateurs import DOMEP, EPFD, collect_votes, compare, export, load, prune, save
from secateurs.cli import secateurs
from secateurs.paper import reproduce

N_TREES, TARGET = 12, "churn"
PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
FEATURES = ["age", "income", "visits", "calls"]


# Parameters of the library, which the command line spells as options.
_CALLS = (compare, export, load, prune, save, DOMEP, EPFD, reproduce)
_PARAMETERS = {name for call in _CALLS for name in inspect.signature(call).parameters}
_PYTHON = re.compile(
    "|".join(rf"\b{name}\b{'' if '_' in name else '='}" for name in sorted(_PARAMETERS))
)


class Ended(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        return json.loads(self.err)["error"]

    @property
    def python(self):
        """Parameters that an error or a warning spells as Python does, except in quoted values."""
        said = re.findall(r'^(?:error: |warning: |\{"error").*', self.err, re.MULTILINE)
        return _PYTHON.findall(re.sub(r"'[^']*'", "", "\n".join(said)))


def examples():
    """The commands that docs/cli.md shows, as words, in their order."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    return [shlex.split(line[2:])[1:] for block in blocks for line in block.splitlines()]


def type_in(*words, env=None):
    """Type a command; it names options, and no parameter as Python spells it."""
    apart = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
    ended = CliRunner(**apart).invoke(secateurs, [str(word) for word in words], env=env)
    assert ended.exit_code != 1, (words, ended.stderr, ended.exception)
    found = Ended(ended.exit_code, ended.stdout, ended.stderr)
    assert found.python == [], (words, found.err)
    return found


def refused(code, *words):
    """Type a command that must be refused: one line on stderr, and nothing but that."""
    before = tree_of(Path.cwd())
    ended = type_in(*words)
    assert ended.code == code, ended
    assert ended.out == ""
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1, ended.err
    assert "Traceback" not in ended.err
    assert tree_of(Path.cwd()) == before
    return ended.err


def tree_of(folder):
    """All files below a folder, hidden ones too, with their content."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def make_rows(n_rows, seed):
    """Rows of three classes that four features tell apart, not quite."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    X = rng.normal(size=(n_rows, len(FEATURES))) + 1.1 * np.eye(3, len(FEATURES))[y]
    return pd.DataFrame(X.round(6), columns=FEATURES), np.array(["left", "stays", "waits"])[y]


def make_files(folder):
    """A forest, rows to choose on and to test on, and predictions."""
    X, y = make_rows(150, 0)
    forest = RandomForestClassifier(N_TREES, random_state=0).fit(X, y)
    save(forest, folder / "forest.skops")
    (folder / "forest.skops.json").unlink()
    for name, n_rows, seed in (("val", 120, 1), ("test", 110, 2)):
        X, y = make_rows(n_rows, seed)
        rows = X.assign(**{TARGET: y})
        rows.to_csv(folder / f"{name}.csv", index=False)
        rows.to_parquet(folder / f"{name}.parquet")
        votes = collect_votes(forest, X)
        names = [f"tree {member}" for member in range(N_TREES)]
        table = pd.DataFrame(votes, columns=names).assign(truth=y)
        table.to_csv(folder / f"{name}-votes.csv", index=False)
        table.to_parquet(folder / f"{name}-votes.parquet")
        np.savez(folder / f"{name}-votes.npz", votes=votes.astype(str), y=y)
        shares = np.stack([tree.predict_proba(X.to_numpy()) for tree in forest.estimators_], axis=1)
        np.savez(folder / f"{name}-shares.npz", probabilities=shares, y=y, classes=forest.classes_)
