"""secateurs benchmark: plans, what they write, and what is wrong with some."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import tree_of, type_in

import secateurs
from secateurs.commands._plan_modules import import_class

PLAN = """
methods = ["re", "kp"]
keep = [2, 0.5]
folds = 3

[datasets]
sklearn = ["iris"]
paper = ["wine"]

[ensembles.bags]
class = "sklearn.ensemble.BaggingClassifier"
n_estimators = 6
estimator = {class = "sklearn.tree.DecisionTreeClassifier", max_depth = 3}
"""
MINE = """
import numpy as np

class Mine:
    def __init__(self, step=1, keep=None):
        self.step, self.keep = step, keep

    def fit(self, votes, y):
        self.member_indices_ = np.arange(self.keep) * self.step
        return self
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)
    with contextlib.chdir(tmp_path):
        yield tmp_path


def typed(text, *words):
    with open("plan.toml", "w", encoding="utf-8") as handle:
        handle.write(text)
    return type_in("benchmark", "plan.toml", *words)


def test_a_plan_is_counted_run_and_resumed(place):
    assert typed(PLAN, "--dry-run").out == "72 measurements\n"
    assert [path.name for path in tree_of(place)] == ["plan.toml"]
    (place / "own.py").write_text(MINE)
    text = PLAN.replace('["re", "kp"]', '{re = "re", mine = {class = "own.Mine", step = 2}}')
    first = typed(text, "-o", "out", "--json")
    assert first.code == 0, first.err
    assert set(first.json["ranks"]) == {"2", "0.5"}
    assert set(first.json["ranks"]["2"]) == {"re", "mine"}
    page = (place / "out" / "index.html").read_text("utf-8")
    assert "max_depth=3" in page
    before = tree_of(place / "out")
    again = typed(text, "-o", "out")
    assert again.out.splitlines()[0].split() == ["average", "rank", "keep", "2", "keep", "0.5"]
    assert tree_of(place / "out") == before


BAD = {
    "folds = 3": {
        "folds = 2": "plan.toml: folds = 2 is not valid. Pass 3 or more",
        'folds = "3"': "plan.toml has folds = '3'. Pass an integer.",
        "fold = 3": "plan.toml has unknown setting fold. Did you mean 'folds'?",
        'control = "oo"': "plan.toml: control = 'oo' is unknown. Pass one of: re, kp.",
        'scoring = "r2"': "plan.toml: scoring = 'r2' is a regression score",
        "folds = [": "plan.toml cannot be read: TOMLDecodeError",
    },
    '["iris"]': {
        '["irs"]': "plan.toml has datasets.sklearn 'irs'. Did you mean 'iris'?",
        '["iris"]\nfolder = "none"': "plan.toml: none is not a folder",
        '["wine"]': "plan.toml has two data sets named 'wine'.",
        '["iris"]\nfiles = {a = "a.csv"}': "plan.toml: Data set a: a.csv is not a file",
    },
    '["wine"]': {
        '["ames"]': "plan.toml: Data set ames: ames is not available. "
        "It is not publicly available.",
        '["wino"]': "plan.toml: Data set wino: 'wino' is not a known data set.",
    },
    '"sklearn.ensemble.BaggingClassifier"': {
        '"sklearn.ensemble.Bagging"': "plan.toml has ensembles.bags.class = 'sklearn.ensemble.Bag",
        "3": "plan.toml has ensembles.bags = ",
        '".x.y"': "plan.toml has ensembles.bags.class = '.x.y', which is not a class. Pass its mod",
        '"Bags"': "plan.toml has ensembles.bags.class = 'Bags', which is not a class.",
        '"a..B"': "plan.toml has ensembles.bags.class = 'a..B', which is not a class.",
        '"nowhere.B"': "cannot be imported: ModuleNotFoundError: No module named 'nowhere'",
        '"sklearn.svm.SVC"': "plan.toml has ensembles.bags with wrong parameters: TypeError",
    },
    '["re", "kp"]': {
        '["re", "kpp"]': "plan.toml: pruner = 'kpp' is unknown. Did you mean 'kp'",
        '{a = {pruner = "re", lamda = 1}}': "plan.toml has methods.a wrong: pruner = 're' takes no",
        "{a = 3}": "plan.toml has methods.a = 3. Pass a table with pruner",
    },
    "keep = [2, 0.5]": {
        "keep = 0": "plan.toml: keep = 0 is not a valid size.",
        "keep = 7": "keep = 7 asks for more members than the ensemble has (6).",
    },
}


