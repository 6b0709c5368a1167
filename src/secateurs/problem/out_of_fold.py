"""Unfitted models: out-of-fold predictions to select members by, and members fitted to all data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from secateurs.ensembles import Ensemble, as_ensemble
from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs.input_checks import as_target_values, check_sample_weights
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.table_members import TableFormat
from secateurs.outputs.votes import Votes
from secateurs.problem.cross_validation import CrossValidation, FoldIndices
from secateurs.text_format import format_count
from secateurs.thread_safety import limit_threads_after_fork
from secateurs.typing import Array, FloatArray, IndexArray, Samples


@dataclass(frozen=True)
class OutOfFold:
    """Models fitted to all samples, and the predictions of their copies on held-out samples."""

    ensemble: Ensemble  # fitted to all samples
    predictions: Votes | Predictions  # on the held-out samples, with their true labels or values
    soft_predictions: Predictions
    samples: IndexArray  # that some fold holds out
    cross_validation: CrossValidation  # of these samples

    def held_out(self, values: Any) -> Any:
        """Return the values of the held-out samples; None and names of columns as they are."""
        is_per_sample = values is not None and not isinstance(values, str)
        return _safe_indexing(values, self.samples) if is_per_sample else values


def holds_unfitted_models(ensemble: object) -> bool:
    """Return whether a list or dict has unfitted models; raise if others in it are fitted."""
    if not isinstance(ensemble, (list, tuple, Mapping)):
        return False
    models = ensemble.values() if isinstance(ensemble, Mapping) else ensemble
    if not all(hasattr(model, "fit") and hasattr(model, "get_params") for model in models):
        return False
    is_fitted = {name: _is_fitted(model) for name, model in _named_models(ensemble).items()}
    if all(is_fitted.values()):
        return False
    if any(is_fitted.values()):
        first, other = (
            next(name for name, fitted in is_fitted.items() if fitted is wanted)
            for wanted in (True, False)
        )
        raise InputError(
            f"Member {first!r} is fitted, and member {other!r} is not. Pass fitted models only, or "
            "unfitted models only (sklearn.base.clone)."
        )
    return True


def predict_out_of_fold(
    models: Any,
    X: Samples,
    y: ArrayLike,
    *,
    cv: Any,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    n_jobs: int | None = None,
) -> OutOfFold:
    """Predict each sample by copies of the models that were fitted without it.

    A fold's copies are fitted to its training samples, as by scikit-learn's ``cross_val_predict``.
    Samples that no fold holds out, such as the first ones of a time series, have no prediction and
    are left out.
    """
    n_samples = _num_samples(X)
    data = _TrainingData(X, y, check_sample_weights(sample_weight, n_samples))
    ensemble = as_ensemble(_fit_all(models, data, n_jobs))
    truth = as_target_values(y, n_samples) if ensemble.is_regression else _class_codes(y, ensemble)
    cross_validation = CrossValidation.from_parameters(cv, groups, n_samples)
    folds = list(cross_validation.split(truth, X, 0))
    samples = _held_out_samples(folds)
    columns = Parallel(n_jobs=n_jobs)(
        delayed(_predict_member)(model, data, folds, ensemble)
        for model in _named_models(models).values()
    )
    values = np.stack([column[samples] for column in columns], axis=1)
    kind = "values" if ensemble.is_regression else "probabilities" if ensemble.is_soft else "labels"
    table_format = TableFormat(
        classes=None if ensemble.is_regression else ensemble.classes,
        names=ensemble.member_names,
        kind=kind,  # type: ignore[arg-type]
    )
    table = PredictionTable(values, table_format)
    labels = _safe_indexing(truth if ensemble.is_regression else np.asarray(y), samples)
    is_all = len(samples) == n_samples
    ensemble.notes = (_describe(len(folds), len(samples), n_samples),)
    return OutOfFold(
        ensemble,
        table.with_labels(labels),
        table.numeric_predictions.with_labels(labels),
        samples,
        cross_validation if is_all else cross_validation.on_samples(samples),
    )


def _named_models(models: Any) -> dict[str, BaseEstimator]:
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    return {f"member {index}": model for index, model in enumerate(models)}


def _is_fitted(model: Any) -> bool:
    if callable(getattr(model, "is_fitted", None)):  # CatBoost
        return bool(model.is_fitted())
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


@dataclass(frozen=True)
class _TrainingData:
    X: Samples
    y: ArrayLike
    weights: FloatArray | None

    def fit_copy(self, model: BaseEstimator, samples: IndexArray | None = None) -> Any:
        """Return a copy of a model, fitted to some samples or to all."""
        X, y, weights = self.X, self.y, self.weights
        if samples is not None:
            X, y = _safe_indexing(X, samples), _safe_indexing(y, samples)
            weights = None if weights is None else weights[samples]
        if weights is None or not _uses_weights(model):
            return clone(model).fit(X, y)
        return clone(model).fit(X, y, sample_weight=weights)


def _fit_all(models: Any, data: _TrainingData, n_jobs: int | None) -> Any:
    """Return copies of the models, fitted to all samples, in the same list or dict."""
    limit_threads_after_fork()
    named = _named_models(models)
    fitted = Parallel(n_jobs=n_jobs)(delayed(data.fit_copy)(model) for model in named.values())
    return dict(zip(models, fitted, strict=True)) if isinstance(models, Mapping) else list(fitted)


def _uses_weights(model: BaseEstimator) -> bool:
    """Return whether ``fit`` has sample weights, or requests them by metadata routing."""
    if has_fit_parameter(model, "sample_weight"):
        return True
    return bool(get_routing_for_object(model).consumes("fit", ["sample_weight"]))


def _held_out_samples(folds: Sequence[FoldIndices]) -> IndexArray:
    """Return the samples that a fold holds out; raise if several folds hold out the same one."""
    samples, counts = np.unique(np.concatenate([held for _, held in folds]), return_counts=True)
    if counts.max() > 1:
        raise InputError(
            f"{{cv}} holds out sample {samples[counts.argmax()]} in several folds. Unfitted models "
            "need folds that hold out each sample at most once, such as KFold or TimeSeriesSplit.",
            cv=...,
        )
    return samples


def _predict_member(
    model: BaseEstimator, data: _TrainingData, folds: Sequence[FoldIndices], ensemble: Ensemble
) -> Array:
    """Return the predictions of copies of a model on the samples that they were not fitted to."""
    classes, n_samples = ensemble.classes, _num_samples(data.X)
    shape = (n_samples, len(classes)) if ensemble.is_soft and len(classes) else (n_samples,)
    column = np.zeros(shape, dtype=float if ensemble.is_soft else classes.dtype)
    for training, held_out in folds:
        fitted = data.fit_copy(model, training)
        block = _safe_indexing(data.X, held_out)
        if len(shape) == 1:
            column[held_out] = np.ravel(fitted.predict(block))
        else:  # a fold may lack classes, which then have a probability of 0
            indices = np.searchsorted(classes, fitted.classes_)
            column[np.ix_(held_out, indices)] = fitted.predict_proba(block)
    return column


def _class_codes(y: ArrayLike, ensemble: Ensemble) -> IndexArray:
    return np.searchsorted(ensemble.classes, as_labels(y, "y").ravel())


def _describe(n_folds: int, n_held_out: int, n_samples: int) -> str:
    used = format_count(n_held_out, "sample")
    if n_held_out < n_samples:
        used = f"{n_held_out:,} of {format_count(n_samples, 'sample')}, the others are not held out"
    folds = format_count(n_folds, "fold")
    return (
        f"Members were selected by out-of-fold predictions ({folds}, {used}) and then fitted to "
        "all samples."
    )
