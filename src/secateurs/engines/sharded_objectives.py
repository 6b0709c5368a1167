"""TDAS and joint error over shards."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.engines.sharding import ShardedObjective, Shards
from secateurs.measures.member_errors import (
    ErrorProducts,
    exact_binary_places,
    finest_binary_places,
    largest_error,
    member_errors,
    product_exponent,
)
from secateurs.measures.pair_measure import Floats
from secateurs.objectives import TDAS, JointError, Profile
from secateurs.outputs.votes import Votes, empty_count_tables
from secateurs.typing import Array, MemberIndices

_SENT_CELLS = 1 << 22  # cells of joint counts per message


class ShardedTDAS(ShardedObjective, TDAS):
    """TDAS over shards."""

    local_class = TDAS
    method_name = "comep"

    def __init__(self, votes: Any, diversity_weight: float, shards: Shards) -> None:
        super().__init__(votes, diversity_weight, shards)
        sizes, counted = shards.member_totals(_label_counts)
        truth = empty_count_tables(votes.n_members, votes.n_classes)
        truth[...] = counted
        self._init_state(diversity_weight, Profile.from_counts(sizes, truth), truth)

    @staticmethod
    def make_piece(parameter: float, outputs: Votes) -> "_PieceTDAS":
        """Return TDAS of some members."""
        return _PieceTDAS(outputs, parameter)

    @staticmethod
    def pair_bytes(votes: Any) -> int:
        """Return the bytes of a table of label pairs."""
        return 4 * int(votes.n_classes) ** 2

    @staticmethod
    def count_pairs(
        outputs: Votes, members: MemberIndices, block: slice, ticket: Any
    ) -> NDArray[np.int32]:
        """Count label pairs."""
        return outputs.joint_counts(members, block).astype(np.int32)

    @staticmethod
    def join_counts(
        outputs: Votes, counted: list[Any]
    ) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """Return counts of label pairs, and the axes that restore their layout."""
        tables = np.concatenate(counted, axis=1)
        if not outputs.packed.counts_cells_first:
            return tables, (0, 1, 2, 3)
        return np.ascontiguousarray(tables.transpose(2, 3, 0, 1)), (2, 3, 0, 1)

    def worker_context(self, members: MemberIndices) -> Profile:
        """Return the members' profile."""
        return self.profile.for_members(members)

    def message_blocks(self, n_rows: int) -> Iterator[slice]:
        """Cut the members into blocks whose tables against n_rows are one message."""
        blocks: Iterator[slice] = self._votes.member_blocks(0, n_rows, _SENT_CELLS)
        return blocks

    def pair_values(self, counted: list[Any], members: MemberIndices, block: slice) -> Floats:
        """Return TDAC from the counts of label pairs."""
        tables: Any = sum(counts.astype(np.int64) for counts, _ in counted)
        axes = counted[0][1]
        own, others = self.profile.for_members(members), self.profile.for_members(block)
        return self.tdac_from_tables(tables.transpose(axes), own, others)


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

    def rows_against(self, chosen: Votes, ticket: Profile) -> Floats:
        return self._objective.distances_from(chosen, ticket)[:, : self._n_members]


def _label_counts(outputs: Any) -> tuple[Array, Array]:
    """Return the votes for each class, and counts by vote and true label."""
    return outputs.sizes, outputs.truth_counts


class ShardedJointError(ShardedObjective, JointError):
    """Joint error over shards: integers, which add up exactly."""

    local_class = JointError
    method_name = "joint"

    def __init__(self, votes: Any, shrink: float, shards: Shards) -> None:
        super().__init__(votes, shrink, shards)
        finest = finest_binary_places(votes)
        self._binary_places = exact_binary_places(
            votes, finest, max(shards.map_pieces(_largest_absolute_error, finest))
        )
        own = ErrorProducts(*shards.member_totals(_own_error_products, self._binary_places))
        self._init_state(own, product_exponent(votes, self._binary_places), shrink)

    @staticmethod
    def make_piece(parameter: float, outputs: Any) -> "_PieceErrors":
        """Return errors of some members."""
        return _PieceErrors(outputs)

    @staticmethod
    def pair_bytes(votes: Any) -> int:
        """Return the bytes of a sum and a count."""
        return 16

    @staticmethod
    def count_pairs(
        outputs: Any, members: MemberIndices, block: slice, ticket: int
    ) -> ErrorProducts:
        """Add up products of errors."""
        return member_errors(outputs, ticket).pair_products(outputs.take(members), block)

    @staticmethod
    def join_counts(outputs: Any, counted: list[ErrorProducts]) -> ErrorProducts:
        """Join sums side by side."""
        return ErrorProducts.concatenate_blocks(counted)

    def worker_context(self, members: MemberIndices) -> int:
        """Return the places of the errors."""
        return self._binary_places

    def message_blocks(self, n_rows: int) -> Iterator[slice]:
        """Return all members as one block."""
        yield slice(0, self.n_members)

    def pair_values(self, counted: list[Any], members: MemberIndices, block: slice) -> Floats:
        """Return −G from the sums of all rows."""
        total = counted[0]
        for more in counted[1:]:
            total = total.combined_with(more)
        return -total.mean_products()


class _PieceErrors:
    """What a piece of members predicts."""

    def __init__(self, outputs: Any) -> None:
        self.predictions = outputs

    def rows_against(self, chosen: Any, ticket: int) -> Floats:
        return -member_errors(self.predictions, ticket).pair_products(chosen).mean_products()


def _largest_absolute_error(held: Any, finest: int) -> int:
    """Return the largest absolute error."""
    return largest_error(held.predictions if isinstance(held, _PieceErrors) else held, finest)


def _own_error_products(held: Any, places: int) -> ErrorProducts:
    """Return the products of each member's errors with themselves."""
    outputs = held.predictions if isinstance(held, _PieceErrors) else held
    return member_errors(outputs, places).self_products()
