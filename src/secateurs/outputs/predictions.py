"""Scores: probabilities or numbers that an ensemble's members predict, in fixed point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from secateurs.exceptions import InputError
from secateurs.labels import argmax_with_ties, as_labels, merge_classes, one_hot
from secateurs.outputs._prediction_cells import PredictionFiller
from secateurs.outputs.fixed_point import (
    PROBABILITY_BITS,
    coarsen_steps,
    mean_from_sums,
    missing_cell_value,
)
from secateurs.outputs.input_checks import (
    as_label_column,
    as_target_values,
    check_not_transposed,
    check_table_shape,
    effective_members,
    text_column_names,
)
from secateurs.outputs.label_coding import encode_column, find_classes
from secateurs.outputs.vote_packing import BitPlanes, pack_bits
from secateurs.outputs.votes import Votes
from secateurs.text_format import format_count
from secateurs.typing import Array, MemberIndices

_ONE = 1 << PROBABILITY_BITS


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Probabilities of classes, or numbers, that members predict, and the truth beside them.

    Made by `encode`, and never changed. Values are kept as integers, so that sums over rows are
    exact: batches, shards and machines give the same members.

    Attributes
    ----------
    cells : ndarray of shape (n_members, n_components, n_samples)
        The values as integers; the smallest of their type stands for a missing one.
        Probabilities take 16 bits, rounded to steps of 2⁻¹⁴: one component per class, of two
        classes the second only. Numbers have one component of 32 bits, rounded down.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty for numbers.
    y : ndarray of shape (n_samples,) or None
        The true labels, coded, or the true numbers.
    names : ndarray of shape (n_members,) or None
        Names of the members.
    has_missing : bool
        Whether values are missing.
    exponent : int
        A cell of 1 stands for ``2.0**-exponent``. For numbers it follows from the largest one,
        which takes 30 bits.
    is_sequential : bool
        Whether a member's values are those of all members up to it, as for `Votes`.
    margin_scale : float or None
        For ensembles that average margins: values are shares in proportion to margins, and this
        factor of their mean gives, by the softmax, the probabilities of the ensemble.

    See Also
    --------
    Votes : Labels instead of probabilities or numbers.
    collect_predictions : Collect the scores of a fitted ensemble.

    Notes
    -----
    A probability is off by at most 2⁻¹⁵, a number by less than 2⁻²⁹ of the largest absolute one.

    Examples
    --------
    >>> from secateurs import Predictions
    >>> Predictions.encode([[[0.2, 0.8], [0.5, 0.5]], [[0.9, 0.1], [1, 0]]], y=[1, 0])
    Predictions(2 samples, 2 members, 2 classes)
    >>> Predictions.encode([[2.5, 3.0], [1.0, 0.5]], y=[2.0, 1.0])
    Predictions(2 samples, 2 members)
    """

    cells: Array
    classes: Array
    y: Array | None = None
    names: NDArray[np.object_] | None = None
    has_missing: bool = False
    exponent: int = PROBABILITY_BITS
    is_sequential: bool = False
    margin_scale: float | None = None

    @classmethod
    def encode(cls, scores: Any, y: ArrayLike | None = None, classes: Any = None) -> Predictions:
        """Code a table of probabilities or numbers.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_members, n_classes) or (n_samples, n_members)
            Probabilities, which sum to 1, or numbers; masked where a member has none.
        y : array-like of shape (n_samples,), optional
            The true labels, or the true numbers.
        classes : array-like of shape (n_classes,), optional
            The labels in the order of the probabilities; by default 0, 1, 2, …

        Returns
        -------
        Predictions
        """
        table = np.ma.asanyarray(scores)
        check_not_transposed(table.shape, None if y is None else np.shape(y))
        check_table_shape(table[:, :, 0] if table.ndim == 3 else table, None)
        is_probabilities = table.ndim == 3
        values, mask = np.ma.getdata(table), None
        if np.ma.is_masked(table):
            masked: Array = np.asarray(np.ma.getmaskarray(table))
            mask = np.asarray(masked.any(axis=2) if is_probabilities else masked).T
        labels = _check_class_labels(table.shape[2], classes) if is_probabilities else np.empty(0)
        order = np.argsort(labels, kind="stable")
        into = PredictionFiller(table.shape[1], table.shape[0], labels[order])
        for member in range(table.shape[1]):
            answers = values[:, member][:, order] if is_probabilities else values[:, member]
            into.fill_member(member, answers, None if mask is None else mask[member])
        return cls.filled(into, y, text_column_names(scores))

    @classmethod
    def filled(
        cls, into: PredictionFiller, y: ArrayLike | None = None, names: Any = None
    ) -> Predictions:
        """Return scores of which every member has been filled in."""
        cells, has_missing, exponent = into.finish_cells()
        named = None if names is None else np.array(names, dtype=object)
        scores = cls(cells, into.classes, None, named, has_missing, exponent)
        return scores if y is None else scores.with_labels(y)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.cells.shape[2]

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.cells.shape[0]

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for numbers."""
        return len(self.classes)

    @property
    def is_numbers(self) -> bool:
        """Whether these are numbers, of regressors, rather than probabilities."""
        return self.n_classes == 0

    @property
    def nbytes(self) -> int:
        """Number of bytes that the values take."""
        return self.cells.nbytes

    @property
    def truth(self) -> Array:
        """The true labels, coded, or the true numbers; an error if there are none."""
        if self.y is None:
            raise InputError(
                "These scores have no true values. Give Predictions.encode(scores, y)."
            )
        return self.y

    @property
    def n_voted(self) -> NDArray[np.int64]:
        """Number of samples that each member has a value for."""
        if not self.has_missing:
            return np.full(self.n_members, self.n_samples)
        return self.present.code_counts[:, 0]

    @cached_property
    def votes(self) -> Votes:
        """The labels with the largest probabilities, the lowest class of those that tie."""
        if self.is_numbers:
            raise InputError("Numbers are not votes: these are scores of regressors.")
        codes = np.empty((self.n_members, self.n_samples), dtype=np.uint16)
        for member, row in enumerate(codes):
            row[:] = self._class_components(self.cells[member]).argmax(axis=0)
        mask = None
        if self.has_missing:
            mask = np.stack([self.is_missing(member) for member in range(self.n_members)])
        votes = Votes.from_codes(codes, self.classes, None, mask, self.names)
        return votes if self.y is None else votes.with_labels(self.classes[self.y])

    @cached_property
    def present(self) -> BitPlanes:
        """The samples that each member has a value for, as bits."""
        marked = [pack_bits(~self.is_missing(member)[None]) for member in range(self.n_members)]
        return BitPlanes(np.stack(marked), self.n_samples)

    @cached_property
    def squared_errors(self) -> NDArray[np.float64]:
        """Mean squared error of each member; of probabilities, summed over the classes."""
        errors = np.empty(self.n_members)
        truth = self.truth if self.is_numbers else np.eye(self.n_classes)[self.truth]
        for member in range(self.n_members):
            present = ~self.is_missing(member)
            off = (self.values(member) - truth)[present]
            errors[member] = (off**2).sum() / max(1, np.count_nonzero(present))
        return errors

    def is_missing(self, member: int) -> NDArray[np.bool_]:
        """Mark the samples that a member has no value for."""
        return self.cells[member, 0] == missing_cell_value(self.cells)

    def values(self, member: int) -> NDArray[np.float64]:
        """Return a member's values: (samples, classes), or (samples,) for numbers.

        They are 0 where they are missing.
        """
        cells = np.where(self.is_missing(member), 0, self.cells[member])
        if self.is_numbers:
            return np.ldexp(cells[0].astype(float), -self.exponent)
        spread = self._class_components(cells) / _ONE
        if self.has_missing:
            spread[:, self.is_missing(member)] = 0.0
        return spread.T

    def decode(self) -> Array:
        """Return all values: (samples, members, classes), or (samples, members) for numbers.

        Probabilities are 32-bit floats, which hold the steps of 2⁻¹⁴ exactly; missing values are
        masked.
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
    ) -> NDArray[np.float64]:
        """Return the mean of some members' values: (samples, classes), or (samples,) for numbers.

        It is over the members that have a value; where none has, each class has the same
        probability, and numbers are NaN.
        """
        return self._mean_and_weight(members, weights)[0]

    def vote(
        self,
        members: MemberIndices | None = None,
        silent: Any = None,
        weights: ArrayLike | None = None,
    ) -> Array:
        """Return the label with the largest mean probability, or the mean number, per sample.

        Ties go to the lowest class. A sample without any value gets ``silent``, NaN for numbers.
        """
        mean, present = self._mean_and_weight(members, weights)
        if self.is_numbers:
            return mean
        labels = self.classes[mean.argmax(axis=1) if weights is None else argmax_with_ties(mean)]
        return labels if silent is None else np.where(present > 0, labels, silent)

    def _mean_and_weight(
        self, members: MemberIndices | None, weights: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean, and the total weight of the members that have a value."""
        chosen = np.asarray(effective_members(self, members))
        equal = weights is None or self.is_sequential
        shares = np.ones(len(chosen)) if equal else np.asarray(weights, dtype=float)
        total = np.zeros((self.n_samples, *(() if self.is_numbers else (self.n_classes,))))
        present = np.zeros(self.n_samples)
        for member, share in zip(chosen.tolist(), shares, strict=True):
            total += share * self.values(member)
            present += share * ~self.is_missing(member)
        return self.linked(mean_from_sums(total, present)), present

    def linked(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answer that a mean of values stands for."""
        return mean if self.margin_scale is None else softmax(self.margin_scale * mean, axis=1)

    def take(self, members: MemberIndices) -> Predictions:
        """Return the scores of some members, in the order given."""
        chosen = np.asarray(members, dtype=np.intp)
        names = None if self.names is None else self.names[chosen]
        return replace(self, cells=_make_read_only(self.cells[chosen]), names=names)

    def rows(self, samples: NDArray[np.intp] | slice) -> Predictions:
        """Return the scores on some samples."""
        y = None if self.y is None else _make_read_only(self.y[samples])
        return replace(
            self, cells=_make_read_only(np.ascontiguousarray(self.cells[..., samples])), y=y
        )

    def with_labels(self, y: ArrayLike) -> Predictions:
        """Return the same scores with these true labels or numbers, in place of any they have."""
        if self.is_numbers:
            return replace(self, y=_make_read_only(as_target_values(y, self.n_samples)))
        truth = as_label_column(y, self.n_samples)
        moved = self.among(merge_classes(self.classes, find_classes(truth)))
        return replace(moved, y=encode_column(truth, moved.classes))

    def append(self, scores: Predictions) -> Predictions:
        """Return these scores followed by further samples, as if all were encoded at once."""
        if scores.is_numbers != self.is_numbers:
            raise InputError("Probabilities and numbers do not mix. Give batches of one kind.")
        if scores.n_members != self.n_members:
            raise InputError(
                f"The further scores are of {scores.n_members} members, the earlier ones of "
                f"{self.n_members}. Give the same members, in the same order."
            )
        if (scores.y is None) != (self.y is None):
            raise InputError("Give true values with all batches of scores, or with none.")
        classes = self.classes if self.is_numbers else merge_classes(self.classes, scores.classes)
        exponent = min(self.exponent, scores.exponent)
        both = [part.among(classes).with_exponent(exponent) for part in (self, scores)]
        truths = [part.y for part in both if part.y is not None]
        return replace(
            both[0],
            cells=_make_read_only(np.concatenate([part.cells for part in both], axis=2)),
            y=_make_read_only(np.concatenate(truths)) if truths else None,
            has_missing=self.has_missing or scores.has_missing,
        )

    def with_exponent(self, exponent: int) -> Predictions:
        """Return the same scores in steps that are not smaller."""
        cells = coarsen_steps(self.cells, self.exponent - exponent)
        return replace(self, cells=cells, exponent=exponent)

    def among(self, classes: Array) -> Predictions:
        """Return the same probabilities among more classes, sorted."""
        if len(classes) == self.n_classes:
            return replace(self, classes=classes)
        into = PredictionFiller(self.n_members, self.n_samples, classes)
        places = np.searchsorted(classes, self.classes)
        for member, cells in enumerate(into.cells):
            cells[:] = 0
            spread = self._class_components(self.cells[member])
            if len(classes) == 2:  # of which these have one
                cells[0] = spread[0] if places[0] == 1 else _ONE - spread[0]
            else:
                cells[places] = spread
            cells[:, self.is_missing(member)] = missing_cell_value(cells)
        y = self.y
        if y is not None:
            y = encode_column(self.classes[y][:, None], classes)
        return replace(self, cells=_make_read_only(into.cells), classes=classes, y=y)

    def _class_components(self, cells: Array) -> Array:
        """Return a component per class for one member; what is missing is without meaning."""
        if self.n_classes != 2:
            return cells
        return np.concatenate([_ONE - cells, cells])

    def __repr__(self) -> str:
        shape = (
            f"{format_count(self.n_samples, 'sample')}, {format_count(self.n_members, 'member')}"
        )
        shape += "" if self.is_numbers else f", {format_count(self.n_classes, 'class')}"
        return f"Predictions({shape})"


def _check_class_labels(n_classes: int, classes: Any) -> Array:
    """Return the labels of probabilities, in the order of their columns."""
    if classes is None:
        return np.arange(n_classes)
    labels = as_labels(classes, "classes")
    if labels.shape != (n_classes,) or len(np.unique(labels)) < n_classes:
        raise InputError(
            f"classes has shape {labels.shape}, but there are probabilities of {n_classes} "
            "classes. Give one label for each, all different."
        )
    return labels


def _make_read_only(values: Array) -> Array:
    values.flags.writeable = False
    return values


def predictions_from_votes(votes: Votes) -> Predictions:
    """Return votes as probabilities: 1 for the label that a member gives."""
    filler = PredictionFiller(votes.n_members, votes.n_samples, votes.classes)
    for member in range(votes.n_members):
        codes = votes.codes([member])[0]
        filler.fill_member(member, one_hot(codes, votes.n_classes), codes == votes.n_classes)
    y = None if votes.y is None else true_values(votes)
    return Predictions.filled(filler, y, votes.names)


def true_values(outputs: Votes | Predictions) -> Array:
    """Return the true labels as they were given, not coded, or the true numbers."""
    return outputs.classes[outputs.truth] if len(outputs.classes) else outputs.truth
