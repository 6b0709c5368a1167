"""Compilation and caching of kernels: new installations, read-only systems, processes."""

import ctypes
import gc
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit
from numba.core import event

import secateurs
from fitted_models import CHOOSE, X, Y
from secateurs import Votes, prune
from secateurs.outputs import compiling, label_coding, vote_kernels, vote_packing, votes

PACKAGE = Path(secateurs.__file__).parent
NOT_KEPT = "Set NUMBA_CACHE_DIR to a writable folder."
TAKES_TIME = "later runs compile only what other methods or kinds of data need"
needs_compiling = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)

PRUNE = """
import sys, warnings
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from secateurs import load, prune
warnings.simplefilter("error")
X, y = load_iris(return_X_y=True)
forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
pruning = prune(forest, X[1::4], y[1::4], keep=5, random_state=0)
out = sys.argv[1]
pruning.save(f"{out}/small.skops")
pruning.report(f"{out}/page.html", X[3::4], y[3::4])
same = load(f"{out}/small.skops").predict(X) == pruning.estimator.predict(X)
print(pruning.member_indices.tolist(), same.all())
"""


CLUSTER = "from secateurs import ClusterPruner; ClusterPruner(2).fit([[0, 1, 1]] * 3, [0, 1, 1])"


def without_privileges():
    """Let a process of root's write only where its owner may: no CAP_DAC_OVERRIDE."""
    if os.getuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):
            assert libc.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


@pytest.fixture
def install(tmp_path):
    """A read-only copy of the package."""
    copy = tmp_path / "site" / "secateurs"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [copy.parent, *(path for path in copy.rglob("*") if path.is_dir()), copy]
    for folder in folders:
        folder.chmod(0o555)
    yield copy.parent
    for folder in folders:
        folder.chmod(0o755)


def run(install, *command, **environment):
    """Run Python with an install, without a home, and without rights to write to either."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    settings |= {"PYTHONPATH": str(install), "HOME": "/proc/nobody", **environment}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        check=False,
        env=settings,
        cwd="/",
        capture_output=True,
        text=True,
        preexec_fn=without_privileges,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done


@needs_compiling
@pytest.mark.skipif(sys.platform != "linux", reason="takes privileges away as Linux does")
def test_a_read_only_install_without_a_home_works_and_reports_how_to_cache(install, tmp_path):
    with pytest.raises(AssertionError, match="PermissionError"):
        run(install, "-c", f"open({str(install / 'secateurs' / 'written')!r}, 'w')")
    (tmp_path / "out").mkdir()
    done = run(install, "-c", PRUNE, tmp_path / "out")
    members = json.loads(done.stdout.rpartition(" ")[0])
    assert len(members) == 5
    assert done.stdout.endswith("True\n")
    assert done.stderr.count(NOT_KEPT) == 1
    assert TAKES_TIME not in done.stderr

    kept = tmp_path / "kept"
    kept.mkdir()
    fit = "from secateurs import COMEP; COMEP(1).fit([[0, 1], [1, 1], [0, 0]], [0, 1, 0])"
    said = run(install, "-c", fit, NUMBA_CACHE_DIR=str(kept)).stderr
    assert NOT_KEPT not in said
    assert list(kept.rglob("*.nbi"))


@pytest.fixture
def listener(monkeypatch):
    """A listener of its own, by a clock on which each look takes 0.3 seconds."""
    clock = iter(np.arange(0.0, 1000.0, 0.3))
    monkeypatch.setattr(compiling, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    found = compiling._CompileListener()
    monkeypatch.setattr(compiling, "_LISTENER", found)
    return found


def compiles(listener, module="secateurs.outputs._x", inner=0):
    """Let a kernel be compiled, as numba tells it, with others inside."""
    about = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=lambda: None)})
    about.data["dispatcher"].py_func.__module__ = module
    listener.on_start(about)
    for _ in range(inner):
        compiles(listener, "numba.cpython.unicode")
    listener.on_end(about)


def test_compiling_is_reported_if_it_takes_longer_than_a_second(listener, caplog):
    compiles(listener)
    assert not caplog.records  # 0.6 s
    compiles(listener, "a.users.own")
    assert listener.seconds == pytest.approx(0.6)
    compiles(listener)
    assert not caplog.records  # 0.9 s when it began
    compiles(listener)
    assert [record.name for record in caplog.records] == ["secateurs"]
    assert TAKES_TIME in caplog.text
    compiles(listener, inner=3)
    assert len(caplog.records) == 1
    assert listener.seconds == pytest.approx(0.6 + 0.6 + 0.6 + 0.3)


def test_functions_of_other_packages_without_a_module_are_compiled(listener):
    compiles(listener, module=None)  # defined by exec, in a namespace without a name
    assert listener.seconds == 0


def test_a_stopwatch_excludes_compiling(listener):
    elapsed = compiling.start_stopwatch()  # at 0
    compiles(listener)  # which looks three times: at 0.3, 0.6 and 0.9
    assert elapsed() == pytest.approx(1.2 - 0.6)


@needs_compiling
def test_kernels_that_cannot_be_cached_are_reported_at_once(listener, monkeypatch, caplog):
    monkeypatch.setattr(compiling, "_LayeredCache", lambda function: no_folder())
    monkeypatch.setattr(compiling, "_installed_cache", lambda function: None)

    def no_folder():
        raise RuntimeError("cannot cache function 'double': no locator available for file 'x'")

    compiled = compiling.kernel(lambda value: 2 * value)
    assert compiled(np.int64(3)) == 6
    assert not listener.is_cached
    compiles(listener)
    assert NOT_KEPT in caplog.text


SOURCE = """
def double(value):
    return 2 * value
