"""The authors' program beside ours: selections on the same votes, and what is needed for it."""

import csv
import inspect
import sys
from pathlib import Path

import pytest

import naive
from secateurs.exceptions import InputError
from secateurs.paper import _authors_comparison
from secateurs.paper._authors_comparison import compare_with_authors, find_authors_folders

# A program with the functions of the authors' modules, written from the naive methods.
PROGRAM = """
import sys
sys.path.append({tests!r})
import naive
import numpy as np
import data_entropy


def COMEP_Pruning(T, k, L, lam):
    start = np.random.randint(0, len(T[0]))
    return sorted(naive.comep(T, L, min(k, len(T[0])), lam, int(start)))


def DOMEP_Pruning(T, k, m, L, lam):
    parts = np.array(data_entropy.randomly_partition(len(T[0]), m))
    chosen = []
    for index in range(m):
        members = np.flatnonzero(parts == index).tolist()
        chosen.append([members[t] for t in COMEP_Pruning(take(T, members), k, L, lam)])
    union = sorted(t for part in chosen for t in part)
    result = [union[t] for t in COMEP_Pruning(take(T, union), k, L, lam)]
    value = lambda members: naive.tdas(T, L, members, lam)
    best = max(chosen, key=value)
    return best if value(best) > value(result) + 1e-12 else result


def take(T, members):
    return [[row[t] for t in members] for row in T]


def element_contrastive_pruning_via_validation(name, n, k, y, columns, rho=0.5):
    votes = [list(row) for row in zip(*columns)]
    if name == "RE":
        return sorted(naive.reduced_error(votes, y, k)), None
    if name == "KP":
        from secateurs import Votes
        from secateurs.paper._authors_rules import select_kp
        return select_kp(Votes.encode(votes, y), k, rho, np.random), None
    if name == "PEP":
        raise TypeError("no committee")
    return list(range(k)), None


def distributed_pruning_methods(y, yt, k, m, name, rho=0.5):
    return list(range(k))
"""


@pytest.fixture
def program(tmp_path):
    epfd, package = tmp_path / "EPFD", tmp_path / "PyEnsemble" / "pyensemble"
    epfd.mkdir()
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (epfd / "data_entropy.py").write_text("from pathos import multiprocessing\n")
    tests = str(Path(inspect.getfile(naive)).parent)
    (epfd / "data_distributed.py").write_text(PROGRAM.format(tests=tests))
    return tmp_path


def test_selections_of_both_programs_are_compared(program, tmp_path, monkeypatch):
    monkeypatch.setattr(_authors_comparison, "_N_SEEDS", 1)
    data = {name: _authors_comparison._DATA[name] for name in ("Iris", "Breast cancer")}
    monkeypatch.setattr(_authors_comparison, "_DATA", data)
    rows = compare_with_authors(program, tmp_path / "out")
    by_method = {}
    for row in rows:
        by_method.setdefault(row["method"], []).append(row["is_equal"])
    for method in ("comep", "domep", "re"):
        assert all(by_method[method]), method
    assert not any(by_method["oep"])
    page = (tmp_path / "out" / "authors.html").read_text("utf-8")
    assert "Their program fails: TypeError: no committee." in page
    assert "A tied vote goes to the smallest label there" in page
    assert "A plain program with their rule is equal in 2 of 2 cases." in page  # KP
    assert "A plain program with their rule is equal in 0 of 2 cases." in page  # OEP
    with (tmp_path / "out" / "tables" / "authors-program.csv").open(encoding="utf-8") as file:
        assert [line["method"] for line in csv.DictReader(file)] == [row["method"] for row in rows]


def test_a_folder_without_the_repositories_is_an_error_that_names_them(tmp_path):
    with pytest.raises(InputError, match="no copy of the authors' repository EPFD"):
        find_authors_folders(tmp_path)
    (tmp_path / "EPFD").mkdir()
    (tmp_path / "EPFD" / "data_distributed.py").write_text("")
    with pytest.raises(InputError, match=r"PyEnsemble \(with pyensemble\)"):
        find_authors_folders(tmp_path)


def test_unpacked_archives_are_found_by_the_names_of_their_branches(tmp_path):
    for name, content in (
        ("EPFD-master", "data_distributed.py"),
        ("PyEnsemble-main", "pyensemble"),
    ):
        (tmp_path / name / content).mkdir(parents=True)
    names = [folder.name for folder in find_authors_folders(tmp_path)]
    assert names == ["EPFD-master", "PyEnsemble-main"]


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_path_that_is_no_folder_is_named_as_such(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=f"{name} is not a folder. Pass a folder with clones of"):
        find_authors_folders(tmp_path / name)


def test_a_program_that_ends_at_once_is_an_error_in_one_line(program, tmp_path):
    (program / "EPFD" / "data_distributed.py").write_text("raise SystemExit('no numpy')")
    with pytest.raises(InputError, match="The authors' program failed: no numpy") as caught:
        compare_with_authors(program, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert "data_distributed" not in sys.modules
