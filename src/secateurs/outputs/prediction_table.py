"""An ensemble known only by its predictions: labels, probabilities, or regression values."""

# ruff: noqa: D102
# (Methods without a docstring inherit the docstring of `Ensemble`.)

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.labels import as_labels, is_text, one_hot
from secateurs.outputs.input_checks import as_label_column
from secateurs.outputs.label_coding import find_classes, plain_text
from secateurs.outputs.prediction_arrays import as_prediction_array
from secateurs.outputs.predictions import Predictions, predictions_from_votes
from secateurs.outputs.table_members import PROBABILITY_COLUMNS, TableFormat
from secateurs.outputs.votes import Votes
from secateurs.text_format import format_count, shorten_list
from secateurs.typing import Array, FloatArray, IndexArray


class PredictionTable(Ensemble):
    """An ensemble known only by its predictions; its samples are the row numbers of the table.

    Examples
    --------
    >>> from secateurs.outputs.table_members import TableFormat
    >>> from secateurs.outputs.prediction_table import PredictionTable
    >>> table = PredictionTable([["cat", "dog"], ["cat", "cat"]])
    >>> table.predicted_codes(table.prepare_input(None), 1)
    array([1, 0], dtype=uint8)
    >>> members = {"oak": [[0.9, 0.1]], "fir": [[0.3, 0.7]]}
    >>> PredictionTable(members, TableFormat(classes=["cat", "dog"])).member_names
    ['oak', 'fir']
    """

    predictions: Any  # Votes; for regression, Predictions

    def __init__(
        self,
        # Labels or values (samples × members), probabilities (samples × members × classes, or of
        # one class: samples × members), or a dict or list of members' predictions.
        table: Any,
        table_format: TableFormat | None = None,
        y: ArrayLike | None = None,  # true labels, which help to recognise the kind of table
        is_regression: bool | None = None,  # by default, if some values are not integers
        n_labels: int | None = None,  # number of true labels, which identifies the sample axis
    ) -> None:
        given = TableFormat() if table_format is None else table_format
        n_labels = n_labels if y is None or np.ndim(y) == 0 else _num_samples(y)
        labels = _distinct_labels(y, is_regression)
        array = as_prediction_array(table, given, n_labels, labels, is_regression)
        # Without the values, which the predictions hold already.
        self._array = replace(array, values=(), members=replace(array.members, values=()))
        self._probabilities: Array | None = None
        if array.classes is not None:
            masked: Array = np.ma.asanyarray(array.values)
            missing: Array = np.any(np.ma.getmaskarray(masked), axis=2)
            values = np.where(missing[:, :, None], 0, np.ma.getdata(masked))
            self._probabilities, self.is_soft = values, True
            codes = values.argmax(axis=2).T
            self.predictions = Votes.from_codes(codes, array.classes, None, missing.T, array.names)
        elif array.kind == "values":
            self.predictions = replace(_encode_values(array.values), names=array.names)
            self.is_soft = True
        else:
            self.predictions = replace(Votes.encode(array.values), names=array.names)
        super().__init__(table, range(self.predictions.n_members), self.predictions.classes)
        if given.classes is not None:
            classes = as_labels(given.classes, "classes").ravel()
            _check_known_labels(self.classes, classes, "A member")
        self.given_format = given
        if array.kind == "values" and y is not None and not is_regression:
            self.notes = (
                "Predictions are read as values of a regression, although y has only integers (for "
                "a classification, pass labels or a probability of each class).",
            )
        if array.is_recognised:
            self.notes = (
                f"Predictions are read as probabilities of class {array.positive}, because they "
                "are numbers from 0 to 1.",
            )

    @property
    def table_format(self) -> TableFormat:
        """How to read further tables of the same members."""
        members = self._array.members
        has_named_classes = members.columns is not None and members.classes is not None
        classes = self.given_format.classes
        if classes is None and self._array.classes is not None:
            classes = self.classes
        return replace(
            self.given_format,
            columns=self.given_format.columns
            or (PROBABILITY_COLUMNS if has_named_classes else None),
            classes=classes,  # arrays have the same order of classes as this table
            names=None,
            positive=self._array.positive,
            kind=self._array.kind,
            members=None if self._array.names is None else self.member_names,
        )

    def with_labels(self, y: ArrayLike) -> Votes | Predictions:
        """Return the predictions with true labels; raise if a label has no probability."""
        if self.is_soft and not self.is_regression:
            _check_known_labels(find_classes(as_label_column(y)), self.classes, "y")
        return self.predictions.with_labels(y)

    def as_test_table(self, table: Any, n_labels: int) -> "PredictionTable":
        """Return a table of the same members' predictions on the test set; raise if it differs."""
        test_table = self._read_test_table(table, n_labels)
        if test_table.n_members != self.n_members:
            raise InputError(
                f"The test table has {format_count(test_table.n_members, 'member')}, the "
                f"validation table {self.n_members}. Pass predictions of all members."
            )
        names = (table.predictions.names for table in (test_table, self))
        if not any(name is None for name in names) and test_table.member_names != self.member_names:
            raise InputError(
                f"The test table has other members, such as {test_table.member_names[0]!r}. Pass "
                "predictions of the same members."
            )
        kind, test_kind = self._kind_description, test_table._kind_description
        if kind != test_kind:
            raise InputError(
                f"The test table has {test_kind}, but the validation table has {kind}. Pass the "
                "same kind of predictions in both."
            )
        return test_table

    @property
    def _kind_description(self) -> str:
        """The kind of predictions, with the classes of probabilities."""
        kind = self._array.kind
        is_named = kind == "probabilities"
        return f"{kind} of {shorten_list(self.classes.tolist(), 5)}" if is_named else kind

    def _read_test_table(self, table: Any, n_labels: int) -> "PredictionTable":
        if isinstance(table, PredictionTable):
            return table
        return PredictionTable(table, self.table_format, n_labels=n_labels)

    @cached_property
    def numeric_predictions(self) -> Predictions:
        """The probabilities (1 for the label of a member without them) or regression values."""
        if isinstance(self.predictions, Predictions):
            return self.predictions
        if self._probabilities is not None:
            values = self._probabilities
            if self.predictions.has_missing:
                codes = self.predictions.codes(range(self.n_members)).T
                mask = np.equal(codes, len(self.classes))[:, :, None]
                values = np.ma.array(values, mask=np.broadcast_to(mask, values.shape))
            return replace(
                Predictions.encode(values, None, self.classes), names=self.predictions.names
            )
        return replace(
            predictions_from_votes(self.predictions),
            names=np.array(self.member_names, dtype=object),
        )

    @property
    def member_names(self) -> list[str]:
        names = self.predictions.names
        return super().member_names if names is None else names.tolist()

    def predicted_codes(self, X: IndexArray, member: int) -> Array:
        return self.predictions.codes([member])[0][X]

    def predicted_values(self, X: IndexArray, member: int) -> FloatArray:
        return self.numeric_predictions.values(member)[X]

    def vote_contribution(self, X: IndexArray, member: int) -> FloatArray:
        weight = 1.0 if self.weights is None else float(self.weights[member])
        if self._probabilities is not None:
            return weight * self._probabilities[X, member]
        return weight * one_hot(self.predicted_codes(X, member), len(self.classes))

    def _convert_input(self, X: object) -> IndexArray:
        if X is not None:
            raise InputError("X is not used, because the model is a table of predictions. Pass y.")
        return np.arange(self.predictions.n_samples)

    def original_members(self, members: Sequence[int]) -> Any:
        return self.slice(members)

    def _slice_model(self, members: Sequence[int]) -> Any:
        if (columns := self._array.members.columns) is not None:
            names = [name for member in members for name in columns[member]]
            is_dict = isinstance(self.model, Mapping)
            return {name: self.model[name] for name in names} if is_dict else self.model[names]
        if isinstance(self.model, Mapping):
            items = list(self.model.items())
            return dict(items[member] for member in members)
        if self._array.members.is_by_member:
            return [self.model[member] for member in members]
        if hasattr(self.model, "iloc"):
            return self.model.iloc[:, list(members)]
        as_array = np.ma.asanyarray if np.ma.isMaskedArray(self.model) else np.asarray
        return as_array(self.model)[:, list(members)]


