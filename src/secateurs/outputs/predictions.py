"""Predictions: probabilities or regression values of an ensemble's members, in fixed point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from secateurs._renamed_modules import restore_renamed
from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties, as_labels, merge_classes, one_hot
from secateurs.outputs._prediction_cells import PredictionFiller
from secateurs.outputs.base_votes import BaseOutputs
from secateurs.outputs.fixed_point import (
    FINEST,
    NUMBER_BITS,
    PROBABILITY_BITS,
    coarsen_steps,
    fixed_point_exponent,
    mean_from_sums,
    missing_cell_value,
    whole_number_weights,
)
from secateurs.outputs.input_checks import (
    as_label_column,
    as_target_values,
    check_not_transposed,
    check_table_shape,
    check_target_scale,
    effective_members,
    text_column_names,
)
from secateurs.outputs.label_coding import encode_column, find_classes, make_read_only
from secateurs.outputs.missing_answers import (
    check_missing_rule,
    counts_as_wrong,
    fallback_prediction,
    most_frequent_class,
)
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.vote_packing import BitPlanes, pack_bits
from secateurs.outputs.votes import Votes
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, MemberIndices, MissingRule

_ONE = 1 << PROBABILITY_BITS  # the cell for probability 1


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(BaseOutputs):
    """Probabilities, or regression values, that members predict, with the true labels or values.

    Create it with `encode`; it is immutable. Predictions are stored as integers, so that sums over
    samples are exact, and batches, shards and machines select the same members.

    Attributes
    ----------
    cells : ndarray of shape (n_members, n_components, n_samples)
        The predictions as integers; the smallest integer of the type marks a missing prediction.
        Probabilities have 16 bits and are rounded to steps of 2⁻¹⁴, with one component per class;
        with two classes, only the second has one. Regression values have one component of 32 bits,
        rounded down.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty for regression.
    y : ndarray of shape (n_samples,) or None
        The codes of the true labels, or the true values of a regression.
    names : ndarray of shape (n_members,) or None
        Names of the members.
    has_missing : bool
        Whether predictions are missing.
    missing_rule : {"wrong", "ignore"}
        What a missing prediction means, as for `Votes`.
    exponent : int
        A cell of 1 stands for ``2.0**-exponent``. For regression it follows from the largest
        absolute value, which has 30 bits.
    is_sequential : bool
        Whether a member's predictions are those of all members up to it, as for `Votes`.
    margin_scale : float or None
        For ensembles that average margins: predictions are shares proportional to margins, and the
        softmax of this factor times their mean gives the probabilities of the ensemble.

    See Also
    --------
    Votes : Votes in memory: labels instead of probabilities or values.
    collect_predictions : Collect the predictions of a fitted ensemble.

    Notes
    -----
    The error of a probability is at most 2⁻¹⁵, and that of a regression value less than 2⁻²⁹ of the
    largest absolute value.

    Examples
    --------
    >>> from secateurs import Predictions
    >>> Predictions.encode([[[0.2, 0.8], [0.5, 0.5]], [[0.9, 0.1], [1, 0]]], y=[1, 0])
    Predictions(2 samples, 2 members, 2 classes)
    >>> Predictions.encode([[2.5, 3.0], [1.0, 0.5]], y=[2.0, 1.0])
    Predictions(2 samples, 2 members)
    """

    __setstate__ = restore_renamed(staged="is_sequential")

    cells: Array
    classes: Array
    y: Array | None = None
    names: NDArray[np.object_] | None = None
    has_missing: bool = False
    exponent: int = PROBABILITY_BITS
    is_sequential: bool = False
    margin_scale: float | None = None
    samples: SampleRows | None = None  # only if a scorer reads them
    missing_rule: MissingRule = "ignore"
    # The class frequencies, or the mean of y, if missing predictions are wrong: of all samples,
    # so that batches and shards have the same.
    fallback: FloatArray | None = None

    @classmethod
    def encode(
        cls,
        scores: ArrayLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        missing: MissingRule = "ignore",
    ) -> Predictions:
        """Encode a table of probabilities or regression values.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_members, n_classes) or (n_samples, n_members)
            Probabilities, which sum to 1, or regression values; masked where missing.
        y : array-like of shape (n_samples,), optional
            The true labels, or the true values of a regression.
        classes : array-like of shape (n_classes,), optional
            The labels in the order of the probabilities; the default is 0, 1, 2, …
        missing : {"ignore", "wrong"}, default="ignore"
            What a missing prediction means, as for `Votes.encode`.

        Returns
        -------
        Predictions
        """
        rule = check_missing_rule(missing)
        table: Array = np.ma.asanyarray(scores)
        if table.ndim == 3 and table.shape[2] == 0:
            raise InputError(
                f"The probabilities have shape {table.shape}, without any class. Pass one "
                "probability per class: (samples, members, classes)."
            )
        check_not_transposed(table.shape, None if y is None else np.shape(y))
        check_table_shape(table[:, :, 0] if table.ndim == 3 else table, None)
        is_probabilities = table.ndim == 3
        values, mask = np.ma.getdata(table), None
        if np.ma.is_masked(table):
            masked: Array = np.asarray(np.ma.getmaskarray(table))
            mask = np.asarray(masked.any(axis=2) if is_probabilities else masked).T
        labels = _check_class_labels(table.shape[2], classes) if is_probabilities else np.empty(0)
        order = np.argsort(labels, kind="stable")
        filler = PredictionFiller(table.shape[1], table.shape[0], labels[order])
        for member in range(table.shape[1]):
            column = values[:, member][:, order] if is_probabilities else values[:, member]
            filler.fill_member(member, column, None if mask is None else mask[member])
        return cls.filled(filler, y, text_column_names(scores), rule)

    @classmethod
    def filled(
        cls,
        filler: PredictionFiller,
        y: ArrayLike | None = None,
        names: ArrayLike | None = None,
        missing: MissingRule = "ignore",
    ) -> Predictions:
        """Return predictions from a filler that has all members."""
        cells, has_missing, exponent = filler.finish_cells()
        name_array = None if names is None else np.array(names, dtype=object)
        predictions = cls(
            *(cells, filler.classes, None, name_array, has_missing, exponent), missing_rule=missing
        )
        return predictions if y is None else predictions.with_labels(y)

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """Number of samples."""
        return self.cells.shape[2]

    @property
    def n_members(self) -> int:  # type: ignore[override]
        """Number of members."""
        return self.cells.shape[0]

    @property
    def nbytes(self) -> int:
        """Size of the cells in bytes."""
        return self.cells.nbytes

    @property
    def truth(self) -> Array:
        """The codes of the true labels, or the true values; raises an error if there are none."""
        if self.y is None:
            raise InputError(
                "These predictions have no true values. Pass y: Predictions.encode(predictions, y)."
            )
        return self.y

    @property
    def n_answered(self) -> NDArray[np.int64]:
        """Number of samples that each member predicts."""
        if not self.has_missing:
            return np.full(self.n_members, self.n_samples)
        return self.present.code_counts[:, 0]

    @property
    def n_voted(self) -> NDArray[np.int64]:
        """Number of samples that each member is compared on, as for `Votes`."""
        return np.full(self.n_members, self.n_samples) if counts_as_wrong(self) else self.n_answered

    def with_missing_rule(self, missing: MissingRule) -> Predictions:
        """Return the predictions with another meaning of missing predictions."""
        if missing == self.missing_rule:
            return self
        changed = replace(self, missing_rule=missing, fallback=None)
        return changed if self.y is None else changed.with_own_fallback()

    def has_prediction(self, members: MemberIndices | None = None) -> BoolArray:
        """Return the mask of the samples that at least one of some members predicts."""
        if not self.has_missing:
            return np.ones(self.n_samples, dtype=bool)
        selected = np.asarray(effective_members(self, members)).tolist()
        is_missing = [self.is_missing(member) for member in selected]
        return ~np.logical_and.reduce(is_missing)

    @cached_property
    def completed(self) -> Predictions:
        """The predictions without gaps, if missing predictions are wrong.

        A missing prediction is a new class with probability 1, or the mean of y.
        """
        if not counts_as_wrong(self):
            return self
        if self.is_numbers:
            return self._filled_values()
        n_classes = self.n_classes + 1
        filler = PredictionFiller(self.n_members, self.n_samples, np.arange(n_classes))
        for member, cells in enumerate(filler.cells):
            is_missing = self.is_missing(member)
            if n_classes > 2:
                cells[:-1] = np.where(is_missing, 0, self._class_components(self.cells[member]))
            cells[-1] = np.where(is_missing, _ONE, 0)
        return Predictions(filler.cells, filler.classes, self.y, self.names)

    def _filled_values(self) -> Predictions:
        """Return regression values with the mean of y in place of missing ones."""
        mean = float(self.fallback_prediction[0])
        predictions = self.with_exponent(min(self.exponent, fixed_point_exponent(abs(mean))))
        filling = int(np.floor(np.ldexp(mean, predictions.exponent)))
        cells = predictions.cells
        filled = np.where(cells == missing_cell_value(cells), filling, cells).astype(cells.dtype)
        return replace(predictions, cells=filled, has_missing=False)

    @property
    def fallback_prediction(self) -> FloatArray:
        """The class frequencies, or the mean of y: for samples without any prediction."""
        if self.fallback is not None:
            return self.fallback
        return fallback_prediction(self.truth, self.n_classes)

    @cached_property
    def votes(self) -> Votes:
        """The labels with the largest probabilities; ties go to the lowest class."""
        if self.is_numbers:
            raise InputError(
                "Predictions of regressors are not votes. Use a method for regression."
            )
        codes = np.empty((self.n_members, self.n_samples), dtype=np.uint16)
        for member, row in enumerate(codes):
            row[:] = self._class_components(self.cells[member]).argmax(axis=0)
        mask = None
        if self.has_missing:
            mask = np.stack([self.is_missing(member) for member in range(self.n_members)])
        votes = Votes.from_codes(codes, self.classes, None, mask, self.names)
        votes = replace(votes, missing_rule=self.missing_rule)
        return votes if self.y is None else votes.with_labels(self.classes[self.y])

    @cached_property
    def present(self) -> BitPlanes:
        """The samples that each member predicts, as bits."""
        planes = [pack_bits(~self.is_missing(member)[None]) for member in range(self.n_members)]
        return BitPlanes(np.stack(planes), self.n_samples)

    @cached_property
    def squared_errors(self) -> FloatArray:
        """Mean squared error of each member; for probabilities, summed over the classes.

        The error of a missing probability that is wrong is 2, as that of a wrong label.
        """
        errors = np.empty(self.n_members)
        is_wrong = counts_as_wrong(self)
        missing_errors = np.full(self.n_samples, 2.0)
        if is_wrong and self.is_numbers:
            missing_errors = (self.fallback_prediction[0] - self.truth) ** 2
        truth = self.truth if self.is_numbers else np.eye(self.n_classes)[self.truth]
        for member in range(self.n_members):
            present = ~self.is_missing(member)
            differences = (self.linked(self.values(member)) - truth)[present]
            total, n_samples = (differences**2).sum(), int(np.count_nonzero(present))
            if is_wrong:
                total, n_samples = total + missing_errors[~present].sum(), self.n_samples
            errors[member] = total / max(1, n_samples)
        return errors

    def is_missing(self, member: int) -> BoolArray:
        """Return the mask of the samples without a prediction of a member."""
        return self.cells[member, 0] == missing_cell_value(self.cells)

    def values(self, member: int) -> FloatArray:
        """Return a member's probabilities (samples, classes) or values (samples,); 0 if missing."""
        cells = self.cells[member]
        if self.has_missing:
            cells = np.where(self.is_missing(member), 0, cells)
        if self.is_numbers:
            return np.ldexp(cells[0].astype(float), -self.exponent)
        probabilities = self._class_components(cells) / _ONE
        if self.has_missing:
            probabilities[:, self.is_missing(member)] = 0.0
        return probabilities.T

    def decode(self) -> Array:
        """Return all predictions: (samples, members, classes), or (samples, members) in regression.

        Probabilities are 32-bit floats, which represent the steps of 2⁻¹⁴ exactly; missing
        predictions are masked.
        """
        shape = (self.n_samples, self.n_members) + (() if self.is_numbers else (self.n_classes,))
        table = np.empty(shape, dtype=np.float64 if self.is_numbers else np.float32)
        for member in range(self.n_members):
            table[:, member] = self.linked(self.values(member))
        if not self.has_missing:
            return table
        mask = np.zeros(shape, dtype=bool)
        for member in range(self.n_members):
            mask[self.is_missing(member), member] = True
        return np.ma.array(table, mask=mask)

    def average(
        self, members: MemberIndices | None = None, weights: ArrayLike | None = None
    ) -> FloatArray:
        """Return the mean prediction of some members: (samples, classes), or (samples,).

        Missing predictions are left out. If all are missing, each class has the same probability,
        and a regression value is NaN; if missing predictions are wrong, the mean prediction is the
        class frequencies, or the mean of y.
        """
        return self._mean_and_weight(members, weights)[0]

    def vote(
        self,
        members: MemberIndices | None = None,
        silent: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Array:
        """Return the label with the largest mean probability, or the mean value, per sample.

        Ties go to the lowest class. Samples without predictions get ``silent`` as for `Votes`; in
        regression, NaN, or the mean of y if missing predictions are wrong.
        """
        mean, total_weight = self._mean_and_weight(members, weights)
        if self.is_numbers:
            return mean
        labels = self.classes[mean.argmax(axis=1) if weights is None else argmax_with_ties(mean)]
        if not self.has_missing:
            return labels
        fallback = most_frequent_class(self) if silent is None else silent
        return np.where(total_weight > 0, labels, fallback)

    def _mean_and_weight(
        self, members: MemberIndices | None, weights: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the mean prediction, and the total weight of the members that predict a sample."""
        selected = np.asarray(effective_members(self, members))
        shares = np.ones(len(selected))
        if weights is not None and not self.is_sequential:
            shares = whole_number_weights(np.asarray(weights, dtype=float))
        total = np.zeros((self.n_samples, *(() if self.is_numbers else (self.n_classes,))))
        total_weight = np.zeros(self.n_samples)
        for member, share in zip(selected.tolist(), shares, strict=True):
            total += share * self.values(member)
            total_weight += share * ~self.is_missing(member)
        return self.mean_from_sums(total, total_weight), total_weight

    def mean_from_sums(self, total: FloatArray, total_weight: FloatArray) -> FloatArray:
        """Return mean predictions from weighted sums, and the weights of present members."""
        mean = self.linked(mean_from_sums(total, total_weight))
        if counts_as_wrong(self) and (self.fallback is not None or self.y is not None):
            mean[total_weight == 0] = self.fallback_prediction
        return mean

    def linked(self, mean: FloatArray) -> FloatArray:
        """Return a mean of predictions, with the link function if the ensemble averages margins."""
        return mean if self.margin_scale is None else softmax(self.margin_scale * mean, axis=1)

    def take(self, members: MemberIndices) -> Predictions:
        """Return the predictions of some members, in the given order."""
        selected = np.asarray(members, dtype=np.intp)
        names = None if self.names is None else self.names[selected]
        rows = None if self.samples is None else self.samples.for_columns(selected)
        cells = make_read_only(self.cells[selected])
        return replace(self, cells=cells, names=names, samples=rows)

    def rows(self, samples: IndexArray | slice) -> Predictions:
        """Return the predictions on some samples."""
        y = None if self.y is None else make_read_only(self.y[samples])
        cells = make_read_only(np.ascontiguousarray(self.cells[..., samples]))
        rows = None if self.samples is None else self.samples.take(samples)
        return replace(self, cells=cells, y=y, samples=rows)

    def with_labels(self, y: ArrayLike) -> Predictions:
        """Return the same predictions with other true labels or values."""
        if self.is_numbers:
            values = as_target_values(y, self.n_samples)
            check_target_scale(values, self._largest_value())
            return replace(self, y=make_read_only(values)).with_own_fallback()
        labels = as_label_column(y, self.n_samples)
        recoded = self.among(merge_classes(self.classes, find_classes(labels)))
        return replace(recoded, y=encode_column(labels, recoded.classes)).with_own_fallback()

    def with_own_fallback(self, sample_weight: FloatArray | None = None) -> Predictions:
        """Return the predictions with the class frequencies or the mean of their own y."""
        if not counts_as_wrong(self):
            return self
        fallback = fallback_prediction(self.truth, self.n_classes, sample_weight)
        return replace(self, fallback=fallback)

    def _largest_value(self) -> float:
        """Return an upper bound of the absolute values, of at most twice the largest one."""
        if self.exponent == FINEST:  # zeros, or values close to them
            cells = np.where(self.cells == missing_cell_value(self.cells), 0, self.cells)
            return float(np.ldexp(float(np.abs(cells).max(initial=0)), -FINEST))
        return float(np.ldexp(1.0, NUMBER_BITS - self.exponent))

    def append(self, scores: Predictions) -> Predictions:
        """Return these predictions followed by further samples, as if encoded together."""
        if scores.is_numbers != self.is_numbers:
            raise InputError(
                "Probabilities and regression values do not mix. Pass batches of one kind."
            )
        if scores.n_members != self.n_members:
            raise InputError(
                f"The new predictions have {scores.n_members} members, the earlier predictions "
                f"{self.n_members}. Pass the same members, in the same order."
            )
        if (scores.y is None) != (self.y is None):
            raise InputError("Pass true values with all batches of predictions, or with none.")
        classes = self.classes if self.is_numbers else merge_classes(self.classes, scores.classes)
        exponent = min(self.exponent, scores.exponent)
        batches = [batch.among(classes).with_exponent(exponent) for batch in (self, scores)]
        targets = [batch.y for batch in batches if batch.y is not None]
        return replace(
            batches[0],
            cells=make_read_only(np.concatenate([batch.cells for batch in batches], axis=2)),
            y=make_read_only(np.concatenate(targets)) if targets else None,
            has_missing=self.has_missing or scores.has_missing,
            samples=None,
        ).with_own_fallback()

    def with_exponent(self, exponent: int) -> Predictions:
        """Return the same predictions in equal or larger steps."""
        cells = coarsen_steps(self.cells, self.exponent - exponent)
        return replace(self, cells=cells, exponent=exponent)

    def among(self, classes: Array) -> Predictions:
        """Return the same probabilities in a larger, sorted set of classes."""
        if len(classes) == self.n_classes:
            return replace(self, classes=classes)
        filler = PredictionFiller(self.n_members, self.n_samples, classes)
        new_codes = np.searchsorted(classes, self.classes)
        for member, cells in enumerate(filler.cells):
            cells[:] = 0
            components = self._class_components(self.cells[member])
            if len(classes) == 2:  # these predictions have a single class
                cells[0] = components[0] if new_codes[0] == 1 else _ONE - components[0]
            else:
                cells[new_codes] = components
            cells[:, self.is_missing(member)] = missing_cell_value(cells)
        y = self.y
        if y is not None:
            y = encode_column(self.classes[y][:, None], classes)
        fallback = self.fallback
        if fallback is not None:
            fallback = np.zeros(len(classes))
            fallback[new_codes] = self.fallback
        cells = make_read_only(filler.cells)
        return replace(self, cells=cells, classes=classes, y=y, fallback=fallback)

    def _class_components(self, cells: Array) -> Array:
        """Return one component per class; the components of missing predictions are undefined."""
        if self.n_classes != 2:
            return cells
        return np.concatenate([_ONE - cells, cells])


def _check_class_labels(n_classes: int, classes: ArrayLike | None) -> Array:
    """Return the labels of probabilities, in the order of their columns."""
    if classes is None:
        return np.arange(n_classes)
    labels = as_labels(classes, "classes")
    if labels.shape != (n_classes,) or len(np.unique(labels)) < n_classes:
        raise InputError(
            f"classes has shape {labels.shape}, but there are probabilities of {n_classes} "
            "classes. Pass a different label for each."
        )
    return labels


def predictions_from_votes(votes: Votes) -> Predictions:
    """Return votes as probabilities: 1 for the predicted label."""
    filler = PredictionFiller(votes.n_members, votes.n_samples, votes.classes)
    for member in range(votes.n_members):
        codes = votes.codes([member])[0]
        filler.fill_member(member, one_hot(codes, votes.n_classes), codes == votes.n_classes)
    y = None if votes.y is None else true_values(votes)
    return Predictions.filled(filler, y, votes.names, votes.missing_rule)


def true_values(outputs: Votes | Predictions) -> Array:
    """Return the true labels, decoded, or the true values of a regression."""
    return outputs.classes[outputs.truth] if len(outputs.classes) else outputs.truth
