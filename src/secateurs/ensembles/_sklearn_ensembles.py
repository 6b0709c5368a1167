"""The kinds of ensembles that can be sliced, each with all of its attributes in agreement."""

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.ensemble import VotingRegressor
from sklearn.utils import Bunch
from sklearn.utils.validation import validate_data

from secateurs.ensembles._base_ensemble import Ensemble, integer_proportions
from secateurs.ensembles._voting_models import (
    hard_voting_classifier,
    soft_voting_classifier,
    voting_regressor,
)
from secateurs.ensembles.decision_trees import is_tree, with_scaled_values
from secateurs.exceptions import STATE_ERRORS, InputError, UnsupportedEnsembleError, describe_error
from secateurs.labels import merge_classes

_STALE = ("oob_score_", "oob_decision_function_", "oob_prediction_")
_NO_CLASSES = np.empty(0)
_BAKED = "tree_weights_"  # attribute of a sliced ensemble whose trees have weights in their leaves


class _BootstrapEnsemble(Ensemble):
    """Forests and bagging: a list of members, each trained on a sample of the rows."""

    has_coded_labels = True

    def __init__(self, model: Any) -> None:
        if getattr(model, "n_outputs_", 1) > 1:
            raise UnsupportedEnsembleError(
                f"{type(model).__name__} has {model.n_outputs_} outputs; pruning needs one label "
                "per row. Fit one ensemble per output."
            )
        super().__init__(model, model.estimators_, getattr(model, "classes_", _NO_CLASSES))
        if (baked := getattr(model, _BAKED, None)) is not None:
            self._remove_leaf_weights(np.asarray(baked, dtype=float))

    def _remove_leaf_weights(self, baked: NDArray[np.float64]) -> None:
        """Take weights out of the leaves of trees, so that members answer as they were trained."""
        if baked.shape != (len(self.members),) or not (baked > 0).all():
            raise InputError(
                f"{type(self.model).__name__} has {len(self.members)} members and {baked.size} "
                "weights of them: it was changed afterwards. Fit it again."
            )
        self.weights = baked * len(baked)
        pairs = zip(self.members, self.weights, strict=True)
        self.members = [with_scaled_values(member, 1 / weight) for member, weight in pairs]

    def _slice_model(self, members: Sequence[int]) -> Any:
        sliced = self._copy_with(members)
        sliced.n_estimators = len(members)
        for name in (*_STALE, _BAKED):
            sliced.__dict__.pop(name, None)
        if self.weights is not None and self._are_trees(members):
            weights = self.weights[list(members)]
            are_whole = np.equal(weights, np.rint(weights)).all()
            factors = weights * _round_to_45_bits(len(weights) / weights.sum(), bool(are_whole))
            pairs = zip(sliced.estimators_, factors.tolist(), strict=True)
            sliced.estimators_ = [with_scaled_values(tree, factor) for tree, factor in pairs]
            setattr(sliced, _BAKED, weights / weights.sum())
        return sliced

    def _are_trees(self, members: Sequence[int]) -> bool:
        return all(is_tree(self.members[member]) for member in members)

    def in_bag_samples(self) -> list[NDArray[np.intp]]:
        try:
            rows = self.model.estimators_samples_
        except STATE_ERRORS as error:
            raise InputError(
                f"{type(self.model).__name__} cannot tell which rows its members were trained on: "
                f"{describe_error(error)}. Fit it again."
            ) from error
        if not self.model.bootstrap and all(len(seen) == self.model._n_samples for seen in rows):
            raise InputError(
                f"{type(self.model).__name__} was trained with bootstrap=False: every member saw "
                "every row, so there are no out-of-bag votes. Hold rows out, or use bootstrap=True."
            )
        return rows


class Forest(_BootstrapEnsemble):
    """A random forest or extra trees: averages probabilities or numbers."""

    is_soft = True

    def _convert_input(self, X: Any) -> Any:
        return self.model._validate_X_predict(X)


