"""How votes reach those who work on them: as they are, through a memory map, or sent."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from secateurs.distributed._engines import Engine
from secateurs.distributed._limits import limits
from secateurs.exceptions import InputError
from secateurs.store import VoteStore
from secateurs.votes import Votes

Members = NDArray[np.intp]

_LOCAL_BACKENDS = ("LokyBackend", "MultiprocessingBackend", "ThreadingBackend", "SequentialBackend")


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
    if isinstance(votes, VoteStore):
        yield Parts(votes, is_sent=False)
    elif engine is None:
        yield Parts(votes, is_sent=_joblib_sends())
    elif engine.shares_memory:
        yield Parts(votes, is_sent=False)
    elif engine.is_local:
        with tempfile.TemporaryDirectory(prefix="secateurs-") as folder:
            yield Parts(spill(votes, Path(folder) / "votes"), is_sent=False)
    else:
        refuse_large(votes)
        yield Parts(votes, is_sent=True)


def spill(votes: Votes, folder: Path) -> VoteStore:
    """Write votes to a store that processes of this machine map."""
    return VoteStore.from_votes(folder, votes, shuffle=False).unverified()


def refuse_large(votes: Votes) -> None:
    """Refuse to send more than a network likes."""
    if votes.nbytes > limits.sent_bytes:
        raise InputError(
            f"These votes take {votes.nbytes / 1e6:,.1f} MB; to workers elsewhere at most "
            f"{limits.sent_bytes / 1e6:g} MB are sent (secateurs.distributed.limits.sent_bytes). "
            "Write them to storage that all workers share (VoteStore.from_votes) and fit on that."
        )


def _joblib_sends() -> bool:
    """Whether joblib's backend copies what a task gets; loky maps large arrays by itself."""
    return type(get_active_backend()[0]).__name__ not in _LOCAL_BACKENDS
