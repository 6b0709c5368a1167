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

from secateurs._labels import Array
from secateurs._progress import Callback, watched
from secateurs._text import counted, listed
from secateurs.ensembles import CORRECTS, Ensemble, as_ensemble
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.outputs._collect_store import AskedScores, AskedVotes
from secateurs.outputs._questions import Questions, in_bag_mask
from secateurs.outputs._score_store import ScoreStore
from secateurs.outputs._scores import Scores
from secateurs.outputs._store import VoteStore
from secateurs.outputs._store_files import StrPath
from secateurs.outputs._training_rows import doubt_order
from secateurs.outputs._votes import Votes

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
    callback: Callback | None = ...,
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
    callback: Callback | None = ...,
) -> VoteStore: ...
def collect_votes(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = False,
    n_jobs: int | None = None,
    store: StrPath | None = None,
    y: ArrayLike | None = None,
    callback: Callback | None = None,
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
    refuse_numbers(known)
    _refuse_stages(known)
    if store is not None:
        with watched(callback):
            return AskedVotes(known, Questions(known, X, n_jobs), oob).collect_into(Path(store), y)
    if y is not None:
        raise InputError("y is kept in a store only; pruners take it in fit(votes, y).")
    mask = in_bag_mask(known, _num_samples(X)) if oob else None  # refuses before any work
    if oob and (doubt := doubt_order(known, X)):
        warnings.warn(doubt, stacklevel=2)
    with watched(callback):
        labels = known.classes[collect_codes(known, X, n_jobs).T]
    return labels if mask is None else np.ma.array(labels, mask=mask.T)


def votes_of(
    ensemble: Ensemble,
    X: Any,
    y: ArrayLike | None = None,
    oob: bool = False,
    n_jobs: int | None = None,
) -> Votes:
    """Collect votes straight into their packed form."""
    refuse_numbers(ensemble)
    mask = in_bag_mask(ensemble, _num_samples(X)) if oob else None
    codes = collect_codes(ensemble, X, n_jobs)
    votes = Votes.from_codes(codes, ensemble.classes, y, mask, ensemble.names)
    return replace(votes, staged=ensemble.staged)


def collect_codes(ensemble: Ensemble, X: Any, n_jobs: int | None) -> Array:
    """Collect votes as places among the classes: (members, samples)."""
    return Questions(ensemble, X, n_jobs).codes(range(ensemble.n_members))


@overload
def collect_scores(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: None = ...,
    callback: Callback | None = ...,
) -> Array: ...
@overload
def collect_scores(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = ...,
    n_jobs: int | None = ...,
    store: StrPath,
    y: ArrayLike | None = ...,
    callback: Callback | None = ...,
) -> ScoreStore: ...
def collect_scores(
    ensemble: Any,
    X: Any,
    *,
    oob: bool = False,
    n_jobs: int | None = None,
    store: StrPath | None = None,
    y: ArrayLike | None = None,
    callback: Callback | None = None,
) -> Array | ScoreStore:
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
    ndarray of shape (n_samples, n_members, n_classes) or (n_samples, n_members), or ScoreStore
        Probabilities, in the order of the ensemble's ``classes_``, each off by at most 2⁻¹⁵; a
        member without ``predict_proba`` has 1 for its label. Of regressors, what they predict,
        off by less than 2⁻²⁹ of the largest absolute value. Masked where values are missing because
        of ``oob``. With ``store``, the store that holds them.

    See Also
    --------
    collect_votes : Labels instead.
    Scores : The same in fixed point, as pruners take it.
    ScoreStore : The same in a folder, for more than fits into memory.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import collect_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> collect_scores(forest, X).shape
    (150, 10, 3)
    """
    known = ensemble if isinstance(ensemble, Ensemble) else as_ensemble(ensemble)
    _refuse_stages(known)
    if store is not None and known.margin_scale is not None:
        raise InputError(
            f"{type(known.model).__name__} averages margins, which stores do not hold. Leave out "
            "{store}.",
            store=...,
        )
    if store is not None:
        with watched(callback):
            return AskedScores(known, Questions(known, X, n_jobs), oob).collect_into(Path(store), y)
    if y is not None:
        raise InputError("y is kept in a store only; pruners take it in fit(scores, y).")
    with watched(callback):
        scores = scores_of(known, X, None, oob, n_jobs)
    if oob and (doubt := doubt_order(known, X)):
        warnings.warn(doubt, stacklevel=2)
    return scores.decode()


def scores_of(
    ensemble: Ensemble,
    X: Any,
    y: ArrayLike | None = None,
    oob: bool = False,
    n_jobs: int | None = None,
) -> Scores:
    """Collect scores straight into fixed point."""
    mask = in_bag_mask(ensemble, _num_samples(X)) if oob else None
    scores = Questions(ensemble, X, n_jobs).scores(range(ensemble.n_members), mask)
    found = Scores.filled(scores, y, ensemble.names)
    return replace(found, staged=ensemble.staged, margin_scale=ensemble.margin_scale)


def refuse_numbers(ensemble: Ensemble) -> None:
    """Refuse regressors where labels are needed."""
    if ensemble.is_regression:
        raise InputError(
            f"{type(ensemble.model).__name__} predicts numbers, which are not votes. Use "
            "collect_scores, and methods that work with numbers."
        )


def _refuse_stages(ensemble: Ensemble) -> None:
    """Refuse boosted models where each member should have answers of its own."""
    if ensemble.staged:
        raise InputError(
            f"The trees of {type(ensemble.model).__name__} have no answers of their own: "
            f"{CORRECTS}. Use prune, which keeps the first."
        )


def looks_trained_on(ensemble: Ensemble, outputs: Votes | Scores) -> bool:
    """Tell whether outputs seem to be on the training rows: members do better on those they saw.

    False for ensembles that keep no record of the rows, and for another number of rows.
    """
    if getattr(ensemble.model, "_n_samples", None) != outputs.n_samples:
        return False
    try:
        seen = in_bag_mask(ensemble, outputs.n_samples)
    except InputError:
        return False
    if isinstance(outputs, Scores):
        on_seen, on_others = _errors_on_seen(outputs, seen)
        return on_seen < _TELLING_RATIO * on_others
    right = outputs.oracle.packed.decode() == 0
    return bool(right[seen].mean() - right[~seen].mean() > _TELLING)


def warn_unseen(ensemble: Ensemble, labels: Array, name: str) -> None:
    """Warn about true labels that the model never saw: no member can be right there."""
    known, found = set(ensemble.classes.tolist()), Counter(labels.tolist())
    unseen = [label for label in found if label not in known]
    are_text = {any(isinstance(label, str) for label in some) for some in (known, found)}
    if not unseen or len(are_text) == 2:  # coded differently, which is refused where it matters
        return
    told = [f"{label!r} ({counted(found[label], 'row')})" for label in unseen[:5]]
    more = f" and {len(unseen) - 5:,} more" if len(unseen) > 5 else ""
    warnings.warn(
        SecateursWarning(
            f"{{{name}}} has labels that the model never saw, and cannot predict: "
            f"{listed(told)}{more}. Leave these rows out, or fit the model with them.",
            **{name: ...},
        ),
        stacklevel=4,
    )


def _errors_on_seen(scores: Scores, seen: NDArray[np.bool_]) -> tuple[float, float]:
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
