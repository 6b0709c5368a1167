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

from secateurs.ensembles import Ensemble, as_ensemble
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.labels import as_labels
from secateurs.measures.scoring import Scoring, is_regression_task
from secateurs.outputs.collect import (
    collect_encoded_predictions,
    collect_encoded_votes,
    is_likely_training_set,
    warn_unseen_labels,
)
from secateurs.outputs.input_checks import as_target_values, check_sample_weights
from secateurs.outputs.prediction_arrays import column_types, is_prediction_data
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.training_samples import row_hashes, training_order_warning
from secateurs.outputs.votes import Votes
from secateurs.pruners import BasePruner
from secateurs.pruners.member_weights import fit_member_weights
from secateurs.text_format import format_count
from secateurs.typing import Array, MemberIndices

_NO_ROWS: dict[str, Any] = {"X": None, "X_test": None, "y_test": None, "sample_weight_test": None}


@dataclass(frozen=True, eq=False)
class Problem:
    """An ensemble, rows to choose members on, and rows to test on.

    Create it with `Problem.from_input`, which checks the input and collects the votes.

    Attributes
    ----------
    ensemble : Ensemble
        The ensemble, or `PredictionTable` where only its predictions are known.
    predictions : Votes or Predictions
        The members' votes on the rows to choose on, with the true labels; masked where a member
        was trained on the row, if ``oob``. Of regressors, the numbers that they predict.
    X : object
        The rows to choose on; None for predictions, and where the rows are not kept.
    X_test : object
        The rows to test on, `PredictionTable` if the ensemble is; None without test rows.
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
    member_weights : ndarray of shape (n_members,) or None
        Weights of the kept members, with a sum of 1, and 0 for the others; None where they count
        the same.

    Examples
    --------
    >>> from secateurs.problem import Problem
    >>> problem = Problem.from_input([["cat", "dog"], ["cat", "cat"]], y=["cat", "cat"])
    >>> problem.ensemble.n_members, problem.predictions.n_right.tolist()
    (2, [2, 1])
    """

    ensemble: Ensemble
    predictions: Any
    X: Any = None
    X_test: Any = None
    y_test: Array | None = None
    oob: bool = False
    n_jobs: int | None = None
    row_hashes: NDArray[np.uint64] | None = None
    scoring: Scoring = field(default_factory=lambda: Scoring.from_scorer(None, [0, 1]))
    sample_weight: NDArray[np.float64] | None = None
    sample_weight_test: NDArray[np.float64] | None = None
    refitted: Ensemble | None = None
    columns: dict[str, str] = field(default_factory=dict, repr=False)
    weighing: bool | None = None
    member_weights: NDArray[np.float64] | None = None
    known_soft_predictions: Predictions | None = field(default=None, repr=False)  # collected before
    parent_and_samples: tuple[Problem, NDArray[np.intp]] | None = field(
        default=None, repr=False
    )  # see `on_samples`

    @classmethod
    def from_input(
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
            return ensemble.with_test_set(X_test, y_test, sample_weight_test)
        if not isinstance(ensemble, Ensemble):
            ensemble = _recognise_ensemble(ensemble, y, classes, names, scoring)
        if y is None:
            raise InputError(
                "{y} is missing. Give the true labels of the rows to choose on.", y=...
            )
        if X is None and not isinstance(ensemble, PredictionTable):
            raise InputError(
                "{X} is missing. Give the rows to choose on; only predictions do without.", X=...
            )
        test = _check_test_set(ensemble, X_test, y_test)
        if isinstance(ensemble, PredictionTable):
            ensemble.prepare_input(X)  # refuses any X
            votes: Votes | Predictions = ensemble.with_labels(y)
        else:
            collect = (
                collect_encoded_predictions if ensemble.is_regression else collect_encoded_votes
            )
            votes = collect(ensemble, X, y, oob, n_jobs)
            if isinstance(votes, Votes):
                warn_unseen_labels(ensemble, true_values(votes), "y")
            if not oob and is_likely_training_set(ensemble, votes):
                warnings.warn(
                    SecateursWarning(
                        "These look like the rows the ensemble was trained on, on which nearly "
                        "every member looks good. Give rows held out, or {oob} to use each "
                        "member's unseen rows only.",
                        oob=True,
                    ),
                    stacklevel=3,
                )
        if oob and not isinstance(ensemble, PredictionTable):
            labels = true_values(votes) if isinstance(votes, Votes) else None
            if doubt := training_order_warning(ensemble, X, labels):
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
            Scoring.from_scorer(scoring, votes.classes),
            check_sample_weights(sample_weight, votes.n_samples, "sample_weight"),
            check_sample_weights(sample_weight_test, n_test, "sample_weight_test"),
            columns=column_types(X),
        )
        problem.check_scoring()
        return problem

    def with_test_set(
        self, X_test: Any, y_test: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> Problem:
        """Return the problem with these rows to test on; with neither, as it is."""
        if X_test is None and y_test is None:
            return self
        X_test, truth = _check_test_set(self.ensemble, X_test, y_test)
        weight = check_sample_weights(sample_weight, _num_samples(truth), "sample_weight")
        return replace(self, X_test=X_test, y_test=truth, sample_weight_test=weight)

    def with_validation_set(self, X: Any) -> Problem:
        """Return the problem with the rows to choose on, if they are given."""
        if X is None:
            return self
        if _num_samples(X) != self.predictions.n_samples:
            raise InputError(
                f"{{X}} has {format_count(_num_samples(X), 'row')}, but the members were chosen on "
                f"{self.predictions.n_samples}. Give those rows.",
                X=...,
            )
        return replace(self, X=X)

    def without_samples(self) -> Problem:
        """Return the problem without any rows: votes, scores if collected, and hashes remain."""
        known = self.__dict__.get("soft_predictions", self.known_soft_predictions)
        if known is None and not self.is_plain_accuracy and self.is_soft and self.X is not None:
            known = self.soft_predictions  # later figures need them
        return replace(self, known_soft_predictions=known, **_NO_ROWS)

    def on_samples(self, rows: NDArray[np.intp]) -> Problem:
        """Return the problem of choosing on some of the rows, without test rows."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        votes, whole = self.predictions.rows(rows), (self, rows)
        return replace(
            self,
            predictions=votes,
            sample_weight=weights,
            row_hashes=None,
            known_soft_predictions=None,
            parent_and_samples=whole,
            **_NO_ROWS,
        )

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.ensemble.n_members

    @property
    def served_ensemble(self) -> Ensemble:
        """The ensemble that kept members are taken from: refitted or weighted, if they were."""
        ensemble = self.ensemble if self.refitted is None else self.refitted
        return (
            ensemble
            if self.member_weights is None
            else ensemble.with_member_weights(self.member_weights)
        )

    def with_weighing(self, weighing: bool | None) -> Problem:
        """Return the problem of choosing members with weights, without, or as methods do."""
        return self if weighing is self.weighing else replace(self, weighing=weighing)

    def weights_from_pruner(self, pruner: BasePruner) -> NDArray[np.float64] | None:
        """Return weights that a method gives its members, in order, as they can be served."""
        weights = None if self.weighing is False else getattr(pruner, "weights_", None)
        return None if weights is None else self._servable_weights(pruner.member_indices_, weights)

    def optimised_weights(self, members: MemberIndices) -> NDArray[np.float64] | None:
        """Return weights found for members, in order, as they can be served; None if not asked."""
        if not self.weighing:
            return None
        found = fit_member_weights(
            self.scored_predictions(), members, self.scoring, self.sample_weight
        )
        return self._servable_weights(members, found)

    def weights_for_pruner(self, pruner: BasePruner) -> NDArray[np.float64] | None:
        """Return weights of a fitted pruner's members: its own, or those found if asked."""
        own = self.weights_from_pruner(pruner)
        return self.optimised_weights(pruner.member_indices_) if own is None else own

    def _servable_weights(self, members: MemberIndices, weights: Array) -> NDArray[np.float64]:
        everybody = np.zeros(self.n_members)
        everybody[members] = weights
        return self.ensemble.attainable_weights(everybody)[members]

    def with_pruner_weights(self, pruner: BasePruner) -> Problem:
        """Return the problem with the weights of a pruner's members, if they have any."""
        known = self.member_weights is not None or self.refitted is not None
        own = None if known else self.weights_for_pruner(pruner)
        if own is None:
            return self
        weights = np.zeros(self.n_members)
        weights[pruner.member_indices_] = own
        scores = self.__dict__.get("soft_predictions", self.known_soft_predictions)
        return replace(self, member_weights=weights, known_soft_predictions=scores)

    @property
    def is_regression(self) -> bool:
        """Whether members predict numbers rather than labels."""
        return isinstance(self.predictions, Predictions)

    @property
    def has_only_predictions(self) -> bool:
        """Whether only predictions are known, and no models."""
        return isinstance(self.ensemble, PredictionTable)

    @property
    def has_test_set(self) -> bool:
        """Whether there are rows to test on."""
        return self.y_test is not None

    @cached_property
    def test_predictions(self) -> Any:
        """The members' votes, or numbers, on the rows to test on, with the truth."""
        assert self.y_test is not None
        if isinstance(self.X_test, PredictionTable):
            return self.X_test.with_labels(self.y_test)
        if self.is_regression:
            return self.soft_test_predictions
        return collect_encoded_votes(self.ensemble, self.X_test, self.y_test, n_jobs=self.n_jobs)

    @cached_property
    def soft_predictions(self) -> Predictions:
        """The members' probabilities, or numbers, on the rows to choose on, with the truth."""
        if isinstance(self.predictions, Predictions):
            return self.predictions
        if self.known_soft_predictions is not None:
            return self.known_soft_predictions
        if self.parent_and_samples is not None:
            problem, rows = self.parent_and_samples
            return problem.soft_predictions.rows(rows)
        if self.X is None and not self.has_only_predictions:
            raise InputError(
                "The rows chosen on are not kept, and probabilities are needed. Give them: {X}.",
                X=...,
            )
        y = true_values(self.predictions)
        if isinstance(self.ensemble, PredictionTable):
            return self.ensemble.numeric_predictions.with_labels(y)
        return collect_encoded_predictions(self.ensemble, self.X, y, self.oob, self.n_jobs)

    @cached_property
    def soft_test_predictions(self) -> Predictions:
        """The members' probabilities, or numbers, on the rows to test on, with the truth."""
        assert self.y_test is not None
        if isinstance(self.X_test, PredictionTable):
            return self.X_test.numeric_predictions.with_labels(self.y_test)
        return collect_encoded_predictions(
            self.ensemble, self.X_test, self.y_test, n_jobs=self.n_jobs
        )

    def predictions_for(self, pruner: BasePruner) -> Votes | Predictions:
        """Return what a method chooses by: scores where it and the ensemble's own vote use them."""
        uses_scores = "probabilities" in pruner.outputs and self.is_soft
        return self.soft_predictions if uses_scores else self.predictions

    @property
    def is_soft(self) -> bool:
        """Whether probabilities are known to the ensemble's own vote."""
        return not self.is_regression and self.ensemble.is_soft

    @property
    def has_soft_predictions(self) -> bool:
        """Whether scores can be had: they are collected, or the rows are there to ask about."""
        known = self.known_soft_predictions is not None or "soft_predictions" in self.__dict__
        return known or self.X is not None or self.has_only_predictions

    @property
    def is_plain_accuracy(self) -> bool:
        """Whether the score is the fraction of rows that are right, each counting the same."""
        return self.scoring.name == "accuracy" and self.sample_weight is None

    def scored_predictions(self, test: bool = False) -> Votes | Predictions:
        """Return what the score is computed from, on the rows to choose on or to test on."""
        if self.is_soft:
            return self.soft_test_predictions if test else self.soft_predictions
        return self.test_predictions if test else self.predictions

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
    def n_reused_samples(self) -> int:
        """Number of test rows that are among the rows to choose on."""
        known = self.row_hashes
        hashes = None if known is None else row_hashes(self.X_test)
        return 0 if known is None or hashes is None else int(np.isin(hashes, known).sum())


def _check_test_set(
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
        labels = as_target_values(y_test, _num_samples(y_test))
    else:
        labels = as_labels(y_test, "y_test").ravel()
    rows: Any = X_test
    if isinstance(ensemble, PredictionTable):
        rows = ensemble.as_test_table(X_test, len(labels))
    n_rows = rows.predictions.n_samples if isinstance(rows, PredictionTable) else _num_samples(rows)
    if n_rows != len(labels):
        raise InputError(
            f"{{X_test}} has {format_count(n_rows, 'row')} but {{y_test}} has {len(labels)} "
            f"{'numbers' if ensemble.is_regression else 'labels'}. Give one true value for each "
            "row.",
            X_test=...,
            y_test=...,
        )
    if not ensemble.is_regression and not isinstance(ensemble, PredictionTable):
        warn_unseen_labels(ensemble, labels, "y_test")
    return rows, labels


def _recognise_ensemble(model: Any, y: Any, classes: Any, names: Any, scoring: Any) -> Ensemble:
    """Return models or predictions as an ensemble."""
    if is_prediction_data(model):
        n_labels = None if np.ndim(y) == 0 else _num_samples(y)
        return PredictionTable(model, classes, names, n_labels, is_regression_task(y, scoring))
    for name, value in (("classes", classes), ("names", names)):
        if value is not None:
            text = f"{{{name}}} is for predictions; models have their own. Leave it out."
            raise InputError(text, **{name: ...})
    return as_ensemble(model)
