"""Fit and prune in one estimator, for pipelines and grid search."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, _safe_indexing, assert_all_finite, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _estimator_has,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    indexable,
    validate_data,
)

from secateurs._labels import Array
from secateurs.exceptions import InputError
from secateurs.outputs._folds import shuffled_by_class
from secateurs.pruners import COMEP
from secateurs.pruners._base import is_number
from secateurs.pruning import prune


class PrunedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Fit an ensemble, hold rows out, and keep the members that together predict them best.

    Parameters
    ----------
    estimator : estimator
        An ensemble to fit: RandomForest, ExtraTrees, Bagging, Voting or AdaBoost classifier, or
        a pipeline that ends in one. A `sklearn.frozen.FrozenEstimator` is not fitted again, and
        all rows are used for pruning.
    pruner : pruner, default=None
        The method and its parameters; None means ``COMEP()``.
    validation : float or "oob", default=0.2
        Fraction of the rows of each class that are held out for pruning; or "oob", to fit on all
        rows and prune by out-of-bag votes (forests and bagging with bootstrap).
    n_jobs : int or None, default=None
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the split.

    Attributes
    ----------
    estimator_ : estimator
        The pruned ensemble, a plain scikit-learn object.
    pruning_ : Pruning
        How its members were chosen.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has names.

    See Also
    --------
    prune : Prune an ensemble that is fitted already.
    compare : Compare several methods and sizes on rows held out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import COMEP, PrunedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0)
    >>> pruned = PrunedClassifier(forest, COMEP(keep=5), random_state=0).fit(X, y)
    >>> pruned.estimator_
    RandomForestClassifier(n_estimators=5, random_state=0)
    """

    def __init__(
        self,
        estimator: Any,
        pruner: Any = None,
        validation: Any = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.pruner = pruner
        self.validation = validation
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the ensemble and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to fit and to prune on.
        y : array-like of shape (n_samples,)
            Their labels.
        **fit_params
            Parameters of the ensemble's fit; those with one value per row, such as
            ``sample_weight``, are cut to the rows it is fitted on.

        Returns
        -------
        self
        """
        if y is None:
            raise InputError("PrunedClassifier requires y to be passed, but the target y is None.")
        X, y = indexable(X, y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        validate_data(self, X, skip_check_array=True)
        rng = check_random_state(self.random_state)
        fit_rows, prune_rows = self._split(labels, rng)
        ensemble = clone(self.estimator)
        if not isinstance(self.estimator, FrozenEstimator):
            params = _check_method_params(X, fit_params, indices=fit_rows)
            ensemble.fit(_safe_indexing(X, fit_rows), labels[fit_rows], **params)
        self.pruning_ = prune(
            ensemble,
            _safe_indexing(X, prune_rows),
            labels[prune_rows],
            pruner=COMEP() if self.pruner is None else self.pruner,
            oob=self.validation == "oob",
            n_jobs=self.n_jobs,
            random_state=rng,
        )
        self.estimator_ = self.pruning_.estimator
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> Array:
        """Predict labels with the pruned ensemble."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities with the pruned ensemble."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _split(self, y: Array, rng: np.random.RandomState) -> tuple[Any, Any]:
        """Split rows into those to fit on, with every class, and those to prune on."""
        everything = np.arange(_num_samples(y))
        if isinstance(self.estimator, FrozenEstimator) or self.validation == "oob":
            return everything, everything
        if not is_number(self.validation) or not 0 < self.validation < 1:
            raise InputError(
                "{validation} is not a valid fraction of the rows. Give a number between 0 and 1, "
                'or "oob".',
                validation=self.validation,
            )
        by_class = shuffled_by_class(y, rng)
        first_of_class = np.concatenate([[True], y[by_class][1:] != y[by_class][:-1]])
        # Every n-th row of the classes in turn, but never the first of its class.
        counted = np.cumsum(~first_of_class)
        steps = np.floor(counted * self.validation * len(y) / max(1, counted[-1]))
        held_out = np.concatenate([[False], np.diff(steps) > 0]) & ~first_of_class
        if not held_out.any():
            raise InputError(
                f"Of n_samples={len(y)} in {first_of_class.sum()} classes none can be held out for "
                "pruning. Give more rows, or {validation}.",
                validation="oob",
            )
        return by_class[~held_out], by_class[held_out]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags
