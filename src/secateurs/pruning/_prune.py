"""From a fitted ensemble to a smaller one: `prune`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from secateurs._methods import AUTO, DEFAULT_TOLERANCE
from secateurs.evaluation.auto_method import resolve_method
from secateurs.evaluation.budget import Budget, SizeSearch
from secateurs.evaluation.cost_selection import select_by_cost
from secateurs.exceptions import InputError
from secateurs.problem import Problem
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.pruners import BasePruner
from secateurs.pruners.member_weights import check_weights_option
from secateurs.pruners.parameters import check_option
from secateurs.pruners.selector import fit_pruner
from secateurs.pruning._pruning import Pruning
from secateurs.refitting.refit import SYNTHETIC_RATIO, RefitSamples, refit_ensemble

VOTE_OPTIONS = ("auto", "labels")


def prune(
    ensemble: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    pruner: str | BasePruner = AUTO,
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
    n_made: float = SYNTHETIC_RATIO,
    X_unlabelled: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    executor: Any = None,
    callback: ProgressCallback | None = None,
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
    pruner : str or pruner, default="auto"
        A method by its short name (`all_pruners`), a pruner, or any scikit-learn selector. "auto"
        takes the method that did best on many data sets with such ensembles, unless another one
        does better on these rows, held out, by more than chance explains.
    keep : int, float or str, optional
        Number of members to keep: a count, or a fraction such as 0.1 or "10%". Without it and
        without a budget, ``tolerance=0.005`` decides; a pruner given as an object has its own.
    tolerance : float or str, optional
        Instead of ``keep``: keep the smallest sub-ensemble whose score on rows held out is at
        most this much, such as 0.005 or "0.5%", below that of the whole ensemble, as are nine in
        ten of the larger ones (of a boosted model, all): not one by luck. Members are chosen on
        four fifths of the rows and scored on the fifth, five times.
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
        For predictions: labels in the order of probabilities (by default columns of data frames,
        else 0, 1, 2, …), and names of members.
    weights : bool or None, default=None
        Whether kept members have weights in their vote: None for those of a method that gives
        them ("caruana"), False for none. True finds some for members of any method: each counts
        once, and those that help the score (for accuracy, the Brier score) more often.
    refit : bool, default=False
        Fit the values in the leaves of the kept trees so that their average imitates the whole
        ensemble's: for forests and bagged trees, classifiers and regressors. Splits stay as they
        are, and so does the original ensemble. It takes the place of weights.
    n_made : float, default=20
        Number of rows to make for ``refit``, as a multiple of the rows of X: each takes each column
        from a row or from a near neighbour, by a coin. The whole ensemble answers them.
    X_unlabelled : array-like, optional
        Further rows for ``refit``, without labels. If X was held out, give the training rows: they
        are more, and rows made from them do best.
    n_jobs : int, optional
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the method, and of the folds where there are any.
    executor : concurrent.futures.Executor or Dask Client, optional
        Where the work runs, for COMEP, joint error, DOMEP and EPFD; wrap other methods in `EPFD`.
    callback : callable(done, total, best), optional
        Called after each step, here and wherever there is a ``callback``: with the steps done and
        in total of what is being done (collecting votes, trying methods, finding the size,
        choosing, refitting: each counts from 1), and the best value so far, or None (`benchmark`
        tells the seconds left). What it raises ends the run. Without one, a bar is shown after two
        seconds in terminals and notebooks; the environment variable ``SECATEURS_PROGRESS=off``
        turns it off.
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
    check_option("vote", vote, VOTE_OPTIONS)
    given: dict[str, Any] = {"sample_weight": sample_weight, "classes": classes, "names": names}
    with watch_progress(callback):
        problem = Problem.from_input(
            ensemble, X, y, oob=oob, n_jobs=n_jobs, scoring=scoring, **given
        )
        problem = problem.with_weighing(
            check_weights_option(weights, refit, problem.ensemble.is_sequential)
        )
        rng = check_random_state(random_state)
        budget = Budget(tolerance, max_bytes, max_latency, cost, max_cost)
        if budget.is_set and keep is not None:
            raise InputError("{keep} and a budget exclude each other. Give one of them.", keep=keep)
        if keep is None and not budget.is_set and (pruner is None or isinstance(pruner, str)):
            budget = Budget(tolerance=DEFAULT_TOLERANCE)
        spread = executor is not None
        method, reason = resolve_method(
            problem, pruner, parameters, keep, rng, spread, random_state
        )
        if scoring is not None and getattr(method, "scoring", ...) is None:
            method.set_params(scoring=problem.scoring.given_scorer)
        budget.check_limits(problem)
        fit: Callable[..., BasePruner] = partial(
            fit_pruner, executor=executor, sample_weight=problem.sample_weight
        )
        by_cost = least = None
        if budget.max_cost is not None:
            by_cost = select_by_cost(problem, method, budget, rng, vote, fit)
            method = by_cost.pruner
        else:
            if budget.is_set:
                keep, least = SizeSearch(problem, method, rng).find_size(budget, vote)
            if keep is not None:
                method = method.with_keep(keep)
            fit(method, problem.predictions_for(method))
        if refit:
            kept = np.sort(method.member_indices_).tolist()
            rows = RefitSamples(problem.X, problem.predictions, problem.oob, X_unlabelled, n_made)
            changed = refit_ensemble(problem.ensemble, kept, rows, rng, problem.n_jobs)
            problem = replace(problem, refitted=changed)
        return Pruning.of(
            problem,
            method,
            by_cost=by_cost,
            reason=reason,
            tolerance=budget.tolerance,
            least_tolerance=least,
        )
