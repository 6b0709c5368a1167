"""Engines: the result is the same on every executor."""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor

import joblib
import numpy as np
import psutil
import pytest
from cluster import HERE
from executors import Enough, Sender, Told, found, processes
from gated import GatedPruner, signs, wait_for
from sklearn.base import clone

import secateurs
from cases import plain
from processes import with_path
from secateurs import (
    COMEP,
    DOMEP,
    EPFD,
    BestMembersPruner,
    Votes,
    VoteStore,
    all_pruners,
    make_pruner,
    search,
)
from secateurs._methods import METHODS
from secateurs.distributed import limits
from secateurs.exceptions import ExecutorError, InputError

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no distributions|1 member|chance would|reference direction|one class)"
)

CASE = plain(40, 150, 3)


def made(name, keep=4):
    rounds = {"n_iterations": 5} if METHODS[name].traits.most_rounds else {}
    return make_pruner(name, keep=keep, **rounds)


@pytest.fixture(scope="module")
def pools():
    with (
        ThreadPoolExecutor(3) as threads,
        processes() as others,
        Sender(3) as sender,
        joblib.externals.loky.ProcessPoolExecutor(2) as loky,
    ):
        yield {"threads": threads, "processes": others, "sender": sender, "loky": loky}


@pytest.mark.parametrize("kind", ["threads", "processes", "sender", "loky"])
def test_every_executor_gives_the_result_of_this_process(pools, kind, tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *CASE, tile_members=7)
    for name in all_pruners():
        alone = EPFD(made(name), 3, random_state=0).fit(*CASE)
        assert len(alone.candidates_) == 4
        for given_as in (Votes.encode(*CASE), store):
            spread = EPFD(made(name), 3, random_state=0).fit(given_as, executor=pools[kind])
            assert found(spread) == found(alone), name
    alone = DOMEP(4, random_state=1).fit(*CASE)
    assert found(DOMEP(4, random_state=1).fit(*CASE, executor=pools[kind])) == found(alone)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_gives_the_result_of_this_process(backend, tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *CASE, tile_members=7)
    for name in all_pruners():
        alone = EPFD(made(name), 3, random_state=0).fit(*CASE)
        with joblib.parallel_config(backend, n_jobs=2):
            spread = EPFD(made(name), 3, random_state=0).fit(*CASE)
            assert found(spread) == found(alone), name
    with joblib.parallel_config(backend, n_jobs=2):
        again = EPFD(made(name), 3, random_state=0).fit(store)
    assert found(again) == found(alone)


def test_a_backend_of_joblib_that_cannot_be_watched_is_refused():
    pruner = EPFD(COMEP(2), 2, n_jobs=2, random_state=0)
    with (
        joblib.parallel_config("multiprocessing"),
        pytest.raises(InputError, match="with 'loky', 'threading' or 'dask'"),
    ):
        pruner.fit(*CASE)


@pytest.mark.parametrize("criterion", ["accuracy", "objective", "own"])
def test_every_criterion_gives_the_same_everywhere(pools, criterion):
    def own(votes, members):
        return -float(np.sum(members))

    asked = own if criterion == "own" else criterion
    alone = EPFD(COMEP(4), 3, asked, random_state=0).fit(*CASE)
    for pool in pools.values():
        spread = EPFD(COMEP(4), 3, asked, random_state=0).fit(*CASE, executor=pool)
        assert found(spread) == found(alone)


def test_groups_of_groups_and_one_group_are_sent_as_well(pools):
    for pruner in (EPFD(EPFD(COMEP(3), 2), 2, random_state=0), EPFD(made("random"), 1)):
        pruner.set_params(random_state=5)
        if not isinstance(pruner.pruner, EPFD):
            pruner.pruner.set_params(random_state=3)
        alone = clone(pruner).fit(*CASE)
        for pool in pools.values():
            assert found(clone(pruner).fit(*CASE, executor=pool)) == found(alone)


