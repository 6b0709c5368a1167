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
) -> VotingClassifier | Pipeline:
    """Return a plurality vote of fitted classifiers, whose classes are a subset of these."""
    voting = VotingClassifier(list(members))
    if np.array_equal(classes, np.arange(len(classes))) and all(
        np.asarray(member.classes_).dtype.kind in "iu" for _, member in members
    ):
        return _mark_as_fitted(voting, weights, classes)
    # VotingClassifier counts the codes 0, 1, 2, … With any other labels it only collects the
    # predictions. They are one-hot encoded, and a linear model sums the weights by label.
    n_classes, n_members = len(classes), len(members)
    encoder = OneHotEncoder(categories=[classes] * n_members, handle_unknown="ignore")
    encoder.fit(np.repeat(classes[:, None], n_members, axis=1))
    counter = LinearSVC()
    counter.classes_, counter.n_features_in_ = classes, n_classes * n_members
    member_weights = np.ones(n_members) if weights is None else weights
    # With a single class, a score of 0 makes LinearSVC predict the first class: the only one.
    counter.coef_ = np.kron(member_weights, np.eye(n_classes)) * (n_classes > 1)
    counter.intercept_ = np.zeros(n_classes)
    return Pipeline([("members", _mark_as_fitted(voting)), ("labels", encoder), ("vote", counter)])


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
