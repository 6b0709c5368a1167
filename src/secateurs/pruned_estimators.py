"""Fit and prune an ensemble in one estimator, for pipelines and grid search."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, _safe_indexing, assert_all_finite, check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
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
from secateurs.exceptions import InputError, check_parameter_names
from secateurs.outputs.stratified_folds import shuffled_by_class
from secateurs.problem.cross_validation import CrossValidation, is_splitter
from secateurs.pruners import BasePruner
from secateurs.pruners.base import DOC_PAGE
from secateurs.pruners.parameters import is_number
from secateurs.pruning import RefitLike, prune
from secateurs.text_format import format_count
from secateurs.thread_safety import limit_threads_after_fork, reject_polars_after_fork
from secateurs.typing import (
    Array,
    BoolArray,
    FloatArray,
    IndexArray,
    RandomStateLike,
    Samples,
    ScoringOption,
)


class _PrunedEstimator(MetaEstimatorMixin, BaseEstimator):
    """Base class of `PrunedClassifier` and `PrunedRegressor`."""

    _doc_link_module = "secateurs"
    _doc_link_template = DOC_PAGE
    # Not parameters of ``fit``, because the split and the bootstrap are random: a weight of 2 is
    # not the same as a repeated sample, which scikit-learn's checks would require.
    __metadata_request__fit: ClassVar = {"sample_weight": None, "groups": None}

    @check_parameter_names
    def __init__(  # noqa: PLR0917
        self,
        estimator: BaseEstimator,
        pruner: str | BasePruner = AUTO,
        validation: Any = 0.2,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        scoring: ScoringOption = None,
        refit: RefitLike = None,
        weights: bool | None = None,
        cv: Any = None,
    ) -> None:
        self.estimator = estimator
        self.pruner = pruner
        self.validation = validation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.scoring = scoring
        self.refit = refit
        self.weights = weights
        self.cv = cv

    def fit(self, X: Samples, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the ensemble and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, which are split into samples to fit and samples to prune on.
        y : array-like of shape (n_samples,)
            Labels or target values.
        **fit_params
            ``sample_weight`` is used by the ensemble's fit and in scores on the validation
            samples. With metadata routing, the ensemble receives it if it requests it. ``groups``
            has the group of each sample: groups are held out as a whole, also in the
            cross-validation on the validation samples. Further parameters are those of the
            ensemble's fit. Parameters with one value per sample are split like the samples.

        Returns
        -------
        self
        """
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        reject_polars_after_fork(X)
        if not hasattr(self.estimator, "get_params"):
            raise InputError(
                f"{{estimator}} is of type {type(self.estimator).__name__}. Pass an ensemble such "
                "as RandomForestClassifier(); for lists and dicts of models, use secateurs.prune.",
                estimator=...,
            )
        X, y = indexable(X, y)
        targets = column_or_1d(y, warn=True)
        assert_all_finite(targets, input_name="y")
        self._check_targets(targets)
        validate_data(self, X, skip_check_array=True)
        rng = check_random_state(self.random_state)
        sample_weight, groups = fit_params.get("sample_weight"), fit_params.get("groups")
        ensemble_params, split_params = self._routed_params(fit_params)
        training, validation = self._split_samples(X, targets, rng, split_params)
        ensemble = clone(self.estimator)
        limit_threads_after_fork()
        if not isinstance(self.estimator, FrozenEstimator):
            params = _check_method_params(X, ensemble_params, indices=training)
            ensemble.fit(_safe_indexing(X, training), targets[training], **params)
        weight, validation_groups = (
            None if values is None else _safe_indexing(values, validation)
            for values in (sample_weight, groups)
        )
        self.pruning_ = prune(
            ensemble,
            _safe_indexing(X, validation),
            targets[validation],
            pruner=self.pruner,
            scoring=self.scoring,
            sample_weight=weight,
            cv=self.cv,
            groups=validation_groups,
            oob=self._is_out_of_bag,
            refit=self.refit,
            weights=self.weights,
            n_jobs=self.n_jobs,
            random_state=rng,
        )
        self._check_kind()
        self.estimator_ = self.pruning_.estimator
        return self

    def predict(self, X: Samples) -> Array:
        """Predict with the pruned ensemble."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata, as for meta-estimators of scikit-learn.

        Returns
        -------
        MetadataRouter
            Requests of this estimator, of the ensemble, and of a splitter as ``validation``.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router.add(estimator=self.estimator, method_mapping=mapping)
        if is_splitter(self.validation):
            mapping = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=self.validation, method_mapping=mapping)
        return router

    def _routed_params(self, fit_params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the ensemble's fit, and of the splitter."""
        others = {name: value for name, value in fit_params.items() if name != "groups"}
        split_params = {"groups": fit_params.get("groups")}
        if not _routing_enabled():
            return others, split_params
        routed = process_routing(self, "fit", **fit_params)
        return dict(routed.estimator.fit), split_params

    @abstractmethod
    def _check_targets(self, y: Array) -> None:
        """Raise an error for targets of the other kind: labels or continuous values."""

    @abstractmethod
    def _check_kind(self) -> None:
        """Raise an error if the ensemble predicts targets of the other kind."""

    @abstractmethod
    def _hold_out(self, y: Array, rng: np.random.RandomState) -> tuple[IndexArray, BoolArray]:
        """Return the samples in an order, and a mask of the samples to hold out."""

    @property
    def _is_out_of_bag(self) -> bool:
        return isinstance(self.validation, str) and self.validation == "oob"

    def _split_samples(
        self, X: Samples, y: Array, rng: np.random.RandomState, split_params: dict[str, Any]
    ) -> tuple[IndexArray, IndexArray]:
        """Split the samples into samples to fit on and samples to prune on."""
        all_samples, groups = np.arange(_num_samples(y)), split_params.get("groups")
        if isinstance(self.estimator, FrozenEstimator) or self._is_out_of_bag:
            return all_samples, all_samples
        is_iterable = hasattr(self.validation, "__iter__") and not isinstance(self.validation, str)
        if is_iterable or is_splitter(self.validation):
            # The last split: with a time series it has the most training samples.
            if isinstance(self.validation, tuple) and any(
                getattr(part, "ndim", 0) == 1 for part in self.validation
            ):
                raise InputError(
                    "{validation} is a tuple of arrays. For samples with labels, fit the ensemble "
                    "and call prune(ensemble, X_val, y_val). For indices, pass a list: "
                    "[(training, held_out)].",
                    validation=...,
                )
            folds = CrossValidation.from_parameters(
                self.validation, groups, len(y), name="validation"
            )
            return list(folds.split(y, X, rng))[-1]
        if not is_number(self.validation) or not 0 < self.validation < 1:
            raise InputError(
                "{validation} is not a valid fraction of the samples. Pass a number between 0 and "
                '1, "oob", a splitter, or a pair of indices in a list.',
                validation=self.validation,
            )
        if groups is not None:
            n_folds = max(2, round(1 / self.validation))
            folds = CrossValidation.from_parameters(n_folds, groups, len(y))
            return next(iter(folds.split(y, X, rng)))
        order, held_out = self._hold_out(y, rng)
        if not held_out.any():
            classes = (
                f" in {format_count(len(np.unique(y)), 'class')}"
                if isinstance(self, ClassifierMixin)
                else ""
            )
            raise InputError(
                f"n_samples={len(y)}{classes} is too few to hold out samples for pruning. Pass "
                "more samples, or {validation}.",
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
    """Fit an ensemble of classifiers, and prune it on held-out samples.

    Parameters
    ----------
    estimator : estimator
        The ensemble to fit: RandomForest, ExtraTrees, Bagging, Voting or AdaBoost classifier, a
        boosted classifier, or a pipeline that ends in one of these. A
        `sklearn.frozen.FrozenEstimator` is not fitted again, and all samples are used for pruning.
    pruner : str or pruner, default="auto"
        A method by its short name, or a pruner with its parameters, as for `prune`. By name, it
        keeps the number of members that `prune` keeps by default.
    validation : float, "oob", splitter or iterable, default=0.2
        Fraction of the samples of each class that are held out for pruning. "oob" fits on all
        samples and prunes by out-of-bag votes (forests and bagging with bootstrap). A splitter
        such as ``TimeSeriesSplit()``, or pairs of indices: members are fitted on the training
        samples of the last split, and pruned on its held-out samples.
    n_jobs : int or None, default=None
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the split, the method and the cross-validation folds.
    scoring : str, callable, list or dict, default=None
        The score to optimise, as for `prune`. It is used for ``pruner="auto"``, for methods whose
        own ``scoring`` is not set, and in summaries of ``pruning_``. Accuracy by default.
    refit : {"auto", True, False}, LeafRefit or None, default=None
        Whether to refit the leaves of the kept trees so that they approximate the full ensemble,
        as for `prune`.
    weights : bool or None, default=None
        Whether the kept members have weights, as for `prune`. None uses the weights of methods
        that have them.
    cv : int, splitter or iterable, default=None
        The cross-validation folds on the validation samples, as for `prune`.

    Attributes
    ----------
    estimator_ : estimator
        The pruned ensemble, a plain scikit-learn object.
    pruning_ : Pruning
        The result of `prune`: how the members were selected.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    PrunedRegressor : The same for regression.
    prune : Prune an ensemble that is already fitted.
    compare : Compare several methods and sizes by held-out scores.

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

    def _check_targets(self, y: Array) -> None:
        """Raise an error if the targets of a `PrunedClassifier` are continuous."""
        check_classification_targets(y)

    def _check_kind(self) -> None:
        """Raise an error if a `PrunedClassifier` got a regressor."""
        if self.pruning_.problem.is_regression:
            raise InputError(
                f"{type(self.estimator).__name__} is a regressor. Pass it to PrunedRegressor."
            )
        self.classes_ = self.pruning_.estimator.classes_

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Samples) -> FloatArray:
        """Predict probabilities with the pruned ensemble."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _hold_out(self, y: Array, rng: np.random.RandomState) -> tuple[IndexArray, BoolArray]:
        """Return the order of the samples, and which of them are held out, stratified by class."""
        by_class = shuffled_by_class(y, rng)
        first_of_class = np.concatenate([[True], y[by_class][1:] != y[by_class][:-1]])
        # Every n-th sample, ordered by class, but never the first sample of a class, so that the
        # ensemble is fitted on all classes.
        counted = np.cumsum(~first_of_class)
        steps = np.floor(counted * self.validation * len(y) / max(1, counted[-1]))
        return by_class, np.concatenate([[False], np.diff(steps) > 0]) & ~first_of_class


class PrunedRegressor(RegressorMixin, _PrunedEstimator):
    """Fit an ensemble of regressors, and prune it on held-out samples.

    Parameters
    ----------
    estimator : estimator
        The ensemble to fit: RandomForest, ExtraTrees, Bagging or Voting regressor, a boosted
        regressor, or a pipeline that ends in one of these. A `sklearn.frozen.FrozenEstimator` is
        not fitted again, and all samples are used for pruning.
    pruner : str or pruner, default="auto"
        A method by its short name, or a pruner with its parameters, as for `prune`. By name, it
        keeps the number of members that `prune` keeps by default.
    validation : float, "oob", splitter or iterable, default=0.2
        Fraction of the samples that are held out for pruning, drawn at random. "oob" fits on all
        samples and prunes by out-of-bag predictions (forests and bagging with bootstrap). A
        splitter such as ``TimeSeriesSplit()``, or pairs of indices: members are fitted on the
        training samples of the last split, and pruned on its held-out samples.
    n_jobs : int or None, default=None
        Number of threads used to collect predictions.
    random_state : int, RandomState or None, default=None
        Random state of the split, the method and the cross-validation folds.
    scoring : str, callable, list or dict, default=None
        The score to optimise, as for `prune`. It is used for ``pruner="auto"``, for methods whose
        own ``scoring`` is not set, and in summaries of ``pruning_``. R² by default.
    refit : {"auto", True, False}, LeafRefit or None, default=None
        Whether to refit the leaves of the kept trees so that they approximate the full ensemble,
        as for `prune`.
    weights : bool or None, default=None
        Whether the kept members have weights, as for `prune`. None uses the weights of methods
        that have them.
    cv : int, splitter or iterable, default=None
        The cross-validation folds on the validation samples, as for `prune`.

    Attributes
    ----------
    estimator_ : estimator
        The pruned ensemble, a plain scikit-learn object.
    pruning_ : Pruning
        The result of `prune`: how the members were selected.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    PrunedClassifier : The same for classification.
    prune : Prune an ensemble that is already fitted.
    compare : Compare several methods and sizes by held-out scores.

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

    def _check_targets(self, y: Array) -> None:
        """Raise an error if the targets of a `PrunedRegressor` are not numbers."""
        if y.dtype.kind not in "biufO":
            raise InputError(f"y has values of type {y.dtype}. Pass numeric target values.")

    def _check_kind(self) -> None:
        """Raise an error if a `PrunedRegressor` got a classifier."""
        if not self.pruning_.problem.is_regression:
            raise InputError(
                f"{type(self.estimator).__name__} is a classifier. Pass it to PrunedClassifier."
            )

    def _hold_out(self, y: Array, rng: np.random.RandomState) -> tuple[IndexArray, BoolArray]:
        """Return a random order of the samples, and which of them are held out."""
        n_held_out = int(self.validation * len(y))
        return rng.permutation(len(y)), np.arange(len(y)) < n_held_out
