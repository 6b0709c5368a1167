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

from secateurs._labels import Array, MemberIndices
from secateurs.engines._checkpoints import Checkpoints
from secateurs.engines._executors import Engine, engine_for, gather, running
from secateurs.engines._limits import limits
from secateurs.engines._transport import Indices, VoteSource, vote_source
from secateurs.measures._pair import Floats, pair_matrix
from secateurs.objectives import PairObjective
from secateurs.outputs._pair_kernels import WORD_BITS
from secateurs.outputs._store_base import Store, in_memory
from secateurs.outputs._votes import Votes


class Piece(Protocol):
    """What a worker holds of a shard of members."""

    def rows_of(self, chosen: Any, ticket: Any) -> Floats:
        """Return what members held elsewhere are worth beside those here."""


class Shards(ABC):
    """Votes or scores in shards, held by workers."""

    def __init__(self, source: VoteSource, engine: Engine, held: list[Any]) -> None:
        self._votes, self._engine, self._held = source.votes, engine, held

    def apply(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return the result of a function for each shard."""
        engine = self._engine
        return gather(engine, [engine.submit(function, held, *args) for held in self._held])

    @abstractmethod
    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return the results of a function of what is held, piece by piece."""

    @abstractmethod
    def totals(self, function: Callable[..., Sequence[Array]], *args: Any) -> list[Array]:
        """Return arrays over all members, from a function of some members or some rows."""

    @abstractmethod
    def rows(self, members: MemberIndices, objective: Any) -> Floats:
        """Return what some members are worth beside all."""


class MemberShards(Shards):
    """Shards of members: a step sends what one member predicts, and receives its row."""

    def __init__(self, source: VoteSource, engine: Engine, hold: Callable[[Any], Piece]) -> None:
        n_members = source.votes.n_members
        n_shards = max(1, min(engine.n_workers, n_members // 2))
        runs = np.array_split(np.arange(n_members), n_shards)
        pieces = [_pieces(source, run, engine.n_threads) for run in runs]
        self._members = [np.concatenate([p.members for p in shard]) for shard in pieces]
        loads = [[p.load for p in shard] for shard in pieces]
        held = [engine.hold(_member_shard, shard, hold) for shard in loads]
        super().__init__(source, engine, held)

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return [found for shard in self.apply(_of_each, function, *args) for found in shard]

    def totals(self, function: Callable[..., Sequence[Array]], *args: Any) -> list[Array]:
        order = np.argsort(np.concatenate(self._members))
        parts = zip(*self.each(function, *args), strict=True)
        return [np.concatenate(arrays)[order] for arrays in parts]

    def rows(self, members: MemberIndices, objective: "ShardedObjective") -> Floats:
        chosen = replace(self._votes.take(members), y=None, names=None)
        values = np.empty((len(members), self._votes.n_members))
        ticket = objective.ticket(members)
        found = self.apply(_distances, chosen, ticket, self._engine.n_threads)
        for others, distances in zip(self._members, found, strict=True):
            values[:, others] = distances
        return values


class RowShards(Shards):
    """Shards of rows: a step receives counts of all members against one, and adds them up."""

    def __init__(self, source: VoteSource, engine: Engine) -> None:
        n_words = -(-source.votes.n_samples // WORD_BITS)
        runs = np.array_split(np.arange(n_words), min(n_words, engine.n_workers))
        samples = [slice(int(run[0]) * WORD_BITS, int(run[-1] + 1) * WORD_BITS) for run in runs]
        held = [engine.hold(_row_shard, *_row_piece(source, run)) for run in samples]
        super().__init__(source, engine, held)

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self.apply(function, *args)

    def totals(self, function: Callable[..., Sequence[Array]], *args: Any) -> list[Array]:
        return [np.sum(arrays, axis=0) for arrays in zip(*self.each(function, *args), strict=True)]

    def rows(self, members: MemberIndices, objective: "ShardedObjective") -> Floats:
        values = np.empty((len(members), self._votes.n_members))
        ticket, kind = objective.ticket(members), type(objective)
        for block in objective.sent_blocks(len(members)):
            counted = self.apply(_pair_counts, kind, members, block, ticket, self._engine.n_threads)
            values[:, block] = objective.values(counted, members, block)
        return values


class ShardedObjective(PairObjective):
    """An objective over shards; with a store, steps are kept for a later run to continue.

    Comes before the objective itself among the bases of a class.
    """

    whole: ClassVar[type[PairObjective]]  # the same in one process
    pruner: ClassVar[str]  # the short name of the method

    def __init__(self, votes: Any, parameter: float, shards: Shards) -> None:
        self._votes, self._parameter, self._shards = votes, parameter, shards
        self._kept: Checkpoints | None = None
        self._kept_at = time.monotonic()
        self._steps: list[tuple[int, float]] = []
        self._ahead: list[tuple[int, float]] = []

    @staticmethod
    @abstractmethod
    def hold(parameter: float, outputs: Any) -> Piece:
        """Return what a worker holds of some members."""

    @staticmethod
    @abstractmethod
    def pair_bytes(votes: Any) -> int:
        """Return the bytes that a shard of rows sends for a pair."""

    @staticmethod
    @abstractmethod
    def count(outputs: Any, members: MemberIndices, block: slice, ticket: Any) -> Any:
        """Count pairs on a worker's rows."""

    @staticmethod
    @abstractmethod
    def joined(outputs: Any, counted: list[Any]) -> Any:
        """Join the counts of several blocks, as a worker sends them."""

    @abstractmethod
    def ticket(self, members: MemberIndices) -> Any:
        """Return what workers need to know beside the members asked for."""

    @abstractmethod
    def sent_blocks(self, n_rows: int) -> Iterator[slice]:
        """Cut the members into blocks whose counts against n_rows are one message."""

    @abstractmethod
    def values(self, counted: list[Any], members: MemberIndices, block: slice) -> Floats:
        """Return what pairs are worth, from the counts of all shards of rows."""

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return int(self._votes.n_members)

    def _rows(self, members: MemberIndices) -> Floats:
        return self._shards.rows(members, self)

    def matrix(self) -> Floats:
        """Return the worth of all pairs, in the order of computation of one machine."""
        asked: dict[int, Floats] = {}

        def values_of(members: slice, others: slice) -> Floats:
            if members.start not in asked:
                asked.clear()
                asked[members.start] = self.exact_rows(members)
            return asked[members.start][:, others]

        return pair_matrix(self, values_of)

    def resume(self, first: int) -> list[int]:
        """Return the members that an earlier run from this start has already chosen."""
        self._kept = Checkpoints(self._votes, self.pruner, self._parameter, first)
        sums, steps = self._kept.get_array("sums"), self._kept.get("steps")
        shape = (self.n_members + 1,)
        if sums is None or steps is None or sums.shape != shape or len(steps) != sums[-1]:
            return [first]
        self._sums = sums[:-1]
        self._ahead = [(int(member), float(value)) for member, value in steps]
        return [member for member, _ in self._ahead]

    def add(self, member: int) -> None:
        """Add a member to the set."""
        if self._ahead:
            step = self._ahead.pop(0)
            self.value = step[1]
            self._chosen.append(member)
        else:
            super().add(member)
            step = (member, self.value)
        self._steps.append(step)
        if time.monotonic() - self._kept_at >= limits.keep_seconds:
            self.keep()

    def keep(self) -> None:
        """Keep the steps made so far."""
        self._kept_at = time.monotonic()
        if self._kept is not None and self._steps and not self._ahead:
            # The last entry is the number of steps, should one file be newer than the other.
            self._kept.put_array("sums", np.append(self._sums, len(self._steps)))
            self._kept.put("steps", self._steps)

    def finish(self) -> None:
        """Delete the steps kept: the run is done."""
        if self._kept is not None:
            self._kept.clear()


def objective_for(
    kind: type[ShardedObjective], votes: Any, parameter: float, executor: Any, shard: str
) -> AbstractContextManager[Any]:
    """Return an objective, here or spread over workers, to be used in a `with`."""
    held = not isinstance(votes, Store) or votes.nbytes <= limits.held_bytes
    if executor is None and held:
        return nullcontext(kind.whole(in_memory(votes), parameter))  # type: ignore[call-arg]
    return _sharded(kind, votes, parameter, executor, shard)


@contextmanager
def _sharded(
    kind: type[ShardedObjective], votes: Any, parameter: float, executor: Any, shard: str
) -> Iterator[ShardedObjective]:
    """Yield an objective over an executor's workers; without one, read a store tile by tile."""
    engine = engine_for(executor)
    with running(engine), vote_source(votes, engine) as source:
        cheaper = shard == "auto" and _rows_are_cheaper(votes, engine, kind.pair_bytes(votes))
        shards: Shards = (
            RowShards(source, engine)
            if shard == "rows" or cheaper
            else MemberShards(source, engine, partial(kind.hold, parameter))
        )
        objective = kind(votes, parameter, shards)
        try:
            yield objective
        except BaseException:
            objective.keep()
            raise


def _rows_are_cheaper(votes: Any, engine: Engine, pair_bytes: int) -> bool:
    """Compare the bytes sent per step."""
    n_workers = engine.n_workers
    by_members = n_workers * votes.nbytes / votes.n_members + 8 * votes.n_members
    return n_workers > 1 and n_workers * votes.n_members * pair_bytes < by_members


class _Run(NamedTuple):
    """Members stored next to each other, and how a worker loads what they predict."""

    members: Indices
    load: Callable[[], Any]


def _pieces(source: VoteSource, places: Indices, n_threads: int) -> list[_Run]:
    """Cut members into pieces stored next to each other, at least one per thread."""
    runs = np.array_split(places, max(1, min(n_threads, len(places) // 2)))
    store = source.votes
    if not isinstance(store, Store):
        return [_Run(run, source.slice(run).load) for run in runs]
    pieces = []
    for run in runs:
        for tile in np.unique(run // store.tile_members):
            within = run[run // store.tile_members == tile] % store.tile_members
            rows = slice(int(within[0]), int(within[-1]) + 1)
            mapped = partial(store.mapped, int(tile), rows)
            pieces.append(_Run(store.members_of(tile)[rows], mapped))
    return pieces


def _row_piece(source: VoteSource, samples: slice) -> tuple[Any, slice]:
    if source.is_sent:
        cut = _row_shard(source.votes, samples)
        return cut, slice(0, cut.n_samples)
    return source.votes, samples


# What runs on workers.


def _member_shard(loads: Sequence[Callable[[], Any]], hold: Callable[[Any], Piece]) -> list[Piece]:
    return [hold(load()) for load in loads]


def _of_each(shard: list[Piece], function: Callable[..., Any], *args: Any) -> list[Any]:
    return [function(piece, *args) for piece in shard]


def _distances(shard: list[Piece], chosen: Any, ticket: Any, n_threads: int) -> Floats:
    def of_piece(piece: Piece) -> Floats:
        return piece.rows_of(chosen, ticket)

    return np.concatenate(_in_threads(of_piece, shard, n_threads), axis=1)


def _in_threads(function: Callable[[Any], Any], items: Sequence[Any], n_threads: int) -> list[Any]:
    if n_threads == 1 or len(items) == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(function, items))


def _row_shard(source: Any, samples: slice) -> Any:
    return source.run(samples) if isinstance(source, Votes) else source.rows(samples)


def _pair_counts(  # noqa: PLR0917
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

    def count(run: slice) -> Any:
        return kind.count(outputs, members, run, ticket)

    return kind.joined(outputs, _in_threads(count, runs, n_threads))
