"""Soak test: inject faults of all kinds, for as long as the time allows.

``make soak`` runs it for ten minutes, ``make soak SOAK_MINUTES=60`` for an hour. It ends with 1 if
an answer was wrong, or something hung, crashed or leaked; ``--repeat KIND SEED`` tries that again.
"""

import argparse
import os
import random
import sys
import time
from collections import defaultdict
from pathlib import Path

import paths  # noqa: F401
from supervise import KINDS, run_batch, supervise
from tally import Tally, table

import secateurs


def parse(words):
    """Read the command line."""
    parser = argparse.ArgumentParser("python tests/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parser.add_argument("--only", action="append", choices=KINDS, metavar="KIND")
    parser.add_argument(
        "--repeat", nargs=2, metavar=("KIND", "SEED"), help="one batch, by its seed"
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the table here as well"
    )
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)  # of a process of our own
    return parser.parse_args(words)


def soak(minutes, seed, kinds, say=print):
    """Divide the time between kinds, each tried at least once; return counts and seconds."""
    seeds = random.Random(seed)
    tallies, seconds = defaultdict(Tally), dict.fromkeys(kinds, 0.0)
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end or len(tallies) < len(kinds):
        kind = min(kinds, key=lambda name: seconds[name] / KINDS[name][1])
        start, batch = time.monotonic(), seeds.getrandbits(32)
        found = supervise(kind, batch)
        seconds[kind] += time.monotonic() - start
        tallies[kind].merge(found)
        state = "ok" if found.is_good else "WRONG"
        say(f"{kind} {batch}: {found.tried} tried, {seconds[kind]:.0f} s in all, {state}")
        for fault in found.faults:
            say(f"    {fault}\n    again: python tests/soak --repeat '{kind}' {batch}")
    return {kind: tallies[kind] for kind in kinds}, seconds


def main(words):
    """Soak, and print the table."""
    given = parse(words)
    if given.batch:
        run_batch(given.batch[0], given.batch[1], Path(given.batch[2]))
        return 0
    if given.repeat:
        found = supervise(*given.repeat)
        print(table({given.repeat[0]: found}, {given.repeat[0]: 0.0}), *found.faults, sep="\n")
        return not found.is_good
    seed = random.SystemRandom().getrandbits(32) if given.seed is None else given.seed
    kinds = given.only or list(KINDS)
    tallies, seconds = soak(given.minutes, seed, kinds, lambda text: print(text, flush=True))
    title = (
        f"secateurs {secateurs.__version__}, seed {seed}, {os.cpu_count()} cores, "
        f"{sum(seconds.values()) / 60:.0f} minutes, {time.strftime('%Y-%m-%d')}"
    )
    print(f"\n{title}\n\n{table(tallies, seconds)}")
    if given.markdown:
        given.markdown.write_text(f"{title}\n\n{table(tallies, seconds, markdown=True)}\n")
    return not all(tally.is_good for tally in tallies.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