def test_groups_that_are_fetched_ahead_are_the_same(monkeypatch, tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *CASE, tile_members=7)
    pruner = EPFD(EPFD(COMEP(3), 2), 4, random_state=0)
    alone = clone(pruner).fit(*CASE)
    threads = set(threading.enumerate())
    monkeypatch.setattr("secateurs.distributed._group_runner._QUICK_BYTES", 0)
    for given_as in (Votes.encode(*CASE), store):
        assert found(clone(pruner).fit(given_as)) == found(alone)
        told = Told(2)
        with pytest.raises(Enough):
            clone(pruner).fit(given_as, callback=told)
        assert len(told.heard) == 2
    next(store.path.glob("tile-*.npy")).unlink()
    with pytest.raises(InputError, match=r"tile-0000\d\.npy cannot be read"):
        clone(pruner).fit(store)
    assert set(threading.enumerate()) <= threads


def test_of_many_groups_a_task_has_several_and_each_is_told_of():
    case = plain(120, 100)
    pruner = EPFD(BestMembersPruner(1), 60, random_state=0)
    alone, told = clone(pruner).fit(*case), Told()
    with Sender(2) as sender:
        spread = clone(pruner).fit(*case, executor=sender, callback=told)
    assert found(spread) == found(alone)
    assert [done for done, _, _ in told.heard] == list(range(1, 62))
    assert len(sender.sent) == 20 + 1  # three groups a task: eight tasks a worker, or more


def test_a_task_is_sent_its_own_group_and_nothing_else():
    case = plain(40, 20_000)
    whole = Votes.encode(*case)
    sender = Sender()
    with sender:
        pruner = EPFD(made("es"), 4, random_state=0).fit(whole, executor=sender)
    assert [len(group) for group in pruner.groups_] == [10] * 4
    a_member, labels = whole.nbytes / 40, 20_000
    for n_bytes, n_members in zip(sender.sent, [10, 10, 10, 10, 16]):
        assert 0 < n_bytes - n_members * a_member - labels < 4000
    with Sender() as sender:
        COMEP(2, shard="members", start=0).fit(whole, executor=sender)
        profile, first, second = sender.sent[:2], sender.sent[2:4], sender.sent[4:]
    for step in (profile, first, second):
        for n_bytes in step:
            assert 0 < n_bytes - 20 * a_member - labels < a_member + 6000


def test_of_a_store_its_path_is_sent(tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *plain(40, 5000))
    with Sender() as sender:
        EPFD(made("es"), 4, random_state=0).fit(store, executor=sender)
        COMEP(2, shard="rows").fit(store, executor=sender)
    assert max(sender.sent) < 5000 + 4000  # the labels, which may be others than those kept


@pytest.mark.parametrize("kind", ["none", "joblib", "threads", "processes", "sender"])
def test_progress_is_told_step_by_step(pools, kind):
    told = Told()
    with joblib.parallel_config("threading", n_jobs=2 if kind == "joblib" else 1):
        pruner = EPFD(made("re"), 5, random_state=0)
        pruner.fit(*CASE, executor=pools.get(kind), callback=told)
    assert [done for done, _, _ in told.heard] == [1, 2, 3, 4, 5, 6]
    assert {total for _, total, _ in told.heard} == {6}
    bests = [best for _, _, best in told.heard]
    assert bests == sorted(bests)
    assert bests[-1] == pruner.candidate_scores_.max()
    if kind == "none":
        assert bests == np.maximum.accumulate(pruner.candidate_scores_).tolist()
    told.heard.clear()
    pruner = COMEP(5).fit(*CASE, executor=pools.get(kind), callback=told)
    assert told.heard == [(j + 1, 5, score) for j, score in enumerate(pruner.scores_)]


def test_there_is_no_best_while_nobody_competes():
    told = Told()
    EPFD(made("es", 4), 3, random_state=0).fit(*plain(6, 30), callback=told)
    assert [best for _, _, best in told.heard[:3]] == [None] * 3  # groups are too small to compete
    assert told.heard[3][2] is not None


@pytest.mark.parametrize("kind", ["none", "threads", "processes", "sender", "loky"])
def test_what_a_callback_raises_ends_the_run(pools, kind):
    for pruner in (EPFD(made("re"), 5, random_state=0), COMEP(4)):
        with pytest.raises(Enough):
            pruner.fit(*CASE, executor=pools.get(kind), callback=Told(1))
        assert not hasattr(pruner, "member_indices_")
    assert found(COMEP(4).fit(*CASE, executor=pools.get(kind))) == found(COMEP(4).fit(*CASE))


