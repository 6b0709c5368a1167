"""Vote stores: the same votes in a folder as in memory."""

import pickle
import tracemalloc
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import plain
from secateurs import EPFD, Votes, VoteStore, all_pruners, make_pruner
from secateurs._methods import METHODS
from secateurs.exceptions import InputError

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no distributions|1 member|chance would|reference direction|one class)"
)

LABELS = {
    "integers": lambda n: np.arange(n) * 3 - 5,
    "text": lambda n: np.array([f"class {c:02d} ü" for c in range(n)]),
    "floats": lambda n: np.arange(n) * 2.0,
    "far apart": lambda n: np.arange(n) * 10**15,
}


class Table(NamedTuple):
    votes: np.ndarray  # samples × members, perhaps masked
    y: np.ndarray | None
    names: list | None

    @property
    def shape(self):
        return self.votes.shape

    def encoded(self):
        """The same in memory."""
        votes = Votes.encode(self.votes, self.y)
        return replace(votes, names=self.names and np.array(self.names, dtype=object))


@st.composite
def tables(draw):
    n_classes = draw(st.sampled_from([1, 2, 2, 3, 15, 16, 17, 20]))
    n_samples = draw(st.sampled_from([1, 2, 63, 64, 65, 130, 4095, 4096, 4097, 4200]))
    n_members = draw(st.integers(1, 7))
    labels = LABELS[draw(st.sampled_from(sorted(LABELS)))](n_classes)
    if n_classes <= 2 and draw(st.booleans()):
        labels = np.array([False, True])[:n_classes]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    votes = labels[rng.integers(n_classes, size=(n_samples, n_members))]
    if draw(st.sampled_from([False, False, True])):
        mask = rng.random(votes.shape) < 0.3
        mask[0, 0] = False
        votes = np.ma.array(votes, mask=mask)
    y = draw(st.sampled_from([None, labels[rng.integers(n_classes, size=n_samples)]]))
    names = draw(st.sampled_from([None, [f"member {t}" for t in range(n_members)]]))
    return Table(votes, y, names)


@contextmanager
def stored(table, y=None, **options):
    with TemporaryDirectory() as folder:
        yield VoteStore.from_table(f"{folder}/votes", table, y, **options)


def labels_of(votes, members=None):
    """The labels that votes hold, member by member; None where there is none."""
    codes = votes.codes(range(votes.n_members) if members is None else members)
    return np.append(votes.classes.astype(object), None)[codes]


def as_lists(table):
    """The same of a plain table."""
    return np.where(np.ma.getmaskarray(table), None, np.ma.getdata(table).astype(object)).T


def same_votes(one, other):
    """Whether two are the same to the last bit."""
    return (
        one.classes.tolist() == other.classes.tolist()
        and one.has_missing == other.has_missing
        and np.array_equal(one.packed.cells, other.packed.cells)
        and np.array_equal(one.packed.code_counts, other.packed.code_counts)
        and np.array_equal(one.y, other.y)
        and np.array_equal(one.names, other.names)
    )


