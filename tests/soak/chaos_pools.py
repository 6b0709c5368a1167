"""Threads, pools of processes and joblib: workers killed and stopped, and the client killed."""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import joblib
import paths  # noqa: F401
import psutil
from executors import Sender, processes
from fits import Disturbance, draw, kill, kill_client, pause, quick_limits, workers_of
from joblib.externals.loky import get_reusable_executor

MARKS = ("spawn_main", "forkserver", "popen_loky")


def pools(rng, folder, tally, n_fits=14):
    """Disturb fits, one after the other."""
    quick_limits()
    ways = (processes_disturbed, processes_disturbed, joblib_disturbed, client_killed, unknown)
    for _ in range(n_fits):
        rng.choice(ways)(rng, folder, tally)
    get_reusable_executor().shutdown(wait=True, kill_workers=True)


def disturbing(rng):
    """Return what to do to a worker, and a word for it."""
    action = rng.choice(["killed", "killed", "all killed", "stopped", "left alone"])
    place, seconds = rng.random(), 1 + 2 * rng.random()

    def disturb(*_):
        workers = [w for w in workers_of(os.getpid(), *MARKS) if not starts_workers(w)]
        first = int(place * len(workers))
        for worker in workers if action == "all killed" else workers[first : first + 1]:
            if action == "stopped":
                pause(worker, seconds)
            elif "killed" in action:
                kill(worker)

    return Disturbance(rng, disturb), action


def starts_workers(process):
    """Return whether a process is multiprocessing's server that forks workers, not a worker."""
    with suppress(psutil.Error):
        return process.ppid() == os.getpid() and "forkserver" in " ".join(process.cmdline())
    return True  # gone


def processes_disturbed(rng, folder, tally):
    """A pool of processes."""
    fit = draw(rng, folder)
    callback, action = disturbing(rng)
    expected = fit.expected
    with killed_in_the_end() as pool:
        told = f"pool, a worker {action}: {fit}"
        tally.attempt(told, lambda: fit.run(executor=pool, callback=callback), expected)
    with processes() as pool:  # what was kept of it is no harm
        told = f"pool, again after a worker was {action}: {fit}"
        tally.attempt(told, lambda: fit.run(executor=pool), expected)


@contextmanager
def killed_in_the_end():
    """A pool of processes that are killed, not asked to end.

    A worker that is killed while it holds the lock of the pool's queue leaves the others waiting
    for it, and `ProcessPoolExecutor.shutdown` waiting for them.
    """
    pool = processes()
    try:
        yield pool
    finally:
        for worker in list((pool._processes or {}).values()):
            worker.kill()
        pool.shutdown()


def joblib_disturbed(rng, folder, tally):
    """The processes of joblib."""
    fit = draw(rng, folder, exact=False)
    expected = fit.expected  # found without workers, of which some may be about to be killed
    fit.pruner.set_params(n_jobs=2)
    callback, action = disturbing(rng)
    backend = rng.choice(["loky", "loky", "threading", "multiprocessing"])

    def run():
        with joblib.parallel_config(backend):
            return fit.run(callback=None if backend == "threading" else callback)

    tally.attempt(f"joblib's {backend}, a worker {action}: {fit}", run, expected)


def unknown(rng, folder, tally):
    """Threads, and an executor of which nothing is known."""
    fit = draw(rng, folder)
    kind = rng.choice([Sender, ThreadPoolExecutor])
    with kind(2) as pool:
        tally.attempt(f"{kind.__name__}: {fit}", lambda: fit.run(executor=pool), fit.expected)


def client_killed(rng, folder, tally):
    """Another process does the same run, and is killed; this one goes on."""
    seed, engine = str(rng.getrandbits(30)), rng.choice(["processes", "threads"])
    place = folder / f"client-{seed}"
    place.mkdir()
    tally.begin(f"a client of {engine} is killed, seed {seed}")
    kill_client(rng, place, seed, engine)
    going_on(place, seed, tally, engine)


def going_on(place, seed, tally, engine, **options):
    """Do the run of a client that was killed."""
    (place / "fresh").mkdir()
    fit = draw(random.Random(seed), place / "fresh", stored=True)
    stores = [path for path in place.glob("votes-*") if (path / "meta.json").is_file()]
    if stores:
        fit.store = type(fit.store).open(stores[0])
    with ThreadPoolExecutor(2) as pool:
        told = f"{engine}: going on where a client was killed: {fit}"
        tally.attempt(told, lambda: fit.run(**{"executor": pool, **options}), fit.expected)
