"""Cross-validation folds: the parameters ``cv`` and ``groups``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError, describe_error
from secateurs.outputs.stratified_folds import N_FOLDS, stratified_fold_indices
from secateurs.pruners.parameters import is_integer
from secateurs.text_format import format_count
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, IndexArray, Samples

FoldIndices: TypeAlias = tuple[IndexArray, IndexArray]  # of training and of held-out samples


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How the validation samples are split into folds.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.problem.cross_validation import CrossValidation
    >>> folds = CrossValidation.from_parameters(2, ["a", "a", "b", "b"], 4)
    >>> sorted(held_out.tolist() for _, held_out in folds.split(np.array([0, 1, 0, 1]), None, 0))
    [[0, 1], [2, 3]]
    """

    # A number of folds, a splitter of scikit-learn, or a list of index pairs.
    cv: Any = None
    groups: Array | None = None

    @classmethod
    def from_parameters(
        cls, cv: Any, groups: ArrayLike | None, n_samples: int, name: str = "cv"
    ) -> CrossValidation:
        """Return the folds for the parameters ``cv``, called ``name``, and ``groups``, checked."""
        labels = None if groups is None else _check_groups(groups, n_samples)
        if cv is None or is_splitter(cv):
            return cls(cv, labels)
        if is_integer(cv):
            if cv < 2:
                raise InputError("{cv} is too small. Pass 2 or more folds.", cv=cv)
            return cls(int(cv), labels)
        if isinstance(cv, str) or not hasattr(cv, "__iter__"):
            raise InputError(
                "{cv} is not valid. Pass a number of folds, a splitter of scikit-learn such as "
                "GroupKFold(5), or pairs of training and held-out indices.",
                cv=cv,
            )
        return cls(_check_index_pairs(list(cv), n_samples, name), labels)

    @property
    def is_default(self) -> bool:
        """Whether the folds are the default: five, stratified, without groups."""
        return self.cv is None and self.groups is None

    @property
    def has_fixed_indices(self) -> bool:
        """Whether the folds are given as indices, which apply to all samples only."""
        return isinstance(self.cv, list)

    @cached_property
    def group_indices(self) -> IndexArray | None:
        """The number of each sample's group, in the order of their first samples."""
        if self.groups is None:
            return None
        _, first, inverse = np.unique(self.groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[inverse]

    def on_samples(self, samples: IndexArray) -> CrossValidation:
        """Return the folds of some of the samples."""
        groups = None if self.groups is None else self.groups[samples]
        return replace(self, cv=None if self.has_fixed_indices else self.cv, groups=groups)

    def n_folds(self, y: Array, X: Samples) -> int:
        """Return the number of folds."""
        if self.has_fixed_indices:
            return len(self.cv)
        if is_splitter(self.cv):
            return int(self.cv.get_n_splits(_splitter_input(X, y), y, self.groups))
        n_units = len(y) if self.group_indices is None else int(self.group_indices.max()) + 1
        return min(N_FOLDS if self.cv is None else self.cv, n_units)

    def split(
        self, y: Array, X: Samples, seed: int | np.random.RandomState | None
    ) -> Iterator[FoldIndices]:
        """Yield the indices of training and of held-out samples of each fold.

        ``y`` contains the codes of the classes, or the values of a regression. A splitter receives
        X if the samples are kept.
        """
        if self.has_fixed_indices:
            yield from self.cv
        elif is_splitter(self.cv):
            try:
                with record_warnings():  # splitters that do not use groups warn about them
                    pairs = list(self.cv.split(_splitter_input(X, y), y, self.groups))
            except Exception as error:
                raise InputError(
                    f"{{cv}} cannot split these samples: {describe_error(error)}. Pass other "
                    "folds, or {groups} if the splitter needs them.",
                    cv=self.cv,
                    groups=...,
                ) from error
            yield from _check_index_pairs(pairs, len(y))
        else:
            rng = seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)
            n_folds = N_FOLDS if self.cv is None else self.cv
            yield from stratified_fold_indices(y, rng, n_folds, self.group_indices)

    @property
    def description(self) -> str:
        """How members are selected and scored, as a part of a sentence."""
        if self.is_default:
            return "selected on four fifths, scored on the remaining fifth, five times"
        if self.has_fixed_indices:
            name = f"{format_count(len(self.cv), 'fold')} given as indices"
        elif is_splitter(self.cv):
            name = f"the folds of {type(self.cv).__name__}"
        else:
            name = format_count(N_FOLDS if self.cv is None else self.cv, "fold")
        grouped = "" if self.groups is None else ", with whole groups held out"
        how = "selected on the training samples and scored on the held-out samples of"
        return f"{how} {name}{grouped}"


def is_splitter(cv: object) -> bool:
    """Return whether an object is a splitter of scikit-learn; text has a ``split`` of its own."""
    return hasattr(cv, "split") and not isinstance(cv, str)


def _splitter_input(X: Samples, y: Array) -> Samples:
    return np.zeros((len(y), 1)) if X is None else X


def _check_groups(groups: ArrayLike, n_samples: int) -> Array:
    labels = np.asarray(groups)
    if labels.ndim != 1 or len(labels) != n_samples:
        raise InputError(
            f"{{groups}} has shape {labels.shape}, but there are "
            f"{format_count(n_samples, 'sample')}. Pass one group label for each sample.",
            groups=...,
        )
    if labels.dtype == object:
        labels = labels.astype(str)
    if len(np.unique(labels)) < 2:
        raise InputError(
            "{groups} has a single group, so that no group can be held out. Pass the labels of at "
            "least two groups.",
            groups=...,
        )
    return labels


def _check_index_pairs(pairs: Sequence[Any], n_samples: int, name: str = "cv") -> list[FoldIndices]:
    """Return pairs of index arrays, after checking that each fold can be used."""
    checked = []
    for number, pair in enumerate(pairs, 1):
        try:
            training, held_out = (_as_indices(np.asarray(part)) for part in pair)
        except (TypeError, ValueError):
            raise InputError(
                f"{{{name}}} has no pair of index arrays for fold {number}. Pass pairs of "
                "training and held-out indices.",
                **{name: ...},
            ) from None
        both = np.concatenate([training, held_out])
        if not len(training) or not len(held_out):
            part = "training" if not len(training) else "held-out"
            raise InputError(
                f"{{{name}}} has no {part} samples in fold {number}. Pass both.", **{name: ...}
            )
        if both.min() < 0 or both.max() >= n_samples:
            wrong = int(both.max() if both.max() >= n_samples else both.min())
            raise InputError(
                f"{{{name}}} has the index {wrong} in fold {number}, but there are "
                f"{format_count(n_samples, 'sample')}. Pass indices from 0 to {n_samples - 1}.",
                **{name: ...},
            )
        if np.isin(held_out, training).any():
            raise InputError(
                f"{{{name}}} has samples in both parts of fold {number}. Hold out other samples "
                "than those that members are selected on.",
                **{name: ...},
            )
        checked.append((training, held_out))
    if not checked:
        raise InputError(f"{{{name}}} has no folds. Pass at least one.", **{name: ...})
    return checked


def _as_indices(part: Array) -> IndexArray:
    if part.dtype == bool:
        return np.flatnonzero(part)
    return part.astype(np.intp, casting="same_kind" if len(part) else "unsafe")