class Waiting(ThreadPoolExecutor):
    """Threads, and all futures that they were given."""

    def __init__(self, *args):
        super().__init__(*args)
        self.futures = []

    def submit(self, *args, **kwargs):
        future = super().submit(*args, **kwargs)
        self.futures.append(future)
        return future


def gated_run(folder, executor, callback):
    """A run of six groups: four of seven members, and two of six that wait at a gate."""
    pruner = EPFD(GatedPruner(3, str(folder), gated=6), 6, random_state=0)
    return pruner.fit(*CASE, executor=executor, callback=callback)


def test_what_waits_is_cancelled_and_what_runs_stops_in_threads(tmp_path):
    def callback(done, total, best):
        if done == 4:  # the groups of seven
            wait_for(lambda: len(signs(tmp_path, "running")) == 1, "the next to run")
            raise Enough

    with Waiting(1) as pool:
        with pytest.raises(Enough):
            gated_run(tmp_path, pool, callback)
        wait_for(lambda: signs(tmp_path, "stopped"), "the running one to stop")
        waited = pool.futures[-1]
        with pytest.raises(CancelledError):
            waited.result()
    assert not signs(tmp_path, "running")
    assert len(signs(tmp_path, "finished")) == 4


@pytest.mark.parametrize("kind", ["processes", "loky", "joblib threads", "joblib loky"])
def test_what_runs_elsewhere_stops_too(tmp_path, pools, monkeypatch, kind):
    def callback(done, total, best):
        if done == 4:
            wait_for(lambda: signs(tmp_path, "running"), "the next to run")
            raise Enough

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    name = {"joblib threads": "threading", "joblib loky": "loky"}.get(kind)
    with (
        joblib.parallel_config(name or "threading", n_jobs=2),
        pytest.raises(Enough) as caught,
    ):
        gated_run(tmp_path, pools.get(kind), callback)
    assert caught.value is not None  # holds on to the frames, and what they hold
    if kind == "joblib loky":  # whose processes are ended, and have no time to say so
        wait_for(lambda: not any(map(is_alive, signs(tmp_path, "running"))), "workers to end")
    else:
        wait_for(lambda: not signs(tmp_path, "running"), "the running ones to stop")
        assert signs(tmp_path, "stopped")
    assert len(signs(tmp_path, "finished")) == 4
    assert not list((tmp_path / "temporary").glob("secateurs-*"))


def is_alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


INTERRUPTED = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
import joblib
import numpy as np
from cases import plain
from gated import GatedPruner, signs, wait_for
from secateurs import COMEP, EPFD

def run(kind, pool, folder):
    folder.mkdir()
    if kind == "exact":
        votes = np.random.default_rng(0).integers(2, size=(64, 10**5), dtype=np.int8)
        fit, given = COMEP(10**5).fit, (votes, votes[:, 0])
    else:
        fit, given = EPFD(GatedPruner(3, str(folder)), 4, random_state=0).fit, plain(40, 150, 3)
    try:
        fit(*given, executor=pool, callback=lambda done, *_: (folder / f"step-{done}").touch())
    except KeyboardInterrupt:
        if pool is None:  # joblib's threads are not waited for
            wait_for(lambda: not signs(folder, "running"), "threads to stop")
        else:
            pool.shutdown()
        print(kind, "at rest", flush=True)

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    run("exact", ThreadPoolExecutor(2), folder / "exact")
    with joblib.parallel_config("threading", n_jobs=2):
        run("joblib", None, folder / "joblib")
    for kind in ("processes", "group"):
        pool = ProcessPoolExecutor(2, multiprocessing.get_context("fork"))
        run(kind, pool, folder / kind)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_an_interrupt_ends_all_work(tmp_path):
    (tmp_path / "script.py").write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "script.py", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=with_path(HERE, HERE.parent),
        start_new_session=True,
    )
    try:
        wait_for((tmp_path / "exact" / "step-3").exists, "some steps")
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "exact at rest\n"
        for kind in ("joblib", "processes", "group"):
            folder = tmp_path / kind
            wait_for(lambda: len(signs(folder, "running")) == 2, "two tasks to run")  # noqa: B023
            workers = set(signs(folder, "running")) - {process.pid}
            if kind == "group":  # as a terminal does
                os.killpg(process.pid, signal.SIGINT)
            else:
                os.kill(process.pid, signal.SIGINT)
            assert process.stdout.readline() == f"{kind} at rest\n"
            assert not any(map(is_alive, workers))
            assert not signs(folder, "finished")
            if kind != "group":
                assert len(signs(folder, "stopped")) >= 2
        assert process.wait(timeout=300) == 0
    finally:
        process.kill()
        process.communicate(timeout=300)


