"""One batch of one kind, in a process of its own: with a limit on its time, and no orphans."""

import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import paths  # noqa: F401
import psutil
from tally import Tally

# Its module, and its part of the time.
KINDS = {
    "differential": ("chaos_fuzzers", 2),
    "model files": ("chaos_fuzzers", 2),
    "pools": ("chaos_pools", 4),
    "dask": ("chaos_dask", 6),
    "stores": ("chaos_stores", 1),
    "reproduce": ("chaos_reproduce", 2),
    "threads": ("chaos_threads", 1),
    "memory": ("chaos_memory", 1),
    "memory limits": ("chaos_limits", 1),
    "commands": ("chaos_commands", 3),
    "benchmark": ("chaos_benchmark", 2),
    "writes": ("chaos_writes", 1),
    "promises": ("chaos_promises", 2),
}
MOST_SECONDS = 1200  # of a batch, which takes one minute when nothing else runs
GRACE_SECONDS = 60  # for processes to see that nobody wants them any more
_MARK = "SECATEURS_SOAK"


def run_batch(kind, seed, folder):
    """Run a batch here; what comes of it is in ``tally.json``."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as under `nohup make soak &`
        signal.signal(signal.SIGINT, signal.default_int_handler)  # processes are interrupted
    module, _ = KINDS[kind]
    batch = getattr(importlib.import_module(module), kind.replace(" ", "_"))
    batch(random.Random(f"{kind} {seed}"), folder, Tally(path=folder / "tally.json"))


def supervise(kind, seed, most_seconds=MOST_SECONDS):
    """Run a batch in a process of its own, and return its counts."""
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    scratch = folder / "tmp"
    scratch.mkdir()
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, Path(__file__).parent, "--batch", kind, str(seed), folder],
            env={**os.environ, _MARK: mark, "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(most_seconds)
        except subprocess.TimeoutExpired:
            code = None
        except BaseException:
            _kill(mark)
            raise
    tally = Tally.read(folder / "tally.json")
    doing = tally.doing
    if code is None:
        _kill(mark)
        process.wait()
        tally.add("hung", fault=f"{doing} did not end within {most_seconds} s")
    elif code != 0:
        said = (folder / "log.txt").read_text(errors="replace")[-600:]
        tally.add("crashed", fault=f"{doing} ended the process with {code}: {said}")
    orphans = _orphans(mark)
    if orphans:
        tally.add("leaked", fault=f"processes that live on: {orphans}")
        _kill(mark)
    shutil.rmtree(folder, ignore_errors=True)
    return tally


def _marked(mark):
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(_MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):  # gone, or of somebody else
            continue
    return found


def _orphans(mark):
    """Return the commands of processes that are still there after a time of grace."""
    end = time.monotonic() + GRACE_SECONDS
    while (left := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.5)
    return [" ".join(process.cmdline())[:120] for process in left if process.is_running()]


def _kill(mark):
    for process in _marked(mark):
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.Error:
            continue
