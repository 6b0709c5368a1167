"""Pruners that tell when they run and wait to be let go on; workers import this file too."""

import os
import time
from pathlib import Path

from secateurs import BestMembersPruner, search

PATIENCE = 300  # seconds after which a test has surely failed


def wait_for(sign, what, patience=PATIENCE):
    """Wait until there is something to see, and give it."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        seen = sign()
        if seen:
            return seen
        time.sleep(0.01)
    raise AssertionError(f"waited {patience} s for {what}")


class GatedPruner(BestMembersPruner):
    """Keeps the best members; leaves signs in a folder, and may wait there.

    A file tells which process runs it. In groups of the size that is gated (of any, if that is
    "all") it waits for a file named "go", asking all the time whether it is still wanted.
    """

    def __init__(self, keep=0.1, folder=None, gated="all"):
        self.keep = keep
        self.folder = folder
        self.gated = gated

    def _select(self, votes, n_keep, rng):
        if self.folder is not None:
            self._pass_the_gate(Path(self.folder), self.gated in ("all", votes.n_members))
        return super()._select(votes, n_keep, rng)

    def _pass_the_gate(self, folder, is_shut):
        sign = f"{os.getpid()}-{os.urandom(4).hex()}"
        if is_shut:
            (folder / f"running-{sign}").touch()
            try:
                wait_for(
                    lambda: search.raise_if_stopped() or (folder / "go").exists(),
                    "the gate to open",
                )
            except search.Stopped:
                (folder / f"running-{sign}").rename(folder / f"stopped-{sign}")
                raise
            (folder / f"running-{sign}").unlink()
        (folder / f"finished-{sign}").touch()


def signs(folder, kind):
    """The processes that have left a sign: running (at a gate), stopped there, or finished."""
    return [int(path.name.split("-")[1]) for path in Path(folder).glob(f"{kind}-*")]
