"""Stores that do not fit into memory, and too little memory: the same members, or one line."""

import multiprocessing

import paths  # noqa: F401
from executors import found
from fits import quick_limits
from sklearn.base import clone

from cases import plain
from secateurs import COMEP, JointErrorPruner, VoteStore
from secateurs.distributed import limits
from secateurs.exceptions import SecateursError

MOST_SECONDS = 200


def memory_limits(rng, folder, tally, n_runs=6):
    """Fit on stores in processes that may use little memory."""
    quick_limits()
    context = multiprocessing.get_context("spawn")
    for number in range(n_runs):
        n_members, n_samples = rng.randrange(20, 200), rng.choice([500, 5_000, 200_000])
        case = plain(n_members, n_samples, rng.choice([2, 3, 9]), rng.getrandbits(30))
        pruner = rng.choice([COMEP(5), COMEP(5, shard="members"), JointErrorPruner(5)])
        tile = rng.randrange(1, 20)
        path = folder / f"store-{number}"
        VoteStore.from_table(path, *case, tile_members=tile)
        expected = found(clone(pruner).fit(*case))
        megabytes, held = rng.choice([1, 4, 16, 64, 512]), rng.choice([1, 10_000, 10**9])
        told = f"{megabytes} MB for {n_samples}×{n_members}, {held} bytes held, {pruner}"
        here, there = context.Pipe()
        process = context.Process(target=_fit, args=(path, pruner, megabytes, held, there))

        def run():
            process.start()  # noqa: B023
            there.close()  # noqa: B023
            if not here.poll(MOST_SECONDS):  # noqa: B023
                process.kill()  # noqa: B023
                return "no answer in time"
            is_error, answer = here.recv()  # noqa: B023
            process.join(MOST_SECONDS)  # noqa: B023
            if is_error:
                raise SecateursError(answer)
            return answer

        tally.attempt(told, run, expected)


def _fit(path, pruner, megabytes, held, there):
    import resource
    from pathlib import Path

    small = plain(12, 200, 3, 0)
    clone(pruner).fit(*small)  # loads kernels and libraries
    limits.held_bytes = held
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        answer = False, found(clone(pruner).fit(VoteStore.open(path)))
    except (SecateursError, MemoryError) as error:
        answer = True, " ".join(str(error).split()) or "not enough memory"
    there.send(answer)
