"""Files appear complete or not at all, and never replace another file without force."""

import json
import multiprocessing
import os
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from secateurs import VoteStore
from secateurs.exceptions import InputError
from secateurs.persistence import load, save
from secateurs.persistence.atomic_files import new_file, write_array, write_file, write_files


def _refuse_links(source, target):
    raise PermissionError("no links here")


@pytest.fixture(params=["links", "no links"])
def file_system(request, monkeypatch):
    if request.param == "no links":
        monkeypatch.setattr(os, "link", _refuse_links)


def _save(paths, strategy, start, answers):
    model = DummyClassifier(strategy=strategy).fit([[0], [1], [2]], [0, 1, 1])
    for path, link in zip(paths, (os.link, _refuse_links), strict=True):
        os.link = link  # a process of its own
        start.wait(300)
        try:
            save(model, path)
        except InputError as error:
            answers.put((path, str(error)))
        else:
            answers.put((path, strategy))


def test_only_one_of_several_processes_saves_to_a_path(tmp_path):
    processes = multiprocessing.get_context("spawn")
    strategies = ["prior", "uniform"]
    paths = [tmp_path / name / "model.skops" for name in ("links", "no links")]
    for path in paths:
        path.parent.mkdir()
    start, answers = processes.Barrier(len(strategies)), processes.Queue()
    savers = [
        processes.Process(target=_save, args=(paths, strategy, start, answers))
        for strategy in strategies
    ]
    for saver in savers:
        saver.start()
    ends = [answers.get(timeout=300) for _ in range(2 * len(savers))]
    for saver in savers:
        saver.join(300)
    taken = "exists. Pass another path, or force=True to overwrite it."
    for path in paths:
        line, saved_by = sorted(
            (end for saved, end in ends if saved == path), key=strategies.__contains__
        )
        assert line.startswith(str(tmp_path))
        assert line.endswith(taken)
        assert saved_by in strategies
        assert sorted(os.listdir(path.parent)) == ["model.skops", "model.skops.json"]
        record = json.loads(path.with_name(f"{path.name}.json").read_text())
        assert record["sha256"] == sha256(path.read_bytes()).hexdigest()


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_appears_meanwhile_is_kept_unless_forced(tmp_path, force):
    path = tmp_path / "report.html"

    def write():
        with new_file(path, force=force) as handle:
            handle.write(b"second")
            path.write_bytes(b"first")

    if force:
        write()
    else:
        with pytest.raises(InputError, match=r"exists\. Pass another path, or force=True"):
            write()
    assert path.read_bytes() == (b"second" if force else b"first")
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.usefixtures("file_system")
def test_a_side_car_that_appears_in_between_stays_and_the_model_does_not(tmp_path, monkeypatch):
    sidecar, read = tmp_path / "model.skops.json", Path.open

    def reopen(path, *arguments, **options):  # the file is read back before it gets its name
        if arguments == ("rb",):
            sidecar.write_text("another's")
        return read(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", reopen)
    with pytest.raises(InputError, match=r"model.skops.json exists"):
        save(DummyClassifier().fit([[0], [1]], [0, 1]), tmp_path / "model.skops")
    assert os.listdir(tmp_path) == ["model.skops.json"]
    assert sidecar.read_text() == "another's"


@pytest.mark.usefixtures("file_system")
def test_a_file_gets_its_name_complete(tmp_path):
    write_file(tmp_path / "a", b"all of it", force=False)
    assert (tmp_path / "a").read_bytes() == b"all of it"
    assert os.listdir(tmp_path) == ["a"]


def test_a_path_that_no_file_can_have_is_refused_in_one_line(tmp_path):
    model = DummyClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(InputError, match=r"\?\.skops holds half of a character\. Pass"):
        save(model, tmp_path / "\ud800.skops")
    with pytest.raises(InputError, match="holds half of a character"):
        VoteStore.create(tmp_path / "\ud800", 2, 3, [0, 1])
    assert os.listdir(tmp_path) == []


def test_names_of_any_kind_are_kept_in_a_side_car(tmp_path):
    names = ["\ud800", "\udcff", "λ"]
    path = save(
        DummyClassifier().fit([[0], [1]], [0, 1]),
        tmp_path / "\udcff.skops",
        provenance={"names": names},
    )
    record = json.loads(path.with_name(f"{path.name}.json").read_text("utf-8"))
    assert record["provenance"]["names"] == names
    assert load(path).predict([[0]]) == [0]


@pytest.fixture
def full_disk():
    """No file may grow beyond 1,000 bytes: writing fails as on a disk without room."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # Python ignores the signal
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.usefixtures("full_disk")
def test_the_error_of_a_full_disk_names_the_file(tmp_path):
    for name, write, content in (
        ("page.html", write_file, bytes(2000)),
        ("tile.npy", write_array, np.zeros(2000)),
    ):
        with pytest.raises(OSError, match="File too large") as caught:
            write(tmp_path / name, content)
        assert caught.value.filename == str(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("large", range(3))
def test_of_several_files_all_are_written_or_none(tmp_path, force, large):
    paths = [tmp_path / name for name in ("model", "model.json", "page.html")]
    sizes = [2000 if place == large else 10 for place in range(3)]
    if force:
        paths[0].write_bytes(b"before")
    with pytest.raises(InputError, match=r"written: OSError: .* File too large") as caught:
        write_files({path: bytes(n) for path, n in zip(paths, sizes)}, force=force)
    assert str(caught.value).startswith(f"{paths[large]} cannot be written")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == (
        {"model": b"before"} if force else {}
    )
    write_files({path: bytes(10) for path in paths}, force=force)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        p.name: bytes(10) for p in paths
    }


def test_a_name_that_is_taken_meanwhile_leaves_none_of_several_files(tmp_path):
    paths = [tmp_path / name for name in ("model", "model.json", "page.html")]
    contents = dict.fromkeys(paths, b"new")
    with pytest.raises(InputError, match=r"page\.html exists"):
        write_files(contents, force=False, check=lambda _: paths[2].write_bytes(b"theirs"))
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"page.html": b"theirs"}
