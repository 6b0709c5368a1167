"""Base class of objectives that are sums over the members and the pairs of a set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from secateurs.measures.pair_measure import Floats
from secateurs.typing import BoolArray, MemberIndices


class PairObjective(ABC):
    """A sum over the pairs of a set plus a sum over its members; larger is better.

    Greedy search, swaps and bounds need only ``member_values``, the value of each single member,
    and ``matrix_rows``, the value of a member with each other member.
    """

    member_values: Floats
    value: float
    _sums: Floats
    _selected: list[int]

    def _start_empty(self, member_values: Floats) -> None:
        """Start with no member selected."""
        self.member_values, self.value = member_values, 0.0
        self._sums, self._selected = np.zeros(len(member_values)), []

    @property
    @abstractmethod
    def n_members(self) -> int:
        """Number of members to select from."""

    @abstractmethod
    def matrix(self) -> Floats:
        """Return the values of all pairs, each computed once; 0 on the diagonal."""

    @abstractmethod
    def _compute_rows(self, members: MemberIndices) -> Floats:
        """Return the values of some members with all members; the diagonal is ignored."""

    def matrix_rows(self, members: Sequence[int] | slice) -> Floats:
        """Return the values of some members with all members: (members, all members)."""
        return self.exact_matrix_rows(members)

    def exact_matrix_rows(self, members: Sequence[int] | slice) -> Floats:
        """Return `matrix_rows` without the shrinkage that a subclass may apply to it."""
        indices = np.arange(self.n_members)[members] if isinstance(members, slice) else members
        values = self._compute_rows(indices)
        values[np.arange(len(indices)), indices] = 0.0
        return values

    def member_blocks(self, first: int = 0, n_rows: int = 1) -> Iterator[slice]:
        """Yield slices of the members from ``first`` on whose pairs with n_rows fit into memory."""
        yield slice(first, self.n_members)

    def gains(self) -> Floats:
        """Return the value that each member adds to the selected members."""
        return self._sums + self.member_values

    def leading_gains(self, free: BoolArray) -> Floats:
        """Return the gains of the free members that may be the best; others may be −∞."""
        return self.gains()

    def add(self, member: int) -> None:
        """Add a member."""
        self.value += float(self._sums[member] + self.member_values[member])
        self._sums = self._sums + self.exact_matrix_rows([member])[0]
        self._selected.append(member)

    def resume_selection(self, first: int) -> list[int]:
        """Return the members to start with: ``first``, and those selected by an interrupted run."""
        return [first]

    def clear_checkpoint(self) -> None:  # noqa: B027
        """Remove the steps that were saved for a later run."""
