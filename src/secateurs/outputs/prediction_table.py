"""Predictions instead of models: labels, probabilities of classes, or numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.labels import as_labels, is_text, one_hot
from secateurs.outputs.input_checks import as_label_column, has_fractions
from secateurs.outputs.label_coding import find_classes, plain_text
from secateurs.outputs.prediction_arrays import as_prediction_array
from secateurs.outputs.predictions import Predictions, predictions_from_votes
from secateurs.outputs.votes import Votes
from secateurs.text_format import format_count
from secateurs.typing import Array


class PredictionTable(Ensemble):
    """An ensemble of which only predictions are known.

    Its "rows" are row numbers of the table, so that it can be used like any other ensemble.

    Parameters
    ----------
    table : array-like, dict or list of arrays
        Labels or numbers (samples × members), as an array, masked array or data frame; or
        probabilities (samples × members × classes). Or a dict of name to labels or numbers
        (n_samples,) or probabilities (n_samples, n_classes) of a member, as an array, Series or
        data frame; or a list of these.
    classes : array-like of shape (n_classes,), optional
        The labels, in the order of the probabilities. By default the column names of data frames
        in a dict, else 0, 1, 2, …
    names : sequence of str, optional
        Names of the members. By default those of a dict, or the column names of a data frame.
    n_labels : int, optional
        Number of true labels, by which samples and members are told apart.
    numbers : bool, optional
        Whether these are numbers, of regressors. By default, if some are not whole.

    Examples
    --------
    >>> from secateurs.outputs.prediction_table import PredictionTable
    >>> known = PredictionTable([["cat", "dog"], ["cat", "cat"]])
    >>> known.predicted_codes(known.prepare_input(None), 1)
    array([1, 0], dtype=uint8)
    >>> PredictionTable({"oak": [[0.9, 0.1]], "fir": [[0.3, 0.7]]}, classes=["cat", "dog"]).member_names
    ['oak', 'fir']
    """

    predictions: Any  # Votes; of numbers, Predictions

    def __init__(
        self,
        table: Any,
        classes: Any = None,
        names: Any = None,
        n_labels: int | None = None,
        numbers: bool | None = None,
    ) -> None:
        found = as_prediction_array(table, classes, names, n_labels)
        self._by_member, self._given_options = found.is_by_member, (classes, names)
        self._probabilities: Array | None = None
        are_numbers = has_fractions(found.values) if numbers is None else numbers
        if found.classes is not None:
            missing: Array = np.any(np.ma.getmaskarray(found.values), axis=2)
            values = np.where(missing[:, :, None], 0, np.ma.getdata(found.values))
            self._probabilities, self.is_soft = values, True
            codes = values.argmax(axis=2).T
            self.predictions = Votes.from_codes(codes, found.classes, None, missing.T, found.names)
        elif are_numbers and classes is None:
            self.predictions, self.is_soft = (
                replace(_encode_values(found.values), names=found.names),
                True,
            )
        else:
            self.predictions = replace(Votes.encode(found.values), names=found.names)
        super().__init__(table, range(self.predictions.n_members), self.predictions.classes)
        if classes is not None:
            self._check_known_labels(
                self.classes, as_labels(classes, "classes").ravel(), "A member"
            )

    def with_labels(self, y: ArrayLike) -> Votes | Predictions:
        """Return the votes with true labels; those of probabilities are among their classes."""
        if self.is_soft and not self.is_regression:
            self._check_known_labels(find_classes(as_label_column(y)), self.classes, "y")
        return self.predictions.with_labels(y)

    def as_test_table(self, table: Any, n_labels: int) -> "PredictionTable":
        """Return predictions of the same members on other rows, checked."""
        found = table
        if not isinstance(table, PredictionTable):
            given = list(table) if isinstance(table, Mapping) or hasattr(table, "columns") else []
            if set(given) == set(self.member_names):  # in another order, perhaps
                picked = {name: table[name] for name in self.member_names}
                table = picked if isinstance(table, Mapping) else table[self.member_names]
            found = PredictionTable(
                table, *self._given_options, n_labels, self.is_regression or None
            )
        if found.n_members != self.n_members:
            raise InputError(
                f"The table to test on has {format_count(found.n_members, 'member')}, the one pruned "
                f"{self.n_members}. Give predictions of all members."
            )
        named = found.predictions.names is not None and self.predictions.names is not None
        if named and found.member_names != self.member_names:
            raise InputError(
                f"The table to test on has other members, such as {found.member_names[0]!r}. Give "
                "predictions of the same members."
            )
        other = self.is_soft and not np.array_equal(found.classes, self.classes)
        if found.is_soft != self.is_soft or found.is_regression != self.is_regression or other:
            raise InputError(
                "The tables to choose and to test on differ in kind or classes. Give labels in "
                "both, numbers in both, or probabilities of the same classes."
            )
        return found

    def _check_known_labels(self, found: Array, known: Array, whose: str) -> None:
        """Refuse labels that are not among those known."""
        same = is_text(found) == is_text(known)
        foreign = np.setdiff1d(plain_text(found), plain_text(known)) if same else found
        if len(foreign):
            raise InputError(
                f"{whose} has the label {foreign.tolist()[0]!r}, which is not one of the classes "
                f"{', '.join(map(str, known[:5].tolist()))}{', …' * (len(known) > 5)}. Give "
                "{classes}: all labels, in the order of any probabilities.",
                classes=...,
            )

    @cached_property
    def numeric_predictions(self) -> Predictions:
        """The probabilities, 1 for the label of a member that has none; or the numbers."""
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
        return (
            super().member_names
            if self.predictions.names is None
            else self.predictions.names.tolist()
        )

    def predicted_codes(self, X: Any, member: int) -> Array:
        return self.predictions.codes([member])[0][X]

    def predicted_values(self, X: Any, member: int) -> NDArray[np.float64]:
        return self.numeric_predictions.values(member)[X]

    def vote_contribution(self, X: Any, member: int) -> NDArray[np.float64]:
        weight = 1.0 if self.weights is None else float(self.weights[member])
        if self._probabilities is not None:
            return weight * self._probabilities[X, member]
        return weight * one_hot(self.predicted_codes(X, member), len(self.classes))

    def _convert_input(self, X: Any) -> NDArray[np.intp]:
        if X is not None:
            raise InputError("Predictions need no X: they are the members' answers. Give y alone.")
        return np.arange(self.predictions.n_samples)

    def original_members(self, members: Sequence[int]) -> Any:
        return self.slice(members)

    def _slice_model(self, members: Sequence[int]) -> Any:
        if isinstance(self.model, Mapping):
            items = list(self.model.items())
            return dict(items[member] for member in members)
        if self._by_member:
            return [self.model[member] for member in members]
        if hasattr(self.model, "iloc"):
            return self.model.iloc[:, list(members)]
        as_array = np.ma.asanyarray if self.predictions.has_missing else np.asarray
        return as_array(self.model)[:, list(members)]


def _encode_values(values: Any) -> Predictions:
    """Return a table of numbers, checked."""
    table = np.ma.asanyarray(values)
    if table.dtype.kind not in "biuf":
        try:
            table = table.astype(float)
        except (TypeError, ValueError):
            raise InputError(
                f"Predictions hold {table.dtype} values, which are not all numbers. The true "
                "values are numbers, or the score is one of numbers; give predicted numbers."
            ) from None
    return Predictions.encode(table)