@given(tables(), st.data())
def test_a_store_holds_exactly_the_votes(table, data):
    n_samples, n_members = table.shape
    tile_members = data.draw(st.sampled_from([None, *range(1, n_members + 2)]))
    options = {
        "tile_members": tile_members,
        "names": table.names,
        "shuffle": data.draw(st.booleans()),
    }
    with stored(table.votes, table.y, **options) as kept:
        again, expected = VoteStore.open(kept.path), table.encoded()
        for one in (kept, again):
            assert (one.n_members, one.n_samples) == (n_members, n_samples)
            assert one.n_tiles == -(-n_members // (tile_members or n_members))
            assert (labels_of(one.load()) == as_lists(table.votes)).all()
            assert same_votes(one.load(), expected)
            assert one.nbytes == expected.nbytes
            assert one.n_answered.tolist() == expected.n_answered.tolist()
            assert one.verify() == []
        chosen = data.draw(st.lists(st.integers(0, n_members - 1), min_size=1, max_size=9))
        taken = again.take(chosen)
        assert (labels_of(taken) == as_lists(table.votes)[chosen]).all()
        assert taken.sizes.tolist() == expected.sizes[chosen].tolist()
        if table.names:
            assert taken.names.tolist() == [table.names[t] for t in chosen]
        moved = VoteStore.from_votes(kept.path.with_name("moved"), again.load(), tile_members=3)
        assert same_votes(moved.load(), again.load())


@given(tables(), st.data())
def test_consecutive_samples_are_those_of_votes_in_memory(table, data):
    start = 64 * data.draw(st.integers(0, (table.shape[0] - 1) // 64))
    stop = data.draw(st.integers(start + 1, table.shape[0] + 5))
    with stored(table.votes, table.y, tile_members=2) as kept:
        run = kept.rows(slice(start, stop))
        in_memory = kept.load()
    expected = np.ma.asanyarray(table.votes)[start:stop]
    assert (labels_of(run) == as_lists(expected)).all()
    codes = run.codes(range(run.n_members))
    counted = [(codes == code).sum(axis=1) for code in range(run.n_classes)]
    assert run.sizes.tolist() == np.stack(counted, axis=1).tolist()
    if table.y is not None:
        assert (run.classes[run.y] == table.y[start:stop]).all()
    if stop % 64 == 0 or stop >= table.shape[0]:
        assert same_votes(run, in_memory.run(slice(start, stop)))


@pytest.mark.parametrize("samples", [slice(5, 64), slice(0, 64, 2), slice(64, 64), slice(64, 5)])
def test_samples_that_are_not_consecutive_are_rejected(samples):
    with stored(*plain(3, 100)) as kept, pytest.raises(InputError, match="multiple of 64"):
        kept.rows(samples)


class Sliced:
    """A table on disk as h5py has it: a shape, slices and single columns, and no more."""

    def __init__(self, table):
        self._table, self.shape, self.dtype = table, table.shape, table.dtype
        self.widest = 0

    def __getitem__(self, key):
        rows, columns = key
        assert rows == slice(None)
        assert isinstance(columns, (int, slice))
        part = self._table[:, columns]
        self.widest = max(self.widest, 1 if part.ndim == 1 else part.shape[1])
        return part


def as_memory_map(table, folder):
    np.save(folder / "table.npy", table)
    return np.load(folder / "table.npy", mmap_mode="r")


def as_zarr(table, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(folder / "table.zarr", shape=table.shape, dtype=table.dtype)
    array[:] = table
    return array


FORMS = {
    "list": lambda table, folder: table.tolist(),
    "array": lambda table, folder: table,
    "columns first": lambda table, folder: np.asfortranarray(table),
    "frame": lambda table, folder: pd.DataFrame(table),
    "memory map": as_memory_map,
    "zarr": as_zarr,
    "sliced": lambda table, folder: Sliced(table),
}


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_any_sliceable_table_is_accepted(form, shuffle, tmp_path):
    votes, y = map(np.array, plain(20, 70, 3))
    given_as = FORMS[form](votes, tmp_path)
    kept = VoteStore.from_table(tmp_path / "votes", given_as, y, tile_members=6, shuffle=shuffle)
    assert same_votes(kept.load(), Votes.encode(votes, y))
    if shuffle:
        assert kept.order.tolist() != sorted(kept.order)
        assert sorted(kept.order) == list(range(20))


def test_names_of_a_frame_are_kept():
    (votes, y), names = plain(4, 20), ["oak", "fir", "elm", "ash"]
    with stored(pd.DataFrame(votes, columns=names), y) as kept:
        assert kept.names.tolist() == names
        assert make_pruner("re", keep=2).fit(kept).feature_names_in_.tolist() == names


def test_a_zarr_array_is_read_by_its_path(tmp_path):
    votes, y = map(np.array, plain(7, 70, 3))
    as_zarr(votes, tmp_path)
    kept = VoteStore.from_zarr(tmp_path / "votes", tmp_path / "table.zarr", y)
    assert same_votes(kept.load(), Votes.encode(votes, y))
    with pytest.raises(InputError, match=r"no\.zarr cannot be read"):
        VoteStore.from_zarr(tmp_path / "more", str(tmp_path / "no.zarr"))
    assert not (tmp_path / "more").exists()


@pytest.mark.parametrize("labels", [[0, 1, 2], ["ant", "bee", "cat"]])
def test_parquet_columns_are_members_except_the_true_labels(tmp_path, labels):
    pytest.importorskip("pyarrow")
    votes, y = (np.array(labels)[np.array(part)] for part in plain(9, 70, 3))
    names = [f"tree.{t}" for t in range(9)]
    frame = pd.DataFrame(votes, columns=names)
    frame.insert(4, "truth", y)
    frame.to_parquet(tmp_path / "votes.parquet", row_group_size=30)
    kept = VoteStore.from_parquet(
        tmp_path / "a", tmp_path / "votes.parquet", "truth", tile_members=2
    )
    expected = Votes.encode(pd.DataFrame(votes, columns=names), y)
    assert same_votes(kept.load(), expected)
    frame[names].to_parquet(tmp_path / "members.parquet")
    kept = VoteStore.from_parquet(tmp_path / "b", tmp_path / "members.parquet", y)
    assert same_votes(kept.load(), expected)


def test_an_invalid_parquet_file_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"oak": [0, 1], "fir": [1, None]}).to_parquet(tmp_path / "some.parquet")
    (tmp_path / "none.parquet").write_bytes(b"PAR1 not really")
    for name, y, message in [
        ("some.parquet", "truth", r"some\.parquet has no column 'truth'. It has: oak, fir"),
        ("none.parquet", None, r"none\.parquet cannot be read"),
        ("absent.parquet", None, r"absent\.parquet cannot be read"),
    ]:
        with pytest.raises(InputError, match=message):
            VoteStore.from_parquet(tmp_path / "votes", tmp_path / name, y)
    with pytest.raises(ValueError, match="missing values are not labels"):
        VoteStore.from_parquet(tmp_path / "votes", tmp_path / "some.parquet", [0, 1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["none.parquet", "some.parquet"]


def fitted(pruner):
    """What a fit has found, to be compared."""
    names = ("member_indices_", "scores_", "objective_", "support_", "relevance_", "classes_")
    found = {name: getattr(pruner, name) for name in names if hasattr(pruner, name)}
    return {name: np.asarray(value).tolist() for name, value in found.items()}


def made(name):
    rounds = {"n_iterations": 5} if METHODS[name].traits.most_rounds else {}
    pruner = make_pruner(name, keep=4, **rounds)
    return pruner.seed(3)


@pytest.mark.parametrize("n_classes", [2, 3, 18])
@pytest.mark.parametrize("name", all_pruners())
def test_every_pruner_accepts_a_store(name, n_classes):
    case = plain(15, 130, n_classes)
    further = plain(15, 90, n_classes, seed=1)
    with stored(*case, tile_members=4) as kept, stored(*further) as other:
        expected, pruner = made(name).fit(*case), made(name).fit(kept)
        assert fitted(pruner) == fitted(expected)
        assert pruner.predict(other).tolist() == expected.predict(further.votes).tolist()
        assert pruner.score(other, further.y) == expected.score(*further)
        framed = EPFD(made(name), 3, random_state=0).fit(kept)
    assert fitted(framed) == fitted(EPFD(made(name), 3, random_state=0).fit(*case))


@pytest.mark.parametrize("name", ["comep", "domep", "re", "kp", "best"])
def test_pruners_accept_stores_with_missing_votes(name):
    votes, y = map(np.array, plain(9, 130, 3))
    gapped = np.ma.array(votes, mask=np.random.default_rng(0).random(votes.shape) < 0.2)
    with stored(gapped, y, tile_members=2) as kept:
        assert fitted(made(name).fit(kept)) == fitted(made(name).fit(gapped, y))


@pytest.mark.parametrize("name", ["comep", "re"])
def test_true_labels_may_come_with_fit(name):
    votes, y = plain(12, 100, 3)
    with stored(votes) as kept:
        assert kept.y is None
        assert fitted(made(name).fit(kept, y)) == fitted(made(name).fit(votes, y))
        with pytest.raises(ValueError, match="requires y"):
            made(name).fit(kept)
        with pytest.raises(ValueError, match="100 samples but y has 99 labels"):
            made(name).fit(kept, y[:-1])
    with stored(votes, y[::-1]) as kept:
        assert fitted(made(name).fit(kept, y)) == fitted(made(name).fit(votes, y))


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_labels_unknown_to_a_store_are_rejected(n_classes):
    votes, y = map(np.array, plain(6, 60, n_classes))
    with stored(votes, classes=range(n_classes)) as kept:
        with pytest.raises(InputError, match=f"y holds the label 99, .* {n_classes} classes"):
            kept.with_labels([99, *y[1:]])
        with pytest.raises(ValueError, match=r"some are text such as .*'0'.*, others numbers"):
            kept.with_labels(y.astype(str))
        with pytest.raises(InputError, match="y holds the label 99"):
            made("comep").fit(kept, [99, *y[1:]])
        with pytest.raises(ValueError, match="1d array"):
            kept.with_labels(np.stack([y, y], axis=1))
        with pytest.raises(InputError, match=r"votes holds the label 1, .* the store's 1 classes"):
            VoteStore.from_table(kept.path.with_name("more"), votes, classes=[0])


def test_classes_may_be_more_than_appear():
    votes, y = map(np.array, plain(6, 60, 3))
    with stored(votes, classes=[7, 0, 1, 2, 9]) as kept:
        assert kept.classes.tolist() == [0, 1, 2, 7, 9]
        assert (labels_of(kept.load()) == votes.T).all()
        assert kept.with_labels(np.where(y == 0, 9, y)).truth.max() == 4
        expected = made("comep").fit(votes, y)
        assert (
            made("comep").fit(kept, y).member_indices_.tolist() == expected.member_indices_.tolist()
        )


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (np.zeros(5, int), {}, r"shape \(5,\); it must have 2 dimensions"),
        (np.zeros((2, 2, 2), int), {}, "it must have 2 dimensions"),
        (np.zeros((0, 3), int), {}, "3 members and 0 samples is empty"),
        (np.zeros((3, 0), int), {}, "0 members and 3 samples is empty"),
        ([[1, "a"], ["a", 1]], {}, "mixes kinds of labels"),
        (np.full((3, 2), 0.5), {}, "holds 0.5, which is not a label"),
        (np.full((3, 2), np.nan), {}, "NaN"),
        (np.ma.array(np.zeros((3, 2), int), mask=True), {}, "masked everywhere"),
        (np.zeros((3, 2), int), {"names": ["oak"]}, "1 name for 2 members"),
        (np.zeros((3, 2), int), {"tile_members": 0}, "tile_members=0 is not a valid number"),
        (np.zeros((3, 2), int), {"tile_members": -4}, "tile_members=-4 is not a valid number"),
        (np.zeros((3, 2), int), {"y": [0, 1]}, "3 samples but y has 2 labels"),
        (np.zeros((3, 2), int), {"y": ["a", "b", "c"]}, "some are text such as"),
        (np.ma.array(np.eye(3, dtype=int), mask=np.eye(3)), {"has_missing": False}, "masked"),
    ],
)
def test_invalid_tables_are_rejected(tmp_path, table, options, message):
    with pytest.raises(ValueError, match=message):
        VoteStore.from_table(tmp_path / "votes", table, **options)


def test_no_folder_is_created_for_a_rejected_table(tmp_path):
    for options in ({"names": ["oak"]}, {"tile_members": 0}, {"y": [0]}):
        with pytest.raises(InputError):
            VoteStore.from_table(tmp_path / "votes", np.zeros((3, 2), int), **options)
    assert not list(tmp_path.iterdir())


def test_masked_values_do_not_matter():
    votes, y = map(np.array, plain(5, 60, 3))
    mask = np.random.default_rng(0).random(votes.shape) < 0.2
    expected = Votes.encode(np.ma.array(votes, mask=mask), y)
    for covered in (np.where(mask, np.nan, votes), np.where(mask, 77, votes)):
        with stored(np.ma.array(covered, mask=mask), y) as kept:
            assert kept.classes.tolist() == [0, 1, 2]
            assert np.array_equal(kept.load().packed.cells, expected.packed.cells)


def test_a_folder_is_never_overwritten(tmp_path):
    case = plain(5, 60)
    VoteStore.from_table(tmp_path / "votes", *case)
    with pytest.raises(InputError, match=r"votes exists\. Pass a new folder"):
        VoteStore.from_table(tmp_path / "votes", *case)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="exists"):
        VoteStore.create(tmp_path / "empty", 3, 4, [0, 1])
    with pytest.raises(InputError, match=r"absent.* cannot be written: .*; nothing is written"):
        VoteStore.from_table(tmp_path / "absent" / "votes", *case)


def test_only_complete_tiles_are_written(tmp_path):
    votes, y = map(np.array, plain(7, 60))
    kept = VoteStore.create(tmp_path / "votes", 7, 60, [0, 1], y=y, tile_members=3)
    first, *others = kept.missing
    assert [len(first), *map(len, others)] == [3, 3, 1]
    for members, part in [
        (first[::-1], votes.T[first[::-1]]),
        (first[:2], votes.T[first[:2]]),
        ([], votes.T[:0]),
        ([99, 100, 101], votes.T[:3]),
        (first, votes[:, first]),
        (first, votes.T[first][:, 1:]),
        (first, votes[0]),
    ]:
        with pytest.raises(InputError, match=r"not a complete tile\. Pass the members as"):
            kept.write(members, part)
    with pytest.raises(InputError, match="votes holds the label 5"):
        kept.write(first, np.where(np.arange(60) == 59, 5, votes.T[first]))
    with pytest.raises(InputError, match="codes from 0 to 2, but the store has 2 codes: 2 classes"):
        kept.write_codes(first, np.where(np.arange(60) == 59, 2, votes.T[first]))
    with pytest.raises(InputError, match=r"masked\. Create the store with has_missing=True"):
        kept.write(first, np.ma.array(votes.T[first], mask=votes.T[first] == 1))
    assert [part.tolist() for part in kept.missing] == [
        first.tolist(),
        *(o.tolist() for o in others),
    ]
    for members in (others[1], first, others[0]):  # in any order
        kept.write(members, votes.T[members].tolist())
    assert same_votes(VoteStore.open(tmp_path / "votes").load(), Votes.encode(votes, y))


def test_a_store_is_sent_as_its_path():
    votes, y = plain(400, 900)
    with stored(votes, y) as kept:
        alone = len(pickle.dumps(VoteStore.resume(kept.path)))
        kept.load()
        kept.rows(slice(0, 64))
        assert len(pickle.dumps(kept)) == alone
        assert alone < 500  # neither votes nor labels
        other = kept.with_labels(y)
        assert len(pickle.dumps(other)) > 900
        assert np.array_equal(pickle.loads(pickle.dumps(other)).y, kept.y)
        again = pickle.loads(pickle.dumps(kept))
        assert same_votes(again.load(), kept.load())
        pruner = pickle.loads(pickle.dumps(made("comep").fit(kept)))
        assert pruner.predict(kept).tolist() == made("comep").fit(votes, y).predict(votes).tolist()


def test_a_store_is_found_after_a_change_of_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = VoteStore.from_table("votes", *plain(5, 60))
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(kept)).load().n_members == 5


