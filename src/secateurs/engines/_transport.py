"""How votes reach workers: in shared memory, through a memory map, or sent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.engines._executors import Engine
from secateurs.engines._failures import joblib_is_local
from secateurs.engines._limits import limits
from secateurs.exceptions import InputError
from secateurs.outputs._store import VoteStore
from secateurs.outputs._votes import Votes

Indices = NDArray[np.intp]


class VoteSlice(NamedTuple):
    """The votes of some members: the votes themselves, or where to find them."""

    votes: Votes | VoteStore
    members: Indices | None = None

    def load(self) -> Votes:
        """Return the votes."""
        if self.members is None:
            assert isinstance(self.votes, Votes)
            return self.votes
        return self.votes.take(self.members)


class VoteSource(NamedTuple):
    """Votes, and whether a slice is cut out before it is sent."""

    votes: Votes | VoteStore
    is_sent: bool

    def slice(self, members: Indices) -> VoteSlice:
        """Return the votes of some members as a worker gets them."""
        if self.is_sent:
            return VoteSlice(self.votes.take(members))
        return VoteSlice(self.votes, members)


@contextmanager
def vote_source(votes: Votes | VoteStore, engine: Engine | None) -> Iterator[VoteSource]:
    """Make votes reachable for an engine; without one, for joblib's active backend."""
    shared = joblib_is_local() if engine is None else engine.shares_memory
    if isinstance(votes, VoteStore) or shared:
        yield VoteSource(votes, is_sent=False)
    elif engine is not None and engine.is_local:
        # Windows deletes no file that a worker still maps.
        on_windows = os.name == "nt"
        with TemporaryDirectory(prefix="secateurs-", ignore_cleanup_errors=on_windows) as folder:
            yield VoteSource(VoteStore.scratch(Path(folder) / "votes", votes), is_sent=False)
    else:
        if votes.nbytes > limits.sent_bytes:
            raise InputError(
                f"These votes take {votes.nbytes / 1e6:,.1f} MB; at most "
                f"{limits.sent_bytes / 1e6:g} MB are sent to workers elsewhere "
                "(secateurs.distributed.limits.sent_bytes). Write them to storage that all workers "
                "share (VoteStore.from_votes) and fit on that."
            )
        yield VoteSource(votes, is_sent=True)
