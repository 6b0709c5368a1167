"""Errors of the plurality vote of a set, counted exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.measures.pair_measure import Floats
from secateurs.outputs import vote_kernels
from secateurs.outputs.label_coding import code_dtype
from secateurs.outputs.vote_packing import PackedVotes
from secateurs.outputs.votes import Votes
from secateurs.typing import Array

_MOST_DECODED = 1 << 26  # votes held decoded, beside the packed ones


class VoteError:
    """Errors of the plurality vote, counted exactly.

    Values are minus the errors, in whole units of an error, `units_per_error` of them, so that larger is better and ties
    are exact; `error_rates` turns them into error rates.

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
    >>> objective.error_rates(objective.gains())
    array([0.        , 0.66666667])
    """

    def __init__(self, votes: Votes, ties: str, distinct: bool = False) -> None:
        self._n_samples = votes.n_samples
        self._has_shared_ties = ties == "shared"
        self._n_outcomes = 1 + votes.n_classes if self._has_shared_ties else 2
        most = votes.n_classes if self._has_shared_ties else 1  # classes that can tie
        if not votes.has_missing:
            most = min(most, votes.n_members)
        self.units_per_error = math.lcm(*range(1, most + 1))
        self._tie_units = [0] + [self.units_per_error // n_tied for n_tied in range(1, most + 1)]
        self._tie_units += [0] * (self._n_outcomes - len(self._tie_units))
        self._exact_dtype: Any = (
            np.int64 if self.units_per_error * votes.n_samples < 1 << 62 else object
        )
        self._n_chosen = 0
        self._n_code_reads = 0
        self._decoded_votes: Array | None = None
        self._sample_repeats: NDArray[np.int64] | None = None
        if distinct and self._exact_dtype is np.int64:
            votes, self._decoded_votes, self._sample_repeats = _distinct_samples(votes)
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
        if self._sample_repeats is not None and self._has_shared_ties:
            weights = np.array(self._tie_units)
            worth = vote_kernels.vote_worth(self._tally, self._y, self._sample_repeats, weights)
            return int(worth) - self.units_per_error * self._n_samples
        if not self._has_shared_ties:
            ties = np.bincount(self._tied_classes(), self._sample_repeats, self._n_outcomes).astype(
                np.int64
            )
            return int(self._value_of_counts(ties))
        counts = np.zeros(self._n_outcomes, dtype=np.int64)
        vote_kernels.tie_histogram(self._tally, self._y, counts)
        return int(self._value_of_counts(counts))

    def is_vote_right(self) -> NDArray[np.bool_]:
        """Mark the samples on which the vote is right; ties go to the lowest class."""
        winner = np.empty(self._votes.n_samples, dtype=np.intp)
        vote_kernels.find_winners(self._tally, winner)
        return winner == self._y

    def n_overruled(self) -> NDArray[np.int32]:
        """Count, per sample, those chosen that are wrong where the vote is right, or vice versa."""
        counts = np.empty(self._votes.n_samples, dtype=np.int32)
        vote_kernels.count_overruled_votes(self._tally, self._y, counts)
        return counts

    def gains(self) -> Array:
        """Return minus the errors after adding each member, in units."""
        return self._values_after(self._votes.packed, self._vote_outcomes()[0])

    def flip_gains(self, chosen: NDArray[np.bool_]) -> Array:
        """Return minus the errors after adding each member, or removing it if it is chosen."""
        added, removed = self._vote_outcomes()
        worth = self._values_after(self._votes.packed, added)
        inside = np.flatnonzero(chosen)
        worth[inside] = self._values_after(self._votes.packed.select_members(inside), removed)
        if len(inside) == 1:
            # No members at all are worse than all votes wrong.
            worth[inside] = -self.units_per_error * self._n_samples - 1
        return worth

    def add(self, member: int) -> None:
        """Add a member."""
        self._count_votes(member, 1)

    def remove(self, member: int) -> None:
        """Remove a member."""
        self._count_votes(member, -1)

    def flip_members(self, members: Iterable[int], chosen: NDArray[np.bool_]) -> None:
        """Add members, or remove those that are chosen; updates the mask."""
        for member in members:
            inside = chosen[member]
            self._count_votes(member, -1 if inside else 1)
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
        if self._decoded_votes is not None and self._sample_repeats is not None:
            samples = (
                self._decoded_votes,
                self._y,
                self._sample_repeats,
                np.array(self._tie_units),
            )
            vote_kernels.flip_rounds(flips, *samples, most, chosen, self._tally)
            self._n_chosen = int(chosen.sum())
            return
        value = self.value
        for members in map(np.flatnonzero, flips):
            self.flip_members(members, chosen)
            after = self.value if self._n_chosen <= most else -math.inf
            if after < value:
                self.flip_members(members, chosen)
            else:
                value = after

    @property
    def is_reduced(self) -> bool:
        """Whether there are fewer distinct samples than samples, so that `flip_each` is quick."""
        return self._sample_repeats is not None and len(self._sample_repeats) < self._n_samples

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
        samples = (self._decoded_votes, self._y, self._sample_repeats, np.array(self._tie_units))
        vote_kernels.flip_each(*samples, chosen, self._tally, order, worths)
        self._n_chosen = int(chosen.sum())
        return order, worths - self.units_per_error * self._n_samples

    def reset(self, members: Iterable[int]) -> None:
        """Start again with these members."""
        self._tally[:] = 0
        self._n_chosen = 0
        if self._sample_repeats is not None and self._decoded_votes is not None:
            chosen = np.fromiter(members, dtype=np.intp)
            vote_kernels.tally_votes(self._decoded_votes[chosen], 1, self._tally)
            self._n_chosen = len(chosen)
            return
        for member in members:
            self.add(member)

    def error_rates(self, values: Any) -> Floats:
        """Return values as error rates."""
        rates = -np.asarray(values) / (self.units_per_error * self._n_samples)
        return np.asarray(rates, dtype=float)  # of one huge integer it is a number, not an array

    def _count_votes(self, member: int, step: int) -> None:
        vote_kernels.tally_votes(self._member_codes(member), step, self._tally)
        self._n_chosen += step

    def _member_codes(self, member: int) -> Array:
        """Return a member's votes; after enough calls all votes are decoded at once."""
        self._n_code_reads += 1
        votes = self._votes
        if (
            self._n_code_reads == votes.n_members
            and votes.n_members * votes.n_samples <= _MOST_DECODED
        ):
            self._decoded_votes = votes.packed.decode()
        return (
            votes.codes([member])
            if self._decoded_votes is None
            else self._decoded_votes[member][None]
        )

    def _values_after(self, packed: PackedVotes, outcomes: Array) -> Any:
        """Return minus the errors after each member's votes lead to outcomes, in units."""
        if self._sample_repeats is None or len(self._sample_repeats) == self._n_samples:
            return self._value_of_counts(packed.outcome_counts(outcomes, self._n_outcomes))
        weights = np.array(self._tie_units)[outcomes] * self._sample_repeats
        return packed.weighted_sums(weights) - self.units_per_error * self._n_samples

    def _vote_outcomes(self) -> tuple[Array, Array]:
        n_classes = self._votes.n_classes
        shape = (self._votes.packed.n_classes, self._votes.n_samples)
        added = np.empty(shape, dtype=code_dtype(self._n_outcomes))
        removed = np.empty_like(added) if self._has_shared_ties else added
        if self._votes.has_missing:
            added[n_classes:] = removed[n_classes:] = (
                self._tied_classes()
            )  # no vote changes nothing
        if not self._has_shared_ties:
            vote_kernels.outcomes_lowest(self._tally, self._y, added[:n_classes])
            return added, added
        vote_kernels.outcomes_shared(self._tally, self._y, added[:n_classes], removed[:n_classes])
        return added, removed

    def _tied_classes(self) -> Array:
        """Return the number of classes tied with the true one, per sample; 0 where it lost."""
        if self._has_shared_ties:
            ties = np.empty(self._votes.n_samples, dtype=np.intp)
            vote_kernels.ties_per_sample(self._tally, self._y, ties)
            return ties
        return self.is_vote_right().astype(np.intp)

    def _value_of_counts(self, counts: NDArray[np.int64]) -> Any:
        """Return minus the errors from counts of samples by number of tied classes."""
        weights = np.array(self._tie_units, dtype=self._exact_dtype)
        return (
            counts.astype(self._exact_dtype, copy=False) @ weights
            - self.units_per_error * self._n_samples
        )


def _distinct_samples(votes: Votes) -> tuple[Votes, Array, NDArray[np.int64]]:
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