def _distinct_labels(y: ArrayLike | None, is_regression: bool | None) -> Array | None:
    return None if y is None or is_regression else np.unique(plain_text(as_labels(y, "y").ravel()))


def _check_known_labels(labels: Array, classes: Array, whose: str) -> None:
    """Raise an error if labels are not among the classes."""
    is_same_type = is_text(labels) == is_text(classes)
    unknown = np.setdiff1d(plain_text(labels), plain_text(classes)) if is_same_type else labels
    if len(unknown):
        raise InputError(
            f"{whose} has the label {unknown.tolist()[0]!r}, which is not one of the classes "
            f"{', '.join(map(str, classes[:5].tolist()))}{', …' * (len(classes) > 5)}. Pass "
            "{classes}: all labels, in the order of any probabilities.",
            classes=...,
        )


def _encode_values(values: ArrayLike) -> Predictions:
    """Return a table of regression values as `Predictions`; raise if they are not numbers."""
    table: Array = np.ma.asanyarray(values)
    if table.dtype.kind not in "biuf":
        try:
            table = table.astype(float)
        except (TypeError, ValueError):
            raise InputError(
                f"Predictions hold {table.dtype} values, which are not all numbers. The true "
                "values or the score are those of a regression; pass predicted values."
            ) from None
    return Predictions.encode(table)
