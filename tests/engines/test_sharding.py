"""Exact COMEP over shards of members and of rows: the very numbers of one machine."""

import json
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from executors import Enough, Sender, Told, found, processes
from hypothesis import given
from hypothesis import strategies as st

import naive
import secateurs.outputs.base_votes
from cases import NAMED, cases_with_keep, make, plain
from secateurs import COMEP, Votes, VoteStore
from secateurs.distributed import limits
from secateurs.engines import sharding
from secateurs.engines.executors import Engine

pytestmark = pytest.mark.filterwarnings("ignore:.*(1 member|chance would|one class)")

both_ways = pytest.mark.parametrize("shard", ["members", "rows"])


@pytest.fixture(scope="module")
def pools():
    with ThreadPoolExecutor(3) as threads, Sender(2) as sender, processes() as others:
        yield {"threads": threads, "processes": others, "sender": sender}


@st.composite
def gaps(draw, case):
    """Perhaps with some votes missing, though never all of a member."""
    votes = np.array(case.votes)
    if not draw(st.booleans()):
        return votes
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = rng.random(votes.shape) < 0.3
    mask[rng.integers(len(votes), size=votes.shape[1]), np.arange(votes.shape[1])] = False
    return np.ma.array(votes, mask=mask)


@both_ways
@given(drawn=cases_with_keep(most_members=12, most_samples=140), data=st.data())
def test_shards_of_votes_in_memory_give_the_numbers_of_one_machine(shard, drawn, data):
    case, keep = drawn
    votes = data.draw(gaps(case))
    n_workers = data.draw(st.sampled_from([1, 2, 3, 7]))
    options = {
        "diversity_weight": data.draw(st.sampled_from([0, 0.3, 0.5, 1])),
        "start": data.draw(st.sampled_from(["spread", "every", "random", "relevance", 0])),
        "refine": data.draw(st.booleans()),
        "random_state": data.draw(st.integers(0, 99)),
    }
    alone = COMEP(keep, **options).fit(votes, case.y)
    kind = data.draw(st.sampled_from([ThreadPoolExecutor, Sender]))
    with kind(n_workers) as pool:
        spread = COMEP(keep, **options, shard=shard).fit(votes, case.y, executor=pool)
    assert found(spread) == found(alone)
    if options["start"] == "spread" and not options["refine"] and not np.ma.is_masked(votes):
        weight = options["diversity_weight"]
        expected = naive.comep(case.votes, case.y, keep, weight, "spread")
        assert spread.member_indices_.tolist() == expected


@both_ways
@given(drawn=cases_with_keep(most_members=9, most_samples=140), data=st.data())
def test_shards_of_a_store_give_the_numbers_of_one_machine(shard, drawn, data):
    case, keep = drawn
    votes = data.draw(gaps(case))
    start = data.draw(st.sampled_from(["spread", "every", "relevance"]))
    alone = COMEP(keep, start=start).fit(votes, case.y)
    tile_members = data.draw(st.integers(1, 10))
    n_workers = data.draw(st.sampled_from([1, 2, 3, 7]))
    with TemporaryDirectory() as folder, ThreadPoolExecutor(n_workers) as pool:
        store = VoteStore.from_table(f"{folder}/votes", votes, case.y, tile_members=tile_members)
        spread = COMEP(keep, start=start, shard=shard).fit(store, executor=pool)
    assert found(spread) == found(alone)


@both_ways
@pytest.mark.parametrize("name", ["threads", "processes", "sender"])
def test_every_kind_of_executor_gives_the_numbers_of_one_machine(pools, name, shard, tmp_path):
    for n_classes in (2, 5, 18):
        labels = [f"class {c:02d}" for c in range(n_classes)]
        kinds = ["noisy"] * 20 + ["constant", "copy", "copy", "perfect", "wrong", "random"]
        votes, y = make(n_classes, 300, n_classes, kinds, labels)
        alone = COMEP(6, refine=True).fit(votes, y)
        store = VoteStore.from_table(tmp_path / f"{n_classes}", votes, y, tile_members=7)
        for given_as in (votes, Votes.encode(votes), store):
            spread = COMEP(6, refine=True, shard=shard).fit(given_as, y, executor=pools[name])
            assert found(spread) == found(alone)


