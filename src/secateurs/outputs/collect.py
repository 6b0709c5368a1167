"""Collect what the members of a fitted ensemble predict: labels, probabilities, numbers."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
from secateurs.typing import Array

_TELLING = 0.05  # accuracy on rows seen minus that on others: more than chance
_TELLING_RATIO = 0.8  # squared error on rows seen to that on others: less than chance


@overload
def collect_votes(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: None = ...,
    callback: ProgressCallback | None = ...,
) -> Array: ...
@overload
def collect_votes(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: StrPath,
    y: ArrayLike | None = ...,
    callback: ProgressCallback | None = ...,
) -> VoteStore: ...
def collect_votes(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = False,
    n_jobs: int | None = None,
    store: StrPath | None = None,
    y: ArrayLike | None = None,
    callback: ProgressCallback | None = None,
) -> Array | VoteStore:
    """Collect the label of every member for every row.

    Parameters
    ----------
    ensemble : object
        A fitted RandomForest, ExtraTrees, Bagging, Voting or AdaBoost classifier, a pipeline or
        fitted search around one, or a list or dict of fitted classifiers.
    X : array-like of shape (n_samples, n_features)
        The rows, as for the ensemble's own ``predict``.
    oob : bool, default=False
        Mask the votes on rows that a member was trained on. X must be the training rows, in their
        order, of a forest or bagging ensemble trained with bootstrap.
    n_jobs : int or None, default=None
        Number of threads used to collect votes.
    store : path, optional
        Folder to write the votes to, some members at a time, instead of holding all in memory. If
        it already holds part of these votes, the rest is added.
    y : array-like of shape (n_samples,), optional
        True labels to keep in the store.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`.

    Returns
    -------
    ndarray of shape (n_samples, n_members) or VoteStore
        Labels as in the ensemble's ``classes_``, masked where votes are missing because of
        ``oob``; with ``store``, the store that holds them.

    See Also
    --------
    Votes : Votes coded and packed, with counts on demand.
    VoteStore : Votes in a folder, for more than fit into memory.

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
    known = ensemble if isinstance(ensemble, Ensemble) else as_ensemble(ensemble)
    check_is_classifier(known)
    _check_not_sequential(known)
    if store is not None:
        with watch_progress(callback):
            return VoteStoreCollector(known, MemberQuerier(known, X, n_jobs), oob).collect_into(
                Path(store), y
            )
    if y is not None:
        raise InputError("y is kept in a store only; pruners take it in fit(votes, y).")
    mask = in_bag_mask(known, _num_samples(X)) if oob else None  # refuses before any work
    if oob and (doubt := training_order_warning(known, X)):
        warnings.warn(doubt, stacklevel=2)
    with watch_progress(callback):
        labels = known.classes[collect_vote_codes(known, X, n_jobs).T]
    return labels if mask is None else np.ma.array(labels, mask=mask.T)


def collect_encoded_votes(
    ensemble: Ensemble,
    X: Any,
    y: ArrayLike | None = None,
    oob: bool = False,
    n_jobs: int | None = None,
) -> Votes:
    """Collect votes straight into their packed form."""
    check_is_classifier(ensemble)
    mask = in_bag_mask(ensemble, _num_samples(X)) if oob else None
    codes = collect_vote_codes(ensemble, X, n_jobs)
    votes = Votes.from_codes(codes, ensemble.classes, y, mask, ensemble.member_names)
    return replace(votes, is_sequential=ensemble.is_sequential)


def collect_vote_codes(ensemble: Ensemble, X: Any, n_jobs: int | None) -> Array:
    """Collect votes as places among the classes: (members, samples)."""
    return MemberQuerier(ensemble, X, n_jobs).query_codes(range(ensemble.n_members))


@overload
def collect_predictions(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: None = ...,
    callback: ProgressCallback | None = ...,
) -> Array: ...
@overload
def collect_predictions(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: StrPath,
    y: ArrayLike | None = ...,
    callback: ProgressCallback | None = ...,
) -> PredictionStore: ...
def collect_predictions(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = False,
    n_jobs: int | None = None,
    store: StrPath | None = None,
    y: ArrayLike | None = None,
    callback: ProgressCallback | None = None,
) -> Array | PredictionStore:
    """Collect the probabilities, or numbers, that every member predicts for every row.

    Parameters
    ----------
    ensemble : object
        As for `collect_votes`; regressors as well.
    X : array-like of shape (n_samples, n_features)
        The rows, as for the ensemble's own ``predict``.
    oob : bool, default=False
        Mask the values on rows that a member was trained on. X must be the training rows, in their
        order, of a forest or bagging ensemble trained with bootstrap.
    n_jobs : int or None, default=None
        Number of threads used to collect scores.
    store : path, optional
        Folder to write the scores to, as for `collect_votes`.
    y : array-like of shape (n_samples,), optional
        True labels, or true numbers, to keep in the store.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`.

    Returns
    -------
    ndarray of shape (n_samples, n_members, n_classes) or (n_samples, n_members), or PredictionStore
        Probabilities, in the order of the ensemble's ``classes_``, each off by at most 2⁻¹⁵; a
        member without ``predict_proba`` has 1 for its label. Of regressors, what they predict,
        off by less than 2⁻²⁹ of the largest absolute value. Masked where values are missing because
        of ``oob``. With ``store``, the store that holds them.

    See Also
    --------
    collect_votes : Labels instead.
    Predictions : The same in fixed point, as pruners take it.
    PredictionStore : The same in a folder, for more than fits into memory.

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
    known = ensemble if isinstance(ensemble, Ensemble) else as_ensemble(ensemble)
    _check_not_sequential(known)
    if store is not None and known.margin_scale is not None:
        raise InputError(
            f"{type(known.model).__name__} averages margins, which stores do not hold. Leave out "
            "{store}.",
            store=...,
        )
    if store is not None:
        with watch_progress(callback):
            return PredictionStoreCollector(
                known, MemberQuerier(known, X, n_jobs), oob
            ).collect_into(Path(store), y)
    if y is not None:
        raise InputError("y is kept in a store only; pruners take it in fit(scores, y).")
    with watch_progress(callback):
        scores = collect_encoded_predictions(known, X, None, oob, n_jobs)
    if oob and (doubt := training_order_warning(known, X)):
        warnings.warn(doubt, stacklevel=2)
    return scores.decode()


