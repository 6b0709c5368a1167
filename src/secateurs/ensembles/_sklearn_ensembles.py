"""Ensembles of scikit-learn, and lists or dicts of models, that can be sliced."""

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.ensemble import AdaBoostClassifier, VotingClassifier, VotingRegressor
from sklearn.tree import BaseDecisionTree
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
from secateurs.typing import Array, FloatArray, IndexArray, Samples

_Models: TypeAlias = Sequence[BaseEstimator] | Mapping[str, BaseEstimator]

# Attributes about the full ensemble that are not true of a sliced one.
_STALE = ("oob_score_", "oob_decision_function_", "oob_prediction_")
_NO_CLASSES = np.empty(0)
# Attribute of a sliced ensemble whose leaves were multiplied by weights. Without it, pruning the
# ensemble again would use wrong predictions: the leaves of regression trees do not show it.
_BAKED = "tree_weights_"


class _BootstrapEnsemble(Ensemble):
    """Forests and bagging, whose members are trained on bootstrap samples."""

    has_coded_labels = True

    def __init__(self, model: BaseEstimator) -> None:
        if getattr(model, "n_outputs_", 1) > 1:
            raise UnsupportedEnsembleError(
                f"{type(model).__name__} has {model.n_outputs_} outputs; pruning needs one target "
                "per sample, because the best trees differ between outputs. Fit one ensemble per "
                "output, for instance with MultiOutputClassifier or MultiOutputRegressor, and "
                "prune each of its estimators_."
            )
        super().__init__(model, model.estimators_, getattr(model, "classes_", _NO_CLASSES))
        if (baked := getattr(model, _BAKED, None)) is not None:
            self._remove_leaf_weights(np.asarray(baked, dtype=float))

    def _remove_leaf_weights(self, baked: FloatArray) -> None:
        """Divide the leaves of trees by their weights, so that members predict as trained."""
        if baked.shape != (len(self.members),) or not (baked > 0).all():
            raise InputError(
                f"{type(self.model).__name__} has {len(self.members)} members but {baked.size} "
                "member weights: it was changed after pruning. Fit it again."
            )
        self.weights = baked * len(baked)
        pairs = zip(self.members, self.weights, strict=True)
        self.members = [with_scaled_values(member, 1 / weight) for member, weight in pairs]

    def _slice_model(self, members: Sequence[int]) -> BaseEstimator:
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

    def in_bag_samples(self) -> list[IndexArray]:
        """Return the indices of the training samples of each member."""
        name = type(self.model).__name__
        try:
            in_bag = self.model.estimators_samples_
        except STATE_ERRORS as error:
            raise InputError(
                f"The training samples of the members of {name} are unknown: "
                f"{describe_error(error)}. Fit it again."
            ) from error
        n_samples = self.model._n_samples
        if not self.model.bootstrap and all(len(indices) == n_samples for indices in in_bag):
            raise InputError(
                f"{name} was trained with bootstrap=False: every member was trained on every "
                "sample, so there are no out-of-bag votes. Use a validation set, or bootstrap=True."
            )
        return in_bag


class Forest(_BootstrapEnsemble):
    """A random forest or extra trees, which averages probabilities or predicted values."""

    is_soft = True

    def _convert_input(self, X: Samples) -> Samples:
        return self.model._validate_X_predict(X)

    def _call_member(self, X: Samples, member: int, method: str) -> Array:
        tree = self.members[member]
        if isinstance(tree, BaseDecisionTree) and isinstance(X, np.ndarray):
            # The forest has checked X, and each tree would do it again. For a few hundred samples,
            # that takes most of the time.
            return getattr(tree, method)(X, check_input=X.dtype != np.float32)
        return super()._call_member(X, member, method)


