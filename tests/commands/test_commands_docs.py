"""docs/cli.md: its examples work as printed, one after the other, and it leaves nothing out."""

import re
import shutil
from pathlib import Path

import joblib
from command_line import PAGE, examples, type_in

from secateurs import exceptions, load
from secateurs.cli import COMMANDS

LONG = ("demo", "reproduce", "warm")  # tested elsewhere


def test_the_examples_work_as_printed(desk, monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)
    shutil.copy("val-votes.csv", "votes.csv")
    shutil.copy("val-shares.npz", "shares.npz")
    joblib.dump(load("forest.skops"), "forest.joblib")
    (plan,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    Path("plan.toml").write_text(plan, "utf-8")
    for words in examples():
        if words[0] not in LONG:
            ended = type_in(*words)
            assert ended.code == 0, (words, ended.err)
            assert ended.out or "wrote " in ended.err


def test_every_command_has_an_example():
    assert {words[0] for words in examples()} == set(COMMANDS)
    assert PAGE.count("$ secateurs ") == len(examples())


def test_every_exit_code_is_in_the_table():
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    kinds = [kind for kind in vars(exceptions).values() if hasattr(kind, "exit_code")]
    assert listed == {kind.exit_code for kind in kinds} | {0, 1, 2, 130, 141}
