"""Objectives that are sums over the pairs of a set, and over its members."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from secateurs._labels import MemberIndices
from secateurs.measures._pair import Floats


class PairObjective(ABC):
    """A sum over the pairs of a set plus one over its members; larger is better.

    Greedy search, swaps and bounds need no more than ``own``, what each member is worth by itself,
    and ``rows``, what it is worth beside each other one.
    """

    own: Floats
    value: float
    _sums: Floats
    _chosen: list[int]

    def _start(self, own: Floats) -> None:
        """Begin with no member chosen."""
        self.own, self.value = own, 0.0
        self._sums, self._chosen = np.zeros(len(own)), []

    @property
    @abstractmethod
    def n_members(self) -> int:
        """Number of members to choose from."""

    @abstractmethod
    def matrix(self) -> Floats:
        """Return the worth of all pairs, each computed once; 0 for a member with itself."""

    @abstractmethod
    def _rows(self, members: MemberIndices) -> Floats:
        """Return the worth of some members beside all; anything for a member with itself."""

    def rows(self, members: Sequence[int] | slice) -> Floats:
        """Return the worth of some members beside all: (members, all members)."""
        return self.exact_rows(members)

    def exact_rows(self, members: Sequence[int] | slice) -> Floats:
        """Return the same; of an objective that searches see changed, unchanged."""
        chosen = np.arange(self.n_members)[members] if isinstance(members, slice) else members
        values = self._rows(chosen)
        values[np.arange(len(chosen)), chosen] = 0.0
        return values

    def member_blocks(self, first: int = 0, n_rows: int = 1) -> Iterator[slice]:
        """Cut the members from one on into slices whose pairs with n_rows fit into memory."""
        yield slice(first, self.n_members)

    def gains(self) -> Floats:
        """Return what each member adds to those chosen."""
        return self._sums + self.own

    def add(self, member: int) -> None:
        """Add a member."""
        self.value += float(self._sums[member] + self.own[member])
        self._sums = self._sums + self.exact_rows([member])[0]
        self._chosen.append(member)

    def resume(self, first: int) -> list[int]:
        """Return the members to start with: the first, and any that an earlier run has chosen."""
        return [first]

    def finish(self) -> None:  # noqa: B027
        """Forget what was kept for a later run."""
