"""What goes wrong around a command: members that print, workers that die, disks that are full."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import joblib
import pytest
from command_line import FEATURES, TARGET, make_rows, type_in
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier

from processes import with_path
from secateurs import save
from secateurs.commands.command_errors import failure_from_error
from secateurs.paper.datasets import fetch

WORDS = ("val.csv", "--target", TARGET, "-k", "3", "--json")


def shell(*words):
    """Type a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "secateurs", *words],
        capture_output=True,
        text=True,
        check=False,
        env=with_path(Path(__file__).parent),
        timeout=600,
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_rows(120, 1)
    X.assign(**{TARGET: y}).to_csv("val.csv", index=False)
    return tmp_path


def test_what_members_print_does_not_mix_with_the_result(place):
    X, y = make_rows(60, 0)
    forest = RandomForestClassifier(5, verbose=100, random_state=0)
    bagging = BaggingClassifier(forest, 4, n_jobs=2, random_state=0).fit(X.to_numpy(), y)
    bagging.feature_names_in_ = X.columns.to_numpy()
    save(bagging, "bagging.skops")  # whose forests print in workers, too
    done = shell("prune", "bagging.skops", *WORDS)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["members"]) == 3
    assert "[Parallel(n_jobs" in done.stderr


def test_what_is_printed_in_this_process_does_not_mix_either(place):
    X, y = make_rows(60, 0)
    save(RandomForestClassifier(5, verbose=100, random_state=0).fit(X, y), "forest.skops")
    assert len(type_in("prune", "forest.skops", *WORDS).json["members"]) == 3


def test_a_worker_of_any_library_that_is_killed_has_its_exit_code():
    with joblib.externals.loky.ProcessPoolExecutor(1) as pool:
        killed = pool.submit(os._exit, 9).exception()
    found = failure_from_error(killed)
    assert (found.exit_code, found.code) == (8, "workers.failed")
    assert "most likely because memory ran out. Run again" in found.text


@pytest.fixture
def small_files():
    """No file may grow beyond 60,000 bytes: writing fails as on a disk without room."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_full_for_the_page_leaves_no_model_behind(place, request):
    X, y = make_rows(60, 0)
    save(RandomForestClassifier(5, max_depth=1, random_state=0).fit(X[FEATURES], y), "forest.skops")
    before = sorted(path.name for path in place.iterdir())
    request.getfixturevalue("small_files")
    done = type_in("prune", "forest.skops", *WORDS, "--report", "page.html", "--run", "run.json")
    assert done.code == 3
    assert "page.html cannot be written: OSError: [Errno 27] File too large" in done.err
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.usefixtures("small_files")
def test_a_disk_full_for_a_data_set_leaves_no_record_behind(tmp_path):
    done = type_in("data", "fetch", "waveform", "--data", tmp_path)
    assert done.code == 3
    assert "waveform.csv.gz cannot be written: OSError: [Errno 27] File too large" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_has_its_record_beside_it(tmp_path):
    path = Path(fetch("waveform", tmp_path)["path"])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["waveform.csv.gz", "waveform.json"]
    assert gzip.decompress(path.read_bytes()).count(b"\n") == 5001
