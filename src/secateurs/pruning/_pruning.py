"""A pruned ensemble, and how its members were chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from secateurs.ensembles import Ensemble
from secateurs.evaluation import _before_after
from secateurs.evaluation._alternatives import (
    Featured,
    evaluate_around,
    parameters_of,
)
from secateurs.evaluation._value_per_cost import CostChoice
from secateurs.exceptions import InputError
from secateurs.outputs._votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner


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
    by_cost : CostChoice or None
        How members were chosen by their cost, if ``max_cost`` was given.
    reason : str
        Why the method was taken, in one line; empty if it was asked for.
    tolerance : float or None
        The tolerance that decided how many members are kept, if one did.

    See Also
    --------
    prune : Prune a fitted ensemble.
    Comparison.pruning : The pruning behind a line of a leaderboard.
    """

    problem: Problem  # without its rows
    pruner: BasePruner
    by_cost: CostChoice | None = None
    reason: str = ""
    tolerance: float | None = None
    estimator: Any = field(init=False)

    def __post_init__(self) -> None:
        kept = np.sort(self.pruner.member_indices_).tolist()
        object.__setattr__(self, "estimator", self.problem.served.serve(kept))

    @property
    def ensemble(self) -> Ensemble:
        """The whole ensemble."""
        return self.problem.ensemble

    @property
    def votes(self) -> Votes:
        """The votes that the members were chosen by."""
        return self.problem.votes

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
        weights = self.problem.weights
        return None if weights is None else weights[self.member_indices]

    @property
    def members(self) -> Any:
        """The kept members as they were given, in their old order: a list, or a dict of a dict."""
        return self.ensemble.pick(np.sort(self.member_indices).tolist())

    @property
    def member_names(self) -> list[str]:
        """Names of the kept members, in the order they were chosen."""
        return [self.ensemble.names[member] for member in self.member_indices]

    def summary(
        self,
        X_test: Any,
        y_test: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        random_state: Any = 0,
    ) -> pd.DataFrame:
        """Compare the pruned ensemble with the whole one.

        Parameters
        ----------
        X_test : array-like
            Rows to measure on; for predictions, predictions of all members on other rows.
        y_test : array-like of shape (n_samples,)
            Their true labels, or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        random_state : int, RandomState or None, default=0
            Random state of the bootstrap.

        Returns
        -------
        pandas.DataFrame
            Lines for members, accuracy, balanced accuracy, log loss and ROC AUC (of regressors R²,
            root mean squared and mean absolute error), the score asked for, megabytes of the
            pickle, and milliseconds to predict 1 and 1000 rows. Columns for the whole ensemble,
            the pruned one and the change, with its 95 % interval (of accuracy, paired bootstrap
            over rows; else the jackknife). The name of the index tells which rows these are, and
            whether the tolerance that decided the size holds there.
        """
        problem = self.problem.with_test(X_test, y_test, sample_weight)
        rng = check_random_state(random_state)
        return _before_after.summary(problem, self.pruner, rng, self.tolerance)

    def report(
        self,
        path: str | Path,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        *,
        X: Any = None,
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
        force : bool, default=False
            Whether to overwrite an existing file.

        Returns
        -------
        Path
            The file written.
        """
        from secateurs.persistence._files import refuse_existing
        from secateurs.report import report_data, write_report

        refuse_existing([Path(path)], force)  # before any work
        return write_report(report_data(self, X_test, y_test, X=X), path, force=force)

    def featured(
        self,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        *,
        X: Any = None,
        beside: bool = True,
    ) -> Featured:
        """Evaluate the pruning at all sizes, and other methods beside it; used by reports."""
        if self.ensemble.staged:
            raise InputError(
                "Reports are about members with answers of their own, which rounds of boosting do "
                "not have. Use summary, or on the command line leave out {report}.",
                report=...,
            )
        problem = self.problem.with_rows(X).with_test(X_test, y_test)
        evaluation = evaluate_around(problem, self.pruner, beside, self.by_cost)
        return Featured(evaluation, self.pruner, next(iter(evaluation.curves)), evaluation.sizes[0])

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
        from secateurs.persistence._models import save

        return save(self.estimator, path, provenance=self.provenance(), force=force)

    def provenance(self) -> dict[str, Any]:
        """Return how the members were chosen, in plain values."""
        budget = {} if self.by_cost is None else {"budget": self.by_cost.provenance()}
        return budget | {
            "method": type(self.pruner).__name__,
            "reason": self.reason,
            "parameters": parameters_of(self.pruner),
            "seed": self.pruner._seed,
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
        kept = f"{len(self.member_indices)} of {self.ensemble.n_members} members"
        return f"Pruning({type(self.ensemble.model).__name__}: {kept} kept by {self.pruner})"

    def _repr_html_(self) -> str:
        from secateurs.report._notebook import pruning_html

        return pruning_html(self.problem, self.pruner)