@pytest.mark.parametrize(
    ("old", "new", "message"), [(old, *pair) for old, more in BAD.items() for pair in more.items()]
)
def test_bad_plans_get_one_line_and_the_code_for_input(place, old, new, message):
    ended = typed(PLAN.replace(old, new), "-q", "-o", "out")
    assert ended.code == 3, ended.err
    assert ended.out == ""
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not re.search(r"\{\w+\}|--keep|--folds", ended.err)
    assert not (place / "out" / "index.html").exists()


def mine(name, *words):
    text = PLAN.replace('["re", "kp"]', f'{{mine = {{class = "{name}", step = 2}}}}')
    return typed(text.replace("keep = [2, 0.5]", "keep = 2"), "-q", *words)


def test_only_modules_that_the_plan_names_are_imported(place):
    """Runs as a command of its own, so that no library is imported before the plan is read."""
    libraries = ("matplotlib", "sklearn", "pandas", "rich", "joblib", "json", "sitecustomize")
    for name in (*libraries, "own_helper"):
        (place / f"{name}.py").write_text(f"open({name!r} + '.ran', 'w'); raise SystemExit(9)")
    (place / "own.py").write_text(MINE)
    text = PLAN.replace('["re", "kp"]', '{mine = {class = "own.Mine", step = 2}}')
    (place / "plan.toml").write_text(text.replace("keep = [2, 0.5]", "keep = 2"))
    command = [sys.executable, "-m", "secateurs", "benchmark", "plan.toml", "-q", "--n-jobs", "2"]
    source = str(Path(secateurs.__file__).parents[1])
    ended = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": source},
        cwd=place,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert not list(place.glob("*.ran"))
    assert (place / "benchmark" / "index.html").is_file()


def test_a_file_with_the_name_of_a_library_is_not_used_and_the_plan_says_so(place):
    (place / "colorsys.py").write_text(MINE)  # a module of Python's own library
    ended = mine("colorsys.Mine")
    assert ended.code == 3
    assert "colorsys.py is not used, as an installed package has its name: rename it" in ended.err


def test_a_module_next_to_the_plan_may_be_a_package_but_does_not_import_its_neighbours(place):
    (place / "helper_of_mine.py").write_text("STEP = 2")
    (place / "lonely.py").write_text("import helper_of_mine\n" + MINE)
    ended = mine("lonely.Mine")
    assert ended.code == 3
    assert "put helper_of_mine and lonely into one package" in ended.err
    (place / "packed").mkdir()
    (place / "packed" / "__init__.py").write_text("")
    (place / "packed" / "helper.py").write_text("STEP = 2")
    (place / "packed" / "inner.py").write_text("from packed.helper import STEP\n" + MINE)
    assert mine("packed.inner.Mine", "--dry-run").code == 0
    (place / "broken.py").write_text("def broken(:")
    ended = mine("broken.Mine")
    assert ended.code == 3
    assert "broken.Mine', which cannot be imported: SyntaxError" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_modules_of_two_plans_may_have_the_same_name(place):
    for folder, step in (("a", 1), ("b", 2)):
        (place / folder).mkdir()
        (place / folder / "same_name.py").write_text(MINE.replace("step=1", f"step={step}"))
        assert import_class("same_name.Mine", place / folder)().step == step


def test_other_words_are_refused(place):
    assert type_in("benchmark", "none.toml").code == 3
    assert type_in("benchmark").code == 2
    (place / "file").write_text("")
    assert "file is not a folder" in typed(PLAN, "-o", "file").err
