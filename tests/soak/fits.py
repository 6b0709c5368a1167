"""Fits to be disturbed: drawn at random, each with the answer of one undisturbed process."""

import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import paths  # noqa: F401
import psutil
from executors import found
from sklearn.base import clone

from cases import make, plain
from secateurs import COMEP, DOMEP, EPFD, Votes, VoteStore, make_pruner
from secateurs._methods import METHODS
from secateurs.distributed import limits

warnings.simplefilter("ignore")  # of small ensembles and poor members, which are meant
ROUNDS = {"n_iterations": 8}


@dataclass
class Fit:
    """A pruner and votes, in memory or in a store."""

    pruner: object
    case: tuple
    store: VoteStore | None

    @cached_property
    def expected(self):
        """What one process finds in memory."""
        return found(clone(self.pruner).fit(*self.case))

    def run(self, **options):
        """Return what a fit finds."""
        votes = Votes.encode(*self.case) if self.store is None else self.store
        return found(clone(self.pruner).fit(votes, **options))

    def __str__(self):
        n_samples, n_members = len(self.case.y), self.case.n_members
        where = "memory" if self.store is None else "a store"
        return f"{self.pruner} on {n_samples}×{n_members} in {where}".replace("\n", " ")


def draw(rng, folder, exact=None, stored=None):
    """Draw a fit: COMEP in shards if exact, else EPFD or DOMEP."""
    n_classes, n_members = rng.choice([2, 2, 3, 5, 17]), rng.randrange(12, 60)
    n_samples, seed = rng.choice([63, 64, 65, 200, 1000]), rng.getrandbits(30)
    case = plain(n_members, n_samples, n_classes, seed)
    if rng.random() < 0.3:  # ties everywhere
        kinds = [rng.choice(["copy", "noisy", "constant", "random"]) for _ in range(n_members)]
        case = make(seed, n_samples, n_classes, kinds)
    exact = rng.random() < 0.5 if exact is None else exact
    stored = rng.random() < 0.5 if stored is None else stored
    pruner = _exact(rng, n_members) if exact else _in_groups(rng, n_members, seed)
    store = None
    if stored:
        tile = rng.randrange(1, 20)
        store = VoteStore.from_table(folder / f"votes-{seed}", *case, tile_members=tile)
    return Fit(pruner, case, store)


def _exact(rng, n_members):
    return COMEP(
        rng.randrange(4, n_members // 2),
        diversity_weight=rng.choice([0.2, 0.5, 0.9]),
        start=rng.choice(["spread", "relevance", "every", 0]),
        refine=rng.random() < 0.2,
        shard=rng.choice(["members", "rows"]),
    )


def _in_groups(rng, n_members, seed):
    keep, n_groups = rng.randrange(2, n_members // 4), rng.randrange(2, 5)
    if rng.random() < 0.3:
        return DOMEP(keep, n_groups=n_groups, random_state=seed)
    name = rng.choice([name for name in METHODS if name != "domep"])
    rounds = ROUNDS if METHODS[name].traits.most_rounds else {}
    return EPFD(make_pruner(name, keep=keep, **rounds), n_groups, random_state=seed)


class Disturbance:
    """A callback that does something once, in the middle: at a step, or some time after it."""

    def __init__(self, rng, action):
        self._step, self._action = rng.randrange(1, 4), action
        self._delay = rng.choice([None, 0.0, rng.random() / 50, rng.random() / 2])

    def __call__(self, done, total, best):
        if done != self._step:
            return
        if self._delay is None:
            self._action()
        else:
            timer = threading.Timer(self._delay, self._action)
            timer.daemon = True
            timer.start()


def workers_of(process, *marks):
    """Return the children of a process whose command has one of some marks."""
    found = []
    for child in psutil.Process(process).children(recursive=True):
        try:
            if any(mark in " ".join(child.cmdline()) for mark in marks):
                found.append(child)
        except psutil.Error:  # gone
            continue
    return found


def kill(process):
    """Kill a process; one that is gone is as good."""
    with suppress(psutil.Error):
        process.kill()


def pause(process, seconds):
    """Stop a process for a time."""
    with suppress(psutil.Error):
        process.suspend()
        threading.Timer(seconds, _resume, [process]).start()


def _resume(process):
    with suppress(psutil.Error):
        process.resume()


def kill_client(rng, folder, seed, engine):
    """Let another process do a fit of a seed, and kill it in the middle."""
    command = [sys.executable, Path(__file__).parent / "client.py", folder, seed, engine]
    client = subprocess.Popen([str(word) for word in command])
    step = folder / f"step-{rng.randrange(1, 4)}"
    end = time.monotonic() + 120
    while not step.exists() and client.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(rng.random() / 10)
    client.kill()
    client.wait()


def quick_limits():
    """Keep every step, and wait for lost workers for seconds only."""
    limits.keep_seconds = 0.0
    limits.wait_seconds = 15.0
