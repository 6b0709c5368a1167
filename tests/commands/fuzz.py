"""Commands and files spoilt at random: no traceback, no half-written file, only codes of the table.

Many more than the test has: ``python tests/commands/fuzz.py 20000 [first seed]``.
"""

import contextlib
import datetime
import decimal
import io
import json
import random
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from command_line import TARGET, make_files, tree_of, type_in

from secateurs import load

CODES = {0, 2, 3, 4, 5, 6, 7, 8}
ROWS = ("forest.skops", "val.csv", "--target", TARGET)
VOTES = ("--predictions", "val-votes.csv", "--target", "truth")
SHARES = ("--predictions", "val-shares.npz")
COMMANDS = (
    ("prune", *ROWS, "--keep", "3", "--dry-run"),
    ("prune", *ROWS, "--tolerance", "0.01", "--test", "test.csv", "--dry-run", "--json"),
    ("prune", *ROWS, "--keep", "3", "-o", "small.skops", "--test", "test.parquet"),
    ("prune", *VOTES, "--keep", "3", "--pruner", "re"),
    ("prune", *VOTES, "--keep", "0.2", "--n-groups", "2", "--json", "-o", "kept.json"),
    ("prune", *VOTES, "--tolerance", "0.05", "--test", "test-votes.csv"),
    ("prune", "--predictions", "val-votes.parquet", "--target", "truth", "--keep", "3", "-p", "oo"),
    ("prune", *SHARES, "--keep", "25%", "--diversity-weight", "0.3", "--random-state", "4", "-q"),
    ("prune", *SHARES, "--keep", "3", "--test", "test-shares.npz", "--pruner", "auto"),
    ("prune", "--predictions", "val-votes.npz", "--keep", "4", "--pruner", "kp", "-j", "2"),
    ("compare", *VOTES, "--pruner", "comep", "--pruner", "oo", "--keep", "2", "--keep", "4"),
    ("compare", *VOTES, "-p", "re", "-k", "3", "-o", "board.csv", "--tolerance", "0.5"),
    ("inspect", "forest.skops"),
    ("inspect", "forest.joblib", "--json"),
    ("convert", "forest.skops", "copy.skops"),
    ("convert", "forest.joblib", "copy.skops"),
    ("export", "forest.skops", "-o", "forest.treelite", "--check", "val.csv", "-t", TARGET),
    ("methods", "comep"),
    ("cite", "kp", "--json"),
    ("data", "list", "--data", "."),
    ("data", "verify", "--data", "."),
    ("report", "run.json", "-o", "page.html"),
    ("--version",),
)
WORDS = (
    *(
        "",
        "-",
        "--",
        "-k",
        "--keep",
        "0",
        "-1",
        "1e9",
        "nan",
        "٣",
        "0.5",
        "1/2",
        "99999999999999999999",
    ),
    *("--json", "--force", "--oob", "--debug", "-q", "auto", "comep", "prune", "data", "list"),
    *("val.csv", "test.csv", "val.parquet", "val-votes.npz", "forest.skops", "forest.joblib"),
    *("nowhere/x.skops", ".", "..", "/", "a\nb", "\x1b[2J", "%s", "{}", "💥", "x" * 300, "\udcff"),
    *(
        "--target",
        "age",
        "truth",
        "--pruner",
        "pep",
        "--diversity-weight",
        "--n-groups",
        "--max-bytes",
        "1B",
        "5MB",
    ),
    *(
        "--max-latency",
        "1ms",
        "--cost",
        "--max-cost",
        "3",
        "--report",
        "page.html",
        "--run",
        "run.json",
        "--ignore",
        "--labels",
    ),
    *("--sha256", "0" * 64, "--max-unpacked", "--trust-type", "numpy.ndarray", "--help", "-o"),
)
CELLS = (
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "left",
    "0x1F",
    "1_000",
    "1,5",
    "'",
    '"',
    "\t",
    "💥",
)
NUMBERS = (-1, 0, 1, 7, 12, 120, 10**6, 2**31, 2**63, -(2**63), 1.5, None, True, "x", [], {})


def spoil_bytes(rng, data):
    """Turn, cut, double or insert some bytes."""
    spoilt = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 40])):
        place = rng.randrange(len(spoilt) + 1)
        action = rng.randrange(5)
        if action == 0 and place < len(spoilt):
            spoilt[place] ^= 1 << rng.randrange(8)
        elif action == 1 and place < len(spoilt):
            spoilt[place] = rng.randrange(256)
        elif action == 2:
            del spoilt[place : place + rng.choice([1, 4, 64, 10**6])]
        elif action == 3:
            spoilt[place:place] = rng.randbytes(rng.choice([1, 4, 64]))
        else:
            spoilt[place:place] = spoilt[max(0, place - rng.choice([8, 200])) : place]
    return bytes(spoilt)


