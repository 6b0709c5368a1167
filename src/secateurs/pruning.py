"""From a fitted ensemble to a smaller one: `prune` and the `Pruning` it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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
    method_for,
    parameters_of,
)
from secateurs.evaluation._budget import Budget, Sizes
from secateurs.evaluation._value_per_cost import CostChoice, choose_by_cost
from secateurs.exceptions import InputError
from secateurs.outputs._votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners._parameters import check_option
from secateurs.pruners._selector import fit_pruner
from secateurs.pruners._weights import check_weighing
from secateurs.refitting._refit import N_MADE, RefitRows, refitted

VOTES = ("auto", "labels")
TOLERANCE = 0.005  # that boosted models are cut by, without a size


def prune(
    ensemble: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    pruner: str | BasePruner | None = None,
    keep: int | float | str | None = None,
    *,
    tolerance: float | str | None = None,
    max_bytes: float | str | None = None,
    max_latency: float | str | None = None,
    cost: ArrayLike | None = None,
    max_cost: float | None = None,
    vote: str = "auto",
    scoring: Any = None,
    sample_weight: ArrayLike | None = None,
    oob: bool = False,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    weights: bool | None = None,
    refit: bool = False,
    n_made: float = N_MADE,
    X_unlabelled: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    executor: Any = None,
    callback: Callable[[int, int, float | None], None] | None = None,
    **parameters: Any,
) -> Pruning:
    """Keep the few members of a fitted ensemble that together predict best.

    Parameters
    ----------
    ensemble : object
        A fitted RandomForest, ExtraTrees, Bagging or Voting classifier or regressor, an AdaBoost
        classifier, a forest of XGBoost or LightGBM, a boosted model of scikit-learn, XGBoost,
        LightGBM or CatBoost, of which the first rounds are kept, a pipeline or fitted search around
        one, a list or dict of fitted classifiers or of fitted regressors; or predictions, without
        X: labels or numbers (samples × members), or probabilities (samples × members × classes), or
        a dict or list of either, one array, Series or data frame per member.
    X : array-like of shape (n_samples, n_features)
        Rows to choose on, preferably ones that the ensemble was not trained on.
    y : array-like of shape (n_samples,)
        Their true labels, or numbers.
    pruner : str or pruner, optional
        A method by its short name (`all_pruners`), a pruner, or any scikit-learn selector; "auto"
        tries several methods and takes the one that does best on rows held out. By default
        "comep"; of regressors, which it cannot prune, "joint"; of boosted models, "es".
    keep : int, float or str, optional
        Number of members to keep: a count, or a fraction such as 0.1 or "10%". Without it and
        without a budget, the pruner's own default; for boosted models, a ``tolerance`` of 0.005.
    tolerance : float or str, optional
        Instead of ``keep``: keep the smallest sub-ensemble whose score on rows held out is at
        most this much, such as 0.005 or "0.5%", below that of the whole ensemble. Members are
        chosen on four fifths of the rows and scored on the fifth, five times. Of a boosted model,
        the shortest prefix from which on no longer one scores less.
    max_bytes : float or str, optional
        Instead of ``keep``: keep the largest sub-ensemble with a pickle of this size, or "20MB".
    max_latency : float or str, optional
        Instead of ``keep``: keep the largest sub-ensemble that predicts one row within this many
        seconds, or such as "10ms", by a line through timings with the model's own ``n_jobs``.
    cost, max_cost : array-like of shape (n_members,) and float, optional
        Instead of ``keep``: the cost of each member, and the total that the members kept may cost.
        Members are chosen by gain per cost, by gain, or in the method's order, whichever does best
        on rows held out. With ``tolerance``, as little is spent as that allows.
    vote : {"auto", "labels"}, default="auto"
        How accuracy is scored for ``tolerance``: as the ensemble's own predict votes, or by
        counting labels.
    scoring : str or callable, optional
        The score that matters, by its name in scikit-learn (``sklearn.metrics.get_scorer_names``)
        or as ``scorer(estimator, X, y)``: for ``tolerance``, ``pruner="auto"``, methods with a
        ``scoring`` of their own, and figures. Accuracy by default, for regressors R². What needs
        probabilities takes the mean of the members', as the ensemble itself. Tables of whole
        numbers are labels, unless this is a score of numbers.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in scores. Methods that count labels do not look at them when they
        choose.
    oob : bool, default=False
        X holds the training rows; use only votes on rows that a member was not trained on.
    classes, names : array-like, optional
        For predictions: labels in the order of probabilities, and names of members.
    weights : bool or None, default=None
        Whether kept members have weights in their vote: None for those of a method that gives
        them ("caruana"), False for none. True finds some for members of any method: each counts
        once, and those that help the score (for accuracy, the Brier score) more often.
    refit : bool, default=False
        Fit the values in the leaves of the kept trees so that their average imitates the whole
        ensemble's: for forests and bagged trees, classifiers and regressors. Splits stay as they
        are, and so does the original ensemble. It takes the place of weights.
    n_made : float, default=20
        Number of rows to make for ``refit``, as a multiple of the rows of X, from near neighbours.
    X_unlabelled : array-like, optional
        Further rows for ``refit``, without labels.
    n_jobs : int, optional
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the method, and of the folds where there are any.
    executor : concurrent.futures.Executor or Dask Client, optional
        Where the work runs, for COMEP, DOMEP and EPFD; wrap other methods in `EPFD`.
    callback : callable(done, total, best), optional
        Progress callback, for the same methods.
    **parameters
        Parameters of a method given by name, such as ``diversity_weight=0.3``.

    Returns
    -------
    Pruning
        The pruned ensemble, and how its members were chosen.

    See Also
    --------
    compare : Compare several methods and sizes on rows held out.
    PrunedClassifier, PrunedRegressor : Fit and prune in one estimator, for pipelines.
    collect_votes : Votes of all members, for pruners used on their own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import prune
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X[::2], y[::2])
    >>> pruning = prune(forest, X[1::2], y[1::2], keep=5)
    >>> pruning.estimator
    RandomForestClassifier(n_estimators=5, random_state=0)
    """
    check_option("vote", vote, VOTES)
    given: dict[str, Any] = {"sample_weight": sample_weight, "classes": classes, "names": names}
    problem = Problem.of(ensemble, X, y, oob=oob, n_jobs=n_jobs, scoring=scoring, **given)
    problem = problem.with_weighing(check_weighing(weights, refit, problem.ensemble.staged))
    rng = check_random_state(random_state)
    if problem.ensemble.staged and pruner in (None, "auto"):
        limits = (keep, tolerance, max_bytes, max_latency, cost)
        tolerance = TOLERANCE if all(limit is None for limit in limits) else tolerance
    budget = Budget(tolerance, max_bytes, max_latency, cost, max_cost)
    if budget.is_set and keep is not None:
        raise InputError("{keep} and a budget exclude each other. Give one of them.", keep=keep)
    method = method_for(problem, pruner, parameters, keep, rng)
    if scoring is not None and getattr(method, "scoring", ...) is None:
        method.set_params(scoring=problem.scoring.given)
    budget.check(problem)
    asked: dict[str, Any] = {"sample_weight": problem.sample_weight, "callback": callback}
    fit: Callable[..., BasePruner] = partial(fit_pruner, executor=executor, **asked)
    by_cost = None
    if budget.max_cost is not None:
        by_cost = choose_by_cost(problem, method, budget, rng, vote, fit)
        method = by_cost.pruner
    else:
        if budget.is_set:
            keep = Sizes(problem, method, rng).find(budget, vote)
        if keep is not None:
            method = method.with_keep(keep)
        fit(method, problem.outputs_for(method))
    if refit:
        kept = np.sort(method.member_indices_).tolist()
        rows = RefitRows(problem.X, problem.votes, problem.oob, X_unlabelled, n_made)
        changed = refitted(problem.ensemble, kept, rows, rng, problem.n_jobs)
        problem = replace(problem, refitted=changed)
    return Pruning(problem.serving(method).without_rows(), method, by_cost)


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

    See Also
    --------
    prune : Prune a fitted ensemble.
    Comparison.pruning : The pruning behind a line of a leaderboard.
    """

    problem: Problem  # without its rows
    pruner: BasePruner
    by_cost: CostChoice | None = None
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
            over rows; else the jackknife). The name of the index tells which rows these are.
        """
        problem = self.problem.with_test(X_test, y_test, sample_weight)
        return _before_after.summary(problem, self.pruner, check_random_state(random_state))

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
            "parameters": parameters_of(self.pruner),
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
