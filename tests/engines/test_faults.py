"""Faults, each really made: the same result, or one clear error; never a smaller ensemble."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import psutil
import pytest
from cluster import HERE, Cluster, kill
from executors import Enough, Told, found, processes
from gated import GatedPruner, signs, wait_for

import secateurs
from cases import plain
from processes import with_path
from secateurs import COMEP, EPFD, Votes, VoteStore, make_pruner
from secateurs.distributed import limits
from secateurs.engines import sharding
from secateurs.engines.executors import engine_for
from secateurs.exceptions import ExecutorError, InputError

pytest.importorskip("distributed")

CASE = plain(40, 150, 3)
GROUP, UNION = 10, 12  # members of each of four groups; of what is kept of them
both_ways = pytest.mark.parametrize("shard", ["members", "rows"])


class Site:
    """A cluster and a client, and as many workers as a test wants; those it spares stay."""

    def __init__(self, cluster, client):
        self.cluster, self.client = cluster, client
        self._plain, self._special = [], []

    def workers(self, n_workers):
        """Wait until the cluster has exactly this number of workers."""
        alive = [process for process in self._plain if process.poll() is None]
        for process in alive[n_workers:] + self._special:
            kill(process)
        self._plain, self._special = alive[:n_workers], []
        n_alive = len(self._plain)
        wait_for(lambda: len(self.client.nthreads()) == n_alive, "workers to be missed")
        self._plain += self.cluster.workers(self.client, n_workers - n_alive)
        return list(self._plain)

    def special_worker(self, *options, **environment):
        """Start a worker that is like no other."""
        self._special += self.cluster.workers(self.client, 1, *options, **environment)
        return self._special[-1]

    def rest(self):
        """See that nothing is left of any run."""
        client = self.client  # the functions are sent as a whole: workers need not know this file

        def tasks_of_workers():
            return client.run(lambda dask_worker: len(dask_worker.state.tasks))

        wait_for(
            lambda: client.run_on_scheduler(lambda dask_scheduler: not dask_scheduler.tasks),
            "tasks to be forgotten",
        )
        wait_for(lambda: not any(tasks_of_workers().values()), "workers to rest")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    from distributed import Client

    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        with Client(cluster.address) as client:
            yield Site(cluster, client)
    finally:
        cluster.close()


@pytest.fixture
def site(place):
    yield place
    place.rest()


@pytest.fixture
def store(tmp_path):
    return VoteStore.from_table(tmp_path / "votes", *CASE, tile_members=7)


@pytest.fixture
def background():
    """Do something beside, and give its result."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit


@pytest.fixture
def asked(monkeypatch):
    """Record the members whose distances to all members are computed in each step."""
    steps = []
    for kind in (sharding.MemberShards, sharding.RowShards):

        def rows(self, members, objective, whole=kind.matrix_rows):
            steps.append(list(members))
            return whole(self, members, objective)

        monkeypatch.setattr(kind, "matrix_rows", rows)
    return steps


def gated(folder=None, size="all"):
    return EPFD(GatedPruner(3, folder and str(folder), size), 4, random_state=0)


EXPECTED = found(gated().fit(*CASE))


def kill_one_of(workers, folder, n_running):
    """Kill a worker that has been seen to run a task."""
    pids = wait_for(
        lambda: len(signs(folder, "running")) == n_running and signs(folder, "running"),
        "tasks to run",
    )
    (process,) = (process for process in workers if process.pid == pids[0])
    kill(process)


def no_files_of_runs(store):
    return not [path for path in (store.path / "runs").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("size", "n_running", "form"), [(GROUP, 2, "votes"), (UNION, 1, "store")], ids=["1", "2"]
)
def test_a_worker_killed_in_a_round_changes_nothing(site, store, size, n_running, form):
    folder = store.path.parent
    workers = site.workers(2)
    votes = store if form == "store" else Votes.encode(*CASE)
    with ThreadPoolExecutor(1) as pool:
        fitting = pool.submit(gated(folder, size).fit, votes, executor=site.client)
        kill_one_of(workers, folder, n_running)
        (folder / "go").touch()
        assert found(fitting.result(timeout=300)) == EXPECTED
    assert no_files_of_runs(store)


@pytest.mark.parametrize(("shard", "form"), [("members", "votes"), ("rows", "store")])
def test_a_worker_killed_between_steps_of_an_exact_run_changes_nothing(site, store, shard, form):
    votes = store if form == "store" else Votes.encode(*CASE)
    workers = site.workers(2)
    heard = []

    def callback(done, total, best):
        heard.append(done)
        if done == 3:
            kill(workers[0])

    spread = COMEP(7, shard=shard).fit(votes, executor=site.client, callback=callback)
    assert heard == list(range(1, 8))
    assert found(spread) == found(COMEP(7).fit(*CASE))


