"""Joint error over shards, and EPFD over scores: the very numbers of one process."""

from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from executors import Enough, Sender, Told, found, processes
from hypothesis import given
from hypothesis import strategies as st

from score_cases import KINDS, make_scores, score_cases_with_keep
from secateurs import (
    COMEP,
    EPFD,
    BestMembersPruner,
    JointErrorPruner,
    PredictionStore,
    VoteStore,
)
from secateurs.distributed import limits
from secateurs.engines import sharding
from secateurs.engines.executors import Engine
from secateurs.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore:.*(1 member|chance would|one class)")

both_ways = pytest.mark.parametrize("shard", ["members", "rows"])
every_kind = pytest.mark.parametrize("kind", KINDS)


def stored(case, folder, **options):
    if case.kind == "labels":
        return VoteStore.from_votes(folder, case.given, **options)
    return PredictionStore.from_scores(folder, case.given, **options)


@pytest.fixture(scope="module")
def pools():
    with ThreadPoolExecutor(3) as threads, Sender(2) as sender, processes() as others:
        yield {"threads": threads, "processes": others, "sender": sender}


@both_ways
@given(drawn=score_cases_with_keep(most_members=9, most_samples=140), data=st.data())
def test_shards_give_the_numbers_of_one_machine(shard, drawn, data):
    case, keep = drawn
    options = {
        "shrink": data.draw(st.sampled_from([0.0, 0.5])),
        "refine": data.draw(st.booleans()),
    }
    alone = JointErrorPruner(keep, **options).fit(case.given)
    kind = data.draw(st.sampled_from([ThreadPoolExecutor, Sender]))
    with kind(data.draw(st.sampled_from([1, 2, 7]))) as pool:
        spread = JointErrorPruner(keep, **options, shard=shard).fit(case.given, executor=pool)
    assert found(spread) == found(alone)


@both_ways
@every_kind
@pytest.mark.parametrize("name", ["threads", "processes", "sender"])
def test_every_kind_of_executor_gives_the_numbers_of_one_machine(
    pools, name, kind, shard, tmp_path
):
    for n_classes, share in ((2, 0.0), (5, 0.2)):
        case = make_scores(4, kind, 21, 300, n_classes, share_missing=share)
        alone = JointErrorPruner(6).fit(case.given)
        store = stored(case, tmp_path / f"{n_classes}", tile_members=4)
        for given_as in (case.given, store):
            pruner = JointErrorPruner(6, shard=shard).fit(given_as, executor=pools[name])
            assert found(pruner) == found(alone)


@both_ways
@every_kind
def test_workers_with_several_threads_change_nothing(monkeypatch, kind, shard):
    monkeypatch.setattr(Engine, "n_threads", 3)
    case = make_scores(5, kind, 17, 150, 3)
    alone = JointErrorPruner(4).fit(case.given)
    with ThreadPoolExecutor(2) as pool:
        assert found(JointErrorPruner(4, shard=shard).fit(case.given, executor=pool)) == found(
            alone
        )


@both_ways
@every_kind
def test_a_store_too_large_for_memory_is_read_tile_by_tile(monkeypatch, tmp_path, kind, shard):
    case = make_scores(6, kind, 23, 200, 3, share_missing=0.1)
    alone = JointErrorPruner(6, shrink=0.5).fit(case.given)
    store = stored(case, tmp_path / "store", tile_members=5)

    def load(self):
        raise AssertionError("a store was loaded whole")

    monkeypatch.setattr(limits, "held_bytes", 0)
    monkeypatch.setattr(type(store), "load", load)
    assert found(JointErrorPruner(6, shrink=0.5, shard=shard).fit(store)) == found(alone)


@pytest.fixture
def asked(monkeypatch):
    """Record the members whose pair values are computed in each step."""
    steps = []
    for kind in (sharding.MemberShards, sharding.RowShards):

        def rows(self, members, objective, whole=kind.matrix_rows):
            steps.append(list(members))
            return whole(self, members, objective)

        monkeypatch.setattr(kind, "matrix_rows", rows)
    return steps