class Bagging(_BootstrapEnsemble):
    """Bagging: members may see some of the features."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.is_soft = self.is_regression or all(
            hasattr(member, "predict_proba") for member in self.members
        )

    def _convert_input(self, X: Any) -> Any:
        checks = {"accept_sparse": ["csr", "csc"], "dtype": None, "ensure_all_finite": False}
        return validate_data(self.model, X, reset=False, **checks)

    def member_features(self, member: int) -> NDArray[np.intp] | None:
        """Return the columns of prepared X that a member sees; None for all."""
        features = np.asarray(self.model.estimators_features_[member])
        return None if np.array_equal(features, np.arange(self.model.n_features_in_)) else features

    def _is_member_soft(self, member: int) -> bool:
        return hasattr(self.members[member], "predict_proba")  # as bagging does, one by one

    def attainable_weights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights nearest to these that a sliced ensemble can have.

        Where members are no trees, these are whole shares of up to a hundred.
        """
        kept = np.flatnonzero(weights)
        if self._are_trees(kept.tolist()):
            return weights
        served = np.zeros(len(weights))
        served[kept] = integer_proportions(weights[kept])
        return served / served.sum()

    def _slice_model(self, members: Sequence[int]) -> Any:
        if self.weights is not None and not self._are_trees(members):
            members = np.repeat(members, integer_proportions(self.weights[list(members)])).tolist()
        sliced = super()._slice_model(members)
        sliced.estimators_features_ = [self.model.estimators_features_[m] for m in members]
        if self._has_all_seeds:
            sliced._seeds = np.asarray(self.model._seeds)[list(members)]
        else:
            sliced.__dict__.pop("_seeds", None)  # better no record of rows than a wrong one
        return sliced

    @property
    def _has_all_seeds(self) -> bool:
        """Whether there is a seed for each member; with warm_start only the last are kept."""
        return len(self.model._seeds) == len(self.members)

    def in_bag_samples(self) -> list[NDArray[np.intp]]:
        """Return the training rows that each member saw."""
        if not self._has_all_seeds:
            raise InputError(
                "This bagging ensemble was grown by warm_start and knows only the rows of its last "
                "members. Fit it at once for out-of-bag votes, or hold rows out."
            )
        return super().in_bag_samples()


class Voting(Ensemble):
    """Voting: named members with weights, by labels, by probabilities or by numbers.

    Those that were fitted before the voting was made may know the labels themselves.
    """

    def __init__(self, model: Any) -> None:
        is_regression = isinstance(model, VotingRegressor)
        classes = _NO_CLASSES if is_regression else model.le_.classes_
        super().__init__(model, model.estimators_, classes)
        self._named_members = [pair for pair in model.estimators if pair[1] != "drop"]
        if len(self._named_members) != len(model.estimators_):
            raise InputError(
                f"The voting names {len(self._named_members)} members but was fitted with "
                f"{len(model.estimators_)}: it was changed afterwards. Fit it again."
            )
        self.is_soft = is_regression or model.voting == "soft"
        self.has_coded_labels = is_regression or not all(
            np.array_equal(getattr(member, "classes_", ()), classes) for member in self.members
        )
        if model.weights is not None:
            self.weights = np.asarray(model._weights_not_none, dtype=float)

    @property
    def member_names(self) -> list[str]:
        """Names of the members."""
        return [name for name, _ in self._named_members]

    def _slice_model(self, members: Sequence[int]) -> Any:
        sliced = self._copy_with(members)
        sliced.estimators = [self._named_members[member] for member in members]
        fitted = zip(sliced.estimators, sliced.estimators_, strict=True)
        sliced.named_estimators_ = Bunch(**{name: member for (name, _), member in fitted})
        if self.weights is not None:
            sliced.weights = self.weights[list(members)].tolist()
            if not any(sliced.weights) or (self.is_soft and sum(sliced.weights) == 0):
                why = f"The weights of the members kept, {sliced.weights}, sum to 0"
                raise InputError(f"{why}. Keep more, or drop the weights: voting.weights = None.")
        return sliced