@both_ways
def test_a_worker_killed_within_a_step_of_an_exact_run_changes_nothing(
    site, store, background, shard
):
    folder = store.path.parent
    site.workers(0)
    options = ("--preload", HERE / "stalling.py")
    workers = [site.special_worker(*options, STALL_FOLDER=str(folder)) for _ in range(2)]
    fitting = background(COMEP(7, shard=shard, start=0).fit, store, executor=site.client)
    kill_one_of(workers, folder, 1)
    assert found(fitting.result(timeout=300)) == found(COMEP(7, start=0).fit(*CASE))


@pytest.mark.parametrize(("shard", "n_others"), [("members", 0), ("rows", 1)])
def test_a_worker_killed_under_its_nanny_changes_nothing(site, store, shard, n_others):
    site.workers(n_others)
    nanny = site.special_worker("--nanny")

    def kill_child():
        for child in psutil.Process(nanny.pid).children():
            if "spawn_main" in " ".join(child.cmdline()):
                child.kill()

    def callback(done, total, best):
        if done in (2, 4):  # the second time, a worker that the nanny has restarted
            kill_child()

    spread = COMEP(7, shard=shard).fit(store, executor=site.client, callback=callback)
    assert found(spread) == found(COMEP(7).fit(*CASE))


def test_a_run_that_nobody_works_on_ends_with_an_error(site, monkeypatch):
    """Here the task is one for a worker that never comes: no state of the scheduler may hang us."""
    site.workers(1)
    monkeypatch.setattr(limits, "wait_seconds", 1)
    executor = site.client.get_executor(workers=["127.0.0.1:1"], allow_other_workers=False)
    with pytest.raises(ExecutorError, match="No worker of executor has done anything for"):
        gated().fit(*CASE, executor=executor)


def damage(how, tile):
    if how == "missing":
        tile.unlink()
    elif how == "truncated":
        os.truncate(tile, tile.stat().st_size // 2)
    else:
        content = bytearray(tile.read_bytes())
        content[-1] ^= 1
        tile.write_bytes(content)


HOWS = ("corrupt", "truncated", "missing")


def test_a_damaged_tile_is_an_error_and_never_a_smaller_ensemble(site, store):
    site.workers(2)
    tile = store.path / "tile-00003.npy"
    content = tile.read_bytes()
    pruners = [EPFD(make_pruner("re", keep=3), 4, random_state=0)]
    pruners += [COMEP(3, start=0, shard=shard) for shard in ("members", "rows")]
    for how in HOWS:
        damage(how, tile)
        for pruner in pruners:
            with pytest.raises(InputError, match=r"tile-00003\.npy (is damaged|cannot be read)"):
                pruner.fit(store, executor=site.client)
            assert not hasattr(pruner, "support_")
        tile.write_bytes(content)
    for pruner in pruners:
        assert len(pruner.fit(store, executor=site.client).member_indices_) == 3


@pytest.mark.parametrize("how", HOWS)
def test_a_tile_damaged_between_the_rounds_is_an_error(site, store, how):
    site.workers(2)

    def callback(done, total, best):
        if done == 4:  # all groups
            for tile in store.path.glob("tile-*.npy"):
                damage(how, tile)

    with pytest.raises(InputError, match=r"tile-0000\d\.npy (is damaged|cannot be read)"):
        gated().fit(store, executor=site.client, callback=callback)


@both_ways
def test_a_lost_shard_that_cannot_be_made_again_is_an_error(site, store, shard):
    workers = site.workers(2)

    def callback(done, total, best):
        if done == 3:
            for tile in store.path.glob("tile-*.npy"):
                damage("missing", tile)  # those who have mapped it go on
            kill(workers[0])

    with pytest.raises(InputError, match=r"tile-0000\d\.npy cannot be read"):
        COMEP(7, shard=shard, start=0).fit(store, executor=site.client, callback=callback)


def test_a_run_is_not_taken_for_finished_after_an_error(site, store):
    site.workers(1)
    with pytest.raises(Enough):
        gated().fit(store, executor=site.client, callback=Told(3))
    told = Told()
    assert found(gated().fit(store, executor=site.client, callback=told)) == EXPECTED
    assert len(told.heard) == 5


CLIENT = """
import sys
from pathlib import Path
from distributed import Client
from secateurs import COMEP, VoteStore
from secateurs.distributed import limits
from test_faults import gated

limits.keep_seconds = 0.0
address, store, folder, what = sys.argv[1:]

def callback(done, total, best):
    (Path(folder) / f"step-{done}").touch()
    while what == "shards" and done == 4:  # until it is killed
        pass

pruner = COMEP(7, start=0, shard="members") if what == "shards" else gated(folder, 10)
with Client(address) as client:
    pruner.fit(VoteStore.open(store), executor=client, callback=callback)
"""


def start_a_client_and_kill_it(site, store, what, last):
    """Kill it when it has told of a step."""
    folder = store.path.parent
    arguments = [site.cluster.address, store.path, folder, what]
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, *map(str, arguments)],
        env=with_path(HERE, HERE.parent),
    )
    try:
        wait_for(lambda: process.poll() is not None or (folder / last).exists(), "steps")
        assert process.poll() is None
    finally:
        kill(process)
    site.rest()
    wait_for(lambda: not signs(folder, "running"), "tasks without a client to stop")


