"""Model files with one thing changed: whatever opens them refuses, or works, and never crashes.

``python tests/persistence/fuzz_models.py 10000 [first seed]`` tries many more than the test does.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "commands")]

import pandas as pd  # noqa: E402
from fuzz import spoil_bytes, spoil_json  # noqa: E402
from model_files import (  # noqa: E402
    MIXED,
    MIXED_ROWS,
    MODELS,
    REGRESSORS,
    TRUE_NUMBERS,
    X,
    Y,
    _fitted,
    edit_array,
    mutate,
    unpack,
    zipped,
)
from open_files import COMMANDS, SUFFIXES  # noqa: E402

from processes import with_path  # noqa: E402
from secateurs import compare, save  # noqa: E402
from secateurs.report import report_data, write_run  # noqa: E402

MOST_SECONDS, MOST_BYTES = 20, 2 << 30


def spoil(seed):
    """Return a file with one thing changed, by its seed, who opens it, and what its model predicts.

    Mostly it is an array of a model. What `report` opens is no model, but what `compare` found.
    """
    rng = random.Random(seed)
    way = rng.choice(["python"] * len(COMMANDS) + list(COMMANDS))
    if way == "report":
        return rng.choice([spoil_json, spoil_json, spoil_bytes])(rng, _run()), way, "labels"
    model = rng.choice([*MODELS, *MIXED, *MIXED])
    kind = "mixed" if model in MIXED else "numbers" if model in REGRESSORS else "labels"
    entries = _entries(model)
    if rng.random() < 0.25:
        return mutate(entries, rng), way, kind
    array = rng.choice([entry for entry in entries if entry.endswith(".npy")])
    others = [entry for entry in entries if entry.endswith(".npy") and entry != array]
    if others and rng.random() < 0.1:  # exchanged with another
        changed = {array: entries[(other := rng.choice(others))], other: entries[array]}
    else:
        changed = {array: edit_array(entries[array], rng)}
    return zipped(entries | changed, compresslevel=1), way, kind


@cache
def _entries(name):
    with tempfile.TemporaryDirectory() as folder:
        return unpack(save(_fitted(name), Path(folder) / "model.skops"))


@cache
def _run():
    with tempfile.TemporaryDirectory() as folder:
        found = compare(_fitted("forest"), X[::-1] + 0.1, Y[::-1], ["re", "oo"], keep=[2, 4])
        return write_run(report_data(found), Path(folder) / "run.json").read_bytes()


def prepare(seeds, folder):
    """Write the files of these seeds and what they are opened with; return what is to be done."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = pd.DataFrame(X.round(6), columns=list("abcdefgh"))
    rows.assign(y=Y).to_csv(folder / "labels.csv", index=False)
    rows.assign(y=TRUE_NUMBERS).to_csv(folder / "numbers.csv", index=False)
    MIXED_ROWS.assign(y=Y).to_csv(folder / "mixed.csv", index=False)
    (folder / "whole-labels.skops").write_bytes(zipped(_entries("forest")))
    (folder / "whole-numbers.skops").write_bytes(zipped(_entries("regression forest")))
    (folder / "whole-mixed.skops").write_bytes(zipped(_entries("mixed pipeline")))
    (folder / "whole-labels.json").write_bytes(_run())
    todo = []
    for seed in seeds:
        content, way, kind = spoil(seed)
        name = f"{seed}.{SUFFIXES.get(way, 'skops')}"
        (folder / name).write_bytes(content)
        todo.append((name, way, kind))
    return todo


def run(seeds, folder):
    """Try files of these seeds; return how many ended how, and what is wrong."""
    todo = prepare(seeds, folder)
    fates, wrong = Counter(), []
    command = [sys.executable, HERE / "open_files.py", folder, MOST_SECONDS, MOST_BYTES]
    while todo:
        (folder / "todo.txt").write_text("\n".join("\t".join(one) for one in todo))
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            check=False,
            env=with_path(HERE.parent / "commands"),
            cwd=folder,
            timeout=600,
        )
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        for line in lines:
            fate = line[3] if len(line) == 4 and line[3] else f"died of {done.returncode}"
            fates[fate.split()[0]] += 1
            if fate not in ("worked", "refused"):
                wrong.append((*line[:3], fate))
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
