"""Benchmarks with a method that hangs: interrupted or killed, and resumed to the same tables."""

import shutil
import signal
import subprocess
import sys
import time

import paths  # noqa: F401
import psutil

PLAN = """
title = "Two tables"
keep = [3]
folds = 3

[datasets]
sklearn = ["iris", "wine"]

[ensembles.forest]
class = "sklearn.ensemble.RandomForestClassifier"
n_estimators = 8

[methods]
"reduced error" = "re"
slow = {class = "soak_method.Slow", flag = "FLAG"}
"""
METHOD = """
import time
from pathlib import Path
import numpy as np
from sklearn.base import BaseEstimator

class Slow(BaseEstimator):
    def __init__(self, flag, keep=1):
        self.flag, self.keep = flag, keep

    def fit(self, votes, y):
        while Path(self.flag).exists():
            time.sleep(0.05)
        self.member_indices_ = np.arange(self.keep)
        return self
"""
# Modules that no plan names must not be imported, whatever libraries are called.
TRAP = "raise SystemExit('a file next to the plan was executed')"
TRAPPED = ("matplotlib", "pandas", "joblib", "sitecustomize", "json")
MOST_SECONDS = 300


def benchmark(rng, folder, tally, n_runs=3):
    """Let a method hang, end the run, and resume it once the method works."""
    flag = folder / "flag"
    (folder / "soak_method.py").write_text(METHOD)
    for name in TRAPPED:
        (folder / f"{name}.py").write_text(TRAP)
    (folder / "plan.toml").write_text(PLAN.replace("FLAG", str(flag)))
    tally.begin("an undisturbed benchmark")
    expected = tables(folder, folder / "whole")
    for number in range(n_runs):
        place, n_jobs = folder / f"run-{number}", str(rng.choice([1, 2]))
        how = rng.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        flag.touch()
        told = f"a method hangs, {n_jobs} jobs, signal {how}"
        tally.begin(told)
        process = start(folder, place, n_jobs)
        end = time.monotonic() + MOST_SECONDS
        while not place.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(3 * rng.random())
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(how)
        try:
            process.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            tally.add("hung", fault=told)
            continue
        said = (folder / "said.txt").read_text(errors="replace")
        if "Traceback" in said or process.returncode not in (130, -how):
            tally.add("wrong", fault=f"{told}: ends with {process.returncode}: {said[-300:]}")
        elif psutil.wait_procs(workers, timeout=60)[1]:
            tally.add("leaked", fault=f"{told}: workers live on")
        else:
            tally.add("clean")
        flag.unlink()
        tally.attempt(f"resumed after: {told}", lambda: tables(folder, place), expected)  # noqa: B023
        shutil.rmtree(place, ignore_errors=True)


def start(folder, place, n_jobs="1"):
    """Start the command."""
    words = ["-m", "secateurs", "benchmark", "plan.toml", "-o", str(place), "-j", n_jobs, "-q"]
    with (folder / "said.txt").open("w") as log:  # not a pipe, which orphans would keep open
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", *words], cwd=folder, stdout=log, stderr=log
        )


def tables(folder, place):
    """Run to the end, and return the tables."""
    process = start(folder, place)
    process.wait(MOST_SECONDS)
    assert process.returncode == 0, (folder / "said.txt").read_text(errors="replace")[-500:]
    found = {path.name: path.read_bytes() for path in sorted(place.rglob("*.md"))}
    assert found, sorted(place.rglob("*"))
    return found
