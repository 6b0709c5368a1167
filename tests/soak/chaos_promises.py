"""Promises that no slow twin checks: shared stores, forks, margins, scorers, bad values."""

import gzip
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import paths  # noqa: F401
from fits import draw, quick_limits
from model_files import CODES, X, _fitted
from sklearn.base import clone
from sklearn.metrics import get_scorer

from boosted_models import of_library
from cases import plain
from secateurs import (
    COMEP,
    ClusterPruner,
    EnsembleSelection,
    LeafRefit,
    Votes,
    make_pruner,
    prune,
)
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import pruner_from_method
from secateurs.search import Choice

MOST_SECONDS = 120
WORK = ("locks", "imports", "draws", "prunes")  # of a thread while another thread forks
ROWS = X.astype(np.float32)


def promises(rng, folder, tally, n_rounds=2):
    """Try each promise several times, each time with other values."""
    quick_limits()
    for number in range(n_rounds * len(WAYS)):
        place = folder / str(number)
        place.mkdir()
        WAYS[number % len(WAYS)](rng, place, tally)


def shared_store(rng, place, tally):
    """Threads that take turns often read one store."""
    fit = draw(rng, place, stored=True)
    expected = fit.expected
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            running = [pool.submit(fit.run) for _ in range(16)]
            for future in running:
                tally.attempt(f"16 threads, one store: {fit}", future.result, expected)
    finally:
        sys.setswitchinterval(before)


def forked(rng, place, tally):
    """A process is forked while another thread compiles, imports or prunes; the child prunes."""
    fit = draw(rng, place)
    expected, doing, delay = fit.expected, rng.choice(WORK), rng.random()
    delay /= 50
    name = f"slow_{rng.getrandbits(30)}"
    (place / f"{name}.py").write_text("import time; time.sleep(0.2); value = 7")
    boosted = _margin_forest("lightgbm", 2)  # predicts with OpenMP
    inside, over = threading.Event(), threading.Event()

    def work():
        from numba.core.compiler_lock import global_compiler_lock

        inside.set()
        while not over.is_set():
            if doing == "locks":
                with global_compiler_lock:
                    over.wait(0.2)
            elif doing == "imports":
                import_module(name)
                over.wait(0.2)
            elif doing == "draws":
                np.random.standard_normal(3_000_000)  # noqa: NPY002 (holds a lock)
            else:
                fit.run()

    def prunes_boosted():
        y = np.minimum(CODES, 1)
        return prune(boosted, ROWS, y, "joint", keep=2).estimator.predict(ROWS).tolist()

    def is_right():
        is_loaded = doing != "imports" or import_module(name).value == 7
        np.random.random_sample()  # noqa: NPY002
        return is_loaded and fit.run() == expected and prunes_boosted() == predicted

    predicted = prunes_boosted()

    def run():
        thread = threading.Thread(target=work)
        thread.start()
        inside.wait(MOST_SECONDS)
        time.sleep(delay)
        child = os.fork()
        if not child:
            os._exit(0 if is_right() else 3)
        code = _wait_for(child)
        over.set()
        thread.join(MOST_SECONDS)
        return code

    sys.path.insert(0, str(place))
    tally.attempt(f"forked while a thread {doing}: {fit}", run, 0)
    sys.path.remove(str(place))


def _wait_for(child):
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "no answer in time"


@cache
def _margin_forest(library, n_classes):
    y = np.minimum(CODES, n_classes - 1)
    name = {"xgboost": "XGBRFClassifier", "lightgbm": "LGBMClassifier"}[library]
    options = {"n_estimators": 10, "n_jobs": 1, "random_state": 0}
    if library == "lightgbm":
        options |= {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1, "verbose": -1}
    return of_library(library, name, **options).fit(ROWS[::2], y[::2])


