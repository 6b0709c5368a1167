"""Fit and prune in one estimator, for pipelines and grid search."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
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

from secateurs._methods import AUTO
from secateurs.exceptions import InputError
from secateurs.outputs.stratified_folds import shuffled_by_class
from secateurs.pruners.base import DOC_PAGE
from secateurs.pruners.parameters import is_number
from secateurs.pruning import prune
from secateurs.text_format import format_count
from secateurs.typing import Array


class _PrunedEstimator(MetaEstimatorMixin, BaseEstimator):
    """What pruned classifiers and pruned regressors share."""

    _doc_link_module = "secateurs"
    _doc_link_template = DOC_PAGE

    def __init__(  # noqa: PLR0917
        self,
        estimator: Any,
        pruner: Any = AUTO,
        validation: Any = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
        scoring: Any = None,
        refit: bool = False,
        weights: bool | None = None,
    ) -> None:
        self.estimator = estimator
        self.pruner = pruner
        self.validation = validation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.scoring = scoring
        self.refit = refit
        self.weights = weights

    def fit(self, X: Any, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the ensemble and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to fit and to prune on.
        y : array-like of shape (n_samples,)
            Their labels, or numbers.
        **fit_params
            Parameters of the ensemble's fit; those with one value per row are cut to the rows it
            is fitted on. Of these, ``sample_weight`` is also used in scores on the rows held out.

        Returns
        -------
        self
        """
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X, y = indexable(X, y)
        truth = column_or_1d(y, warn=True)
        assert_all_finite(truth, input_name="y")
        self._check_truth(truth)
        validate_data(self, X, skip_check_array=True)
        rng = check_random_state(self.random_state)
        fit_rows, prune_rows = self._split_samples(truth, rng)
        ensemble = clone(self.estimator)
        if not isinstance(self.estimator, FrozenEstimator):
            params = _check_method_params(X, fit_params, indices=fit_rows)
            ensemble.fit(_safe_indexing(X, fit_rows), truth[fit_rows], **params)
        given = fit_params.get("sample_weight")
        self.pruning_ = prune(
            ensemble,
            _safe_indexing(X, prune_rows),
            truth[prune_rows],
            pruner=self.pruner,
            scoring=self.scoring,
            sample_weight=None if given is None else _safe_indexing(given, prune_rows),
            oob=self.validation == "oob",
            refit=self.refit,
            weights=self.weights,
            n_jobs=self.n_jobs,
            random_state=rng,
        )
        self._check_kind()
        self.estimator_ = self.pruning_.estimator
        return self

    def predict(self, X: Any) -> Array:
        """Predict with the pruned ensemble."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @abstractmethod
    def _check_truth(self, y: Array) -> None:
        """Refuse true values of another kind."""

    @abstractmethod
    def _check_kind(self) -> None:
        """Refuse an ensemble that predicts values of another kind."""

    @abstractmethod
    def _hold_out(self, y: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        """Return rows in an order, and a mask of those to hold out."""

    def _split_samples(self, y: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        """Split rows into those to fit on and those to prune on."""
        everything = np.arange(_num_samples(y))
        if isinstance(self.estimator, FrozenEstimator) or self.validation == "oob":
            return everything, everything
        if not is_number(self.validation) or not 0 < self.validation < 1:
            raise InputError(
                "{validation} is not a valid fraction of the rows. Give a number between 0 and 1, "
                'or "oob".',
                validation=self.validation,
            )
        order, held_out = self._hold_out(y, rng)
        if not held_out.any():
            kinds = (
                f" in {format_count(len(np.unique(y)), 'class')}"
                if isinstance(self, ClassifierMixin)
                else ""
            )
            raise InputError(
                f"Of n_samples={len(y)}{kinds} none can be held out for pruning. Give more rows, "
                "or {validation}.",
                validation="oob",
            )
        return order[~held_out], order[held_out]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


class PrunedClassifier(ClassifierMixin, _PrunedEstimator):
    """Fit an ensemble, hold rows out, and keep the members that together predict them best.

    Parameters
    ----------
    estimator : estimator
        An ensemble to fit: RandomForest, ExtraTrees, Bagging, Voting or AdaBoost classifier, a
        boosted one, or a pipeline that ends in one. A `sklearn.frozen.FrozenEstimator` is not
        fitted again, and all rows are used for pruning.
    pruner : str or pruner, default="auto"
        The method and its parameters, or its short name, as for `prune`: by name, it keeps as few
        members as ``tolerance=0.005`` allows.
    validation : float or "oob", default=0.2
        Fraction of the rows of each class that are held out for pruning; or "oob", to fit on all
        rows and prune by out-of-bag votes (forests and bagging with bootstrap).
    n_jobs : int or None, default=None
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the split.
    scoring : str or callable, default=None
        The score that matters, as for `prune`: for ``pruner="auto"``, for methods with a
        ``scoring`` that is not set, and in figures of ``pruning_``.
    refit : bool, default=False
        Fit the leaves of the kept trees so that they imitate the whole ensemble, as for `prune`.
    weights : bool or None, default=None
        Whether kept members have weights, as for `prune`; None for those of a method that gives
        them.

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
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names.

    See Also
    --------
    PrunedRegressor : The same for numbers.
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

    def _check_truth(self, y: Array) -> None:
        check_classification_targets(y)

    def _check_kind(self) -> None:
        if self.pruning_.problem.is_regression:
            raise InputError(
                f"{type(self.estimator).__name__} predicts numbers. Give it to PrunedRegressor."
            )
        self.classes_ = self.pruning_.estimator.classes_

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities with the pruned ensemble."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _hold_out(self, y: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        by_class = shuffled_by_class(y, rng)
        first_of_class = np.concatenate([[True], y[by_class][1:] != y[by_class][:-1]])
        # Every n-th row of the classes in turn, but never the first of its class.
        counted = np.cumsum(~first_of_class)
        steps = np.floor(counted * self.validation * len(y) / max(1, counted[-1]))
        return by_class, np.concatenate([[False], np.diff(steps) > 0]) & ~first_of_class