def test_groups_of_a_run_whose_client_was_killed_are_used_again(site, tmp_path):
    case = plain(41, 150, 3)  # 11, 10, 10 and 10 members, of which those of 10 wait
    store = VoteStore.from_table(tmp_path / "votes", *case, tile_members=7)
    site.workers(2)
    start_a_client_and_kill_it(site, store, "groups", last="step-1")
    assert len(signs(tmp_path, "finished")) == 1
    (tmp_path / "go").touch()
    told = Told()
    again = gated(tmp_path, 10).fit(store, executor=site.client, callback=told)
    assert found(again) == found(gated().fit(*case))
    assert len(signs(tmp_path, "finished")) == 1 + 4  # three groups, and the union
    assert [done for done, _, _ in told.heard] == [1, 2, 3, 4, 5]
    assert no_files_of_runs(store)


def test_steps_of_a_run_whose_client_was_killed_are_used_again(site, store, asked):
    site.workers(2)
    start_a_client_and_kill_it(site, store, "shards", last="step-4")
    again = COMEP(7, start=0, shard="rows").fit(store, executor=site.client)
    assert len(asked) == 3
    assert found(again) == found(COMEP(7, start=0).fit(*CASE))
    assert no_files_of_runs(store)


def test_when_all_workers_are_lost_there_is_an_error(site, background, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "wait_seconds", 1)
    workers = site.workers(1)
    fitting = background(gated(tmp_path).fit, *CASE, executor=site.client)
    kill_one_of(workers, tmp_path, 1)
    with pytest.raises(ExecutorError, match="has had no workers for 1 s"):
        fitting.result(timeout=300)


def test_when_all_workers_are_lost_an_exact_run_can_go_on_later(site, store, asked, monkeypatch):
    monkeypatch.setattr(limits, "wait_seconds", 1)
    (worker,) = site.workers(1)

    def callback(done, total, best):
        if done == 4:
            kill(worker)

    # Which of the two comes first depends on how soon the scheduler notices.
    lost = "has had no workers for 1 s|No worker of executor has done anything for 1 s"
    with pytest.raises(ExecutorError, match=lost):
        COMEP(7, start=0).fit(store, executor=site.client, callback=callback)
    asked.clear()
    with ThreadPoolExecutor(2) as pool:
        spread = COMEP(7, start=0).fit(store, executor=pool)
    assert len(asked) == 3
    assert found(spread) == found(COMEP(7, start=0).fit(*CASE))


@pytest.mark.parametrize("pruner", [EPFD(COMEP(3), 4), COMEP(3)], ids=["groups", "shards"])
def test_without_a_worker_there_is_an_error_after_a_time(site, monkeypatch, pruner):
    site.workers(0)
    monkeypatch.setattr(limits, "wait_seconds", 0.5)
    with pytest.raises(ExecutorError) as caught:
        pruner.fit(*CASE, executor=site.client)
    assert str(caught.value) == (
        f"executor has had no workers for 0.5 s. Start a worker: dask worker {site.cluster.address}"
    )


def test_workers_that_have_only_just_gone_are_waited_for(site, monkeypatch):
    site.workers(0)
    monkeypatch.setattr(limits, "wait_seconds", 1)
    engine = engine_for(site.client)
    engine.check_workers(idle_seconds=1000)  # one long task, until just now

    def given_up():
        try:
            engine.check_workers(idle_seconds=1000)
        except ExecutorError as error:
            return str(error)

    assert "has had no workers for 1 s" in wait_for(given_up, "patience to end")


