"""Ask the members of a panel in turn, and stop as soon as their vote is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.exceptions import InputError
from secateurs.measures.group_predictions import member_prediction
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.outputs.fixed_point import whole_number_weights
from secateurs.outputs.prediction_arrays import as_prediction_array
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.table_members import TableFormat, mask_missing
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners.parameters import is_number
from secateurs.pruning._asking_order import (
    Order,
    cheaper_order,
    is_stopped,
    resolve_order,
    vote_leads,
)
from secateurs.search import TIE
from secateurs.text_format import format_count, format_list
from secateurs.typing import Array, FloatArray, IndexArray, Samples

# A member: called with samples, it returns their labels, or probabilities (samples × classes).
AskMember: TypeAlias = Callable[[Any], ArrayLike]
NOT_FOR_REGRESSION = "Asking in turn needs classes: the mean of values is never decided early."
_MOST_CONFIDENCES = 200  # confidences to stop at that are compared, if a tolerance is given
_MOST_CELLS = 1 << 20  # bounds the memory of comparing confidences to a few MB
_ROUNDING = 1e-9  # lead that other weights must have, relative to their sum


@dataclass(frozen=True, eq=False, repr=False)
class SequentialPanel:
    """A panel whose members are asked in turn. Returned by `Pruning.sequential`.

    Attributes
    ----------
    names : list of str
        The members, in the order in which they are asked.
    order : list of int
        The same members, by their position in the panel.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    cost : ndarray of shape (n_members,)
        The cost of asking each member, in the order in which they are asked.
    confidence : float
        A sample is decided when the lead of its best class is this share of the weight of the
        members that were not asked yet. With 1, the answers are those of the full panel.
    expected_cost : float
        Mean cost per validation sample.
    expected_cost_interval : tuple of float
        Its 95 % interval.
    expected_members : float
        Mean number of members that are asked per validation sample.
    agreement : float
        Share of the validation samples with the same answer as the full panel.
    accuracy_change : float
        Accuracy minus that of the full panel on the validation samples; NaN without true labels.
    """

    names: list[str]
    order: list[int]
    weights: FloatArray  # in the same order
    classes_: Array
    cost: FloatArray
    is_soft: bool  # whether members return probabilities
    fallback: int  # code of the class for samples that no member answers; −1 for no label
    margin: float  # lead beyond the remaining weight that is needed, for weights with rounding
    confidence: float = 1.0
    expected_cost: float = field(default=np.nan)
    expected_cost_interval: tuple[float, float] = (np.nan, np.nan)
    expected_members: float = np.nan
    agreement: float = 1.0
    accuracy_change: float = np.nan

    def predict(
        self,
        members: Mapping[str, AskMember] | Sequence[AskMember],
        X: Samples,
        *,
        return_cost: bool = False,
    ) -> Any:
        """Predict samples; each member is asked only for samples that are not decided yet.

        Parameters
        ----------
        members : dict of str to callable, or list of callable
            Functions that are called with some of the samples and return their labels, or
            probabilities (samples × classes) if the panel averages probabilities. None and NaN are
            abstentions. By name, or in the order of the panel before it was ordered.
        X : array-like, list or data frame
            The samples.
        return_cost : bool, default=False
            Whether to return the cost of each sample as well.

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two such arrays
            The labels, and the costs.
        """
        n_samples = _num_samples(X)
        state, spent = np.zeros((n_samples, len(self.classes_))), np.zeros(n_samples)
        undecided, remaining = np.arange(n_samples), self.remaining_weights
        for position, ask in enumerate(self._ordered(members)):
            if not len(undecided):
                break
            answers = ask(_safe_indexing(X, undecided))
            shares = self._answer_shares(self.names[position], answers, len(undecided))
            state[undecided] += self.weights[position] * shares
            spent[undecided] += self.cost[position]
            lead = vote_leads(state[undecided], self.margin)[1]
            undecided = undecided[~is_stopped(lead, remaining[position], self.confidence)]
        labels = self.classes_[vote_leads(state, self.margin)[0]]
        is_unanswered = ~state.any(axis=1)
        if self.fallback < 0:
            labels = labels.astype(object)
            labels[is_unanswered] = None
        else:
            labels[is_unanswered] = self.classes_[self.fallback]
        return (labels, spent) if return_cost else labels

    @property
    def remaining_weights(self) -> FloatArray:
        """The total weight of the members that are asked after each member."""
        remaining: FloatArray = self.weights.sum() - np.cumsum(self.weights)
        remaining[-1] = 0.0
        return remaining

    def _ordered(self, members: Mapping[str, AskMember] | Sequence[AskMember]) -> list[AskMember]:
        if isinstance(members, Mapping):
            if missing := [name for name in self.names if name not in members]:
                raise InputError(
                    f"{{members}} has no function for {format_list(missing)}. Pass one for each "
                    "member of the panel.",
                    members=...,
                )
            return self._checked([members[name] for name in self.names])
        if len(members) != len(self.names):
            raise InputError(
                f"{{members}} has {format_count(len(members), 'function')}, but the panel has "
                f"{format_count(len(self.names), 'member')}. Pass one for each.",
                members=...,
            )
        return self._checked([members[index] for index in self.order])

    def _checked(self, functions: list[AskMember]) -> list[AskMember]:
        for name, function in zip(self.names, functions, strict=True):
            if not callable(function):
                raise InputError(
                    f"The value for {name} in {{members}} is a {type(function).__name__}. Pass a "
                    "function that is called with samples, such as the predict method of a model.",
                    members=...,
                )
        return functions

    def _answer_shares(self, name: str, answers: ArrayLike, n_samples: int) -> FloatArray:
        """Return a member's answers as shares of the classes; zeros for abstentions."""
        n_classes = len(self.classes_)
        shape = (n_samples, n_classes) if self.is_soft else (n_samples,)
        table: Any = (
            np.ma.asanyarray(answers) if self.is_soft else np.ma.asarray(answers, dtype=object)
        )
        if table.shape != shape:
            raise InputError(
                f"{name} returned answers of shape {table.shape} for "
                f"{format_count(n_samples, 'sample')}. Return {'×'.join(map(str, shape))} "
                f"{'probabilities' if self.is_soft else 'labels'}."
            )
        if self.is_soft:
            classes = TableFormat(classes=self.classes_, kind="probabilities")
            array = as_prediction_array({name: table}, classes)
            return np.ma.filled(array.values, 0.0)[:, 0].astype(float)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        shares = np.zeros((n_samples, n_classes))
        labels: Any = np.ma.asanyarray(mask_missing(table))
        for sample in np.flatnonzero(~np.ma.getmaskarray(labels)):
            label = labels[sample]
            if label not in codes:
                known = format_list([repr(one) for one in codes], " and ")
                raise InputError(f"{name} returned {label!r}, which is not one of {known}.")
            shares[sample, codes[label]] = 1.0
        return shares

    def __repr__(self) -> str:
        how = "the same answers" if self.confidence >= 1 else f"confidence {self.confidence:.3g}"
        is_known = not np.isnan(self.expected_cost)
        expected = f"expected cost {self.expected_cost:.4g} of " if is_known else "cost at most "
        names = ", ".join(self.names)
        return f"SequentialPanel({names}: {expected}{self.cost.sum():.4g}, {how})"