@both_ways
@pytest.mark.parametrize("case", NAMED.values(), ids=NAMED)
def test_hand_made_cases_come_out_as_on_one_machine(case, shard):
    for keep in range(1, case.n_members + 1):
        for n_workers in (1, 2, 7):
            with ThreadPoolExecutor(n_workers) as pool:
                spread = COMEP(keep, shard=shard).fit(*case, executor=pool)
            assert found(spread) == found(COMEP(keep).fit(*case))


@both_ways
@pytest.mark.parametrize("n_members", [1, 2, 3])
def test_there_may_be_more_workers_than_members(n_members, shard, tmp_path):
    case = plain(n_members, 90, 3)
    store = VoteStore.from_table(tmp_path / "votes", *case, tile_members=1)
    with ThreadPoolExecutor(7) as pool:
        for keep in range(1, n_members + 1):
            alone = COMEP(keep).fit(*case)
            for given_as in (Votes.encode(*case), store):
                spread = COMEP(keep, shard=shard).fit(given_as, executor=pool)
                assert found(spread) == found(alone)


@both_ways
@pytest.mark.parametrize("n_classes", [3, 5, 8])
def test_members_that_lie_alone_are_counted_as_in_company(tmp_path, shard, n_classes):
    for seed in range(8):
        case = plain(13, 200, n_classes, seed)
        alone = COMEP(9, start="relevance").fit(*case)
        store = VoteStore.from_table(tmp_path / f"{seed}", *case, tile_members=1)
        with ThreadPoolExecutor(2) as pool:
            spread = COMEP(9, start="relevance", shard=shard).fit(store, executor=pool)
        assert found(spread) == found(alone)


@both_ways
@pytest.mark.parametrize(
    "options",
    [
        {"start": "spread"},
        {"start": "relevance"},
        {"start": "random", "random_state": 5},
        {"start": 299},
        {"diversity_weight": "auto", "random_state": 1},
    ],
    ids=str,
)
def test_many_members_start_as_on_one_machine(pools, shard, options):
    case = plain(300, 130, 3)
    alone = COMEP(5, **options).fit(*case)
    spread = COMEP(5, **options, shard=shard).fit(*case, executor=pools["threads"])
    assert found(spread) == found(alone)


@both_ways
@pytest.mark.parametrize("most_cells", [1, 40, 300])
def test_tables_counted_in_small_blocks_change_nothing(monkeypatch, shard, most_cells):
    case = plain(21, 130, 4)
    alone = COMEP(6).fit(*case)
    monkeypatch.setattr(secateurs.outputs.base_votes, "_MOST_TABLE_CELLS", most_cells)
    with ThreadPoolExecutor(3) as pool:
        spread = COMEP(6, shard=shard).fit(*case, executor=pool)
    assert spread.member_indices_.tolist() == alone.member_indices_.tolist()
    assert spread.scores_ == pytest.approx(alone.scores_, abs=1e-12)


@both_ways
def test_workers_with_several_threads_change_nothing(monkeypatch, tmp_path, shard):
    monkeypatch.setattr(Engine, "n_threads", 3)
    for n_members in (1, 2, 5, 23):
        for n_classes in (2, 3, 18):
            case = plain(n_members, 150, n_classes)
            folder = tmp_path / f"{n_members}-{n_classes}"
            store = VoteStore.from_table(folder, *case, tile_members=4)
            keep = min(4, n_members)
            alone = COMEP(keep).fit(*case)
            for votes in (Votes.encode(*case), store):
                with ThreadPoolExecutor(2) as pool:
                    spread = COMEP(keep, shard=shard).fit(votes, executor=pool)
                assert found(spread) == found(alone)


def test_auto_takes_the_way_that_sends_less():
    taken = []

    class Members(sharding.MemberShards):
        def __init__(self, *args):
            taken.append("members")
            super().__init__(*args)

    class Rows(sharding.RowShards):
        def __init__(self, *args):
            taken.append("rows")
            super().__init__(*args)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(sharding, "MemberShards", Members)
        patch.setattr(sharding, "RowShards", Rows)
        for case in (plain(50, 70), plain(3, 4000)):
            assert found(COMEP(2).fit(*case, executor=pool)) == found(COMEP(2).fit(*case))
        with ThreadPoolExecutor(1) as single:
            COMEP(2).fit(*plain(3, 4000), executor=single)
    assert taken == ["members", "rows", "members"]


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match=r"shard='columns' is unknown.*auto, members, rows"):
        COMEP(2, shard="columns").fit(*plain(5, 20))


