"""Exact objectives over shards: the numbers of one machine, from outputs too large for it.

The table of votes or scores is cut in one of two ways. A shard of *members* receives what a chosen
member predicts and returns what it is worth beside those of the shard. A shard of *rows* counts
pairs of all members on its rows; the counts add up. Shards have no state: what one worker loses,
any other makes again.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from secateurs.engines.checkpoints import Checkpoints
from secateurs.engines.executors import Engine, engine_for, gather_results, running_engine
from secateurs.engines.run_limits import limits
from secateurs.engines.transport import Indices, PredictionSource, open_prediction_source
from secateurs.measures.pair_measure import Floats, pair_matrix
from secateurs.objectives import PairObjective
from secateurs.outputs.bit_kernels import WORD_BITS
from secateurs.outputs.store_base import Store, load_into_memory
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, MemberIndices


class MemberPiece(Protocol):
    """What a worker holds of a shard of members."""

    def rows_against(self, chosen: Any, ticket: Any) -> Floats:
        """Return what members held elsewhere are worth beside those here."""


class Shards(ABC):
    """Votes or scores in shards, held by workers."""

    def __init__(self, source: PredictionSource, engine: Engine, held: list[Any]) -> None:
        self._votes, self._engine, self._held_shards = source.predictions, engine, held

    def map_shards(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return the result of a function for each shard."""
        engine = self._engine
        return gather_results(
            engine, [engine.submit(function, held, *args) for held in self._held_shards]
        )

    @abstractmethod
    def map_pieces(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return the results of a function of what is held, piece by piece."""

    @abstractmethod
    def member_totals(self, function: Callable[..., Sequence[Array]], *args: Any) -> list[Array]:
        """Return arrays over all members, from a function of some members or some rows."""

    @abstractmethod
    def matrix_rows(self, members: MemberIndices, objective: Any) -> Floats:
        """Return what some members are worth beside all."""


class MemberShards(Shards):
    """Shards of members: a step sends what one member predicts, and receives its row."""

    def __init__(
        self, source: PredictionSource, engine: Engine, hold: Callable[[Any], MemberPiece]
    ) -> None:
        n_members = source.predictions.n_members
        n_shards = max(1, min(engine.n_workers, n_members // 2))
        runs = np.array_split(np.arange(n_members), n_shards)
        pieces = [_member_pieces(source, run, engine.n_threads) for run in runs]
        self._members = [np.concatenate([p.members for p in shard]) for shard in pieces]
        loads = [[p.load for p in shard] for shard in pieces]
        held = [engine.hold_value(_member_shard, shard, hold) for shard in loads]
        super().__init__(source, engine, held)

    def map_pieces(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return [found for shard in self.map_shards(_map_pieces, function, *args) for found in shard]

    def member_totals(self, function: Callable[..., Sequence[Array]], *args: Any) -> list[Array]:
        order = np.argsort(np.concatenate(self._members))
        parts = zip(*self.map_pieces(function, *args), strict=True)
        return [np.concatenate(arrays)[order] for arrays in parts]

    def matrix_rows(self, members: MemberIndices, objective: "ShardedObjective") -> Floats:
        chosen = replace(self._votes.take(members), y=None, names=None)
        values = np.empty((len(members), self._votes.n_members))
        ticket = objective.worker_context(members)
        found = self.map_shards(_shard_rows, chosen, ticket, self._engine.n_threads)
        for others, distances in zip(self._members, found, strict=True):
            values[:, others] = distances
        return values


class RowShards(Shards):
    """Shards of rows: a step receives counts of all members against one, and adds them up."""

    def __init__(self, source: PredictionSource, engine: Engine) -> None:
        n_words = -(-source.predictions.n_samples // WORD_BITS)
        runs = np.array_split(np.arange(n_words), min(n_words, engine.n_workers))
        samples = [slice(int(run[0]) * WORD_BITS, int(run[-1] + 1) * WORD_BITS) for run in runs]
        held = [engine.hold_value(_row_shard, *_row_piece(source, run)) for run in samples]
        super().__init__(source, engine, held)

    def map_pieces(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self.map_shards(function, *args)

    def member_totals(self, function: Callable[..., Sequence[Array]], *args: Any) -> list[Array]:
        return [
            np.sum(arrays, axis=0) for arrays in zip(*self.map_pieces(function, *args), strict=True)
        ]

    def matrix_rows(self, members: MemberIndices, objective: "ShardedObjective") -> Floats:
        values = np.empty((len(members), self._votes.n_members))
        ticket, kind = objective.worker_context(members), type(objective)
        for block in objective.message_blocks(len(members)):
            counted = self.map_shards(
                _shard_pair_counts, kind, members, block, ticket, self._engine.n_threads
            )
            values[:, block] = objective.pair_values(counted, members, block)
        return values


class ShardedObjective(PairObjective):
    """An objective over shards; with a store, steps are kept for a later run to continue.

    Comes before the objective itself among the bases of a class.
    """

    local_class: ClassVar[type[PairObjective]]  # the same in one process
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
        """Return what a worker holds of some members."""

    @staticmethod
    @abstractmethod
    def pair_bytes(votes: Any) -> int:
        """Return the bytes that a shard of rows sends for a pair."""

    @staticmethod
    @abstractmethod
    def count_pairs(outputs: Any, members: MemberIndices, block: slice, ticket: Any) -> Any:
        """Count pairs on a worker's rows."""

    @staticmethod
    @abstractmethod
    def join_counts(outputs: Any, counted: list[Any]) -> Any:
        """Join the counts of several blocks, as a worker sends them."""

    @abstractmethod
    def worker_context(self, members: MemberIndices) -> Any:
        """Return what workers need to know beside the members asked for."""

    @abstractmethod
    def message_blocks(self, n_rows: int) -> Iterator[slice]:
        """Cut the members into blocks whose counts against n_rows are one message."""

    @abstractmethod
    def pair_values(self, counted: list[Any], members: MemberIndices, block: slice) -> Floats:
        """Return what pairs are worth, from the counts of all shards of rows."""

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return int(self._votes.n_members)

    def _compute_rows(self, members: MemberIndices) -> Floats:
        return self._shards.matrix_rows(members, self)

    def matrix(self) -> Floats:
        """Return the worth of all pairs, in the order of computation of one machine."""
        asked: dict[int, Floats] = {}

        def values_of(members: slice, others: slice) -> Floats:
            if members.start not in asked:
                asked.clear()
                asked[members.start] = self.exact_matrix_rows(members)
            return asked[members.start][:, others]

        return pair_matrix(self, values_of)

    def resume_selection(self, first: int) -> list[int]:
        """Return the members that an earlier run from this start has already chosen."""
        self._checkpoints = Checkpoints(self._votes, self.method_name, self._parameter, first)
        sums, steps = self._checkpoints.read_array("sums"), self._checkpoints.read_value("steps")
        shape = (self.n_members + 1,)
        if sums is None or steps is None or sums.shape != shape or len(steps) != sums[-1]:
            return [first]
        self._sums = sums[:-1]
        self._resumed_steps = [(int(member), float(value)) for member, value in steps]
        return [member for member, _ in self._resumed_steps]

    def add(self, member: int) -> None:
        """Add a member to the set."""
        if self._resumed_steps:
            step = self._resumed_steps.pop(0)
            self.value = step[1]
            self._chosen.append(member)
        else:
            super().add(member)
            step = (member, self.value)
        self._selection_steps.append(step)
        if time.monotonic() - self._checkpoint_time >= limits.keep_seconds:
            self.write_checkpoint()

    def write_checkpoint(self) -> None:
        """Keep the steps made so far."""
        self._checkpoint_time = time.monotonic()
        if self._checkpoints is not None and self._selection_steps and not self._resumed_steps:
            # The last entry is the number of steps, should one file be newer than the other.
            self._checkpoints.write_array("sums", np.append(self._sums, len(self._selection_steps)))
            self._checkpoints.write_value("steps", self._selection_steps)

    def clear_checkpoint(self) -> None:
        """Delete the steps kept: the run is done."""
        if self._checkpoints is not None:
            self._checkpoints.delete_all()


def open_objective(
    kind: type[ShardedObjective], votes: Any, parameter: float, executor: Any, shard: str
) -> AbstractContextManager[Any]:
    """Return an objective, here or spread over workers, to be used in a `with`."""
    held = not isinstance(votes, Store) or votes.nbytes <= limits.held_bytes
    if executor is None and held:
        return nullcontext(kind.local_class(load_into_memory(votes), parameter))  # type: ignore[call-arg]
    return _sharded_objective(kind, votes, parameter, executor, shard)


@contextmanager
def _sharded_objective(
    kind: type[ShardedObjective], votes: Any, parameter: float, executor: Any, shard: str
) -> Iterator[ShardedObjective]:
    """Yield an objective over an executor's workers; without one, read a store tile by tile."""
    engine = engine_for(executor)
    with running_engine(engine), open_prediction_source(votes, engine) as source:
        cheaper = shard == "auto" and _is_row_sharding_cheaper(
            votes, engine, kind.pair_bytes(votes)
        )
        shards: Shards = (
            RowShards(source, engine)
            if shard == "rows" or cheaper
            else MemberShards(source, engine, partial(kind.make_piece, parameter))
        )
        objective = kind(votes, parameter, shards)
        try:
            yield objective
        except BaseException:
            objective.write_checkpoint()
            raise


def _is_row_sharding_cheaper(votes: Any, engine: Engine, pair_bytes: int) -> bool:
    """Compare the bytes sent per step."""
    n_workers = engine.n_workers
    by_members = n_workers * votes.nbytes / votes.n_members + 8 * votes.n_members
    return n_workers > 1 and n_workers * votes.n_members * pair_bytes < by_members


class _MemberRun(NamedTuple):
    """Members stored next to each other, and how a worker loads what they predict."""

    members: Indices
    load: Callable[[], Any]


def _member_pieces(source: PredictionSource, places: Indices, n_threads: int) -> list[_MemberRun]:
    """Cut members into pieces stored next to each other, at least one per thread."""
    runs = np.array_split(places, max(1, min(n_threads, len(places) // 2)))
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


def _row_piece(source: PredictionSource, samples: slice) -> tuple[Any, slice]:
    if source.is_sent:
        cut = _row_shard(source.predictions, samples)
        return cut, slice(0, cut.n_samples)
    return source.predictions, samples


# What runs on workers.


def _member_shard(
    loads: Sequence[Callable[[], Any]], hold: Callable[[Any], MemberPiece]
) -> list[MemberPiece]:
    return [hold(load()) for load in loads]


def _map_pieces(shard: list[MemberPiece], function: Callable[..., Any], *args: Any) -> list[Any]:
    return [function(piece, *args) for piece in shard]


def _shard_rows(shard: list[MemberPiece], chosen: Any, ticket: Any, n_threads: int) -> Floats:
    def piece_rows(piece: MemberPiece) -> Floats:
        return piece.rows_against(chosen, ticket)

    return np.concatenate(_map_in_threads(piece_rows, shard, n_threads), axis=1)


def _map_in_threads(
    function: Callable[[Any], Any], items: Sequence[Any], n_threads: int
) -> list[Any]:
    if n_threads == 1 or len(items) == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(function, items))


def _row_shard(source: Any, samples: slice) -> Any:
    return source.run(samples) if isinstance(source, Votes) else source.rows(samples)


def _shard_pair_counts(  # noqa: PLR0917
    outputs: Any,
    kind: type[ShardedObjective],
    members: MemberIndices,
    block: slice,
    ticket: Any,
    n_threads: int,
) -> Any:
    """Return the counts of some members with a block of all, on a worker's rows."""
    cuts = np.linspace(block.start, block.stop, n_threads + 1).astype(int).tolist()
    runs = [slice(first, last) for first, last in pairwise(cuts) if last > first]

    def count_block(run: slice) -> Any:
        return kind.count_pairs(outputs, members, run, ticket)

    return kind.join_counts(outputs, _map_in_threads(count_block, runs, n_threads))
