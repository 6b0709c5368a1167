"""Fitted ensembles: their members, labels and features, and how to slice them.

`as_ensemble` turns a fitted model, or a list or dict of models, into an `Ensemble`; for predictions
see `secateurs.outputs._predictions`. A sliced ensemble is a plain object of the same class, with
all of its attributes in agreement; it shares its members with the original, which stays unchanged.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as kinds
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted, validate_data

from secateurs._labels import Array, merge_classes, one_hot, places_among
from secateurs.exceptions import InputError, UnsupportedEnsembleError, cause_of

_STALE = ("oob_score_", "oob_decision_function_", "oob_prediction_")
_KNOWN = (
    "RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier, VotingClassifier, "
    "AdaBoostClassifier, a Pipeline or fitted search around one, a list or dict of fitted "
    "classifiers, or predictions (samples × members)"
)


class Ensemble(ABC):
    """A fitted ensemble.

    Attributes
    ----------
    model : object
        The ensemble as it was given.
    members : sequence of fitted classifiers
        Its members.
    classes : ndarray of shape (n_classes,)
        Its labels, sorted.
    weights : ndarray of shape (n_members,) or None
        Weights of the members in its own vote.
    soft : bool
        Whether its own vote adds up probabilities rather than labels.
    """

    soft = False
    coded = False  # whether members predict places among the classes instead of labels
    weights: NDArray[np.float64] | None = None
    pipelines: tuple[Pipeline, ...] = ()  # around the ensemble, the outermost first

    def __init__(self, model: Any, members: Sequence[Any], classes: Array) -> None:
        self.model, self.members, self.classes = model, members, classes

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return [f"member {index}" for index in range(self.n_members)]

    def slice(self, members: Sequence[int]) -> Any:
        """Return the same ensemble with some members only, in the order given."""
        sliced = self._slice(members)
        for pipeline in reversed(self.pipelines):
            inner, sliced = sliced, copy.copy(pipeline)
            sliced.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], inner)]
        return sliced

    def prepare(self, X: Any) -> Any:
        """Check and convert X once, for all members."""
        for pipeline in self.pipelines:
            X = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
        return self._prepare(X)

    def within(self, pipeline: Pipeline) -> "Ensemble":
        """Return the same ensemble as the last step of a pipeline."""
        wrapped = copy.copy(self)
        wrapped.pipelines = (pipeline, *self.pipelines)
        return wrapped

    @abstractmethod
    def _slice(self, members: Sequence[int]) -> Any:
        """Slice the ensemble itself."""

    def _copy_with(self, members: Sequence[int]) -> Any:
        """Return a copy of the model with some members only; its other attributes are kept."""
        copied = copy.copy(self.model)
        copied.estimators_ = [self.members[member] for member in members]
        return copied

    def _prepare(self, X: Any) -> Any:
        return X

    def features(self, member: int) -> NDArray[np.intp] | None:
        """Return the columns of prepared X that a member sees; None for all."""
        return None

    def view(self, X: Any, member: int) -> Any:
        """Return what a member sees of prepared X."""
        features = self.features(member)
        return X if features is None else X[:, features]

    def positions(self, member: int) -> NDArray[np.intp]:
        """Return the place among the ensemble's classes of each class of a member."""
        return self._places(self.members[member].classes_, member)

    def codes(self, X: Any, member: int) -> Array:
        """Return a member's votes on prepared X, as places among the ensemble's classes."""
        return self._places(self._ask(X, member, "predict"), member)

    def _ask(self, X: Any, member: int, method: str) -> Any:
        try:
            return getattr(self.members[member], method)(self.view(X, member))
        except (LookupError, AttributeError, ArithmeticError) as error:  # its state makes no sense
            raise InputError(
                f"{self._title(member)} cannot {method}: {cause_of(error)}. Fit it again."
            ) from error

    def _title(self, member: int) -> str:
        return f"Member {member}, a {type(self.members[member]).__name__},"

    def _places(self, labels: Any, member: int) -> NDArray[np.intp]:
        known = np.arange(len(self.classes)) if self.coded else self.classes
        return places_among(np.asarray(labels), known, self._title(member))

    def contribution(self, X: Any, member: int) -> NDArray[np.float64]:
        """Return what a member adds to the ensemble's own vote: (samples, classes)."""
        weight = 1.0 if self.weights is None else float(self.weights[member])
        if not self._is_soft(member):
            return weight * one_hot(self.codes(X, member), len(self.classes))
        known = self._ask(X, member, "predict_proba")
        added = np.zeros((len(known), len(self.classes)))
        added[:, self.positions(member)] = known
        return weight * added

    def _is_soft(self, member: int) -> bool:
        return self.soft

    def in_bag(self) -> list[NDArray[np.intp]]:
        """Return the training rows that each member saw."""
        raise InputError(
            f"{type(self.model).__name__} keeps no record of the rows its members were trained on. "
            "Out-of-bag votes need a forest or a bagging ensemble; otherwise hold rows out."
        )


