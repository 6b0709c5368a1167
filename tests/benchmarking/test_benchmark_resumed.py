"""Interrupted benchmarks: only what is missing is measured, and the files are the same."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

from secateurs import benchmark, make_pruner


def forest():
    return RandomForestClassifier(12)


def last(votes, y, keep):
    """Keep the last members."""
    return range(votes.shape[1] - keep, votes.shape[1])


class Mine:
    """Keep the first members."""

    def __init__(self, keep=1):
        self.keep = keep

    def fit(self, votes, y):
        self.member_indices_ = list(range(self.keep))
        return self


def calls_of(**changes):
    """Number of measurements that were there, and of all."""
    calls = []
    settings = {"datasets": {"iris": load_iris}, "ensembles": forest(), "methods": ["re"]}
    settings |= {"keep": 3, "folds": 3, "callback": lambda *call: calls.append(call)}
    benchmark(**settings | changes)
    assert calls[-1][0] == calls[-1][1]
    return calls[0][:2]


def test_only_what_is_new_is_measured(tmp_path):
    assert calls_of(results=tmp_path) == (0, 15)
    assert calls_of(results=tmp_path) == (15, 15)
    assert calls_of(results=tmp_path, methods=["re", "kp"]) == (15, 18)
    assert calls_of(results=tmp_path, keep=[3, 4], methods=["re", "kp"]) == (18, 36)
    assert calls_of(results=tmp_path, repeats=2) == (15, 30)
    X, y = load_iris(return_X_y=True)
    assert calls_of(results=tmp_path, datasets={"iris": (X, y)}) == (15, 15)  # the same rows
    assert calls_of(results=tmp_path, datasets={"iris": (X + 1, y)}) == (0, 15)
    assert calls_of(results=tmp_path, ensembles=RandomForestClassifier(13)) == (0, 15)
    assert calls_of(results=tmp_path, methods={"re": make_pruner("re", backfit=True)})[0] < 15


def test_a_changed_score_is_named_and_measured_again(tmp_path):
    calls = []
    settings = {"keep": 3, "folds": 3, "results": tmp_path, "callback": lambda *c: calls.append(c)}
    whole = benchmark({"iris": load_iris}, forest(), ["re"], **settings).frame
    path = sorted((tmp_path / "results").glob("*.jsonl"))[0]
    content = path.read_bytes()
    changed = re.sub(rb'"score": 0\.\d', b'"score": 0.1', content, count=1)
    assert changed != content
    path.write_bytes(changed)
    calls.clear()
    with pytest.warns(UserWarning, match=rf"measured again: .*{re.escape(path.name)} \(line 1\)"):
        repaired = benchmark({"iris": load_iris}, forest(), ["re"], **settings).frame
    assert calls[0][:2] == (14, 15)
    timed = [name for name in whole if name.endswith("seconds")]
    assert repaired.drop(columns=timed).equals(whole.drop(columns=timed))


SCRIPT = """
import sys, time
sys.path.insert(0, {here!r})
from test_benchmark_resumed import Mine, forest, last, load_iris, load_wine
from secateurs import benchmark
calls = []
def slow(votes, y, keep):
    calls.append(keep)
    if len(calls) == 3:
        time.sleep(600)
    return last(votes, y, keep)
slow.__qualname__ = "last"
benchmark({{"iris": load_iris, "wine": load_wine}}, forest(), {{"mine": Mine(), "slow": slow}}, 3,
          folds=3, results={folder!r})
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_killed_and_run_again_it_gives_the_same_files(tmp_path):
    script = SCRIPT.format(here=str(Path(__file__).parent), folder=str(tmp_path / "killed"))
    process = subprocess.Popen([sys.executable, "-c", script])
    lines = 0
    while lines < 2 * 6:  # it hangs in the third fold
        assert process.poll() is None
        time.sleep(0.02)
        found = (tmp_path / "killed").glob("results/*.jsonl")
        lines = sum(path.read_bytes().count(b"\n") for path in found)
    process.kill()
    process.wait(300)
    calls, written = [], []
    for name in ("killed", "whole"):
        found = benchmark(
            {"iris": load_iris, "wine": load_wine},
            forest(),
            {"mine": Mine(), "slow": last},
            3,
            folds=3,
            results=tmp_path / name,
            callback=lambda *call: calls.append(call[:2]),
        )
        paths = found.save(tmp_path / name)
        written.append({p.relative_to(tmp_path / name): p.read_bytes() for p in paths})
    assert calls[0] == (
        10,
        36,
    )  # two folds of mine and what it must beat; slow has another source here
    assert (0, 36) in calls
    assert written[0] == written[1]
