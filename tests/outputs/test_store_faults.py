"""Stores after a crash, damage or a full disk: faults are reported, and stores resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from test_vote_store import same_votes

from cases import plain
from processes import with_path
from secateurs import COMEP, EPFD, Votes, VoteStore, make_pruner
from secateurs.exceptions import InputError
from secateurs.outputs._store_files import (
    checked_members,
    filling_lock,
    forget_checks,
    tile_lock,
)

CASE = plain(11, 200, 3)
LAST = 3  # number of the last tile, of two members; the others have three


def make(folder):
    names = [f"member {t}" for t in range(11)]
    return VoteStore.from_table(folder, *CASE, tile_members=3, names=names)


@pytest.fixture
def kept(tmp_path):
    return make(tmp_path / "votes")


def is_whole(store):
    found = VoteStore.open(store.path)
    votes, expected = found.load(), Votes.encode(*CASE)
    assert found.verify() == []
    assert not list(found.path.glob(".*"))
    assert found.names.tolist() == [f"member {t}" for t in range(11)]
    same = Votes(votes.packed, votes.classes, votes.y)
    return same_votes(same, expected)


def finish(store):
    for members in store.missing:
        store.write(members, np.array(CASE.votes).T[members])


def tile(store, number):
    return store.path / f"tile-{number:05d}.npy"


def flip_a_byte(file, place=-9):
    content = bytearray(file.read_bytes())
    content[place] ^= 0b100
    file.write_bytes(content)


def swap(store):
    first, second = tile(store, 0), tile(store, 1)
    first.rename(store.path / "aside")
    second.rename(first)
    (store.path / "aside").rename(second)


def written(file, array):
    np.save(file, array, allow_pickle=True)


DAMAGE = {  # damage done to a store, and the expected message about the tile
    "byte": (lambda s: flip_a_byte(tile(s, 1)), "is damaged: the votes of member"),
    "first byte": (lambda s: flip_a_byte(tile(s, 1), 128), "is damaged: the votes of member"),
    "header": (lambda s: flip_a_byte(tile(s, 1), 3), "cannot be read"),
    "half": (lambda s: os.truncate(tile(s, 1), 150), "cannot be read"),
    "one byte short": (
        lambda s: os.truncate(tile(s, 1), tile(s, 1).stat().st_size - 1),
        "cannot be read",
    ),
    "empty": (lambda s: os.truncate(tile(s, 1), 0), "cannot be read"),
    "missing": (lambda s: tile(s, 1).unlink(), "cannot be read: FileNotFoundError"),
    "swapped": (swap, "is damaged: the votes of member"),
    "another type": (
        lambda s: written(tile(s, 1), np.load(tile(s, 1)).view(np.int64)),
        r"has shape .* and type int64 instead of .* and uint64\. Delete the file",
    ),
    "another shape": (
        lambda s: written(tile(s, 1), np.load(tile(s, 1))[:2]),
        r"has shape \(2, 2, 4\) and type uint64 instead of \(3, 2, 4\) and uint64",
    ),
    "last tile's shape": (
        lambda s: tile(s, 1).write_bytes(tile(s, LAST).read_bytes()),
        r"has shape \(2, 2, 4\) and type uint64 instead of \(3, 2, 4\)",
    ),
    "columns first": (
        lambda s: written(tile(s, 1), np.asfortranarray(np.load(tile(s, 1)))),
        "cannot be read",
    ),
    "objects": (
        lambda s: written(tile(s, 1), np.array([print, len], dtype=object)),
        "cannot be read",
    ),
    "text": (lambda s: tile(s, 1).write_text("no tile"), "cannot be read"),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_tile_is_named_and_can_be_repaired(kept, how):
    damage, message = DAMAGE[how]
    damage(kept)
    said = rf"tile-00001\.npy {message}"
    for read in (
        lambda: kept.load() if how != "swapped" else kept.take(kept.members_of(1)),
        lambda: kept.take(kept.members_of(1)[::-1]),
        lambda: kept.mapped(1),
        lambda: kept.rows(slice(64, 128)) if how != "swapped" else kept.mapped(1, slice(1, 3)),
        lambda: VoteStore.resume(kept.path).unverified().verify() and kept.mapped(1),
    ):
        with pytest.raises(InputError, match=said) as caught:
            read()
        assert "\n" not in str(caught.value)
    faults = kept.verify()
    assert len(faults) == (2 if how == "swapped" else 1)
    assert "tile-00001.npy" in faults[-1]
    for fit in (
        make_pruner("re", keep=2).fit,
        COMEP(2).fit,
        EPFD(COMEP(2), 3, random_state=0).fit,
    ):
        with pytest.raises(InputError, match=r"tile-0000[01]\.npy"):
            fit(kept)
    for number in (0, 1) if how == "swapped" else (1,):
        tile(kept, number).unlink(missing_ok=True)
    with pytest.raises(InputError, match=r"votes is half-written: [12] of its 4 tiles are missing"):
        VoteStore.open(kept.path)
    finish(VoteStore.resume(kept.path))
    assert is_whole(kept)


def test_members_of_undamaged_tiles_can_be_read(kept):
    flip_a_byte(tile(kept, 1))
    others = np.setdiff1d(np.arange(11), kept.members_of(1))
    expected = Votes.encode(*CASE).take(others)
    assert np.array_equal(kept.take(others).packed.cells, expected.packed.cells)


@pytest.mark.parametrize("name", ["order", "classes", "y", "names"])
def test_damaged_arrays_beside_the_tiles_are_named(kept, name):
    file = kept.path / f"{name}.npy"
    content = file.read_bytes()
    for damage in (
        lambda: flip_a_byte(file, -1),
        lambda: flip_a_byte(file, -16),
        lambda: os.truncate(file, len(content) - 8),
        lambda: written(file, np.load(file)[:-1]),
        file.unlink,
    ):
        damage()
        with pytest.raises(InputError, match=rf"{name}\.npy (is damaged|cannot be read)"):
            VoteStore.open(kept.path).load()
        file.write_bytes(content)
    assert is_whole(kept)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-20], r"meta\.json cannot be read: JSONDecodeError"),
        (lambda text: "", r"meta\.json cannot be read: JSONDecodeError"),
        (lambda text: "[]", r"meta\.json cannot be read"),
        (lambda text: "{}", r"meta\.json cannot be read: KeyError: 'format'"),
        (
            lambda text: text.replace('"version": 1', '"version": 2'),
            "has the format .*, version 2; .* reads version 1",
        ),
        (
            lambda text: text.replace("secateurs votes", "votes"),
            r"meta\.json has the format 'votes'",
        ),
        (lambda text: text.replace('"n_samples": 200', '"n_samples": 201'), "is damaged"),
        (lambda text: text.replace('"tile_members": 3', '"tile_members": 4'), "is damaged"),
        (lambda text: text.replace('"has_missing": false', '"has_missing": true'), "is damaged"),
    ],
)
def test_a_broken_meta_file_is_named(kept, change, message):
    file = kept.path / "meta.json"
    changed = change(file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    with pytest.raises(InputError, match=message) as caught:
        VoteStore.open(kept.path)
    assert "meta.json" in str(caught.value)


def test_a_folder_without_a_store_is_rejected(kept, tmp_path):
    (kept.path / "meta.json").unlink()
    for path in (kept.path, tmp_path / "absent"):
        with pytest.raises(InputError, match=r"is not a VoteStore: it has no meta\.json"):
            VoteStore.open(path)


def test_a_broken_log_of_tiles_is_named(kept):
    log = kept.path / "tiles.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    assert len(lines) == 4
    for content in (lines[0] + "no JSON\n" + "".join(lines[1:]), '{"tile": 1}\n', "[]\n"):
        log.write_text(content)
        with pytest.raises(InputError, match=r"tiles\.jsonl cannot be read"):
            VoteStore.open(kept.path)
        with pytest.raises(InputError, match=r"^[^ ]*tiles\.jsonl cannot be read"):
            kept.load()
    log.unlink()
    with pytest.raises(InputError, match=r"tiles\.jsonl cannot be read"):
        VoteStore.open(kept.path)
    entry = json.loads(lines[2])
    entry["crc32"][1] ^= 1
    log.write_text("".join([*lines[:2], json.dumps(entry) + "\n", lines[3]]))
    with pytest.raises(InputError, match=rf"tile-00002\.npy is damaged: .* {kept.order[7]} are"):
        kept.load()


@pytest.mark.parametrize("left", [0, 1, 10, -10, -2, -1])
def test_a_torn_line_of_the_log_is_written_again(kept, left):
    log = kept.path / "tiles.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]) + lines[-1][:left])
    store = VoteStore.resume(kept.path)
    assert [part.tolist() for part in store.missing] == [kept.members_of(LAST).tolist()]
    with pytest.raises(InputError, match="half-written: 1 of its 4 tiles"):
        VoteStore.open(kept.path)
    with pytest.raises(InputError, match=r"tile-00003\.npy is not listed as finished"):
        store.load()
    finish(store)
    assert log.read_bytes() == b"".join(lines)
    assert is_whole(kept)


def test_a_longer_torn_line_leaves_nothing_behind(kept):
    log = kept.path / "tiles.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]) + b'{"tile":' + b"9" * 500)
    finish(VoteStore.resume(kept.path))
    assert log.read_bytes() == b"".join(lines)


def test_temporary_files_of_a_crash_are_deleted(kept):
    tile(kept, 1).unlink()
    left = kept.path / ".0123456789abcdef-tile-00001.npy"
    left.write_bytes(b"half a tile")
    (kept.path / ".0123456789abcdef-tile-00002.npy").write_bytes(b"of somebody who still writes")
    finish(VoteStore.resume(kept.path))
    assert not left.exists()
    assert len(list(kept.path.glob(".*"))) == 1


def test_a_half_written_store_is_reported_and_can_be_resumed(tmp_path):
    votes, y = CASE
    names = [f"member {t}" for t in range(11)]
    store = VoteStore.create(
        tmp_path / "votes", 11, 200, [0, 1, 2], y=y, tile_members=3, names=names
    )
    for n_left in (4, 3, 2, 1):
        with pytest.raises(InputError, match=f"half-written: {n_left} of its 4 tiles are missing"):
            VoteStore.open(store.path)
        with pytest.raises(InputError, match=r"tile-0000\d\.npy"):
            COMEP(2).fit(VoteStore.resume(store.path))
        assert len(store.verify()) == n_left
        members = VoteStore.resume(store.path).missing[-1]
        store.write(members, np.array(votes).T[members])
    assert is_whole(store)


def run(script, *args):
    """Run a script in a process of its own; what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, args)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=with_path(*Path(__file__).parents[:2]),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


