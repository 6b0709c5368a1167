"""The samples that predictions belong to, for scorers that read them or predict other samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from secateurs.exceptions import InputError
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, MemberIndices, Samples

if TYPE_CHECKING:
    from secateurs.ensembles import Ensemble
    from secateurs.outputs.predictions import Predictions
    from secateurs.outputs.votes import Votes


def as_indexable(X: Samples) -> Samples:
    """Return sparse samples in a format whose rows can be selected, and others as they are."""
    return X.tocsr() if issparse(X) else X


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Samples in the form the user passed them, and the members whose predictions are scored.

    A scorer ``scorer(estimator, X, y)`` receives these samples as X. Its estimator looks up stored
    predictions for them, and calls the sliced model for other samples.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.outputs.sample_rows import SampleRows
    >>> rows = SampleRows(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> rows.find([[3.0, 4.0], [5.0, 6.0]])
    array([ 1, -1])
    """

    X: Samples
    ensemble: Ensemble | None = None  # None for a table of predictions
    # Index in the ensemble of each column of the predictions; None if they are the same.
    columns: IndexArray | None = None
    members: tuple[int, ...] = ()  # of the scored sub-ensemble, as columns of the predictions
    member_weights: tuple[float, ...] | None = None
    given_model: Any = None  # predicts other samples in place of the members

    @classmethod
    def of_table(cls, outputs: Votes | Predictions) -> SampleRows:
        """Return the predictions themselves as samples, for predictions without samples."""
        return cls(prediction_columns(outputs))

    def take(self, samples: IndexArray | slice | BoolArray) -> SampleRows:
        """Return some of the samples; frames, sparse matrices and arrays keep their type."""
        if isinstance(samples, np.ndarray) and samples.dtype == bool:
            samples = np.flatnonzero(samples)
        return replace(self, X=_safe_indexing(self.X, samples))

    def for_columns(self, columns: IndexArray) -> SampleRows:
        """Return the samples for predictions of some of the members."""
        return replace(self, columns=columns if self.columns is None else self.columns[columns])

    def predicted_by(
        self, members: MemberIndices, weights: Sequence[float] | FloatArray | None = None
    ) -> SampleRows:
        """Return the samples with the members whose predictions are scored."""
        given = None if weights is None else tuple(float(weight) for weight in weights)
        return replace(self, members=tuple(int(m) for m in members), member_weights=given)

    def find(self, X: Samples) -> IndexArray:
        """Return the index of each row of X among these samples; -1 for other rows."""
        hashes = _hash_rows(X)
        if len(hashes) == len(self._hashes) and np.array_equal(hashes, self._hashes):
            return np.arange(len(hashes), dtype=np.intp)  # equal rows keep their own predictions
        order = np.argsort(self._hashes, kind="stable")
        sorted_hashes = self._hashes[order]
        nearest = np.minimum(np.searchsorted(sorted_hashes, hashes), len(order) - 1)
        return np.where(sorted_hashes[nearest] == hashes, order[nearest], -1).astype(np.intp)

    @cached_property
    def _hashes(self) -> NDArray[np.uint64]:
        return _hash_rows(self.X)

    @cached_property
    def model(self) -> Any:
        """The sliced model of the members, which predicts other samples."""
        if self.given_model is not None:
            return self.given_model
        if self.ensemble is None or not self.members:
            raise InputError(
                "The scorer predicts samples that have no stored predictions, and there is no "
                "model to predict them. Pass models instead of predictions, or a scorer that "
                "predicts the rows of X only."
            )
        columns = np.arange(self.ensemble.n_members) if self.columns is None else self.columns
        members = columns[list(self.members)]
        ensemble = self.ensemble
        if self.member_weights is not None:
            weights = np.zeros(ensemble.n_members)
            np.add.at(weights, members, self.member_weights)
            ensemble = ensemble.with_member_weights(ensemble.attainable_weights(weights))
        return ensemble.as_predictor(np.unique(members).tolist())


def _hash_rows(X: Samples) -> NDArray[np.uint64]:
    from secateurs.outputs.training_samples import row_hashes  # loads pandas, rarely needed here

    return row_hashes(X)


def prediction_columns(outputs: Any) -> Array:
    """Return decoded predictions: (samples, members) or (samples, members, classes).

    Missing predictions are masked.
    """
    if not hasattr(outputs, "codes"):
        members = range(outputs.n_members)
        values = np.stack([outputs.values(member) for member in members], axis=1)
        missing = np.stack([outputs.is_missing(member) for member in members], axis=1)
        if values.ndim == 3:
            missing = np.broadcast_to(missing[:, :, None], values.shape)
    else:
        codes = outputs.codes(range(outputs.n_members)).T
        missing = codes == outputs.n_classes
        values = outputs.classes[np.where(missing, 0, codes)]
    return np.ma.array(values, mask=missing) if outputs.has_missing else values