class Bagging(_BootstrapEnsemble):
    """Bagging, whose members may use only some of the features."""

    def __init__(self, model: BaseEstimator) -> None:
        super().__init__(model)
        self.is_soft = self.is_regression or all(
            hasattr(member, "predict_proba") for member in self.members
        )

    def _convert_input(self, X: Samples) -> Samples:
        checks = {"accept_sparse": ["csr", "csc"], "dtype": None, "ensure_all_finite": False}
        return validate_data(self.model, X, reset=False, **checks)

    def member_features(self, member: int) -> IndexArray | None:
        """Return the columns of prepared X that a member uses; None for all columns."""
        features = np.asarray(self.model.estimators_features_[member])
        return None if np.array_equal(features, np.arange(self.model.n_features_in_)) else features

    def _is_member_soft(self, member: int) -> bool:
        return hasattr(self.members[member], "predict_proba")  # bagging decides it per member, too

    def attainable_weights(self, weights: FloatArray) -> FloatArray:
        """Return the weights closest to these that a sliced ensemble can represent.

        Members other than trees are listed several times, see `integer_proportions`.
        """
        kept = np.flatnonzero(weights)
        if self._are_trees(kept.tolist()):
            return weights
        copies = np.zeros(len(weights))
        copies[kept] = integer_proportions(weights[kept])
        return copies / copies.sum()

    def _slice_model(self, members: Sequence[int]) -> BaseEstimator:
        if self.weights is not None and not self._are_trees(members):
            members = np.repeat(members, integer_proportions(self.weights[list(members)])).tolist()
        sliced = super()._slice_model(members)
        sliced.estimators_features_ = [self.model.estimators_features_[m] for m in members]
        if self._has_all_seeds:
            sliced._seeds = np.asarray(self.model._seeds)[list(members)]
        else:
            sliced.__dict__.pop("_seeds", None)  # no record of samples is better than a wrong one
        return sliced

    @property
    def _has_all_seeds(self) -> bool:
        """Whether there is a seed for each member; warm_start keeps only those of the last fit."""
        return len(self.model._seeds) == len(self.members)

    def in_bag_samples(self) -> list[IndexArray]:
        """Return the indices of the training samples of each member."""
        if not self._has_all_seeds:
            raise InputError(
                "This bagging ensemble was grown by warm_start and records only the samples of its "
                "last members. For out-of-bag votes, fit it in one call; or use a validation set."
            )
        return super().in_bag_samples()


