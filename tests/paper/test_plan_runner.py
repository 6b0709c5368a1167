"""The runner: right rows, each once, whatever the order, the workers and the interruptions."""

import base64
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from made_up_results import frame_of

from secateurs.benchmarking.result_store import RESULTS, stored_results
from secateurs.benchmarking.task_runner import ResultsFolder, run_task
from secateurs.exceptions import InputError
from secateurs.paper import PaperRow, Plan, load_plan, load_results, reproduce, run
from secateurs.paper._plan import Bag
from secateurs.paper._plan_results import SCHEMA
from secateurs.paper._plan_runner import BagWork, MissingDataset
from secateurs.paper._previous_runs import all_missing_datasets, record_plans, with_previous_plans
from secateurs.paper._reproduce import make_contents, write_outputs

TIME_FIELDS = (
    *("seconds", "path_seconds", "train_seconds", "vote_seconds"),
    *("seconds_comep", "seconds_domep", "seconds_comep_cpu", "seconds_path_cpu"),
)


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)


def made(**changes):
    rows = (
        PaperRow("Iris", "iris", "multiclass", "dt", False),
        PaperRow("Wine", "wine", "binary", "knn", False),
    )
    values = {
        **{"name": "made", "title": "", "reproduces": "", "kind": "prune", "rows": rows},
        **{"methods": ("comep", "re", "sep", "full"), "n_members": (12,), "keep": (0.25,)},
        **{"diversity_weight": (0.5,), "folds": (0, 1)},
    }
    return Plan(**values | changes)


def untimed(out_dir):
    """All rows without their times, by cell."""
    rows = stored_results(out_dir / RESULTS, SCHEMA)
    return {
        cell: {name: value for name, value in row.items() if name not in TIME_FIELDS}
        for cell, row in rows.items()
    }


def test_every_cell_has_its_row_and_a_second_run_does_nothing(tmp_path):
    plan = made()
    assert run([plan], tmp_path).n_run == len(plan.cells()) == 16
    frame = load_results(tmp_path)
    assert {tuple(key) for key in frame[["dataset", "method", "fold"]].to_numpy()} == {
        (cell.dataset, cell.method, cell.fold) for cell in plan.cells()
    }
    before = {path: path.read_bytes() for path in (tmp_path / RESULTS).iterdir()}
    outcome = run([plan], tmp_path)
    assert (outcome.n_cells, outcome.n_run) == (16, 0)
    assert {path: path.read_bytes() for path in (tmp_path / RESULTS).iterdir()} == before


def test_only_what_is_not_there_is_run(tmp_path):
    run([made(methods=("re",))], tmp_path)
    assert run([made(methods=("re", "comep"))], tmp_path).n_run == 4
    assert run([made(methods=("re", "comep"))], tmp_path, seed=1).n_run == 8


def test_cells_that_plans_share_are_run_once(tmp_path):
    assert run([made(), made(methods=("re", "kp"))], tmp_path).n_cells == 16 + 4


def test_the_order_of_plans_and_methods_changes_nothing(tmp_path):
    run([made()], tmp_path / "a")
    turned = made(rows=made().rows[::-1], methods=made().methods[::-1], folds=(1, 0))
    run([turned], tmp_path / "b")
    assert untimed(tmp_path / "a") == untimed(tmp_path / "b")


def test_a_cell_run_alone_is_the_same(tmp_path):
    run([made()], tmp_path / "all")
    run([made(rows=made().rows[1:], methods=("sep",), folds=(1,))], tmp_path / "one")
    (alone,) = untimed(tmp_path / "one").items()
    assert alone in untimed(tmp_path / "all").items()


def test_two_processes_give_the_rows_of_one(tmp_path):
    run([made()], tmp_path / "one")
    run([made()], tmp_path / "two", n_jobs=2)
    assert untimed(tmp_path / "one") == untimed(tmp_path / "two")


def test_an_executor_gives_the_rows_of_one_process(tmp_path):
    run([made()], tmp_path / "one")
    with ProcessPoolExecutor(2) as pool:
        outcome = run([made()], tmp_path / "two", executor=pool)
    assert outcome.n_run == 16
    assert untimed(tmp_path / "one") == untimed(tmp_path / "two")


def test_a_dask_cluster_gives_the_rows_of_one_process(tmp_path):
    distributed = pytest.importorskip("distributed")
    run([made()], tmp_path / "one")
    with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        run([made()], tmp_path / "two", executor=client)
    assert untimed(tmp_path / "one") == untimed(tmp_path / "two")


