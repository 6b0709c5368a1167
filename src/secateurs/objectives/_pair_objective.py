"""Objectives that are sums over the pairs of a set, and over its members."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from secateurs.measures.pair_measure import Floats
from secateurs.typing import MemberIndices


class PairObjective(ABC):
    """A sum over the pairs of a set plus one over its members; larger is better.

    Greedy search, swaps and bounds need no more than ``member_values``, what each member is worth by itself,
    and ``matrix_rows``, what it is worth beside each other one.
    """

    member_values: Floats
    value: float
    _sums: Floats
    _chosen: list[int]

    def _start_empty(self, own: Floats) -> None:
        """Begin with no member chosen."""
        self.member_values, self.value = own, 0.0
        self._sums, self._chosen = np.zeros(len(own)), []

    @property
    @abstractmethod
    def n_members(self) -> int:
        """Number of members to choose from."""

    @abstractmethod
    def matrix(self) -> Floats:
        """Return the worth of all pairs, each computed once; 0 for a member with itself."""

    @abstractmethod
    def _compute_rows(self, members: MemberIndices) -> Floats:
        """Return the worth of some members beside all; anything for a member with itself."""

    def matrix_rows(self, members: Sequence[int] | slice) -> Floats:
        """Return the worth of some members beside all: (members, all members)."""
        return self.exact_matrix_rows(members)

    def exact_matrix_rows(self, members: Sequence[int] | slice) -> Floats:
        """Return the same; of an objective that searches see changed, unchanged."""
        chosen = np.arange(self.n_members)[members] if isinstance(members, slice) else members
        values = self._compute_rows(chosen)
        values[np.arange(len(chosen)), chosen] = 0.0
        return values

    def member_blocks(self, first: int = 0, n_rows: int = 1) -> Iterator[slice]:
        """Cut the members from one on into slices whose pairs with n_rows fit into memory."""
        yield slice(first, self.n_members)

    def gains(self) -> Floats:
        """Return what each member adds to those chosen."""
        return self._sums + self.member_values

    def add(self, member: int) -> None:
        """Add a member."""
        self.value += float(self._sums[member] + self.member_values[member])
        self._sums = self._sums + self.exact_matrix_rows([member])[0]
        self._chosen.append(member)

    def resume_selection(self, first: int) -> list[int]:
        """Return the members to start with: the first, and any that an earlier run has chosen."""
        return [first]

    def clear_checkpoint(self) -> None:  # noqa: B027
        """Forget what was kept for a later run."""
