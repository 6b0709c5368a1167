"""`VoteError`: the errors of the plurality vote of a set, counted exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.measures.pair_measure import Floats
from secateurs.outputs import vote_kernels
from secateurs.outputs.label_coding import code_dtype
from secateurs.outputs.missing_answers import counts_as_wrong
from secateurs.outputs.vote_packing import PackedVotes
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, IndexArray

_MOST_DECODED = 1 << 26  # votes decoded for speed: 64 MB of bytes in addition to the packed votes


class VoteError:
    """Errors of the plurality vote, counted exactly.

    Values are minus the errors, as integers in units of 1 / ``units_per_error`` of an error, so
    that larger is better and equal values are exactly equal. `error_rates` converts them.

    Parameters
    ----------
    votes : Votes
        Votes with true labels.
    ties : {"lowest", "shared"}
        How a tied vote counts: as a vote for the lowest class, or as 1 − 1/q errors if the true
        class is one of q tied classes. A sample without any vote is an error. With "shared", it is
        a tie of all classes instead if missing votes are left out.
    distinct : bool, default=False
        Whether to count equal samples once, weighted by their number. The values are the same, and
        are computed faster if many members agree. Methods that return one value per sample then
        return one per distinct sample.

    Examples
    --------
    >>> from secateurs import Votes
    >>> from secateurs.objectives import VoteError
    >>> objective = VoteError(Votes.encode([[0, 1], [1, 1], [1, 0]], [0, 1, 1]), ties="lowest")
    >>> objective.error_rates(objective.gains())
    array([0.        , 0.66666667])
    """

    def __init__(
        self, votes: Votes, ties: Literal["lowest", "shared"], distinct: bool = False
    ) -> None:
        self._n_samples = votes.n_samples
        self._has_shared_ties = ties == "shared"
        # A further class, which never gets a vote, ties only where no member votes. A tie of all
        # classes and this one is an error.
        has_no_vote_class = self._has_shared_ties and counts_as_wrong(votes)
        self._n_columns = votes.n_classes + has_no_vote_class
        self._n_outcomes = 1 + self._n_columns if self._has_shared_ties else 2
        most_tied = votes.n_classes if self._has_shared_ties else 1  # classes that can tie
        if not votes.has_missing:
            most_tied = min(most_tied, votes.n_members)
        # 1/q of an error is an integer in these units (docs/decisions/0002-exact-errors.md).
        self.units_per_error = math.lcm(*range(1, most_tied + 1))
        self._tie_units = [0] + [self.units_per_error // q for q in range(1, most_tied + 1)]
        self._tie_units += [0] * (self._n_outcomes - len(self._tie_units))
        # Python integers where the errors of all samples do not fit 64 bits.
        self._exact_dtype: type[np.int64] | type[object] = (
            np.int64 if self.units_per_error * votes.n_samples < 1 << 62 else object
        )
        self._n_selected = 0
        self._n_code_reads = 0
        self._decoded_votes: Array | None = None
        self._sample_repeats: NDArray[np.int64] | None = None
        if distinct and self._exact_dtype is np.int64:
            votes, codes, self._sample_repeats = _distinct_samples(votes)
            self._decoded_votes = self._tallied_codes(codes, votes.n_classes)
        self._votes = votes
        self._y = votes.truth
        self._tally = votes.empty_tally(self._n_columns)

    @property
    def n_members(self) -> int:
        """Number of members to select from."""
        return self._votes.n_members

    @property
    def value(self) -> int | float:
        """Minus the errors of the vote of the selected members, in units; −∞ for no members."""
        if self._n_selected == 0:
            return -math.inf
        if self._sample_repeats is not None and self._has_shared_ties:
            weights = np.array(self._tie_units)
            value = vote_kernels.vote_worth(self._tally, self._y, self._sample_repeats, weights)
            return int(value) - self.units_per_error * self._n_samples
        if not self._has_shared_ties:
            ties = np.bincount(self._tied_classes(), self._sample_repeats, self._n_outcomes)
            return int(self._value_of_counts(ties.astype(np.int64)))
        counts = np.zeros(self._n_outcomes, dtype=np.int64)
        vote_kernels.tie_histogram(self._tally, self._y, counts)
        return int(self._value_of_counts(counts))

    def is_vote_right(self) -> BoolArray:
        """Return where the vote is correct, per sample; ties go to the lowest class.

        A sample without any vote is not correct: a vote for the lowest class would make the result
        depend on the names of the classes.
        """
        winner = self._tally.argmax(axis=1)
        is_right: BoolArray = winner == self._y
        return is_right & self._tally.any(axis=1) if self._votes.has_missing else is_right

    def n_overruled(self) -> NDArray[np.int32]:
        """Count, per sample, the members that are correct if the vote is wrong, or vice versa."""
        n_right = np.take_along_axis(self._tally, self._y[:, None].astype(np.intp), axis=1)[:, 0]
        n_votes = self._tally.sum(axis=1) if self._votes.leaves_out_missing else self._n_selected
        n_wrong = (n_votes - n_right).astype(np.int32)
        return np.where(self.is_vote_right(), n_wrong, n_right)

    def gains(self) -> Array:
        """Return minus the errors after adding each member, in units."""
        return self._values_after(self._votes.packed, self._vote_outcomes()[0])

    def flip_gains(self, chosen: BoolArray) -> Array:
        """Return minus the errors after adding each member, or removing it if it is selected."""
        added, removed = self._vote_outcomes()
        values = self._values_after(self._votes.packed, added)
        selected = np.flatnonzero(chosen)
        values[selected] = self._values_after(self._votes.packed.select_members(selected), removed)
        if len(selected) == 1:
            # The empty set is worse than a set whose votes are all wrong.
            values[selected] = -self.units_per_error * self._n_samples - 1
        return values

    def add(self, member: int) -> None:
        """Add a member."""
        self._count_votes(member, 1)

    def remove(self, member: int) -> None:
        """Remove a member."""
        self._count_votes(member, -1)

    def flip_members(self, members: Iterable[int], chosen: BoolArray) -> None:
        """Add members, or remove those that are selected; updates the mask."""
        for member in members:
            is_selected = chosen[member]
            self._count_votes(member, -1 if is_selected else 1)
            chosen[member] = not is_selected

    def flip_rounds(self, flips: BoolArray, chosen: BoolArray, most: int) -> None:
        """Flip members round by round, and undo rounds after which there are more errors.

        Parameters
        ----------
        flips : ndarray of shape (n_rounds, n_members)
            Members to add, or to remove if selected, in each round.
        chosen : ndarray of shape (n_members,)
            Mask of the selected members; updated in place. Rounds that lead to an empty set, or to
            more than ``most`` members, are undone.
        most : int
            Largest number of members that may be selected.
        """
        if self._decoded_votes is not None and self._sample_repeats is not None:
            tie_units = np.array(self._tie_units)
            samples = self._decoded_votes, self._y, self._sample_repeats, tie_units
            vote_kernels.flip_rounds(flips, *samples, most, chosen, self._tally)
            self._n_selected = int(chosen.sum())
            return
        value = self.value
        for members in map(np.flatnonzero, flips):
            self.flip_members(members, chosen)
            after = self.value if self._n_selected <= most else -math.inf
            if after < value:
                self.flip_members(members, chosen)
            else:
                value = after

    @property
    def can_flip_each(self) -> bool:
        """Whether `flip_each` is available: if equal samples were counted once, in 64 bits."""
        return self._sample_repeats is not None

    def flip_each(self, chosen: BoolArray) -> tuple[IndexArray, NDArray[np.int64]]:
        """Flip every member once, each time the member whose flip leaves the fewest errors.

        Parameters
        ----------
        chosen : ndarray of shape (n_members,)
            Mask of the selected members; updated in place.

        Returns
        -------
        order : ndarray of shape (n_members,)
            The members in the order of their flips; ties are broken by the lowest index.
        values : ndarray of shape (n_members,)
            Minus the errors after each flip, in units. The empty set is one unit worse than a set
            whose votes are all wrong.
        """
        turn_of_member, values = np.full(len(chosen), -1), np.empty(len(chosen), np.int64)
        samples = (self._votes_by_sample, self._y, self._sample_repeats, np.array(self._tie_units))
        n_samples, n_classes = self._tally.shape
        due, gains = np.zeros(n_samples, np.int64), np.zeros(len(chosen), np.int64)
        work = due, gains, np.zeros((2, n_classes + 1), np.int64)
        vote_kernels.flip_each(*samples, chosen, self._tally, *work, turn_of_member, values)
        order = np.argsort(turn_of_member)
        self._n_selected = int(chosen.sum())
        return order, values - self.units_per_error * self._n_samples

    @cached_property
    def _votes_by_sample(self) -> Array:
        """The codes of all votes: (samples, members)."""
        assert self._decoded_votes is not None
        return np.ascontiguousarray(self._decoded_votes.T)

    def reset(self, members: Iterable[int]) -> None:
        """Replace the selected members by these members."""
        self._tally[:] = 0
        self._n_selected = 0
        if self._sample_repeats is not None and self._decoded_votes is not None:
            selected = np.fromiter(members, dtype=np.intp)
            vote_kernels.tally_votes(self._decoded_votes[selected], 1, self._tally)
            self._n_selected = len(selected)
            return
        for member in members:
            self.add(member)

    def error_rates(self, values: ArrayLike) -> Floats:
        """Convert values to error rates."""
        # NumPy converts integers of more than 64 bits to floats unless both sides are objects.
        dtype = object if self._exact_dtype is object else None
        rates = -np.asarray(values, dtype=dtype) / (self.units_per_error * self._n_samples)
        return np.asarray(rates, dtype=float)  # a single huge integer gives a number, not an array

    def _count_votes(self, member: int, step: int) -> None:
        vote_kernels.tally_votes(self._member_codes(member), step, self._tally)
        self._n_selected += step

    def _member_codes(self, member: int) -> Array:
        """Return the codes of a member's votes; after n_members calls all votes stay decoded."""
        self._n_code_reads += 1
        votes = self._votes
        n_votes = votes.n_members * votes.n_samples
        if self._n_code_reads == votes.n_members and n_votes <= _MOST_DECODED:
            self._decoded_votes = self._tallied_codes(votes.packed.decode(), votes.n_classes)
        if self._decoded_votes is None:
            return self._tallied_codes(votes.codes([member]), votes.n_classes)
        return self._decoded_votes[member][None]

    def _tallied_codes(self, codes: Array, n_classes: int) -> Array:
        """Return codes in which a missing vote has no column of the tally."""
        if self._n_columns == n_classes:
            return codes
        return np.where(codes == n_classes, self._n_columns, codes).astype(
            code_dtype(self._n_columns + 1)
        )

    def _values_after(self, packed: PackedVotes, outcomes: Array) -> Array:
        """Return minus the errors if each member's votes lead to these outcomes, in units."""
        if self._sample_repeats is None or len(self._sample_repeats) == self._n_samples:
            return self._value_of_counts(packed.outcome_counts(outcomes, self._n_outcomes))
        weights = np.array(self._tie_units)[outcomes] * self._sample_repeats
        return packed.weighted_sums(weights) - self.units_per_error * self._n_samples

    def _vote_outcomes(self) -> tuple[Array, Array]:
        """Return the outcomes if a class gets one more vote, and one less: (classes, samples)."""
        n_classes, n_columns = self._votes.n_classes, self._n_columns
        shape = (self._votes.packed.n_classes, self._votes.n_samples)
        added = np.empty(shape, dtype=code_dtype(self._n_outcomes))
        removed = np.empty_like(added) if self._has_shared_ties else added
        if not self._has_shared_ties:
            vote_kernels.outcomes_lowest(self._tally, self._y, added[:n_columns])
        else:
            outcomes = added[:n_columns], removed[:n_columns]
            vote_kernels.outcomes_shared(self._tally, self._y, *outcomes)
        if self._votes.has_missing:
            # A missing vote does not change the outcome.
            added[n_classes:] = removed[n_classes:] = self._tied_classes()
        return added, removed

    def _tied_classes(self) -> Array:
        """Return the number of tied classes per sample; 0 if the true class is not among them."""
        if self._has_shared_ties:
            ties = np.empty(self._votes.n_samples, dtype=np.intp)
            vote_kernels.ties_per_sample(self._tally, self._y, ties)
            return ties
        return self.is_vote_right().astype(np.intp)

    def _value_of_counts(self, counts: NDArray[np.int64]) -> Array:
        """Return minus the errors, from counts of samples by number of tied classes."""
        weights = np.array(self._tie_units, dtype=self._exact_dtype)
        n_units = counts.astype(self._exact_dtype, copy=False) @ weights
        return n_units - self.units_per_error * self._n_samples


def _distinct_samples(votes: Votes) -> tuple[Votes, Array, NDArray[np.int64]]:
    """Merge equal samples: return their votes, the codes, and the number of equal samples."""
    codes = votes.packed.decode()
    rows = np.ascontiguousarray(np.vstack([codes, votes.truth]).T)
    # Rows viewed as single values of raw bytes sort fast.
    samples = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel()
    _, first, repeats = np.unique(samples, return_index=True, return_counts=True)
    if 2 * len(first) > votes.n_samples:  # not worth packing again if it saves less than half
        return votes, codes, np.ones(votes.n_samples, dtype=np.int64)
    codes, labels = np.ascontiguousarray(codes[:, first]), votes.classes[votes.truth[first]]
    mask = codes == votes.n_classes if votes.has_missing else None
    distinct = Votes.from_codes(codes, votes.classes, labels, mask)
    distinct = replace(distinct, missing_rule=votes.missing_rule)
    return distinct, codes, repeats.astype(np.int64)
