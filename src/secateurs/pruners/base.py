"""Base classes of pruners."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from secateurs._methods import find_method, regression_methods, short_name
from secateurs.ensembles import CORRECTS
from secateurs.exceptions import InputError
from secateurs.outputs.compiling import start_stopwatch
from secateurs.outputs.input_checks import has_fractions
from secateurs.outputs.prediction_store import PredictionStore
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import Store, load_into_memory
from secateurs.outputs.votes import Votes
from secateurs.progress import ProgressCallback, open_stage, watch_progress
from secateurs.pruners.parameters import is_integer, resolve_keep
from secateurs.search import Choice
from secateurs.text_format import format_list
from secateurs.typing import Array

DOC_PAGE = "https://secateurs.github.io/secateurs/api/secateurs.{estimator_name}.html"


class BasePruner(SelectorMixin, BaseEstimator):
    """Base class of pruners: selectors over the columns of the vote matrix.

    A method implements ``_select(votes, n_keep, rng)``, which gets `Votes`, the number of members
    to keep (None where the method is to decide) and a random generator, and returns a
    `secateurs.search.Choice`. It may check its own parameters in ``_check_parameters`` and set
    further attributes that end in an underscore.

    Attributes
    ----------
    outputs : tuple of {"labels", "probabilities", "numbers"}
        What it can work with. Probabilities are turned into labels for a method that cannot work
        with them; numbers, of regressors, are refused.
    needs_y : bool
        Whether the method looks at the true labels.
    takes_missing : bool
        Whether it takes missing votes.
    is_nested : bool
        Whether the members for a smaller ``keep`` are a prefix of those for a larger one; sizes
        are then cut from one run.
    may_keep_fewer : bool
        Whether it may keep fewer members than ``keep``.
    may_decide_size : bool
        Whether ``keep=None`` is allowed.
    larger_is_better : bool or None
        Direction of ``objective_``, if there is one.
    most_rounds : int or None
        Largest ``n_iterations`` where methods are compared.
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order they were chosen.
    scores_ : ndarray of shape (n_kept,)
        The method's score of each step.
    support_ : ndarray of shape (n_members,)
        Mask of the kept members.
    classes_ : ndarray of shape (n_classes,)
        The labels found.
    n_features_in_ : int
        Number of members.

    Notes
    -----
    What a method does is declared for methods of the package by the registry,
    ``secateurs._methods``; a class of your own sets these attributes itself. Where parameters
    matter, they are properties. `fit` sets those that end in an underscore.
    """

    outputs: tuple[str, ...] = ("labels",)
    needs_y: bool = True
    takes_missing: bool = True
    is_nested: bool = False
    may_keep_fewer: bool = False
    may_decide_size: bool = False
    larger_is_better: bool | None = None
    most_rounds: int | None = None
    _doc_link_module = "secateurs"  # both for the link of the drawing in notebooks
    _doc_link_template = DOC_PAGE
    _is_prefix_selector = (
        False  # so that rounds of boosting, each made for those before, can be kept
    )
    _can_read_store = False  # _select gets the store itself, not its votes in memory
    _selection_seconds = 0.0  # that the last fit took to choose, without compiling
    _is_silent = False  # for a group of members, which are numbered otherwise than the user's
    _drawn_seed: int | None = (
        None  # for fits to repeat where no random state is given; no parameter
    )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        method = find_method(cls)
        for name, value in method.class_attributes.items() if method else ():
            if not isinstance(getattr(cls, name), property):
                setattr(cls, name, value)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:  # read from the signature anew for every copy otherwise
        return super()._get_param_names()

    def with_keep(self, keep: Any) -> Self:
        """Return an unfitted copy with this ``keep``."""
        copy = clone(self)
        copy.keep, copy._drawn_seed = keep, self._drawn_seed
        return copy

    def seed(self, seed: int) -> Self:
        """Set the random state, if there is one, and return the pruner itself."""
        if hasattr(self, "random_state"):
            self.random_state = int(seed)
        return self

    def draw_from(self, random_state: Any, drawn: int | None) -> Self:
        """Let `fit` draw from a random state, and return the pruner itself.

        A number that a user gave becomes the parameter. Without one, the seed drawn for it is kept
        aside: it is in no one's code, and is not shown as if it were.
        """
        if is_integer(random_state):
            return self.seed(random_state)
        self._drawn_seed = drawn
        return self

    @property
    def rng(self) -> np.random.RandomState:
        """What `fit` draws from: the random state, or the seed drawn for it."""
        given = getattr(self, "random_state", None)
        return check_random_state(self._drawn_seed if given is None else given)

    def for_members(self, members: NDArray[np.intp]) -> Self:
        """Return the pruner for a group: itself, or a copy where parameters name members."""
        return self

    @abstractmethod
    def _select(self, votes: Any, n_keep: Any, rng: np.random.RandomState, *options: Any) -> Choice:
        """Choose members, in order; ``options`` are what the method's own ``fit`` adds."""

    def _check_parameters(self, votes: Any) -> None:
        """Check the method's own parameters before any work."""

    def _selection_warnings(self, votes: Any, members: NDArray[np.intp]) -> Iterator[str]:
        """Yield what to warn of in a choice of members."""
        if votes.n_members == 1:
            yield "The ensemble has 1 member: there is nothing to prune."

    def fit(
        self, votes: Any, y: ArrayLike | None = None, *, callback: ProgressCallback | None = None
    ) -> Self:
        """Choose the members to keep.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members), Votes, Predictions, or a store of either
            The label that each member gives to each sample. Masked entries of a NumPy masked
            array are missing votes. Or probabilities (samples × members × classes); or, for
            methods of regression, numbers.
        y : array-like of shape (n_samples,)
            The true labels. Not needed with votes that hold them.
        callback : callable(done, total, best), optional
            Progress callback, see `prune`.

        Returns
        -------
        self
        """
        with watch_progress(callback):
            return self._fit_encoded(self._encode_predictions(votes, y, reset=True))

    def partial_fit(self, votes: Any, y: ArrayLike | None = None) -> Self:
        """Choose the members to keep, by the samples seen so far and these.

        Any number of batches gives exactly what one `fit` on all samples gives. The packed votes
        are kept between calls; each call chooses all members anew.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members) or Votes
            Votes on further samples, of the same members.
        y : array-like of shape (n_samples,)
            The true labels.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_predictions")
        batch = load_into_memory(self._encode_predictions(votes, y, reset=first))
        return self._fit_encoded(
            batch if first else load_into_memory(self._predictions).append(batch)
        )

    def predict(self, votes: Any) -> Array:
        """Return the vote of the kept members.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members) or Votes
            Votes of all members, kept or not.

        Returns
        -------
        ndarray of shape (n_samples,)
            The label with the most votes, or with the largest mean probability; ties go to the
            lowest class, and samples on which no kept member has a vote to the first of
            ``classes_``. Of numbers, their mean; NaN where no kept member has one. Members count by
            their ``weights_``, where there are any.
        """
        check_is_fitted(self)
        coded = self._encode_predictions(votes, None, reset=False)
        silent = self.classes_[0] if len(self.classes_) else None
        weights = getattr(self, "weights_", None)
        return coded.vote(self.member_indices_, silent=silent, weights=weights)

    def score(self, votes: Any, y: ArrayLike) -> float:
        """Return the accuracy of the kept members' vote; of numbers, the R² of their mean.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members) or Votes
            Votes of all members, kept or not.
        y : array-like of shape (n_samples,)
            The true labels.

        Returns
        -------
        float
            Fraction of samples on which the vote is right, or R².
        """
        truth, predicted = np.asarray(y).ravel(), self.predict(votes)
        check_consistent_length(predicted, truth)
        if len(self.classes_) == 0:
            return float(r2_score(truth, predicted))
        return float(np.mean(predicted == truth))

    def _fit_encoded(self, votes: Any, *options: Any) -> Self:
        rng = self.rng
        n_keep = resolve_keep(self.keep, votes.n_members, self.may_decide_size)
        self._check_parameters(votes)
        if getattr(votes, "is_sequential", False) and not self._is_prefix_selector:
            raise InputError(
                f"{type(self).__name__} cannot choose among the rounds of a boosted model: "
                f"{CORRECTS}, so that only the first can be kept. Leave out {{pruner}}, or give "
                '"es".',
                pruner=...,
            )
        if votes.has_missing and not self.takes_missing:
            raise InputError(
                f"{type(self).__name__} cannot work with missing votes (masked entries). Give "
                "votes on rows that all members have, or use another method, such as COMEP."
            )
        if votes.has_missing and not votes.n_voted.all():
            raise InputError(
                f"Member {int(np.argmin(votes.n_voted))} has no vote at all: every one is masked. "
                "Leave that member out."
            )
        with open_stage(f"choosing by {short_name(self) or type(self).__name__}") as steps:
            elapsed = start_stopwatch()
            choice = self._select(votes, n_keep, rng, *options)
            self._selection_seconds = elapsed()
            if not steps.done:  # a method without steps
                steps.report_progress(1, 1)
        self._predictions = votes
        self.classes_ = votes.classes
        self.member_indices_ = np.array(choice.members, dtype=np.intp)
        self.scores_ = np.asarray(choice.scores, dtype=float)
        self.support_ = np.zeros(votes.n_members, dtype=bool)
        self.support_[self.member_indices_] = True
        for text in (
            () if self._is_silent else self._selection_warnings(votes, self.member_indices_)
        ):
            warnings.warn(text, stacklevel=3)
        return self

    def _encode_predictions(self, votes: Any, y: ArrayLike | None, reset: bool) -> Any:
        coded: Any
        if self._is_real_valued(votes, y, reset):
            if not isinstance(votes, (Predictions, PredictionStore)):
                votes, y = Predictions.encode(votes, y), None
            votes = self._as_accepted_kind(votes)
        if isinstance(votes, (Votes, Predictions, Store)):
            held = votes if self._can_read_store else load_into_memory(votes)
            coded = held if y is None else held.with_labels(y)
            validate_data(self, _empty_member_frame(coded), skip_check_array=True, reset=reset)
        else:
            coded = Votes.encode(votes, y)
            validate_data(self, votes, skip_check_array=True, reset=reset)
        if reset and self.needs_y and coded.y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Give the true label of each sample."
            )
        return coded

    def _is_real_valued(self, votes: Any, y: Any, reset: bool) -> bool:
        """Tell whether this is a table of probabilities, or one of numbers for a method of those.

        A table of numbers is told from one of labels by a true or predicted number that is not
        whole; after `fit`, by what `fit` got.
        """
        if isinstance(votes, (Votes, Predictions, Store)):
            return isinstance(votes, (Predictions, PredictionStore))
        shape = votes.shape if hasattr(votes, "shape") else np.array(votes, dtype=object).shape
        if len(shape) != 2:
            return len(shape) == 3
        if "numbers" not in self.outputs:  # these are refused, with the names of other methods
            return reset and y is not None and has_fractions(y) and has_fractions(votes)
        return has_fractions(votes) or has_fractions(y) if reset else len(self.classes_) == 0

    def _as_accepted_kind(
        self, scores: Predictions | PredictionStore
    ) -> Votes | Predictions | PredictionStore:
        """Return scores as the method can work with them."""
        if ("numbers" if scores.is_numbers else "probabilities") in self.outputs:
            return scores
        if scores.is_numbers:
            raise InputError(
                f"{type(self).__name__} needs classes, and these are numbers. For regression use "
                f"one of: {format_list(regression_methods())}."
            )
        votes: Votes = load_into_memory(scores).votes
        return votes

    def _get_support_mask(self) -> NDArray[np.bool_]:
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
        votes: Any,
        y: ArrayLike | None = None,
        executor: Any = None,
        callback: ProgressCallback | None = None,
    ) -> Self:
        """Choose the members to keep.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members), Votes, Predictions, or a store of either
            The label that each member gives to each sample. Masked entries of a NumPy masked
            array are missing votes. Or probabilities or numbers, as for `BasePruner.fit`.
        y : array-like of shape (n_samples,)
            The true labels. Not needed with votes that hold them.
        executor : concurrent.futures.Executor or Dask Client, optional
            Where the work runs; it never changes the result. Each task gets the votes it needs and
            nothing else; of a store, its path.
        callback : callable(done, total, best), optional
            Progress callback, see `prune`.

        Returns
        -------
        self
        """
        with watch_progress(callback):
            return self._fit_encoded(self._encode_predictions(votes, y, reset=True), executor)


def _empty_member_frame(votes: Any) -> Any:
    """Return an empty table with a column per member, by name where they have names."""
    if votes.names is None:
        return np.empty((0, votes.n_members))
    import pandas as pd

    return pd.DataFrame(columns=pd.Index(list(map(str, votes.names)), dtype=object))
