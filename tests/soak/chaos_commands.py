"""`secateurs prune` under hostile conditions: the same members, or one line and no half file.

Signals arrive while files are written, the disk is full, memory is short, locale and time zone are
foreign, several processes compile into an empty cache, tables are very wide.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import paths  # noqa: F401
from command_line import FEATURES, TARGET, make_files

from secateurs import load
from secateurs.persistence import inspect_file

MOST_SECONDS = 300
LOCALES = ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "ja_JP.eucJP", "xx_XX", "")
ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "nowhere/none")
# Memory is limited once all modules are loaded: libraries that cannot even start just crash.
LIMITED = """
import resource, sys
import joblib, numba, pandas, scipy.stats, skops.io, sklearn.ensemble
import secateurs.pruning, secateurs.report, secateurs.cli
from pathlib import Path
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
most = used + int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_AS, (most, most))
secateurs.cli.main()
"""


class Run(NamedTuple):
    """A command to run: where its input is, where it writes, and what it keeps."""

    folder: Path
    place: Path
    keep: int
    expected: list

    def start(self, output, *words, **options):
        """Start the command."""
        return start(self.folder, output, self.keep, *words, **options)


def commands(rng, folder, tally, n_runs=12):
    """Prune again and again, each time under another condition."""
    make_files(folder)
    ways = (signalled, signalled, full_disk, little_memory, foreign, at_the_same_time, wide)
    expected = {}
    for number in range(n_runs):
        place = folder / str(number)
        place.mkdir()
        keep = rng.randrange(2, 7)
        if keep not in expected:
            tally.begin(f"an undisturbed run, {keep} members")
            expected[keep] = answer(start(folder, folder / f"whole-{keep}.skops", keep))
        ways[number % len(ways)](rng, Run(folder, place, keep, expected[keep]), tally)


def start(folder, output, keep, *words, program=("-m", "secateurs"), data="val.csv", **options):
    """Start a command that prunes the forest."""
    given = ["prune", "forest.skops", data, "--target", TARGET, "-k", str(keep), "--json"]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", *program, *given, "-o", str(output), *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def answer(process):
    """Return the members that a command kept; None if it ended with one line, or was killed."""
    out, err = process.communicate(timeout=MOST_SECONDS)
    if process.returncode == 0:
        return json.loads(out)["members"]
    assert "Traceback" not in err, err[-500:]
    if process.returncode in (3, 5, 7, 8, 130):
        assert len(err.strip().splitlines()) == 1, err[-500:]
        return None
    assert process.returncode in (-signal.SIGKILL, -signal.SIGTERM), (
        process.returncode,
        err[-500:],
    )
    return None


def judge(tally, told, process, output, expected):
    """Count a run: what it wrote is whole, and what it kept is what it always keeps."""
    tally.begin(told)
    try:
        found = answer(process)
        # The side-car has its name last, so a killed process may leave a model without one.
        if output.exists():
            load(output)
            assert inspect_file(output)["sidecar_matches"] in (True, None), "another side-car"
        else:
            assert found is None, "no file"
        leftovers = [path.name for path in output.parent.iterdir() if path.name != output.name]
        is_killed = process.returncode < 0
        hidden = [n for n in leftovers if n.startswith(".")]
        assert is_killed or not hidden, f"left behind: {hidden}"
    except subprocess.TimeoutExpired:
        process.kill()
        tally.add("hung", fault=told)
    except Exception as error:
        tally.add("wrong", fault=f"{told}: {type(error).__name__}: {str(error)[:300]}")
    else:
        if found is None:
            tally.add("clean")
        else:
            fault = f"{told}: {found} instead of {expected}"
            tally.add("equal") if found == expected else tally.add("wrong", fault=fault)


def catches_interrupts(process):
    """Whether a process has a handler of SIGINT, as the kernel tells it."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:  # it has ended
        return True
    caught = int(re.search(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)[1], 16)
    return bool(caught >> (signal.SIGINT - 1) & 1)


