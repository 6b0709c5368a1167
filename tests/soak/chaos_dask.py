"""A Dask cluster: workers killed, stopped, restarted and added; scheduler and client killed."""

import os
import random
from contextlib import contextmanager

import paths  # noqa: F401
from chaos_pools import going_on
from cluster import Cluster
from fits import Disturbance, draw, kill, kill_client, pause, quick_limits, workers_of
from psutil import Process

os.environ["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "20s"  # then a stopped worker is given up
os.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "10s"
ACTIONS = ("killed", "killed", "stopped", "stopped for good", "added", "left alone")


class Site:
    """A cluster with a client and two workers, of which one has a nanny."""

    def __init__(self, cluster, client):
        self.cluster, self.client = cluster, client
        self.plain, self.nannies = [], []
        self.refill()

    def refill(self):
        """Start what is missing."""
        self.plain = [worker for worker in self.plain if worker.poll() is None]
        for _ in range(1 - len(self.plain)):
            self.plain += self.cluster.workers(self.client, 1)
        for _ in range(1 - len(self.nannies)):
            self.nannies += self.cluster.workers(self.client, 1, "--nanny")

    def victims(self):
        """Return the processes of workers; those of nannies are started again by them."""
        found = [Process(worker.pid) for worker in self.plain if worker.poll() is None]
        for nanny in self.nannies:
            found += workers_of(nanny.pid, "spawn_main")
        return found


@contextmanager
def site_in(folder):
    """Start a cluster, and end it."""
    from distributed import Client

    cluster = Cluster(folder)
    try:
        with Client(cluster.address, timeout="60s") as client:
            yield Site(cluster, client)
    finally:
        # A nanny that is killed cannot end its worker, nor can a worker that is stopped.
        started = [Process(process.pid) for process in cluster._processes if process.poll() is None]
        workers = [child for process in started for child in process.children(recursive=True)]
        cluster.close()
        for worker in workers:
            kill(worker)


def dask(rng, folder, tally, n_fits=20):
    """Disturb fits on one cluster; perhaps its scheduler is the last to be killed."""
    quick_limits()
    tally.begin("a cluster starts")
    (folder / "cluster").mkdir()
    with site_in(folder / "cluster") as site:
        for _ in range(n_fits):
            rng.choice([worker_disturbed] * 4 + [client_killed])(rng, folder, tally, site)
        if rng.random() < 0.5:
            scheduler_killed(rng, folder, tally, site)


def worker_disturbed(rng, folder, tally, site):
    """A fit during which something happens to a worker, or to all."""
    site.refill()
    fit, action, place = draw(rng, folder), rng.choice(ACTIONS), rng.random()
    every, seconds = rng.random() < 0.15, 1 + 3 * rng.random()

    def disturb():
        victims = site.victims()
        first = int(place * len(victims))
        for victim in victims if every else victims[first : first + 1]:
            if action == "killed":
                kill(victim)
            elif action == "stopped":
                pause(victim, seconds)
            elif action == "stopped for good" and not every:
                pause(victim, 60)
        if action == "added":
            site.plain += dict([site.cluster._start_worker()]).values()

    who = "every worker" if every else "a worker"
    run = {"executor": site.client, "callback": Disturbance(rng, disturb)}
    tally.attempt(f"dask, {who} {action}: {fit}", lambda: fit.run(**run), fit.expected)


def client_killed(rng, folder, tally, site):
    """Another client does the same run, and is killed; this one goes on."""
    site.refill()
    seed = str(rng.getrandbits(30))
    place = folder / f"client-{seed}"
    place.mkdir()
    tally.begin(f"a client of dask is killed, seed {seed}")
    kill_client(rng, place, seed, site.cluster.address)
    going_on(place, seed, tally, "dask", executor=site.client)


def scheduler_killed(rng, folder, tally, site):
    """The scheduler is killed: one line of an error, and the same run elsewhere."""
    site.refill()
    seed = str(rng.getrandbits(30))
    place = folder / f"client-{seed}"
    place.mkdir()
    fit = draw(random.Random(seed), place, stored=True)

    def disturb():
        kill(Process(site.cluster.scheduler.pid))

    run = {"executor": site.client, "callback": Disturbance(rng, disturb)}
    tally.attempt(f"dask, the scheduler killed: {fit}", lambda: fit.run(**run), fit.expected)
    going_on(place, seed, tally, "dask's scheduler")