def sequential_panel(  # noqa: PLR0917
    names: Sequence[str],
    outputs: Votes | Predictions,
    weights: FloatArray | None = None,
    cost: ArrayLike | None = None,
    order: Order = "best",
    tolerance: float = 0.0,
    sample_weight: FloatArray | None = None,
) -> SequentialPanel:
    """Return a panel that is asked in turn, with its expected cost on validation samples.

    Parameters
    ----------
    names : sequence of str
        Names of the members.
    outputs : Votes or Predictions
        The members' labels or probabilities on validation samples, with true labels if known.
    weights : ndarray of shape (n_members,), optional
        Weights of the members; by default all are equal.
    cost : array-like of shape (n_members,), optional
        The cost of asking each member; 1 by default.
    order : {"best", "cost", "weight"} or sequence, default="best"
        The order of asking: the order with the least expected cost (for the same answers, of all
        orders of up to 14 members; with a tolerance, the best that moves of single members find),
        cheap members first, members with large weights first, or the members by name or index.
    tolerance : float, default=0
        Accuracy that may be lost on the validation samples compared with the full panel, or share
        of changed answers without true labels. With 0, no answer ever changes.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the validation samples.

    Returns
    -------
    SequentialPanel
    """
    shares = [member_prediction(outputs, member)[0] for member in range(outputs.n_members)]
    answers = PanelAnswers(
        np.stack(shares),
        outputs.classes,
        isinstance(outputs, Predictions),
        outputs.y,
        0 if outputs.y is None else int(np.bincount(outputs.y, sample_weight).argmax()),
        sample_weight,
    )
    return answers.ask_in_turn(names, weights, cost, order, tolerance)


