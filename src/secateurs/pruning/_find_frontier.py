"""`frontier`: find the best panel within every total cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from secateurs.ensembles import CORRECTS
from secateurs.evaluation.auto_method import resolve_method
from secateurs.evaluation.budget import Budget
from secateurs.evaluation.cost_selection import BudgetSearch, spread_costs
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.panel_search import Panel, PanelSearch, panel_within
from secateurs.evaluation.score_table import cross_validate_selections
from secateurs.exceptions import InputError, check_parameter_names
from secateurs.problem import Problem
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.pruners import BasePruner
from secateurs.pruners.member_weights import check_weights_option
from secateurs.pruning.cost_frontier import Frontier
from secateurs.typing import FloatArray, MissingRule, RandomStateLike, Samples, ScoringOption
from secateurs.units import LOSS

_MOST_BOUNDS = 12  # total costs whose bound is computed; each takes up to a second
_CURVE = "panels"  # the name of the only curve


@check_parameter_names
def frontier(
    ensemble: object,
    X: Samples = None,
    y: ArrayLike | None = None,
    *,
    cost: ArrayLike | Mapping[str, float] | None = None,
    pruner: str | BasePruner = "joint",
    max_group_loss: float | str | None = None,
    X_test: Samples = None,
    y_test: ArrayLike | None = None,
    scoring: ScoringOption = None,
    sample_weight: ArrayLike | None = None,
    sample_weight_test: ArrayLike | None = None,
    cv: Any = None,
    groups: ArrayLike | None = None,
    sensitive_features: ArrayLike | str | None = None,
    sensitive_features_test: ArrayLike | str | None = None,
    oob: bool = False,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    positive: object = None,
    columns: str | None = None,
    missing: MissingRule | None = None,
    weights: bool | None = None,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    callback: ProgressCallback | None = None,
) -> Frontier:
    """Find the best panel of members within every total cost.

    A panel is on the frontier if no panel with the same or a lower total cost has the same or a
    better score on the validation samples. With up to 16 members, or 20 if the table is small, all
    panels are scored, so that the frontier is exact. The limit is 10 or 12 members for
    scores other than accuracy, balanced accuracy, Brier score, squared error and R². With more
    members, panels are found by greedy selection in several orders and by swaps of members; for
    accuracy, an upper bound of the score of any panel is computed.

    The panels are selected on the validation samples, where their scores are too good. Compare
    panels by the cross-validated scores, for which the search is repeated in each fold.

    Parameters
    ----------
    ensemble, X, y
        A fitted ensemble with validation samples, or predictions, as for `prune`.
    cost : array-like of shape (n_members,) or dict, optional
        The cost of each member, in their order or by name, such as the price of a query. By
        default each member costs 1.
    pruner : str or pruner, default="joint"
        A method whose order of members is one of the orders of the search.
    max_group_loss : float or str, optional
        Maximum loss of the score in any subgroup of ``sensitive_features`` compared with the full
        ensemble. `Frontier.at` then returns only panels within it.
    X_test, y_test : array-like, optional
        A test set to score the panels on instead of cross-validation.
    scoring, sample_weight, cv, groups, sensitive_features, oob : optional
        As for `prune`.
    sample_weight_test, sensitive_features_test : array-like, optional
        Weights and subgroups of the test samples, as for `compare`.
    classes, names, positive, columns : optional
        How to read predictions, as for `prune`.
    missing : {"wrong", "ignore"}, optional
        What a missing prediction means, as for `prune`.
    weights : bool, optional
        Whether the weights of each panel's members are optimised, as for `prune`, after the panel
        was selected. The held-out scores are those with weights.
    n_jobs : int, optional
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the method and of the cross-validation folds.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`.

    Returns
    -------
    Frontier
        The panels with their costs and scores.

    See Also
    --------
    prune : Prune to one total cost, or to the cheapest panel within a tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs import frontier
    >>> y = np.arange(60) % 2
    >>> votes = np.stack([y, (y + (np.arange(60) % 3 == 0)) % 2, np.zeros(60, dtype=int)], axis=1)
    >>> found = frontier(votes, y=y, cost=[5, 2, 1], random_state=0)
    >>> found.table()[["cost", "members", "validation_score", "is_optimal"]]
       cost  members  validation_score  is_optimal
    0   1.0        1          0.500000        True
    1   2.0        1          0.666667        True
    2   5.0        1          1.000000        True
    """
    rng = check_random_state(random_state)
    with watch_progress(callback):
        problem = Problem.from_input(
            ensemble,
            X,
            y,
            X_test=X_test,
            y_test=y_test,
            oob=oob,
            n_jobs=n_jobs,
            scoring=scoring,
            sample_weight=sample_weight,
            sample_weight_test=sample_weight_test,
            cv=cv,
            groups=groups,
            sensitive_features=sensitive_features,
            sensitive_features_test=sensitive_features_test,
            classes=classes,
            names=names,
            positive=positive,
            columns=columns,
            missing=missing,
            cost=cost,
        )
        if problem.ensemble.is_sequential:
            raise InputError(
                f"A frontier cannot select among the rounds of a boosted model: {CORRECTS}. Use "
                "prune."
            )
        if problem.cost is None:
            problem = replace(problem, cost=np.ones(problem.n_members))
        problem = problem.with_weighing(check_weights_option(weights, False, False))
        loss = LOSS.read_parameter("max_group_loss", max_group_loss)
        Budget(max_group_loss=loss).check_limits(problem)
        method, _ = resolve_method(problem, pruner, {}, None, rng, False, random_state)
        assert problem.cost is not None
        search = PanelSearch(problem, problem.cost, method)
        return _cross_validate_front(search, loss, rng)


def _cross_validate_front(
    search: PanelSearch, max_group_loss: float | None, rng: np.random.RandomState
) -> Frontier:
    """Return the frontier of a search, with held-out scores and bounds."""
    front = search.front()
    limits = spread_costs([panel.cost for panel in front])
    panels = [panel_within(front, limit) for limit in limits]
    assert search.pruner is not None
    sizes = BudgetSearch(search.problem, search.pruner, rng, search, limits)
    plan = EvaluationPlan(search.problem, rng)
    curves = cross_validate_selections(
        plan,
        {_CURVE: sizes.select_all},
        sizes.sizes.tolist(),
        {_CURVE: sizes.selection_of(search.problem, [panel.members for panel in panels])},
        title="evaluating panels",
    )
    bounds = _upper_bounds(search, limits, front)
    return Frontier(plan, search, front, panels, curves[_CURVE], bounds, max_group_loss)


def _upper_bounds(
    search: PanelSearch, limits: Sequence[float], front: Sequence[Panel]
) -> FloatArray:
    """Return bounds for all total costs; a bound holds for all lower costs as well."""
    if search.is_exact:
        return np.array(search.upper_bounds(limits, front))
    indices = np.unique(np.linspace(0, len(limits) - 1, _MOST_BOUNDS).round().astype(int))
    known = np.array(search.upper_bounds([limits[index] for index in indices], front))
    return known[np.searchsorted(indices, np.arange(len(limits)))]