class PrunedRegressor(RegressorMixin, _PrunedEstimator):
    """Fit an ensemble of regressors, hold rows out, and keep the members that do best on them.

    Parameters
    ----------
    estimator : estimator
        An ensemble to fit: RandomForest, ExtraTrees, Bagging or Voting regressor, a boosted one, or
        a pipeline that ends in one. A `sklearn.frozen.FrozenEstimator` is not fitted again, and
        all rows are used for pruning.
    pruner : str or pruner, default="auto"
        The method and its parameters, or its short name, as for `prune`: by name, it keeps as few
        members as ``tolerance=0.005`` allows.
    validation : float or "oob", default=0.2
        Fraction of the rows that are held out for pruning, drawn at random; or "oob", to fit on
        all rows and prune by out-of-bag predictions (forests and bagging with bootstrap).
    n_jobs : int or None, default=None
        Number of threads used to collect predictions.
    random_state : int, RandomState or None, default=None
        Random state of the split.
    scoring : str or callable, default=None
        The score that matters, as for `prune`: for ``pruner="auto"``, for methods with a
        ``scoring`` that is not set, and in figures of ``pruning_``; R² by default.
    refit : bool, default=False
        Fit the leaves of the kept trees so that they imitate the whole ensemble, as for `prune`.
    weights : bool or None, default=None
        Whether kept members have weights, as for `prune`; None for those of a method that gives
        them.

    Attributes
    ----------
    estimator_ : estimator
        The pruned ensemble, a plain scikit-learn object.
    pruning_ : Pruning
        How its members were chosen.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names.

    See Also
    --------
    PrunedClassifier : The same for labels.
    prune : Prune an ensemble that is fitted already.
    compare : Compare several methods and sizes on rows held out.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from secateurs import JointErrorPruner, PrunedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(50, random_state=0)
    >>> pruned = PrunedRegressor(forest, JointErrorPruner(keep=5), random_state=0).fit(X, y)
    >>> pruned.estimator_
    RandomForestRegressor(n_estimators=5, random_state=0)
    """

    def _check_truth(self, y: Array) -> None:
        if y.dtype.kind not in "biufO":
            raise InputError(f"y holds {y.dtype} values, which are not numbers. Give numbers.")

    def _check_kind(self) -> None:
        if not self.pruning_.problem.is_regression:
            raise InputError(
                f"{type(self.estimator).__name__} predicts labels. Give it to PrunedClassifier."
            )

    def _hold_out(self, y: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        n_held_out = int(self.validation * len(y))
        return rng.permutation(len(y)), np.arange(len(y)) < n_held_out