@dataclass(frozen=True, eq=False)
class PanelAnswers:
    """Answers of the members of a panel on validation samples."""

    shares: FloatArray  # (members, samples, classes): 1 for a label, or probabilities
    classes: Array
    is_soft: bool  # whether these are probabilities
    truth: Array | None  # codes of the true labels, if they are known
    fallback: int  # code of the class for samples without any answer; −1 for a missing label
    sample_weight: FloatArray | None = None

    def ask_in_turn(
        self,
        names: Sequence[str],
        weights: FloatArray | None,
        cost: ArrayLike | None,
        order: Order,
        tolerance: float,
    ) -> SequentialPanel:
        """Return the panel in the order of asking, with the parameters of `sequential_panel`."""
        if not is_number(tolerance) or not 0 <= tolerance <= 1:
            message = "{tolerance} is not valid. Pass a number from 0 to 1."
            raise InputError(message, tolerance=tolerance)
        costs = _check_costs(cost, len(names))
        whole = whole_number_weights(np.ones(len(names)) if weights is None else weights)
        is_exact = not self.is_soft and bool((whole == np.rint(whole)).all())
        margin = 0.0 if is_exact else _ROUNDING * float(whole.sum())
        votes = whole[:, None, None] * self.shares.transpose(0, 2, 1)
        n_samples = self.shares.shape[1]
        weight = np.ones(n_samples) if self.sample_weight is None else self.sample_weight

        def in_order(indices: list[int]) -> SequentialPanel:
            panel = SequentialPanel(
                [str(names[index]) for index in indices],
                indices,
                whole[indices],
                self.classes,
                costs[indices],
                self.is_soft,
                self.fallback,
                margin,
            )
            if not n_samples:  # a blend without predictions of validation samples
                return panel
            return _Replay(panel, votes[indices], self.truth, weight).with_confidence(tolerance)

        indices = resolve_order(order, names, votes, whole, costs, margin)
        if tolerance > 0 and isinstance(order, str) and order == "best":
            # The order above is the best one for the same answers.
            indices = cheaper_order(indices, whole, costs, lambda one: in_order(one).expected_cost)
        return in_order(indices)


def _check_costs(cost: ArrayLike | None, n_members: int) -> FloatArray:
    costs = np.ones(n_members) if cost is None else np.asarray(cost, dtype=float)
    if costs.shape != (n_members,) or not ((costs >= 0) & (costs < np.inf)).all():
        raise InputError(
            f"{{cost}} is not valid. Pass a number of at least 0 for each of the "
            f"{format_count(n_members, 'member')} of the panel.",
            cost=...,
        )
    return costs


