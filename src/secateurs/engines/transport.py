"""How votes and scores reach workers: in shared memory, through a memory map, or sent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs.engines.executors import Engine
from secateurs.engines.failures import is_joblib_local
from secateurs.engines.run_limits import limits
from secateurs.exceptions import InputError
from secateurs.outputs.prediction_store import PredictionStore
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import Store
from secateurs.outputs.vote_store import VoteStore

Indices = NDArray[np.intp]


class PredictionSlice(NamedTuple):
    """What some members predict: the votes or scores themselves, or where to find them."""

    predictions: Any
    members: Indices | None = None

    def load(self) -> Any:
        """Return the votes or scores."""
        return self.predictions if self.members is None else self.predictions.take(self.members)


class PredictionSource(NamedTuple):
    """Votes or scores, and whether a slice is cut out before it is sent."""

    predictions: Any
    is_sent: bool

    def slice_members(self, members: Indices) -> PredictionSlice:
        """Return the votes of some members as a worker gets them."""
        if self.is_sent:
            return PredictionSlice(self.predictions.take(members))
        return PredictionSlice(self.predictions, members)


@contextmanager
def open_prediction_source(votes: Any, engine: Engine | None) -> Iterator[PredictionSource]:
    """Make votes or scores reachable for an engine; without one, for joblib's active backend."""
    shared = is_joblib_local() if engine is None else engine.has_shared_memory
    if isinstance(votes, Store) or shared:
        yield PredictionSource(votes, is_sent=False)
    elif engine is not None and engine.is_local:
        # Windows deletes no file that a worker still maps.
        on_windows = os.name == "nt"
        with TemporaryDirectory(prefix="secateurs-", ignore_cleanup_errors=on_windows) as folder:
            yield PredictionSource(
                _write_scratch_store(Path(folder) / "votes", votes), is_sent=False
            )
    else:
        if votes.nbytes > limits.sent_bytes:
            kind, way = ("scores", "PredictionStore.from_scores")
            if not isinstance(votes, Predictions):
                kind, way = ("votes", "VoteStore.from_votes")
            raise InputError(
                f"These {kind} take {votes.nbytes / 1e6:,.1f} MB; at most "
                f"{limits.sent_bytes / 1e6:g} MB are sent to workers elsewhere "
                "(secateurs.distributed.limits.sent_bytes). Write them to storage that all workers "
                f"share ({way}) and fit on that."
            )
        yield PredictionSource(votes, is_sent=True)


def _write_scratch_store(path: Path, votes: Any) -> Store[Any]:
    """Write votes or scores for processes of this machine."""
    if isinstance(votes, Predictions):
        return PredictionStore.scratch(path, votes)
    return VoteStore.scratch(path, votes)