def test_a_client_that_is_closed_has_lost_its_scheduler(site):
    from distributed import Client

    with Client(site.cluster.address) as client:
        engine = engine_for(client)
        client.sync(client._close)  # as it does itself when it has tried for long enough
        with pytest.raises(ExecutorError, match=r"scheduler is lost \(.*the client gave it up\)"):
            engine.check_workers(idle_seconds=0)
    with pytest.raises(ExecutorError, match="scheduler is lost"):
        engine.check_workers(idle_seconds=0)
    with pytest.raises(ExecutorError, match="scheduler is lost"):
        COMEP(3).fit(*CASE, executor=client)


def test_another_version_on_a_worker_is_told(site, tmp_path):
    site.workers(0)
    other = shutil.copytree(
        Path(secateurs.__file__).parent,
        tmp_path / "secateurs",
        ignore=shutil.ignore_patterns("__pycache__", "data"),
    )
    text, mine = (other / "__init__.py").read_text(), secateurs.__version__
    assert f'__version__ = "{mine}"' in text
    (other / "__init__.py").write_text(text.replace(mine, "0.0.7"))
    message = rf"A worker has secateurs 0\.0\.7, this process {re.escape(mine)}\. Install the same"
    site.special_worker(path=[tmp_path])
    for pruner in (EPFD(COMEP(3), 4), COMEP(3), COMEP(3, shard="rows")):
        with pytest.raises(ExecutorError, match=message):
            pruner.fit(*CASE, executor=site.client)


HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "secateurs":
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Hidden())
"""


def test_a_worker_without_secateurs_is_told(site, tmp_path):
    site.workers(0)
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    worker = site.special_worker(path=[tmp_path])
    message = (
        r"^A worker cannot open a task \(ModuleNotFoundError: No module named 'secateurs'\)\. "
    )
    for pruner in (EPFD(COMEP(3), 4), COMEP(3), COMEP(3, shard="rows")):
        with pytest.raises(ExecutorError, match=message + "Install what it lacks, and secateurs"):
            pruner.fit(*CASE, executor=site.client)
    assert worker.poll() is None  # none the worse for it


def test_a_pruner_that_a_worker_does_not_know_is_told(site, tmp_path, monkeypatch):
    (worker,) = site.workers(1)
    (tmp_path / "homemade.py").write_text(
        "from secateurs import BestMembersPruner\n\nclass Homemade(BestMembersPruner):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    homemade = importlib.import_module("homemade")
    with pytest.raises(ExecutorError, match=r"ModuleNotFoundError: No module named 'homemade'"):
        EPFD(homemade.Homemade(3), 4).fit(*CASE, executor=site.client)
    assert worker.poll() is None


def test_a_worker_may_join_late(site, background):
    site.workers(0)
    fitting = background(gated().fit, *CASE, executor=site.client)
    assert not fitting.done()
    site.workers(1)
    assert found(fitting.result(timeout=300)) == EXPECTED


def test_the_loss_of_the_scheduler_is_an_error(tmp_path, background):
    import dask

    from distributed import Client

    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1 s"}),
            Client(cluster.address) as client,
        ):
            cluster.workers(client, 1)
            fitting = background(gated(tmp_path).fit, *CASE, executor=client)
            wait_for(lambda: signs(tmp_path, "running"), "a task to run")
            kill(cluster.scheduler)
            with pytest.raises(ExecutorError, match="scheduler is lost"):
                fitting.result(timeout=300)
            with pytest.raises(ExecutorError, match="scheduler is lost"):
                COMEP(3).fit(*CASE, executor=client)
            wait_for(lambda: client.status == "closed", "the client to give up")
            with pytest.raises(ExecutorError, match="scheduler is lost"):
                EPFD(COMEP(3), 4).fit(*CASE, executor=client)
    finally:
        cluster.close()


POOLS = {"processes": processes, "loky": lambda: joblib.externals.loky.ProcessPoolExecutor(1)}


@pytest.mark.parametrize("kind", ["processes", "loky", "joblib"])
def test_a_process_killed_is_told_in_one_line(background, tmp_path, kind):
    def fit():
        if kind == "joblib":
            with joblib.parallel_config("loky", n_jobs=2):
                return gated(tmp_path).fit(*CASE)
        with POOLS[kind]() as pool:
            return gated(tmp_path).fit(*CASE, executor=pool)

    fitting = background(fit)
    wait_for(lambda: fitting.done() or signs(tmp_path, "running"), "a task to run")
    assert not fitting.done(), fitting.exception()
    pid = signs(tmp_path, "running")[0]
    assert pid != os.getpid()
    os.kill(pid, 9)
    with pytest.raises(ExecutorError, match=r"^A worker process died .*Run again") as caught:
        fitting.result(timeout=300)
    assert "\n" not in str(caught.value)
