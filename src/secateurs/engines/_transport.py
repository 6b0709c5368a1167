"""How votes and scores reach workers: in shared memory, through a memory map, or sent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.engines._executors import Engine
from secateurs.engines._failures import joblib_is_local
from secateurs.engines._limits import limits
from secateurs.exceptions import InputError
from secateurs.outputs._score_store import ScoreStore
from secateurs.outputs._scores import Scores
from secateurs.outputs._store import VoteStore
from secateurs.outputs._store_base import Store

Indices = NDArray[np.intp]


class VoteSlice(NamedTuple):
    """What some members predict: the votes or scores themselves, or where to find them."""

    votes: Any
    members: Indices | None = None

    def load(self) -> Any:
        """Return the votes or scores."""
        return self.votes if self.members is None else self.votes.take(self.members)


class VoteSource(NamedTuple):
    """Votes or scores, and whether a slice is cut out before it is sent."""

    votes: Any
    is_sent: bool

    def slice(self, members: Indices) -> VoteSlice:
        """Return the votes of some members as a worker gets them."""
        if self.is_sent:
            return VoteSlice(self.votes.take(members))
        return VoteSlice(self.votes, members)


@contextmanager
def vote_source(votes: Any, engine: Engine | None) -> Iterator[VoteSource]:
    """Make votes or scores reachable for an engine; without one, for joblib's active backend."""
    shared = joblib_is_local() if engine is None else engine.shares_memory
    if isinstance(votes, Store) or shared:
        yield VoteSource(votes, is_sent=False)
    elif engine is not None and engine.is_local:
        # Windows deletes no file that a worker still maps.
        on_windows = os.name == "nt"
        with TemporaryDirectory(prefix="secateurs-", ignore_cleanup_errors=on_windows) as folder:
            yield VoteSource(_scratch(Path(folder) / "votes", votes), is_sent=False)
    else:
        if votes.nbytes > limits.sent_bytes:
            kind, way = ("scores", "ScoreStore.from_scores")
            if not isinstance(votes, Scores):
                kind, way = ("votes", "VoteStore.from_votes")
            raise InputError(
                f"These {kind} take {votes.nbytes / 1e6:,.1f} MB; at most "
                f"{limits.sent_bytes / 1e6:g} MB are sent to workers elsewhere "
                "(secateurs.distributed.limits.sent_bytes). Write them to storage that all workers "
                f"share ({way}) and fit on that."
            )
        yield VoteSource(votes, is_sent=True)


def _scratch(path: Path, votes: Any) -> Store[Any]:
    """Write votes or scores for processes of this machine."""
    if isinstance(votes, Scores):
        return ScoreStore.scratch(path, votes)
    return VoteStore.scratch(path, votes)
