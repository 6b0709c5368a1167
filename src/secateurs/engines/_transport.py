"""How votes reach those who work on them: as they are, through a memory map, or sent."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.engines._engines import Engine
from secateurs.engines._flags import joblib_is_local
from secateurs.engines._limits import limits
from secateurs.exceptions import InputError
from secateurs.outputs._store import VoteStore
from secateurs.outputs._votes import Votes

Members = NDArray[np.intp]


class Part(NamedTuple):
    """Some members' votes: themselves, or where to find them."""

    source: Votes | VoteStore
    members: Members | None = None

    def votes(self) -> Votes:
        """Give them."""
        if self.members is None:
            assert isinstance(self.source, Votes)
            return self.source
        return self.source.take(self.members)


class Parts(NamedTuple):
    """Votes, and whether a part is cut out before it is sent."""

    source: Votes | VoteStore
    is_sent: bool

    def part(self, members: Members) -> Part:
        """Describe the votes of some members for a worker."""
        if self.is_sent:
            return Part(self.source.take(members))
        return Part(self.source, members)


@contextmanager
def parts_for(votes: Votes | VoteStore, engine: Engine | None) -> Iterator[Parts]:
    """Make votes reachable for an engine; without one, for joblib's backend of the moment."""
    shared = joblib_is_local() if engine is None else engine.shares_memory
    if isinstance(votes, VoteStore) or shared:
        yield Parts(votes, is_sent=False)
    elif engine is not None and engine.is_local:
        with tempfile.TemporaryDirectory(prefix="secateurs-") as folder:
            yield Parts(VoteStore.scratch(Path(folder) / "votes", votes), is_sent=False)
    else:
        refuse_large(votes)
        yield Parts(votes, is_sent=True)


def refuse_large(votes: Votes) -> None:
    """Refuse to send more than a network likes."""
    if votes.nbytes > limits.sent_bytes:
        raise InputError(
            f"These votes take {votes.nbytes / 1e6:,.1f} MB; to workers elsewhere at most "
            f"{limits.sent_bytes / 1e6:g} MB are sent (secateurs.distributed.limits.sent_bytes). "
            "Write them to storage that all workers share (VoteStore.from_votes) and fit on that."
        )
