"""Scores of many panels (sets of members) at once: accuracy from margins, squared error from pairs.

Both are exact: margins are integers, and so are the products that the squared error sums up.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from secateurs.objectives._joint_error import JointError
from secateurs.objectives._panel_kernels import (
    score_all_panels,
    score_changed_panels,
    sum_all_panels,
)
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.typing import BoolArray, FloatArray, IndexArray

# All panels of up to this many members are always enumerated; of up to 20 members, if that takes
# about a second: a cell (a panel, a rival class and a sample) takes 0.25 ns.
MOST_ALWAYS, _MOST_MEMBERS, _MOST_CELLS = 16, 20, 1 << 32
# Margins in the linear program of a bound: about a second on one core.
_MOST_BOUND_CELLS = 100_000
_WEIGHT_STEPS = 1 << 30  # steps of the largest sample weight
_VOTE_STEPS = 1 << 14  # steps of the largest weight of a member's vote


class PanelScores(Protocol):
    """Scores of panels of members; larger is better. Panels are masks of members."""

    n_members: int

    @property
    def can_enumerate(self) -> bool:
        """Whether scoring all panels takes a few seconds at most."""

    def score_all(self) -> FloatArray:
        """Return the scores of all panels, by their bit masks; the empty panel has no score."""

    def score_changes(self, panel: BoolArray, added: IndexArray, dropped: IndexArray) -> FloatArray:
        """Return the scores of panels that add or drop a member; −1 adds or drops none."""


class AccuracyPanels:
    """The weight of the samples that a panel predicts correctly.

    A vote is correct if the margin of the true class over every other class is positive, or zero
    for a higher class, since ties go to the lowest class. Each member adds a whole number to each
    margin: votes, or probabilities in steps of 2⁻¹⁴.

    Parameters
    ----------
    outputs : Votes or Predictions
        Labels or probabilities, with the true labels.
    member_weights : ndarray of shape (n_members,), optional
        Weights of the members' votes. Weights that are not whole numbers are rounded to 2⁻¹⁴ of the
        largest.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the samples. Weights that are not whole numbers are rounded to 2⁻³⁰ of the
        largest.

    Examples
    --------
    >>> from secateurs import Votes
    >>> from secateurs.objectives.panel_scores import AccuracyPanels
    >>> AccuracyPanels(Votes.encode([[0, 1], [1, 1], [0, 0]], [0, 1, 1])).score_all()
    array([0., 2., 1., 2.])
    """

    def __init__(
        self,
        outputs: Votes | Predictions,
        member_weights: FloatArray | None = None,
        sample_weight: FloatArray | None = None,
    ) -> None:
        margins, start = _class_margins(outputs)
        if member_weights is not None:
            margins = margins * _whole_weights(member_weights, _VOTE_STEPS)[:, None, None]
            start = start.astype(margins.dtype)
        if outputs.has_missing:  # a sample without any prediction is not correct
            answered = np.stack([~is_missing(outputs, m) for m in range(outputs.n_members)])
            margins = np.concatenate([margins, answered[:, None].astype(margins.dtype)], axis=1)
            start = np.concatenate([start, np.full((1, start.shape[1]), -1, start.dtype)])
        weights = np.ones(outputs.n_samples, dtype=np.int64)
        if sample_weight is not None:
            weights = _whole_weights(sample_weight, _WEIGHT_STEPS)
        self.n_members, self.total_weight = outputs.n_members, int(weights.sum())
        self._merge_equal_samples(margins, start, weights)

    def _merge_equal_samples(
        self, margins: NDArray[np.integer], start: NDArray[np.integer], weights: NDArray[np.int64]
    ) -> None:
        """Store the margins; samples with the same margins become one, with their total weight."""
        columns = np.concatenate([margins.reshape(-1, margins.shape[2]), start])
        first, inverse = np.unique(columns, axis=1, return_index=True, return_inverse=True)[1:]
        self._margins = np.ascontiguousarray(margins[:, :, first])
        self._start = np.ascontiguousarray(start[:, first])
        self._weights = np.zeros(len(first), dtype=np.int64)
        np.add.at(self._weights, inverse.ravel(), weights)
        self._lowest = np.empty(len(first), dtype=self._start.dtype)

    @property
    def can_enumerate(self) -> bool:
        """Whether scoring all panels takes a few seconds at most."""
        n_cells = self._start.size << min(self.n_members, _MOST_MEMBERS)
        is_quick = self.n_members <= _MOST_MEMBERS and n_cells <= _MOST_CELLS
        return self.n_members <= MOST_ALWAYS or is_quick

    def score_all(self) -> FloatArray:
        """Return the scores of all panels, by their bit masks."""
        scores = np.zeros(1 << self.n_members, dtype=np.int64)
        state = self._start.copy()
        score_all_panels(self._margins, state, self._weights, self._lowest, scores)
        return scores.astype(float)

    def score_changes(self, panel: BoolArray, added: IndexArray, dropped: IndexArray) -> FloatArray:
        """Return the scores of panels that add or drop a member; −1 adds or drops none."""
        state = self._start + self._margins[panel].sum(axis=0, dtype=self._start.dtype)
        scores = np.zeros(len(added), dtype=np.int64)
        score_changed_panels(
            self._margins, state, self._weights, self._lowest, added, dropped, scores
        )
        return scores.astype(float)

    def upper_bound(self, cost: FloatArray, limit: float, min_members: int) -> float:
        """Return a score that no panel of at least ``min_members`` exceeds within a total cost.

        Each member has a share of the vote: 1/k in a panel of k members. A correct sample has no
        negative mean margin. The linear program maximises the weight of the correct samples over
        all shares, where a sample may be correct in part. Shares are at most 1/min_members, and
        the mean cost of a member is at most limit/min_members. If that takes too long, the bound
        is the weight of the samples that any affordable member predicts correctly.
        """
        affordable = np.flatnonzero(cost <= limit * (1 + 1e-12))
        if len(affordable) < min_members:
            return 0.0
        # No panel is correct where every member is wrong against the same rival.
        best = self._margins[affordable].max(axis=0) + self._start
        covered = float(self._weights[(best >= 0).all(axis=0)].sum())
        if len(affordable) * self._start.size > _MOST_BOUND_CELLS:
            return covered
        return min(covered, self._relaxed_score(affordable, cost, limit, min_members))

    def _relaxed_score(
        self, affordable: IndexArray, cost: FloatArray, limit: float, min_members: int
    ) -> float:
        """Return the maximum of the linear program of `upper_bound`."""
        margins = self._margins[affordable].reshape(len(affordable), -1).T.astype(float)
        # A mean margin is at least the lowest one; in these units, it is at least −1.
        lowest = -margins.min(axis=1)
        is_open = lowest > 0  # other margins are never negative
        scaled = margins[is_open] / lowest[is_open, None]
        n_samples = len(self._weights)
        sample = np.tile(np.arange(n_samples), len(self._start))[is_open]
        is_counted = np.zeros(n_samples, dtype=bool)
        is_counted[sample] = True
        columns = eye_array(n_samples, format="csr")[sample][:, is_counted]
        # z ≤ 1 + Σ share · margin, with the shares first and the samples z after them.
        upper = hstack([csr_array(-scaled), columns], format="csr")
        budget = csr_array(np.append(cost[affordable], np.zeros(is_counted.sum()))[None])
        weights = self._weights[is_counted].astype(float)
        total = weights.sum() or 1.0
        equal = np.append(np.ones(len(affordable)), np.zeros(len(weights)))[None]
        solved = linprog(
            np.append(np.zeros(len(affordable)), -weights / total),
            A_ub=vstack([upper, budget], format="csr"),
            b_ub=np.append(np.ones(upper.shape[0]), limit / min_members),
            A_eq=equal,
            b_eq=[1.0],
            bounds=[(0, 1 / min_members)] * len(affordable) + [(0, 1)] * len(weights),
            method="highs",
        )
        always = float(self._weights[~is_counted].sum())
        if not solved.success:  # no panel of this size is within the limit
            return 0.0 if solved.status == 2 else float(self.total_weight)
        # The solver is accurate to about 1e-7, and a number of samples is a whole number.
        return float(np.floor(always + (1e-6 - solved.fun) * total))


class SquaredErrorPanels:
    """Minus the squared error of the average of a panel: the sum over its pairs, divided by k²."""

    def __init__(self, outputs: Votes | Predictions) -> None:
        joint = JointError(outputs)
        self.n_members = joint.n_members
        # Values are −G/2 on the diagonal and −G beside it.
        self._products = -joint.matrix()
        np.fill_diagonal(self._products, -2.0 * joint.member_values)

    @property
    def can_enumerate(self) -> bool:
        """Whether scoring all panels takes a few seconds at most."""
        return self.n_members <= _MOST_MEMBERS

    def score_all(self) -> FloatArray:
        """Return the scores of all panels, by their bit masks."""
        sums = np.zeros(1 << self.n_members)
        sum_all_panels(self._products, sums)
        sizes = np.bitwise_count(np.arange(len(sums), dtype=np.uint32)).astype(float)
        sizes[0] = 1.0
        return -sums / sizes**2

    def score_changes(self, panel: BoolArray, added: IndexArray, dropped: IndexArray) -> FloatArray:
        """Return the scores of panels that add or drop a member; −1 adds or drops none."""
        products, rows = self._products, self._products[panel].sum(axis=0)
        is_added, is_dropped = added >= 0, dropped >= 0
        change = np.where(is_added, 2 * rows[added] + products[added, added], 0.0)
        change -= np.where(is_dropped, 2 * rows[dropped] - products[dropped, dropped], 0.0)
        change -= np.where(is_added & is_dropped, 2 * products[added, dropped], 0.0)
        sizes = panel.sum() + is_added.astype(int) - is_dropped
        return -(rows[panel].sum() + change) / np.maximum(sizes, 1) ** 2


def is_missing(outputs: Votes | Predictions, member: int) -> BoolArray:
    """Return the mask of the samples without a prediction of a member."""
    if isinstance(outputs, Predictions):
        return outputs.is_missing(member)
    missing: BoolArray = outputs.codes([member])[0] >= outputs.n_classes
    return missing


def _class_margins(outputs: Votes | Predictions) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return margins of the true class over each other class, and the margins without members.

    Ties are lost against lower classes, so that these margins start at −1.
    """
    truth, n_classes = outputs.truth, max(2, outputs.n_classes)
    shape = (n_classes - 1, outputs.n_samples)
    # The other classes of each sample, in ascending order.
    others = np.arange(n_classes - 1)[:, None] + (np.arange(n_classes - 1)[:, None] >= truth)
    margins = np.empty((outputs.n_members, *shape), dtype=np.int32)
    samples = np.arange(outputs.n_samples)
    for member in range(outputs.n_members):
        if isinstance(outputs, Votes):
            codes = outputs.codes([member])[0]
            margins[member] = (codes == truth).astype(np.int32) - (codes == others)
        else:
            values = np.ldexp(outputs.values(member), outputs.exponent).astype(np.int32)
            if values.shape[1] < n_classes:  # a single class
                values = np.column_stack([values, np.zeros_like(values)])
            margins[member] = values[samples, truth] - values[samples, others]
    return margins, -(others < truth).astype(np.int32)


def _whole_weights(weights: FloatArray, n_steps: int) -> NDArray[np.int64]:
    """Return weights as whole numbers, if need be in steps of the largest weight."""
    if np.array_equal(weights, np.rint(weights)) and weights.max() <= n_steps:
        return weights.astype(np.int64)
    return np.rint(weights / np.abs(weights).max() * n_steps).astype(np.int64)
