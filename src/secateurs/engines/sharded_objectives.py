"""The pair objectives TDAS and joint error over shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from secateurs.engines.sharding import ShardedObjective, Shards
from secateurs.exceptions import InputError
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
from secateurs.outputs.base_votes import MOST_TABLE_CLASSES, empty_count_tables
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import EncodedPredictions
from secateurs.outputs.vote_store import VoteStore
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, MemberIndices
from secateurs.units import format_bytes

# Cells of joint counts per message: 16 MB of int32. More per message than blocks in memory have,
# because a message costs more than memory (docs/decisions/0014-counts-and-memory.md).
_SENT_CELLS = 1 << 22

LabelPairs: TypeAlias = tuple[NDArray[np.int32], tuple[int, ...]]  # counts, and the order of axes


class ShardedTDAS(ShardedObjective, TDAS):
    """TDAS over shards."""

    local_class = TDAS
    method_name = "comep"

    def __init__(self, votes: Votes | VoteStore, diversity_weight: float, shards: Shards) -> None:
        super().__init__(votes, diversity_weight, shards)
        if votes.n_classes > MOST_TABLE_CLASSES:
            needed = format_bytes(8 * votes.n_members * votes.n_classes**2)
            raise InputError(
                f"COMEP cannot be distributed with {votes.n_classes:,} classes: counts by pairs of "
                f"classes would need {needed}. Leave out {{executor}}, and keep the votes in "
                "memory: in one process, COMEP needs no such counts.",
                executor=...,
            )
        sizes, counted = shards.member_totals(_label_counts)
        truth = empty_count_tables(votes.n_members, votes.n_labels)
        truth[...] = counted
        self._init_state(diversity_weight, Profile.from_counts(sizes, truth))

    @staticmethod
    def make_piece(parameter: float, outputs: Votes) -> _PieceTDAS:
        """Return TDAS of some members, with this weight of diversity."""
        return _PieceTDAS(outputs, parameter)

    @staticmethod
    def pair_bytes(votes: EncodedPredictions) -> int:
        """Return the number of bytes of a table of label pairs, counted in int32."""
        return 4 * int(votes.n_classes) ** 2

    @staticmethod
    def count_pairs(
        outputs: Votes, members: MemberIndices, block: slice, context: object
    ) -> NDArray[np.int32]:
        """Return the tables of label pairs of some members with a block of members."""
        return outputs.joint_counts(members, block).astype(np.int32)

    @staticmethod
    def join_counts(outputs: Votes, counted: list[NDArray[np.int32]]) -> LabelPairs:
        """Return the counts of several blocks, and the axes that restore their order."""
        tables = np.concatenate(counted, axis=1)
        if not outputs.packed.counts_cells_first:
            return tables, (0, 1, 2, 3)
        # NumPy's sums depend on the memory layout, so that it must be the one of one machine.
        return np.ascontiguousarray(tables.transpose(2, 3, 0, 1)), (2, 3, 0, 1)

    def worker_context(self, members: MemberIndices) -> Profile:
        """Return the profile of the members."""
        return self.profile.for_members(members)

    def message_blocks(self, n_rows: int) -> Iterator[slice]:
        """Cut the members into blocks whose tables with ``n_rows`` members fit one message."""
        blocks: Iterator[slice] = self._votes.member_blocks(0, n_rows, _SENT_CELLS)
        return blocks

    def pair_values(
        self, counted: list[LabelPairs], members: MemberIndices, block: slice
    ) -> Floats:
        """Return TDAC from the counts of label pairs."""
        tables: Array = sum(counts.astype(np.int64) for counts, _ in counted)  # type: ignore[assignment]
        axes = counted[0][1]
        own, others = self.profile.for_members(members), self.profile.for_members(block)
        return self.tdac_from_tables(tables.transpose(axes), own, others)


class _PieceTDAS:
    """TDAS of a piece of members."""

    def __init__(self, votes: Votes, weight: float) -> None:
        # A single member is doubled, because NumPy sums a single table in another order.
        self._objective = TDAS(votes.take([0, 0]) if votes.n_members == 1 else votes, weight)
        self._n_members = votes.n_members

    @property
    def sizes(self) -> Array:
        return self._objective.sizes[: self._n_members]

    @property
    def truth_counts(self) -> Array:
        return self._objective.truth_counts[: self._n_members]

    def rows_against(self, chosen: Votes, context: Profile) -> Floats:
        return self._objective.distances_from(chosen, context)[:, : self._n_members]


def _label_counts(outputs: Votes | _PieceTDAS) -> tuple[Array, Array]:
    """Return the number of votes for each class, and the counts by vote and true label."""
    return outputs.sizes, outputs.truth_counts


class ShardedJointError(ShardedObjective, JointError):
    """Joint error over shards; its products are integers, which add up exactly."""

    local_class = JointError
    method_name = "joint"

    def __init__(self, votes: EncodedPredictions, shrink: float, shards: Shards) -> None:
        super().__init__(votes, shrink, shards)
        finest = finest_binary_places(votes)
        self._binary_places = exact_binary_places(
            votes, finest, max(shards.map_pieces(_largest_absolute_error, finest))
        )
        own = ErrorProducts(*shards.member_totals(_own_error_products, self._binary_places))
        self._init_state(own, product_exponent(votes, self._binary_places), shrink)

    @staticmethod
    def make_piece(parameter: float, outputs: Votes | Predictions) -> _PieceErrors:
        """Return the errors of some members."""
        return _PieceErrors(outputs)

    @staticmethod
    def pair_bytes(votes: EncodedPredictions) -> int:
        """Return the number of bytes of a sum and a count, both int64."""
        return 16

    @staticmethod
    def count_pairs(
        outputs: Votes | Predictions, members: MemberIndices, block: slice, context: int
    ) -> ErrorProducts:
        """Return the sums of error products of some members with a block of members."""
        return member_errors(outputs, context).pair_products(outputs.take(members), block)

    @staticmethod
    def join_counts(outputs: Votes | Predictions, counted: list[ErrorProducts]) -> ErrorProducts:
        """Join the sums of several blocks side by side."""
        return ErrorProducts.concatenate_blocks(counted)

    def worker_context(self, members: MemberIndices) -> int:
        """Return the number of binary places of the errors."""
        return self._binary_places

    def message_blocks(self, n_rows: int) -> Iterator[slice]:
        """Return all members as one block: 16 bytes per pair make small messages."""
        yield slice(0, self.n_members)

    def pair_values(
        self, counted: list[ErrorProducts], members: MemberIndices, block: slice
    ) -> Floats:
        """Return −G from the sums of all shards."""
        total = counted[0]
        for products in counted[1:]:
            total = total.combined_with(products)
        return -total.mean_products()


class _PieceErrors:
    """Predictions of a piece of members, from which its errors are computed."""

    def __init__(self, outputs: Votes | Predictions) -> None:
        self.predictions = outputs

    def rows_against(self, chosen: Votes | Predictions, context: int) -> Floats:
        return -member_errors(self.predictions, context).pair_products(chosen).mean_products()


def _largest_absolute_error(piece: Votes | Predictions | _PieceErrors, finest: int) -> int:
    """Return the largest absolute error of a piece."""
    return largest_error(piece.predictions if isinstance(piece, _PieceErrors) else piece, finest)


def _own_error_products(piece: Votes | Predictions | _PieceErrors, places: int) -> ErrorProducts:
    """Return the product of each member's errors with themselves."""
    outputs = piece.predictions if isinstance(piece, _PieceErrors) else piece
    return member_errors(outputs, places).self_products()