@pytest.mark.parametrize(
    "name", [n for n, m in METHODS.items() if m.traits.larger_is_better is not None]
)
def test_whoever_searches_asks_at_every_step_whether_that_is_wanted(name, monkeypatch):
    monkeypatch.setattr("secateurs.pruners._sep._MOST_AT_ONCE", 0)  # a round at a time
    n_steps = getattr(made(name), "n_iterations", 4)  # rounds, or members kept
    asked = []

    def after(j):
        return lambda: asked.append(None) or len(asked) > j

    for j in range(n_steps):
        asked.clear()
        with pytest.raises(search.Stopped), search.stop_when(after(j)):
            made(name).fit(*CASE)
        assert len(asked) == j + 1
    made(name).fit(*CASE)  # the results are no longer needed
    assert len(asked) == n_steps


@pytest.mark.parametrize("options", [{"refine": True}, {"start": "relevance"}])
def test_refinement_can_be_stopped(options):
    asked = []
    with search.stop_when(lambda: bool(asked.append(None))):
        COMEP(4, **options).fit(*CASE)
    assert len(asked) > (4 if options.get("refine") else 3)


def test_votes_too_large_to_send_are_refused_with_the_way_out(monkeypatch, tmp_path):
    votes = Votes.encode(*plain(40, 20_000))
    assert votes.nbytes == 40 * 8 * 320
    monkeypatch.setattr(limits, "sent_bytes", 100_000)
    message = (
        r"These votes take 0\.1 MB; at most 0\.1 MB are sent to workers on other machines "
        r"\(secateurs\.distributed\.limits\.sent_bytes\)\. .*VoteStore\.from_votes"
    )
    for pruner in (EPFD(made("es"), 4, random_state=0), COMEP(2), COMEP(2, shard="rows")):
        with Sender() as sender:
            with pytest.raises(InputError, match=message):
                pruner.fit(votes, executor=sender)
            assert not sender.sent
            store = VoteStore.from_votes(tmp_path / f"votes-{id(pruner)}", votes)
            assert found(pruner.fit(store, executor=sender)) == found(clone(pruner).fit(votes))
        for pool in (ThreadPoolExecutor(2), None):  # which send nothing
            pruner.fit(votes, executor=pool)
    monkeypatch.setattr(limits, "sent_bytes", votes.nbytes)
    with Sender() as sender:
        EPFD(made("es"), 4, random_state=0).fit(votes, executor=sender)


@pytest.mark.parametrize("executor", [42, "threads", object(), threading.Thread()])
def test_what_is_no_executor_is_refused(executor):
    for pruner in (EPFD(COMEP(2), 2), DOMEP(2, 2), COMEP(2)):
        with pytest.raises(
            InputError, match=r"is not a valid executor\. Pass a concurrent\.futures"
        ):
            pruner.fit(*CASE, executor=executor)
    with pytest.raises(InputError, match="executor=42"):
        COMEP(2).fit(*CASE, executor=42)


def test_executors_never_become_part_of_a_pruner(pools):
    for pruner in (EPFD(COMEP(3), 2, random_state=0), DOMEP(3, 2, random_state=0), COMEP(3)):
        fitted = pruner.fit(*CASE, executor=pools["threads"], callback=lambda *told: None)
        assert not {"executor", "callback"} & set(fitted.get_params())
        again = pickle.loads(pickle.dumps(fitted))
        assert found(again) == found(fitted)
        assert again.predict(CASE.votes).tolist() == fitted.predict(CASE.votes).tolist()
        assert found(clone(fitted).fit(*CASE)) == found(fitted)


