"""The pruned ensemble that `prune` returns: `Pruning`, with its summary, report and file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing, check_random_state

from secateurs.ensembles import Ensemble
from secateurs.evaluation.alternatives import (
    ReportSubject,
    evaluate_with_alternatives,
    plain_parameters,
)
from secateurs.evaluation.before_after import measure_on_test
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.guards import describe_precision, find_alarms, warn_alarms
from secateurs.evaluation.held_out_figures import (
    cross_validate_pruning,
    cross_validation_seconds,
)
from secateurs.evaluation.metrics import PruningFigures
from secateurs.exceptions import InputError
from secateurs.measures.expected_votes import ExpectedVotes
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruning._asking_order import Order
from secateurs.pruning.blend import Blend
from secateurs.pruning.sequential import SequentialPanel, panel_of_members
from secateurs.refitting.branches import pruned_node_count
from secateurs.text_format import format_count
from secateurs.typing import FloatArray, IndexArray, JsonObject, RandomStateLike, Samples
from secateurs.units import round_up

_MAX_WAIT = 2.0  # seconds of cross-validation that displaying a pruning in a notebook may take


@dataclass(frozen=True, eq=False, repr=False)
class Pruning:
    """A pruned ensemble, and how its members were selected. Returned by `prune`.

    Attributes
    ----------
    estimator : object
        The pruned ensemble: a plain object of the same class as the full ensemble, with the kept
        members in their original order. If trees have weights or were refitted, they are copies
        with other values in their leaves. For a list or dict of models, it is a fitted Voting
        ensemble, whose members are pipelines with encoded labels if it votes by label and the
        labels are neither booleans nor 0, 1, 2, …; for predictions, a `Blend`.
    pruner : BasePruner
        The fitted pruner.
    member_indices : ndarray of shape (n_kept,)
        The kept members, in the order of selection.
    weights : ndarray of shape (n_kept,) or None
        Weights of the kept members, with a sum of 1; None if all have the same weight.
    problem : Problem
        The full ensemble and its votes on the validation samples, without the samples.
    by_cost : CostSelection or None
        How members were selected by their cost, if ``cost`` was passed without ``keep``.
    reason : str
        Why the method was used, in one line; empty if it was passed to `prune`.
    tolerance : float, dict or None
        The tolerance that determined the number of members, if any; by score if there are several.
    decided_by : str
        The score or subgroup that needs the most members, if there are several tolerances; with
        ``max_latency`` alone, the timings that decided.
    size_reason : str
        The rule that decided the number of members, if neither a number nor a budget was given.
    expected_votes : ExpectedVotes or None
        The expected accuracy of every number of members, if members are exchangeable: ``sizes``,
        ``values`` and ``standard_errors``.
    least_tolerance : float or None
        If all members were kept because of the tolerance: the smallest tolerance that would leave
        members out.

    See Also
    --------
    prune : Prune a fitted ensemble.
    Comparison.pruning : Return the pruning of a row of the leaderboard.
    """

    problem: Problem  # without its samples
    pruner: BasePruner
    by_cost: CostSelection | None = None
    reason: str = ""
    tolerance: float | Mapping[str, float] | None = None
    least_tolerance: float | None = None
    row: Samples = None  # one validation sample, to time predictions
    decided_by: str = ""
    size_reason: str = ""
    expected_votes: ExpectedVotes | None = None
    estimator: Any = field(init=False)

    def __post_init__(self) -> None:
        kept = np.sort(self.pruner.member_indices_).tolist()
        estimator = (
            Blend.from_problem(self.problem, kept)
            if self.problem.has_only_predictions
            else self.problem.served_ensemble.as_predictor(kept)
        )
        object.__setattr__(self, "estimator", estimator)

    @classmethod
    def of(
        cls,
        problem: Problem,
        pruner: BasePruner,
        *,
        by_cost: CostSelection | None = None,
        reason: str = "",
        tolerance: float | Mapping[str, float] | None = None,
        least_tolerance: float | None = None,
        decided_by: str = "",
        size_reason: str = "",
        expected_votes: ExpectedVotes | None = None,
    ) -> Pruning:
        """Return the pruning of a fitted pruner, which keeps one sample to time predictions."""
        row = None if problem.X is None else _safe_indexing(problem.X, [0])
        problem = problem.with_pruner_weights(pruner).without_samples()
        return cls(
            problem,
            pruner,
            by_cost,
            reason,
            tolerance,
            least_tolerance,
            row,
            decided_by,
            size_reason,
            expected_votes,
        )

    @property
    def ensemble(self) -> Ensemble:
        """The full ensemble."""
        return self.problem.ensemble

    @property
    def votes(self) -> Votes:
        """The votes on the validation samples, by which the members were selected."""
        return self.problem.predictions

    @property
    def oob(self) -> bool:
        """Whether these are out-of-bag votes."""
        return self.problem.oob

    @property
    def member_indices(self) -> IndexArray:
        """The kept members, in the order of selection."""
        return self.pruner.member_indices_

    @property
    def weights(self) -> FloatArray | None:
        """Weights of the kept members in the same order; None if all have the same weight."""
        weights = self.problem.member_weights
        return None if weights is None else weights[self.member_indices]

    @property
    def members(self) -> Any:
        """The kept members in their original order: a list, a dict, or columns of a table."""
        return self.ensemble.original_members(np.sort(self.member_indices).tolist())

    @property
    def member_names(self) -> list[str]:
        """Names of the kept members, in the order of selection."""
        return [self.ensemble.member_names[member] for member in self.member_indices]

    def summary(
        self,
        X_test: Samples = None,
        y_test: ArrayLike | None = None,
        *,
        X: Samples = None,
        sample_weight: ArrayLike | None = None,
        sensitive_features: ArrayLike | str | None = None,
        random_state: RandomStateLike = 0,
    ) -> pd.DataFrame:
        """Return a table that compares the pruned ensemble with the full ensemble.

        Without a test set, the scores are cross-validated on the validation set, in the folds of
        the parameters ``cv`` and ``groups`` of `prune`. By default, members are selected on four
        fifths of the samples and scored on the remaining fifth, five times.

        Parameters
        ----------
        X_test : array-like, optional
            Test samples; for predictions, predictions of all members on the test samples.
        y_test : array-like of shape (n_samples,), optional
            True labels or target values of the test samples.
        X : array-like, optional
            The validation samples, which a pruning does not store. With them, cross-validated
            scores use the ensemble's own vote even if no probabilities were collected, and
            predictions of 1000 samples are timed.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the test samples.
        sensitive_features : array-like of shape (n_samples,) or str, optional
            The subgroup of each test sample, or the name of a column of X_test. By default, the
            column that `prune` used for the validation samples.
        random_state : int, RandomState or None, default=0
            Random state of the bootstrap.

        Returns
        -------
        pandas.DataFrame
            Rows: number of members; if a table has missing predictions, ``coverage``, the fraction
            of the samples that at least one of them predicts; accuracy, balanced accuracy, log
            loss and ROC AUC, or for regressors R², root mean squared error and mean absolute
            error; the scores passed as ``scoring``; with sensitive features, these scores for each
            subgroup and the worst subgroup, and the largest gap between subgroups; megabytes of
            the pickle, and milliseconds to predict 1 and 1000 samples (only 1 if there are no
            samples). Size and time are left out for predictions.
            Columns: the full ensemble (``before``), the pruned ensemble (``after``), the
            ``change``, and its 95 % interval from ``low`` to ``high``: a paired bootstrap for the
            accuracy on a test set, otherwise the normal approximation or the jackknife. The name
            of the index describes the samples. ``attrs["remarks"]``, displayed below the table,
            states whether the scores meet the tolerance that determined the size, and further
            notes. ``attrs["alarms"]``, displayed as well, lists scores that collapsed, baselines
            that are better, and whether there are too few samples. ``attrs["baselines"]`` has the
            score of always predicting the most frequent class (the class frequencies for scores of
            probabilities) or the mean of the target, and of the best single member.
            ``attrs["coverage"]`` has the fraction of the validation samples that each kept member
            predicts, if a table has missing predictions.
        """
        problem = self.problem.with_test_set(X_test, y_test, sample_weight, sensitive_features)
        measured = self._measure(problem, X, random_state)
        folds, remarks = measured.fold_description, [*measured.remarks]
        remarks = [f"Cross-validated: {folds}.", *remarks] if folds else remarks
        remarks = [*self.ensemble.notes, *remarks]
        if self.least_tolerance is not None:
            least = f"{round_up(self.least_tolerance):.15g}"
            remarks.append(
                f"All members are kept: the smallest tolerance that leaves any out is {least}."
            )
        if self.size_reason:
            remarks.append(self._size_remark)
        if self.decided_by:
            remarks.append(f"The number of members was decided by: {self.decided_by}.")
        alarms = find_alarms(problem, measured, self.tolerance)
        if self.is_size_found:  # a user who names a number of members expects a loss
            warn_alarms(find_alarms(problem, measured, self.tolerance, only_raised=True))
        table = measured.summary_table(problem, remarks, self.tolerance)
        if problem.shows_coverage:
            shares = problem.member_coverage[self.member_indices].tolist()
            table.attrs["coverage"] = dict(zip(self.member_names, shares, strict=True))
        table.attrs["alarms"] = [f"Warning: {alarm}" for alarm in alarms]
        table.attrs["alarms"] += describe_precision(problem, measured, self.tolerance)
        return table

    def _measure(
        self, problem: Problem, X: Samples, random_state: RandomStateLike
    ) -> PruningFigures:
        """Return figures on the test set, or cross-validated figures without a test set."""
        if not problem.has_test_set:
            return self._cross_validated_scores if X is None else self._cross_validate(X)
        return measure_on_test(problem, self.pruner, check_random_state(random_state))

    @property
    def is_size_found(self) -> bool:
        """Whether a tolerance or the default rule decided the number of members."""
        return bool(self.size_reason) or self.tolerance is not None

    @property
    def _size_remark(self) -> str:
        if self.expected_votes is not None:
            return f"The members are exchangeable. Number of members: {self.size_reason}."
        return f"The default rule decided the number of members: {self.size_reason}."

    def _cross_validate(self, X: Samples = None) -> PruningFigures:
        problem = self.problem.with_validation_set(X)
        return cross_validate_pruning(problem, self.pruner, self.by_cost, row=self.row)

    @cached_property
    def _cross_validated_scores(self) -> PruningFigures:
        """Cross-validated scores from the stored predictions, without the samples."""
        return self._cross_validate()

    def report(
        self,
        path: str | Path,
        X_test: Samples = None,
        y_test: ArrayLike | None = None,
        *,
        X: Samples = None,
        sample_weight: ArrayLike | None = None,
        sensitive_features: ArrayLike | str | None = None,
        force: bool = False,
    ) -> Path:
        """Write an HTML report that compares the pruned ensemble with the full ensemble.

        The page is a single file without external resources.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        X_test, y_test : array-like, optional
            The test set, as for `summary`. Without it, scores are cross-validated on the
            validation set, counting labels.
        X : array-like, optional
            The validation samples, so that cross-validated scores use the ensemble's own vote.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the test samples.
        sensitive_features : array-like of shape (n_samples,) or str, optional
            The subgroup of each test sample, or the name of a column of X_test. By default, the
            column that `prune` used for the validation samples.
        force : bool, default=False
            Whether to overwrite an existing file.

        Returns
        -------
        Path
            The file written.
        """
        from secateurs.persistence.atomic_files import check_writable
        from secateurs.report import report_data, write_report

        check_writable([Path(path)], force)  # raise errors before the long computation
        data = report_data(
            self,
            X_test,
            y_test,
            X=X,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
        )
        return write_report(data, path, force=force)

    def featured(
        self,
        X_test: Samples = None,
        y_test: ArrayLike | None = None,
        *,
        X: Samples = None,
        sample_weight: ArrayLike | None = None,
        sensitive_features: ArrayLike | str | None = None,
        beside: bool = True,
    ) -> ReportSubject:
        """Evaluate the pruning at all sizes, with other methods beside it; used by reports."""
        if self.ensemble.is_sequential:
            raise InputError(
                "Reports need members that predict on their own, which the rounds of a boosted "
                "model do not. Use summary, or on the command line leave out {report}.",
                report=...,
            )
        problem = self.problem.with_validation_set(X).with_test_set(
            X_test, y_test, sample_weight, sensitive_features
        )
        evaluation = evaluate_with_alternatives(problem, self.pruner, beside, self.by_cost)
        if self.size_reason:
            remarks = (*evaluation.remarks, self._size_remark)
            evaluation = replace(evaluation, remarks=remarks)
        return ReportSubject(
            evaluation,
            self.pruner,
            next(iter(evaluation.curves)),
            evaluation.sizes[0],
            max_cost=None if self.by_cost is None else min(self.by_cost.limit, self.by_cost.total),
        )

    def sequential(self, *, order: Order = "best", tolerance: float = 0.0) -> SequentialPanel:
        """Return the kept members as a panel that is asked in turn.

        Members are asked until the remaining weights cannot change the winner, which saves costs
        without changing any answer. The order, the confidence and the expected cost come from the
        validation predictions, and the costs from ``cost`` of `prune`, or 1 for each member.

        Parameters
        ----------
        order : {"best", "cost", "weight"} or sequence, default="best"
            The order of asking: the order with the least expected cost for the same answers, cheap
            members first, members with large weights first, or the kept members by name or index.
        tolerance : float, default=0
            Accuracy that may be lost on the validation samples. If it is positive, a sample is
            also decided when the lead of its best class reaches a share of the remaining weight,
            which is chosen on the validation samples for the least expected cost.

        Returns
        -------
        SequentialPanel

        Notes
        -----
        Probabilities on the validation samples are stored in steps of 2⁻¹⁴. Where sums of
        probabilities tie, the expected cost can therefore differ from the cost of ``predict``.
        `Blend.sequential` counts with the probabilities that are passed to it.
        """
        return panel_of_members(self.problem, self.member_indices, order, tolerance)

    def slim(self) -> Any:
        """Return the pruned ensemble without the numbers that prediction does not read.

        Predictions stay equal to the last bit. Files become smaller; ``feature_importances_`` and
        the numbers in plots of trees are lost. See `secateurs.persistence.slim`.

        Returns
        -------
        object
            A copy of ``estimator``.
        """
        from secateurs.persistence.slim_models import slim

        return slim(self.estimator)

    def save(self, path: str | Path, *, force: bool = False, slim: bool = False) -> Path:
        """Save the pruned ensemble, with its provenance in a second file.

        Parameters
        ----------
        path : str or path-like
            The file to write: .skops, .joblib or .pkl; for a `Blend`, .json.
        force : bool, default=False
            Whether to overwrite an existing file.
        slim : bool, default=False
            Whether to store only the numbers that prediction reads, see `slim`.

        Returns
        -------
        Path
            The file written.
        """
        from secateurs.persistence.model_files import save

        return save(self.estimator, path, provenance=self.provenance(), force=force, slim=slim)

    def provenance(self) -> JsonObject:
        """Return how the members were selected, as JSON values."""
        budget = {} if self.by_cost is None else {"budget": self.by_cost.provenance()}
        return budget | {
            "method": type(self.pruner).__name__,
            "reason": self.reason,
            "size_reason": self.size_reason,
            "parameters": plain_parameters(self.pruner),
            "seed": self.pruner._drawn_seed,
            "members": self.member_indices.tolist(),
            "names": self.member_names,
            "weights": None if self.weights is None else self.weights.tolist(),
            "scores": self.pruner.scores_.tolist(),
            "n_members_before": self.ensemble.n_members,
            "n_samples": self.votes.n_samples,
            "out_of_bag": self.oob,
            "refitted": self.problem.refitted is not None,
            "n_nodes": pruned_node_count(
                self.ensemble, self.problem.refitted, self.member_indices.tolist()
            ),
            "columns": self.problem.columns,
        }

    def __repr__(self) -> str:
        kept = f"{len(self.member_indices)} of {format_count(self.ensemble.n_members, 'member')}"
        how = self.pruner if self.by_cost is None else f"total cost {self.by_cost.total:g}"
        return f"Pruning({type(self.ensemble.model).__name__}: {kept} kept by {how})"

    def _repr_html_(self) -> str:
        from secateurs.report.notebook import pruning_html

        is_quick = (
            "_cross_validated_scores" in self.__dict__
            or cross_validation_seconds(self.pruner) <= _MAX_WAIT
        )
        with suppress(InputError):  # too few samples or out-of-bag votes for five folds
            return pruning_html(
                self.problem, self.pruner, self._cross_validated_scores if is_quick else None
            )
        return pruning_html(self.problem, self.pruner, None)