def task_of(folder, **changes):
    bag = Bag("iris", "multiclass", "dt", 6, 0, 0)
    cells = [one for one in made(n_members=(6,)).cells() if one.bag == bag]
    work = BagWork(**{"bag": bag, "source": "scikit-learn", "data_dir": None} | changes)
    return work.make_task(cells, ResultsFolder(str(folder), "mark"))


def test_a_worker_that_does_not_see_the_folder_sends_its_rows_back(tmp_path):
    (tmp_path / ".folder").write_text("another mark")
    for folder in (tmp_path, tmp_path / "absent"):
        _, rows = run_task(task_of(folder))
        assert [row["method"] for row in rows] == list(made().methods)
        assert not list(tmp_path.glob("*.jsonl"))
    (tmp_path / ".folder").write_text("mark")
    assert run_task(task_of(tmp_path))[1] == []
    assert len(stored_results(tmp_path, SCHEMA)) == 4


def test_a_worker_that_has_other_data_says_so(tmp_path):
    with pytest.raises(InputError, match="iris comes from 'scikit-learn' here, not from 'folder'"):
        run_task(task_of(tmp_path, source="folder"))


def test_a_torn_row_is_run_again(tmp_path):
    run([made()], tmp_path)
    expected = untimed(tmp_path)
    path = sorted((tmp_path / RESULTS).glob("*.jsonl"))[0]
    path.write_bytes(path.read_bytes()[:-40])
    assert len(untimed(tmp_path)) == 15
    assert run([made()], tmp_path).n_run == 1
    assert untimed(tmp_path) == expected


@pytest.mark.filterwarnings("ignore:Damaged results")
def test_rows_with_values_of_other_types_are_run_again(tmp_path):
    run([made()], tmp_path)
    expected = untimed(tmp_path)
    chance = random.Random(0)
    others = (None, True, "text", [], {}, {"a": []}, "\ud800")
    whole = {path: path.read_text("utf-8") for path in (tmp_path / RESULTS).glob("*.jsonl")}
    for _ in range(40):
        path = chance.choice(sorted(whole))
        lines = whole[path].splitlines()
        place = chance.randrange(len(lines))
        values = json.loads(lines[place])
        name = chance.choice(sorted(values))
        other = chance.choice([one for one in others if type(one) is not type(values[name])])
        lines[place] = json.dumps(values | {name: other})
        path.write_text("\n".join(lines) + "\n", "utf-8")
        make_contents([made()], load_results(tmp_path))
        assert run([made()], tmp_path).n_run == 1
        assert untimed(tmp_path) == expected
        path.write_text(whole[path], "utf-8")


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b"7", b'{"numpy": 2}', b"\xff"])
def test_damaged_versions_are_named_with_the_way_out(tmp_path, content):
    run([made(methods=("re",))], tmp_path)
    (tmp_path / "versions.json").write_bytes(content)
    (tmp_path / RESULTS / ".folder").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"versions\.json is damaged: .* Delete it if") as caught:
        run([made(methods=("re",))], tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / "versions.json").unlink()
    assert run([made(methods=("re",))], tmp_path).n_run == 0


def test_missing_data_is_told_and_the_rest_is_run(tmp_path):
    ames = PaperRow("Ames", "ames", "binary", "dt", False)
    outcome = run([made(rows=(ames, made().rows[0]))], tmp_path)
    assert outcome.n_run == 8
    (missing,) = outcome.missing
    assert (missing.dataset, missing.paper_names, missing.plans) == ("ames", ("Ames",), ("made",))
    assert "not publicly available" in missing.reason
    (told,) = json.loads((tmp_path / "missing.json").read_text())
    assert told["dataset"] == "ames"
    assert told["reason"] == missing.reason


def test_what_openml_does_not_give_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # a closed port
    iono = PaperRow("Iono", "iono", "binary", "dt", True)
    outcome = run([made(rows=(iono,))], tmp_path / "out")
    assert outcome.n_cells == 0
    assert [item.dataset for item in outcome.missing] == ["iono"]
    assert "OpenML's table 59 cannot be fetched" in outcome.missing[0].reason