class _Bootstrapped(Ensemble):
    """Forests and bagging: a list of members, each trained on a sample of the rows."""

    coded = True

    def __init__(self, model: Any) -> None:
        if getattr(model, "n_outputs_", 1) > 1:
            raise UnsupportedEnsembleError(
                f"{type(model).__name__} has {model.n_outputs_} outputs; pruning needs one label "
                "per row. Fit one ensemble per output."
            )
        super().__init__(model, model.estimators_, model.classes_)

    def _slice(self, members: Sequence[int]) -> Any:
        sliced = self._copy_with(members)
        sliced.n_estimators = len(members)
        for name in _STALE:
            sliced.__dict__.pop(name, None)
        return sliced

    def in_bag(self) -> list[NDArray[np.intp]]:
        rows = self.model.estimators_samples_
        if not self.model.bootstrap and all(len(seen) == self.model._n_samples for seen in rows):
            raise InputError(
                f"{type(self.model).__name__} was trained with bootstrap=False: every member saw "
                "every row, so there are no out-of-bag votes. Hold rows out, or use bootstrap=True."
            )
        return rows


class Forest(_Bootstrapped):
    """A random forest or extra trees: averages probabilities."""

    soft = True

    def _prepare(self, X: Any) -> Any:
        return self.model._validate_X_predict(X)


class Bagging(_Bootstrapped):
    """Bagging: members may see some of the features."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.soft = all(hasattr(member, "predict_proba") for member in self.members)

    def _prepare(self, X: Any) -> Any:
        checks = {"accept_sparse": ["csr", "csc"], "dtype": None, "ensure_all_finite": False}
        return validate_data(self.model, X, reset=False, **checks)

    def features(self, member: int) -> NDArray[np.intp] | None:
        """Return the columns of prepared X that a member sees; None for all."""
        features = np.asarray(self.model.estimators_features_[member])
        return None if np.array_equal(features, np.arange(self.model.n_features_in_)) else features

    def _is_soft(self, member: int) -> bool:
        return hasattr(self.members[member], "predict_proba")  # as bagging does, one by one

    def _slice(self, members: Sequence[int]) -> Any:
        sliced = super()._slice(members)
        sliced.estimators_features_ = [self.model.estimators_features_[m] for m in members]
        if self._knows_seeds:
            sliced._seeds = np.asarray(self.model._seeds)[list(members)]
        else:
            sliced.__dict__.pop("_seeds", None)  # better no record of rows than a wrong one
        return sliced

    @property
    def _knows_seeds(self) -> bool:
        """Whether there is a seed for each member; with warm_start only the last are kept."""
        return len(self.model._seeds) == len(self.members)

    def in_bag(self) -> list[NDArray[np.intp]]:
        """Return the training rows that each member saw."""
        if not self._knows_seeds:
            raise InputError(
                "This bagging ensemble was grown by warm_start and knows only the rows of its last "
                "members. Fit it at once for out-of-bag votes, or hold rows out."
            )
        return super().in_bag()


class Voting(Ensemble):
    """Voting: named members with weights, by labels or by probabilities."""

    coded = True

    def __init__(self, model: Any) -> None:
        super().__init__(model, model.estimators_, model.le_.classes_)
        self._kept = [pair for pair in model.estimators if pair[1] != "drop"]
        if len(self._kept) != len(model.estimators_):
            raise InputError(
                f"The voting names {len(self._kept)} members but was fitted with "
                f"{len(model.estimators_)}: it was changed afterwards. Fit it again."
            )
        self.soft = model.voting == "soft"
        if model.weights is not None:
            self.weights = np.asarray(model._weights_not_none, dtype=float)

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return [name for name, _ in self._kept]

    def _slice(self, members: Sequence[int]) -> Any:
        sliced = self._copy_with(members)
        sliced.estimators = [self._kept[member] for member in members]
        fitted = zip(sliced.estimators, sliced.estimators_, strict=True)
        sliced.named_estimators_ = Bunch(**{name: member for (name, _), member in fitted})
        if self.weights is not None:
            sliced.weights = self.weights[list(members)].tolist()
            if not any(sliced.weights) or (self.soft and sum(sliced.weights) == 0):
                why = f"The weights of the members kept, {sliced.weights}, sum to 0"
                raise InputError(f"{why}. Keep more, or drop the weights: voting.weights = None.")
        return sliced


class Boosting(Ensemble):
    """AdaBoost: weighted votes."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, model.estimators_, model.classes_)
        self.weights = np.asarray(model.estimator_weights_[: len(model.estimators_)], dtype=float)

    def _prepare(self, X: Any) -> Any:
        return self.model._check_X(X)

    def _slice(self, members: Sequence[int]) -> Any:
        sliced, chosen = self._copy_with(members), list(members)
        sliced.estimator_weights_ = self.model.estimator_weights_[chosen]
        sliced.estimator_errors_ = self.model.estimator_errors_[chosen]
        sliced.n_estimators = len(chosen)
        return sliced


