"""Votes on blocks of samples, and exact counts of correctly predicted samples."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from secateurs._renamed_modules import restore_renamed
from secateurs.ensembles import Ensemble
from secateurs.labels import argmax_with_ties
from secateurs.measures.group_predictions import EQUAL_WEIGHTS, GroupWeights
from secateurs.outputs import vote_kernels
from secateurs.outputs.input_checks import effective_members
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, MemberIndices, Samples

Counts: TypeAlias = NDArray[np.int64]

NORMAL_97_5 = 1.959964  # the 97.5 % quantile of the normal distribution
_DECODED_AT_ONCE = 64  # members: decoding one at a time takes ten times as long for few samples
_MAX_CODES = 1 << 26  # bounds the memory of one block's decoded votes to 64 or 128 MiB
_MAX_PREFIX_CELLS = 1 << 16  # cells of prefixes × samples: 512 KiB of floats, which stay in cache
_MAX_CONTRIBUTIONS = 1 << 24  # bounds the memory of one block's contributions to 128 MiB


@dataclass(frozen=True, eq=False)
class VoteBlock:
    """Votes on a block of samples, and each member's contribution to the ensemble's own vote."""

    sample_indices: IndexArray
    votes: Votes  # with the true labels
    # (n_members, n_samples, n_ensemble_classes); None if the ensemble's own vote counts labels.
    contributions: FloatArray | None
    classes: IndexArray  # codes of the ensemble's classes among those of the votes

    @cached_property
    def _all_codes(self) -> Array | None:
        """The codes that all members vote for: (members, samples); None if they are too many."""
        if self.votes.n_members * self.votes.n_samples > _MAX_CODES:
            return None
        return self.votes.codes(range(self.votes.n_members))

    def _codes_of(self, members: MemberIndices) -> Array:
        codes = self._all_codes
        return self.votes.codes(members) if codes is None else codes[list(members)]

    @cached_property
    def _full_codes(self) -> dict[bool, Array]:
        return {}

    def full_codes(self, own: bool) -> Array:
        """Return the codes that the full ensemble votes for."""
        if own not in self._full_codes:
            members = range(self.votes.n_members)
            self._full_codes[own] = next(self.winning_codes([members], own))
        return self._full_codes[own]

    def winning_codes(
        self, groups: Iterable[Sequence[int]], own: bool, weights: GroupWeights = EQUAL_WEIGHTS
    ) -> Iterator[Array]:
        """Yield the codes that groups of members vote for; −1 for samples without any vote.

        A group that extends the previous group is quick. ``weights`` has the weights of members
        in some of the groups, by the index of the group.
        """
        contributions = self.contributions if own else None
        n_classes = self.votes.n_classes if contributions is None else len(self.classes)
        dtype = np.int32 if contributions is None else np.float64
        tally = self.votes.empty_tally(n_classes, dtype)
        counted: list[int] = []  # the members in the tally
        for index, group in enumerate(effective_members(self.votes, group) for group in groups):
            if index in weights:
                yield self._weighted_winners(group, weights[index], contributions)
                continue
            if list(group[: len(counted)]) != counted:
                tally, counted = np.zeros_like(tally), []
            added = group[len(counted) :]
            if contributions is None:
                for start in range(0, len(added), _DECODED_AT_ONCE):
                    codes = self._codes_of(added[start : start + _DECODED_AT_ONCE])
                    vote_kernels.tally_votes(codes, 1, tally)
            else:
                for member in added:
                    tally += contributions[member]
            counted = list(group)
            if contributions is None:
                winner = np.empty(len(tally), dtype=np.intp)
                vote_kernels.find_winners(tally, winner)
            else:  # means, not sums, so that near ties round as in the model
                winner = self.classes[(tally / len(counted)).argmax(axis=1)]
            yield self._mark_unanswered(winner, tally)

    def count_prefix_hits(
        self, order: Sequence[int], own: bool, full_right: BoolArray
    ) -> Counts | None:
        """Count the samples that each prefix of an order predicts correctly: (2, members).

        The second row has the samples that the full ensemble predicts correctly too. None if some
        votes are missing, and for prefixes of a boosted model, which do not vote.
        """
        contributions, codes = (self.contributions if own else None), self._all_codes
        if self.votes.has_missing or self.votes.is_sequential or codes is None:
            return None
        classes = np.arange(self.votes.n_classes) if contributions is None else self.classes
        n_members = np.arange(1.0, len(order) + 1)[:, None]
        hits = np.zeros((2, len(order)), dtype=np.int64)
        step = max(1, _MAX_PREFIX_CELLS // len(order))
        for first in range(0, self.votes.n_samples, step):
            block = slice(first, first + step)
            ordered_codes = codes[order, block] if contributions is None else codes
            winner = np.full((len(order), len(full_right[block])), classes[0])
            for index, code in enumerate(classes):
                sums: Array
                if contributions is None:
                    sums = np.cumsum(ordered_codes == code, axis=0, dtype=np.int32)
                else:  # means, not sums, so that near ties round as in the model
                    sums = np.cumsum(contributions[order, block, index], axis=0) / n_members
                if index == 0:
                    most = sums
                    continue
                np.copyto(winner, code, where=sums > most)
                np.maximum(sums, most, out=most)
            right = winner == self.votes.truth[block]
            hits[0] += np.count_nonzero(right, axis=1)
            hits[1] += np.count_nonzero(right & full_right[block], axis=1)
        return hits

    def _mark_unanswered(self, winner: Array, tally: Array) -> Array:
        """Return winners with −1 for samples without any vote."""
        return np.where(tally.any(axis=1), winner, -1) if self.votes.has_missing else winner

    def _weighted_winners(
        self, group: MemberIndices, weights: FloatArray, contributions: FloatArray | None
    ) -> Array:
        """Return the codes that a group of weighted members votes for."""
        tally = self.votes.empty_tally(dtype=np.float64)
        for member, weight in zip(group, weights, strict=True):
            if contributions is None:
                vote_kernels.tally_votes(self._codes_of([member]), weight, tally)
            else:
                tally[:, self.classes] += weight * contributions[member]
        return self._mark_unanswered(argmax_with_ties(tally), tally)


@dataclass(frozen=True, eq=False)
class VotedSamples:
    """Samples with votes and true labels, and the ensemble whose own vote is evaluated on them."""

    __setstate__ = restore_renamed(scores="soft_predictions")

    votes: Votes  # with the true labels
    ensemble: Ensemble | None = None  # None if the samples are not kept: labels are counted
    X: Samples = None  # as the ensemble's predict accepts them
    # The members' probabilities, if they are known and the samples are not kept.
    soft_predictions: Predictions | None = None

    @property
    def counts_labels(self) -> bool:
        """Whether the vote simply counts labels."""
        if self.ensemble is None or self.votes.is_sequential:
            return True
        return not self.ensemble.is_soft and self.ensemble.weights is None

    def vote_blocks(self, samples: IndexArray | None = None) -> Iterator[VoteBlock]:
        """Yield the votes on some samples, or on all, in blocks that fit in memory."""
        indices = np.arange(self.votes.n_samples) if samples is None else samples
        if self.ensemble is None or self.counts_labels:
            yield VoteBlock(indices, self._votes_on(indices), None, np.arange(self.votes.n_classes))
            return
        classes = np.searchsorted(self.votes.classes, self.ensemble.classes)
        needs_samples = self.soft_predictions is None and self.ensemble.is_soft
        prepared = self.ensemble.prepare_input(self.X) if needs_samples else None
        step = max(1, _MAX_CONTRIBUTIONS // (self.votes.n_members * len(classes)))
        for first in range(0, len(indices), step):
            block = indices[first : first + step]
            votes = self._votes_on(block)
            yield VoteBlock(
                block, votes, self._member_contributions(prepared, block, votes), classes
            )

    def _votes_on(self, indices: IndexArray) -> Votes:
        return self.votes if len(indices) == self.votes.n_samples else self.votes.rows(indices)

    def _member_contributions(
        self, prepared: Samples, indices: IndexArray, votes: Votes
    ) -> FloatArray:
        assert self.ensemble is not None
        if self.soft_predictions is not None:
            own_weights, soft = self.ensemble.weights, self.soft_predictions.rows(indices)
            weights = np.ones(votes.n_members) if own_weights is None else own_weights
            # The true labels may have classes that the ensemble does not know.
            known = np.searchsorted(soft.classes, self.ensemble.classes)
            return np.stack([weight * soft.values(m)[:, known] for m, weight in enumerate(weights)])
        if not self.ensemble.is_soft:  # weighted votes, which do not need the samples
            assert self.ensemble.weights is not None
            classes = np.searchsorted(votes.classes, self.ensemble.classes)
            return np.stack(
                [
                    weight * (votes.codes([member])[0][:, None] == classes)
                    for member, weight in enumerate(self.ensemble.weights)
                ]
            )
        block = _safe_indexing(prepared, indices)
        contributions = np.stack(
            [self.ensemble.vote_contribution(block, member) for member in range(votes.n_members)]
        )
        if votes.has_missing:  # out of bag: members do not vote on their training samples
            for member, contribution in enumerate(contributions):
                contribution[votes.codes([member])[0] == votes.n_classes] = 0.0
        return contributions


@dataclass(frozen=True, eq=False)
class AccuracyCounts:
    """Numbers of correctly predicted samples by size, compared with the full ensemble."""

    __setstate__ = restore_renamed(
        n_rows="n_samples", whole="n_right_full", right="n_right", lost="n_lost", won="n_won"
    )

    n_samples: int
    n_right_full: int  # samples that the full ensemble predicts correctly
    n_right: Counts  # by size
    n_lost: Counts  # right in the full ensemble, wrong in the sub-ensemble
    n_won: Counts  # wrong in the full ensemble, right in the sub-ensemble

    def __add__(self, other: AccuracyCounts) -> AccuracyCounts:
        return AccuracyCounts(*map(add, vars(self).values(), vars(other).values()))

    @property
    def accuracy(self) -> FloatArray:
        """Fraction of samples predicted correctly, by size."""
        return self.n_right / self.n_samples

    @property
    def full_accuracy(self) -> float:
        """Fraction of samples that the full ensemble predicts correctly."""
        return self.n_right_full / self.n_samples

    @property
    def change(self) -> FloatArray:
        """Accuracy minus that of the full ensemble, by size."""
        return (self.n_won - self.n_lost) / self.n_samples

    @property
    def values(self) -> FloatArray:
        """The accuracy, under the name of the scores of a `ScoreCurve`."""
        return self.accuracy

    @property
    def full_value(self) -> float:
        """The accuracy of the full ensemble, under the name that it has in a `ScoreCurve`."""
        return self.full_accuracy

    def at_full_ensemble(self) -> AccuracyCounts:
        """Return the counts of a single size, the full ensemble."""
        zero = np.zeros(1, dtype=np.int64)
        return AccuracyCounts(
            self.n_samples, self.n_right_full, zero + self.n_right_full, zero, zero
        )

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the accuracy, by size."""
        return np.sqrt(self.accuracy * (1 - self.accuracy) / self.n_samples)

    @property
    def half_width(self) -> FloatArray:
        """Half of the 95 % interval of the change; each sample contributes −1, 0 or 1 to it."""
        moved = (self.n_won + self.n_lost) / self.n_samples
        return NORMAL_97_5 * np.sqrt((moved - self.change**2) / self.n_samples)


