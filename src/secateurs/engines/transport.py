"""How predictions reach workers: in shared memory, through a memory map, or as messages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from secateurs.engines.executors import Engine, limits
from secateurs.engines.failures import is_joblib_local
from secateurs.exceptions import InputError
from secateurs.outputs.prediction_store import PredictionStore
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import EncodedPredictions, Store, load_into_memory
from secateurs.outputs.vote_store import VoteStore
from secateurs.outputs.votes import Votes
from secateurs.typing import IndexArray


class PredictionSlice(NamedTuple):
    """Predictions of some members, or all predictions and the members to take from them."""

    predictions: EncodedPredictions
    members: IndexArray | None = None  # None: the predictions are already those of the slice

    def load(self) -> Votes | Predictions:
        """Return the predictions of the members, in memory."""
        if self.members is None:
            return load_into_memory(self.predictions)
        return self.predictions.take(self.members)


class PredictionSource(NamedTuple):
    """Predictions of all members, and whether slices of them are sent in messages."""

    predictions: EncodedPredictions
    is_sent: bool

    def slice_members(self, members: IndexArray) -> PredictionSlice:
        """Return the predictions of some members in the form that a worker receives."""
        if self.is_sent:
            return PredictionSlice(self.predictions.take(members))
        return PredictionSlice(self.predictions, members)


@contextmanager
def open_prediction_source(
    votes: EncodedPredictions, engine: Engine | None
) -> Iterator[PredictionSource]:
    """Make predictions available to an engine or, without one, to joblib's active backend."""
    shared = is_joblib_local() if engine is None else engine.has_shared_memory
    if isinstance(votes, Store) or shared:
        yield PredictionSource(votes, is_sent=False)
    elif engine is not None and engine.is_local:
        # Windows cannot delete a file that a worker still maps.
        on_windows = os.name == "nt"
        with TemporaryDirectory(prefix="secateurs-", ignore_cleanup_errors=on_windows) as folder:
            yield PredictionSource(
                _write_scratch_store(Path(folder) / "votes", votes), is_sent=False
            )
    else:
        if votes.nbytes > limits.sent_bytes:
            kind, constructor = ("predictions", "PredictionStore.from_scores")
            if not isinstance(votes, Predictions):
                kind, constructor = ("votes", "VoteStore.from_votes")
            raise InputError(
                f"These {kind} take {votes.nbytes / 1e6:,.1f} MB; at most "
                f"{limits.sent_bytes / 1e6:g} MB are sent to workers on other machines "
                "(secateurs.distributed.limits.sent_bytes). Write them to storage that all workers "
                f"share ({constructor}) and fit on that store."
            )
        yield PredictionSource(votes, is_sent=True)


def _write_scratch_store(path: Path, votes: Votes | Predictions) -> VoteStore | PredictionStore:
    """Write predictions to a temporary store for processes of this machine."""
    if isinstance(votes, Predictions):
        return PredictionStore.scratch(path, votes)
    return VoteStore.scratch(path, votes)
