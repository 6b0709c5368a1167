"""The problem to solve: an ensemble, rows to choose members on, and rows to test on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from secateurs._labels import Array, MemberIndices, as_labels
from secateurs._text import counted
from secateurs.ensembles import Ensemble, as_ensemble
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.measures._scoring import Scoring, are_numbers
from secateurs.outputs._checks import as_numbers, check_weights
from secateurs.outputs._collect import looks_trained_on, scores_of, votes_of, warn_unseen
from secateurs.outputs._predictions import Predictions
from secateurs.outputs._scores import Scores, true_values
from secateurs.outputs._tables import column_types, is_table
from secateurs.outputs._training_rows import doubt_order, row_hashes
from secateurs.outputs._votes import Votes
from secateurs.pruners import BasePruner
from secateurs.pruners._weights import fitted_weights

_NO_ROWS: dict[str, Any] = {"X": None, "X_test": None, "y_test": None, "sample_weight_test": None}


@dataclass(frozen=True, eq=False)
class Problem:
    """An ensemble, rows to choose members on, and rows to test on.

    Create it with `Problem.of`, which checks the input and collects the votes.

    Attributes
    ----------
    ensemble : Ensemble
        The ensemble, or `Predictions` where only its predictions are known.
    votes : Votes or Scores
        The members' votes on the rows to choose on, with the true labels; masked where a member
        was trained on the row, if ``oob``. Of regressors, the numbers that they predict.
    X : object
        The rows to choose on; None for predictions, and where the rows are not kept.
    X_test : object
        The rows to test on, `Predictions` if the ensemble is; None without test rows.
    y_test : ndarray of shape (n_test,) or None
        Their true labels.
    oob : bool
        Whether the votes are out-of-bag votes.
    n_jobs : int or None
        Number of threads used to collect votes.
    row_hashes : ndarray of shape (n_samples,) or None
        Hashes of the rows to choose on, by which they are recognised among test rows.
    scoring : Scoring
        The score that matters.
    sample_weight, sample_weight_test : ndarray or None
        Weights of the rows to choose on and of those to test on, in scores.
    refitted : Ensemble or None
        The ensemble with the kept members refitted, if they were.
    columns : dict of str to str
        Types of the columns of a data frame to choose on.
    weighing : bool or None
        Whether kept members get weights; None for those of a method that gives them.
    weights : ndarray of shape (n_members,) or None
        Weights of the kept members, with a sum of 1, and 0 for the others; None where they count
        the same.

    Examples
    --------
    >>> from secateurs.problem import Problem
    >>> problem = Problem.of([["cat", "dog"], ["cat", "cat"]], y=["cat", "cat"])
    >>> problem.ensemble.n_members, problem.votes.n_right.tolist()
    (2, [2, 1])
    """

    ensemble: Ensemble
    votes: Any
    X: Any = None
    X_test: Any = None
    y_test: Array | None = None
    oob: bool = False
    n_jobs: int | None = None
    row_hashes: NDArray[np.uint64] | None = None
    scoring: Scoring = field(default_factory=lambda: Scoring.of(None, [0, 1]))
    sample_weight: NDArray[np.float64] | None = None
    sample_weight_test: NDArray[np.float64] | None = None
    refitted: Ensemble | None = None
    columns: dict[str, str] = field(default_factory=dict, repr=False)
    weighing: bool | None = None
    weights: NDArray[np.float64] | None = None
    known_scores: Scores | None = field(default=None, repr=False)  # collected before
    whole: tuple[Problem, NDArray[np.intp]] | None = field(default=None, repr=False)  # see `on`

    @classmethod
    def of(
        cls,
        ensemble: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        oob: bool = False,
        n_jobs: int | None = None,
        scoring: Any = None,
        sample_weight: ArrayLike | None = None,
        sample_weight_test: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> Problem:
        """Check the input, as of `secateurs.prune` and `secateurs.compare`, and collect the votes.

        A problem is returned as it is, but for other test rows.
        """
        if isinstance(ensemble, Problem):
            return ensemble.with_test(X_test, y_test, sample_weight_test)
        if not isinstance(ensemble, Ensemble):
            ensemble = _recognised(ensemble, y, classes, names, scoring)
        if y is None:
            raise InputError(
                "{y} is missing. Give the true labels of the rows to choose on.", y=...
            )
        if X is None and not isinstance(ensemble, Predictions):
            raise InputError(
                "{X} is missing. Give the rows to choose on; only predictions do without.", X=...
            )
        test = _check_test(ensemble, X_test, y_test)
        if isinstance(ensemble, Predictions):
            ensemble.prepare(X)  # refuses any X
            votes: Votes | Scores = ensemble.with_labels(y)
        else:
            collect = scores_of if ensemble.is_regression else votes_of
            votes = collect(ensemble, X, y, oob, n_jobs)
            if isinstance(votes, Votes):
                warn_unseen(ensemble, true_values(votes), "y")
            if not oob and looks_trained_on(ensemble, votes):
                warnings.warn(
                    SecateursWarning(
                        "These look like the rows the ensemble was trained on, on which nearly "
                        "every member looks good. Give rows held out, or {oob} to use each "
                        "member's unseen rows only.",
                        oob=True,
                    ),
                    stacklevel=3,
                )
        if oob and not isinstance(ensemble, Predictions):
            labels = true_values(votes) if isinstance(votes, Votes) else None
            if doubt := doubt_order(ensemble, X, labels):
                warnings.warn(doubt, stacklevel=3)
        n_test = 0 if test[1] is None else len(test[1])
        problem = cls(
            ensemble,
            votes,
            X,
            *test,
            oob,
            n_jobs,
            row_hashes(X),
            Scoring.of(scoring, votes.classes),
            check_weights(sample_weight, votes.n_samples, "sample_weight"),
            check_weights(sample_weight_test, n_test, "sample_weight_test"),
            columns=column_types(X),
        )
        problem.check_scoring()
        return problem

    def with_test(
        self, X_test: Any, y_test: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> Problem:
        """Return the problem with these rows to test on; with neither, as it is."""
        if X_test is None and y_test is None:
            return self
        X_test, truth = _check_test(self.ensemble, X_test, y_test)
        weight = check_weights(sample_weight, _num_samples(truth), "sample_weight")
        return replace(self, X_test=X_test, y_test=truth, sample_weight_test=weight)

    def with_rows(self, X: Any) -> Problem:
        """Return the problem with the rows to choose on, if they are given."""
        if X is None:
            return self
        if _num_samples(X) != self.votes.n_samples:
            raise InputError(
                f"{{X}} has {counted(_num_samples(X), 'row')}, but the members were chosen on "
                f"{self.votes.n_samples}. Give those rows.",
                X=...,
            )
        return replace(self, X=X)

    def without_rows(self) -> Problem:
        """Return the problem without any rows: votes, scores if collected, and hashes remain."""
        known = self.__dict__.get("scores", self.known_scores)
        if known is None and not self.counts_rows and self.is_soft and self.X is not None:
            known = self.scores  # later figures need them
        return replace(self, known_scores=known, **_NO_ROWS)

    def on(self, rows: NDArray[np.intp]) -> Problem:
        """Return the problem of choosing on some of the rows, without test rows."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        votes, whole = self.votes.rows(rows), (self, rows)
        return replace(
            self,
            votes=votes,
            sample_weight=weights,
            row_hashes=None,
            known_scores=None,
            whole=whole,
            **_NO_ROWS,
        )

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.ensemble.n_members

    @property
    def served(self) -> Ensemble:
        """The ensemble that kept members are taken from: refitted or weighted, if they were."""
        ensemble = self.ensemble if self.refitted is None else self.refitted
        return ensemble if self.weights is None else ensemble.weighted(self.weights)

    def with_weighing(self, weighing: bool | None) -> Problem:
        """Return the problem of choosing members with weights, without, or as methods do."""
        return self if weighing is self.weighing else replace(self, weighing=weighing)

    def own_weights(self, pruner: BasePruner) -> NDArray[np.float64] | None:
        """Return weights that a method gives its members, in order, as they can be served."""
        weights = None if self.weighing is False else getattr(pruner, "weights_", None)
        return None if weights is None else self._servable(pruner.member_indices_, weights)

    def found_weights(self, members: MemberIndices) -> NDArray[np.float64] | None:
        """Return weights found for members, in order, as they can be served; None if not asked."""
        if not self.weighing:
            return None
        found = fitted_weights(self.outputs_scored(), members, self.scoring, self.sample_weight)
        return self._servable(members, found)

    def weights_of(self, pruner: BasePruner) -> NDArray[np.float64] | None:
        """Return weights of a fitted pruner's members: its own, or those found if asked."""
        own = self.own_weights(pruner)
        return self.found_weights(pruner.member_indices_) if own is None else own

    def _servable(self, members: MemberIndices, weights: Array) -> NDArray[np.float64]:
        everybody = np.zeros(self.n_members)
        everybody[members] = weights
        return self.ensemble.servable(everybody)[members]

    def serving(self, pruner: BasePruner) -> Problem:
        """Return the problem with the weights of a pruner's members, if they have any."""
        known = self.weights is not None or self.refitted is not None
        own = None if known else self.weights_of(pruner)
        if own is None:
            return self
        weights = np.zeros(self.n_members)
        weights[pruner.member_indices_] = own
        scores = self.__dict__.get("scores", self.known_scores)
        return replace(self, weights=weights, known_scores=scores)

    @property
    def is_regression(self) -> bool:
        """Whether members predict numbers rather than labels."""
        return isinstance(self.votes, Scores)

    @property
    def is_predictions(self) -> bool:
        """Whether only predictions are known, and no models."""
        return isinstance(self.ensemble, Predictions)

    @property
    def has_test(self) -> bool:
        """Whether there are rows to test on."""
        return self.y_test is not None

    @cached_property
    def test_votes(self) -> Any:
        """The members' votes, or numbers, on the rows to test on, with the truth."""
        assert self.y_test is not None
        if isinstance(self.X_test, Predictions):
            return self.X_test.with_labels(self.y_test)
        if self.is_regression:
            return self.test_scores
        return votes_of(self.ensemble, self.X_test, self.y_test, n_jobs=self.n_jobs)

    @cached_property
    def scores(self) -> Scores:
        """The members' probabilities, or numbers, on the rows to choose on, with the truth."""
        if isinstance(self.votes, Scores):
            return self.votes
        if self.known_scores is not None:
            return self.known_scores
        if self.whole is not None:
            problem, rows = self.whole
            return problem.scores.rows(rows)
        if self.X is None and not self.is_predictions:
            raise InputError(
                "The rows chosen on are not kept, and probabilities are needed. Give them: {X}.",
                X=...,
            )
        y = true_values(self.votes)
        if isinstance(self.ensemble, Predictions):
            return self.ensemble.scores.with_labels(y)
        return scores_of(self.ensemble, self.X, y, self.oob, self.n_jobs)

    @cached_property
    def test_scores(self) -> Scores:
        """The members' probabilities, or numbers, on the rows to test on, with the truth."""
        assert self.y_test is not None
        if isinstance(self.X_test, Predictions):
            return self.X_test.scores.with_labels(self.y_test)
        return scores_of(self.ensemble, self.X_test, self.y_test, n_jobs=self.n_jobs)

    def outputs_for(self, pruner: BasePruner) -> Votes | Scores:
        """Return what a method chooses by: scores where it and the ensemble's own vote use them."""
        uses_scores = "probabilities" in pruner.outputs and self.is_soft
        return self.scores if uses_scores else self.votes

    @property
    def is_soft(self) -> bool:
        """Whether probabilities are known to the ensemble's own vote."""
        return not self.is_regression and self.ensemble.soft

    @property
    def knows_scores(self) -> bool:
        """Whether scores can be had: they are collected, or the rows are there to ask about."""
        known = self.known_scores is not None or "scores" in self.__dict__
        return known or self.X is not None or self.is_predictions

    @property
    def counts_rows(self) -> bool:
        """Whether the score is the fraction of rows that are right, each counting the same."""
        return self.scoring.name == "accuracy" and self.sample_weight is None

    def outputs_scored(self, test: bool = False) -> Votes | Scores:
        """Return what the score is computed from, on the rows to choose on or to test on."""
        if self.is_soft:
            return self.test_scores if test else self.scores
        return self.test_votes if test else self.votes

    def check_scoring(self) -> None:
        """Refuse a score that the ensemble's own vote cannot have."""
        if self.scoring.needs == "probabilities" and not self.is_soft:
            raise InputError(
                f"{{scoring}} needs probabilities, but {type(self.ensemble.model).__name__} votes "
                "by labels. Give a score of labels, such as balanced_accuracy, or an ensemble with "
                "a soft vote.",
                scoring=self.scoring.name,
            )

    @property
    def n_reused(self) -> int:
        """Number of test rows that are among the rows to choose on."""
        known = self.row_hashes
        hashes = None if known is None else row_hashes(self.X_test)
        return 0 if known is None or hashes is None else int(np.isin(hashes, known).sum())


