"""Many fits in a loop: what a process holds stays the same."""

import gc
import os

import paths  # noqa: F401
import psutil
from fits import draw, quick_limits

WARM_UP, MOST_GROWTH = 200, 0.05


def memory(rng, folder, tally, n_fits=500):
    """Fit again and again, and look at the memory of the process after a warm-up."""
    quick_limits()
    fits = [draw(rng, folder, stored=number % 5 == 0) for number in range(50)]
    expected = [fit.expected for fit in fits]
    before = None
    for number in range(WARM_UP + n_fits):
        place = number % len(fits)
        found = fits[place].run()
        if found != expected[place]:
            tally.add("wrong", fault=f"fit {number}: {fits[place]}")
        if number == WARM_UP:
            before = _held()
    tally.begin(f"{n_fits} fits in a loop")
    tally.add("equal", n_fits - tally.wrong)
    growth = _held() / before - 1
    print(f"{before >> 20} MB, growth {growth:+.1%}")
    if growth > MOST_GROWTH:
        fault = f"{n_fits} fits in a loop took {growth:.1%} more memory than {before >> 20} MB"
        tally.add("leaked", fault=fault)


def _held():
    gc.collect()
    return psutil.Process(os.getpid()).memory_info().rss