class Broken(Sender):
    """An executor whose tasks are cancelled by somebody else."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_tasks_that_somebody_cancels_are_told_in_one_line():
    with Broken() as broken, pytest.raises(ExecutorError, match="The tasks were cancelled"):
        EPFD(COMEP(2), 2, random_state=0).fit(*CASE, executor=broken)


class Startless(Sender):
    """An executor that starts its processes late, when what starts them was killed."""

    def submit(self, fn, /, *args, **kwargs):
        raise EOFError("unexpected EOF")


def test_a_pool_that_cannot_start_is_told_in_one_line():
    for pruner in (EPFD(COMEP(2), 2, random_state=0), COMEP(2)):
        with Startless() as pool, pytest.raises(ExecutorError, match="The pool cannot start a"):
            pruner.fit(*CASE, executor=pool)


class OtherVersion(Sender):
    """An executor whose workers have another version."""

    def submit(self, fn, /, *args, **kwargs):
        return super().submit(type(fn)("0.0.1", fn.function, fn.stop_flag), *args, **kwargs)


def test_another_version_of_secateurs_is_told():
    message = rf"A worker has secateurs {secateurs.__version__}, this process 0\.0\.1\. Install"
    with OtherVersion() as other:
        for pruner in (EPFD(COMEP(2), 2, random_state=0), COMEP(2)):
            with pytest.raises(ExecutorError, match=message):
                pruner.fit(*CASE, executor=other)


def test_errors_of_a_pruner_come_through_as_they_are(pools):
    for pool in (None, *pools.values()):
        with pytest.raises(ValueError, match="diversity_weight=7 is out of range"):
            EPFD(COMEP(2, diversity_weight=7), 3).fit(*CASE, executor=pool)


def test_groups_that_are_finished_are_not_pruned_again(tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *CASE, tile_members=7)
    alone = EPFD(made("re"), 5, random_state=0).fit(*CASE)

    for stop in (2, 4, 6):
        told = Told(stop)
        with Sender() as sender, pytest.raises(Enough):
            EPFD(made("re"), 5, random_state=0).fit(store, executor=sender, callback=told)
    assert [done for done, _, _ in told.heard] == [1, 2, 3, 4, 5, 6]
    with Sender() as sender:
        again = EPFD(made("re"), 5, random_state=0).fit(store, executor=sender)
    assert sender.sent == []  # all were finished
    assert found(again) == found(alone)
    assert not [path for path in (store.path / "runs").rglob("*") if path.is_file()]
    with Sender() as sender:
        EPFD(made("re"), 5, random_state=0).fit(store, executor=sender)
    assert len(sender.sent) == 6


@pytest.mark.parametrize(
    "other",
    [
        EPFD(make_pruner("re", keep=4), 5, random_state=1),
        EPFD(make_pruner("re", keep=5), 5, random_state=0),
        EPFD(make_pruner("re", keep=4), 4, random_state=0),
        EPFD(make_pruner("oep", keep=4), 5, random_state=0),
        EPFD(make_pruner("re", keep=4), 5, "objective", random_state=0),
        EPFD(make_pruner("re", keep=4, backfit=True), 5, random_state=0),
    ],
    ids=str,
)
def test_another_run_does_not_take_the_groups_of_this_one(tmp_path, other):
    store = VoteStore.from_table(tmp_path / "votes", *CASE)
    with pytest.raises(Enough):
        EPFD(make_pruner("re", keep=4), 5, random_state=0).fit(store, callback=Told(6))
    assert found(clone(other).fit(store)) == found(clone(other).fit(*CASE))
    votes, y = CASE
    same = EPFD(make_pruner("re", keep=4), 5, random_state=0)
    assert found(clone(same).fit(store, y[::-1])) == found(clone(same).fit(votes, y[::-1]))


class Choosy(BestMembersPruner):
    """A pruner with a function among its parameters, which cannot be pickled."""

    def __init__(self, keep=3, taste=None):
        self.keep = keep
        self.taste = taste


def test_a_pruner_that_cannot_be_pickled_is_run_but_not_kept(tmp_path):
    store = VoteStore.from_table(tmp_path / "votes", *CASE)
    choosy = EPFD(Choosy(3, lambda member: True), 4, random_state=0)
    with pytest.warns(UserWarning, match=r"Finished parts cannot be kept of a pruner that cannot"):
        choosy.fit(store)
    assert found(choosy) == found(EPFD(made("best", 3), 4, random_state=0).fit(*CASE))
    assert not (store.path / "runs").exists()