def _check_test(
    ensemble: Ensemble, X_test: Any, y_test: ArrayLike | None
) -> tuple[Any, Array | None]:
    """Return test rows and their labels, checked; None and None without any."""
    if X_test is None and y_test is None:
        return None, None
    if X_test is None or y_test is None:
        raise InputError(
            "{X_test} and {y_test} go together. Give both, or none.", X_test=..., y_test=...
        )
    if ensemble.is_regression:
        labels = as_numbers(y_test, _num_samples(y_test))
    else:
        labels = as_labels(y_test, "y_test").ravel()
    rows: Any = X_test
    if isinstance(ensemble, Predictions):
        rows = ensemble.on(X_test, len(labels))
    n_rows = rows.votes.n_samples if isinstance(rows, Predictions) else _num_samples(rows)
    if n_rows != len(labels):
        raise InputError(
            f"{{X_test}} has {counted(n_rows, 'row')} but {{y_test}} has {len(labels)} "
            f"{'numbers' if ensemble.is_regression else 'labels'}. Give one true value for each "
            "row.",
            X_test=...,
            y_test=...,
        )
    if not ensemble.is_regression and not isinstance(ensemble, Predictions):
        warn_unseen(ensemble, labels, "y_test")
    return rows, labels


def _recognised(model: Any, y: Any, classes: Any, names: Any, scoring: Any) -> Ensemble:
    """Return models or predictions as an ensemble."""
    if is_table(model):
        n_labels = None if np.ndim(y) == 0 else _num_samples(y)
        return Predictions(model, classes, names, n_labels, are_numbers(y, scoring))
    for name, value in (("classes", classes), ("names", names)):
        if value is not None:
            text = f"{{{name}}} is for predictions; models have their own. Leave it out."
            raise InputError(text, **{name: ...})
    return as_ensemble(model)
