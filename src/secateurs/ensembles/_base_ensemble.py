"""A fitted ensemble: its members, labels and features, what each predicts, and how to slice it."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from secateurs.exceptions import STATE_ERRORS, InputError, describe_error
from secateurs.labels import label_indices, one_hot
from secateurs.typing import Array

_MOST_SHARES = 100


class Ensemble(ABC):
    """A fitted ensemble.

    Attributes
    ----------
    model : object
        The ensemble as it was given.
    members : sequence of fitted classifiers or regressors
        Its members.
    classes : ndarray of shape (n_classes,)
        Its labels, sorted; empty for regressors.
    weights : ndarray of shape (n_members,) or None
        Weights of the members in its own vote.
    is_soft : bool
        Whether its own vote adds up probabilities, or numbers, rather than labels.
    """

    is_soft = False
    is_sequential = False  # whether a member's answers are those of all members up to it
    margin_scale: float | None = None  # that makes margins of shares, where those are averaged
    has_coded_labels = False  # whether members predict places among the classes instead of labels
    weights: NDArray[np.float64] | None = None
    wrappers: tuple[Any, ...] = ()  # or calibrations around the ensemble, the outermost first

    def __init__(self, model: Any, members: Sequence[Any], classes: Array) -> None:
        self.model, self.members, self.classes = model, members, classes
        self.column_members: set[int] = set()  # members found to predict (n_samples, 1)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def is_regression(self) -> bool:
        """Whether members predict numbers rather than labels."""
        return len(self.classes) == 0

    @property
    def member_names(self) -> list[str]:
        """Names of the members."""
        return [f"member {index}" for index in range(self.n_members)]

    def slice(self, members: Sequence[int]) -> Any:
        """Return the same ensemble with some members only, in the order given."""
        sliced = self._slice_model(members)
        for outer in reversed(self.wrappers):
            sliced = _wrap_model(outer, sliced)
        return sliced

    def original_members(self, members: Sequence[int]) -> Any:
        """Return some members themselves, as they were given."""
        return [self.members[member] for member in members]

    def as_predictor(self, members: Sequence[int]) -> Any:
        """Return some members as one model that predicts: the sliced ensemble, unless it cannot."""
        return self.slice(members)

    def with_member_weights(self, weights: NDArray[np.float64]) -> "Ensemble":
        """Return the same ensemble, whose members' weights in its own vote are multiplied by these.

        Members with a weight of 0 are not meant to be sliced.
        """
        shares, relative = weights / weights.sum(), np.zeros(len(weights))
        relative[weights > 0] = integer_proportions(
            weights[weights > 0]
        )  # sums of these have no rounding
        if not np.allclose(relative / relative.sum(), shares, rtol=0, atol=1e-9):
            relative = np.count_nonzero(weights) * shares
        if np.ptp(relative[weights > 0]) == 0:
            return self
        changed = copy.copy(self)
        changed.weights = relative if self.weights is None else self.weights * relative
        return changed

    def attainable_weights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights nearest to these that a sliced ensemble can have."""
        return weights

    def prepare_input(self, X: Any) -> Any:
        """Check and convert X once, for all members."""
        for outer in self.wrappers:
            changes = isinstance(outer, Pipeline) and len(outer) > 1
            X = outer[:-1].transform(X) if changes else X
        return self._convert_input(X)

    def wrapped_in(self, pipeline: Any) -> "Ensemble":
        """Return the same ensemble as the last step of a pipeline, or as what is calibrated."""
        wrapped = copy.copy(self)
        wrapped.wrappers = (pipeline, *self.wrappers)
        return wrapped

    @abstractmethod
    def _slice_model(self, members: Sequence[int]) -> Any:
        """Slice the ensemble itself."""

    def _copy_with(self, members: Sequence[int]) -> Any:
        """Return a copy of the model with some members only; its other attributes are kept."""
        copied = copy.copy(self.model)
        copied.estimators_ = [self.members[member] for member in members]
        return copied

    def _convert_input(self, X: Any) -> Any:
        return X

    def member_features(self, member: int) -> NDArray[np.intp] | None:
        """Return the columns of prepared X that a member sees; None for all."""
        return None

    def member_input(self, X: Any, member: int) -> Any:
        """Return what a member sees of prepared X."""
        features = self.member_features(member)
        return X if features is None else X[:, features]

    def member_class_indices(self, member: int) -> NDArray[np.intp]:
        """Return the place among the ensemble's classes of each class of a member."""
        return self._label_indices(self.members[member].classes_, member)

    def predicted_codes(self, X: Any, member: int) -> Array:
        """Return a member's votes on prepared X, as places among the ensemble's classes."""
        return self._label_indices(self._predicted_column(X, member), member)

    def _call_member(self, X: Any, member: int, method: str) -> Any:
        try:
            return getattr(self.members[member], method)(self.member_input(X, member))
        except STATE_ERRORS as error:
            if isinstance(error, TypeError) and getattr(X, "dtype", None) == np.dtype(object):
                raise  # what X holds, not the member
            raise InputError(
                f"{self._describe_member(member)} cannot {method}: {describe_error(error)}. Fit it again."
            ) from error

    def _describe_member(self, member: int) -> str:
        return f"Member {member}, a {type(self.members[member]).__name__},"

    def _label_indices(self, labels: Any, member: int) -> NDArray[np.intp]:
        known = np.arange(len(self.classes)) if self.has_coded_labels else self.classes
        return label_indices(np.asarray(labels), known, self._describe_member(member))

    def predicted_values(self, X: Any, member: int) -> NDArray[np.float64]:
        """Return a regressor's predictions on prepared X."""
        return self._predicted_column(X, member).astype(float)

    def _predicted_column(self, X: Any, member: int) -> Array:
        """Return what a member predicts, one value per row; some predict (n_samples, 1)."""
        answers = np.asarray(self._call_member(X, member, "predict"))
        if answers.ndim > 1:
            self.column_members.add(member)
        if answers.ndim != 1 and answers.shape[1:] != (1,):
            raise InputError(
                f"{self._describe_member(member)} predicts {answers.shape[-1]} values per row; pruning needs "
                "one. Fit a model per output."
            )
        return answers.ravel()

    def predicted_probabilities(self, X: Any, member: int) -> NDArray[np.float64]:
        """Return a member's probabilities on prepared X: (samples, classes).

        A member without ``predict_proba`` has 1 for the label that it predicts.
        """
        if not hasattr(self.members[member], "predict_proba"):
            return one_hot(self.predicted_codes(X, member), len(self.classes))
        return self.align_probabilities(self._call_member(X, member, "predict_proba"), member)

    def align_probabilities(self, known: Any, member: int) -> NDArray[np.float64]:
        """Return probabilities of a member's classes as those of the ensemble's."""
        spread = np.zeros((len(known), len(self.classes)))
        spread[:, self.member_class_indices(member)] = known
        return spread

    def vote_contribution(self, X: Any, member: int) -> NDArray[np.float64]:
        """Return what a member adds to the ensemble's own vote: (samples, classes)."""
        weight = 1.0 if self.weights is None else float(self.weights[member])
        if self._is_member_soft(member):
            return weight * self.predicted_probabilities(X, member)
        return weight * one_hot(self.predicted_codes(X, member), len(self.classes))

    def _is_member_soft(self, member: int) -> bool:
        return self.is_soft

    def in_bag_samples(self) -> list[NDArray[np.intp]]:
        """Return the training rows that each member saw."""
        raise InputError(
            f"{type(self.model).__name__} keeps no record of the rows its members were trained on. "
            "Out-of-bag votes need a forest or a bagging ensemble; otherwise hold rows out."
        )


