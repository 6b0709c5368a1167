"""The paper's experiments in small: killed, their results damaged, and gone on with."""

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import paths  # noqa: F401
import psutil
from chaos_stores import damage

from secateurs.benchmarking.result_store import RESULTS
from secateurs.exceptions import InputError
from secateurs.paper import PaperRow, Plan, load_results, run
from secateurs.paper._reproduce import make_contents, write_outputs

PLAN = Plan(
    name="table-dt",
    title="",
    reproduces="",
    kind="prune",
    rows=tuple(PaperRow(name, name, "multiclass", "dt", False) for name in ("iris", "wine")),
    methods=("comep", "re", "sep", "kp", "domep"),
    n_members=(30,),
    keep=(0.2,),
    diversity_weight=(0.5,),
    folds=(0, 1, 2),
)
CHILD = """
import sys
import chaos_reproduce
from secateurs.commands.command_errors import failure_from_error
try:
    chaos_reproduce.run([chaos_reproduce.PLAN], sys.argv[1], n_jobs=int(sys.argv[2]))
except BaseException as error:
    ended = failure_from_error(error)
    print(ended.text)
    sys.exit(ended.exit_code)
"""
COMMAND = ("reproduce", "--quick", "--only", "figure-objective", "--quiet")
MOST_SECONDS = 400
FATES = {0: "equal", 8: "clean", 130: "clean"}  # a kill leaves no word


def reproduce(rng, folder, tally, n_runs=4):
    """Kill runs, damage what they left, and end them: the same tables."""
    expected = {}
    for number in range(n_runs):
        by_command = number == n_runs - 1  # which takes longer
        end = ended_by_command if by_command else ended
        if by_command not in expected:
            tally.begin("an undisturbed run")
            expected[by_command] = end(folder / f"whole-{by_command}")
        place = folder / f"killed-{number}"
        disturbed(rng, place, tally, by_command)
        files = sorted(path for path in place.rglob("*") if path.is_file())
        hurt = rng.sample(files, min(len(files), rng.choice([0, 1, 1, 3])))
        told = f"resumed, {', '.join(damage(rng, path) for path in hurt) or 'nothing damaged'}"
        tally.attempt(told, partial(end, place), expected[by_command])
        shutil.rmtree(place, ignore_errors=True)


def disturbed(rng, place, tally, by_command):
    """Start a run and end it before its time, by one of several ways."""
    n_jobs, way = rng.choice([1, 2]), rng.choice(["killed", "tree", "interrupted", "worker"])
    wanted, delay = rng.randrange(1, 18 if by_command else 25), rng.random() / 20
    told = f"a run with {n_jobs} jobs{' by the command' if by_command else ''}, {way}"
    tally.begin(told)
    command = [sys.executable, "-W", "ignore"]
    if by_command:
        command += ["-m", "secateurs", *COMMAND, "-o", str(place), "-j", str(n_jobs)]
    else:
        command += ["-c", CHILD, str(place), str(n_jobs)]
    said = place.with_suffix(".txt")
    with said.open("w") as log:  # not a pipe, which orphans would keep open
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    end = time.monotonic() + MOST_SECONDS
    while process.poll() is None and n_lines(place) < wanted and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(delay)
    if process.poll() is None:
        _strike(process, way)
    try:
        code = process.wait(MOST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        tally.add("hung", fault=f"{told}: goes on for {MOST_SECONDS} s")
        return
    last = said.read_text(errors="replace")[-300:]
    if code in FATES and "Traceback" not in last:
        tally.add(FATES[code])
    elif code != -signal.SIGKILL:
        tally.add("wrong", fault=f"{told}: ends with {code}: {last}")


def _strike(process, way):
    children = psutil.Process(process.pid).children(recursive=True)
    workers = [child for child in children if "popen_loky" in " ".join(child.cmdline())]
    if way == "interrupted":
        process.send_signal(signal.SIGINT)
    elif way == "worker" and workers:
        workers[0].kill()
    else:
        process.kill()
        for child in children if way == "tree" else ():
            child.kill()


def ended(place):
    """End a run, and return its tables."""
    run([PLAN], place)
    write_outputs(place, make_contents([PLAN], load_results(place)))
    return {path.name: path.read_bytes() for path in (place / "tables").iterdir()}


def ended_by_command(place):
    """End a run of the command, and return what it writes, but for pictures."""
    words = [sys.executable, "-W", "ignore", "-m", "secateurs", *COMMAND, "-o", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    if done.returncode in (3, 8):
        raise InputError(done.stderr.strip())
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}"
    files = [*(place / "figures").glob("*.csv"), place / "claims.json"]
    return {path.name: path.read_bytes() for path in files}


def n_lines(place):
    """Count the rows that are written."""
    return sum(path.read_bytes().count(b"\n") for path in place.glob(f"{RESULTS}/*.jsonl"))


os.environ.pop("SECATEURS_DATA", None)
