"""Model files with one thing changed: whatever opens them refuses, or works, and never crashes.

``python tests/persistence/fuzz_models.py 10000 [first seed]`` tries many more than the test does.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from model_files import MODELS, X, Y, _fitted, edit_array, mutate, unpack, zipped

from processes import with_path
from secateurs import save

HERE = Path(__file__).parent
MOST_SECONDS, MOST_BYTES = 20, 2 << 30
COMMANDS = ("inspect", "convert", "prune", "compare", "export")

# Runs in a process of its own, so that a crash is seen; prints a line for each file.
CHILD = """
import resource, signal, sys, warnings
from pathlib import Path
import numpy as np
from command_line import type_in
from secateurs import prune
from secateurs.exceptions import SecateursError
from secateurs.persistence import load

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
folder = Path(sys.argv[1])
X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
ARGUMENTS = {
    "inspect": [],
    "convert": ["copy.skops", "--force"],
    "prune": ["val.csv", "--target", "y", "--keep", "2", "--method", "re", "--dry-run"],
    "compare": ["val.csv", "--target", "y", "--method", "re", "--keep", "2", "--quiet"],
    "export": ["-o", "copy.onnx", "--check", "val.csv", "--target", "y", "--force"],
}


def by_python(path):
    try:
        model = load(path)
    except SecateursError as error:
        assert len(str(error).splitlines()) == 1, str(error)
        return "refused"
    try:
        small = prune(model, X, y, "re", keep=2).estimator
        for name in ("predict", "predict_proba"):
            if hasattr(small, name):
                getattr(small, name)(X)
        if hasattr(model, "predict"):
            model.predict(X)
    except (ValueError, TypeError):  # of ours, or of scikit-learn
        return "refused"
    return "worked"


def by_command(path, command):
    code, out, err = type_in(command, path, *ARGUMENTS[command])
    assert code in (0, 3, 4, 6), f"exit code {code}: {err[-300:]}"
    assert "Traceback" not in err and "internal" not in err, err[-300:]
    return "worked" if code == 0 else "refused"


for line in (folder / "todo.txt").read_text().splitlines():
    name, command = line.split("\\t")
    print(line, end="\\t", flush=True)
    signal.alarm(int(sys.argv[2]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        path = folder / name
        fate = by_python(path) if command == "python" else by_command(path, command)
    except Exception as error:
        fate = f"raised {type(error).__name__}: {error}".replace("\\n", " ")[:300]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if most - before * 1024 > int(sys.argv[3]):
        fate = f"took {most >> 20} MB"
    signal.alarm(0)
    print(fate, flush=True)
"""


def spoil(seed):
    """Return a file of a model with one array, one number or one node changed, by its seed."""
    rng = random.Random(seed)
    name = rng.choice([name for name in MODELS if name != "gradient boosted"])
    entries = _entries(name)
    if rng.random() < 0.3:
        return mutate(entries, rng)
    array = rng.choice([entry for entry in entries if entry.endswith(".npy")])
    return zipped(entries | {array: edit_array(entries[array], rng)}, compresslevel=1)


_known = {}


def _entries(name):
    if name not in _known:
        with tempfile.TemporaryDirectory() as folder:
            _known[name] = unpack(save(_fitted(name), Path(folder) / "model.skops"))
    return _known[name]


def run(seeds, folder):
    """Try files of these seeds; return how many ended how, and what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", Y)
    rows = [",".join([*(f"{value:.6f}" for value in row), label]) for row, label in zip(X, Y)]
    (folder / "val.csv").write_text("\n".join([",".join([*"abcdefgh", "y"]), *rows]))
    todo = []
    for seed in seeds:
        (folder / f"{seed}.skops").write_bytes(spoil(seed))
        by_command = random.Random(f"way {seed}").random() < 0.25
        todo.append((f"{seed}.skops", COMMANDS[seed % len(COMMANDS)] if by_command else "python"))
    fates, wrong = Counter(), []
    while todo:
        (folder / "todo.txt").write_text("\n".join("\t".join(one) for one in todo))
        command = [sys.executable, "-c", CHILD, folder, MOST_SECONDS, MOST_BYTES]
        path = with_path(HERE, HERE.parent, HERE.parent / "commands")
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            check=False,
            env=path,
            cwd=folder,
        )
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        for line in lines:
            fate = line[2] if len(line) == 3 and line[2] else f"died of {done.returncode}"
            fates[fate.split()[0]] += 1
            if fate not in ("worked", "refused"):
                wrong.append((*line[:2], fate))
        if done.returncode == 0 and len(lines) == len(todo):
            break
        if not lines:
            raise RuntimeError(done.stderr[-2000:])
        todo = todo[len(lines) :]
    return fates, wrong


if __name__ == "__main__":
    n_files, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as place:
        for start in range(first, first + n_files, 500):
            seeds = range(start, min(first + n_files, start + 500))
            fates, wrong = run(seeds, Path(place) / str(start))
            print(start, dict(fates), *wrong, sep="\n  ", flush=True)
