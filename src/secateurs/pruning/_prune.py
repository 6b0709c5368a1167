"""Prune a fitted ensemble: `prune` selects the method, the size and the members."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from secateurs._methods import AUTO, DEFAULT_TOLERANCE
from secateurs.evaluation.auto_method import resolve_method
from secateurs.evaluation.budget import Budget
from secateurs.evaluation.cost_selection import select_by_cost
from secateurs.evaluation.default_size import DefaultSize
from secateurs.evaluation.exchangeable import select_exchangeable
from secateurs.evaluation.guards import describe_collapses, warn_alarms
from secateurs.evaluation.held_out_figures import cross_validated_scores, selection_figures
from secateurs.evaluation.size_search import SizeSearch
from secateurs.exceptions import InputError, unknown_parameter_error
from secateurs.problem import Problem
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.pruners import BasePruner, all_pruners
from secateurs.pruners.member_weights import check_weights_option
from secateurs.pruners.parameters import check_option
from secateurs.pruners.selector import fit_pruner
from secateurs.pruning._pruning import Pruning
from secateurs.pruning.refit_options import (
    BranchesLike,
    RefitLike,
    RefitOptions,
    prune_to_default_size,
    refit_members,
    take_synthetic_ratio,
)
from secateurs.pruning.size_limits import prune_to_size
from secateurs.typing import ExecutorLike, MissingRule, RandomStateLike, Samples, ScoringOption

VOTE_OPTIONS = ("auto", "labels")


def prune(
    ensemble: object,
    X: Samples = None,
    y: ArrayLike | None = None,
    pruner: str | BasePruner = AUTO,
    keep: int | float | str | None = None,
    *,
    tolerance: float | str | Mapping[str, float | str] | None = None,
    relative_to: str = "best",
    max_bytes: float | str | None = None,
    max_latency: float | str | None = None,
    cost: ArrayLike | Mapping[str, float] | None = None,
    max_cost: float | None = None,
    max_group_loss: float | str | None = None,
    vote: str = "auto",
    scoring: ScoringOption = None,
    sample_weight: ArrayLike | None = None,
    cv: Any = None,
    groups: ArrayLike | None = None,
    sensitive_features: ArrayLike | str | None = None,
    oob: bool = False,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    positive: object = None,
    columns: str | None = None,
    missing: MissingRule | None = None,
    weights: bool | None = None,
    exchangeable: bool = False,
    refit: RefitLike = None,
    X_unlabelled: Samples = None,
    branches: BranchesLike = "auto",
    max_nodes: int | None = None,
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
        pipeline or fitted search around such an ensemble, or a list or dict of classifiers or of
        regressors. If these are not fitted, members are selected by out-of-fold predictions in the
        folds of ``cv`` and ``groups``, and copies of all of them are fitted to all samples. Or
        predictions, without X: labels or values (samples × members),
        probabilities (samples × members × classes, or of one of two classes: samples × members),
        or a dict or list with one array, Series or data frame per member. NaN, None and masked
        entries are missing predictions.
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
        Number of members to keep: a count, or a fraction such as 0.1 or "10%". A pruner object
        uses its own ``keep``. Without ``keep`` and without a budget, as with ``keep="auto"``, the
        fewest members are kept that preserve the predictions of the full ensemble: a random draw
        of that many changes them by at most 1.5 % of their variance (1 % for votes by labels), and
        raises the Brier score or squared error by at most 10 %. More members are kept if the
        cross-validated Brier score or squared error is more than 5 % above that of the full
        ensemble. Of a boosted model, the first rounds are kept from which on its predictions
        hardly change. Of a library of different models, the size with the best cross-validated
        score is kept, or more members if a class is rare. ``Pruning.size_reason`` says what
        decided.
    tolerance : float, str or dict, optional
        Instead of ``keep``: maximum loss of the cross-validated score, such as 0.005 or "0.5%",
        compared with the reference of ``relative_to``. The smallest sub-ensemble within the
        tolerance is kept. So that it is not selected by chance, nine in ten of the larger
        sub-ensembles up to the reference (for a boosted model, all) must be within the tolerance
        too. A dict has a tolerance for each of several scores, such as ``{"accuracy": 0.005,
        "neg_brier_score": 0.01}``. All of them must hold; ``Pruning.decided_by`` is the score that
        needs the most members.
    relative_to : {"best", "full"}, default="best"
        The reference of ``tolerance`` and ``max_group_loss``: the better of the full ensemble and
        the size with the best cross-validated score, or the full ensemble.
    max_bytes : float or str, optional
        Instead of ``keep``: keep the largest sub-ensemble whose pickle has at most this many
        bytes; also text such as "20MB".
    max_latency : float or str, optional
        Instead of ``keep``: keep the largest sub-ensemble that predicts one sample within this
        many seconds; also text such as "10ms". The latency is estimated by a line that is fitted
        to repeated timings with the model's own ``n_jobs``; ``Pruning.decided_by`` has the result.
    cost, max_cost : array-like of shape (n_members,) or dict, and float, optional
        The cost of each member, in their order or by name, such as the price of a query, and
        instead of ``keep`` the maximum total cost of the kept members. The panel with the best
        validation score within the cost is kept: of all panels if there are up to 16 members (20 if
        the table is small, 10 or 12 for scores that take long); otherwise the best panel that
        greedy selection in several orders and swaps of members find. A larger ``max_cost`` never
        gives a panel with a lower validation score. Without ``max_cost``, or with ``tolerance``,
        the lowest total cost within the tolerance (0.005 by default) is used. With ``keep``, costs
        are only reported. See `frontier` for all total costs at once.
    max_group_loss : float or str, optional
        Instead of ``keep``: maximum loss of the cross-validated score in any subgroup of
        ``sensitive_features``, in addition to ``tolerance``.
    vote : {"auto", "labels"}, default="auto"
        How the accuracy is computed for ``tolerance``: with the ensemble's own vote, as in its
        ``predict``, or by counting the members' labels.
    scoring : str, callable, list or dict, optional
        The score to optimise: a name of scikit-learn (``sklearn.metrics.get_scorer_names``) or
        ``scorer(estimator, X, y)``. It is used for ``tolerance``, for ``pruner="auto"``, for
        methods that have a ``scoring`` parameter, and in summaries. By default, accuracy for
        classifiers and R² for regressors. Of several scores in a list, or in a dict with a name
        for each, the first is optimised and all are reported. Scores that need probabilities use
        the mean of the members' probabilities, as the ensemble itself does. Predictions that are
        integers are taken as labels, unless this is a regression score.

        A function receives the rows of X to score, and an estimator with ``predict``,
        ``predict_proba``, ``predict_log_proba`` and ``decision_function`` (log odds). For the rows
        of X, the estimator returns stored predictions, which are out-of-bag with ``oob``. For
        other samples, such as permuted ones, the sub-ensemble predicts. For predictions, X is the
        table of predictions, unless X is passed.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the validation samples in scores. Methods that count labels ignore them when
        they select members.
    cv : int, splitter or iterable, optional
        The cross-validation folds for everything that is cross-validated, as in scikit-learn's
        ``cross_validate``: a number of folds, a splitter such as ``TimeSeriesSplit()``, or pairs
        of training and held-out indices. By default, five stratified folds.
    groups : array-like of shape (n_samples,), optional
        The group of each sample, such as a patient with several samples. Samples of a group are
        never in both parts of a fold, and standard errors are clustered by group.
    sensitive_features : array-like of shape (n_samples,) or str, optional
        The subgroup of each sample, or the name of a column of X. Summaries and reports then have
        the scores of each subgroup, of the worst subgroup, and the largest gap between subgroups.
        Samples without a value are a subgroup.
    oob : bool, default=False
        Whether X contains the training samples. Each member's votes on its own training samples
        are then ignored (out-of-bag votes). Not for predictions.
    classes, names : array-like, optional
        For predictions: the labels in the order of the probabilities (by default the columns of
        data frames, otherwise 0, 1, 2, …), and the names of the members.
    positive : label, optional
        For predictions of a binary task: the class whose probability is given, if there is one
        column per member. By default, numbers from 0 to 1 that are not labels are read as
        probabilities of the larger of two numeric labels. Text labels need this parameter.
    columns : str, optional
        For predictions in a data frame or dict: the pattern of the column names, such as
        ``"{model}_{class}"`` for a probability of each class, or ``"oof_{model}"`` to read only
        columns with these names. Columns named ``model:class`` are recognised without it.
    missing : {"wrong", "ignore"}, optional
        What a missing prediction means. "wrong", the default for predictions: an abstention, which
        is not correct. Scores count a sample that no member predicts as wrong. "ignore", the
        default for ``oob``: members are compared on the samples that they predict.
    weights : bool or None, default=None
        Whether the kept members have weights in their vote. None uses the weights of methods that
        have them ("caruana"), False uses none. True optimises weights for the members of any
        method: each member counts once, and members that improve the score (the Brier score
        instead of accuracy) count several times.
    exchangeable : bool, default=False
        Whether the members are exchangeable, such as samples of one language model: any k members
        are equally good. The question is then how many members to ask. Their number is the fewest
        whose expected accuracy, over all sets of that many members, is within ``tolerance`` (0.005
        by default), and the first members are kept. ``Pruning.expected_votes`` has the expected
        accuracy of every number of members. Only for labels.
    refit : {"auto", True, False}, LeafRefit or None, default=None
        Whether to refit the values in the leaves of the kept trees, so that their average
        approximates the full ensemble, corrected by the labels. For forests and bagged trees,
        classifiers and regressors. Splits do not change, nor does the original ensemble. "auto"
        refits if that reduces the Brier score or squared error by an honest estimate. None is
        "auto" with ``pruner="auto"``, and False with a method that you name. `LeafRefit` holds
        parameters. Cannot be combined with weights. With ``keep=1.0``, all trees are kept and
        corrected.
    X_unlabelled : array-like, optional
        Further samples for ``refit``, without labels. If X is a held-out validation set, pass the
        training samples: there are more of them, and synthetic samples based on them give the best
        results.
    branches : {"auto", True, False}, default="auto"
        Whether to prune branches of trees to meet ``max_bytes``, ``max_nodes`` or ``max_latency``,
        if the trees are refitted: more trees with fewer nodes each often predict better than few
        whole trees. "auto" does so if it imitates the full ensemble better. For ``max_latency``,
        the steps of samples are limited instead of nodes, which saves time only in large trees.
    max_nodes : int, optional
        Instead of ``keep``: the maximum number of nodes of all trees together.
    n_jobs : int, optional
        Number of threads that collect votes and compare methods. Results do not depend on it.
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
    refit = take_synthetic_ratio(refit, parameters)
    options = RefitOptions.from_parameters(
        refit, X_unlabelled, branches, max_nodes, pruner, bool(weights)
    )
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
            cv=cv,
            groups=groups,
            sensitive_features=sensitive_features,
            classes=classes,
            names=names,
            positive=positive,
            columns=columns,
            missing=missing,
            cost=cost,
        )
        problem = problem.with_weighing(
            check_weights_option(weights, options.is_forced, problem.ensemble.is_sequential)
        )
        rng = check_random_state(random_state)
        budget = Budget.from_parameters(
            tolerance,
            max_bytes,
            max_latency,
            None if keep is not None or cost is None else problem.cost,  # else only reported
            max_cost,
            max_group_loss,
            relative_to,
        )
        problem = problem.with_tolerance_scores(budget.tolerance)
        if exchangeable:
            return _prune_exchangeable(problem, pruner, keep, budget)
        is_sized = options.is_sized(budget)
        has_budget = budget.is_set or is_sized
        if has_budget and keep is not None:
            raise InputError(
                "{keep} cannot be combined with a budget. Leave out one or the other.", keep=keep
            )
        is_default = not has_budget and (
            keep == AUTO or (keep is None and (pruner is None or isinstance(pruner, str)))
        )
        keep = None if is_default else keep
        # A user who names a number of members expects a loss; the summary shows it.
        is_size_given = keep is not None or not (pruner is None or isinstance(pruner, str))
        if budget.needs_tolerance:
            budget = replace(budget, tolerance=DEFAULT_TOLERANCE)
        method, reason = resolve_method(
            problem, pruner, parameters, keep, rng, executor is not None, random_state
        )
        if scoring is not None and getattr(method, "scoring", ...) is None:
            method.set_params(scoring=problem.scoring.given_scorer)
        budget.check_limits(problem)
        fit: Callable[..., BasePruner] = partial(
            fit_pruner, executor=executor, sample_weight=problem.sample_weight
        )
        by_cost, found, size_reason = None, None, ""
        if budget.cost is not None:
            by_cost = select_by_cost(problem, method, budget, rng, vote, fit)
            method = by_cost.pruner
            problem = refit_members(problem, method, options, rng)
        elif is_sized and options.limits_trees(problem.ensemble):
            problem, method, found = prune_to_size(problem, method, options, budget, vote, fit, rng)
        elif is_default:
            if problem.scoring.given_scorer is not None:
                budget = replace(budget, tolerance=DEFAULT_TOLERANCE)
            default = DefaultSize(SizeSearch(problem, method, rng), budget, vote)
            problem, method, size_reason = prune_to_default_size(default, options, fit, rng)
        else:
            if budget.is_set:
                found = SizeSearch(problem, method, rng).find_size(budget, vote)
                keep = found.size
            if keep is not None:
                method = method.with_keep(keep)
            fit(method, problem.predictions_for(method))
            problem = refit_members(problem, method, options, rng)
        pruning = Pruning.of(
            problem,
            method,
            by_cost=by_cost,
            reason="" if by_cost else reason,  # no method finds panels within a cost
            tolerance=budget.tolerance,
            least_tolerance=None if found is None else found.least_tolerance,
            decided_by="" if found is None else found.decided_by,
            size_reason=size_reason,
        )
    if not is_size_given:
        _warn_of_collapses(pruning, problem.X, has_budget and budget.tolerance is not None)
    return pruning


def _warn_of_collapses(pruning: Pruning, X: Samples, has_tolerance: bool) -> None:
    """Warn if scores of probabilities, other than ``scoring``, became much worse."""
    problem, pruner = pruning.problem, pruning.pruner
    figures = selection_figures(problem, pruner, X)
    collapses = describe_collapses(problem, figures)
    # The default size has a guard on the cross-validated Brier score, and a tolerance of another
    # score has none. Cross-validated scores of refitted members are those before refitting.
    if figures and not collapses and has_tolerance and problem.refitted is None:
        with suppress(InputError):  # too few samples or out-of-bag votes for five folds
            scores = cross_validated_scores(problem, pruner, pruning.by_cost)
            # Not of the log loss, which single samples without any right vote can double.
            scores = {name: scores[name] for name in figures if name in scores}
            collapses = describe_collapses(problem, scores)
    warn_alarms(collapses)


def _prune_exchangeable(
    problem: Problem, pruner: str | BasePruner, keep: int | float | str | None, budget: Budget
) -> Pruning:
    """Return the pruning to the first of exchangeable members."""
    selected = select_exchangeable(problem, pruner, keep, budget)
    return Pruning.of(
        problem,
        selected.pruner,
        tolerance=budget.tolerance,
        size_reason=selected.reason,
        expected_votes=selected.expected,
    )


def _check_parameter_names(parameters: Mapping[str, object]) -> None:
    """Raise an error for names that neither `prune` nor any method has, with a suggestion."""
    if not parameters:
        return
    own = [name for name in inspect.signature(prune).parameters if name != "parameters"]
    of_methods = (name for pruner in all_pruners().values() for name in pruner._get_param_names())
    known = sorted({*own, *of_methods})
    for name in parameters:
        if name not in known:
            raise unknown_parameter_error("prune", name, known, ", nor of any method")
