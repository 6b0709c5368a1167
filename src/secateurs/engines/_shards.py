"""Exact TDAS over shards: the same numbers as on one machine, from votes too large for it.

The table of votes is cut in one of two ways. A shard of *members* receives the votes of a chosen
member and returns the distances to it. A shard of *rows* counts label pairs of all members on its
rows; the counts add up. Shards have no state: what one worker loses, any other makes again.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import MemberIndices
from secateurs.engines._checkpoints import Checkpoints
from secateurs.engines._executors import Engine, engine_for, gather, running
from secateurs.engines._limits import limits
from secateurs.engines._transport import Indices, VoteSource, vote_source
from secateurs.measures._pair import Floats, pair_matrix
from secateurs.objectives import TDAS, Profile
from secateurs.outputs._pair_kernels import WORD_BITS
from secateurs.outputs._store import VoteStore
from secateurs.outputs._votes import Votes, empty_tables

_SENT_CELLS = 1 << 22  # cells of joint counts per message


class Shards(ABC):
    """Votes in shards, held by workers."""

    def __init__(self, source: VoteSource, engine: Engine, held: list[Any]) -> None:
        self._votes, self._engine, self._held = source.votes, engine, held

    def _apply(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        engine = self._engine
        return gather(engine, [engine.submit(function, held, *args) for held in self._held])

    @abstractmethod
    def profile(self) -> tuple[Profile, NDArray[np.int64]]:
        """Return the members' profile, and their counts by vote and true label."""

    @abstractmethod
    def rows(self, members: MemberIndices, objective: "ShardedTDAS") -> Floats:
        """Return TDAC of some members to all."""


class ShardedTDAS(TDAS):
    """TDAS of votes in shards; with a store, steps are kept for a later run to continue."""

    def __init__(self, votes: Votes | VoteStore, diversity_weight: float, shards: Shards) -> None:
        self._votes = votes  # type: ignore[assignment]
        self._shards = shards
        self._begin(diversity_weight, *shards.profile())
        self._kept: Checkpoints | None = None
        self._kept_at = time.monotonic()
        self._steps: list[tuple[int, float]] = []
        self._ahead: list[tuple[int, float]] = []

    def _rows(self, members: MemberIndices) -> Floats:
        return self._shards.rows(members, self)

    def matrix(self) -> Floats:
        """Return TDAC of all pairs, in the order of computation of one machine."""
        asked: dict[int, Floats] = {}

        def values_of(members: slice, others: slice) -> Floats:
            if members.start not in asked:
                asked.clear()
                asked[members.start] = self.rows(members)
            return asked[members.start][:, others]

        return pair_matrix(self._votes, values_of)

    def resume(self, first: int) -> list[int]:
        """Return the members that an earlier run from this start has already chosen."""
        self._kept = Checkpoints(self._votes, "comep", self._weight, first)
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


