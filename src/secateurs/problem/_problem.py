"""`Problem`: an ensemble with its validation set and test set, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from secateurs._renamed_modules import restore_renamed
from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring, resolve_scorings
from secateurs.outputs.collect import collect_encoded_predictions, collect_encoded_votes
from secateurs.outputs.input_checks import check_sample_weights
from secateurs.outputs.missing_answers import counts_as_wrong
from secateurs.outputs.prediction_arrays import column_types
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.sample_rows import SampleRows, as_indexable, prediction_columns
from secateurs.outputs.table_members import TableFormat
from secateurs.outputs.training_samples import row_hashes
from secateurs.outputs.votes import Votes
from secateurs.problem._inputs import (
    attach_samples,
    check_member_costs,
    check_models,
    check_sensitive_features,
    check_test_set,
    check_unfitted_models,
    collect_from_models,
    recognise_ensemble,
    reject_out_of_bag,
    reject_table_parameters,
    resolve_missing_rule,
    warn_single_class,
)
from secateurs.problem.cross_validation import CrossValidation
from secateurs.problem.out_of_fold import holds_unfitted_models, predict_out_of_fold
from secateurs.pruners import BasePruner
from secateurs.pruners.member_weights import fit_member_weights
from secateurs.text_format import format_count
from secateurs.typing import Array, FloatArray, IndexArray, MemberIndices, MissingRule, Samples


@dataclass(frozen=True, eq=False)
class Problem:
    """An ensemble with its predictions on the validation samples, and an optional test set.

    Create it with `Problem.from_input`, which checks the input and collects the predictions.

    Examples
    --------
    >>> from secateurs.problem import Problem
    >>> problem = Problem.from_input([["cat", "dog"], ["cat", "cat"]], y=["cat", "dog"])
    >>> problem.ensemble.n_members, problem.predictions.n_right.tolist()
    (2, [1, 0])
    """

    __setstate__ = restore_renamed(
        votes="predictions",
        weights="member_weights",
        whole="parent_and_samples",
        known_scores="known_soft_predictions",
        scores="soft_predictions",
    )

    ensemble: Ensemble  # a `PredictionTable` if only predictions are known
    # Votes on the validation samples (Predictions in regression) with the true labels; with
    # ``oob``, without a member's votes on its training samples. `Any`, because methods and
    # measures use the attributes of one of the two types.
    predictions: Any
    X: Samples = None  # validation samples; None for predictions without X, and if not kept
    X_test: Samples = None  # test samples; a `PredictionTable` if the ensemble is one
    y_test: Array | None = None
    oob: bool = False  # whether these are out-of-bag votes
    n_jobs: int | None = None  # threads that collect votes
    row_hashes: NDArray[np.uint64] | None = None  # to find validation samples in the test set
    scoring: Scoring = field(default_factory=lambda: Scoring.from_scorer(None, [0, 1]))
    sample_weight: FloatArray | None = None  # of the validation samples, in scores
    sample_weight_test: FloatArray | None = None
    refitted: Ensemble | None = None  # the ensemble with refitted kept members
    columns: dict[str, str] = field(default_factory=dict, repr=False)  # types in a data frame X
    weighing: bool | None = None  # as ``weights`` of `prune`
    # (n_members,): with a sum of 1, and 0 for members that are not kept; None for equal weights.
    member_weights: FloatArray | None = None
    known_soft_predictions: Predictions | None = field(default=None, repr=False)  # collected before
    other_scorings: tuple[Scoring, ...] = ()  # reported besides ``scoring``
    cross_validation: CrossValidation = CrossValidation()  # noqa: RUF009  # it is immutable
    sensitive_features: Array | None = None  # subgroups of the validation samples
    sensitive_features_test: Array | None = None
    sensitive_column: str | None = None  # the column of X that has the subgroups
    # Whether these are out-of-fold predictions: the members themselves were fitted to X.
    is_out_of_fold: bool = False
    cost: FloatArray | None = None  # of each member, such as the price of a query
    # The problem that this one is a part of, and the samples of that part: see `on_samples`.
    parent_and_samples: tuple[Problem, IndexArray] | None = field(default=None, repr=False)
    missing_rule: MissingRule = "ignore"  # the option ``missing`` of `prune`

    @classmethod
    def from_input(
        cls,
        ensemble: object,
        X: Samples = None,
        y: ArrayLike | None = None,
        *,
        X_test: Samples = None,
        y_test: ArrayLike | None = None,
        oob: bool = False,
        n_jobs: int | None = None,
        scoring: object = None,
        sample_weight: ArrayLike | None = None,
        sample_weight_test: ArrayLike | None = None,
        cv: Any = None,
        groups: ArrayLike | None = None,
        sensitive_features: ArrayLike | str | None = None,
        sensitive_features_test: ArrayLike | str | None = None,
        classes: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        positive: object = None,
        columns: str | None = None,
        missing: MissingRule | None = None,
        cost: ArrayLike | Mapping[str, float] | None = None,
    ) -> Problem:
        """Return the problem of these parameters of `secateurs.prune` or `secateurs.compare`.

        A problem instead of an ensemble is returned as it is, with the test set and the costs
        replaced if they are passed.
        """
        if isinstance(ensemble, Problem):
            problem = ensemble.with_test_set(X_test, y_test, sample_weight_test)
            costs = check_member_costs(cost, problem.ensemble)
            return problem if costs is None else replace(problem, cost=costs)
        X = as_indexable(X)
        out_of_fold, table_format = None, TableFormat(classes, names, positive, columns)
        check_models(ensemble, X, y)
        is_unfitted = holds_unfitted_models(ensemble)
        if is_unfitted:
            check_unfitted_models(ensemble, X)
        if y is None:
            raise InputError("{y} is missing. Pass the labels of the validation samples.", y=...)
        if is_unfitted:
            reject_out_of_bag(oob)
            reject_table_parameters(table_format)
            out_of_fold = predict_out_of_fold(
                ensemble, X, y, cv=cv, groups=groups, sample_weight=sample_weight, n_jobs=n_jobs
            )
            ensemble = out_of_fold.ensemble
            y, sample_weight = out_of_fold.held_out(y), out_of_fold.held_out(sample_weight)
            X, groups = out_of_fold.held_out(X), out_of_fold.held_out(groups)
            sensitive_features = out_of_fold.held_out(sensitive_features)
        if not isinstance(ensemble, Ensemble):
            ensemble = recognise_ensemble(ensemble, y, table_format, scoring)
        if X is None and not isinstance(ensemble, PredictionTable):
            raise InputError(
                "{X} is missing. Pass the validation samples; only predictions do not need them.",
                X=...,
            )
        rule = resolve_missing_rule(missing, ensemble)
        test_set = check_test_set(ensemble, X_test, y_test)
        predictions: Votes | Predictions
        if isinstance(ensemble, PredictionTable):
            reject_out_of_bag(oob)
            predictions = attach_samples(ensemble.with_labels(y), X)
        elif out_of_fold is not None:
            predictions = out_of_fold.predictions
        else:
            predictions = collect_from_models(ensemble, X, y, oob, n_jobs)
        warn_single_class(predictions)
        predictions = predictions.with_missing_rule(rule)
        if predictions.has_missing and not predictions.n_answered.any():
            raise InputError("All predictions are missing. Pass members that predict samples.")
        n_samples, n_test = predictions.n_samples, 0 if test_set[1] is None else len(test_set[1])
        sample_weight = check_sample_weights(sample_weight, n_samples, "sample_weight")
        if isinstance(predictions, Predictions):
            predictions = predictions.with_own_fallback(sample_weight)
        main, *others = resolve_scorings(scoring, predictions.classes)
        if sensitive_features_test is None and isinstance(sensitive_features, str):
            sensitive_features_test = None if X_test is None else sensitive_features
        problem = cls(
            ensemble,
            predictions,
            None if isinstance(ensemble, PredictionTable) else X,
            *test_set,
            oob,
            n_jobs,
            None if X is None else row_hashes(X),
            main,
            sample_weight,
            check_sample_weights(sample_weight_test, n_test, "sample_weight_test"),
            columns=column_types(X),
            cross_validation=(
                CrossValidation.from_parameters(cv, groups, n_samples)
                if out_of_fold is None
                else out_of_fold.cross_validation
            ),
            known_soft_predictions=(None if out_of_fold is None else out_of_fold.soft_predictions),
            is_out_of_fold=out_of_fold is not None,
            sensitive_features=check_sensitive_features(sensitive_features, X, n_samples),
            sensitive_features_test=check_sensitive_features(
                sensitive_features_test, X_test, n_test, "sensitive_features_test"
            ),
            sensitive_column=sensitive_features if isinstance(sensitive_features, str) else None,
            missing_rule=rule,
            cost=check_member_costs(cost, ensemble),
        )
        return problem.with_scorings(others)

    def with_scorings(self, scorings: Sequence[Scoring]) -> Problem:
        """Return the problem with further scores to report; raise if one cannot be computed."""
        problem = replace(self, other_scorings=(*self.other_scorings, *scorings))
        for scoring in problem.scorings:
            problem.check_scoring(scoring)
        return replace(problem, predictions=problem._with_samples(problem.predictions, problem.X))

    def with_tolerance_scores(self, tolerance: float | Mapping[str, float] | None) -> Problem:
        """Return the problem with the scores that a dict of tolerances names."""
        known = {scoring.key for scoring in self.scorings}
        given = tolerance if isinstance(tolerance, Mapping) else {}
        names = [name for name in given if name not in known]
        classes = self.predictions.classes
        return self.with_scorings([Scoring.from_scorer(name, classes) for name in names])

    @property
    def scorings(self) -> tuple[Scoring, ...]:
        """All scores: the score to optimise comes first."""
        return (self.scoring, *self.other_scorings)

    def _with_samples(self, outputs: Any, X: Samples) -> Any:
        """Return predictions with the samples, if a scorer reads them."""
        is_read = any(scoring.reads_samples for scoring in self.scorings)
        if not is_read or outputs.samples is not None:
            return outputs
        if self.has_only_predictions:
            table = (self.ensemble if X is None else X).model
            is_frame = hasattr(table, "columns")  # scorers may use the names of its columns
            rows = SampleRows(table) if is_frame else SampleRows.of_table(outputs)
            return replace(outputs, samples=rows)
        return outputs if X is None else replace(outputs, samples=SampleRows(X, self.ensemble))

    def with_test_set(
        self,
        X_test: Samples,
        y_test: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        sensitive_features: ArrayLike | str | None = None,
    ) -> Problem:
        """Return the problem with this test set; without a test set, as it is.

        If the subgroups of the validation samples are a column of X, those of the test samples are
        by default the same column, if there is one.
        """
        if X_test is None and y_test is None:
            return self
        samples, truth = check_test_set(self.ensemble, X_test, y_test)
        n_samples = _num_samples(truth)
        weight = check_sample_weights(sample_weight, n_samples, "sample_weight")
        if sensitive_features is None and self.sensitive_column in getattr(X_test, "columns", ()):
            sensitive_features = self.sensitive_column
        features = check_sensitive_features(sensitive_features, X_test, n_samples)
        return replace(
            self,
            X_test=samples,
            y_test=truth,
            sample_weight_test=weight,
            sensitive_features_test=features,
        )

    def with_validation_set(self, X: Samples) -> Problem:
        """Return the problem with its validation samples; as it is if X is None."""
        if X is None:
            return self
        if _num_samples(X) != self.predictions.n_samples:
            raise InputError(
                f"{{X}} has {format_count(_num_samples(X), 'sample')}, but the members were "
                f"selected on {self.predictions.n_samples}. Pass those samples.",
                X=...,
            )
        return replace(self, X=as_indexable(X))

    def without_samples(self) -> Problem:
        """Return the problem without samples and test set; collected predictions remain."""
        soft = self.__dict__.get("soft_predictions", self.known_soft_predictions)
        counts_are_enough = (
            self.is_plain_accuracy and len(self.scorings) == 1 and self.sensitive_features is None
        )
        if soft is None and not counts_are_enough and self.is_soft and self.X is not None:
            soft = self.soft_predictions  # collect them now, since later scores need them
        dropped = self._drop_samples()
        return replace(dropped, known_soft_predictions=soft)

    def _drop_samples(self) -> Problem:
        return replace(
            self,
            X=None,
            X_test=None,
            y_test=None,
            sample_weight_test=None,
            sensitive_features_test=None,
        )

    def on_samples(self, samples: IndexArray) -> Problem:
        """Return the problem on some of the validation samples, without a test set."""
        weights = None if self.sample_weight is None else self.sample_weight[samples]
        features = self.sensitive_features
        return replace(
            self._drop_samples(),
            predictions=self.predictions.rows(samples),
            sample_weight=weights,
            cross_validation=self.cross_validation.on_samples(samples),
            sensitive_features=None if features is None else features[samples],
            row_hashes=None,
            known_soft_predictions=None,
            parent_and_samples=(self, samples),
        )

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.ensemble.n_members

    @property
    def served_ensemble(self) -> Ensemble:
        """The ensemble to slice the kept members from: refitted or weighted, if they are."""
        ensemble = self.ensemble if self.refitted is None else self.refitted
        weights = self.member_weights
        return ensemble if weights is None else ensemble.with_member_weights(weights)

    def with_weighing(self, weighing: bool | None) -> Problem:
        """Return the problem with the option ``weights`` of `prune`."""
        return self if weighing is self.weighing else replace(self, weighing=weighing)

    def weights_from_pruner(self, pruner: BasePruner) -> FloatArray | None:
        """Return the weights that the method itself gives its members, rounded to servable ones."""
        weights = None if self.weighing is False else getattr(pruner, "weights_", None)
        return None if weights is None else self._servable_weights(pruner.member_indices_, weights)

    def optimised_weights(self, members: MemberIndices) -> FloatArray | None:
        """Return servable weights optimised for these members; None without ``weights=True``."""
        if not self.weighing:
            return None
        weights = fit_member_weights(
            self.scored_predictions(), members, self.scoring, self.sample_weight
        )
        return self._servable_weights(members, weights)

    def weights_for_pruner(self, pruner: BasePruner) -> FloatArray | None:
        """Return weights of a fitted pruner's members: its own, or else optimised weights."""
        own = self.weights_from_pruner(pruner)
        return self.optimised_weights(pruner.member_indices_) if own is None else own

    def _servable_weights(self, members: MemberIndices, weights: Array) -> FloatArray:
        """Return the nearest weights that a sliced ensemble of this kind can have."""
        all_weights = np.zeros(self.n_members)
        all_weights[members] = weights
        return self.ensemble.attainable_weights(all_weights)[members]

    def with_pruner_weights(self, pruner: BasePruner) -> Problem:
        """Return the problem with the weights of a pruner's members, if they have any."""
        is_done = self.member_weights is not None or self.refitted is not None
        weights = None if is_done else self.weights_for_pruner(pruner)
        if weights is None:
            return self
        all_weights = np.zeros(self.n_members)
        all_weights[pruner.member_indices_] = weights
        soft = self.__dict__.get("soft_predictions", self.known_soft_predictions)
        return replace(self, member_weights=all_weights, known_soft_predictions=soft)

    @property
    def is_regression(self) -> bool:
        """Whether members predict values of a continuous target rather than labels."""
        return isinstance(self.predictions, Predictions)

    @property
    def has_only_predictions(self) -> bool:
        """Whether only predictions are known, and no models."""
        return isinstance(self.ensemble, PredictionTable)

    @property
    def has_test_set(self) -> bool:
        """Whether there is a test set."""
        return self.y_test is not None

    @cached_property
    def test_predictions(self) -> Any:
        """The members' votes, or Predictions in regression, on the test samples."""
        assert self.y_test is not None
        if isinstance(self.X_test, PredictionTable):
            return self._as_test_predictions(self.X_test.with_labels(self.y_test))
        if self.is_regression:
            return self.soft_test_predictions
        votes = collect_encoded_votes(self.ensemble, self.X_test, self.y_test, n_jobs=self.n_jobs)
        return self._with_samples(votes, self.X_test)

    def _as_test_predictions(self, outputs: Any) -> Any:
        """Return a table of test predictions with the rule for missing ones, and with samples.

        Frequencies of classes, or the mean of y, are those of the validation set.
        """
        ruled = outputs.with_missing_rule(self.missing_rule)
        if isinstance(ruled, Predictions) and counts_as_wrong(ruled):
            truth, weights = true_values(self.predictions), self.sample_weight
            shares = [np.average(truth == label, weights=weights) for label in ruled.classes]
            fallback = np.array(shares or [np.average(truth, weights=weights)])
            ruled = replace(ruled, fallback=fallback)
        return self._with_samples(ruled, self.X_test)

    @property
    def shows_coverage(self) -> bool:
        """Whether the coverage of members is reported: if a table has missing predictions."""
        return self.has_only_predictions and self.predictions.has_missing

    @property
    def member_coverage(self) -> FloatArray:
        """The fraction of the validation samples that each member predicts."""
        return np.asarray(self.predictions.n_answered / self.predictions.n_samples)

    def coverage(self, members: MemberIndices | None = None, test: bool = False) -> float:
        """Return the fraction of samples that at least one of some members predicts."""
        outputs = self.test_predictions if test else self.predictions
        return float(np.mean(outputs.has_prediction(members)))

    @cached_property
    def soft_predictions(self) -> Predictions:
        """The members' probabilities or values on the validation samples, with the true labels."""
        if isinstance(self.predictions, Predictions):
            return self.predictions
        if self.known_soft_predictions is not None:
            return self.known_soft_predictions
        if self.parent_and_samples is not None:
            parent, samples = self.parent_and_samples
            return parent.soft_predictions.rows(samples)
        if self.X is None and not self.has_only_predictions:
            raise InputError(
                "Probabilities are needed, but the validation samples are not kept. Pass {X}.",
                X=...,
            )
        y = true_values(self.predictions)
        if isinstance(self.ensemble, PredictionTable):
            soft = self.ensemble.numeric_predictions.with_labels(y)
        else:
            soft = collect_encoded_predictions(self.ensemble, self.X, y, self.oob, self.n_jobs)
        soft = soft.with_missing_rule(self.missing_rule).with_own_fallback(self.sample_weight)
        return replace(soft, samples=self.predictions.samples)

    @cached_property
    def soft_test_predictions(self) -> Predictions:
        """The members' probabilities or values on the test samples, with the true labels."""
        assert self.y_test is not None
        if isinstance(self.X_test, PredictionTable):
            return self._as_test_predictions(
                self.X_test.numeric_predictions.with_labels(self.y_test)
            )
        soft = collect_encoded_predictions(
            self.ensemble, self.X_test, self.y_test, n_jobs=self.n_jobs
        )
        return self._with_samples(soft, self.X_test)

    def predictions_for(self, pruner: BasePruner) -> Votes | Predictions:
        """Return the predictions to fit a pruner on: probabilities if it and the vote use them."""
        uses_probabilities = "probabilities" in pruner.outputs and self.is_soft
        return self.soft_predictions if uses_probabilities else self.predictions

    @property
    def is_soft(self) -> bool:
        """Whether the ensemble's own vote uses probabilities."""
        return not self.is_regression and self.ensemble.is_soft

    @property
    def has_soft_predictions(self) -> bool:
        """Whether probabilities or values are collected, or can be collected."""
        soft = self.__dict__.get("soft_predictions", self.known_soft_predictions)
        return soft is not None or self.X is not None or self.has_only_predictions

    @property
    def is_plain_accuracy(self) -> bool:
        """Whether exact counts of samples are enough: accuracy, unweighted, without groups."""
        is_weighted = self.sample_weight is not None or self.cross_validation.groups is not None
        return self.scoring.name == "accuracy" and not is_weighted

    def scored_predictions(self, test: bool = False) -> Votes | Predictions:
        """Return the predictions that scores use, on the validation samples or the test set."""
        if self.is_soft:
            return self.soft_test_predictions if test else self.soft_predictions
        return self.test_predictions if test else self.predictions

    def check_scoring(self, scoring: Scoring) -> None:
        """Raise an error if the score needs probabilities but the ensemble votes by labels."""
        if scoring.needs == "probabilities" and not self.is_soft:
            raise InputError(
                f"{{scoring}} needs probabilities, but {type(self.ensemble.model).__name__} votes "
                "by labels. Pass a score of labels, such as balanced_accuracy, or an ensemble with "
                "a soft vote.",
                scoring=scoring.name,
            )

    @property
    def n_reused_samples(self) -> int:
        """Number of test samples that are also in the validation set.

        Different samples may have the same predictions, so that only a test table which equals the
        validation table counts, with its true labels.
        """
        if isinstance(self.X_test, PredictionTable):
            test = self.test_predictions
            pairs = [
                (true_values(one), prediction_columns(one)) for one in (self.predictions, test)
            ]
            is_same = all(map(np.array_equal, *pairs))
            return test.n_samples if is_same else 0
        if self.row_hashes is None:
            return 0
        return int(np.isin(row_hashes(self.X_test), self.row_hashes).sum())