def signalled(rng, run, tally):
    """A signal at any moment, or just when the files are being written; then the same again."""
    output = run.place / "small.skops"
    number = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    in_window, delay = rng.random() < 0.7, rng.random() * rng.choice([0.003, 4])
    process = run.start(output)
    end = time.monotonic() + MOST_SECONDS
    while in_window and process.poll() is None and time.monotonic() < end:
        if any("-new-" in path.name for path in run.place.iterdir()):
            break
        time.sleep(0.0005)
    time.sleep(delay / (1000 if in_window else 1))
    while number == signal.SIGINT and process.poll() is None and not catches_interrupts(process):
        time.sleep(0.0005)  # before Python has its handler, an interrupt ends any process
    process.send_signal(number)
    when = "while it writes" if in_window else f"after {delay:.1f} s"
    judge(tally, f"signal {number} {when}", process, output, run.expected)
    for leftover in run.place.glob(".*"):  # of a process that was killed; they harm nobody
        leftover.unlink()
    again = run.start(output, "--force")
    judge(tally, f"again after signal {number}", again, output, run.expected)


def full_disk(rng, run, tally):
    """No file may become larger than some bytes, which is what a full disk amounts to."""
    import resource

    most = rng.choice([0, 1, rng.randrange(60_000), 10**9])

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    words = ["--report", str(run.place / "page.html")] if rng.random() < 0.5 else []
    process = run.start(run.place / "small.skops", *words, preexec_fn=limit)
    judge(tally, f"files of at most {most} bytes", process, run.place / "small.skops", run.expected)


def little_memory(rng, run, tally):
    """Little memory is left once all modules are loaded."""
    most = rng.choice([1, 8, 64, 256, 2048]) << 20
    process = run.start(
        run.place / "small.skops", program=("-c", LIMITED, str(most)), data="val.csv"
    )
    judge(tally, f"{most >> 20} MB of memory", process, run.place / "small.skops", run.expected)


def foreign(rng, run, tally):
    """Another locale, time zone, encoding, hash seed and umask."""
    changed = {
        "LC_ALL": rng.choice(LOCALES),
        "TZ": rng.choice(ZONES),
        "PYTHONUTF8": rng.choice("01"),
        "PYTHONHASHSEED": str(rng.randrange(1000)),
        "COLUMNS": rng.choice(["1", "20", "500"]),
    }
    mask = rng.choice([0o022, 0o077, 0o777])
    process = run.start(run.place / "small.skops", env={**os.environ, **changed}, umask=mask)
    judge(tally, f"{changed}, umask {mask:o}", process, run.place / "small.skops", run.expected)


def at_the_same_time(rng, run, tally):
    """Three processes with an empty cache of compiled kernels."""
    cache = {**os.environ, "NUMBA_CACHE_DIR": str(run.place / "cache")}
    outputs = [run.place / f"{number}" / "small.skops" for number in range(3)]
    for output in outputs:
        output.parent.mkdir()
    running = [run.start(output, env=cache) for output in outputs]
    for process, output in zip(running, outputs):
        judge(tally, "three processes compile", process, output, run.expected)
    process = run.start(outputs[0], "--force", env=cache)
    judge(tally, "after three processes compiled", process, outputs[0], run.expected)


def wide(rng, run, tally):
    """A table with up to a hundred thousand further columns, all ignored or one of them not."""
    n_more = rng.choice([1_000, 10_000, 100_000])
    rows = (run.folder / "val.csv").read_text().splitlines()
    more = [f"x{number}" for number in range(n_more)]
    lines = [",".join([rows[0], *more]), *(f"{row}{',0' * n_more}" for row in rows[1:])]
    (run.place / "wide.csv").write_text("\n".join(lines) + "\n")
    output = run.place / "out" / "small.skops"
    output.parent.mkdir()
    process = run.start(output, data=str(run.place / "wide.csv"))
    judge(tally, f"{n_more + len(FEATURES) + 1} columns", process, output, run.expected)