def collect_encoded_predictions(
    ensemble: Ensemble,
    X: Any,
    y: ArrayLike | None = None,
    oob: bool = False,
    n_jobs: int | None = None,
) -> Predictions:
    """Collect scores straight into fixed point."""
    mask = in_bag_mask(ensemble, _num_samples(X)) if oob else None
    scores = MemberQuerier(ensemble, X, n_jobs).query_predictions(range(ensemble.n_members), mask)
    found = Predictions.filled(scores, y, ensemble.member_names)
    return replace(found, is_sequential=ensemble.is_sequential, margin_scale=ensemble.margin_scale)


def check_is_classifier(ensemble: Ensemble) -> None:
    """Refuse regressors where labels are needed."""
    if ensemble.is_regression:
        raise InputError(
            f"{type(ensemble.model).__name__} predicts numbers, which are not votes. Use "
            "collect_predictions, and methods that work with numbers."
        )


def _check_not_sequential(ensemble: Ensemble) -> None:
    """Refuse boosted models where each member should have answers of its own."""
    if ensemble.is_sequential:
        raise InputError(
            f"The trees of {type(ensemble.model).__name__} have no answers of their own: "
            f"{CORRECTS}. Use prune, which keeps the first."
        )


def is_likely_training_set(ensemble: Ensemble, outputs: Votes | Predictions) -> bool:
    """Tell whether outputs seem to be on the training rows: members do better on those they saw.

    False for ensembles that keep no record of the rows, and for another number of rows.
    """
    if getattr(ensemble.model, "_n_samples", None) != outputs.n_samples:
        return False
    try:
        seen = in_bag_mask(ensemble, outputs.n_samples)
    except InputError:
        return False
    if isinstance(outputs, Predictions):
        on_seen, on_others = _errors_on_seen(outputs, seen)
        return on_seen < _TELLING_RATIO * on_others
    right = outputs.oracle.packed.decode() == 0
    return bool(right[seen].mean() - right[~seen].mean() > _TELLING)


def warn_unseen_labels(ensemble: Ensemble, labels: Array, name: str) -> None:
    """Warn about true labels that the model never saw: no member can be right there."""
    known, found = set(ensemble.classes.tolist()), Counter(labels.tolist())
    unseen = [label for label in found if label not in known]
    are_text = {any(isinstance(label, str) for label in some) for some in (known, found)}
    if not unseen or len(are_text) == 2:  # coded differently, which is refused where it matters
        return
    told = [f"{label!r} ({format_count(found[label], 'row')})" for label in unseen[:5]]
    more = f" and {len(unseen) - 5:,} more" if len(unseen) > 5 else ""
    warnings.warn(
        SecateursWarning(
            f"{{{name}}} has labels that the model never saw, and cannot predict: "
            f"{format_list(told)}{more}. Leave these rows out, or fit the model with them.",
            **{name: ...},
        ),
        stacklevel=4,
    )


def _errors_on_seen(scores: Predictions, seen: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the mean squared error of members that saw a row, and that of the others.

    Both are means over the same rows, so that rows which are hard to predict weigh the same.
    """
    errors = np.zeros((2, scores.n_samples))
    for member, known in enumerate(seen):
        squared = (scores.values(member) - scores.truth) ** 2
        errors += np.where([known, ~known], squared, 0.0)
    counts = np.stack([seen.sum(axis=0), (~seen).sum(axis=0)])
    both = counts.all(axis=0)
    on_seen, on_others = (errors[:, both] / counts[:, both]).sum(axis=1) / max(1, both.sum())
    return float(on_seen), float(on_others)