class AdaBoost(Ensemble):
    """AdaBoost: weighted votes."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, model.estimators_, model.classes_)
        self.weights = np.asarray(model.estimator_weights_[: len(model.estimators_)], dtype=float)

    def _convert_input(self, X: Any) -> Any:
        return self.model._check_X(X)

    def _slice_model(self, members: Sequence[int]) -> Any:
        sliced, chosen = self._copy_with(members), list(members)
        assert self.weights is not None
        sliced.estimator_weights_ = self.weights[chosen]
        sliced.estimator_errors_ = self.model.estimator_errors_[chosen]
        sliced.n_estimators = len(chosen)
        return sliced


class ModelCollection(Ensemble):
    """A list or dict of fitted classifiers, or of regressors, by their mean.

    Classifiers vote by labels unless all have probabilities of the same classes.
    """

    def __init__(self, model: Any) -> None:
        members = list(model.values()) if isinstance(model, Mapping) else list(model)
        for index, member in enumerate(members):
            fault = _member_fault(member)
            if fault is not None:
                name = type(member).__name__
                raise UnsupportedEnsembleError(f"Member {index}, a {name}, {fault}")
        if not members:
            raise InputError("The list of models is empty. Give at least one fitted model.")
        are_regressors = [_is_regressor(member) for member in members]
        if any(are_regressors) and not all(are_regressors):
            raise UnsupportedEnsembleError(
                f"Member {are_regressors.index(True)} is a regressor, and member "
                f"{are_regressors.index(False)} is not. Give classifiers only, or regressors only."
            )
        known = [np.asarray(member.classes_) for member in members if not all(are_regressors)]
        super().__init__(model, members, reduce(merge_classes, known) if known else _NO_CLASSES)
        self.is_soft = self.is_regression or all(
            hasattr(member, "predict_proba") and np.array_equal(own, self.classes)
            for member, own in zip(members, known, strict=True)
        )

    @property
    def member_names(self) -> list[str]:
        """Names of the members."""
        return (
            list(map(str, self.model)) if isinstance(self.model, Mapping) else super().member_names
        )

    def _slice_model(self, members: Sequence[int]) -> Any:
        if isinstance(self.model, Mapping):
            items = list(self.model.items())
            return dict(items[member] for member in members)
        return super().original_members(members)

    def original_members(self, members: Sequence[int]) -> Any:
        """Return some members themselves, as they were given: a list, or a dict."""
        return self.slice(members)

    def as_predictor(self, members: Sequence[int]) -> Any:
        """Return some members as a fitted Voting ensemble, or what answers as one would."""
        named = [(self.member_names[member], self.members[member]) for member in members]
        weights = None if self.weights is None else self.weights[list(members)]
        tables = [member for member in members if member in self.column_members]
        if self.is_regression:
            return voting_regressor(
                named, weights, [self.member_names[member] for member in tables]
            )
        if self.is_soft:
            return soft_voting_classifier(named, weights, self.classes)
        if tables:
            raise UnsupportedEnsembleError(
                f"{self._describe_member(tables[0])} predicts (n_samples, 1), which no vote by labels takes. "
                "Give it a predict of (n_samples,), or leave it out."
            )
        return hard_voting_classifier(named, weights, self.classes)


def _round_to_45_bits(number: float, are_whole: bool) -> float:
    """Return a number rounded down to 45 bits, so that sums of small whole multiples are exact.

    Then classes with equal weights tie, and no probability is above 1. Other multiples are rounded;
    the last bit makes up for that.
    """
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.floor(math.ldexp(mantissa, 45)) - (not are_whole), exponent - 45)


def _is_regressor(model: Any) -> bool:
    return hasattr(model, "__sklearn_tags__") and is_regressor(model)


def _member_fault(member: Any) -> str | None:
    """Return why a model in a list cannot be used; None if it can."""
    if not hasattr(member, "predict"):
        return "has no predict. Give fitted models, or predictions (samples × members)."
    if _is_regressor(member):
        return None
    if not hasattr(member, "classes_"):
        return (
            "has no classes_: it is not fitted, or does not predict labels. Fit it, or give "
            "predictions (samples × members)."
        )
    if np.ndim(member.classes_[0]) > 0:
        n_outputs = len(member.classes_)
        return f"has {n_outputs} outputs; pruning needs one label per row. Fit a model per output."
    return None