KILLED = """
import os, random, signal, sys, time
import numpy as np
from pathlib import Path
from secateurs import VoteStore

folder = Path(sys.argv[1])
chance = random.Random()
table = np.random.default_rng(0).integers(3, size=(100, 120))

def fill(path):
    if path.exists():
        store = VoteStore.resume(path)
    else:
        store = VoteStore.create(path, 120, 100, [0, 1, 2], y=table[:, 0], tile_members=2)
    for members in store.missing:
        store.write(members, table.T[members])

fill(folder / "first")  # kernels are compiled
n_killed = 0
while True:
    child = os.fork()
    if child == 0:
        fill(folder / "votes")
        os._exit(0)
    time.sleep(chance.random() * 0.02 * (1 + n_killed / 5))
    os.kill(child, signal.SIGKILL)
    if os.waitpid(child, 0)[1] == 0:
        break
    n_killed += 1
print(n_killed)
"""


def test_a_store_survives_being_killed_at_any_moment(tmp_path):
    n_killed = int(run(KILLED, tmp_path)[-1])
    assert n_killed >= 3
    store, whole = VoteStore.open(tmp_path / "votes"), VoteStore.open(tmp_path / "first")
    assert store.verify() == []
    assert same_votes(store.load(), whole.load())
    table = np.random.default_rng(0).integers(3, size=(100, 120))
    assert (store.load().codes(range(120)) == table.T).all()
    assert not [path.name for path in store.path.iterdir() if path.name.startswith(".")]


