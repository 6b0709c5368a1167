"""Stores of votes and checkpoints of runs, damaged: the same answer, or one line."""

import os
import shutil
from contextlib import suppress

import paths  # noqa: F401
from executors import Enough, Told, processes
from fits import draw, quick_limits

from secateurs import VoteStore


def stores(rng, folder, tally, n_damages=25):
    """Damage a file of a store, or of a run that was stopped; then fit."""
    quick_limits()
    with processes() as pool:
        for number in range(n_damages):
            place = folder / str(number)
            place.mkdir()
            rng.choice([store_damaged, run_damaged, run_damaged])(rng, place, tally, pool)
            shutil.rmtree(place)


def damage(rng, path):
    """Change a file in some way; return a word for it."""
    content = bytearray(path.read_bytes())
    ways = ["deleted", "emptied", "cut", "replaced", "swapped"]
    way = rng.choice(ways + ["turned"] * 5 if content else ways)
    if way == "deleted":
        path.unlink()
    elif way == "emptied":
        path.write_bytes(b"")
    elif way == "cut":
        os.truncate(path, rng.randrange(len(content) + 1))
    elif way == "turned":
        for _ in range(rng.choice([1, 1, 3, 30])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    elif way == "replaced":
        path.write_bytes(rng.randbytes(len(content)))
    else:
        others = sorted(other for other in path.parent.iterdir() if other.is_file())
        path.write_bytes(rng.choice(others).read_bytes())
    return f"{path.name} {way}"


def store_damaged(rng, place, tally, pool):
    """A file of the store itself."""
    fit = draw(rng, place, stored=True)
    files = sorted(path for path in fit.store.path.rglob("*") if path.is_file())
    expected, where = fit.expected, fit.store.path
    done = damage(rng, rng.choice(files))
    options = {"executor": pool} if rng.random() < 0.5 else {}

    def run():
        fit.store = VoteStore.open(where)
        return fit.run(**options)

    tally.attempt(f"{done}: {fit}", run, expected)


def run_damaged(rng, place, tally, pool):
    """What a stopped run left behind."""
    fit = draw(rng, place, stored=True)
    told = f"what a run left: {fit}"
    tally.begin(told)
    with suppress(Enough):
        fit.run(executor=pool, callback=Told(rng.randrange(1, 5)))
    files = sorted(path for path in (fit.store.path / "runs").rglob("*") if path.is_file())
    hurt = rng.sample(files, min(len(files), rng.choice([1, 2])))
    told = f"{', '.join(damage(rng, path) for path in hurt) or 'nothing'} of {told}"
    tally.attempt(told, lambda: fit.run(executor=pool), fit.expected)
