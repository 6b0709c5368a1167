"""Pair objectives over shards of the predictions, with exactly the values of one machine.

The predictions are cut in one of two ways. A shard of *members* receives the predictions of a
selected member and returns the values of its pairs with the members of the shard. A shard of *rows*
counts pairs of all members on its samples, and the counts are added up. Shards have no state, so
that any worker can compute a lost shard again.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from secateurs.engines.checkpoints import Checkpoints
from secateurs.engines.executors import Engine, engine_for, gather_results, limits, running_engine
from secateurs.engines.transport import PredictionSource, open_prediction_source
from secateurs.measures.pair_measure import Floats, pair_matrix
from secateurs.objectives import PairObjective
from secateurs.outputs.bit_kernels import WORD_BITS
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import EncodedPredictions, Store, load_into_memory
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, ExecutorLike, IndexArray, MemberIndices

Item = TypeVar("Item")
Result = TypeVar("Result")


class MemberPiece(Protocol):
    """Some members of a shard, as a worker holds them."""

    def rows_against(self, chosen: Any, context: Any) -> Floats:
        """Return the pair values of given members with the members held here."""


class Shards(ABC):
    """Predictions in shards that workers hold."""

    def __init__(self, source: PredictionSource, engine: Engine, held: list[object]) -> None:
        self._votes, self._engine, self._held_shards = source.predictions, engine, held

    def map_shards(self, function: Callable[..., Result], *args: object) -> list[Result]:
        """Return the result of a function for each shard."""
        engine = self._engine
        return gather_results(
            engine, [engine.submit(function, held, *args) for held in self._held_shards]
        )

    def map_pieces(self, function: Callable[..., Result], *args: object) -> list[Result]:
        """Return the result of a function for each piece of a shard, here the shard itself."""
        return self.map_shards(function, *args)

    @abstractmethod
    def member_totals(self, function: Callable[..., Sequence[Array]], *args: object) -> list[Array]:
        """Return arrays over all members, from a function of each piece."""

    @abstractmethod
    def matrix_rows(self, members: MemberIndices, objective: ShardedObjective) -> Floats:
        """Return the pair values of some members with all members."""


class MemberShards(Shards):
    """Shards of members: a step sends a member's predictions and receives its pair values."""

    def __init__(
        self, source: PredictionSource, engine: Engine, make_piece: Callable[[Any], MemberPiece]
    ) -> None:
        n_members = source.predictions.n_members
        n_shards = max(1, min(engine.n_workers, n_members // 2))
        runs = np.array_split(np.arange(n_members), n_shards)
        pieces = [_member_pieces(source, run, engine.n_threads) for run in runs]
        self._members = [np.concatenate([p.members for p in shard]) for shard in pieces]
        loads = [[p.load for p in shard] for shard in pieces]
        held = [engine.hold_value(_member_shard, shard, make_piece) for shard in loads]
        super().__init__(source, engine, held)

    def map_pieces(self, function: Callable[..., Result], *args: object) -> list[Result]:
        """Return the result of a function for each piece of each shard."""
        shards = cast("list[list[Result]]", self.map_shards(_map_pieces, function, *args))
        return [result for shard in shards for result in shard]

    def member_totals(self, function: Callable[..., Sequence[Array]], *args: object) -> list[Array]:
        """Return arrays over all members, whose parts come from the pieces."""
        order = np.argsort(np.concatenate(self._members))
        parts = zip(*self.map_pieces(function, *args), strict=True)
        return [np.concatenate(arrays)[order] for arrays in parts]

    def matrix_rows(self, members: MemberIndices, objective: ShardedObjective) -> Floats:
        """Return the pair values of some members, each shard computing its own columns."""
        # Workers need neither the true labels nor the names of these members.
        chosen = replace(self._votes.take(members), y=None, names=None)
        values = np.empty((len(members), self._votes.n_members))
        context = objective.worker_context(members)
        shards = self.map_shards(_shard_rows, chosen, context, self._engine.n_threads)
        for shard_members, shard_values in zip(self._members, shards, strict=True):
            values[:, shard_members] = shard_values
        return values


class RowShards(Shards):
    """Shards of rows: a step adds up the shards' counts of one member with all members."""

    def __init__(self, source: PredictionSource, engine: Engine) -> None:
        # Votes are packed into words of bits, and a word cannot be split between two shards.
        n_words = -(-source.predictions.n_samples // WORD_BITS)
        runs = np.array_split(np.arange(n_words), min(n_words, engine.n_workers))
        samples = [slice(int(run[0]) * WORD_BITS, int(run[-1] + 1) * WORD_BITS) for run in runs]
        held = [engine.hold_value(_row_shard, *_row_piece(source, run)) for run in samples]
        super().__init__(source, engine, held)

    def member_totals(self, function: Callable[..., Sequence[Array]], *args: object) -> list[Array]:
        """Return the sums of arrays over all shards."""
        return [
            np.sum(arrays, axis=0) for arrays in zip(*self.map_pieces(function, *args), strict=True)
        ]

    def matrix_rows(self, members: MemberIndices, objective: ShardedObjective) -> Floats:
        """Return the pair values of some members, from the counts of all shards."""
        values = np.empty((len(members), self._votes.n_members))
        context, kind = objective.worker_context(members), type(objective)
        for block in objective.message_blocks(len(members)):
            counted = self.map_shards(
                _shard_pair_counts, kind, members, block, context, self._engine.n_threads
            )
            values[:, block] = objective.pair_values(counted, members, block)
        return values


class ShardedObjective(PairObjective):
    """A pair objective over shards; on a store, checkpoints let a later run continue.

    A subclass inherits from this class first, then from the objective itself.
    """

    local_class: ClassVar[type[PairObjective]]  # the same objective in one process
    method_name: ClassVar[str]  # the short name of the method

    def __init__(self, votes: Any, parameter: float, shards: Shards) -> None:
        self._votes, self._parameter, self._shards = votes, parameter, shards
        self._checkpoints: Checkpoints | None = None
        self._checkpoint_time = time.monotonic()
        self._selection_steps: list[tuple[int, float]] = []
        self._resumed_steps: list[tuple[int, float]] = []

    @staticmethod
    @abstractmethod
    def make_piece(parameter: float, outputs: Any) -> MemberPiece:
        """Return the piece of a shard for the predictions of some members."""

    @staticmethod
    @abstractmethod
    def pair_bytes(votes: EncodedPredictions) -> int:
        """Return the number of bytes that a shard of rows sends for a pair of members."""

    @staticmethod
    @abstractmethod
    def count_pairs(outputs: Any, members: MemberIndices, block: slice, context: Any) -> Any:
        """Count the pairs of some members with a block of members on a worker's samples."""

    @staticmethod
    @abstractmethod
    def join_counts(outputs: Any, counted: list[Any]) -> Any:
        """Join the counts of several blocks into the form that a worker sends."""

    @abstractmethod
    def worker_context(self, members: MemberIndices) -> object:
        """Return what workers need to compute pair values, besides the predictions of members."""

    @abstractmethod
    def message_blocks(self, n_rows: int) -> Iterator[slice]:
        """Cut the members into blocks whose counts with ``n_rows`` members fit one message."""

    @abstractmethod
    def pair_values(self, counted: list[Any], members: MemberIndices, block: slice) -> Floats:
        """Return pair values from the counts of all shards of rows."""

    @property
    def n_members(self) -> int:
        """Number of members of the full ensemble."""
        return int(self._votes.n_members)

    def _compute_rows(self, members: MemberIndices) -> Floats:
        return self._shards.matrix_rows(members, self)

    def matrix(self) -> Floats:
        """Return the values of all pairs, computed in the order in which one machine does."""
        latest_rows: dict[int, Floats] = {}  # rows for one block of members, by its start

        def block_values(members: slice, others: slice) -> Floats:
            if members.start not in latest_rows:
                latest_rows.clear()
                latest_rows[members.start] = self.exact_matrix_rows(members)
            return latest_rows[members.start][:, others]

        return pair_matrix(self, block_values)

    def resume_selection(self, first: int) -> list[int]:
        """Return the members that an earlier run from this start has already selected."""
        self._checkpoints = Checkpoints(self._votes, self.method_name, self._parameter, first)
        sums, steps = self._checkpoints.read_array("sums"), self._checkpoints.read_value("steps")
        shape = (self.n_members + 1,)
        if sums is None or steps is None or sums.shape != shape or len(steps) != sums[-1]:
            return [first]
        self._sums = sums[:-1]
        self._resumed_steps = [(int(member), float(value)) for member, value in steps]
        return [member for member, _ in self._resumed_steps]

    def add(self, member: int) -> None:
        """Add a member, from a checkpoint if there is one, and write a checkpoint if it is time."""
        if self._resumed_steps:
            step = self._resumed_steps.pop(0)
            self.value = step[1]
            self._selected.append(member)
        else:
            super().add(member)
            step = (member, self.value)
        self._selection_steps.append(step)
        if time.monotonic() - self._checkpoint_time >= limits.keep_seconds:
            self.write_checkpoint()

    def write_checkpoint(self) -> None:
        """Write the steps so far."""
        self._checkpoint_time = time.monotonic()
        if self._checkpoints is not None and self._selection_steps and not self._resumed_steps:
            # The last entry is the number of steps: it shows if only one of the two files is new.
            self._checkpoints.write_array("sums", np.append(self._sums, len(self._selection_steps)))
            self._checkpoints.write_value("steps", self._selection_steps)

    def clear_checkpoint(self) -> None:
        """Delete the checkpoint of the finished run."""
        if self._checkpoints is not None:
            self._checkpoints.delete_all()


def open_objective(
    kind: type[ShardedObjective],
    votes: EncodedPredictions,
    parameter: float,
    executor: ExecutorLike | None,
    shard: str,
) -> AbstractContextManager[Any]:
    """Return a context manager for an objective, in this process or distributed over workers."""
    fits_memory = not isinstance(votes, Store) or votes.nbytes <= limits.held_bytes
    if executor is None and fits_memory:
        return nullcontext(kind.local_class(load_into_memory(votes), parameter))  # type: ignore[call-arg]
    return _sharded_objective(kind, votes, parameter, executor, shard)


@contextmanager
def _sharded_objective(
    kind: type[ShardedObjective],
    votes: EncodedPredictions,
    parameter: float,
    executor: ExecutorLike | None,
    shard: str,
) -> Iterator[ShardedObjective]:
    """Yield an objective over the executor's workers; without one, read a store tile by tile."""
    engine = engine_for(executor)
    with running_engine(engine), open_prediction_source(votes, engine) as source:
        is_cheaper = shard == "auto" and _is_row_sharding_cheaper(
            votes, engine, kind.pair_bytes(votes)
        )
        shards: Shards = (
            RowShards(source, engine)
            if shard == "rows" or is_cheaper
            else MemberShards(source, engine, partial(kind.make_piece, parameter))
        )
        objective = kind(votes, parameter, shards)
        try:
            yield objective
        except BaseException:
            objective.write_checkpoint()
            raise


def _is_row_sharding_cheaper(votes: EncodedPredictions, engine: Engine, pair_bytes: int) -> bool:
    """Return whether shards of rows send fewer bytes per step than shards of members."""
    n_workers = engine.n_workers
    # A shard of members gets one member's predictions and sends a float (8 bytes) per pair.
    by_members = n_workers * votes.nbytes / votes.n_members + 8 * votes.n_members
    return n_workers > 1 and n_workers * votes.n_members * pair_bytes < by_members


class _MemberRun(NamedTuple):
    """Members stored next to each other, and how a worker loads their predictions."""

    members: IndexArray
    load: Callable[[], EncodedPredictions]


def _member_pieces(
    source: PredictionSource, positions: IndexArray, n_threads: int
) -> list[_MemberRun]:
    """Cut members, given by their positions in storage, into runs, at least one per thread."""
    runs = np.array_split(positions, max(1, min(n_threads, len(positions) // 2)))
    store = source.predictions
    if not isinstance(store, Store):
        return [_MemberRun(run, source.slice_members(run).load) for run in runs]
    pieces = []
    for run in runs:
        for tile in np.unique(run // store.tile_members):
            within = run[run // store.tile_members == tile] % store.tile_members
            rows = slice(int(within[0]), int(within[-1]) + 1)
            mapped = partial(store.mapped, int(tile), rows)
            pieces.append(_MemberRun(store.members_of(tile)[rows], mapped))
    return pieces


def _row_piece(source: PredictionSource, samples: slice) -> tuple[EncodedPredictions, slice]:
    """Return what a worker needs for some samples: only these, if predictions are sent to it."""
    if source.is_sent:
        shard = _row_shard(source.predictions, samples)
        return shard, slice(0, shard.n_samples)
    return source.predictions, samples


# The functions below run on workers.


def _member_shard(
    loads: Sequence[Callable[[], EncodedPredictions]], make_piece: Callable[[Any], MemberPiece]
) -> list[MemberPiece]:
    """Return the pieces of a shard of members, which a worker keeps."""
    return [make_piece(load()) for load in loads]


def _map_pieces(
    shard: list[MemberPiece], function: Callable[..., Result], *args: object
) -> list[Result]:
    """Apply a function to each piece of a shard."""
    return [function(piece, *args) for piece in shard]


def _shard_rows(
    shard: list[MemberPiece], chosen: Votes | Predictions, context: object, n_threads: int
) -> Floats:
    """Return the values of pairs of chosen members (rows) with the members of a shard."""

    def piece_rows(piece: MemberPiece) -> Floats:
        return piece.rows_against(chosen, context)

    return np.concatenate(_map_in_threads(piece_rows, shard, n_threads), axis=1)


def _map_in_threads(
    function: Callable[[Item], Result], items: Sequence[Item], n_threads: int
) -> list[Result]:
    if n_threads == 1 or len(items) == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(function, items))


def _row_shard(predictions: EncodedPredictions, samples: slice) -> Votes | Predictions:
    """Return the predictions on the samples of a shard of rows."""
    if isinstance(predictions, Votes):
        return predictions.run(samples)
    return predictions.rows(samples)


def _shard_pair_counts(  # noqa: PLR0917
    outputs: Votes | Predictions,
    kind: type[ShardedObjective],
    members: MemberIndices,
    block: slice,
    context: object,
    n_threads: int,
) -> object:
    """Return the counts of some members with a block of members, on a worker's samples."""
    cuts = np.linspace(block.start, block.stop, n_threads + 1).astype(int).tolist()
    runs = [slice(first, last) for first, last in pairwise(cuts) if last > first]

    def count_block(run: slice) -> object:
        return kind.count_pairs(outputs, members, run, context)

    return kind.join_counts(outputs, _map_in_threads(count_block, runs, n_threads))
