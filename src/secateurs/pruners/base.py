"""Base classes of pruners: validation, encoding, `fit` and `predict`."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from secateurs._methods import find_method, regression_methods, short_name
from secateurs.ensembles import CORRECTS
from secateurs.exceptions import InputError, caller_stacklevel
from secateurs.outputs.compiling import start_stopwatch
from secateurs.outputs.input_checks import has_fractions
from secateurs.outputs.missing_answers import counts_as_wrong, most_frequent_class
from secateurs.outputs.prediction_store import PredictionStore
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import (
    EncodedPredictions,
    PredictionsLike,
    Store,
    load_into_memory,
)
from secateurs.outputs.votes import Votes
from secateurs.progress import ProgressCallback, open_stage, watch_progress
from secateurs.pruners.parameters import is_integer, resolve_keep
from secateurs.search import Choice
from secateurs.text_format import format_list
from secateurs.typing import Array, BoolArray, ExecutorLike, IndexArray, RandomStateLike

if TYPE_CHECKING:
    import pandas as pd

_MOST_SHOWN = 200  # characters of wrong indices in a message, which stays one line
DOC_PAGE = "https://secateurs.github.io/secateurs/api/secateurs.{estimator_name}.html"


class BasePruner(SelectorMixin, BaseEstimator):
    """Base class of pruners: selectors over the columns of the prediction matrix.

    A method implements ``_select(votes, n_keep, rng)``. It receives `Votes`, the number of members
    to keep (None if the method is to decide) and a random generator, and returns the members in
    the order of selection, or a `secateurs.search.Choice` that also has the score after each step.
    A method may check its own parameters in ``_check_parameters`` and set further attributes that
    end in an underscore.

    Attributes
    ----------
    outputs : tuple of {"labels", "probabilities", "numbers"}
        Kinds of predictions that the method can work with; "numbers" are values of regressors. For
        other methods probabilities are converted to labels, and values raise an error.
    needs_y : bool
        Whether the method uses the true labels.
    takes_missing : bool
        Whether the method accepts missing votes.
    is_nested : bool
        Whether the members for a smaller ``keep`` are a prefix of those for a larger one.
    may_keep_fewer : bool
        Whether the method may keep fewer members than ``keep``.
    may_decide_size : bool
        Whether ``keep=None`` is allowed.
    larger_is_better : bool or None
        Whether a larger ``objective_`` is better; None if there is no objective.
    most_rounds : int or None
        Largest ``n_iterations`` when methods are compared.
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of selection.
    scores_ : ndarray of shape (n_kept,)
        The method's score after each step.
    support_ : ndarray of shape (n_members,)
        Mask of the kept members.
    classes_ : ndarray of shape (n_classes,)
        The labels; empty for regression.
    n_features_in_ : int
        Number of members.

    Notes
    -----
    For methods of the package, the registry ``secateurs._methods`` sets the attributes without an
    underscore at the end. Your own classes set them as class attributes, or as properties if they
    depend on parameters. `fit` sets the attributes with an underscore.
    """

    outputs: tuple[str, ...] = ("labels",)
    needs_y: bool = True
    takes_missing: bool = True
    is_nested: bool = False
    may_keep_fewer: bool = False
    may_decide_size: bool = False
    larger_is_better: bool | None = None
    most_rounds: int | None = None
    random_state: RandomStateLike  # only of methods with this parameter
    # scikit-learn reads these two for the documentation link of the HTML display in notebooks.
    _doc_link_module = "secateurs"
    _doc_link_template = DOC_PAGE
    _is_prefix_selector = False  # keeps the first members, as rounds of a boosted model require
    _takes_abstentions = False  # whether it accepts missing votes that count as wrong
    _can_read_store = False  # whether _select receives the store itself, not its votes in memory
    _selection_seconds = 0.0  # time of _select in the last fit, without compilation
    _is_silent = False  # in a group, where warnings would name members by their index in the group
    _drawn_seed: int | None = None  # lets a fit without random state be repeated; not in the repr

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        method = find_method(cls)
        for name, value in method.class_attributes.items() if method else ():
            if not isinstance(getattr(cls, name), property):
                setattr(cls, name, value)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn inspects the signature again for every clone; here it is cached.
        return super()._get_param_names()

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Private attributes have other names in pickles of earlier versions.
        old = {"_votes": "_predictions", "_seconds": "_selection_seconds", "_seed": "_drawn_seed"}
        super().__setstate__({old.get(name, name): value for name, value in state.items()})

    def with_keep(self, keep: int | float | str | None) -> Self:
        """Return an unfitted copy with this ``keep``."""
        copy = clone(self)
        copy.keep, copy._drawn_seed = keep, self._drawn_seed
        return copy

    def seed(self, seed: int) -> Self:
        """Set ``random_state``, if the method has it, and return the pruner itself."""
        if hasattr(self, "random_state"):
            self.random_state = int(seed)
        return self

    def draw_from(self, random_state: RandomStateLike, drawn_seed: int | None) -> Self:
        """Set the user's integer as ``random_state``, or else the drawn seed; return the pruner."""
        if is_integer(random_state):
            return self.seed(random_state)
        self._drawn_seed = drawn_seed
        return self

    @property
    def rng(self) -> np.random.RandomState:
        """The random generator of `fit`, from ``random_state`` or else from the drawn seed."""
        random_state = getattr(self, "random_state", None)
        return check_random_state(self._drawn_seed if random_state is None else random_state)

    def can_fit_missing(self, outputs: EncodedPredictions) -> bool:
        """Return whether the method can select by these predictions, if some are missing."""
        if not outputs.has_missing or self.takes_missing:
            return True
        return self._takes_abstentions and counts_as_wrong(outputs)

    def for_members(self, members: IndexArray) -> Self:
        """Return the pruner for a group of members; a copy if parameters refer to members."""
        return self

    # Any, because methods narrow these types, e.g. to `Votes` and `int`.
    @abstractmethod
    def _select(self, votes: Any, n_keep: Any, rng: np.random.RandomState, *options: Any) -> Any:
        """Return the selected members in order; the method's own ``fit`` passes ``options``."""

    def _check_parameters(self, votes: Any) -> None:
        """Check the method's own parameters before any work."""

    def _selection_warnings(self, votes: Any, members: IndexArray) -> Iterator[str]:
        """Yield the warnings about a selection of members."""
        if votes.n_members == 1:
            yield "The ensemble has 1 member: there is nothing to prune."

    def fit(
        self,
        votes: PredictionsLike,
        y: ArrayLike | None = None,
        *,
        callback: ProgressCallback | None = None,
    ) -> Self:
        """Select the members to keep.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members), Votes, Predictions, or a store of either
            The label that each member predicts for each sample. Masked entries of a NumPy masked
            array are missing votes. Probabilities have the shape (n_samples, n_members, n_classes).
            Methods for regression also accept predicted values.
        y : array-like of shape (n_samples,)
            The true labels. Not needed if ``votes`` contains them.
        callback : callable(done, total, best), optional
            Progress callback, see `prune`.

        Returns
        -------
        self
        """
        with watch_progress(callback):
            return self._fit_encoded(self._encode_predictions(votes, y, reset=True))

    def partial_fit(self, votes: PredictionsLike, y: ArrayLike | None = None) -> Self:
        """Select the members to keep, based on all samples seen so far.

        Several batches give exactly the same result as one `fit` on all samples. The packed votes
        are kept between calls, and each call selects all members again.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members) or Votes
            Votes of the same members on further samples.
        y : array-like of shape (n_samples,)
            The true labels.

        Returns
        -------
        self
        """
        is_first = not hasattr(self, "_predictions")
        batch = load_into_memory(self._encode_predictions(votes, y, reset=is_first))
        return self._fit_encoded(
            batch if is_first else load_into_memory(self._predictions).append(batch)
        )

    def predict(self, votes: PredictionsLike) -> Array:
        """Return the prediction of the pruned ensemble: the vote or mean of the kept members.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members) or Votes
            Votes of all members, kept or not.

        Returns
        -------
        ndarray of shape (n_samples,)
            The label with the most votes or the largest mean probability; ties go to the lowest
            class. Samples on which no kept member has a vote get the most frequent class of ``y``
            (without ``y``, of all votes) in `fit`. For regression the mean of the values, or NaN if
            no kept member has a value. If the method sets ``weights_``, votes and means are
            weighted.
        """
        check_is_fitted(self)
        return self._predict_encoded(self._encode_predictions(votes, None, reset=False))

    def _predict_encoded(self, encoded: EncodedPredictions) -> Array:
        has_fallback = encoded.has_missing and len(self.classes_) > 0
        fallback = most_frequent_class(self._predictions) if has_fallback else None
        weights = getattr(self, "weights_", None)
        return encoded.vote(self.member_indices_, silent=fallback, weights=weights)

    def score(self, votes: PredictionsLike, y: ArrayLike) -> float:
        """Return the accuracy of the pruned ensemble, or its R² for regression.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members) or Votes
            Votes of all members, kept or not.
        y : array-like of shape (n_samples,)
            The true labels.

        Returns
        -------
        float
            Fraction of samples on which the vote is correct, or R². A sample on which no kept
            member has a vote is not correct.
        """
        check_is_fitted(self)
        encoded = self._encode_predictions(votes, None, reset=False)
        y_true, y_pred = np.asarray(y).ravel(), self._predict_encoded(encoded)
        check_consistent_length(y_pred, y_true)
        if len(self.classes_) == 0:
            return float(r2_score(y_true, y_pred))
        is_right = y_pred == y_true
        if encoded.has_missing:
            is_right &= load_into_memory(encoded).has_prediction(self.member_indices_)
        return float(np.mean(is_right))

    def _fit_encoded(self, votes: EncodedPredictions, *options: object) -> Self:
        rng = self.rng
        n_keep = resolve_keep(self.keep, votes.n_members, self.may_decide_size)
        self._check_parameters(votes)
        if getattr(votes, "is_sequential", False) and not self._is_prefix_selector:
            raise InputError(
                f"{type(self).__name__} cannot select among the rounds of a boosted model: "
                f"{CORRECTS}, so that only the first rounds can be kept. Leave out {{pruner}}, or "
                'pass "es".',
                pruner=...,
            )
        self._check_missing(votes)
        with open_stage(f"selecting members by {short_name(self) or type(self).__name__}") as steps:
            elapsed = start_stopwatch()
            selected = self._select(votes, n_keep, rng, *options)
            self._selection_seconds = elapsed()
            if not steps.done:  # the method reports no steps
                steps.report_progress(1, 1)
        # A method that returns members only has unknown scores.
        choice = selected if isinstance(selected, Choice) else Choice(selected, np.nan)
        members = check_selected_members(choice.members, votes.n_members, type(self).__name__)
        self._predictions = votes
        self.classes_ = votes.classes
        self.member_indices_ = members
        scores = np.asarray(choice.scores, dtype=float)
        self.scores_ = scores if scores.ndim else np.full(len(members), scores)
        self.support_ = np.zeros(votes.n_members, dtype=bool)
        self.support_[self.member_indices_] = True
        if not self._is_silent:
            for message in self._selection_warnings(votes, self.member_indices_):
                warnings.warn(message, stacklevel=caller_stacklevel())
        return self

    def _check_missing(self, votes: EncodedPredictions) -> None:
        """Raise an error if the method cannot work with the missing predictions."""
        if not self.can_fit_missing(votes):
            raise InputError(
                f"{type(self).__name__} cannot work with missing votes (masked entries). Pass "
                "samples on which all members vote, or use another method, such as COMEP."
            )
        if not votes.has_missing or counts_as_wrong(votes):
            return
        n_answered = votes.n_answered
        if not n_answered.all():
            member, names = int(np.argmin(n_answered)), getattr(votes, "names", None)
            name = member if names is None else repr(str(names[member]))
            raise InputError(
                f"Member {name} has no vote at all: all its votes are missing. Leave that member "
                "out."
            )

    def _encode_predictions(
        self, votes: Any, y: ArrayLike | None, reset: bool
    ) -> EncodedPredictions:
        """Return predictions in the form that the method works with, checked as in scikit-learn."""
        encoded: EncodedPredictions
        if self._is_real_valued(votes, y, reset):
            if not isinstance(votes, (Predictions, PredictionStore)):
                votes, y = Predictions.encode(votes, y), None
            votes = self._as_accepted_kind(votes)
        if isinstance(votes, (Votes, Predictions, Store)):
            held: Any = votes if self._can_read_store else load_into_memory(votes)
            encoded = held if y is None else held.with_labels(y)
            if reset:
                self._set_member_names(encoded)
            else:
                frame = _empty_member_frame(encoded)
                validate_data(self, frame, skip_check_array=True, reset=False)
        else:
            encoded = Votes.encode(votes, y)
            validate_data(self, votes, skip_check_array=True, reset=reset)
        if reset and self.needs_y and encoded.y is None:
            raise InputError(  # check_estimator expects the words "requires y to be passed"
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass the true label of each sample."
            )
        return encoded

    def _set_member_names(self, votes: EncodedPredictions) -> None:
        """Set number and names of members as `validate_data` does, which needs a data frame."""
        self.n_features_in_ = votes.n_members
        self.__dict__.pop("feature_names_in_", None)  # from an earlier fit
        if votes.names is not None:
            self.feature_names_in_ = np.array([str(name) for name in votes.names], dtype=object)

    def _is_real_valued(self, votes: Any, y: ArrayLike | None, reset: bool) -> bool:
        """Return whether predictions are probabilities, or values of regressors, not labels."""
        # Values differ from integer labels by a fraction in votes or y; after fit its kind counts.
        if isinstance(votes, (Votes, Predictions, Store)):
            return isinstance(votes, (Predictions, PredictionStore))
        shape = votes.shape if hasattr(votes, "shape") else np.array(votes, dtype=object).shape
        if len(shape) != 2:
            return len(shape) == 3
        if "numbers" not in self.outputs:  # values lead to an error that names suitable methods
            return reset and y is not None and has_fractions(y) and has_fractions(votes)
        return has_fractions(votes) or has_fractions(y) if reset else len(self.classes_) == 0

    def _as_accepted_kind(
        self, scores: Predictions | PredictionStore
    ) -> Votes | Predictions | PredictionStore:
        """Return predictions of a kind that the method can work with, or raise an error."""
        if ("numbers" if scores.is_numbers else "probabilities") in self.outputs:
            return scores
        if scores.is_numbers:
            raise InputError(
                f"{type(self).__name__} needs classes, but these are continuous values. For "
                f"regression use one of: {format_list(regression_methods())}."
            )
        votes: Votes = load_into_memory(scores).votes
        return votes

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = self.needs_y
        return tags


