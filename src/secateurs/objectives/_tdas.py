"""TDAS, the objective of COMEP: diversity and relevance of a set, as a sum over pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from secateurs.measures.information import (
    MOST_LOOKED_UP,
    PairEntropies,
    count_times_log_table,
    entropy_from_counts,
    nmi,
    normalised_variation,
    nvi,
    relevance_to_truth,
)
from secateurs.measures.pair_measure import Counts, Floats, pair_matrix
from secateurs.objectives._pair_objective import PairObjective
from secateurs.outputs import bit_kernels
from secateurs.outputs.base_votes import MOST_TABLE_CLASSES, count_agreed
from secateurs.outputs.missing_answers import first_members
from secateurs.outputs.vote_packing import BitPlanes
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, MemberIndices

# Words of all planes from which a row is computed without tables of counts: 1 MB. Reading fewer
# takes less time than compiling the kernel.
_LEAST_READ_ONCE = 1 << 17
_MOST_MEMBER_WORDS = 1 << 15  # 256 KB: the planes of one member stay in the second-level cache


class Profile(NamedTuple):
    """Entropy of each member, and its relevance to the true labels, as TDAC needs them."""

    entropies: Floats
    relevance: Floats

    @classmethod
    def from_counts(cls, sizes: Counts, truth_counts: Counts) -> Profile:
        """Compute from counts of votes by class, and from counts by vote and true label."""
        return cls(entropy_from_counts(sizes), nmi.of_counts(labels=truth_counts))

    def for_members(self, members: MemberIndices | slice) -> Profile:
        """Return the profile of some members, in the given order."""
        return Profile(self.entropies[members], self.relevance[members])


class TDAS(PairObjective):
    """Trade-off between diversity and accuracy of a set: Eq. 4 to 7 of the paper [1]_.

    The distance of two members is TDAC = λ·NVI + (1−λ)·(NMI + NMI′)/2: the normalised variation of
    information between them, and the normalised mutual information of each with the true labels. It
    is 0 if their votes are equal on all samples. TDAS of a set is the sum over its pairs.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.
    diversity_weight : float
        λ: 0 for relevance only, 1 for diversity only.

    Attributes
    ----------
    truth_counts : ndarray of shape (n_members, n_classes, n_classes)
        Number of samples by vote and true label.

    References
    ----------
    .. [1] Bian et al. "Ensemble pruning based on objection maximization with a general
       distributed framework". TNNLS 2020.

    Examples
    --------
    >>> from secateurs import Votes
    >>> from secateurs.objectives import TDAS
    >>> objective = TDAS(Votes.encode([[0, 1, 0], [0, 0, 1], [1, 1, 1]], [0, 0, 1]), 0.0)
    >>> objective.value_of([0, 1])  # member 0 is always correct: (1 + 0.274) / 2
    0.63700...
    """

    def __init__(self, votes: Votes, diversity_weight: float) -> None:
        self._votes = votes
        profile = Profile(entropy_from_counts(votes.sizes), relevance_to_truth(votes))
        self._init_state(diversity_weight, profile)

    def _init_state(self, weight: float, profile: Profile) -> None:
        self._weight, self.profile = weight, profile
        self._start_empty(np.zeros(self.n_members))

    @property
    def truth_counts(self) -> Counts:
        """Number of samples by vote and true label: (members, classes, classes)."""
        return self._votes.truth_counts

    @property
    def _has_tables(self) -> bool:
        """Whether pairs are counted in tables of labels × labels, which few classes allow."""
        return self._votes.n_classes <= MOST_TABLE_CLASSES

    @property
    def n_members(self) -> int:
        """Number of members to select from."""
        return self._votes.n_members

    @property
    def sizes(self) -> Counts:
        """Number of votes of each member for each class."""
        return self._votes.sizes

    @property
    def relevance(self) -> Floats:
        """Normalised mutual information of each member with the true labels."""
        return self.profile.relevance

    def first_members(self) -> BoolArray:
        """Return the mask of the members that may be selected first."""
        return first_members(self._votes)

    def _compute_rows(self, members: MemberIndices) -> Floats:
        if len(members) == 1 and self._is_read_once:
            return self._distances_from_member(int(members[0]))[None]
        return self.distances_from(self._votes.take(members), self.profile.for_members(members))

    @cached_property
    def _is_read_once(self) -> bool:
        """Whether the rows of single members are computed without tables of all pairs."""
        votes = self._votes
        cells = votes.packed.cells
        return (
            isinstance(votes.packed, BitPlanes)
            and self._is_looked_up
            and cells.size >= _LEAST_READ_ONCE
            and cells[0].size <= _MOST_MEMBER_WORDS
        )

    @property
    def _is_looked_up(self) -> bool:
        """Whether c log c of counts is looked up in a table."""
        return not self._votes.leaves_out_missing and self._votes.n_samples <= MOST_LOOKED_UP

    def _distances_from_member(self, member: int) -> Floats:
        distances = np.empty(self.n_members)
        bit_kernels.distances_from_member(member, *self._kernel_arguments, distances)
        return distances

    @cached_property
    def _kernel_arguments(self) -> tuple[Array, Array, Floats, float, Floats, float, Array]:
        """The arguments of `distances_from_member` that are the same for all members."""
        packed, n_samples = self._votes.packed, self._votes.n_samples
        table = np.empty((packed.n_classes, packed.n_classes), dtype=np.int64)
        logs, profile = count_times_log_table(n_samples), np.stack(self.profile)
        log_n, weight = float(np.log2(n_samples)), float(self._weight)
        return packed.cells, packed.code_counts, logs, log_n, profile, weight, table

    def distances_from(self, others: Votes, profile: Profile) -> Floats:
        """Return the TDAC of other members to all members of this objective: (others, members)."""
        if not self._has_tables:
            return self._tdac_from_codes(others.packed.decode(), profile, slice(None))
        values = np.empty((others.n_members, self.n_members))
        for block in self._votes.member_blocks(n_rows=others.n_members):
            tables = self._votes.joint_counts_of(others, block)
            block_profile = self.profile.for_members(block)
            values[:, block] = self.tdac_from_tables(tables, profile, block_profile)
        return values

    def matrix(self) -> Floats:
        """Return the TDAC of all pairs, each counted once."""
        values = pair_matrix(self, self._block_values)
        np.fill_diagonal(values, 0.0)
        return values

    def member_blocks(self, first: int = 0, n_rows: int = 1) -> Iterator[slice]:
        """Yield slices of the members from ``first`` on whose tables against n_rows are small."""
        if not self._has_tables:
            return super().member_blocks(first, n_rows)
        return self._votes.member_blocks(first, n_rows)

    def value_of(self, members: Sequence[int]) -> float:
        """Return the TDAS of a set of members."""
        return float(TDAS(self._votes.take(members), self._weight).matrix().sum() / 2)

    def _block_values(self, members: slice, others: slice) -> Floats:
        if not self._has_tables:
            codes = self._votes.packed.decode(members)
            return self._tdac_from_codes(codes, self.profile.for_members(members), others)
        tables = self._votes.joint_counts(members, others)
        first, second = self.profile.for_members(members), self.profile.for_members(others)
        return self.tdac_from_tables(tables, first, second)

    def tdac_from_tables(self, tables: Counts, first: Profile, second: Profile) -> Floats:
        """Return the TDAC of pairs from tables of label pairs (first, second, classes, classes)."""
        n_samples = self._votes.n_samples
        if self._is_looked_up:
            distances = np.empty(tables.shape[:2])
            logs = count_times_log_table(n_samples)
            sides = np.stack(first), np.stack(second)
            bit_kernels.distances_of_cells(
                tables, logs, np.log2(n_samples), *sides, float(self._weight), distances
            )
            return distances
        # If missing votes are left out, entropies are over the samples that both members predict.
        diversity = nvi.of_counts(labels=tables)
        return self._combine(
            diversity, first, second, count_agreed(tables) == tables.sum(axis=(-2, -1))
        )

    def _tdac_from_codes(self, codes: Array, first: Profile, members: slice) -> Floats:
        """Return the TDAC of members with these codes to a block of the members."""
        others = self._votes.packed.decode(members)
        second = self.profile.for_members(members)
        pairs = PairEntropies.from_codes(codes, others, self._votes.n_labels)
        if self._votes.leaves_out_missing:
            diversity = normalised_variation(pairs.first, pairs.second, pairs.joint)
        else:
            own, other = first.entropies[:, None], second.entropies
            diversity = normalised_variation(own, other, pairs.joint)
        return self._combine(diversity, first, second, pairs.n_agreed == pairs.n_common)

    def _combine(
        self, diversity: Floats, first: Profile, second: Profile, is_equal: BoolArray
    ) -> Floats:
        """Return the weighted sum of diversity and mean relevance; 0 for equal votes."""
        relevance = (first.relevance[:, None] + second.relevance) / 2
        distances = self._weight * diversity + (1 - self._weight) * relevance
        distances[is_equal] = 0.0
        return distances
