"""The public API from 16 threads that take turns as often as Python allows."""

import io
import os
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import secateurs
from secateurs import (
    DOMEP,
    EPFD,
    PrunedClassifier,
    VoteStore,
    all_pruners,
    collect_predictions,
    collect_votes,
    compare,
    load,
    make_pruner,
    measures,
    prune,
    register,
    save,
    unregister,
)
from secateurs.benchmarking.pictures import Picture, render_picture
from secateurs.exceptions import SecateursWarning
from secateurs.persistence.atomic_files import check_array_header, load_array
from secateurs.pruners import BasePruner
from secateurs.search import Choice
from secateurs.thread_safety import ForkSafeLock, array_header_lock, record_warnings

N_THREADS = 16
X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)


@pytest.fixture
def frequent_switches():
    """Switch between threads after each microsecond, instead of every five milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run_in_threads(function, n_calls=N_THREADS):
    """Return the results of function(0), function(1), …, which start at the same time."""
    start = threading.Barrier(N_THREADS)

    def run(number):
        if number < N_THREADS:
            start.wait(300)
        return function(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(run, range(n_calls)))


@pytest.fixture(scope="module")
def models():
    forest = RandomForestClassifier(12, max_depth=2, random_state=0).fit(X[::2], Y[::2])
    values = RandomForestRegressor(8, max_depth=2, random_state=0).fit(X[::2, :3], X[::2, 3])
    return forest, values


@pytest.fixture(scope="module")
def store(models, tmp_path_factory):
    votes = collect_votes(models[0], X[1::2])
    return VoteStore.from_table(tmp_path_factory.mktemp("s") / "v", votes, Y[1::2], tile_members=2)


class _OfThread(BasePruner):
    def __init__(self, keep=0.1):
        self.keep = keep

    def _select(self, votes, n_keep, rng):
        return Choice(list(range(n_keep)), [0.0] * n_keep)


def public_calls(models, store, folder):
    """Calls of the public API, as functions of the number of the call."""
    forest, values = models
    rows, y = X[1::2], Y[1::2]
    table = collect_votes(forest, rows)
    quick = [name for name in all_pruners() if name not in ("pep", "sep", "pcomep", "domep")]

    def by_name(number):
        name = quick[number % len(quick)]
        return make_pruner(name, keep=3).fit(table, y).member_indices_.tolist()

    def stored(number):
        pruner = EPFD(make_pruner("re", keep=2), 2 + number % 3, random_state=0)
        return pruner.fit(store).member_indices_.tolist()

    def pruned(number):
        found = prune(forest, rows, y, keep=2 + number % 4, random_state=0)
        regression = prune(values, rows[:, :3], rows[:, 3], "joint", keep=2)
        summary = found.summary().loc[["accuracy"], ["before", "after"]]
        return repr(found), found.estimator.predict(X).tolist(), repr(regression), str(summary)

    def compared(number):
        sizes = [2, 3 + number % 3]
        found = compare(forest, rows, y, ["re", "kp"], keep=sizes, random_state=0)
        board = found.leaderboard()[["method", "keep", "members", "accuracy", "bytes"]]
        return board.to_csv(), [found.members("re", size) for size in sizes], found.notes

    def written(number):
        pruning = prune(forest, rows, y, "comep", keep=3)
        path = save(pruning.estimator, folder / f"{threading.get_ident()}-{number}.skops")
        page = pruning.report(path.with_suffix(".html")).read_text("utf-8")
        path.with_suffix(".html").unlink()
        path.unlink()
        return load_again(pruning), "comep" in page.lower()

    def load_again(pruning):
        path = pruning.save(folder / f"{threading.get_ident()}.pkl", force=True)
        return load(path, trust="pickle").predict(X).tolist()

    def fitted(number):
        model = PrunedClassifier(RandomForestClassifier(8, random_state=number), pruner="best")
        return model.set_params(random_state=0).fit(X, Y).predict(X).tolist()

    def measured(number):
        probabilities = collect_predictions(forest, rows)
        kappa = measures.kappa.matrix(table)
        return kappa.tolist(), np.asarray(probabilities).sum().item()

    def registered(number):
        name = f"own-{threading.get_ident()}-{number}"
        register(name, _OfThread)
        found = make_pruner(name, keep=2).fit(table, y).member_indices_.tolist()
        names = len([key for key in all_pruners() if key == name])
        unregister(name)
        return found, names

    def grouped(number):
        return DOMEP(3, n_groups=2, random_state=number).fit(table, y).member_indices_.tolist()

    return [by_name, stored, pruned, compared, written, fitted, measured, registered, grouped]


@pytest.mark.filterwarnings("ignore")  # about few members and samples
def test_sixteen_threads_get_the_results_of_one(models, store, tmp_path, frequent_switches):
    calls = public_calls(models, store, tmp_path)

    def call(number):
        # Neighbours in time run different functions, and each function runs at the same time as
        # itself.
        return calls[number % len(calls)](number // len(calls))

    n_calls = 3 * len(calls)
    expected = [call(number) for number in range(n_calls)]
    found = run_in_threads(call, n_calls)
    different = [calls[n % len(calls)].__name__ for n in range(n_calls) if found[n] != expected[n]]
    assert not different


def test_each_thread_records_its_own_warnings(frequent_switches):
    def work(number):
        with record_warnings() as outer:
            for step in range(20):
                warnings.warn(f"{number} {step}", SecateursWarning, stacklevel=1)
                with record_warnings() as inner:
                    warnings.warn("inner", stacklevel=1)
                assert [str(warning) for warning in inner] == ["inner"]
        return [str(warning) for warning in outer]

    before = list(warnings.filters), warnings.showwarning
    found = run_in_threads(work)
    assert found == [[f"{number} {step}" for step in range(20)] for number in range(N_THREADS)]
    assert (list(warnings.filters), warnings.showwarning) == before


@pytest.mark.parametrize("action", ["error", "ignore", "always"])
def test_other_threads_keep_their_filters_while_one_records(action):
    recording, done = threading.Event(), threading.Event()

    def record():
        with record_warnings() as recorded:
            recording.set()
            assert done.wait(300)
        return recorded

    with warnings.catch_warnings(record=True) as shown, ThreadPoolExecutor(1) as pool:
        warnings.simplefilter(action)
        recorded = pool.submit(record)
        assert recording.wait(300)
        try:
            if action == "error":
                with pytest.raises(UserWarning, match="of the main thread"):
                    warnings.warn("of the main thread", stacklevel=1)
            else:
                warnings.warn("of the main thread", stacklevel=1)
        finally:
            done.set()
        assert recorded.result() == []
    assert len(shown) == (action == "always")


@pytest.mark.parametrize("read", [load_array, lambda file: check_array_header(file, file.n_bytes)])
def test_headers_of_arrays_are_parsed_by_one_thread_at_a_time(read):
    class ArrayFile(io.BytesIO):
        """A file that records whether the lock was held while it was read."""

        def read(self, *size):
            self.was_locked = array_header_lock._lock.locked()
            return super().read(*size)

    file = ArrayFile()
    np.save(file, np.arange(3))
    file.n_bytes = file.tell()
    file.seek(0)
    read(file)
    assert file.was_locked


def test_figures_of_threads_are_those_of_one(frequent_switches):
    def draw(number):
        picture = Picture(
            f"p{number}", "g", "t", "c", (), (), lambda figure: figure.subplots().plot([0, number])
        )
        return render_picture(picture)["svg"]

    assert run_in_threads(draw, N_THREADS)[:4] == [draw(number) for number in range(4)]


def test_a_lock_is_released_by_a_thread_that_forked_while_it_held_it():
    lock = ForkSafeLock()
    with lock:
        child = os.fork()
        if not child:
            with lock:
                os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with lock:
        pass


AFTER_FORK = """
import os, sys, threading, warnings
from contextlib import contextmanager
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context, resource_tracker
from pathlib import Path
import numpy as np
import polars
from distributed import Client
from numba.core.compiler_lock import global_compiler_lock
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from secateurs import COMEP, EPFD, ReducedErrorPruner, Votes, prune
from secateurs.distributed import limits
from secateurs.engines import executors, failures
from secateurs.exceptions import ExecutorError, InputError
from secateurs.outputs import _store_files
from secateurs.report import html_templates
from secateurs.thread_safety import record_warnings