"""


@needs_compiling
def test_a_deleted_cache_folder_only_costs_time(listener, monkeypatch, tmp_path):
    (tmp_path / "doubling.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    import doubling

    compiled = compiling.kernel(doubling.double)
    folder = Path(compiled._cache.cache_path)
    shutil.rmtree(folder)
    folder.write_text("in the way")
    assert compiled(np.int64(3)) == 6
    assert not listener.is_cached
    folder.unlink()


COMPARE = """
import numpy as np
from secateurs import compare
from secateurs.outputs import compiling
rng = np.random.default_rng(0)
y = rng.integers(2, size=80)
votes = np.where(rng.random((80, 12)) < 0.7, y[:, None], 1 - y[:, None])
board = compare(votes, y=y, methods=["re"], keep=3, random_state=0).leaderboard()
print(compiling._LISTENER.seconds, board["seconds"].max())
"""


@needs_compiling
def test_the_times_of_a_comparison_exclude_compiling(tmp_path):
    fresh = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPARE]
    done = subprocess.run(
        command, env=fresh, capture_output=True, text=True, check=True, timeout=600
    )
    compiling, choosing = map(float, done.stdout.split())
    assert choosing < compiling / 3  # a hundredth, on an idle machine


@pytest.mark.parametrize("n_classes", [2, 5, 20])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.float64])
def test_numpy_and_kernels_encode_pack_and_count_equally(monkeypatch, n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    table = (rng.integers(n_classes, size=(131, 9)) * 6 - 50).astype(dtype)  # 70 - -50 > 127
    y = table[:, 0]
    by_numpy = Votes.encode(table, y)
    tally = by_numpy.tally()
    for module in (label_coding, vote_packing, votes):
        monkeypatch.setattr(module, "MOST_BY_NUMPY", 0)
    by_kernels = Votes.encode(table, y)
    assert (by_kernels.tally() == tally).all()
    assert (by_numpy.packed.cells == by_kernels.packed.cells).all()
    assert (by_numpy.classes == by_kernels.classes).all()
    all_members = np.arange(9)
    assert (table == by_numpy.classes[by_numpy.codes(all_members)].T).all()
    members = np.array([4, 0, 7, 7, 2])
    taken = by_kernels.take(members).packed.cells
    assert (taken == by_numpy.packed.cells[members]).all()


def test_read_only_samples_labels_and_weights_are_accepted(forest):
    rows, y, weights = X[CHOOSE].copy(), Y[CHOOSE].copy(), np.ones(len(Y[CHOOSE]))
    for array in (rows, y, weights):
        array.flags.writeable = False
    settings = {"keep": 5, "random_state": 0}
    for pruner in ("comep", "re", "joint", "caruana"):
        frozen = prune(forest, rows, y, pruner, sample_weight=weights, **settings)
        plain = prune(forest, X[CHOOSE], Y[CHOOSE], pruner, **settings)
        assert frozen.member_indices.tolist() == plain.member_indices.tolist()


PROCESSES = """
import multiprocessing, sys, threading
import numpy as np
from secateurs import COMEP, ReducedErrorPruner

