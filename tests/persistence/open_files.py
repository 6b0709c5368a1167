"""Open the files of a folder's ``todo.txt``, each as it says; print a line for each.

Runs in a process of its own, so that a crash is seen:
``python open_files.py FOLDER SECONDS BYTES``, the most that a file may take.
"""

import os
import resource
import signal
import sys
import warnings
from pathlib import Path

import pandas as pd
from command_line import type_in

from secateurs import prune
from secateurs.exceptions import SecateursError
from secateurs.persistence import load

ROWS = ("DATA", "--target", "y")
PRUNERS = {"labels": "re", "numbers": "best", "mixed": "re"}
TEXT = dict.fromkeys(["zip", "city", "note"], object)
COMMANDS = {
    "inspect": (),
    "convert": ("copy.skops", "--force"),
    "prune": (*ROWS, "--keep", "2", "--pruner", "PRUNER", "--dry-run"),
    "compare": (*ROWS, "--keep", "2", "--pruner", "PRUNER", "--quiet"),
    "export": ("-o", "copy.onnx", "--check", *ROWS, "--force"),
    "report": ("-o", "page.html", "--force"),
}
SUFFIXES = {"report": "json"}  # of what is opened; the others open models


def by_python(path, kind, X, y):
    """Load a model, prune it and ask it; return how that ended."""
    try:
        model = load(path)
    except SecateursError as error:
        n_lines = len(str(error).splitlines())
        return "refused" if n_lines == 1 else f"refused in {n_lines} lines: {error}"
    try:
        small = prune(model, X, y, PRUNERS[kind], keep=2).estimator
        for name in ("predict", "predict_proba"):
            if hasattr(small, name):
                getattr(small, name)(X)
        if hasattr(model, "predict"):
            model.predict(X)
    except (ValueError, TypeError):  # of ours, or of scikit-learn
        return "refused"
    return "worked"


def by_command(path, kind, command):
    """Type a command about a file; return how that ended."""
    given = {"DATA": f"{kind}.csv", "PRUNER": PRUNERS[kind]}
    code, _, err = type_in(command, path, *(given.get(word, word) for word in COMMANDS[command]))
    assert code in (0, 3, 4, 6), f"exit code {code}: {err[-300:]}"
    assert "Traceback" not in err, err[-300:]
    assert "internal error" not in err, err[-300:]
    return "worked" if code == 0 else "refused"


def opened(path, way, kind, X, y):
    """Open a file in one of the ways; return how that ended."""
    return (
        by_python(path, kind, X[kind], y[kind]) if way == "python" else by_command(path, kind, way)
    )


def main(folder, most_seconds, most_bytes):
    """Open one file after the other; a signal ends the process with the first that takes long."""
    warnings.simplefilter("ignore")
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a model that was changed to be verbose prints too
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    X = {kind: pd.read_csv(folder / f"{kind}.csv", dtype=TEXT) for kind in PRUNERS}
    y = {kind: rows.pop("y").to_numpy() for kind, rows in X.items()}
    X |= {kind: X[kind].to_numpy() for kind in ("labels", "numbers")}
    for way in ("python", *COMMANDS):  # what is loaded only once is loaded now
        for kind in PRUNERS if way not in SUFFIXES else ["labels"]:
            whole = folder / f"whole-{kind}.{SUFFIXES.get(way, 'skops')}"
            fate = "refused" if (way, kind) == ("export", "mixed") else "worked"
            assert opened(whole, way, kind, X, y) == fate, (way, kind)  # ONNX knows no hashing
    for line in (folder / "todo.txt").read_text().splitlines():
        name, way, kind = line.split("\t")
        print(line, end="\t", file=told, flush=True)
        signal.setitimer(signal.ITIMER_PROF, most_seconds)  # of work, however busy the machine is
        signal.alarm(20 * most_seconds)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            fate = opened(folder / name, way, kind, X, y)
        except Exception as error:
            fate = f"raised {type(error).__name__}: {error}".replace("\n", " ")[:300]
        grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        if grown > most_bytes:
            fate = f"took {grown >> 20} MB"
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        print(fate, file=told, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
