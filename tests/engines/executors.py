"""Executors to test with: one of which nothing is known, and what a fit has found."""

import multiprocessing
import os
import pickle
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np


def processes(n_workers=2):
    """A pool of processes, which have loaded what they need."""
    if os.name == "nt":
        return ProcessPoolExecutor(n_workers)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["secateurs", "secateurs.engines.sharding"])
    return ProcessPoolExecutor(n_workers, mp_context=context)


class Sender(Executor):
    """An executor of an unknown kind, which pickles tasks and results."""

    def __init__(self, n_workers=2):
        self._max_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers)
        self.sent = []  # bytes of each task

    def submit(self, fn, /, *args, **kwargs):
        task = pickle.dumps((fn, args, kwargs))
        self.sent.append(len(task))
        return self._pool.submit(_run, task)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _run(task):
    function, args, kwargs = pickle.loads(task)
    return pickle.loads(pickle.dumps(function(*args, **kwargs)))


class Enough(Exception):  # noqa: N818
    """Raised by a callback."""


class Told:
    """A callback that remembers, and perhaps has enough after some steps."""

    def __init__(self, n_most=None):
        self.heard, self._n_most = [], n_most

    def __call__(self, done, total, best):
        self.heard.append((done, total, best))
        if done == self._n_most:
            raise Enough


FOUND = (
    "member_indices_",
    "scores_",
    "objective_",
    "relevance_",
    "diversity_weight_",
    "groups_",
    "candidates_",
    "candidate_scores_",
    "winner_",
    "classes_",
)


def found(pruner):
    """All that a fit has found, to be compared to the last bit."""
    return {name: _plain(getattr(pruner, name)) for name in FOUND if hasattr(pruner, name)}


def _plain(value):
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return np.asarray(value).tolist()