def margins(rng, place, tally):
    """The objective is the score of the returned model, for forests that average margins."""
    library, n_classes = rng.choice(["xgboost", "lightgbm"]), rng.choice([2, 3])
    score, keep = rng.choice(["neg_log_loss", "neg_brier_score"]), rng.randrange(2, 8)
    samples = np.array(rng.sample(range(len(ROWS)), 80))
    y = np.minimum(CODES, n_classes - 1)[samples]

    def run():
        forest = _margin_forest(library, n_classes)
        pruner = EnsembleSelection(keep, scoring=score)
        pruning = prune(forest, ROWS[samples], y, pruner, refit=False, scoring=score)
        own = get_scorer(score)(pruning.estimator, ROWS[samples], y)
        return abs(own - pruning.pruner.objective_) < 1e-3

    tally.attempt(f"{library} averages margins, {n_classes} classes, {score}", run, True)


def scorers(rng, place, tally):
    """A scorer receives samples as they were passed."""
    order, keep = np.array(rng.sample(range(len(X)), 120)), rng.randrange(2, 6)
    known, strangers = {row.tobytes() for row in X[order]}, []

    def score(estimator, rows, y):
        strangers.extend(row for row in np.asarray(rows) if row.tobytes() not in known)
        return float((estimator.predict(rows) == y).mean())

    def run():
        y = _fitted("forest").classes_[CODES[order]]
        prune(_fitted("forest"), X[order], y, "re", keep=keep, scoring=score).summary()
        return len(strangers)

    tally.attempt("a scorer that reads its samples", run, 0)


def bounds(rng, place, tally):
    """An upper bound is the same after pickling, and an upper bound."""
    case = plain(
        rng.randrange(5, 40), rng.randrange(20, 300), rng.choice([2, 3, 7]), rng.getrandbits(30)
    )
    pruner = COMEP(rng.randrange(2, 5), diversity_weight=rng.random()).fit(*case)
    copied = pickle.loads(pickle.dumps(pruner))
    tally.attempt("a bound, pickled", lambda: copied.upper_bound_, pruner.upper_bound_)
    tally.attempt("a bound", lambda: pruner.objective_ <= pruner.upper_bound_ + 1e-12, True)


class _Returns(BasePruner):
    def __init__(self, members=(), keep=2):
        self.members, self.keep = members, keep

    def _select(self, votes, n_keep, rng):
        return Choice(self.members, [0.0] * len(self.members))


def bad_values(rng, place, tally):
    """Bad values of parameters and own pruners are rejected in one line."""
    forest, y, votes = _fitted("forest"), _fitted("forest").classes_[CODES], plain(9, 40)
    inf, wide = float("inf"), rng.choice([X[:, :3], X[:0], np.full_like(X, np.inf)])
    ratio = rng.choice([inf, "x", None, -1])
    members = rng.choice([[1.7, 1.7], [1, 1], [-1, 0], [0, 99], [], ["a", "b"], None, [[0, 1]]])
    calls = {
        "ratio": lambda: prune(forest, X, y, keep=3, refit=LeafRefit(synthetic_ratio=ratio)),
        "unlabelled": lambda: prune(forest, X, y, keep=3, refit=True, X_unlabelled=wide),
        "weights": lambda: prune(
            forest,
            X,
            y,
            "joint",
            keep=3,
            sample_weight=np.full(len(X), rng.choice([1e308, inf, -1])),
        ),
        "no classes": lambda: COMEP(2).fit(np.zeros((4, 3, 0)), [0, 1, 0, 1]),
        "members": lambda: _Returns(members or ()).fit(*votes),
        "function": lambda: (
            pruner_from_method(lambda votes, y, keep: members).with_keep(2).fit(*votes)
        ),
        "keep": lambda: prune(forest, X, y, keep=rng.choice([0, -1, 1.5, "x", inf, 10**9])),
        "misspelt": lambda: prune(forest, X, y, toleranc=0.1),
    }
    for name, call in calls.items():
        tally.attempt(f"bad {name}", call, "an error")