def test_filling_a_store_never_holds_all_votes_in_memory(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    np.save(
        tmp_path / "table.npy", np.asfortranarray(rng.integers(3, size=(4096, 512), dtype=np.int8))
    )
    table = np.load(tmp_path / "table.npy", mmap_mode="r")
    monkeypatch.setattr(
        "secateurs.outputs._label_columns._BLOCK_BYTES", 1 << 16
    )  # looked at for classes
    sliced = Sliced(table)
    VoteStore.from_table(tmp_path / "first", table[:, :16])  # loads the kernels
    tracemalloc.start()
    kept = VoteStore.from_table(tmp_path / "votes", sliced, tile_members=16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sliced.widest <= 16
    assert peak < table.nbytes / 2
    assert (labels_of(kept.load()) == table.T).all()


def test_a_store_has_a_repr_and_a_fixed_set_of_files(tmp_path):
    kept = VoteStore.from_table(tmp_path / "votes", *plain(5, 60, 3))
    assert repr(kept) == "VoteStore(60 samples, 5 members, 3 classes)"
    files = sorted(path.name for path in Path(kept.path).iterdir())
    assert files == [
        "classes.npy",
        "meta.json",
        "order.npy",
        "tile-00000.npy",
        "tiles.jsonl",
        "y.npy",
    ]
    with pytest.raises(ValueError, match=r"has no true labels\. Pass y"):
        VoteStore.create(tmp_path / "more", 3, 4, [0, 1]).truth  # noqa: B018
