"""The long commands, as short as they get: demo and reproduce."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import examples, refused, tree_of, type_in

from secateurs import load
from secateurs.commands.reproduce import _format_outcome
from secateurs.paper import Claim, load_plan

HEAD = ["method", "members"]
VERDICTS = (("a", "holds"), ("b", "does not hold"), ("c", "cannot be told"))


def example_of(command):
    """The words that docs/cli.md shows."""
    (words,) = (words for words in examples() if words[0] == command)
    return words


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("a place")


@pytest.fixture(scope="module")
def screen(place):
    """The lines of a demo on a terminal, where both streams are shown."""
    words = [sys.executable, "-m", "secateurs", *example_of("demo"), "--trees", "50"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(words, cwd=place, check=True, timeout=300, **streams).stdout.splitlines()


@pytest.fixture(scope="module")
def shown(place, screen):
    """A demo, run for the second time."""
    with contextlib.chdir(place):
        return place, type_in(*example_of("demo"), "--trees", "50")


def test_a_demo_shows_every_method_and_writes_its_files(shown):
    place, ended = shown
    folder = place / "demo"
    assert ended.code == 0, ended.err
    made = {".secateurs-demo", "choose.csv", "forest.skops.json", "forest.skops", "report.html"}
    made |= {"small.skops.json", "small.skops", "test.csv"}
    assert {path.name for path in folder.iterdir()} == made
    assert ended.out.splitlines()[0].split()[:2] == HEAD
    for name in (
        "comep",
        "domep",
        "kl",
        "kp",
        "oo",
        "re",
        "drep",
        "sep",
        "oep",
        "pep",
        "all members",
    ):
        assert f" {name} " in ended.out
    assert (folder / "report.html").read_text("utf-8").lower().startswith("<!doctype html>")
    small = load(folder / "small.skops")
    assert type(small) is type(load(folder / "forest.skops"))
    assert 0 < len(small.estimators_) <= 30


def test_a_demo_prints_its_advice_before_its_table(screen):
    (advice,) = (index for index, line in enumerate(screen) if line.startswith("use "))
    (table,) = (index for index, line in enumerate(screen) if line.split()[:2] == HEAD)
    assert advice < table
    assert "; a fresh forest of " in screen[advice]
    assert screen[-1].startswith("next: ")


def test_the_command_that_a_demo_prints_works_as_printed(shown):
    place, ended = shown
    line = next(line for line in ended.err.splitlines() if line.startswith("next: "))
    # As a shell runs it, wherever the environment is: `secateurs` need not be on the PATH.
    pruned = subprocess.run(
        line.removeprefix("next: "),
        shell=True,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert pruned.returncode == 0, pruned.stderr
    assert "450 test samples" in pruned.stderr
    assert load(place / "demo" / "forest-pruned.skops").n_estimators in (10, 30)


def test_a_demo_spares_files_of_others(tmp_path, monkeypatch):
    (tmp_path / "forest.skops").write_text("precious")
    monkeypatch.chdir(tmp_path)
    assert "forest.skops is not from a demo" in refused(3, "demo", "-o", ".", "-q")
    assert "forest.skops is not a folder" in refused(3, "demo", "-o", "forest.skops", "-q")


def test_experiments_are_repeated_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SECATEURS_DATA", raising=False)
    words = example_of("reproduce")
    first = type_in(*words, "--json").json
    assert first["measured_now"] == first["cells"] > 0
    assert first["page"] == "results/index.html"
    for name in (first["page"], *first["tables"], *first["figures"]):
        assert Path(name).is_file()
    assert set(first["claims"].values()) == {"not measured"}  # a figure without claims
    assert json.loads((tmp_path / "results" / "missing.json").read_text()) == []
    before = tree_of(tmp_path / "results" / "results")
    again = type_in(*words)
    assert again.code == 0
    assert f"{first['cells']}, 0 of them new" in again.out
    assert again.out.splitlines()[0] == "not measured  21 claims of the paper."
    assert again.out.splitlines()[-1].startswith("missing data sets")
    assert tree_of(tmp_path / "results" / "results") == before


def test_verdicts_are_printed_first_and_claims_not_judged_with_the_reason():
    facts = {"cells": 9, "measured_now": 3, "missing": {"ames": "Not public."}, "folder": "out"}
    facts |= {"tables": [], "figures": ["a.png", "a.svg"], "page": "out/index.html"}
    claims = [Claim(name, f"Claim {name}.", verdict, "", "", {}) for name, verdict in VERDICTS]
    claims += [claims[0].unjudged("Stand-in data."), claims[1].unjudged("Stand-in data.")]
    assert _format_outcome(facts, claims).splitlines() == [
        "holds           Claim a.",
        "does not hold   Claim b.",
        "cannot be told  1 claim of the paper.",
        "not judged      2 claims of the paper. Stand-in data.",
        "",
        "measurements       9, 3 of them new",
        "figures            1 in out/figures",
        "page               out/index.html",
        "missing data sets  ames",
    ]


def test_a_dry_run_counts_what_there_is_to_measure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("reproduce", "--only", "table-dt", "--only", "table-knn", "--dry-run", "--json")
    for quick in (False, True):
        counts = {name: load_plan(name, quick) for name in ("table-dt", "table-knn")}
        expected = {name: len(set(plan.cells(0))) for name, plan in counts.items()}
        assert type_in(*words, "--quick" if quick else "--full").json["cells"] == expected
    assert type_in(*words).json == type_in(*words, "--full").json
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_no_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").write_text("precious")
    words = ("reproduce", "--quick", "--only", "figure-scale", "-o", "results")
    assert "results is not a folder" in refused(3, *words)
    assert "sets is not a folder" in refused(3, *words[:-2], "--data", "sets")