votes, y = np.array([[0, 1, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1]] * 9), [0, 1, 1] * 9
filters = list(warnings.filters)

def works_in_child(check, context):
    inside, over = threading.Event(), threading.Event()
    def hold():
        with context:
            inside.set()
            over.wait(0.3)
    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(300)
    child = os.fork()
    if not child:
        os._exit(0 if check() else 3)
    over.set()
    thread.join(60)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def is_free(lock):
    with lock:
        return True

@contextmanager
def importing():
    Path(__file__).with_name("slow_module.py").write_text(
        "import sys, time; sys.begun.set(); time.sleep(0.5); value = 7"
    )
    sys.begun = threading.Event()
    thread = threading.Thread(target=__import__, args=["slow_module"])
    thread.start()
    sys.begun.wait(300)
    yield
    thread.join(60)

def is_rejected(error, function, *args, **options):
    try:
        function(*args, **options)
    except error as reason:
        return len(str(reason).splitlines()) == 1

def boosted_prefixes():
    kept = [prune(model, X, labels, keep=2).estimator for model in boosted]
    return [model.predict(X).tolist() for model in kept]

if __name__ == "__main__":
    fit = EPFD(ReducedErrorPruner(1), 2, n_jobs=2, random_state=0).fit
    expected = fit(votes, y).member_indices_.tolist()
    locks = {
        "tiles": _store_files._thread_lock,
        "checks": _store_files._checked_lock,
        "values": executors._held_lock,
        "owners": failures._followed_lock,
        "random numbers": np.random.get_bit_generator().lock,
        "processes": resource_tracker._resource_tracker._lock,
    }
    for name, lock in locks.items():
        assert works_in_child(lambda: is_free(lock), lock), name
    assert works_in_child(
        lambda: COMEP(1).fit(votes, y).member_indices_.size == 1, global_compiler_lock
    )
    # In Python 3.11, a thread that computes a cached property holds its lock.
    computing = getattr(vars(Votes)["oracle"], "lock", open(__file__))
    assert works_in_child(lambda: Votes.encode(votes, y).oracle.n_members == 4, computing)
    assert works_in_child(lambda: list(warnings.filters) == filters, record_warnings())
    load = lambda: len(html_templates.notes_list(["a"])) > 0
    assert works_in_child(load, html_templates._loading_lock)
    assert works_in_child(lambda: __import__("slow_module").value == 7, importing())
    # The threads of pools, of a client and of polars belong to the parent.
    limits.wait_seconds = 1
    pools = ThreadPoolExecutor(1), ProcessPoolExecutor(1, get_context("spawn"))
    client = Client(n_workers=1, processes=False, dashboard_address=None)
    with pools[0], pools[1], client:
        for pool in *pools, client, client.get_executor():
            pool.submit(abs, 1).result()
            inherited = lambda: is_rejected(ExecutorError, fit, votes, y, executor=pool)
            assert works_in_child(inherited, open(__file__)), pool
    frame = polars.DataFrame(votes)
    frame.to_numpy()
    for call in (COMEP(1).fit, lambda *_: prune(frame, None, y, keep=1)):
        inherited = lambda: is_rejected(InputError, call, frame, y)
        assert works_in_child(inherited, open(__file__)), call
    # The threads of OpenMP belong to the parent, and so do joblib's workers.
    X, labels = load_breast_cancer(return_X_y=True)
    boosted = [HistGradientBoostingClassifier(max_iter=3), LGBMClassifier(n_estimators=3, n_jobs=2)]
    boosted = [model.fit(X, labels) for model in boosted]
    prefixes = boosted_prefixes()
    assert works_in_child(lambda: boosted_prefixes() == prefixes, open(__file__))
    again = lambda: fit(votes, y).member_indices_.tolist()
    assert works_in_child(lambda: again() == expected, open(__file__))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_inherit_the_state_of_other_threads(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(AFTER_FORK)
    command = [sys.executable, "-W", "ignore", str(script)]
    options = {"stderr": subprocess.PIPE, "env": {**os.environ, "OMP_NUM_THREADS": "2"}}
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            _, errors = process.communicate(timeout=600)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the child too, which may hang
    assert process.returncode == 0, errors


LIMIT_BLAS = """
import threading
from concurrent.futures import ThreadPoolExecutor
import scipy.linalg
from threadpoolctl import ThreadpoolController
from secateurs.thread_safety import limit_libraries_to_one_thread

pools = ThreadpoolController()
n_threads = lambda: [library["num_threads"] for library in pools.info()]
before, inside, first_left = n_threads(), threading.Barrier(2), threading.Event()
assert max(before) == 2, before

def work(is_last):
    with limit_libraries_to_one_thread():
        inside.wait(300)
        if is_last:
            assert first_left.wait(300)
        limited = n_threads()
    first_left.set()
    return set(limited)

with ThreadPoolExecutor(2) as pool:
    assert list(pool.map(work, [False, True])) == [{1}, {1}]
    assert n_threads() == before, n_threads()
"""


def test_threads_that_limit_blas_restore_its_threads():
    # In its own process: only one living thread may change BLAS, which other tests let happen too.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", LIMIT_BLAS]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_public_names_are_found_by_threads_at_the_same_time(frequent_switches):
    names = secateurs.__all__

    def look_up(number):
        return [getattr(secateurs, name) for name in names[number:] + names[:number]]

    found = run_in_threads(look_up)
    assert all(found[n][-n:] + found[n][:-n] == found[0] for n in range(1, N_THREADS))
