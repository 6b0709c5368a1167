"""TDAS and joint error over shards."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array, MemberIndices
from secateurs.engines._shards import ShardedObjective, Shards
from secateurs.measures._errors import (
    PairSums,
    errors_of,
    exponent_of,
    finest_places,
    largest_error,
    places_of,
)
from secateurs.measures._pair import Floats
from secateurs.objectives import TDAS, JointError, Profile
from secateurs.outputs._votes import Votes, empty_tables

_SENT_CELLS = 1 << 22  # cells of joint counts per message


class ShardedTDAS(ShardedObjective, TDAS):
    """TDAS over shards."""

    whole = TDAS
    pruner = "comep"

    def __init__(self, votes: Any, diversity_weight: float, shards: Shards) -> None:
        super().__init__(votes, diversity_weight, shards)
        sizes, counted = shards.totals(_counts)
        truth = empty_tables(votes.n_members, votes.n_classes)
        truth[...] = counted
        self._begin(diversity_weight, Profile.of(sizes, truth), truth)

    @staticmethod
    def hold(parameter: float, outputs: Votes) -> "_PieceTDAS":
        """Return TDAS of some members."""
        return _PieceTDAS(outputs, parameter)

    @staticmethod
    def pair_bytes(votes: Any) -> int:
        """Return the bytes of a table of label pairs."""
        return 4 * int(votes.n_classes) ** 2

    @staticmethod
    def count(
        outputs: Votes, members: MemberIndices, block: slice, ticket: Any
    ) -> NDArray[np.int32]:
        """Count label pairs."""
        return outputs.joint_counts(members, block).astype(np.int32)

    @staticmethod
    def joined(outputs: Votes, counted: list[Any]) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """Return counts of label pairs, and the axes that restore their layout."""
        tables = np.concatenate(counted, axis=1)
        if not outputs.packed.counts_cells_first:
            return tables, (0, 1, 2, 3)
        return np.ascontiguousarray(tables.transpose(2, 3, 0, 1)), (2, 3, 0, 1)

    def ticket(self, members: MemberIndices) -> Profile:
        """Return the members' profile."""
        return self.profile.take(members)

    def sent_blocks(self, n_rows: int) -> Iterator[slice]:
        """Cut the members into blocks whose tables against n_rows are one message."""
        blocks: Iterator[slice] = self._votes.member_blocks(0, n_rows, _SENT_CELLS)
        return blocks

    def values(self, counted: list[Any], members: MemberIndices, block: slice) -> Floats:
        """Return TDAC from the counts of label pairs."""
        tables: Any = sum(counts.astype(np.int64) for counts, _ in counted)
        axes = counted[0][1]
        own, others = self.profile.take(members), self.profile.take(block)
        return self.tdac(tables.transpose(axes), own, others)


class _PieceTDAS:
    """TDAS of a piece of members.

    A single one is doubled, because NumPy sums a single table differently.
    """

    def __init__(self, votes: Votes, weight: float) -> None:
        self._objective = TDAS(votes.take([0, 0]) if votes.n_members == 1 else votes, weight)
        self._n_members = votes.n_members

    @property
    def sizes(self) -> Array:
        return self._objective.sizes[: self._n_members]

    @property
    def truth_counts(self) -> Array:
        return self._objective.truth_counts[: self._n_members]

    def rows_of(self, chosen: Votes, ticket: Profile) -> Floats:
        return self._objective.rows_of(chosen, ticket)[:, : self._n_members]


def _counts(outputs: Any) -> tuple[Array, Array]:
    """Return the votes for each class, and counts by vote and true label."""
    return outputs.sizes, outputs.truth_counts


class ShardedJointError(ShardedObjective, JointError):
    """Joint error over shards: integers, which add up exactly."""

    whole = JointError
    pruner = "joint"

    def __init__(self, votes: Any, shrink: float, shards: Shards) -> None:
        super().__init__(votes, shrink, shards)
        finest = finest_places(votes)
        self._places = places_of(votes, finest, max(shards.each(_largest, finest)))
        own = PairSums(*shards.totals(_own, self._places))
        self._begin(own, exponent_of(votes, self._places), shrink)

    @staticmethod
    def hold(parameter: float, outputs: Any) -> "_PieceErrors":
        """Return errors of some members."""
        return _PieceErrors(outputs)

    @staticmethod
    def pair_bytes(votes: Any) -> int:
        """Return the bytes of a sum and a count."""
        return 16

    @staticmethod
    def count(outputs: Any, members: MemberIndices, block: slice, ticket: int) -> PairSums:
        """Add up products of errors."""
        return errors_of(outputs, ticket).pairs(outputs.take(members), block)

    @staticmethod
    def joined(outputs: Any, counted: list[PairSums]) -> PairSums:
        """Join sums side by side."""
        return PairSums.beside(counted)

    def ticket(self, members: MemberIndices) -> int:
        """Return the places of the errors."""
        return self._places

    def sent_blocks(self, n_rows: int) -> Iterator[slice]:
        """Return all members as one block."""
        yield slice(0, self.n_members)

    def values(self, counted: list[Any], members: MemberIndices, block: slice) -> Floats:
        """Return −G from the sums of all rows."""
        total = counted[0]
        for more in counted[1:]:
            total = total.plus(more)
        return -total.means()


class _PieceErrors:
    """What a piece of members predicts."""

    def __init__(self, outputs: Any) -> None:
        self.outputs = outputs

    def rows_of(self, chosen: Any, ticket: int) -> Floats:
        return -errors_of(self.outputs, ticket).pairs(chosen).means()


def _largest(held: Any, finest: int) -> int:
    """Return the largest absolute error."""
    return largest_error(held.outputs if isinstance(held, _PieceErrors) else held, finest)


def _own(held: Any, places: int) -> PairSums:
    """Return the products of each member's errors with themselves."""
    outputs = held.outputs if isinstance(held, _PieceErrors) else held
    return errors_of(outputs, places).own()