def multiclass_auc(rng, place, tally):
    """Selection by AUC of several classes."""
    score = rng.choice(["roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted"])
    draws = np.random.default_rng(rng.getrandbits(30))
    n_classes = rng.choice([3, 5, 9])
    values = draws.dirichlet(np.ones(n_classes), (120, 6))
    y = np.arange(120) % n_classes

    def run():
        pruner = EnsembleSelection(3, scoring=score).fit(values, y)
        return len(pruner.member_indices_) <= 3

    tally.attempt(f"{score}, {n_classes} classes", run, True)


def large(rng, place, tally):
    """Thousands of members are clustered, and thousands of classes counted, in bounds."""
    draws = np.random.default_rng(rng.getrandbits(30))
    y, n_members = draws.integers(0, 2, 60), rng.choice([1500, 2500])
    few = np.where(draws.random((60, n_members)) < 0.7, y[:, None], 1 - y[:, None])

    def cluster():
        start = time.process_time()
        ClusterPruner(10).fit(few, y)
        return time.process_time() - start < 30

    tally.attempt(f"clusters of {n_members} members", cluster, True)
    classes = draws.integers(0, 2000, 4000)
    many = np.where(
        draws.random((4000, 40)) < 0.5, classes[:, None], draws.integers(0, 2000, (4000, 40))
    )
    pruner = rng.choice([COMEP(3), EnsembleSelection(3, scoring="accuracy")])

    def count():
        clone(pruner).fit(many, classes)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3 << 20  # kB

    tally.attempt(f"{pruner}, 2,000 classes", count, True)
    names, name = draws.permutation(65_534), rng.choice(["comep", "re", "uwa", "epic", "caruana"])
    votes = np.stack([names, np.roll(names, 1)], axis=1)

    def select():
        return make_pruner(name, keep=1).fit(votes, names).member_indices_.tolist()

    tally.attempt(f"{name}, 65,534 classes", select, [0])


def class_names(rng, place, tally):
    """Selections with missing votes do not depend on the order of the classes.

    Tied votes go to the lowest class, so that methods that combine votes can depend on it.
    """
    draws = np.random.default_rng(rng.getrandbits(30))
    n_classes, shape = rng.choice([2, 3, 5]), (rng.choice([40, 65, 200]), 9)
    y = np.arange(shape[0]) % n_classes
    codes = np.where(draws.random(shape) < 0.6, y[:, None], draws.integers(0, n_classes, shape))
    mask = draws.random(shape) < rng.choice([0.1, 0.4])
    mask[:3] = True
    order = draws.permutation(n_classes)
    for name in ("uwa", "comep", "joint", "best", "mdm"):

        def fit(codes, y):
            votes = Votes.encode(np.ma.masked_array(codes, mask), y, missing="wrong")
            return make_pruner(name, keep=3).fit(votes).member_indices_.tolist()  # noqa: B023

        told = f"{name}, {n_classes} classes in another order, missing votes"
        tally.attempt(told, lambda: fit(order[codes], order[y]), fit(codes, y))


def bomb(rng, place, tally):
    """A small file that unpacks to a very large table is rejected."""
    path = place / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b,target\n")
        for _ in range(rng.choice([15, 20])):
            file.write(b"1,1,0\n" * 1_000_000)
    words = [sys.executable, "-m", "secateurs", "compare", "--predictions", str(path)]
    words += ["--target", "target", "--quiet"]
    tally.begin("a table that unpacks to gigabytes")
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        tally.add("hung", fault="a table that unpacks to gigabytes")
        return
    is_clean = done.returncode in (3, 4) and len(done.stderr.strip().splitlines()) == 1
    fault = f"exit code {done.returncode}: {done.stderr[:300]}"
    tally.add("clean") if is_clean else tally.add("wrong", fault=fault)
    Path(path).unlink()


WAYS = (
    shared_store,
    forked,
    margins,
    scorers,
    bounds,
    bad_values,
    multiclass_auc,
    class_names,
    large,
    bomb,
)