class DistributedPruner(BasePruner):
    """Base class of pruners that can run on an executor, such as COMEP and EPFD."""

    _can_read_store = True

    def fit(
        self,
        votes: PredictionsLike,
        y: ArrayLike | None = None,
        executor: ExecutorLike | None = None,
        callback: ProgressCallback | None = None,
    ) -> Self:
        """Select the members to keep.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members), Votes, Predictions, or a store of either
            The label that each member predicts for each sample. Masked entries of a NumPy masked
            array are missing votes. Probabilities and values are passed as in `BasePruner.fit`.
        y : array-like of shape (n_samples,)
            The true labels. Not needed if ``votes`` contains them.
        executor : concurrent.futures.Executor or Dask Client, optional
            Where the work runs; it never changes the result. Each task receives only the votes
            that it needs, or the path of the store.
        callback : callable(done, total, best), optional
            Progress callback, see `prune`.

        Returns
        -------
        self
        """
        with watch_progress(callback):
            return self._fit_encoded(self._encode_predictions(votes, y, reset=True), executor)


def check_selected_members(selected: ArrayLike, n_members: int, selected_by: str) -> IndexArray:
    """Return selected members as indices; raise an error that names the method if they are not."""
    try:
        members = np.asarray(selected)
    except ValueError:  # lists of different lengths
        members = np.asarray(selected, dtype=object)
    if (
        members.ndim != 1
        or members.dtype.kind not in "iu"
        or not len(members)
        or len(np.unique(members)) < len(members)
        or not 0 <= members.min() <= members.max() < n_members
    ):
        text = repr(members.tolist())
        text = text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 2]}…]"
        raise InputError(
            f"{selected_by} has member_indices_={text}, which are not distinct members of the "
            f"{n_members}. It must select indices from 0 to {n_members - 1}."
        )
    return members.astype(np.intp)


def _empty_member_frame(votes: EncodedPredictions) -> Array | pd.DataFrame:
    """Return an empty table whose columns let scikit-learn check number and names of members."""
    if votes.names is None:
        return np.empty((0, votes.n_members))
    import pandas as pd

    names = pd.Index(list(map(str, votes.names)), dtype=object)
    return pd.DataFrame(np.empty((0, len(names))), columns=names)  # one block for all columns