def test_rows_of_other_data_are_measured_again(tmp_path):
    plan = made(rows=(PaperRow("Waveform", "waveform", "multiclass", "nb", False),))
    run([plan], tmp_path / "out")
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    lines = [f"{value:.3f},{place % 3}" for place, value in enumerate(rng.random(60))]
    text = "\n".join(["a,target", *lines])
    (folder / "waveform.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert run([plan], tmp_path / "out", data_dir=folder).n_run == 8
    assert set(load_results(tmp_path / "out")["n_test"]) == {12}
    assert run([plan], tmp_path / "out", data_dir=folder).n_run == 0


def test_rows_of_two_versions_are_not_mixed(tmp_path):
    run([made(methods=("re",))], tmp_path)
    path = tmp_path / "versions.json"
    path.write_text(path.read_text().replace('"numpy": "', '"numpy": "0.'))
    with pytest.raises(InputError, match=r"contains results of .*numpy 0\..* Pass another folder"):
        run([made()], tmp_path)


def test_progress_ends_at_the_end(tmp_path):
    calls = []
    run([made(methods=("re",))], tmp_path)
    run([made(methods=("re", "kp"))], tmp_path, callback=lambda *call: calls.append(call))
    assert calls[0] == (4, 8, None)
    done, total, left = zip(*calls)
    assert list(done) == [4, 5, 6, 7, 8]
    assert set(total) == {8}
    assert all(seconds >= 0 for seconds in left[1:])
    assert left[-1] == pytest.approx(0, abs=1e-6)


def test_what_is_timed_comes_last_and_alone(tmp_path):
    rows = (PaperRow("Drawn", "synthetic-100", "binary", "synthetic", False),)
    timed = made(kind="scale", rows=rows, methods=("comep",), folds=(0,))
    calls = []
    outcome = run([timed, made()], tmp_path, n_jobs=2, callback=lambda *c: calls.append(c[0]))
    assert outcome.n_run == 17
    assert calls[-2:] == [16, 17]


def long():
    rows = tuple(PaperRow(name, name, "multiclass", "dt", False) for name in ("iris", "wine"))
    methods = ("comep", "pep", "re", "sep", "kp", "domep")
    return made(name="table-dt", rows=rows, methods=methods, n_members=(40,), folds=(0, 1, 2))


def start(out_dir, n_jobs, **settings):
    folder = str(Path(__file__).parent)
    code = (
        f"import sys; sys.path[:0] = [{folder!r}, {str(Path(folder).parent)!r}]\n"
        f"from {Path(__file__).stem} import long, run\n"
        f"run([long()], {str(out_dir)!r}, n_jobs={n_jobs})"
    )
    return subprocess.Popen([sys.executable, "-c", code], **settings)


def workers_of(process):
    """The processes that a run has started to work in, once they work."""
    found = []
    while len(found) < 2:
        assert process.poll() is None
        time.sleep(0.05)
        children = psutil.Process(process.pid).children()
        found = [one for one in children if "LokyProcess" in " ".join(one.cmdline())]
    return found


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_worker_that_is_killed_is_told_in_one_line_and_the_run_goes_on(tmp_path):
    process = start(tmp_path, 2, stderr=subprocess.PIPE, text=True)
    workers = workers_of(process)
    while n_lines(tmp_path) == 0:
        time.sleep(0.01)
    workers[0].kill()
    said = process.communicate(timeout=300)[1].splitlines()[-1]
    assert "ExecutorError: A worker process died" in said
    assert "most likely because memory ran out. Run again to resume: results so far" in said
    assert said.endswith("Fewer than n_jobs=2 need less memory.")
    n_there = len(untimed(tmp_path))
    assert run([long()], tmp_path).n_run == 36 - n_there < 36


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_workers_end_with_the_run_that_was_killed(tmp_path):
    process = start(tmp_path, 2)
    workers_of(process)
    while n_lines(tmp_path) == 0:
        time.sleep(0.01)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait(300)
    _, alive = psutil.wait_procs(family, timeout=60)  # loky's own patience is 300 s
    for one in alive:
        one.kill()
    assert not alive


def n_lines(out_dir):
    return sum(path.read_bytes().count(b"\n") for path in out_dir.glob(f"{RESULTS}/*.jsonl"))


def written_tables(out_dir):
    write_outputs(out_dir, make_contents([long()], load_results(out_dir)))
    return {path.name: path.read_bytes() for path in (out_dir / "tables").iterdir()}


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_run_killed_at_any_moment_goes_on_and_gives_the_same_tables(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run([long()], whole)
    expected = untimed(whole)
    assert len(expected) == 36
    moments = random.Random(0)
    n_kills, n_rows = 0, 0
    while n_kills < 2 and n_rows < 25:  # of one process, then of two
        process = start(killed, 1 + n_kills % 2)
        wanted = n_rows + moments.randint(1, 6)
        while process.poll() is None and n_lines(killed) < wanted:
            time.sleep(0.003)
        time.sleep(moments.random() / 100)  # not only just after a row
        process.send_signal(signal.SIGKILL)
        n_kills += process.wait(300) == -signal.SIGKILL
        rows = untimed(killed)
        assert len(rows) >= n_rows, "a finished row is lost"
        assert rows.items() <= expected.items()
        n_rows = len(rows)
    assert n_kills > 0
    run([long()], killed)
    assert untimed(killed) == expected
    assert load_results(killed)["members"].tolist() == load_results(whole)["members"].tolist()
    assert len(written_tables(whole)) == 8  # accuracies and sizes, in four formats
    assert written_tables(killed) == written_tables(whole)


def test_a_short_form_leaves_its_page_and_names_what_it_left_out(tmp_path):
    outcome = reproduce(tmp_path, only="figure-objective", quick=True)
    assert outcome.n_run == len(load_plan("figure-objective", quick=True).cells())
    left_out = {item.dataset: item.reason for item in outcome.missing}
    assert {"ames", "saheart", "waveform_binary"} <= set(left_out)
    assert left_out["ames"].endswith("It is not publicly available.")
    assert "saheart.csv.gz" in left_out["saheart"]
    assert "--data (in Python, data_dir) or set SECATEURS_DATA to it." in left_out["saheart"]
    assert (tmp_path / "index.html").is_file()
    judged = [claim.name for claim in outcome.claims if claim.verdict != "not measured"]
    assert judged == ["objective", "objective-test"]
    told = json.loads((tmp_path / "claims.json").read_text("utf-8"))["claims"]
    assert [(one["name"], one["verdict"]) for one in told] == [
        (claim.name, claim.verdict) for claim in outcome.claims
    ]

    # another run in the same folder leaves all of it alone
    later = reproduce(tmp_path, only=["figure-scale"], quick=True)
    assert later.claims == outcome.claims
    page = (tmp_path / "index.html").read_text("utf-8")
    for name in ("scale", "objective-waveform-multiclass-dt"):
        picture = (tmp_path / "figures" / f"{name}.svg").read_bytes()
        assert page.count(base64.b64encode(picture).decode()) == 1
    assert "no results" not in page
    assert reproduce(tmp_path, only=["figure-objective"], quick=True).n_run == 0
    assert (tmp_path / "index.html").read_text("utf-8") == page


def test_plans_asked_for_before_and_never_measured_are_not_shown(tmp_path):
    assert record_plans(tmp_path, [load_plan("table-dt")]) == []
    earlier = record_plans(tmp_path, [load_plan("figure-scale", quick=True)])
    assert earlier == [load_plan("table-dt")]
    frame = load_results(tmp_path)
    assert with_previous_plans([], earlier, frame) == []


def test_a_plan_of_before_names_the_data_that_it_lacked(tmp_path):
    plan = load_plan("table-knn")
    rows = [row for row in plan.rows if row.dataset != "ames"]
    frame = frame_of(replace(plan, rows=tuple(rows)), lambda _: 0.8)
    assert with_previous_plans([], [plan], frame) == [plan]
    known = [MissingDataset("ames", ("Ames",), ("figure-objective",), "Not public.")]
    (missing,) = all_missing_datasets([plan], frame, None, known)
    assert missing == MissingDataset("ames", ("Ames",), ("table-knn",), "Not public.")
    (missing,) = all_missing_datasets([plan], frame, None, [])
    assert "not publicly available" in missing.reason


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}', b'{"table-dt": {}}', b"\xff"])
def test_damaged_notes_of_plans_are_named_with_the_way_out(tmp_path, content):
    record_plans(tmp_path, [load_plan("table-dt")])
    (tmp_path / "plans.json").write_bytes(content)
    with pytest.raises(InputError, match=r"plans\.json is damaged: .* Delete it") as caught:
        record_plans(tmp_path, [load_plan("table-dt")])
    assert "\n" not in str(caught.value)