def spoil_text(rng, data):
    """Change cells, lines, columns and separators of a CSV file."""
    lines = [line.split(",") for line in data.decode().splitlines()]
    for _ in range(rng.choice([1, 1, 3])):
        row = rng.randrange(len(lines))
        action = rng.randrange(8)
        if action <= 2 and lines[row]:
            lines[row][rng.randrange(len(lines[row]))] = rng.choice(CELLS)
        elif action == 3:
            lines[row] = lines[row] + [rng.choice(CELLS)]
        elif action == 4:
            lines = lines[: max(1, row)]
        elif action == 5:
            column = rng.randrange(len(lines[0]) or 1)
            lines = [line[:column] + line[column + 1 :] for line in lines]
        elif action == 6:
            lines = [line + line[-1:] for line in lines]
        else:
            lines[0] = [rng.choice([name, *CELLS]) for name in lines[0]]
    separator = rng.choice([",", ",", ",", ",", ";", "\t", ", "])
    ending = rng.choice(["\n", "\n", "\r\n", "\r"])
    text = ending.join(separator.join(line) for line in lines)
    return text.encode(rng.choice(["utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig"]))


def spoil_arrays(rng, data):
    """Give the arrays of an .npz file other shapes and types."""
    arrays = dict(np.load(io.BytesIO(data), allow_pickle=True))
    arrays = {name: np.array(array.tolist()) for name, array in arrays.items()}
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    changes = (
        lambda: array.T,
        lambda: array[: rng.randrange(len(array) + 1)],
        lambda: array[..., None],
        array.ravel,
        lambda: array.reshape(-1)[0],
        lambda: np.where(
            np.indices(array.shape).sum(axis=0) == 3, np.array(rng.choice(CELLS)), array
        ),
        lambda: np.full(array.shape, rng.choice([0.5, np.nan, np.inf, -1, 1j, True, "x", b"\xff"])),
        lambda: np.zeros(
            array.shape, rng.choice(["M8[s]", "m8[s]", "V3", "S4", "U1", "f2", "u8", "c8"])
        ),
        lambda: np.zeros(array.shape, [("a", "f4"), ("b", "i2")]),
        lambda: np.arange(array.size).reshape(array.shape),
    )
    if rng.random() < 0.2:
        del arrays[name]
    else:
        arrays[name] = rng.choice(changes)()
    if rng.random() < 0.2:
        arrays[rng.choice(["names", "classes", "y", "votes", "x"])] = np.arange(
            rng.choice([0, 1, 3, 12])
        )
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def spoil_frame(rng, data):
    """Give columns of a Parquet file other types and names."""
    frame = pd.read_parquet(io.BytesIO(data))
    name = rng.choice(list(frame.columns))
    n_rows = len(frame)
    values = (
        lambda: [datetime.datetime(2020, 1, 1)] * n_rows,
        lambda: [decimal.Decimal("1.5")] * n_rows,
        lambda: [[1, 2]] * n_rows,
        lambda: [{"a": 1}] * n_rows,
        lambda: [b"\xff"] * n_rows,
        lambda: [None] * n_rows,
        lambda: pd.Categorical(["left"] * n_rows),
        lambda: pd.array([1, None] * (n_rows // 2), dtype="Int64"),
        lambda: [rng.choice([0.0, np.inf, np.nan, 1e300, -1.0]) for _ in range(n_rows)],
        lambda: [2**64 - 1] * n_rows,
        lambda: [True] * n_rows,
        lambda: [pd.Timedelta(1)] * n_rows,
    )
    if rng.random() < 0.7:
        frame[name] = rng.choice(values)()
    else:
        frame = frame.rename(columns={name: rng.choice(["", " ", "churn ", "Age", "💥", "a,b"])})
    out = io.BytesIO()
    frame[: rng.choice([n_rows, n_rows, 0, 1])].to_parquet(out)
    return out.getvalue()


def spoil_skops(rng, data):
    """Change the description of the objects in a skops file, or an array in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        victim = rng.choice(old.namelist()) if rng.random() < 0.4 else "schema.json"
        for name in old.namelist():
            content = old.read(name)
            if name == victim:
                whole = name == "schema.json" and rng.random() < 0.9
                content = spoil_json(rng, content) if whole else spoil_bytes(rng, content)
            if name != victim or rng.random() < 0.9:
                new.writestr(name, content)
    return out.getvalue()


def spoil_json(rng, content):
    """Change a value somewhere in a JSON file."""
    document = json.loads(content)
    parts, stack = [], [document]
    while stack:
        part = stack.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        parts += [(part, key) for key in keys]
        stack += [part[key] for key in keys if isinstance(part[key], (dict, list)) and part[key]]
    for part, key in rng.sample(parts, min(len(parts), rng.choice([1, 1, 3]))):
        other, place = rng.choice(parts)
        part[key] = rng.choice([rng.choice(NUMBERS), other[place]])
    try:
        return json.dumps(document).encode()
    except (ValueError, RecursionError):  # it holds itself now
        return content


SPOILERS = {
    ".csv": (spoil_text, spoil_text, spoil_bytes),
    ".npz": (spoil_arrays, spoil_arrays, spoil_bytes),
    ".parquet": (spoil_frame, spoil_frame, spoil_bytes),
    ".skops": (spoil_skops, spoil_skops, spoil_bytes),
    ".joblib": (spoil_bytes,),
    ".json": (spoil_json, spoil_bytes),
}


def spoil_words(rng, words):
    """Leave out, double, exchange or replace words of a command."""
    words = list(words)
    for _ in range(rng.choice([1, 1, 2, 3])):
        place = rng.randrange(len(words) + 1)
        action = rng.randrange(4)
        if action == 0:
            words[place : place + 1] = []
        elif action == 1:
            words.insert(place, rng.choice(WORDS))
        elif action == 2:
            words[place : place + 1] = [rng.choice(WORDS)]
        else:
            rng.shuffle(words)
    return words


def spoil(rng, folder, words):
    """Spoil the command, or a file that it is about."""
    files = [
        word for word in words if (folder / word).suffix in SPOILERS and (folder / word).is_file()
    ]
    if "val.csv" in files and rng.random() < 0.4:
        words = ["val.parquet" if word == "val.csv" else word for word in words]
        files = [word for word in words if word in (*files, "val.parquet") and word != "val.csv"]
    if not files or rng.random() < 0.35:
        return spoil_words(rng, words)
    path = folder / rng.choice(files)
    path.write_bytes(rng.choice(SPOILERS[path.suffix])(rng, path.read_bytes()))
    return list(words)


def prepare(folder):
    """Make the files that commands are about."""
    make_files(folder)
    joblib.dump(load(folder / "forest.skops"), folder / "forest.joblib")
    (folder / "iris.csv.gz").write_bytes(b"no data set")
    with contextlib.chdir(folder):
        assert type_in("prune", *VOTES, "-k", "3", "--run", "run.json").code == 0


def try_one(seed, originals, folder):
    """Spoil something and type the command; give what is wrong with how it ended, if anything."""
    rng = random.Random(seed)
    shutil.copytree(originals, folder)
    words = spoil(rng, folder, rng.choice(COMMANDS))
    before = tree_of(folder)
    try:
        with contextlib.chdir(folder):
            ended = type_in(*words)
    except AssertionError as error:
        return f"seed {seed}: a fault of ours: {error}"
    after = tree_of(folder)
    shutil.rmtree(folder)
    new = {path.name for path, content in after.items() if before.get(path) != content}
    empty = [path.name for path, content in after.items() if path.name in new and not content]
    lines = ended.err.splitlines()
    faults = {
        f"ends with {ended.code}": ended.code not in CODES,
        "shows a traceback": "Traceback" in ended.out + ended.err and "--debug" not in words,
        "says something on stdout and fails": ended.code and ended.out,
        "fails without a word": ended.code
        and not any("error" in line or "Usage:" in line for line in lines),
        f"fails and writes {sorted(new)}": ended.code and new,
        f"leaves {sorted(new)} behind": empty or any(name.startswith(".") for name in new),
        "removes files": set(before) - set(after),
    }
    found = [fault for fault, is_there in faults.items() if is_there]
    return f"seed {seed}: {words} {', '.join(found)}\n{ended.err}" if found else None


def main():
    n_cases, first = (
        int(word) for word in (*sys.argv[1:], *("1000", "1000000")[len(sys.argv) - 1 :])
    )
    with tempfile.TemporaryDirectory() as place:
        originals = Path(place) / "originals"
        originals.mkdir()
        prepare(originals)
        for seed in range(first, first + n_cases):
            fault = try_one(seed, originals, Path(place) / str(seed))
            if fault:
                print(fault, flush=True)


if __name__ == "__main__":
    main()