def integer_proportions(weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return whole numbers, of 1 or more, in proportion to weights: exactly, if small ones are.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.ensembles._base_ensemble import integer_proportions
    >>> integer_proportions(np.array([0.5, 0.2, 0.3])), integer_proportions(np.array([1.0, np.pi]))
    (array([5, 2, 3]), array([24, 76]))
    """
    shares = weights / weights.sum()
    for total in range(len(shares), _MOST_SHARES + 1):
        counts = np.rint(shares * total)
        if (counts > 0).all() and np.allclose(counts, shares * total, rtol=0, atol=1e-9):
            return counts.astype(np.intp)
    return np.maximum(1, np.rint(shares * _MOST_SHARES)).astype(np.intp)


def _wrap_model(outer: Any, inner: Any) -> Any:
    """Return a copy of a pipeline, or of a calibration, around another model."""
    copied = copy.copy(outer)
    if isinstance(outer, Pipeline):
        copied.steps = [*outer.steps[:-1], (outer.steps[-1][0], inner)]
        return copied
    (calibrated,) = outer.calibrated_classifiers_
    if isinstance(calibrated.estimator, FrozenEstimator):
        inner = copied.estimator = FrozenEstimator(inner)
    only = copy.copy(calibrated)
    only.estimator, copied.calibrated_classifiers_ = inner, [only]
    return copied