LIMITED = """
import resource, sys
import numpy as np
from pathlib import Path
from secateurs import VoteStore
from secateurs.exceptions import InputError
from test_store_faults import CASE, finish, is_whole

def limit(n_bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))

def refused(action):
    try:
        action()
    except InputError as error:
        print(error)

folder = Path(sys.argv[1])
names = [f"member {t}" for t in range(11)]

def create(name):
    return VoteStore.create(
        folder / name, 11, 200, [0, 1, 2], y=CASE.y, tile_members=1, names=names
    )

limit(100)
refused(lambda: create("nothing"))
print(list(folder.iterdir()))
for where in ("tile", "list"):
    limit(resource.RLIM_INFINITY)
    store = create(where)
    for members in store.missing[:9]:
        store.write(members, np.array(CASE.votes).T[members])
    log = (store.path / "tiles.jsonl").stat().st_size
    tile = (store.path / "tile-00000.npy").stat().st_size
    assert tile < log
    limit(tile - 10 if where == "tile" else log + 5)
    refused(lambda: finish(store))
    print(sorted(path.name for path in store.path.iterdir() if path.name.startswith(".")))
    print(len(VoteStore.resume(store.path).missing), len(store.verify()))
    limit(resource.RLIM_INFINITY)
    finish(VoteStore.resume(store.path))
    print(is_whole(store))
"""


