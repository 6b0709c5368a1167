"""Both fuzzers, with seeds that nobody has tried."""

import paths  # noqa: F401
from fuzz_models import run as open_files

from differential import run as compare


def differential(rng, folder, tally, n_cases=60):
    """Random votes through every method in every way."""
    first = rng.randrange(10**6, 10**9)
    for seed in range(first, first + n_cases):
        tally.begin(f"differential.py 1 {seed}")
        faults = compare([seed])
        tally.add("wrong", fault=faults[0]) if faults else tally.add("equal")


def model_files(rng, folder, tally, n_files=150):
    """Model files with one thing changed."""
    first = rng.randrange(10**6, 10**9)
    tally.begin(f"fuzz_models.py {n_files} {first}")
    fates, wrong = open_files(range(first, first + n_files), folder / "files")
    tally.add("equal", fates["worked"])
    tally.add("clean", fates["refused"])
    for name, way, _, fate in wrong:
        hung = dict.fromkeys(["died of -14", "died of -27"], "hung")  # by their alarms
        kinds = {**hung, "died": "crashed", "took": "leaked"}
        kind = kinds.get(fate, kinds.get(fate.split()[0], "wrong"))
        tally.add(kind, fault=f"fuzz_models.py 1 {name.split('.')[0]}, by {way}: {fate}")