def count_correct(
    block: VoteBlock,
    groups: Sequence[Sequence[int]],
    own: bool,
    wanted: Container[int] = (),
    weights: GroupWeights = EQUAL_WEIGHTS,
) -> tuple[AccuracyCounts, dict[int, Array]]:
    """Count the samples that groups predict correctly; return the codes of wanted groups too."""
    truth = block.votes.truth
    full_right = block.full_codes(own) == truth
    n_right_full = int(np.count_nonzero(full_right))
    n_right = np.zeros((2, len(groups)), dtype=np.int64)  # in the group, and in both
    codes = {}
    longest = max(groups, key=len)
    prefix_hits = None
    if all(longest[: len(group)] == group for group in groups):
        prefix_hits = block.count_prefix_hits(longest, own, full_right)
    winners: Iterable[tuple[int, Array]]
    if prefix_hits is None:
        winners = enumerate(block.winning_codes(groups, own, weights))
    else:
        n_right[:] = prefix_hits[:, [len(group) - 1 for group in groups]]
        winners = (
            (index, next(block.winning_codes([groups[index]], own, {0: weights[index]})))
            for index in weights
        )
    for index, winner in winners:
        right = winner == truth
        n_right[:, index] = np.count_nonzero(right), np.count_nonzero(right & full_right)
        if index in wanted and index in weights:
            codes[index] = winner
    for index, group in enumerate(groups):
        if index in wanted and index not in weights:
            # Sum votes in the order of members, so that near ties round as in a sliced ensemble.
            codes[index] = next(block.winning_codes([sorted(group)], own))
            right = codes[index] == truth
            n_right[:, index] = np.count_nonzero(right), np.count_nonzero(right & full_right)
    n_groups_right, n_both = n_right
    counts = n_groups_right, n_right_full - n_both, n_groups_right - n_both
    return AccuracyCounts(len(truth), n_right_full, *counts), codes
