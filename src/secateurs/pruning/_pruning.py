"""A pruned ensemble, and how its members were chosen."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing, check_random_state

from secateurs.ensembles import Ensemble
from secateurs.evaluation import before_after
from secateurs.evaluation.alternatives import (
    ReportSubject,
    evaluate_with_alternatives,
    plain_parameters,
)
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.cross_validated_scores import (
    CrossValidatedScores,
    cross_validate_pruning,
    cross_validation_seconds,
    sample_weight_remark,
)
from secateurs.exceptions import InputError
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.text_format import format_count
from secateurs.units import round_up

_QUICK = 2.0  # seconds of cross-fitting that a notebook may wait for without having asked


@dataclass(frozen=True, eq=False, repr=False)
class Pruning:
    """A pruned ensemble, and how its members were chosen. Returned by `prune`.

    Attributes
    ----------
    estimator : object
        The pruned ensemble: a plain object of the same class as the one given, with the kept
        members in their old order, or copies with other leaves where trees have weights or were
        refitted. For a list or dict, a fitted Voting ensemble; for predictions, the columns kept.
    pruner : BasePruner
        The fitted pruner.
    member_indices : ndarray of shape (n_kept,)
        The kept members, in the order they were chosen.
    weights : ndarray of shape (n_kept,) or None
        Their weights, with a sum of 1; None where they count the same.
    problem : Problem
        The ensemble and the votes that the members were chosen by, without the rows.
    by_cost : CostSelection or None
        How members were chosen by their cost, if ``max_cost`` was given.
    reason : str
        Why the method was taken, in one line; empty if it was asked for.
    tolerance : float or None
        The tolerance that decided how many members are kept, if one did.
    least_tolerance : float or None
        Where it has kept all members: the smallest one that leaves some out.

    See Also
    --------
    prune : Prune a fitted ensemble.
    Comparison.pruning : The pruning behind a line of a leaderboard.
    """

    problem: Problem  # without its rows
    pruner: BasePruner
    by_cost: CostSelection | None = None
    reason: str = ""
    tolerance: float | None = None
    least_tolerance: float | None = None
    row: Any = None  # to time predictions by
    estimator: Any = field(init=False)

    def __post_init__(self) -> None:
        kept = np.sort(self.pruner.member_indices_).tolist()
        object.__setattr__(self, "estimator", self.problem.served_ensemble.as_predictor(kept))

    @classmethod
    def of(cls, problem: Problem, pruner: BasePruner, **facts: Any) -> Pruning:
        """Return the pruning by a fitted pruner; of the rows it keeps one, to time predictions."""
        row = None if problem.X is None else _safe_indexing(problem.X, [0])
        return cls(problem.with_pruner_weights(pruner).without_samples(), pruner, row=row, **facts)

    @property
    def ensemble(self) -> Ensemble:
        """The whole ensemble."""
        return self.problem.ensemble

    @property
    def votes(self) -> Votes:
        """The votes that the members were chosen by."""
        return self.problem.predictions

    @property
    def oob(self) -> bool:
        """Whether these are out-of-bag votes."""
        return self.problem.oob

    @property
    def member_indices(self) -> NDArray[np.intp]:
        """The kept members, in the order they were chosen."""
        return self.pruner.member_indices_

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights of the kept members in the same order; None where they count the same."""
        weights = self.problem.member_weights
        return None if weights is None else weights[self.member_indices]

    @property
    def members(self) -> Any:
        """The kept members as they were given, in their old order: a list, or a dict of a dict."""
        return self.ensemble.original_members(np.sort(self.member_indices).tolist())

    @property
    def member_names(self) -> list[str]:
        """Names of the kept members, in the order they were chosen."""
        return [self.ensemble.member_names[member] for member in self.member_indices]

    def summary(
        self,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        random_state: Any = 0,
    ) -> pd.DataFrame:
        """Compare the pruned ensemble with the whole one.

        Without test rows, by cross-fitting on the rows chosen on: the method chooses on four
        fifths, what it chooses is judged on the fifth, and so in turn.

        Parameters
        ----------
        X_test : array-like, optional
            Rows to measure on; for predictions, predictions of all members on other rows.
        y_test : array-like of shape (n_samples,), optional
            Their true labels, or numbers.
        X : array-like, optional
            The rows chosen on, for cross-fitting: with them it follows the ensemble's own vote even
            where no probabilities were collected, and 1000 rows are timed.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the test rows.
        random_state : int, RandomState or None, default=0
            Random state of the bootstrap.

        Returns
        -------
        pandas.DataFrame
            Lines for members, accuracy, balanced accuracy, log loss and ROC AUC (of regressors R²,
            root mean squared and mean absolute error), the score asked for, megabytes of the
            pickle, and milliseconds to predict 1 and 1000 rows (1 where rows are not kept); of
            predictions neither. Columns for the whole ensemble,
            the pruned one and the change, with its 95 % interval (of accuracy, paired bootstrap
            over test rows; else by the normal distribution, or the jackknife). The name of the
            index tells which rows these are. ``attrs["remarks"]``, shown below the table, say
            whether the tolerance that decided the size holds there, and what else to know.
        """
        scoring, remarks = self.problem.scoring, tuple[str, ...]()
        if X_test is not None or y_test is not None:
            problem = self.problem.with_test_set(X_test, y_test, sample_weight)
            rng = check_random_state(random_state)
            rows, figures = before_after.measure_on_test(problem, self.pruner, rng)
            remarks = tuple(sample_weight_remark(problem, self.pruner))
        else:
            rows, turns, figures, remarks = (
                self._cross_validated_scores if X is None else self._cross_validate(X)
            )
            remarks = (f"Cross-fitted: {turns}.", *remarks) if turns else remarks
        if self.least_tolerance is not None:
            least = f"{round_up(self.least_tolerance):.15g}"
            told = f"No fewer members are within the tolerance; the smallest that helps is {least}."
            remarks = (*remarks, told)
        return before_after.summary_table(rows, figures, remarks, scoring, self.tolerance)

    def _cross_validate(self, X: Any = None) -> CrossValidatedScores:
        problem = self.problem.with_validation_set(X)
        return cross_validate_pruning(problem, self.pruner, self.by_cost, row=self.row)

    @cached_property
    def _cross_validated_scores(self) -> CrossValidatedScores:
        """Figures by cross-fitting, with what is known without the rows."""
        return self._cross_validate()

    def report(
        self,
        path: str | Path,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        force: bool = False,
    ) -> Path:
        """Write an HTML report of what was gained and lost: one file that needs nothing else.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        X_test, y_test : array-like, optional
            Rows to measure on, as for `summary`. Without them, figures are cross-fitted on the
            rows chosen on, counting labels.
        X : array-like, optional
            The rows chosen on, so that cross-fitted figures follow the ensemble's own vote.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the test rows.
        force : bool, default=False
            Whether to overwrite an existing file.

        Returns
        -------
        Path
            The file written.
        """
        from secateurs.persistence.atomic_files import check_writable
        from secateurs.report import report_data, write_report

        check_writable([Path(path)], force)  # before any work
        data = report_data(self, X_test, y_test, X=X, sample_weight=sample_weight)
        return write_report(data, path, force=force)

    def featured(
        self,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        beside: bool = True,
    ) -> ReportSubject:
        """Evaluate the pruning at all sizes, and other methods beside it; used by reports."""
        if self.ensemble.is_sequential:
            raise InputError(
                "Reports are about members with answers of their own, which rounds of boosting do "
                "not have. Use summary, or on the command line leave out {report}.",
                report=...,
            )
        problem = self.problem.with_validation_set(X).with_test_set(X_test, y_test, sample_weight)
        evaluation = evaluate_with_alternatives(problem, self.pruner, beside, self.by_cost)
        return ReportSubject(
            evaluation, self.pruner, next(iter(evaluation.curves)), evaluation.sizes[0]
        )

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Save the pruned ensemble, with its provenance in a file beside it.

        Parameters
        ----------
        path : str or path-like
            The file to write: .skops, .joblib or .pkl.
        force : bool, default=False
            Whether to overwrite an existing file.

        Returns
        -------
        Path
            The file written.
        """
        from secateurs.persistence.model_files import save

        return save(self.estimator, path, provenance=self.provenance(), force=force)

    def provenance(self) -> dict[str, Any]:
        """Return how the members were chosen, in plain values."""
        budget = {} if self.by_cost is None else {"budget": self.by_cost.provenance()}
        return budget | {
            "method": type(self.pruner).__name__,
            "reason": self.reason,
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
            "columns": self.problem.columns,
        }

    def __repr__(self) -> str:
        kept = f"{len(self.member_indices)} of {format_count(self.ensemble.n_members, 'member')}"
        return f"Pruning({type(self.ensemble.model).__name__}: {kept} kept by {self.pruner})"

    def _repr_html_(self) -> str:
        from secateurs.report.notebook import pruning_html

        quick = (
            "_cross_validated_scores" in self.__dict__
            or cross_validation_seconds(self.pruner) <= _QUICK
        )
        with suppress(InputError):  # rows too few, or too few votes out of bag, for fifths of them
            return pruning_html(
                self.problem, self.pruner, self._cross_validated_scores if quick else None
            )
        return pruning_html(self.problem, self.pruner, None)
