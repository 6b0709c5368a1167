"""Errors of the plurality vote of a set, counted exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs.measures._pair import Floats
from secateurs.outputs import _vote_kernels
from secateurs.outputs._coding import code_dtype
from secateurs.outputs._packing import Packing
from secateurs.outputs._votes import Votes

_MOST_DECODED = 1 << 26  # votes held decoded, beside the packed ones


class VoteError:
    """Errors of the plurality vote, counted exactly.

    Values are minus the errors, in whole `units` of an error, so that larger is better and ties
    are exact; `rates` turns them into error rates.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.
    ties : {"lowest", "shared"}
        How a tied vote counts: as one for the lowest class, or as 1 − 1/q errors if the true class
        is one of q tied ones.
    distinct : bool, default=False
        Whether equal samples are counted once, times their number: the same values, faster where
        many members agree. What is told per sample is then told per distinct one.

    Examples
    --------
    >>> from secateurs import Votes
    >>> from secateurs.objectives import VoteError
    >>> objective = VoteError(Votes.encode([[0, 1], [1, 1], [1, 0]], [0, 1, 1]), ties="lowest")
    >>> objective.rates(objective.gains())
    array([0.        , 0.66666667])
    """

    def __init__(self, votes: Votes, ties: str, distinct: bool = False) -> None:
        self._n_samples = votes.n_samples
        self._shared = ties == "shared"
        self._n_outcomes = 1 + votes.n_classes if self._shared else 2
        most = votes.n_classes if self._shared else 1  # classes that can tie
        if not votes.has_missing:
            most = min(most, votes.n_members)
        self.units = math.lcm(*range(1, most + 1))
        self._weights = [0] + [self.units // n_tied for n_tied in range(1, most + 1)]
        self._weights += [0] * (self._n_outcomes - len(self._weights))
        self._exact: Any = np.int64 if self.units * votes.n_samples < 1 << 62 else object
        self._n_chosen = 0
        self._n_asked = 0
        self._decoded: Array | None = None
        self._repeats: NDArray[np.int64] | None = None
        if distinct and self._exact is np.int64:
            votes, self._decoded, self._repeats = _distinct(votes)
        self._votes = votes
        self._y = votes.truth
        self._tally = np.zeros((votes.n_samples, votes.n_classes), dtype=np.int32)

    @property
    def n_members(self) -> int:
        """Number of members to choose from."""
        return self._votes.n_members

    @property
    def value(self) -> int | float:
        """Minus the errors of the vote of those chosen, in units; −∞ for no members."""
        if self._n_chosen == 0:
            return -math.inf
        if self._repeats is not None and self._shared:
            weights = np.array(self._weights)
            worth = _vote_kernels.worth_of(self._tally, self._y, self._repeats, weights)
            return int(worth) - self.units * self._n_samples
        if not self._shared:
            ties = np.bincount(self._ties(), self._repeats, self._n_outcomes).astype(np.int64)
            return int(self._worth(ties))
        counts = np.zeros(self._n_outcomes, dtype=np.int64)
        _vote_kernels.tie_counts(self._tally, self._y, counts)
        return int(self._worth(counts))

    def is_right(self) -> NDArray[np.bool_]:
        """Mark the samples on which the vote is right; ties go to the lowest class."""
        winner = np.empty(self._votes.n_samples, dtype=np.intp)
        _vote_kernels.winners(self._tally, winner)
        return winner == self._y

    def n_overruled(self) -> NDArray[np.int32]:
        """Count, per sample, those chosen that are wrong where the vote is right, or vice versa."""
        counts = np.empty(self._votes.n_samples, dtype=np.int32)
        _vote_kernels.overruled(self._tally, self._y, counts)
        return counts

    def gains(self) -> Array:
        """Return minus the errors after adding each member, in units."""
        return self._after(self._votes.packed, self._outcomes()[0])

    def flips(self, chosen: NDArray[np.bool_]) -> Array:
        """Return minus the errors after adding each member, or removing it if it is chosen."""
        added, removed = self._outcomes()
        worth = self._after(self._votes.packed, added)
        inside = np.flatnonzero(chosen)
        worth[inside] = self._after(self._votes.packed.take(inside), removed)
        if len(inside) == 1:
            # No members at all are worse than all votes wrong.
            worth[inside] = -self.units * self._n_samples - 1
        return worth

    def add(self, member: int) -> None:
        """Add a member."""
        self._count(member, 1)

    def remove(self, member: int) -> None:
        """Remove a member."""
        self._count(member, -1)

    def flip(self, members: Iterable[int], chosen: NDArray[np.bool_]) -> None:
        """Add members, or remove those that are chosen; updates the mask."""
        for member in members:
            inside = chosen[member]
            self._count(member, -1 if inside else 1)
            chosen[member] = not inside

    def flip_rounds(self, flips: NDArray[np.bool_], chosen: NDArray[np.bool_], most: int) -> None:
        """Flip members round by round, and undo rounds that leave more errors than before.

        Parameters
        ----------
        flips : ndarray of shape (n_rounds, n_members)
            Members added, or removed if chosen, in each round.
        chosen : ndarray of shape (n_members,)
            Mask of those chosen; updated. An empty set, or one of more than ``most``, is undone.
        most : int
            Largest number of members that may be chosen.
        """
        if self._decoded is not None and self._repeats is not None:
            samples = (self._decoded, self._y, self._repeats, np.array(self._weights))
            _vote_kernels.flip_rounds(flips, *samples, most, chosen, self._tally)
            self._n_chosen = int(chosen.sum())
            return
        value = self.value
        for members in map(np.flatnonzero, flips):
            self.flip(members, chosen)
            after = self.value if self._n_chosen <= most else -math.inf
            if after < value:
                self.flip(members, chosen)
            else:
                value = after

    @property
    def is_reduced(self) -> bool:
        """Whether there are fewer distinct samples than samples, so that `flip_each` is quick."""
        return self._repeats is not None and len(self._repeats) < self._n_samples

    def flip_each(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Flip every member once, always the one that leaves the fewest errors.

        Parameters
        ----------
        chosen : ndarray of shape (n_members,)
            Mask of those chosen; updated.

        Returns
        -------
        order : ndarray of shape (n_members,)
            The members as they were flipped; of equal ones the lowest comes first.
        worths : ndarray of shape (n_members,)
            Minus the errors after each flip, in units; one less than all votes wrong for no
            members.
        """
        order, worths = np.empty(len(chosen), np.intp), np.empty(len(chosen), np.int64)
        samples = (self._decoded, self._y, self._repeats, np.array(self._weights))
        _vote_kernels.flip_each(*samples, chosen, self._tally, order, worths)
        self._n_chosen = int(chosen.sum())
        return order, worths - self.units * self._n_samples

    def reset(self, members: Iterable[int]) -> None:
        """Start again with these members."""
        self._tally[:] = 0
        self._n_chosen = 0
        if self._repeats is not None and self._decoded is not None:
            chosen = np.fromiter(members, dtype=np.intp)
            _vote_kernels.tally_votes(self._decoded[chosen], 1, self._tally)
            self._n_chosen = len(chosen)
            return
        for member in members:
            self.add(member)

    def rates(self, values: Any) -> Floats:
        """Return values as error rates."""
        rates = -np.asarray(values) / (self.units * self._n_samples)
        return np.asarray(rates, dtype=float)  # of one huge integer it is a number, not an array

    def _count(self, member: int, step: int) -> None:
        _vote_kernels.tally_votes(self._codes(member), step, self._tally)
        self._n_chosen += step

    def _codes(self, member: int) -> Array:
        """Return a member's votes; after enough calls all votes are decoded at once."""
        self._n_asked += 1
        votes = self._votes
        if self._n_asked == votes.n_members and votes.n_members * votes.n_samples <= _MOST_DECODED:
            self._decoded = votes.packed.decode()
        return votes.codes([member]) if self._decoded is None else self._decoded[member][None]

    def _after(self, packed: Packing, outcomes: Array) -> Any:
        """Return minus the errors after each member's votes lead to outcomes, in units."""
        if self._repeats is None or len(self._repeats) == self._n_samples:
            return self._worth(packed.outcome_counts(outcomes, self._n_outcomes))
        weights = np.array(self._weights)[outcomes] * self._repeats
        return packed.weighted_sums(weights) - self.units * self._n_samples

    def _outcomes(self) -> tuple[Array, Array]:
        n_classes = self._votes.n_classes
        shape = (self._votes.packed.n_classes, self._votes.n_samples)
        added = np.empty(shape, dtype=code_dtype(self._n_outcomes))
        removed = np.empty_like(added) if self._shared else added
        if self._votes.has_missing:
            added[n_classes:] = removed[n_classes:] = self._ties()  # no vote changes nothing
        if not self._shared:
            _vote_kernels.outcomes_lowest(self._tally, self._y, added[:n_classes])
            return added, added
        _vote_kernels.outcomes_shared(self._tally, self._y, added[:n_classes], removed[:n_classes])
        return added, removed

    def _ties(self) -> Array:
        """Return the number of classes tied with the true one, per sample; 0 where it lost."""
        if self._shared:
            ties = np.empty(self._votes.n_samples, dtype=np.intp)
            _vote_kernels.count_ties(self._tally, self._y, ties)
            return ties
        return self.is_right().astype(np.intp)

    def _worth(self, counts: NDArray[np.int64]) -> Any:
        """Return minus the errors from counts of samples by number of tied classes."""
        weights = np.array(self._weights, dtype=self._exact)
        return counts.astype(self._exact, copy=False) @ weights - self.units * self._n_samples


def _distinct(votes: Votes) -> tuple[Votes, Array, NDArray[np.int64]]:
    """Return votes on distinct samples; their codes; how often each occurs.

    Where that saves less than half of the samples, all stay, each occurring once.
    """
    codes = votes.packed.decode()
    rows = np.ascontiguousarray(np.vstack([codes, votes.truth]).T)
    samples = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel()  # whole rows sort quickly
    _, first, repeats = np.unique(samples, return_index=True, return_counts=True)
    if 2 * len(first) > votes.n_samples:
        return votes, codes, np.ones(votes.n_samples, dtype=np.int64)
    codes, labels = np.ascontiguousarray(codes[:, first]), votes.classes[votes.truth[first]]
    mask = codes == votes.n_classes if votes.has_missing else None
    return Votes.from_codes(codes, votes.classes, labels, mask), codes, repeats.astype(np.int64)
