"""Checkpoints: whatever happens to their files, a run that continues gives the same members."""

import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from executors import Enough, Told, found
from sklearn.base import clone

from cases import plain
from secateurs import COMEP, EPFD, ReducedErrorPruner, VoteStore
from secateurs.engines.checkpoints import Checkpoints

CASE = plain(20, 150, 3)
RUNS = {
    "groups": (EPFD(ReducedErrorPruner(3), 4, random_state=0), 4),
    "steps": (COMEP(6, start="relevance"), 4),
}


def stopped(pruner, store, after):
    with ThreadPoolExecutor(1) as pool, pytest.raises(Enough):
        clone(pruner).fit(store, executor=pool, callback=Told(after))


def resumed(pruner, store):
    with ThreadPoolExecutor(1) as pool:
        return clone(pruner).fit(store, executor=pool)


def altered(content, others, chance):
    """The content of a file after one of the accidents that files have."""
    place = chance.randrange(len(content))
    kinds = {
        "bit": lambda: bytes([content[place] ^ 1 << chance.randrange(8)]),
        "digit": lambda: str(chance.randrange(10)).encode(),
        "bytes": lambda: chance.randbytes(chance.randrange(1, 9)),
        "nothing": lambda: b"",
    }
    kind = chance.choice([*kinds, "cut", "other", "empty", "number", "nested", "lost sum"])
    if kind in kinds:
        return content[:place] + kinds[kind]() + content[place + 1 :]
    return {
        "cut": content[:place],
        "other": chance.choice(others),
        "empty": b"",
        "number": b"7",
        "nested": b"[" * 100_000,
        "lost sum": content.partition(b"\n")[2],
    }[kind]


@pytest.mark.filterwarnings("ignore:.* is damaged")
@pytest.mark.parametrize("run", RUNS)
def test_damaged_files_never_change_the_members(tmp_path, run):
    pruner, after = RUNS[run]
    expected = found(clone(pruner).fit(*CASE))
    store = VoteStore.from_table(tmp_path / "votes", *CASE, tile_members=7)
    stopped(pruner, store, after)
    runs, whole = store.path / "runs", tmp_path / "whole"
    shutil.copytree(runs, whole)
    files = [path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.is_file()]
    assert len(files) == {"groups": 4, "steps": 2}[run]
    chance = random.Random(0)
    for _ in range(150):
        shutil.rmtree(runs, ignore_errors=True)
        shutil.copytree(whole, runs)
        for name in chance.sample(files, chance.choice([1, 1, 2])):
            content = (whole / name).read_bytes()
            others = [(whole / other).read_bytes() for other in files if other != name]
            (runs / name).write_bytes(altered(content, others, chance))
        assert found(resumed(pruner, store)) == expected


def test_parts_of_another_shape_are_not_used(tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *CASE)
    stopped(COMEP(6, start=0), store, 3)
    kept = Checkpoints(store, "comep", 0.5, 0)
    sums, steps = kept.read_array("sums"), kept.read_value("steps")
    assert len(steps) == sums[-1] == 3
    kept.write_array("sums", sums[1:])
    assert found(resumed(COMEP(6, start=0), store)) == found(COMEP(6, start=0).fit(*CASE))


def test_a_part_reads_as_it_was_written_and_only_under_its_name(tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *CASE)
    kept = Checkpoints(store, "run")
    kept.write_value("part", {"members": [1, 2]})
    assert kept.read_value("part") == {"members": [1, 2]}
    (file,) = (store.path / "runs").rglob("part.json")
    assert json.loads(file.read_bytes().partition(b"\n")[2]) == {"members": [1, 2]}
    shutil.copy(file, file.with_name("other.json"))
    with pytest.warns(UserWarning, match=r"other\.json is damaged: .* computed again\.$"):
        assert kept.read_value("other") is None
    assert Checkpoints(store, "another run").read_value("part") is None


def test_a_changed_digit_is_named(tmp_path):
    kept = Checkpoints(VoteStore.from_table(tmp_path / "votes", *CASE), "run")
    kept.write_value("part", [1, 2])
    (file,) = (tmp_path / "votes" / "runs").rglob("part.json")
    file.write_bytes(file.read_bytes().replace(b"[1, 2]", b"[1, 3]"))
    with pytest.warns(UserWarning, match=r"part\.json is damaged: .* computed again\.$"):
        assert kept.read_value("part") is None
