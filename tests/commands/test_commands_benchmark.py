"""secateurs benchmark: plans, what they write, and what is wrong with some."""

import contextlib
import re

import pytest
from command_line import tree_of, type_in

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


def test_other_words_are_refused(place):
    assert type_in("benchmark", "none.toml").code == 3
    assert type_in("benchmark").code == 2
    (place / "file").write_text("")
    assert "file is not a folder" in typed(PLAN, "-o", "file").err