class Voting(Ensemble):
    """Voting: named members with weights that vote by label, or average probabilities or values.

    Members that were fitted separately may predict labels; members fitted by Voting predict codes.
    """

    def __init__(self, model: VotingClassifier | VotingRegressor) -> None:
        is_regression = isinstance(model, VotingRegressor)
        classes = _NO_CLASSES if is_regression else model.le_.classes_
        super().__init__(model, model.estimators_, classes)
        self._named_members = [pair for pair in model.estimators if pair[1] != "drop"]
        if len(self._named_members) != len(model.estimators_):
            raise InputError(
                f"The voting ensemble lists {len(self._named_members)} members but was fitted with "
                f"{len(model.estimators_)}: it was changed after fitting. Fit it again."
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

    def _slice_model(self, members: Sequence[int]) -> BaseEstimator:
        sliced = self._copy_with(members)
        sliced.estimators = [self._named_members[member] for member in members]
        fitted = zip(sliced.estimators, sliced.estimators_, strict=True)
        sliced.named_estimators_ = Bunch(**{name: member for (name, _), member in fitted})
        if self.weights is not None:
            sliced.weights = self.weights[list(members)].tolist()
            if not any(sliced.weights) or (self.is_soft and sum(sliced.weights) == 0):
                raise InputError(
                    f"The weights of the kept members, {sliced.weights}, sum to 0. Keep more "
                    "members, or remove the weights: voting.weights = None."
                )
        return sliced


class AdaBoost(Ensemble):
    """AdaBoost, which counts weighted votes."""

    def __init__(self, model: AdaBoostClassifier) -> None:
        super().__init__(model, model.estimators_, model.classes_)
        self.weights = np.asarray(model.estimator_weights_[: len(model.estimators_)], dtype=float)

    def _convert_input(self, X: Samples) -> Samples:
        return self.model._check_X(X)

    def _slice_model(self, members: Sequence[int]) -> BaseEstimator:
        sliced, selected = self._copy_with(members), list(members)
        assert self.weights is not None
        sliced.estimator_weights_ = self.weights[selected]
        sliced.estimator_errors_ = self.model.estimator_errors_[selected]
        sliced.n_estimators = len(selected)
        return sliced


class ModelCollection(Ensemble):
    """A list or dict of fitted classifiers, which vote, or of regressors, which are averaged.

    Classifiers vote by label unless all of them have probabilities for the same classes.
    """

    def __init__(self, model: _Models) -> None:
        members = list(model.values()) if isinstance(model, Mapping) else list(model)
        for index, member in enumerate(members):
            fault = _member_fault(member)
            if fault is not None:
                name = type(member).__name__
                raise UnsupportedEnsembleError(f"Member {index}, a {name}, {fault}")
        if not members:
            raise InputError("The list of models is empty. Pass at least one fitted model.")
        are_regressors = check_same_kind(members)
        member_classes = [np.asarray(member.classes_) for member in members if not are_regressors]
        classes = reduce(merge_classes, member_classes) if member_classes else _NO_CLASSES
        super().__init__(model, members, classes)
        self.is_soft = self.is_regression or all(
            hasattr(member, "predict_proba") and np.array_equal(own_classes, classes)
            for member, own_classes in zip(members, member_classes, strict=True)
        )

    @property
    def member_names(self) -> list[str]:
        """Names of the members."""
        return (
            list(map(str, self.model)) if isinstance(self.model, Mapping) else super().member_names
        )

    def _slice_model(
        self, members: Sequence[int]
    ) -> list[BaseEstimator] | dict[str, BaseEstimator]:
        if isinstance(self.model, Mapping):
            items = list(self.model.items())
            return dict(items[member] for member in members)
        return super().original_members(members)

    def original_members(
        self, members: Sequence[int]
    ) -> list[BaseEstimator] | dict[str, BaseEstimator]:
        """Return the original objects of these members, in a list or dict as the original."""
        return self.slice(members)

    def as_predictor(self, members: Sequence[int]) -> BaseEstimator:
        """Return these members as a fitted Voting ensemble."""
        named = [(self.member_names[member], self.members[member]) for member in members]
        weights = None if self.weights is None else self.weights[list(members)]
        with_column = [member for member in members if member in self.column_members]
        if self.is_regression:
            return voting_regressor(
                named, weights, [self.member_names[member] for member in with_column]
            )
        if self.is_soft:
            return soft_voting_classifier(named, weights, self.classes)
        if with_column:
            raise UnsupportedEnsembleError(
                f"{self._describe_member(with_column[0])} predicts (n_samples, 1); a vote by label "
                "needs (n_samples,). Change its predict, or leave it out."
            )
        return hard_voting_classifier(named, weights, self.classes)


def _round_to_45_bits(number: float, are_whole: bool) -> float:
    """Return a number rounded down to 45 bits, so that sums of its small multiples are exact."""
    # Of the 53 bits of a double, 8 are left for small whole weights. Classes with equal weights
    # then tie, and no probability exceeds 1. Multiples by other weights are rounded, so that one
    # unit less is used.
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.floor(math.ldexp(mantissa, 45)) - (not are_whole), exponent - 45)


def check_same_kind(members: Sequence[object]) -> bool:
    """Return whether models are regressors; raise if some are, and others are not."""
    are_regressors = [_is_regressor(member) for member in members]
    if any(are_regressors) and not all(are_regressors):
        raise UnsupportedEnsembleError(
            f"Member {are_regressors.index(True)} is a regressor, and member "
            f"{are_regressors.index(False)} is not. Pass classifiers only, or regressors only."
        )
    return all(are_regressors)


def _is_regressor(model: object) -> bool:
    return hasattr(model, "__sklearn_tags__") and is_regressor(model)


def _member_fault(member: BaseEstimator) -> str | None:
    """Return why a model in a list cannot be used; None if it can."""
    if not hasattr(member, "predict"):
        return "has no predict. Pass fitted models, or predictions (samples × members)."
    if _is_regressor(member):
        return None
    if not hasattr(member, "classes_"):
        return (
            "has no classes_: it is not fitted, or does not predict labels. Fit it, or pass "
            "predictions (samples × members)."
        )
    if np.ndim(member.classes_[0]) > 0:
        n_outputs = len(member.classes_)
        return (
            f"has {n_outputs} outputs; pruning needs one label per sample. Fit a model per output."
        )
    return None