def votes():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    return np.where(rng.random((200, 20)) < 0.7, y[:, None], rng.integers(3, size=(200, 20))), y

def chosen(kind):
    return kind(keep=5).fit(*votes()).member_indices_.tolist()

if __name__ == "__main__":
    here, over = {}, threading.Event()

    def work():
        here["comep"] = chosen(COMEP)
        over.wait(300)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    while "comep" not in here:
        over.wait(0.01)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        there = [pool.apply_async(chosen, [kind]) for kind in (COMEP, ReducedErrorPruner)]
        found = [result.get(300) for result in there]
    over.set()
    assert found == [here["comep"], chosen(ReducedErrorPruner)], found
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_every_start_method_prune_beside_threads(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    (tmp_path / "processes.py").write_text(PROCESSES)
    command = [sys.executable, str(tmp_path / "processes.py"), method]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


SAVE_SLOWLY = """
import sys, time
from pathlib import Path
import numpy as np
from numba.core.caching import IndexDataCacheFile
from secateurs.outputs.compiling import kernel
sys.path.insert(0, sys.argv[1])
import doubling

save_index = IndexDataCacheFile._save_index

def wait_for_other(self, lines):
    other = Path(sys.argv[1]) / "done"
    Path(sys.argv[1], "saving").touch()
    for _ in range(50):  # the other process waits for the lock meanwhile, or is done
        if other.exists():
            break
        time.sleep(0.1)
    save_index(self, lines)

if sys.argv[2] == "first":
    IndexDataCacheFile._save_index = wait_for_other
double = kernel(doubling.double)
value = 3 if sys.argv[2] == "first" else 1.5
assert double(value) == 2 * value
"""
LOAD_BOTH = """
import sys
from secateurs.outputs.compiling import kernel
sys.path.insert(0, sys.argv[1])
import doubling
double = kernel(doubling.double)
print(double(3), double(1.5), sum(double.stats.cache_hits.values()))
"""


@needs_compiling
@pytest.mark.skipif(os.name == "nt", reason="files are not locked on Windows")
def test_processes_that_compile_at_the_same_time_do_not_damage_the_cache(tmp_path):
    (tmp_path / "doubling.py").write_text(SOURCE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def start(script, *arguments):
        command = [sys.executable, "-c", script, str(tmp_path), *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    first = start(SAVE_SLOWLY, "first")
    for _ in range(600):
        if (tmp_path / "saving").exists() or first.poll() is not None:
            break
        time.sleep(0.1)
    second = start(SAVE_SLOWLY, "second")
    assert second.wait(120) == 0
    (tmp_path / "done").touch()  # too late, as the first process went on without it
    assert first.wait(120) == 0
    assert start(LOAD_BOTH).communicate(timeout=120)[0] == "6 3.0 2\n"


WARM = """
import sys, threading
import numpy as np
from sklearn.datasets import load_iris, load_diabetes
from sklearn.ensemble import BaggingClassifier, ExtraTreesRegressor, RandomForestClassifier
from secateurs import EPFD, all_pruners, compare, make_pruner, prune, warm
from secateurs.outputs import bit_kernels, prediction_kernels, selection_kernels, vote_kernels

def compiled():
    modules = (bit_kernels, prediction_kernels, selection_kernels, vote_kernels)
    kernels = {k for m in modules for k in vars(m).values() if hasattr(k, "signatures")}
    return {(k.__name__, str(s)) for k in kernels for s in k.signatures}

warm.compile_kernels()
before = compiled()
assert len(before) > 50, before
rng = np.random.default_rng(1)
X, y = load_iris(return_X_y=True)
forest = RandomForestClassifier(15, random_state=1).fit(X[::3], y[::3])
rows = X[1::3], y[1::3]
prune(forest, *rows, random_state=0).summary()
prune(forest, *rows, scoring="neg_log_loss", keep=4, random_state=0)
prune(forest, *rows, "caruana", scoring="balanced_accuracy", sample_weight=rng.random(50))
prune(BaggingClassifier(n_estimators=9, random_state=0).fit(X[::3], y[::3]), *rows, weights=True)
compare(forest, *rows, keep=[2, 5], random_state=0)
X, y = load_diabetes(return_X_y=True)
trees = ExtraTreesRegressor(12, random_state=0).fit(X[::2], y[::2])
prune(trees, X[1::2], y[1::2]).summary()
for labels in (["no", "yes"], list("abcde"), range(40), range(400)):
    y = np.array(labels)[np.arange(900) % len(labels)]
    votes = np.where(rng.random((900, 8)) < 0.6, y[:, None], rng.permutation(y)[:, None])
    for name in ("comep", "re", "best", "drep", "caruana", "joint", "uwa"):
        make_pruner(name, keep=3).fit(votes, y)
        make_pruner(name, keep=3).fit(np.ma.masked_array(votes, rng.random(votes.shape) < 0.2), y)
    EPFD(make_pruner("re", keep=2), 2, random_state=0).fit(votes, y)
for line in sorted(compiled() - before):
    print(*line)
"""


@needs_compiling
def test_after_warming_ordinary_work_compiles_nothing():
    # In the cache of these tests, most kernels are only loaded: that they are used is what counts.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WARM],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@needs_compiling
@pytest.mark.skipif(sys.platform != "linux", reason="takes privileges away as Linux does")
def test_a_read_only_install_uses_kernels_that_were_compiled_before(tmp_path):
    site = tmp_path / "site"
    # The compiled kernels beside the source belong to the same source, as in an image.
    shutil.copytree(PACKAGE, site / "secateurs")
    folder = site / "secateurs" / "outputs" / "__pycache__"
    prune_iris = ("-c", PRUNE, tmp_path / "out")
    (tmp_path / "out").mkdir()
    run(site, *prune_iris)  # writable: compiles what is missing
    assert list(folder.glob("*.nbi"))
    try:
        folder.chmod(0o555)
        for file in (tmp_path / "out").iterdir():
            file.unlink()
        done = run(site, *prune_iris)
        assert "compiling" not in done.stderr
        # A kernel that is missing is compiled in memory.
        folder.chmod(0o755)
        missing = list(folder.glob("*cluster_kernels*.nbi"))
        for file in missing:
            file.unlink()
        folder.chmod(0o555)
        run(site, "-c", CLUSTER)
        assert missing
        assert not any(file.exists() for file in missing)
    finally:
        folder.chmod(0o755)


@needs_compiling
@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_garbage_collector_only_waits_for_the_compiler(is_enabled):
    during = []

    class Recorder(event.Listener):
        def on_start(self, event):
            during.append(gc.isenabled())

        def on_end(self, event):
            pass

    tally, winner = np.zeros((3, 2), dtype=np.int32), np.zeros(3, dtype=np.intp)
    previous = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        with event.install_listener("numba:compile", Recorder()):
            njit(vote_kernels.find_winners.py_func)(tally, winner)
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if previous else gc.disable)()
    assert during
    assert not any(during)
