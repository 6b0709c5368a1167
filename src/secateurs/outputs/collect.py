"""Collect the members' predictions: labels, probabilities or regression values."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import CORRECTS, Ensemble, as_ensemble
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.outputs._collect_store import PredictionStoreCollector, VoteStoreCollector
from secateurs.outputs._member_querier import MemberQuerier, in_bag_mask
from secateurs.outputs._store_files import StrPath
from secateurs.outputs.prediction_store import PredictionStore
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.training_samples import training_order_warning
from secateurs.outputs.vote_store import VoteStore
from secateurs.outputs.votes import Votes
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.text_format import format_count, format_list
from secateurs.typing import Array, BoolArray, Samples

# Members are more accurate on their training samples. Smaller differences than these may be due to
# chance; they trade false warnings against undetected training samples.
_ACCURACY_GAP = 0.05  # accuracy on in-bag samples minus accuracy on the other samples
_ERROR_RATIO = 0.8  # squared error on in-bag samples over squared error on the other samples


@overload
def collect_votes(
    ensemble: object,
    X: Samples,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: None = ...,
    callback: ProgressCallback | None = ...,
) -> Array: ...
@overload
def collect_votes(
    ensemble: object,
    X: Samples,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: StrPath,
    y: ArrayLike | None = ...,
    callback: ProgressCallback | None = ...,
) -> VoteStore: ...
def collect_votes(
    ensemble: object,
    X: Samples,
    *,
    oob: bool = False,
    n_jobs: int | None = None,
    store: StrPath | None = None,
    y: ArrayLike | None = None,
    callback: ProgressCallback | None = None,
) -> Array | VoteStore:
    """Collect the label that every member predicts for every sample.

    Parameters
    ----------
    ensemble : object
        A fitted RandomForest, ExtraTrees, Bagging, Voting or AdaBoost classifier, a pipeline or
        fitted search around one, or a list or dict of fitted classifiers.
    X : array-like of shape (n_samples, n_features)
        The samples, as for the ensemble's own ``predict``.
    oob : bool, default=False
        Mask the votes on samples that a member was trained on. X must be the training samples, in
        their original order, of a forest or bagging ensemble trained with bootstrap.
    n_jobs : int or None, default=None
        Number of threads used to collect votes.
    store : path, optional
        Folder to write the votes to, a few members at a time, instead of holding all in memory. If
        it already holds part of these votes, only the missing votes are collected. Samples are
        compared in full; those of scikit-learn's forests as float32, to which their trees round.
    y : array-like of shape (n_samples,), optional
        True labels to keep in the store.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`.

    Returns
    -------
    ndarray of shape (n_samples, n_members) or VoteStore
        Labels as in the ensemble's ``classes_``, masked where ``oob`` removes votes; with
        ``store``, the store that holds them.

    See Also
    --------
    Votes : Encoded and packed votes, with counts on demand.
    VoteStore : Votes in a folder, for ensembles that do not fit into memory.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import collect_votes
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> collect_votes(forest, X).shape
    (150, 10)
    """
    fitted = ensemble if isinstance(ensemble, Ensemble) else as_ensemble(ensemble)
    check_is_classifier(fitted)
    _check_not_sequential(fitted)
    if store is not None:
        with watch_progress(callback):
            return VoteStoreCollector(fitted, MemberQuerier(fitted, X, n_jobs), oob).collect_into(
                Path(store), y
            )
    if y is not None:
        raise InputError("y is only used with store. Pass it to the pruner instead: fit(votes, y).")
    mask = in_bag_mask(fitted, _num_samples(X)) if oob else None  # raises before any work is done
    if oob and (warning := training_order_warning(fitted, X)):
        warnings.warn(warning, stacklevel=2)
    with watch_progress(callback):
        labels = fitted.classes[collect_vote_codes(fitted, X, n_jobs).T]
    return labels if mask is None else np.ma.array(labels, mask=mask.T)


def collect_encoded_votes(
    ensemble: Ensemble,
    X: Samples,
    y: ArrayLike | None = None,
    oob: bool = False,
    n_jobs: int | None = None,
) -> Votes:
    """Collect the votes of an ensemble as `Votes`."""
    check_is_classifier(ensemble)
    mask = in_bag_mask(ensemble, _num_samples(X)) if oob else None
    codes = collect_vote_codes(ensemble, X, n_jobs)
    votes = Votes.from_codes(codes, ensemble.classes, y, mask, ensemble.member_names)
    return replace(votes, is_sequential=ensemble.is_sequential)


def collect_vote_codes(ensemble: Ensemble, X: Samples, n_jobs: int | None) -> Array:
    """Collect the votes of an ensemble as class indices: (members, samples)."""
    return MemberQuerier(ensemble, X, n_jobs).query_codes(range(ensemble.n_members))


@overload
def collect_predictions(
    ensemble: object,
    X: Samples,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: None = ...,
    callback: ProgressCallback | None = ...,
) -> Array: ...
@overload
def collect_predictions(
    ensemble: object,
    X: Samples,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: StrPath,
    y: ArrayLike | None = ...,
    callback: ProgressCallback | None = ...,
) -> PredictionStore: ...
def collect_predictions(
    ensemble: object,
    X: Samples,
    *,
    oob: bool = False,
    n_jobs: int | None = None,
    store: StrPath | None = None,
    y: ArrayLike | None = None,
    callback: ProgressCallback | None = None,
) -> Array | PredictionStore:
    """Collect the probabilities, or regression values, that every member predicts.

    Parameters
    ----------
    ensemble : object
        As for `collect_votes`; regressors are accepted as well.
    X : array-like of shape (n_samples, n_features)
        The samples, as for the ensemble's own ``predict``.
    oob : bool, default=False
        Mask the predictions on samples that a member was trained on. X must be the training
        samples, in their original order, of a forest or bagging ensemble trained with bootstrap.
    n_jobs : int or None, default=None
        Number of threads used to collect predictions.
    store : path, optional
        Folder to write the predictions to, as for `collect_votes`.
    y : array-like of shape (n_samples,), optional
        True labels, or true values of a regression, to keep in the store.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`.

    Returns
    -------
    ndarray of shape (n_samples, n_members, n_classes) or (n_samples, n_members), or PredictionStore
        Probabilities in the order of the ensemble's ``classes_``, with an error of at most 2⁻¹⁵; a
        member without ``predict_proba`` has probability 1 for its label. For regressors, the
        predicted values, with an error of less than 2⁻²⁹ of the largest absolute value. Masked
        where ``oob`` removes predictions. With ``store``, the store that holds them.

    See Also
    --------
    collect_votes : Collect labels instead.
    Predictions : The predictions in fixed point, which pruners accept.
    PredictionStore : Predictions in a folder, for ensembles that do not fit into memory.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import collect_predictions
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> collect_predictions(forest, X).shape
    (150, 10, 3)
    """
    fitted = ensemble if isinstance(ensemble, Ensemble) else as_ensemble(ensemble)
    _check_not_sequential(fitted)
    if store is not None and fitted.margin_scale is not None:
        raise InputError(
            f"{type(fitted.model).__name__} averages margins, which stores cannot hold. Leave out "
            "{store}.",
            store=...,
        )
    if store is not None:
        with watch_progress(callback):
            return PredictionStoreCollector(
                fitted, MemberQuerier(fitted, X, n_jobs), oob
            ).collect_into(Path(store), y)
    if y is not None:
        raise InputError("y is only used with store. Pass it to the pruner: fit(predictions, y).")
    with watch_progress(callback):
        predictions = collect_encoded_predictions(fitted, X, None, oob, n_jobs)
    if oob and (warning := training_order_warning(fitted, X)):
        warnings.warn(warning, stacklevel=2)
    return predictions.decode()


def collect_encoded_predictions(
    ensemble: Ensemble,
    X: Samples,
    y: ArrayLike | None = None,
    oob: bool = False,
    n_jobs: int | None = None,
) -> Predictions:
    """Collect the probabilities or values of an ensemble as `Predictions`."""
    mask = in_bag_mask(ensemble, _num_samples(X)) if oob else None
    filler = MemberQuerier(ensemble, X, n_jobs).query_predictions(range(ensemble.n_members), mask)
    return replace(
        Predictions.filled(filler, y, ensemble.member_names),
        is_sequential=ensemble.is_sequential,
        margin_scale=ensemble.margin_scale,
    )


def check_is_classifier(ensemble: Ensemble) -> None:
    """Raise an error for regressors, which predict no labels."""
    if ensemble.is_regression:
        raise InputError(
            f"{type(ensemble.model).__name__} is a regressor, whose predictions are not votes. Use "
            "collect_predictions, and methods that support regression."
        )


def _check_not_sequential(ensemble: Ensemble) -> None:
    """Raise an error for boosted models, whose members do not predict on their own."""
    if ensemble.is_sequential:
        raise InputError(
            f"The trees of {type(ensemble.model).__name__} do not predict on their own: "
            f"{CORRECTS}. Use prune, which keeps the first trees."
        )


def is_likely_training_set(ensemble: Ensemble, outputs: Votes | Predictions) -> bool:
    """Tell whether predictions seem to be on the training samples, by the members' accuracy.

    False if the ensemble does not record its training samples, or the number of samples differs.
    """
    if getattr(ensemble.model, "_n_samples", None) != outputs.n_samples:
        return False
    try:
        in_bag = in_bag_mask(ensemble, outputs.n_samples)
    except InputError:
        return False
    if isinstance(outputs, Predictions):
        in_bag_error, held_out_error = _errors_by_bag(outputs, in_bag)
        return in_bag_error < _ERROR_RATIO * held_out_error
    is_right = outputs.oracle.packed.decode() == 0
    return bool(is_right[in_bag].mean() - is_right[~in_bag].mean() > _ACCURACY_GAP)


def warn_unseen_labels(ensemble: Ensemble, labels: Array, name: str) -> None:
    """Warn about true labels that the model does not have, so that no member can predict them."""
    classes, label_counts = set(ensemble.classes.tolist()), Counter(labels.tolist())
    unseen = [label for label in label_counts if label not in classes]
    are_text = {any(isinstance(label, str) for label in part) for part in (classes, label_counts)}
    if not unseen or len(are_text) == 2:  # text and numbers raise an error in `merge_classes`
        return
    examples = [
        f"{label!r} ({format_count(label_counts[label], 'sample')})" for label in unseen[:5]
    ]
    more = f" and {len(unseen) - 5:,} more" if len(unseen) > 5 else ""
    warnings.warn(
        SecateursWarning(
            f"{{{name}}} has labels that the model was not trained on and cannot predict: "
            f"{format_list(examples)}{more}. Leave these samples out, or fit the model with them.",
            **{name: ...},
        ),
        stacklevel=4,
    )


def _errors_by_bag(predictions: Predictions, in_bag: BoolArray) -> tuple[float, float]:
    """Return the mean squared error of members trained on a sample, and of the other members.

    Both are means over the same samples, so that samples which are hard to predict weigh the same.
    """
    errors = np.zeros((2, predictions.n_samples))
    for member, is_trained_on in enumerate(in_bag):
        squared = (predictions.values(member) - predictions.truth) ** 2
        errors += np.where([is_trained_on, ~is_trained_on], squared, 0.0)
    counts = np.stack([in_bag.sum(axis=0), (~in_bag).sum(axis=0)])
    has_both = counts.all(axis=0)
    means = (errors[:, has_both] / counts[:, has_both]).sum(axis=1) / max(1, has_both.sum())
    return float(means[0]), float(means[1])
