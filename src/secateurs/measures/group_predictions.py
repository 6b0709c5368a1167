"""Predictions to score: of groups of members, from sums over their members, or constant ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Protocol, TypeAlias

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from secateurs.labels import argmax_with_ties
from secateurs.measures.scoring import Scoring
from secateurs.outputs.fixed_point import mean_from_sums, whole_number_weights
from secateurs.outputs.input_checks import effective_members
from secateurs.outputs.missing_answers import fill_unanswered
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, FloatArray, MemberIndices

GroupWeights: TypeAlias = Mapping[int, FloatArray]  # of a group's members, by the group's index
EQUAL_WEIGHTS: GroupWeights = MappingProxyType({})  # in all groups
_BLOCK_CELLS = 1 << 18  # votes decoded at the same time; member by member takes ten times as long


class ScoredPrediction(Protocol):
    """A prediction that can be scored: of a group of members, or a constant."""

    def for_score(self, scoring: Scoring) -> Array:
        """Return the labels, probabilities or values that the score needs."""

    @property
    def samples(self) -> SampleRows | None:
        """The samples, for scorers that read them."""


@dataclass(eq=False)
class GroupPrediction:
    """The combined prediction of a group of members, from sums over its members."""

    outputs: Votes | Predictions
    members: MemberIndices
    weights: FloatArray | None  # of the members, if the group has weights
    total: FloatArray
    present: FloatArray  # total weight of the members that predict a sample

    def for_score(self, scoring: Scoring) -> Array:
        """Return the labels, probabilities or values that the score needs."""
        return self._labels if scoring.uses_labels(self.outputs) else self._mean

    @cached_property
    def _labels(self) -> Array:
        is_equal = self.weights is None
        codes = self.total.argmax(axis=1) if is_equal else argmax_with_ties(self.total)
        labels = self.outputs.classes[codes]
        if not self.outputs.has_missing:
            return labels
        return fill_unanswered(labels, self.present > 0, self.outputs)

    @cached_property
    def _mean(self) -> FloatArray:
        if isinstance(self.outputs, Predictions):
            return self.outputs.mean_from_sums(self.total, self.present)
        return mean_from_sums(self.total, self.present)

    @property
    def samples(self) -> SampleRows | None:
        """The samples with the members that predict other samples."""
        rows = self.outputs.samples
        return None if rows is None else rows.predicted_by(self.members, self.weights)


@dataclass(frozen=True, eq=False)
class ConstantPrediction:
    """The same prediction for all samples: the most frequent class, or the mean of the target."""

    training_truth: Array  # codes of the classes, or values
    outputs: Votes | Predictions  # on the samples to score

    def for_score(self, scoring: Scoring) -> Array:
        """Return the most frequent label, the class frequencies, or the mean, for all samples."""
        model = self._fitted_dummy(scoring.uses_labels(self.outputs))
        has_labels = scoring.uses_labels(self.outputs) or not len(self.outputs.classes)
        predict = model.predict if has_labels else model.predict_proba
        return np.asarray(predict(np.zeros((self.outputs.n_samples, 1))))

    def _fitted_dummy(self, is_hard: bool) -> DummyClassifier | DummyRegressor:
        no_features, classes = np.zeros((len(self.training_truth), 1)), self.outputs.classes
        if not len(classes):
            return DummyRegressor().fit(no_features, self.training_truth)
        strategy = "most_frequent" if is_hard else "prior"
        dummy = DummyClassifier(strategy=strategy).fit(no_features, self.training_truth)
        frequencies = np.zeros(len(classes))
        frequencies[dummy.classes_] = dummy.class_prior_
        dummy.classes_, dummy.class_prior_ = classes, frequencies
        dummy.n_classes_ = len(classes)
        return dummy

    @property
    def samples(self) -> SampleRows | None:
        """The samples, with the constant prediction for other samples."""
        rows = self.outputs.samples
        model = self._fitted_dummy(isinstance(self.outputs, Votes))
        return None if rows is None else replace(rows, given_model=model)


def group_predictions(
    outputs: Votes | Predictions,
    groups: Iterable[Sequence[int]],
    weights: Array | None,
    group_weights: GroupWeights = EQUAL_WEIGHTS,
) -> Iterator[GroupPrediction]:
    """Yield the combined predictions of groups of members; use each before the next.

    A group that extends the previous group is quick. Missing predictions are left out of the mean,
    see `secateurs.outputs.missing_answers` for samples on which all are missing. ``weights`` are
    the ensemble's own weights, ``group_weights`` those of the members in some of the groups.
    """
    n_classes = outputs.n_classes
    shape = (outputs.n_samples, n_classes) if n_classes else (outputs.n_samples,)
    total, present, counted = np.zeros(shape), np.zeros(outputs.n_samples), list[int]()
    for index, group in enumerate(effective_members(outputs, group) for group in groups):
        own_weights = group_weights.get(index)
        if own_weights is not None:
            own_weights = whole_number_weights(own_weights)
        if own_weights is not None or list(group[: len(counted)]) != counted:
            total, present, counted = np.zeros(shape), np.zeros(outputs.n_samples), []
        added = group[len(counted) :]
        if isinstance(outputs, Votes) and weights is None and own_weights is None:
            _add_equal_votes(outputs, added, total, present)
            added = ()
        for position, member in enumerate(added):
            weight = 1.0 if weights is None else float(weights[member])
            weight *= 1.0 if own_weights is None else float(own_weights[position])
            values, is_present = member_prediction(outputs, member)
            total += weight * values
            present += weight * is_present
        # Sums of a weighted group cannot be extended: -1 is not the start of any group.
        counted = list(group) if own_weights is None else [-1]
        yield GroupPrediction(outputs, group, own_weights, total, present)


def _add_equal_votes(
    votes: Votes, members: MemberIndices, total: FloatArray, present: FloatArray
) -> None:
    """Add the votes of members with weight 1 to the sums of each sample and class."""
    samples = (votes.n_classes + 1) * np.arange(votes.n_samples)
    step = max(1, _BLOCK_CELLS // votes.n_samples)
    for first in range(0, len(members), step):
        cells = votes.codes(members[first : first + step]) + samples
        counts = np.bincount(cells.ravel(), minlength=total.size + votes.n_samples)
        counts = counts.reshape(votes.n_samples, -1)[:, :-1]  # the last code is a missing vote
        total += counts
        present += counts.sum(axis=1)


def member_prediction(outputs: Votes | Predictions, member: int) -> tuple[FloatArray, BoolArray]:
    """Return a member's values or probabilities, and a mask of the samples that have them."""
    if isinstance(outputs, Predictions):
        return outputs.values(member), ~outputs.is_missing(member)
    codes = outputs.codes([member])[0]
    return np.eye(outputs.n_classes + 1)[codes][:, :-1], codes < outputs.n_classes
