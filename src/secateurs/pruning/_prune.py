"""Prune a fitted ensemble: `prune` selects the method, the size and the members."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
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
from secateurs.exceptions import InputError, suggest_similar
from secateurs.problem import Problem
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.pruners import BasePruner, all_pruners
from secateurs.pruners.member_weights import check_weights_option
from secateurs.pruners.parameters import check_option
from secateurs.pruners.selector import fit_pruner
from secateurs.pruning._pruning import Pruning
from secateurs.refitting.refit import SYNTHETIC_RATIO, RefitSamples, refit_ensemble
from secateurs.typing import ExecutorLike, RandomStateLike, Samples

VOTE_OPTIONS = ("auto", "labels")


def prune(
    ensemble: object,
    X: Samples = None,
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
    scoring: str | Callable[..., float] | None = None,
    sample_weight: ArrayLike | None = None,
    oob: bool = False,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    weights: bool | None = None,
    refit: bool = False,
    synthetic_ratio: float = SYNTHETIC_RATIO,
    X_unlabelled: Samples = None,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    executor: ExecutorLike | None = None,
    callback: ProgressCallback | None = None,
    **parameters: Any,
) -> Pruning:
    """Select the few members of a fitted ensemble that together predict best.

    Parameters
    ----------
    ensemble : object
        A fitted ensemble: RandomForest, ExtraTrees, Bagging or Voting classifier or regressor,
        AdaBoost classifier, a random forest of XGBoost or LightGBM, or a boosted model of
        scikit-learn, XGBoost, LightGBM or CatBoost, of which the first rounds are kept. Also a
        pipeline or fitted search around such an ensemble, or a list or dict of fitted classifiers
        or of fitted regressors. Or predictions, without X: labels or values (samples × members),
        probabilities (samples × members × classes), or a dict or list with one array, Series or
        data frame per member.
    X : array-like of shape (n_samples, n_features)
        Validation samples, preferably not used for training the ensemble.
    y : array-like of shape (n_samples,)
        True labels or target values of the validation samples.
    pruner : str or pruner, default="auto"
        A method by its short name (see `all_pruners`), a pruner, or any scikit-learn selector.
        "auto" uses the method that performed best in our benchmark with ensembles of this kind,
        unless another method is significantly better in cross-validation on the validation
        samples.
    keep : int, float or str, optional
        Number of members to keep: a count, or a fraction such as 0.1 or "10%". Without ``keep``
        and without a budget, ``tolerance=0.005`` is used; a pruner object uses its own ``keep``.
    tolerance : float or str, optional
        Instead of ``keep``: maximum loss of the cross-validated score, such as 0.005 or "0.5%",
        compared with the full ensemble. The smallest sub-ensemble within the tolerance is kept. So
        that it is not selected by chance, nine in ten of the larger sub-ensembles (for a boosted
        model, all) must be within the tolerance too. Members are selected on four fifths of the
        samples and scored on the remaining fifth, five times.
    max_bytes : float or str, optional
        Instead of ``keep``: keep the largest sub-ensemble whose pickle has at most this many
        bytes; also text such as "20MB".
    max_latency : float or str, optional
        Instead of ``keep``: keep the largest sub-ensemble that predicts one sample within this
        many seconds; also text such as "10ms". The latency is estimated by a line that is fitted
        to timings with the model's own ``n_jobs``.
    cost, max_cost : array-like of shape (n_members,) and float, optional
        Instead of ``keep``: the cost of each member, and the maximum total cost of the kept
        members. Members are selected by gain per cost, by gain, or in the method's order,
        whichever has the best cross-validated score. With ``tolerance``, the lowest total cost
        within the tolerance is used.
    vote : {"auto", "labels"}, default="auto"
        How the accuracy is computed for ``tolerance``: with the ensemble's own vote, as in its
        ``predict``, or by counting the members' labels.
    scoring : str or callable, optional
        The score to optimise: a name of scikit-learn (``sklearn.metrics.get_scorer_names``) or
        ``scorer(estimator, X, y)``. It is used for ``tolerance``, for ``pruner="auto"``, for
        methods that have a ``scoring`` parameter, and in summaries. By default, accuracy for
        classifiers and R² for regressors. Scores that need probabilities use the mean of the
        members' probabilities, as the ensemble itself does. Predictions that are integers are
        taken as labels, unless this is a regression score.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the validation samples in scores. Methods that count labels ignore them when
        they select members.
    oob : bool, default=False
        Whether X contains the training samples. Each member's votes on its own training samples
        are then ignored (out-of-bag votes).
    classes, names : array-like, optional
        For predictions: the labels in the order of the probabilities (by default the columns of
        data frames, otherwise 0, 1, 2, …), and the names of the members.
    weights : bool or None, default=None
        Whether the kept members have weights in their vote. None uses the weights of methods that
        have them ("caruana"), False uses none. True optimises weights for the members of any
        method: each member counts once, and members that improve the score (the Brier score
        instead of accuracy) count several times.
    refit : bool, default=False
        Whether to refit the values in the leaves of the kept trees, so that their average
        approximates the full ensemble's average. For forests and bagged trees, classifiers and
        regressors. Splits do not change, nor does the original ensemble. Cannot be combined with
        weights.
    synthetic_ratio : float, default=20
        Number of synthetic samples for ``refit``, as a multiple of the samples of X. Each of them
        takes each feature from a sample or from a near neighbour of it, with probability ½. The
        full ensemble predicts their targets.
    X_unlabelled : array-like, optional
        Further samples for ``refit``, without labels. If X is a held-out validation set, pass the
        training samples: there are more of them, and synthetic samples based on them give the best
        results.
    n_jobs : int, optional
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the method and of the cross-validation folds.
    executor : concurrent.futures.Executor or Dask Client, optional
        Runs the work in parallel, for COMEP, joint error, DOMEP and EPFD. Wrap other methods in
        `EPFD`.
    callback : callable(done, total, best), optional
        Progress callback, here and in all functions with a ``callback``. It is called after each
        step of a stage (collecting votes, comparing methods, finding the size, selecting,
        refitting) with the number of steps done, their total, and the best value so far or None
        (`benchmark` passes the seconds left). Each stage counts from 1. An exception that it
        raises ends the run. Without a callback, a progress bar appears after two seconds in
        terminals and notebooks; the environment variable ``SECATEURS_PROGRESS=off`` turns it off.
    **parameters
        Parameters of a method given by name, such as ``diversity_weight=0.3``.

    Returns
    -------
    Pruning
        The pruned ensemble, and how its members were selected.

    See Also
    --------
    compare : Compare several methods and sizes by held-out scores.
    PrunedClassifier, PrunedRegressor : Fit and prune in one estimator, for pipelines.
    collect_votes : Collect the votes of all members, for pruners used on their own.

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
    if "n_made" in parameters:
        warnings.warn(
            "n_made was renamed to synthetic_ratio and will be removed in the next release. "
            "Pass synthetic_ratio.",
            FutureWarning,
            stacklevel=2,
        )
        synthetic_ratio = parameters.pop("n_made")
    if parameters:
        _check_parameter_names(parameters)
    with watch_progress(callback):
        problem = Problem.from_input(
            ensemble,
            X,
            y,
            oob=oob,
            n_jobs=n_jobs,
            scoring=scoring,
            sample_weight=sample_weight,
            classes=classes,
            names=names,
        )
        problem = problem.with_weighing(
            check_weights_option(weights, refit, problem.ensemble.is_sequential)
        )
        rng = check_random_state(random_state)
        budget = Budget.from_parameters(tolerance, max_bytes, max_latency, cost, max_cost)
        if budget.is_set and keep is not None:
            raise InputError(
                "{keep} cannot be combined with a budget. Leave out one or the other.", keep=keep
            )
        if keep is None and not budget.is_set and (pruner is None or isinstance(pruner, str)):
            budget = Budget(tolerance=DEFAULT_TOLERANCE)
        distributed = executor is not None
        method, reason = resolve_method(
            problem, pruner, parameters, keep, rng, distributed, random_state
        )
        if scoring is not None and getattr(method, "scoring", ...) is None:
            method.set_params(scoring=problem.scoring.given_scorer)
        budget.check_limits(problem)
        fit: Callable[..., BasePruner] = partial(
            fit_pruner, executor=executor, sample_weight=problem.sample_weight
        )
        by_cost = least_tolerance = None
        if budget.max_cost is not None:
            by_cost = select_by_cost(problem, method, budget, rng, vote, fit)
            method = by_cost.pruner
        else:
            if budget.is_set:
                keep, least_tolerance = SizeSearch(problem, method, rng).find_size(budget, vote)
            if keep is not None:
                method = method.with_keep(keep)
            fit(method, problem.predictions_for(method))
        if refit:
            kept = np.sort(method.member_indices_).tolist()
            samples = RefitSamples(
                problem.X, problem.predictions, problem.oob, X_unlabelled, synthetic_ratio
            )
            refitted = refit_ensemble(problem.ensemble, kept, samples, rng, problem.n_jobs)
            problem = replace(problem, refitted=refitted)
        return Pruning.of(
            problem,
            method,
            by_cost=by_cost,
            reason=reason,
            tolerance=budget.tolerance,
            least_tolerance=least_tolerance,
        )


def _check_parameter_names(parameters: Mapping[str, object]) -> None:
    """Raise an error for names that neither `prune` nor any method has, with a suggestion."""
    own = [name for name in inspect.signature(prune).parameters if name != "parameters"]
    of_methods = (name for pruner in all_pruners().values() for name in pruner._get_param_names())
    known = sorted({*own, *of_methods})
    for name in parameters:
        if name not in known:
            raise InputError(
                f"{name!r} is not a parameter of prune, nor of any method."
                f"{suggest_similar(name, known)} See help(secateurs.prune)."
            )