@both_ways
@every_kind
def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, asked, kind, shard):
    case = make_scores(7, kind, 20, 200, 3)
    store = stored(case, tmp_path / "store", tile_members=6)
    alone = JointErrorPruner(6).fit(case.given)
    with ThreadPoolExecutor(2) as pool, pytest.raises(Enough):
        JointErrorPruner(6, shard=shard).fit(store, executor=pool, callback=Told(4))
    assert asked == [[member] for member in alone.member_indices_[:4].tolist()]
    asked.clear()
    told = Told()
    with ThreadPoolExecutor(3) as pool:
        again = JointErrorPruner(6, shard=shard).fit(store, executor=pool, callback=told)
    assert found(again) == found(alone)
    assert asked == [[member] for member in alone.member_indices_[4:].tolist()]
    assert told.heard == [(j + 1, 6, score) for j, score in enumerate(alone.scores_)]


def test_auto_takes_the_way_that_sends_less(monkeypatch):
    taken = []
    for kind in (sharding.MemberShards, sharding.RowShards):

        def begin(self, *args, kind=kind, whole=kind.__init__):
            taken.append(kind.__name__)
            whole(self, *args)

        monkeypatch.setattr(kind, "__init__", begin)
    with ThreadPoolExecutor(2) as pool:
        for n_members, n_samples in ((60, 70), (3, 4000)):
            case = make_scores(0, "probabilities", n_members, n_samples)
            JointErrorPruner(2).fit(case.given, executor=pool)
    assert taken == ["MemberShards", "RowShards"]


PRUNERS = {
    "joint": JointErrorPruner(4),
    "shrunken": JointErrorPruner(4, shrink=0.5, refine=True),
    "best": BestMembersPruner(4),
    "comep": COMEP(4),
}


def of_regression(name, kind):
    return kind == "numbers" and name == "comep"


@every_kind
@pytest.mark.parametrize("name", ["joint", "shrunken", "best", "comep"])
@pytest.mark.parametrize("criterion", ["accuracy", "objective"])
def test_groups_of_scores_are_pruned_alike_everywhere(pools, tmp_path, kind, name, criterion):
    if of_regression(name, kind) or (name == "best" and criterion == "objective"):
        return
    case = make_scores(8, kind, 30, 120, 3, share_missing=0.1)
    store = stored(case, tmp_path / "store", tile_members=7)

    def grouped():
        return EPFD(PRUNERS[name], 3, criterion, random_state=0)

    alone = grouped().fit(case.given)
    assert len(alone.candidates_) == 4
    for pool in pools.values():
        for given_as in (case.given, store):
            assert found(grouped().fit(given_as, executor=pool)) == found(alone)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend, n_jobs=2):
            for given_as in (case.given, store):
                assert found(grouped().fit(given_as)) == found(alone)


def test_groups_compete_by_the_accuracy_of_the_soft_vote():
    case = make_scores(9, "probabilities", 20, 90, 3)
    pruner = EPFD(JointErrorPruner(3), 3, random_state=0).fit(case.given)
    table = np.asarray(case.table)
    for members, score in zip(pruner.candidates_, pruner.candidate_scores_):
        vote = table[:, members].mean(axis=1).argmax(axis=1)
        assert score == pytest.approx(np.mean(vote == np.array(case.y)))


def test_groups_of_numbers_compete_by_their_squared_error():
    case = make_scores(10, "numbers", 20, 90)
    pruner = EPFD(JointErrorPruner(3), 3, random_state=0).fit(case.given)
    for members, score in zip(pruner.candidates_, pruner.candidate_scores_):
        mean = np.asarray(case.table)[:, members].mean(axis=1)
        assert score == pytest.approx(-np.mean((mean - case.y) ** 2))
    assert pruner.predict(case.given).shape == (90,)


def test_scores_that_are_too_large_to_send_name_the_way_out(monkeypatch):
    case = make_scores(0, "probabilities", 10, 90)
    monkeypatch.setattr(limits, "sent_bytes", 100)
    with (
        Sender(2) as pool,
        pytest.raises(InputError, match=r"predictions take .*PredictionStore\.from_sco"),
    ):
        JointErrorPruner(3).fit(case.given, executor=pool)