def panel_of_members(
    problem: Problem,
    members: IndexArray,
    order: Order = "best",
    tolerance: float = 0.0,
    weights: FloatArray | None = None,
) -> SequentialPanel:
    """Return members of a problem as a panel that is asked in turn, by the validation samples.

    ``weights`` are those of the members; by default, the weights of the problem's members.
    """
    if problem.is_regression:
        raise InputError(NOT_FOR_REGRESSION)
    if weights is None and problem.member_weights is not None:
        weights = problem.member_weights[members]
    own = problem.ensemble.weights
    if own is not None:
        weights = own[members] * (1.0 if weights is None else weights)
    return sequential_panel(
        [problem.ensemble.member_names[member] for member in members],
        problem.scored_predictions().take(members),
        weights,
        None if problem.cost is None else problem.cost[members],
        order,
        tolerance,
        problem.sample_weight,
    )


class _Replay:
    """Validation samples asked in turn: the winner and the confidence after each member."""

    def __init__(
        self, panel: SequentialPanel, votes: FloatArray, truth: Array | None, weight: FloatArray
    ) -> None:
        self._panel, self._truth, self._weight = panel, truth, weight
        states = np.cumsum(votes, axis=0).transpose(0, 2, 1)  # (members, samples, classes)
        remaining = panel.remaining_weights
        pairs = [vote_leads(state, panel.margin) for state in states]
        answered = [state.any(axis=1) for state in states]
        self._winners = np.array(
            [
                np.where(has, one, panel.fallback)
                for has, (one, _) in zip(answered, pairs, strict=True)
            ]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            self._ratios = np.array(
                [lead / left for (_, lead), left in zip(pairs, remaining, strict=True)]
            )
        self._is_decided = np.array(
            [is_stopped(lead, left, 1.0) for (_, lead), left in zip(pairs, remaining, strict=True)]
        )
        self._is_decided[-1] = True

    def _mean(self, values: Array) -> float:
        return float(self._weight @ values / self._weight.sum())

    def with_confidence(self, tolerance: float) -> SequentialPanel:
        """Return the panel with the least expected cost within the tolerance."""
        confidence = self._least_confidence(tolerance) if tolerance > 0 else 1.0
        return self._at_confidence(confidence)

    def _least_confidence(self, tolerance: float) -> float:
        """Return the least confidence within the tolerance: the lower, the fewer are asked."""
        ratios = np.unique(self._ratios[:-1][(self._ratios[:-1] > 0) & (self._ratios[:-1] < 1)])
        if len(ratios) > _MOST_CONFIDENCES:
            ratios = np.quantile(ratios, np.linspace(0, 1, _MOST_CONFIDENCES), method="lower")
        full, n_samples = self._winners[-1], len(self._weight)
        n_at_once = max(1, _MOST_CELLS // self._ratios.size)
        for first in range(0, len(ratios), n_at_once):
            block = ratios[first : first + n_at_once]
            stopped = self._is_decided | (self._ratios >= block[:, None, None])
            answers = self._winners[stopped.argmax(axis=1), np.arange(n_samples)]
            if self._truth is None:
                kept = answers == full
                losses = 1 - kept @ self._weight / self._weight.sum()
            else:
                lost = (full == self._truth) - (answers == self._truth).astype(float)
                losses = lost @ self._weight / self._weight.sum()
            within = np.flatnonzero(losses <= tolerance + TIE)
            if len(within):
                return float(block[within[0]])
        return 1.0

    def _at_confidence(self, confidence: float) -> SequentialPanel:
        stopped = self._is_decided | (self._ratios >= confidence if confidence < 1 else False)
        last = stopped.argmax(axis=0)
        answers, full = self._winners[last, np.arange(len(last))], self._winners[-1]
        spent = np.cumsum(self._panel.cost)[last]
        mean = self._mean(spent)
        # The variance of a weighted mean; 1/n · variance for equal weights.
        error = float(np.sqrt((self._weight**2) @ (spent - mean) ** 2) / self._weight.sum())
        half = NORMAL_97_5 * error
        change = np.nan
        if self._truth is not None:
            is_right = (answers == self._truth).astype(float) - (full == self._truth)
            change = self._mean(is_right)
        return replace(
            self._panel,
            confidence=confidence,
            expected_cost=mean,
            expected_cost_interval=(mean - half, mean + half),
            expected_members=self._mean(last + 1),
            agreement=self._mean(answers == full),
            accuracy_change=change,
        )
