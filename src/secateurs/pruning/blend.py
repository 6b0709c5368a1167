"""`Blend`: combine the predictions of selected members, known by their names and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if

from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties, as_labels, is_text, merge_classes
from secateurs.outputs.fixed_point import whole_number_weights
from secateurs.outputs.input_checks import (
    as_label_column,
    check_sample_weights,
    fill_missing_votes,
)
from secateurs.outputs.label_coding import as_same_kind, plain_text
from secateurs.outputs.prediction_arrays import PredictionArray, as_prediction_array
from secateurs.outputs.table_members import TableFormat, samples_per_member
from secateurs.problem import costs_by_name
from secateurs.pruning._asking_order import Order
from secateurs.pruning._blend_json import blend_from_text, blend_to_text, check_parameters
from secateurs.pruning.sequential import NOT_FOR_REGRESSION, PanelAnswers, SequentialPanel
from secateurs.text_format import format_count, shorten_list
from secateurs.typing import (
    Array,
    BoolArray,
    FloatArray,
    IndexArray,
    JsonObject,
    PredictionKind,
)

if TYPE_CHECKING:
    from secateurs.problem import Problem


def _is_classifier(blend: Blend) -> bool:
    return blend.kind != "values"


class Blend(BaseEstimator):  # type: ignore[misc]
    """A weighted vote, or a weighted mean, of the predictions of named members.

    `prune` returns a blend for tables of predictions. A blend holds names and weights, but neither
    models nor predictions, so that its JSON file has a few hundred bytes. It needs no ``fit``.

    Parameters
    ----------
    names : list of str
        Names of the members.
    weights : array-like of shape (n_names,), optional
        Weights of the members; by default all are equal.
    classes : array-like of shape (n_classes,), optional
        The labels, in the order of the probabilities in arrays; None for regression.
    kind : {"labels", "probabilities", "values"}, default="labels"
        What the members predict. Labels are counted, probabilities and values are averaged.
    positive : label, optional
        For probabilities: the class that a table with a single column per member refers to. By
        default, the larger of two numeric labels.
    columns : str, optional
        Pattern of the column names in data frames and files, such as ``"{model}:{class}"``.
    prior : array-like of shape (n_classes,) or float, optional
        Class frequencies of the validation labels, in the order of ``classes``, or the mean of the
        validation target: the prediction for samples that no member answered.
    unanswered : {"majority", "missing"}, default="majority"
        Prediction for samples that no member answered: the most frequent class of the validation
        labels, the lowest of those that tie (in regression, their mean), or a missing prediction
        (None for labels, NaN for probabilities and values).
    member_indices : array-like of shape (n_names,), optional
        Columns of the members in arrays with the predictions of all ``n_members`` members.
    n_members : int, optional
        Number of members from which these were selected.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted, as the columns of `predict_proba`; not available in regression.
    member_indices_ : ndarray of shape (n_names,)
        Columns of the members in an array with the predictions of all members.
    n_features_in_ : int
        Number of members.
    feature_names_in_ : ndarray of shape (n_names,)
        Names of the members.

    See Also
    --------
    prune : Select the members of a table of predictions.

    Notes
    -----
    `predict` accepts all forms of tables that `prune` accepts. In dicts and data frames, the
    members are found by their names, and other columns are ignored. Arrays, and data frames whose
    column names are not text, have either one column for each of the ``n_members`` members, or only
    the columns of this blend, in the order of ``names``. Where predictions of some members are
    missing, the weights of the other members are divided by their sum.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs import Blend
    >>> blend = Blend(["oak", "fir"], weights=[0.75, 0.25], classes=[0, 1], kind="probabilities")
    >>> blend.predict_proba({"oak": [0.9, 0.2], "fir": [0.1, np.nan], "elm": [0.5, 0.5]})
    array([[0.3, 0.7],
           [0.8, 0.2]])
    """

    def __init__(
        self,
        names: Sequence[str],
        weights: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        *,
        kind: PredictionKind = "labels",
        positive: object = None,
        columns: str | None = None,
        prior: ArrayLike | float | None = None,
        unanswered: str = "majority",
        member_indices: ArrayLike | None = None,
        n_members: int | None = None,
    ) -> None:
        self.names = names
        self.weights = weights
        self.classes = classes
        self.kind = kind
        self.positive = positive
        self.columns = columns
        self.prior = prior
        self.unanswered = unanswered
        self.member_indices = member_indices
        self.n_members = n_members

    @classmethod
    def from_problem(cls, problem: Problem, members: Sequence[int]) -> Blend:
        """Return the blend of selected members of a table of predictions."""
        ensemble: Any = problem.ensemble
        given, weights = ensemble.table_format, problem.member_weights
        classes, prior = _classes_and_prior(problem, given)
        return cls(
            [ensemble.member_names[member] for member in members],
            None if weights is None else weights[list(members)],
            classes,
            kind=given.kind,
            positive=given.positive,
            columns=given.columns,
            prior=prior,
            member_indices=np.array(members, dtype=np.intp),
            n_members=ensemble.n_members,
        )

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        if self.classes is None:
            raise AttributeError("Blends of regression values have no classes_.")
        return np.sort(plain_text(np.asarray(self.classes)))

    @property
    def member_indices_(self) -> IndexArray:
        """Columns of the members in an array with the predictions of all members."""
        given = self.member_indices
        return np.arange(len(self.names)) if given is None else np.asarray(given, dtype=np.intp)

    @property
    def n_features_in_(self) -> int:
        """Number of members."""
        return len(self.names)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the members."""
        return np.array([str(name) for name in self.names], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        if self.kind == "values":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def fit(self, table: Any = None, y: ArrayLike | None = None) -> Blend:
        """Return the blend unchanged: its names and weights are parameters.

        Parameters
        ----------
        table, y : object, optional
            Ignored; present so that functions of scikit-learn can be applied to a blend.

        Returns
        -------
        Blend
        """
        return self

    def predict(self, table: Any) -> Array:
        """Predict labels, or values in regression.

        Parameters
        ----------
        table : array, data frame, dict or list
            Predictions of the members, as for `prune`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the largest sum of weights or probabilities, the lowest class of those
            that tie; in regression, the weighted mean. With ``unanswered="missing"``, labels are
            objects.
        """
        shares, is_answered = self._combine(table)
        if self.kind == "values":
            return np.where(is_answered, shares[:, 0], self._fallback_value())
        labels = self.classes_[argmax_with_ties(shares)]
        if self.unanswered == "missing":
            labels = labels.astype(object)
            labels[~is_answered] = None
        elif not is_answered.all():
            labels[~is_answered] = self.classes_[self._fallback_shares().argmax()]
        return labels

    @available_if(_is_classifier)  # type: ignore[untyped-decorator]
    def predict_proba(self, table: Any) -> FloatArray:
        """Predict probabilities: the weighted mean, or the shares of the votes for each label.

        Parameters
        ----------
        table : array, data frame, dict or list
            Predictions of the members, as for `prune`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For a sample that no member answered, ``prior``, or NaN with ``unanswered="missing"``.
        """
        shares, is_answered = self._combine(table)
        if not is_answered.all():
            shares[~is_answered] = (
                np.nan if self.unanswered == "missing" else self._fallback_shares()
            )
        return shares

    def count_unanswered(self, table: Any) -> int:
        """Return the number of samples that no member answered.

        Parameters
        ----------
        table : array, data frame, dict or list
            Predictions of the members, as for `prune`.

        Returns
        -------
        int
        """
        return int(np.count_nonzero(~self._combine(table)[1]))

    def score(self, table: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy, or R² in regression.

        Parameters
        ----------
        table : array, data frame, dict or list
            Predictions of the members, as for `prune`.
        y : array-like of shape (n_samples,)
            True labels or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
        """
        score, truth = r2_score, y
        if self.kind != "values":
            score, truth = accuracy_score, as_labels(y, "y")
        return float(score(truth, self.predict(table), sample_weight=sample_weight))

    def sequential(
        self,
        table: Any = None,
        y: ArrayLike | None = None,
        *,
        cost: ArrayLike | Mapping[str, float] | None = None,
        order: Order = "best",
        tolerance: float = 0.0,
        sample_weight: ArrayLike | None = None,
    ) -> SequentialPanel:
        """Return the members as a panel that is asked in turn.

        Members are asked until the remaining weights cannot change the winner, which saves costs
        without changing any answer. A blend stores no predictions, so that the best order, the
        confidence and the expected cost come from the predictions that are passed here.

        Parameters
        ----------
        table : array, data frame, dict or list, optional
            Predictions of the members on validation samples, as for `predict`. Without them, pass
            ``order`` and no tolerance; the expected cost is then unknown (NaN).
        y : array-like of shape (n_samples,), optional
            True labels, for the accuracy that a tolerance loses.
        cost : array-like of shape (n_names,) or dict, optional
            The cost of asking each member, in the order of ``names`` or by name; 1 by default.
            Costs of other names are ignored.
        order : {"best", "cost", "weight"} or sequence, default="best"
            The order of asking: the order with the least expected cost for the same answers, cheap
            members first, members with large weights first, or the members by name or index.
        tolerance : float, default=0
            Accuracy that may be lost on these samples, or share of changed answers without ``y``.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        SequentialPanel
        """
        if self.kind == "values":
            raise InputError(NOT_FOR_REGRESSION)
        shares = self._answer_shares(table, order, tolerance, y, sample_weight)
        n_samples = shares.shape[1]
        is_missing_label = self.unanswered == "missing"
        answers = PanelAnswers(
            shares,
            self.classes_,
            self.kind == "probabilities",
            None if y is None else self._true_codes(y, n_samples),
            -1 if is_missing_label else int(self._fallback_shares().argmax()),
            check_sample_weights(sample_weight, n_samples, "sample_weight"),
        )
        if isinstance(cost, Mapping):
            names = [str(name) for name in self.names]
            cost = costs_by_name({name: cost[name] for name in names if name in cost}, names)
        return answers.ask_in_turn(self.names, self._checked_weights(), cost, order, tolerance)

    def _answer_shares(
        self, table: Any, order: Order, tolerance: float, *samples: ArrayLike | None
    ) -> FloatArray:
        """Return the answers (members × samples × classes), of no samples without a table."""
        if table is None:
            is_best = isinstance(order, str) and order == "best"
            if is_best or tolerance != 0 or any(values is not None for values in samples):
                raise InputError(
                    "The best order and a tolerance need predictions of the members on validation "
                    "samples. Pass them as {table}, or pass only {order}, such as cost. After "
                    "prune, use Pruning.sequential, which has these predictions.",
                    table=...,
                    order=...,
                )
            return np.zeros((len(self.names), 0, len(self.classes_)))
        values, is_missing = self._as_numbers(self._own_members(self._read_table(table)))
        return np.where(is_missing[:, :, None], 0.0, values).transpose(1, 0, 2)

    def _true_codes(self, y: ArrayLike, n_samples: int) -> IndexArray:
        """Return the codes of true labels; −2 for labels that no member can predict."""
        classes = self.classes_
        labels = plain_text(as_same_kind(as_label_column(y, n_samples).ravel(), classes))
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        return np.where(classes[codes] == labels, codes, -2)

    def to_json(self, provenance: JsonObject | None = None) -> str:
        """Return the blend as JSON text.

        Parameters
        ----------
        provenance : dict, optional
            How the members were selected, as JSON values. `from_json` ignores it.

        Returns
        -------
        str
        """
        self._checked_weights()
        return blend_to_text(self, provenance)

    @classmethod
    def from_json(cls, text: str | bytes) -> Blend:
        """Return the blend of a JSON text, after checking every value.

        Parameters
        ----------
        text : str or bytes
            A text of `to_json`, of at most 16 MiB.

        Returns
        -------
        Blend
        """
        return cls(**blend_from_text(text))

    def _combine(self, table: Any) -> tuple[FloatArray, BoolArray]:
        """Return the weighted mean of the present predictions, and which samples have any.

        The mean has one column per class, or a single column in regression.
        """
        array = self._own_members(self._read_table(table))
        values, is_missing = self._as_numbers(array)
        weights = whole_number_weights(self._checked_weights())
        sums, totals = np.zeros((len(values), values.shape[2])), np.zeros(len(values))
        for member, weight in enumerate(weights):
            is_present = ~is_missing[:, member]
            sums[is_present] += weight * values[is_present, member]
            totals[is_present] += weight
        is_answered = totals > 0
        return sums / np.where(is_answered, totals, 1)[:, None], is_answered

    def _checked_weights(self) -> FloatArray:
        n_names = len(self.names)
        if self.weights is None:
            return np.full(n_names, 1 / n_names)
        weights = np.asarray(self.weights, dtype=float)
        is_valid = weights.shape == (n_names,) and bool((weights >= 0).all())
        if not is_valid or not 0 < weights.sum() < np.inf:
            raise InputError(
                f"{{weights}} is not valid. Pass a number of 0 or more for each of the "
                f"{format_count(n_names, 'member')}, and not only zeros.",
                weights=...,
            )
        return weights / weights.sum()

    @property
    def _has_names(self) -> bool:
        """Whether members have names of their own, and not only those of a table without names."""
        indices = self.member_indices_
        return list(self.names) != [f"member {index}" for index in indices]

    @property
    def table_format(self) -> TableFormat:
        """How to read tables of the members' predictions."""
        return TableFormat(
            classes=self.classes,
            positive=self.positive,
            columns=self.columns,
            kind=self.kind,
            members=[str(name) for name in self.names] if self._has_names else None,
        )

    def _read_table(self, table: Any) -> PredictionArray:
        check_parameters(self)
        n_samples = samples_per_member(table, {len(self.names), self.n_members or 0})
        array = as_prediction_array(table, self.table_format, n_samples)
        if array.kind != self.kind:
            raise InputError(
                f"The table has {array.kind}, but the members of this blend predict {self.kind}. "
                f"Pass {self.kind}."
            )
        return array

    def _own_members(self, array: PredictionArray) -> Array:
        """Return the predictions of the members of this blend, in the order of their names."""
        values: Array = np.ma.asanyarray(array.values)
        if values.ndim < 2:
            raise InputError(
                f"The table has shape {values.shape}. Pass one row per sample and one column per "
                "member."
            )
        n_columns = values.shape[1]
        if array.names is not None and array.names.tolist() == list(self.names):
            return values
        if n_columns == self.n_members:
            return values[:, self.member_indices_]
        if n_columns != len(self.names):
            expected = format_count(len(self.names), "member")
            if self.n_members is not None and self.n_members != len(self.names):
                expected += f" of this blend, or of all {self.n_members} members"
            raise InputError(
                f"The table has {format_count(n_columns, 'member')}. Pass one column for each of "
                f"the {expected}."
            )
        return values

    def _as_numbers(self, values: Array) -> tuple[FloatArray, BoolArray]:
        """Return predictions as samples × members × classes, and the mask of missing ones."""
        mask: Array = np.asarray(np.ma.getmaskarray(values))
        if self.kind == "probabilities":
            return np.ma.getdata(values), np.asarray(mask.any(axis=2))
        if self.kind == "values":
            numbers = np.where(mask, 0, np.ma.getdata(values)).astype(float)
            return numbers[:, :, None], mask
        return self._one_hot_labels(values, mask), mask

    def _one_hot_labels(self, values: Array, mask: BoolArray) -> FloatArray:
        classes = self.classes_
        if mask.all():
            return np.zeros((*mask.shape, len(classes)))
        labels = as_labels(
            fill_missing_votes(values) if mask.any() else np.asarray(values), "table"
        )
        labels = plain_text(as_same_kind(labels.ravel(), classes)).reshape(mask.shape)
        if is_text(labels) != is_text(classes):
            unknown = np.ones(mask.shape, dtype=bool)
            codes = np.zeros(mask.shape, dtype=np.intp)
        else:
            codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
            unknown = classes[codes] != labels
        if (unknown & ~mask).any():
            sample, member = (int(index) for index in np.argwhere(unknown & ~mask)[0])
            raise InputError(
                f"Member {self.names[member]!r} predicts {labels[sample, member].item()!r} for "
                f"sample {sample}, which is not one of the classes "
                f"{shorten_list(classes.tolist(), 5)}. Select the "
                "members again, with all labels as {classes}.",
                classes=...,
            )
        return np.asarray(codes[:, :, None] == np.arange(len(classes)), dtype=float)

    def _fallback_shares(self) -> FloatArray:
        """Return the class frequencies that are predicted for samples without any answer."""
        n_classes = len(self.classes_)
        if self.prior is None:
            return np.full(n_classes, 1 / n_classes)
        order = np.argsort(plain_text(np.asarray(self.classes)))
        return np.asarray(self.prior, dtype=float)[order]

    def _fallback_value(self) -> float:
        is_known = self.unanswered == "majority" and self.prior is not None
        return float(np.asarray(self.prior)) if is_known else np.nan


def _classes_and_prior(
    problem: Problem, given: TableFormat
) -> tuple[Array | None, FloatArray | float]:
    """Return the labels, and the class frequencies or the mean of the validation samples."""
    truth, weights = problem.predictions.truth, problem.sample_weight
    if problem.is_regression:
        return None, float(np.average(truth, weights=weights))
    found = problem.predictions.classes
    frequencies = np.bincount(truth, weights=weights, minlength=len(found))
    frequencies = frequencies / frequencies.sum()
    classes = found
    if given.classes is not None:  # may have labels that neither members nor y have
        ordered = plain_text(as_labels(given.classes, "classes").ravel())
        classes = merge_classes(np.unique(ordered), found)
    prior = np.zeros(len(classes))
    prior[np.searchsorted(classes, found)] = frequencies
    if given.classes is not None and given.kind == "probabilities":
        return ordered, prior[np.searchsorted(classes, ordered)]
    return classes, prior
