"""Exact TDAS over shards: the very numbers of one machine, from votes that it could not hold.

Two ways to cut the table of votes. A shard of *members* is sent a chosen member's votes and
answers with its distances to it. A shard of *rows* counts label pairs of all members on its rows;
the counts add up. No shard has a state: what one worker loses, any other makes again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from secateurs.engines._checkpoints import Checkpoints
from secateurs.engines._engines import Engine, InlineEngine, engine_for, gather, running
from secateurs.engines._limits import limits
from secateurs.engines._transport import Members, Part, Parts, parts_for
from secateurs.measures._pair import Floats, pair_matrix
from secateurs.objectives import TDAS, Profile
from secateurs.outputs._kernels import WORD_BITS
from secateurs.outputs._store import VoteStore
from secateurs.outputs._votes import Votes, empty_tables, table_blocks

_SENT_CELLS = 1 << 22  # cells of joint counts that are sent at once


class Shards(Protocol):
    """What the objective asks of votes that are cut up."""

    def profile(self) -> tuple[Profile, NDArray[np.int64]]:
        """What members are by themselves, and their counts by vote and true label."""

    def rows(self, members: Sequence[int], objective: "ShardedTDAS") -> Floats:
        """TDAC of some members to all."""


class ShardedTDAS(TDAS):
    """TDAS of votes that lie in shards; steps are kept beside a store, for the run to go on."""

    def __init__(self, votes: Votes | VoteStore, diversity_weight: float, shards: Shards) -> None:
        self._votes = votes  # type: ignore[assignment]
        self._shards = shards
        profile, self._truth_counts = shards.profile()
        self._begin(diversity_weight, profile)
        self._kept: Checkpoints | None = None
        self._kept_at = time.monotonic()
        self._steps: list[tuple[int, float]] = []
        self._ahead: list[tuple[int, float]] = []

    @property
    def truth_counts(self) -> NDArray[np.int64]:
        """Samples by vote and true label: (members, classes, classes)."""
        return self._truth_counts

    def rows(self, members: Sequence[int] | slice) -> Floats:
        """TDAC of some members to all: (members, all members)."""
        chosen = range(self.n_members)[members] if isinstance(members, slice) else members
        values = self._shards.rows(chosen, self)
        values[np.arange(len(chosen)), chosen] = 0.0
        return values

    def matrix(self) -> Floats:
        """TDAC of all pairs, some members at a time, each pair from the side of one machine."""
        asked: dict[int, Floats] = {}

        def values_of(members: slice, others: slice) -> Floats:
            if members.start not in asked:
                asked.clear()
                asked[members.start] = self.rows(members)
            return asked[members.start][:, others]

        return pair_matrix(self._votes, values_of)

    def resume(self, first: int) -> list[int]:
        """Give the members that an earlier run from this start has chosen already."""
        self._kept = Checkpoints(self._votes, "comep", self._weight, first)
        sums, steps = self._kept.get_array("sums"), self._kept.get("steps")
        if sums is None or steps is None or len(steps) != sums[-1]:
            return [first]
        self._sums = sums[:-1]
        self._ahead = [(int(member), float(value)) for member, value in steps]
        return [member for member, _ in self._ahead]

    def add(self, member: int) -> None:
        """Let a member join."""
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
            # The sums say how many steps they are of, should one file be newer than the other.
            self._kept.put_array("sums", np.append(self._sums, len(self._steps)))
            self._kept.put("steps", self._steps)

    def finish(self) -> None:
        """Forget the steps: the run is done."""
        if self._kept is not None:
            self._kept.clear()


class _Asked:
    """Values held by workers, all asked the same question."""

    _engine: Engine
    _held: list[Any]

    def _ask(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        engine = self._engine
        return gather(engine, [engine.submit(function, held, *args) for held in self._held])


class MemberShards(_Asked):
    """Shards of members: a step sends one member's votes out, and gets distances back."""

    def __init__(self, parts: Parts, engine: Engine, diversity_weight: float) -> None:
        self._source, self._engine = parts.source, engine
        n_shards = max(1, min(engine.n_workers, self._source.n_members // 2))
        runs = np.array_split(np.arange(self._source.n_members), n_shards)
        pieces = [_pieces(parts, run, engine.n_threads) for run in runs]
        self._members = [np.concatenate([p.members for p in shard]) for shard in pieces]
        self._held = [
            engine.hold(_member_shard, [p.found for p in shard], diversity_weight, worker=place)
            for place, shard in enumerate(pieces)
        ]

    def profile(self) -> tuple[Profile, NDArray[np.int64]]:
        """What members are by themselves, and their counts by vote and true label."""
        n_members, n_classes = self._source.n_members, self._source.n_classes
        sizes = np.empty((n_members, n_classes), dtype=np.int64)
        truth = empty_tables(n_members, n_classes)
        counted = self._ask(_counts_of_members)
        for members, (own_sizes, own_truth) in zip(self._members, counted, strict=True):
            sizes[members], truth[members] = own_sizes, own_truth
        return Profile.of(sizes, truth), truth

    def rows(self, members: Sequence[int], objective: ShardedTDAS) -> Floats:
        """TDAC of some members to all."""
        chosen = replace(self._source.take(members), y=None, names=None)
        values = np.empty((len(members), self._source.n_members))
        profile = objective.profile.take(members)
        found = self._ask(_distances, chosen, profile, self._engine.n_threads)
        for others, distances in zip(self._members, found, strict=True):
            values[:, others] = distances
        return values


class RowShards(_Asked):
    """Shards of rows: a step gets counts of all members against one back, and adds them up."""

    def __init__(self, parts: Parts, engine: Engine) -> None:
        self._source, self._engine = parts.source, engine
        n_words = -(-self._source.n_samples // WORD_BITS)
        runs = np.array_split(np.arange(n_words), min(n_words, engine.n_workers))
        samples = [slice(int(run[0]) * WORD_BITS, int(run[-1] + 1) * WORD_BITS) for run in runs]
        self._held = [
            engine.hold(_row_shard, *_row_piece(parts, run), worker=place)
            for place, run in enumerate(samples)
        ]

    def profile(self) -> tuple[Profile, NDArray[np.int64]]:
        """What members are by themselves, and their counts by vote and true label."""
        counted = self._ask(_counts_of_rows)
        truth = empty_tables(self._source.n_members, self._source.n_classes)
        truth[...] = sum(part for _, part in counted)
        sizes: Any = sum(part for part, _ in counted)
        return Profile.of(sizes, truth), truth

    def rows(self, members: Sequence[int], objective: ShardedTDAS) -> Floats:
        """TDAC of some members to all."""
        values = np.empty((len(members), self._source.n_members))
        own = objective.profile.take(members)
        for block in table_blocks(self._source, 0, len(members), _SENT_CELLS):
            parts = self._ask(_pair_counts, members, block, self._engine.n_threads)
            tables: Any = sum(counts.astype(np.int64) for counts, _ in parts)
            axes = parts[0][1]
            values[:, block] = objective.tdac(
                tables.transpose(axes), own, objective.profile.take(block)
            )
        return values


@contextmanager
def sharded_tdas(
    votes: Votes | VoteStore, diversity_weight: float, executor: Any, shard: str
) -> Iterator[ShardedTDAS]:
    """Spread votes over an executor's workers; without one, read a store tile by tile."""
    engine = InlineEngine() if executor is None else engine_for(executor)
    with running(engine), parts_for(votes, engine) as parts:
        by_rows = shard == "rows" or (shard == "auto" and _rows_are_cheaper(votes, engine))
        shards: Shards = (
            RowShards(parts, engine) if by_rows else MemberShards(parts, engine, diversity_weight)
        )
        objective = ShardedTDAS(votes, diversity_weight, shards)
        try:
            yield objective
        except BaseException:
            objective.keep()
            raise


def _rows_are_cheaper(votes: Votes | VoteStore, engine: Engine) -> bool:
    """Compare the bytes that a step moves."""
    n_workers = engine.n_workers
    by_members = n_workers * votes.nbytes / votes.n_members + 8 * votes.n_members
    by_rows = n_workers * votes.n_members * votes.n_classes**2 * 4
    return n_workers > 1 and by_rows < by_members


class _Piece(NamedTuple):
    """Members that lie together, and where a worker finds their votes."""

    members: Members
    found: Any


class _Mapped(NamedTuple):
    """Votes in a tile of a store."""

    store: VoteStore
    tile: int
    rows: slice

    def votes(self) -> Votes:
        """Give them, without a copy."""
        return self.store.mapped(self.tile, self.rows)


def _pieces(parts: Parts, places: NDArray[np.intp], n_threads: int) -> list[_Piece]:
    """Cut a run of members into what lies together, a piece a thread at least."""
    runs = np.array_split(places, max(1, min(n_threads, len(places) // 2)))
    store = parts.source
    if isinstance(store, Votes):
        return [_Piece(run, parts.part(run)) for run in runs]
    pieces = []
    for run in runs:
        for tile in np.unique(run // store.tile_members):
            within = run[run // store.tile_members == tile] % store.tile_members
            rows = slice(int(within[0]), int(within[-1]) + 1)
            pieces.append(_Piece(store.members_of(tile)[rows], _Mapped(store, int(tile), rows)))
    return pieces


def _row_piece(parts: Parts, samples: slice) -> tuple[Any, slice]:
    if parts.is_sent:
        assert isinstance(parts.source, Votes)
        cut = parts.source.run(samples)
        return cut, slice(0, cut.n_samples)
    return parts.source, samples


# What workers do.


class _Held(NamedTuple):
    """Distances to members that lie together."""

    objective: TDAS
    own: slice  # its members; one that is alone is doubled

    @classmethod
    def of(cls, votes: Votes, diversity_weight: float) -> "_Held":
        """Prepare; a member that is alone is doubled, as NumPy sums a single table otherwise."""
        several = votes.take([0, 0]) if votes.n_members == 1 else votes
        return cls(TDAS(several, diversity_weight), slice(votes.n_members))


def _member_shard(found: Sequence[Part | _Mapped], diversity_weight: float) -> list[_Held]:
    return [_Held.of(part.votes(), diversity_weight) for part in found]


def _counts_of_members(shard: list[_Held]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sizes = np.concatenate([piece.sizes[own] for piece, own in shard])
    return sizes, np.concatenate([piece.truth_counts[own] for piece, own in shard])


def _distances(shard: list[_Held], chosen: Votes, profile: Profile, n_threads: int) -> Floats:
    def of_piece(held: _Held) -> Floats:
        return held.objective.rows_of(chosen, profile)[:, held.own]

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
    votes: Votes, members: Sequence[int], block: slice, n_threads: int
) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """Count label pairs; with the axes that bring the counts back into their layout."""
    cuts = np.linspace(block.start, block.stop, n_threads + 1).astype(int).tolist()
    runs = [slice(first, last) for first, last in pairwise(cuts) if last > first]

    def count(run: slice) -> NDArray[np.int32]:
        return votes.joint_counts(members, run).astype(np.int32)

    tables = np.concatenate(_in_threads(count, runs, n_threads), axis=1)
    if not votes.packed.counts_cells_first:
        return tables, (0, 1, 2, 3)
    return np.ascontiguousarray(tables.transpose(2, 3, 0, 1)), (2, 3, 0, 1)
