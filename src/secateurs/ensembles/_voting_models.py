"""Fitted models that no ensemble holds together, as one plain model that predicts."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from secateurs.typing import Array

Floats = NDArray[np.float64]
Named = Sequence[tuple[str, Any]]


def voting_regressor(
    members: Named, weights: Floats | None, tables: Container[str] = ()
) -> VotingRegressor:
    """Return a fitted VotingRegressor of fitted regressors.

    Those named in ``tables`` predict (n_samples, 1), which is made flat.
    """
    flat = [(name, _flatten_predictions(one) if name in tables else one) for name, one in members]
    return _mark_as_fitted(VotingRegressor(flat), weights)


def soft_voting_classifier(
    members: Named, weights: Floats | None, classes: Array
) -> VotingClassifier:
    """Return a fitted VotingClassifier of classifiers that all know just these classes."""
    voting = VotingClassifier(list(members), voting="soft")
    return _mark_as_fitted(voting, weights, classes)


def hard_voting_classifier(
    members: Named, weights: Floats | None, classes: Array
) -> VotingClassifier | Pipeline:
    """Return a plurality vote of fitted classifiers, whose classes are among these.

    VotingClassifier counts codes: 0, 1, 2, … Where labels are others, it only collects them; then
    they are made columns of 0 and 1, and a linear model adds up the weights by label.
    """
    voting = VotingClassifier(list(members))
    if np.array_equal(classes, np.arange(len(classes))) and all(
        np.asarray(member.classes_).dtype.kind in "iu" for _, member in members
    ):
        return _mark_as_fitted(voting, weights, classes)
    n_classes, n_members = len(classes), len(members)
    encoder = OneHotEncoder(categories=[classes] * n_members, handle_unknown="ignore")
    encoder.fit(np.repeat(classes[:, None], n_members, axis=1))
    counter = LinearSVC()
    counter.classes_, counter.n_features_in_ = classes, n_classes * n_members
    each = np.ones(n_members) if weights is None else weights
    counter.coef_ = np.kron(each, np.eye(n_classes)) * (n_classes > 1)
    counter.intercept_ = np.zeros(n_classes)
    return Pipeline([("members", _mark_as_fitted(voting)), ("labels", encoder), ("vote", counter)])


def _mark_as_fitted(
    voting: Any, weights: Floats | None = None, classes: Array | None = None
) -> Any:
    """Return a voting as if it had been fitted to its members, which are fitted."""
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


def _flatten_predictions(regressor: Any) -> TransformedTargetRegressor:
    """Return a regressor that predicts (n_samples,) instead of (n_samples, 1)."""
    same = FunctionTransformer()
    wrapped = TransformedTargetRegressor(regressor, transformer=same, check_inverse=False)
    wrapped.regressor_, wrapped.transformer_, wrapped._training_dim = regressor, same, 1
    return wrapped
