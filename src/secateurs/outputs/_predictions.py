"""Predictions instead of models: a table of labels, or probabilities of classes."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array, one_hot
from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.outputs._scores import ScoreFiller, Scores
from secateurs.outputs._votes import Votes


class Predictions(Ensemble):
    """An ensemble of which only predictions are known.

    Its "rows" are row numbers of the table, so that it can be used like any other ensemble.

    Parameters
    ----------
    table : array-like
        Labels (samples × members), as an array, masked array or data frame; or probabilities
        (samples × members × classes) of the classes 0, 1, 2, … in their order.

    Examples
    --------
    >>> from secateurs.outputs._predictions import Predictions
    >>> known = Predictions([["cat", "dog"], ["cat", "cat"]])
    >>> known.codes(known.prepare(None), 1)
    array([1, 0], dtype=uint8)
    """

    def __init__(self, table: Any) -> None:
        self._probabilities = _probabilities(table)
        self.soft = self._probabilities is not None
        if self._probabilities is not None:
            codes = self._probabilities.argmax(axis=2).T
            self.votes = Votes.from_codes(codes, np.arange(self._probabilities.shape[2]))
        else:
            self.votes = Votes.encode(table)
        super().__init__(table, range(self.votes.n_members), self.votes.classes)

    @cached_property
    def scores(self) -> Scores:
        """The probabilities; 1 for the label of a member that has none."""
        if self._probabilities is not None:
            return Scores.encode(self._probabilities, classes=self.classes)
        filler = ScoreFiller(self.n_members, self.votes.n_samples, self.classes)
        for member in range(self.n_members):
            codes = self.votes.codes([member])[0]
            hot = one_hot(codes, len(self.classes))
            filler.fill(member, hot, codes == len(self.classes))
        return filler.finish(names=self.names)

    @property
    def names(self) -> list[str]:
        return super().names if self.votes.names is None else self.votes.names.tolist()

    def codes(self, X: Any, member: int) -> Array:
        return self.votes.codes([member])[0][X]

    def contribution(self, X: Any, member: int) -> NDArray[np.float64]:
        if self._probabilities is not None:
            return self._probabilities[X, member].astype(float)
        return one_hot(self.codes(X, member), len(self.classes))

    def _prepare(self, X: Any) -> NDArray[np.intp]:
        if X is not None:
            raise InputError("Predictions need no X: they are the members' answers. Give y alone.")
        return np.arange(self.votes.n_samples)

    def _slice(self, members: Sequence[int]) -> Any:
        if hasattr(self.model, "iloc"):
            return self.model.iloc[:, list(members)]
        as_array = np.ma.asanyarray if self.votes.has_missing else np.asarray
        return as_array(self.model)[:, list(members)]


def is_table(model: Any) -> bool:
    """Tell whether something is predictions rather than models."""
    if isinstance(model, (list, tuple)):
        return len(model) > 0 and not any(hasattr(member, "predict") for member in model)
    return hasattr(model, "__array__") and not hasattr(model, "predict")


def _probabilities(table: Any) -> NDArray[Any] | None:
    """Return a table of probabilities, checked; None for a table of labels."""
    values = np.asarray(table)
    if values.ndim != 3:
        return None
    if values.size == 0 or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise InputError(
            f"Probabilities of shape {values.shape} and type {values.dtype} are not all finite "
            "numbers. Give samples × members × classes."
        )
    bad = (np.abs(values.sum(axis=2) - 1) > 1e-3) | (values.min(axis=2) < 0)
    if bad.any():
        sample, member = (int(place) for place in np.argwhere(bad)[0])
        raise InputError(
            f"Member {member} gives sample {sample} the probabilities {values[sample, member]}, "
            "which do not sum to 1. Give samples × members × classes, in this order."
        )
    return values