@pytest.fixture
def nothing_held(monkeypatch):
    """No store is loaded by a pruner in this process."""

    def load(self):
        raise AssertionError("a store was loaded whole")

    monkeypatch.setattr(limits, "held_bytes", 0)
    monkeypatch.setattr(VoteStore, "load", load)


@pytest.mark.usefixtures("nothing_held")
@both_ways
@pytest.mark.parametrize("start", ["spread", "every", "relevance", 3])
def test_a_store_too_large_for_memory_is_read_tile_by_tile(tmp_path, start, shard):
    for n_classes in (2, 3, 18):
        case = plain(23, 200, n_classes)
        store = VoteStore.from_table(tmp_path / str(n_classes), *case, tile_members=5)
        outside = COMEP(6, start=start, shard=shard).fit(store)
        assert found(outside) == found(COMEP(6, start=start).fit(*case))
        assert outside.predict(store).tolist() == outside.predict(case.votes).tolist()


@pytest.fixture
def asked(monkeypatch):
    """Record the members whose distances to all members are computed in each step."""
    steps = []
    for kind in (sharding.MemberShards, sharding.RowShards):

        def rows(self, members, objective, kind=kind, whole=kind.matrix_rows):
            steps.append(list(members))
            return whole(self, members, objective)

        monkeypatch.setattr(kind, "matrix_rows", rows)
    return steps


def files_of_runs(store):
    return [path for path in (store.path / "runs").rglob("*") if path.is_file()]


def stopped(store, after, **options):
    """A run that its callback ends."""
    with ThreadPoolExecutor(2) as pool, pytest.raises(Enough):
        COMEP(6, **options).fit(store, executor=pool, callback=Told(after))


def run_again(store, **options):
    told = Told()
    with ThreadPoolExecutor(3) as pool:
        return COMEP(6, **options).fit(store, executor=pool, callback=told), told


@pytest.fixture
def store(tmp_path):
    return VoteStore.from_table(tmp_path / "votes", *plain(20, 200, 3), tile_members=6)


@both_ways
@pytest.mark.parametrize("after", [1, 3, 5, 6])
def test_a_run_that_was_stopped_goes_on_where_it_was(store, asked, shard, after):
    alone = COMEP(6, start="relevance").fit(*plain(20, 200, 3))
    stopped(store, after, start="relevance", shard=shard)
    assert files_of_runs(store)
    done = alone.member_indices_[:after].tolist()
    assert asked == [[member] for member in done]
    asked.clear()
    other = {"members": "rows", "rows": "members"}[shard]  # how it is cut up does not matter
    pruner, told = run_again(store, start="relevance", shard=other)
    assert found(pruner) == found(alone)
    assert asked == [[member] for member in alone.member_indices_[after:].tolist()]
    assert told.heard == [(j + 1, 6, score) for j, score in enumerate(alone.scores_)]
    assert not files_of_runs(store)


def test_a_run_can_be_stopped_many_times(store, asked):
    alone = COMEP(6, start="relevance").fit(*plain(20, 200, 3))
    for after in (2, 3, 5):
        stopped(store, after, start="relevance")
    assert asked == [[member] for member in alone.member_indices_[:5].tolist()]
    pruner, _ = run_again(store, start="relevance", refine=True)
    assert found(pruner) == found(COMEP(6, start="relevance", refine=True).fit(*plain(20, 200, 3)))
    assert not files_of_runs(store)


def n_steps_kept(store):
    """Steps that lie beside a store."""
    files = [path for path in files_of_runs(store) if path.name == "steps.json"]
    return len(json.loads(files[0].read_text().partition("\n")[2])) if files else 0


@pytest.mark.parametrize(("keep_seconds", "kept"), [(0, [1, 2, 3, 4]), (1000, [0, 0, 0, 0])])
def test_steps_are_kept_as_often_as_is_wanted(store, monkeypatch, keep_seconds, kept):
    monkeypatch.setattr(limits, "keep_seconds", keep_seconds)
    seen = []

    def callback(done, total, best):
        seen.append(n_steps_kept(store))
        if done == 4:
            raise Enough

    with ThreadPoolExecutor(2) as pool, pytest.raises(Enough):
        COMEP(6, start="relevance").fit(store, executor=pool, callback=callback)
    assert seen == kept
    assert n_steps_kept(store) == 4  # at the latest when a run is stopped