class Models(Ensemble):
    """A list or dict of fitted classifiers: plurality vote."""

    def __init__(self, model: Any) -> None:
        members = list(model.values()) if isinstance(model, Mapping) else list(model)
        for index, member in enumerate(members):
            fault = _fault_of_member(member)
            if fault is not None:
                name = type(member).__name__
                raise UnsupportedEnsembleError(f"Member {index}, a {name}, {fault}")
        if not members:
            raise InputError("The list of models is empty. Give at least one fitted classifier.")
        known = [np.asarray(member.classes_) for member in members]
        super().__init__(model, members, reduce(merge_classes, known))

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return list(map(str, self.model)) if isinstance(self.model, Mapping) else super().names

    def _slice(self, members: Sequence[int]) -> Any:
        if isinstance(self.model, Mapping):
            items = list(self.model.items())
            return dict(items[member] for member in members)
        return [self.members[member] for member in members]


def as_ensemble(model: Any) -> Ensemble:
    """Return a model as an `Ensemble`.

    Parameters
    ----------
    model : object
        A fitted scikit-learn ensemble, a pipeline or fitted search around one, or a list or dict of
        fitted classifiers.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs.ensembles import as_ensemble
    >>> forest = RandomForestClassifier(10, random_state=0).fit(*load_iris(return_X_y=True))
    >>> as_ensemble(forest).slice([2, 7]).n_estimators
    2
    """
    if isinstance(model, FrozenEstimator):
        return as_ensemble(model.estimator)
    if isinstance(model, (GridSearchCV, RandomizedSearchCV)) or hasattr(model, "best_estimator_"):
        check_is_fitted(model)
        if not hasattr(model, "best_estimator_"):
            raise InputError("The search has no best_estimator_. Run it with refit=True.")
        return as_ensemble(model.best_estimator_)
    if isinstance(model, (list, tuple, Mapping)):
        return Models(model)
    if isinstance(model, Pipeline):
        return as_ensemble(model.steps[-1][1]).within(model)
    for known, kind in _KINDS:
        if isinstance(model, known):
            check_is_fitted(model)
            return kind(model)
    raise UnsupportedEnsembleError(f"{type(model).__name__} {_fault_of_model(model)}")


_KINDS: tuple[tuple[Any, Any], ...] = (
    ((kinds.RandomForestClassifier, kinds.ExtraTreesClassifier), Forest),
    (kinds.BaggingClassifier, Bagging),
    (kinds.VotingClassifier, Voting),
    (kinds.AdaBoostClassifier, Boosting),
)


def _is_regressor(model: Any) -> bool:
    return hasattr(model, "__sklearn_tags__") and is_regressor(model)


def _fault_of_member(member: Any) -> str | None:
    """Return why a model in a list cannot be used; None if it can."""
    if _is_regressor(member) or not hasattr(member, "predict"):
        return "is not a classifier. Give fitted classifiers, or predictions (samples × members)."
    if not hasattr(member, "classes_"):
        return (
            "has no classes_: it is not fitted, or does not predict labels. Fit it, or give "
            "predictions (samples × members)."
        )
    if np.ndim(member.classes_[0]) > 0:
        n_outputs = len(member.classes_)
        return f"has {n_outputs} outputs; pruning needs one label per row. Fit a model per output."
    return None


def _fault_of_model(model: Any) -> str:
    """Return why a model of no known kind cannot be pruned, and a way out."""
    if isinstance(model, (kinds.GradientBoostingClassifier, kinds.HistGradientBoostingClassifier)):
        count = "n_estimators" if hasattr(model, "n_estimators") else "max_iter"
        return (
            "cannot be pruned: its trees are increments of a score, each meant to follow those "
            f"before, not classifiers with votes. Train fewer: {count}, or early stopping."
        )
    if isinstance(model, kinds.StackingClassifier):
        return (
            "cannot be sliced: its final estimator was trained on the outputs of all members. "
            "Prune the list model.estimators_, then fit a stacking of those kept."
        )
    if _is_regressor(model):
        return "is a regressor, and numbers are not votes. Give an ensemble of classifiers."
    return f"is not an ensemble that can be pruned. Give one of: {_KNOWN}."
