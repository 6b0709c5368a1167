"""Signals while models, stores and results are written: each file is complete or absent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import paths  # noqa: F401
from model_files import X, _fitted

from cases import plain
from secateurs import VoteStore, load, save
from secateurs.benchmarking.result_store import RESULTS

# Writes versions of one file until a signal ends it. The first line says that writing begins.
WRITER = """
import itertools, sys
import chaos_writes
from pathlib import Path
write = getattr(chaos_writes, "write_" + sys.argv[1])
print("begins", flush=True)
for version in itertools.count():
    write(Path(sys.argv[2]), version % 3)
"""
MOST_SECONDS = 120


def writes(rng, folder, tally, n_runs=12):
    """Interrupt, end and kill writers; then read their files, and write them once more."""
    for number in range(n_runs):
        what, place = rng.choice(["model", "model", "store", "result"]), folder / str(number)
        place.mkdir()
        how = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL])
        told = f"signal {how} during the writing of a {what}"
        tally.begin(told)
        end_writer(what, place, how, rng.random() * rng.choice([0.02, 0.3]))
        read = READERS[what]
        tally.attempt(f"{told}, then read", lambda: read(place), True)  # noqa: B023
        left = [path.name for path in place.iterdir() if "-new-" in path.name]
        if how == signal.SIGINT and left:
            tally.add("leaked", fault=f"{told}: left {left}")
        globals()[f"write_{what}"](place, 1)
        tally.attempt(f"{told}, then written again", lambda: read(place, 1), True)  # noqa: B023


def end_writer(what, place, how, delay):
    """Start a writer, and send it a signal some time after it has begun."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WRITER, what, str(place)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(how)
    try:
        process.wait(MOST_SECONDS)
    finally:
        process.kill()
        process.stdout.close()


def write_model(place, version):
    """Save one of several models under the same name."""
    save(_versions()[version], place / "model.skops", force=True)


def read_model(place, version=None):
    """Return whether the file is absent, or one of the models."""
    path = place / "model.skops"
    if not path.exists():
        return version is None
    found = load(path).predict(X).tolist()
    expected = [model.predict(X).tolist() for model in _versions()]
    return found in expected if version is None else found == expected[version]


def _versions():
    return [_fitted(name) for name in ("forest", "extra trees", "bagged trees")]


def write_store(place, version):
    """Write a store under the same name, or leave the one that is there."""
    path = place / "votes"
    if version == 1 and path.exists():
        path.rename(place / f"old-{time.monotonic_ns()}")
    if not path.exists():
        VoteStore.from_table(path, *plain(20, 300, 3, 0), tile_members=2)


def read_store(place, version=None):
    """Return whether the store is absent, or has all votes."""
    path = place / "votes"
    if not path.exists():
        return version is None
    votes = VoteStore.open(path).load()
    case = plain(20, 300, 3, 0)
    return votes.classes[votes.codes(range(20))].T.tolist() == np.asarray(case.votes).tolist()


def write_result(place, version):
    """Run a small benchmark, which writes a line for each result."""
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier

    from secateurs import benchmark

    forest = RandomForestClassifier(6, random_state=0)
    benchmark({"iris": load_iris}, forest, ["re", "kp"], 2, folds=3, results=place)


def read_result(place, version=None):
    """Return whether all lines but the last one are complete, and the last one if it is resumed."""
    scores = []
    for path in place.glob(f"{RESULTS}/*.jsonl"):
        *lines, last = path.read_text().split("\n")
        scores += [json.loads(line)["score"] for line in lines]
        if version is not None and last:
            return False
    return all(0 <= score <= 1 for score in scores) and (version is None or len(scores) > 0)


READERS = {"model": read_model, "store": read_store, "result": read_result}
