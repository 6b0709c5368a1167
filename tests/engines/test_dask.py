"""A real Dask cluster gives the same result as one process, however it is passed."""

from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from cluster import Cluster
from executors import Enough, Told, found
from gated import GatedPruner, signs, wait_for
from sklearn.base import clone

from cases import plain
from score_cases import make_scores
from secateurs import (
    COMEP,
    DOMEP,
    EPFD,
    JointErrorPruner,
    PredictionStore,
    Votes,
    VoteStore,
    all_pruners,
    make_pruner,
)
from secateurs._methods import METHODS
from secateurs.distributed import limits
from secateurs.exceptions import InputError

pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no distributions|1 member|chance would|reference direction|one class)"
)

CASE = plain(40, 150, 3)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    from distributed import Client

    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        with Client(cluster.address) as client:
            cluster.workers(client, 2)
            yield client
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return VoteStore.from_table(tmp_path_factory.mktemp("votes") / "votes", *CASE, tile_members=7)


def made(name):
    rounds = {"n_iterations": 5} if METHODS[name].traits.most_rounds else {}
    return make_pruner(name, keep=4, **rounds)


def by_client(pruner, votes, client, **options):
    return pruner.fit(votes, executor=client, **options)


def by_executor(pruner, votes, client, **options):
    return pruner.fit(votes, executor=client.get_executor(), **options)


def by_joblib(pruner, votes, client, **options):
    with joblib.parallel_config("dask"):
        return pruner.fit(votes, **options)


WAYS = {"client": by_client, "executor": by_executor, "joblib": by_joblib}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@every_way
def test_every_pruner_in_groups_gives_the_result_of_this_process(client, store, way):
    for name in all_pruners():
        alone = EPFD(made(name), 3, random_state=0).fit(*CASE)
        for votes in (Votes.encode(*CASE), store):
            spread = way(EPFD(made(name), 3, random_state=0), votes, client)
            assert found(spread) == found(alone), name
    alone = DOMEP(4, random_state=1).fit(*CASE)
    assert found(way(DOMEP(4, random_state=1), store, client)) == found(alone)


@pytest.mark.parametrize("shard", ["members", "rows"])
@pytest.mark.parametrize("way", [by_client, by_executor])
def test_shards_give_the_numbers_of_this_process(client, store, way, shard):
    alone = COMEP(6, refine=True).fit(*CASE)
    for votes in (Votes.encode(*CASE), store):
        assert found(way(COMEP(6, refine=True, shard=shard), votes, client)) == found(alone)
    gapped = np.ma.array(CASE.votes, mask=np.random.default_rng(0).random((150, 40)) < 0.2)
    votes = Votes.encode(gapped, CASE.y)
    alone = COMEP(4, start="every").fit(votes)
    assert found(way(COMEP(4, start="every", shard=shard), votes, client)) == found(alone)


@pytest.mark.parametrize("kind", ["probabilities", "numbers"])
@pytest.mark.parametrize("way", [by_client, by_executor])
def test_scores_give_the_numbers_of_this_process(client, tmp_path, way, kind):
    case = make_scores(0, kind, 25, 150, 3, share_missing=0.2)
    store = PredictionStore.from_scores(tmp_path / "scores", case.given, tile_members=6)
    alone = JointErrorPruner(5).fit(case.given)
    grouped = EPFD(JointErrorPruner(5), 3, random_state=0)
    together = clone(grouped).fit(case.given)
    for scores in (case.given, store):
        for shard in ("members", "rows"):
            assert found(way(JointErrorPruner(5, shard=shard), scores, client)) == found(alone)
        assert found(way(clone(grouped), scores, client)) == found(together)


def test_progress_is_told(client):
    told = Told()
    pruner = EPFD(made("re"), 5, random_state=0).fit(*CASE, executor=client, callback=told)
    assert [done for done, _, _ in told.heard] == [1, 2, 3, 4, 5, 6]
    assert told.heard[-1][2] == pruner.candidate_scores_.max()
    told = Told()
    pruner = COMEP(5).fit(*CASE, executor=client, callback=told)
    assert told.heard == [(j + 1, 5, score) for j, score in enumerate(pruner.scores_)]


@every_way
def test_what_runs_is_stopped_and_what_waits_is_cancelled(client, tmp_path, way):
    def callback(done, total, best):
        wait_for(lambda: len(signs(tmp_path, "running")) == 2, "two tasks to run")
        raise Enough

    pruner = EPFD(GatedPruner(3, str(tmp_path), gated=6), 6, random_state=0)  # 7, 7, 7, 7, 6, 6
    with pytest.raises(Enough):
        way(pruner, Votes.encode(*CASE), client, callback=callback)
    wait_for(lambda: not signs(tmp_path, "running"), "running tasks to stop")
    assert len(signs(tmp_path, "finished")) <= 4
    assert found(COMEP(4).fit(*CASE, executor=client)) == found(COMEP(4).fit(*CASE))


def n_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


def test_the_cluster_forgets_a_run_that_has_ended(client, store):
    for pruner in (EPFD(made("re"), 3, random_state=0), COMEP(4), COMEP(4, shard="rows")):
        with pytest.raises(Enough) as caught:
            pruner.fit(store, executor=client, callback=Told(2))
        wait_for(lambda: not client.run_on_scheduler(n_tasks), "tasks to be forgotten")
        assert caught.value.__traceback__ is not None  # which knows of them still


def test_an_executor_for_some_workers_stays_with_them(client, tmp_path):
    (tmp_path / "go").touch()
    some = sorted(client.nthreads())[0]
    expected = set(client.run(__import__("os").getpid, workers=[some]).values())
    executor = client.get_executor(workers=[some])
    pruner = EPFD(GatedPruner(3, str(tmp_path)), 6, random_state=0)
    pruner.fit(*CASE, executor=executor)
    assert set(signs(tmp_path, "finished")) == expected
    assert found(COMEP(4).fit(*CASE, executor=executor)) == found(COMEP(4).fit(*CASE))


def test_dask_does_not_complain_of_what_is_sent(client):
    import dask

    votes = Votes.encode(*plain(40, 30_000))
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 kB"}):
        for pruner in (EPFD(made("es"), 3), COMEP(2, start=0), COMEP(2, start=0, shard="rows")):
            pruner.fit(votes, executor=client)  # a warning would be an error


@every_way
def test_votes_too_large_to_send_are_refused(client, store, monkeypatch, way):
    monkeypatch.setattr(limits, "sent_bytes", 1000)
    pruner = EPFD(made("re"), 3, random_state=0)
    with pytest.raises(InputError, match=r"at most 0\.001 MB are sent"):
        way(pruner, Votes.encode(*CASE), client)
    assert found(way(pruner, store, client)) == found(clone(pruner).fit(*CASE))


def test_many_runs_share_a_cluster(client, store):
    """Two runs at a time, from threads."""
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(COMEP(keep, shard=shard).fit, store, executor=client)
            for keep in (3, 5)
            for shard in ("members", "rows")
        ]
        fitted = [job.result(timeout=300) for job in jobs]
    for pruner in fitted:
        assert found(pruner) == found(COMEP(pruner.keep).fit(*CASE))