@pytest.mark.usefixtures("nothing_held")
def test_a_run_without_workers_is_kept_as_well(store, asked):
    with pytest.raises(Enough):
        COMEP(6, start="relevance").fit(store, callback=Told(4))
    asked.clear()
    pruner = COMEP(6, start="relevance").fit(store)
    assert len(asked) == 2
    assert found(pruner) == found(COMEP(6, start="relevance").fit(*plain(20, 200, 3)))


@pytest.mark.parametrize("keep", [1, 3, 4, 9])
def test_a_run_may_go_on_to_another_size(store, asked, keep):
    stopped(store, 4, start="relevance")
    asked.clear()
    alone = COMEP(keep, start="relevance").fit(*plain(20, 200, 3))
    with ThreadPoolExecutor(2) as pool:
        spread = COMEP(keep, start="relevance").fit(store, executor=pool)
    assert found(spread) == found(alone)
    assert len(asked) == max(0, keep - 4)


@pytest.mark.parametrize(
    ("changed", "new_y"),
    [
        ({"diversity_weight": 0.4}, False),
        ({"start": 7}, False),
        ({"start": "random", "random_state": 3}, False),
        ({}, True),
    ],
    ids=str,
)
def test_another_run_starts_afresh(store, asked, changed, new_y):
    votes, y = plain(20, 200, 3)
    stopped(store, 4, start=2)
    asked.clear()
    truth = y[::-1] if new_y else y
    options = {"start": 2, **changed}
    with ThreadPoolExecutor(2) as pool:
        spread = COMEP(6, **options).fit(store, truth, executor=pool)
    assert found(spread) == found(COMEP(6, **options).fit(votes, truth))
    assert len(asked) == 6
    assert files_of_runs(store)  # the first run can still go on
    asked.clear()
    run_again(store, start=2)
    assert len(asked) == 2
    assert not files_of_runs(store)


def test_a_copy_of_a_store_is_another_store(store, tmp_path, asked):
    stopped(store, 4, start="relevance")
    (store.path / "runs").rename(tmp_path / "runs")
    other = VoteStore.from_table(tmp_path / "other", *plain(20, 200, 3), tile_members=6)
    (tmp_path / "runs").rename(other.path / "runs")
    asked.clear()
    pruner, _ = run_again(other, start="relevance")
    assert len(asked) == 6
    assert found(pruner) == found(COMEP(6, start="relevance").fit(*plain(20, 200, 3)))


@pytest.mark.filterwarnings("ignore:.* is damaged")
@pytest.mark.parametrize("torn", ["older steps", "no steps", "garbage", "half", "empty sums"])
def test_steps_that_a_crash_has_torn_are_not_used(store, asked, torn):
    stopped(store, 3, start="relevance")
    (steps,) = (path for path in files_of_runs(store) if path.name == "steps.json")
    older = steps.read_bytes()
    stopped(store, 4, start="relevance")
    if torn == "older steps":
        steps.write_bytes(older)  # the sums were written, the steps were not
    elif torn == "no steps":
        steps.unlink()
    elif torn == "garbage":
        steps.write_text("{")
    elif torn == "half":
        sums = steps.with_name("sums.npy")
        sums.write_bytes(sums.read_bytes()[:140])
    else:
        steps.with_name("sums.npy").write_bytes(b"")
    asked.clear()
    pruner, _ = run_again(store, start="relevance")
    assert found(pruner) == found(COMEP(6, start="relevance").fit(*plain(20, 200, 3)))
    assert len(asked) == 6


def test_a_store_that_cannot_be_written_to_warns_and_gives_the_result(store, monkeypatch):
    monkeypatch.setattr(limits, "keep_seconds", 0.0)
    (store.path / "runs").write_text("in the way of a folder")
    with pytest.warns(UserWarning, match="Finished parts cannot be kept in .*runs.* start again"):
        pruner, _ = run_again(store, start="relevance")
    assert found(pruner) == found(COMEP(6, start="relevance").fit(*plain(20, 200, 3)))


def test_nothing_is_kept_of_votes_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(2) as pool, pytest.raises(Enough):
        COMEP(6).fit(*plain(20, 200, 3), executor=pool, callback=Told(3))
    assert not list(tmp_path.iterdir())
