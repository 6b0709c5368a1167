"""Combine separately fitted models into one plain scikit-learn model that votes or averages."""

from collections.abc import Container, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from secateurs.typing import Array, FloatArray

NamedMembers: TypeAlias = Sequence[tuple[str, BaseEstimator]]
_Voting = TypeVar("_Voting", VotingClassifier, VotingRegressor)


def voting_regressor(
    members: NamedMembers, weights: FloatArray | None, column_members: Container[str] = ()
) -> VotingRegressor:
    """Return a fitted VotingRegressor; members in ``column_members`` predict (n_samples, 1)."""
    flat = [
        (name, _flatten_predictions(member) if name in column_members else member)
        for name, member in members
    ]
    return _mark_as_fitted(VotingRegressor(flat), weights)


def soft_voting_classifier(
    members: NamedMembers, weights: FloatArray | None, classes: Array
) -> VotingClassifier:
    """Return a fitted soft VotingClassifier of classifiers that all have exactly these classes."""
    voting = VotingClassifier(list(members), voting="soft")
    return _mark_as_fitted(voting, weights, classes)


def hard_voting_classifier(
    members: NamedMembers, weights: FloatArray | None, classes: Array
) -> VotingClassifier:
    """Return a fitted hard VotingClassifier of classifiers with some or all of these classes.

    A VotingClassifier counts the codes 0, 1, 2, … that its members predict. Members that were
    fitted to other labels are pipelines in it, which turn their labels into these codes.
    """
    types = [np.asarray(member.classes_).dtype for _, member in members]
    are_codes = np.array_equal(classes, np.arange(len(classes)))
    if not are_codes or not np.can_cast(np.result_type(*types), np.intp):
        members = [(name, _predict_codes(name, member, classes)) for name, member in members]
    return _mark_as_fitted(VotingClassifier(list(members)), weights, classes)


def _predict_codes(name: str, member: BaseEstimator, classes: Array) -> Pipeline:
    """Return a classifier that predicts the indices of a member's labels among the classes."""
    # A VotingClassifier is a transformer, which returns labels. In their one-hot encoding, the
    # identity as coefficients gives the label's own code the largest score. With a single class,
    # a score of 0 makes LinearSVC predict the first code: the only one.
    labels, n_classes = _mark_as_fitted(VotingClassifier([(name, member)])), len(classes)
    encoder, codes = OneHotEncoder().fit(classes[:, None]), LinearSVC()
    codes.classes_, codes.n_features_in_ = np.arange(n_classes), n_classes
    codes.coef_, codes.intercept_ = np.eye(n_classes) * (n_classes > 1), np.zeros(n_classes)
    return Pipeline([("labels", labels), ("columns", encoder), ("codes", codes)])


def _mark_as_fitted(
    voting: _Voting, weights: FloatArray | None = None, classes: Array | None = None
) -> _Voting:
    """Return a voting ensemble with the attributes that `fit` would set; its members are fitted."""
    voting.estimators_ = [member for _, member in voting.estimators]
    voting.named_estimators_ = Bunch(**dict(voting.estimators))
    if weights is not None:
        voting.weights = weights.tolist()
    if classes is not None:
        voting.le_ = LabelEncoder()
        voting.le_.classes_ = voting.classes_ = classes
    for member in voting.estimators_:
        if hasattr(member, "feature_names_in_"):
            voting.feature_names_in_ = member.feature_names_in_
    return voting


def _flatten_predictions(regressor: BaseEstimator) -> TransformedTargetRegressor:
    """Return a regressor that predicts (n_samples,) instead of (n_samples, 1)."""
    identity = FunctionTransformer()
    wrapped = TransformedTargetRegressor(regressor, transformer=identity, check_inverse=False)
    # It ravels predictions if the target in `fit` had one dimension, which it stores privately.
    wrapped.regressor_, wrapped.transformer_, wrapped._training_dim = regressor, identity, 1
    return wrapped