def test_a_full_disk_leaves_finished_tiles_intact(tmp_path):
    at_first, left, *later = run(LIMITED, tmp_path)
    assert "nothing cannot be written: OSError: [Errno 27] File too large; nothing is" in at_first
    assert "nothing is written so far. Free some space" in at_first
    assert left == "[]"
    for where, said, hidden, missing, whole in (("tile", *later[:4]), ("list", *later[4:])):
        assert f"{where} cannot be written: OSError: [Errno 27] File too large; 9 of 11" in said
        assert "9 of 11 tiles are written so far. Free some space" in said
        assert (hidden, missing, whole) == ("[]", "2 2", "True")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        mounted = (
            subprocess.run(options, capture_output=True, check=False, timeout=600).returncode == 0
        )
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True, timeout=600)


def test_a_store_is_resumed_after_a_full_disk_has_space_again(small_disk):
    table = np.random.default_rng(0).integers(3, size=(8000, 1000), dtype=np.int8)
    with pytest.raises(
        InputError, match=r"No space left on device; \d+ of 50 tiles are written"
    ) as caught:
        VoteStore.from_table(small_disk / "votes", table, tile_members=20)
    assert "\n" not in str(caught.value)
    store = VoteStore.resume(small_disk / "votes")
    n_missing = len(store.missing)
    assert f"; {50 - n_missing} of 50 tiles" in str(caught.value)
    assert 0 < n_missing < 50
    assert len(store.verify()) == n_missing
    assert not list(store.path.glob(".*"))
    for members in store.missing[:2]:  # there is still no room
        with pytest.raises(InputError, match="cannot be written"):
            store.write(members, table.T[members])
    subprocess.run(["mount", "-o", "remount,size=9m", str(small_disk)], check=True, timeout=600)
    for members in store.missing:
        store.write(members, table.T[members])
    assert same_votes(VoteStore.open(store.path).load(), Votes.encode(table))


WRITER = """
import sys
from pathlib import Path
import numpy as np
from secateurs import VoteStore

store = VoteStore.resume(sys.argv[1])
Path(sys.argv[2]).touch()
store.write(store.missing[0], np.zeros((4, 100), dtype=int))
"""


def test_processes_write_tiles_one_after_another(tmp_path):
    store = VoteStore.create(tmp_path / "votes", 8, 100, [0, 1, 2], tile_members=4)
    first, second = store.missing
    with tile_lock(store.path):  # as while another process writes
        words = [WRITER, str(store.path), str(tmp_path / "ready")]
        writer = subprocess.Popen([sys.executable, "-c", *words])
        while not (tmp_path / "ready").exists():
            assert writer.poll() is None
            time.sleep(0.01)
        time.sleep(1)  # enough to write a tile; on a slow machine the test is only less strict
        assert len(store.missing) == 2
        assert not list(store.path.glob("tile-*"))
    assert writer.wait(300) == 0
    store.write(second, np.ones((4, 100), dtype=int))
    assert store.verify() == []
    assert VoteStore.open(store.path).load().codes(first).max() == 0


def test_a_second_process_cannot_fill_the_same_store(tmp_path):
    table = np.random.default_rng(0).integers(3, size=(100, 8))
    refused = []

    class Slow(np.ndarray):
        """A table in whose first slice a second process wants to fill the same store."""

        def __getitem__(self, key):
            if not refused and (tmp_path / "votes").exists():
                refused.extend(run(SECOND, tmp_path))
            return super().__getitem__(key)

    VoteStore.from_table(tmp_path / "votes", table.view(Slow), classes=[0, 1, 2], tile_members=2)
    assert refused == [
        f"{tmp_path / 'votes'} is being filled by another process. Wait until it has ended, then "
        "run again; or pass another folder."
    ]
    assert same_votes(VoteStore.open(tmp_path / "votes").load(), Votes.encode(table))


SECOND = """
import sys
from pathlib import Path
from secateurs.exceptions import InputError
from secateurs.outputs._store_files import filling_lock
try:
    with filling_lock(Path(sys.argv[1]) / "votes"):
        print("filled")
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("hold", [tile_lock, filling_lock])
def test_a_child_that_was_forked_while_a_store_was_locked_does_not_keep_the_lock(tmp_path, hold):
    store = VoteStore.create(tmp_path / "votes", 8, 100, [0, 1, 2], tile_members=4)
    with hold(store.path):
        child = os.fork()
        if not child:
            time.sleep(600)
            os._exit(0)

    def lock_again():
        with hold(store.path):
            return True

    with ThreadPoolExecutor(1) as pool:
        try:
            assert pool.submit(lock_again).result(300)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_threads_may_check_and_forget_tiles_at_the_same_time(tmp_path):
    files = [tmp_path / f"tile-{number}" for number in range(16)]
    for file in files:
        file.touch()

    def work(thread):
        for _ in range(300):
            for file in (files[thread], files[thread - 1]):
                assert checked_members(file, 3).shape == (3,)
                forget_checks(file)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(work, range(16))) == [None] * 16
    finally:
        sys.setswitchinterval(before)