class MemberShards(Shards):
    """Shards of members: a step sends one member's votes and receives distances."""

    def __init__(self, source: VoteSource, engine: Engine, diversity_weight: float) -> None:
        n_members = source.votes.n_members
        n_shards = max(1, min(engine.n_workers, n_members // 2))
        runs = np.array_split(np.arange(n_members), n_shards)
        pieces = [_pieces(source, run, engine.n_threads) for run in runs]
        self._members = [np.concatenate([p.members for p in shard]) for shard in pieces]
        loads = [[p.load for p in shard] for shard in pieces]
        held = [engine.hold(_member_shard, shard, diversity_weight) for shard in loads]
        super().__init__(source, engine, held)

    def profile(self) -> tuple[Profile, NDArray[np.int64]]:
        n_members, n_classes = self._votes.n_members, self._votes.n_classes
        sizes = np.empty((n_members, n_classes), dtype=np.int64)
        truth = empty_tables(n_members, n_classes)
        counted = self._apply(_counts_of_members)
        for members, (own_sizes, own_truth) in zip(self._members, counted, strict=True):
            sizes[members], truth[members] = own_sizes, own_truth
        return Profile.of(sizes, truth), truth

    def rows(self, members: MemberIndices, objective: ShardedTDAS) -> Floats:
        chosen = replace(self._votes.take(members), y=None, names=None)
        values = np.empty((len(members), self._votes.n_members))
        profile = objective.profile.take(members)
        found = self._apply(_distances, chosen, profile, self._engine.n_threads)
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

    def profile(self) -> tuple[Profile, NDArray[np.int64]]:
        counted = self._apply(_counts_of_rows)
        truth = empty_tables(self._votes.n_members, self._votes.n_classes)
        truth[...] = sum(part for _, part in counted)
        sizes: Any = sum(part for part, _ in counted)
        return Profile.of(sizes, truth), truth

    def rows(self, members: MemberIndices, objective: ShardedTDAS) -> Floats:
        values = np.empty((len(members), self._votes.n_members))
        own = objective.profile.take(members)
        for block in self._votes.member_blocks(0, len(members), _SENT_CELLS):
            counted = self._apply(_pair_counts, members, block, self._engine.n_threads)
            tables: Any = sum(counts.astype(np.int64) for counts, _ in counted)
            axes = counted[0][1]
            values[:, block] = objective.tdac(
                tables.transpose(axes), own, objective.profile.take(block)
            )
        return values


@contextmanager
def sharded_tdas(
    votes: Votes | VoteStore, diversity_weight: float, executor: Any, shard: str
) -> Iterator[ShardedTDAS]:
    """Yield TDAS spread over an executor's workers; without one, read a store tile by tile."""
    engine = engine_for(executor)
    with running(engine), vote_source(votes, engine) as source:
        by_rows = shard == "rows" or (shard == "auto" and _rows_are_cheaper(votes, engine))
        shards: Shards = (
            RowShards(source, engine) if by_rows else MemberShards(source, engine, diversity_weight)
        )
        objective = ShardedTDAS(votes, diversity_weight, shards)
        try:
            yield objective
        except BaseException:
            objective.keep()
            raise


def _rows_are_cheaper(votes: Votes | VoteStore, engine: Engine) -> bool:
    """Compare the bytes sent per step."""
    n_workers = engine.n_workers
    by_members = n_workers * votes.nbytes / votes.n_members + 8 * votes.n_members
    by_rows = n_workers * votes.n_members * votes.n_classes**2 * 4
    return n_workers > 1 and by_rows < by_members


class _Piece(NamedTuple):
    """Members stored next to each other, and how a worker loads their votes."""

    members: Indices
    load: Callable[[], Votes]


def _pieces(source: VoteSource, places: Indices, n_threads: int) -> list[_Piece]:
    """Cut members into pieces stored next to each other, at least one per thread."""
    runs = np.array_split(places, max(1, min(n_threads, len(places) // 2)))
    store = source.votes
    if isinstance(store, Votes):
        return [_Piece(run, source.slice(run).load) for run in runs]
    pieces = []
    for run in runs:
        for tile in np.unique(run // store.tile_members):
            within = run[run // store.tile_members == tile] % store.tile_members
            rows = slice(int(within[0]), int(within[-1]) + 1)
            mapped = partial(store.mapped, int(tile), rows)
            pieces.append(_Piece(store.members_of(tile)[rows], mapped))
    return pieces


def _row_piece(source: VoteSource, samples: slice) -> tuple[Votes | VoteStore, slice]:
    if source.is_sent:
        assert isinstance(source.votes, Votes)
        cut = source.votes.run(samples)
        return cut, slice(0, cut.n_samples)
    return source.votes, samples


# What runs on workers.


_PieceTDAS = tuple[TDAS, slice]  # of a piece of members, without the double of a single one


def _piece_tdas(votes: Votes, weight: float) -> _PieceTDAS:
    """Prepare TDAS; a single member is doubled, because NumPy sums a single table differently."""
    several = votes.take([0, 0]) if votes.n_members == 1 else votes
    return TDAS(several, weight), slice(votes.n_members)


def _member_shard(loads: Sequence[Callable[[], Votes]], weight: float) -> list[_PieceTDAS]:
    return [_piece_tdas(load(), weight) for load in loads]


def _counts_of_members(shard: list[_PieceTDAS]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sizes = np.concatenate([piece.sizes[own] for piece, own in shard])
    return sizes, np.concatenate([piece.truth_counts[own] for piece, own in shard])


def _distances(shard: list[_PieceTDAS], chosen: Votes, profile: Profile, n_threads: int) -> Floats:
    def of_piece(held: _PieceTDAS) -> Floats:
        objective, own = held
        return objective.rows_of(chosen, profile)[:, own]

    return np.concatenate(_in_threads(of_piece, shard, n_threads), axis=1)


def _in_threads(function: Callable[[Any], Any], items: Sequence[Any], n_threads: int) -> list[Any]:
    if n_threads == 1 or len(items) == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(function, items))


def _row_shard(source: Votes | VoteStore, samples: slice) -> Votes:
    return source.rows(samples) if isinstance(source, VoteStore) else source.run(samples)


def _counts_of_rows(votes: Votes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return votes.sizes, votes.truth_counts


def _pair_counts(
    votes: Votes, members: MemberIndices, block: slice, n_threads: int
) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """Return counts of label pairs, and the axes that restore their layout."""
    cuts = np.linspace(block.start, block.stop, n_threads + 1).astype(int).tolist()
    runs = [slice(first, last) for first, last in pairwise(cuts) if last > first]

    def count(run: slice) -> NDArray[np.int32]:
        return votes.joint_counts(members, run).astype(np.int32)

    tables = np.concatenate(_in_threads(count, runs, n_threads), axis=1)
    if not votes.packed.counts_cells_first:
        return tables, (0, 1, 2, 3)
    return np.ascontiguousarray(tables.transpose(2, 3, 0, 1)), (2, 3, 0, 1)
