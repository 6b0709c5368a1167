"""The best panel within every total cost: `frontier`, and the `Frontier` it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from secateurs._methods import DEFAULT_TOLERANCE
from secateurs.ensembles import CORRECTS
from secateurs.evaluation.alternatives import ReportSubject
from secateurs.evaluation.auto_method import resolve_method
from secateurs.evaluation.budget import Budget, budget_error
from secateurs.evaluation.cost_selection import (
    BudgetSearch,
    CostSelection,
    fitted_with_members,
    spread_costs,
)
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.panel_search import (
    Panel,
    PanelSearch,
    limit_with_rounding,
    panel_within,
)
from secateurs.evaluation.score_table import SizeCurve, cross_validate_selections, score_row
from secateurs.evaluation.selections import Selection
from secateurs.evaluation.tolerance import ToleratedLoss, smallest_tolerated_size
from secateurs.exceptions import BudgetError, InputError
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.problem import Problem
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.pruners import BasePruner
from secateurs.pruners.member_weights import check_weights_option
from secateurs.pruners.selector import fit_pruner
from secateurs.pruning import Pruning
from secateurs.pruning.sequential import panel_of_members
from secateurs.search import TIE
from secateurs.text_format import format_count, to_json_value
from secateurs.typing import FloatArray, JsonObject, RandomStateLike, Samples, ScoringOption
from secateurs.units import LOSS

_MOST_BOUNDS = 12  # total costs whose bound is computed; each takes up to a second
_CURVE = "panels"  # the name of the only curve


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
    cv: Any = None,
    groups: ArrayLike | None = None,
    sensitive_features: ArrayLike | str | None = None,
    oob: bool = False,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    positive: object = None,
    columns: str | None = None,
    weights: bool | None = None,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    callback: ProgressCallback | None = None,
) -> Frontier:
    """Find the best panel of members within every total cost.

    A panel is on the frontier if no panel with the same or a lower total cost has the same or a
    better score on the validation samples. With up to 16 members, or 20 if the table is small, all
    panels are scored, so that the frontier is exact; by scores other than accuracy, balanced
    accuracy, Brier score, squared error and R², with up to 10 or 12 members. With more members, it
    is the best that greedy selection in several orders and swaps of members find; for accuracy, an
    upper bound of the score of any panel is computed.

    The panels are selected on the validation samples, where their scores are too good. The scores
    to compare are cross-validated: the whole search is repeated in each fold.

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
    classes, names, positive, columns : optional
        How to read predictions, as for `prune`.
    weights : bool, optional
        Whether the weights of each panel's members are optimised, as for `prune`.
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
            cv=cv,
            groups=groups,
            sensitive_features=sensitive_features,
            classes=classes,
            names=names,
            positive=positive,
            columns=columns,
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
    plan = EvaluationPlan(search.problem, int(rng.randint(2**31)))
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


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The best panel within every total cost. Returned by `frontier`.

    Attributes
    ----------
    panels : list of Panel
        The panels, by ascending cost: ``members``, ``cost``, and ``score`` on the validation
        samples.
    is_exact : bool
        Whether all panels were scored, so that none is better on the validation samples.
    upper_bounds : ndarray of shape (n_panels,)
        A validation score that no panel of the same or a lower cost exceeds; NaN if it is unknown.
    problem : Problem
        The ensemble with its validation and test samples, and its costs.
    curve : SizeCurve
        Held-out scores of the panels; the last ones are those of the full ensemble.
    """

    plan: EvaluationPlan
    search: PanelSearch
    all_panels: list[Panel]
    panels: list[Panel]
    curve: SizeCurve
    upper_bounds: FloatArray
    max_group_loss: float | None = None

    @property
    def problem(self) -> Problem:
        """The ensemble with its validation and test samples, and its costs."""
        return self.search.problem

    @property
    def is_exact(self) -> bool:
        """Whether all panels were scored."""
        return self.search.is_exact

    @property
    def selection(self) -> Selection:
        """The panels with their weights."""
        return self.curve.selection

    def table(self) -> pd.DataFrame:
        """Return the frontier as a table, the cheapest panel first.

        Returns
        -------
        pandas.DataFrame
            Columns:

            - ``cost``, the total cost of the panel; ``members``, their number; ``names``, and
              ``weights`` if members have weights.
            - ``validation_score``, on the samples that the panel was selected on.
            - The held-out score, under its name, and its ``standard_error``; ``change`` against
              the full ensemble on the same samples, and its 95 % interval from ``low`` to
              ``high``. In cross-validation, it is the score of the panels that the same search
              selects within this cost in each fold.
            - The other scores of ``scoring``.
            - ``worst_subgroup``, the score of the worst subgroup, ``subgroup_gap``, the largest
              difference between subgroups, and ``subgroup_loss``, the largest loss of a subgroup
              compared with the full ensemble, if there are ``sensitive_features``.
            - ``upper_bound``, a validation score that no panel within the cost exceeds (missing if
              it is unknown), and ``is_optimal``, whether the panel reaches it.
            - ``cost_in_turn``, the expected cost per sample if members are asked until the vote is
              decided, see `Pruning.sequential`. Missing for regression.
        """
        rows = []
        for index, panel in enumerate(self.panels):
            weights = self.selection.weights.get(index + 1)
            row: JsonObject = {"cost": panel.cost, "members": len(panel.members)}
            row["names"] = [str(self.problem.ensemble.member_names[m]) for m in panel.members]
            if self.problem.weighing:
                row["weights"] = None if weights is None else weights.tolist()
            row |= {"validation_score": panel.score} | self._held_out_row(index)
            bound = float(self.upper_bounds[index])
            row |= {"upper_bound": bound, "is_optimal": bool(panel.score >= bound - TIE)}
            rows.append(row | {"cost_in_turn": self._costs_in_turn[index]})
        return pd.DataFrame(rows)

    def _held_out_row(self, index: int) -> JsonObject:
        """Return the held-out scores of a panel."""
        problem = self.problem
        score = score_row(self.curve.main_score, index)
        row: JsonObject = {problem.scoring.key: score.pop("value")} | score
        for scoring in problem.other_scorings:
            row[scoring.key] = float(self.curve.score(scoring.key).values[index])
        if self.curve.subgroups:
            key = problem.scoring.key
            curves = [self.curve.scores[key, name] for name in self.curve.subgroups]
            values = [float(curve.values[index]) for curve in curves]
            row["worst_subgroup"] = float(np.nanmin(values))
            row["subgroup_gap"] = float(np.nanmax(values) - np.nanmin(values))
            row["subgroup_loss"] = float(self._subgroup_losses[index])
        return row

    @cached_property
    def _subgroup_losses(self) -> FloatArray:
        """The largest loss of a subgroup compared with the full ensemble, by panel."""
        key, n_panels = self.problem.scoring.key, len(self.panels)
        losses = [-self.curve.scores[key, name].change[:n_panels] for name in self.curve.subgroups]
        return np.nanmax(losses, axis=0)

    @cached_property
    def _costs_in_turn(self) -> list[float]:
        """The expected cost per sample of each panel if members are asked in turn."""
        if self.problem.is_regression:
            return [np.nan] * len(self.panels)
        return [
            panel_of_members(
                self.problem,
                np.array(panel.members),
                weights=self.selection.weights.get(index + 1),
            ).expected_cost
            for index, panel in enumerate(self.panels)
        ]

    def at(self, max_cost: float | None = None, *, tolerance: float | str | None = None) -> Pruning:
        """Return the pruning to the best panel within a total cost.

        Parameters
        ----------
        max_cost : float, optional
            The maximum total cost.
        tolerance : float or str, optional
            Maximum loss of the held-out score compared with the best panel or the full ensemble:
            the cheapest panel within it is returned. Without ``max_cost``, 0.005 by default.

        Returns
        -------
        Pruning
        """
        budget = Budget(LOSS.read_parameter("tolerance", tolerance), max_cost=max_cost)
        budget.check_limits(self.problem)
        limit = np.inf if max_cost is None else limit_with_rounding(max_cost)
        assert self.problem.cost is not None
        if not self.problem.cost.min() <= limit:
            raise budget_error("max_cost", self.problem, budget)
        allowed = [index for index, panel in enumerate(self.panels) if panel.cost <= limit]
        if max_cost is None and tolerance is None:
            budget = replace(budget, tolerance=DEFAULT_TOLERANCE)
        panel = panel_within([p for p in self.all_panels if p.cost <= limit], np.inf)
        if self.max_group_loss is not None:
            allowed = self._within_group_loss(allowed)
            panel = self.panels[allowed[-1]]
        if budget.tolerance is not None:
            assert not isinstance(budget.tolerance, Mapping)
            panel = self.panels[self._cheapest_tolerated(allowed, budget.tolerance)]
        return self._pruning(panel, budget)

    def _within_group_loss(self, indices: Sequence[int]) -> list[int]:
        assert self.max_group_loss is not None
        losses = self._subgroup_losses
        within = [index for index in indices if losses[index] <= self.max_group_loss + TIE]
        if not within:
            raise BudgetError(
                f"No panel within this cost meets {{max_group_loss}}: the smallest loss is "
                f"{float(np.min(losses[list(indices)])):.4f}. Pass a larger cost or loss.",
                max_group_loss=self.max_group_loss,
            )
        return within

    def _cheapest_tolerated(self, indices: Sequence[int], tolerance: float) -> int:
        """Return the index of the cheapest panel within the tolerance of the best one."""
        scores = self.curve.main_score.values[list(indices)]
        limits = [ToleratedLoss(self.problem.scoring.key, scores, tolerance)]
        found = smallest_tolerated_size(np.arange(len(indices)), limits, relative_to="best")
        assert found is not None  # the best panel itself is within any tolerance
        return indices[found.size]

    def _pruning(self, panel: Panel, budget: Budget) -> Pruning:
        problem = self.problem
        fit = partial(fit_pruner, sample_weight=problem.sample_weight)
        fitted = fitted_with_members(self.search, panel.members, fit)
        stored = replace(self.search, problem=problem.without_samples())
        limit = panel.cost if budget.max_cost is None else budget.max_cost
        is_tolerated = budget.tolerance is not None
        selected = CostSelection(
            fitted,
            stored,
            budget.max_cost,
            panel.cost if is_tolerated else limit,
            self.is_exact,
            is_tolerated=is_tolerated,
        )
        return Pruning.of(problem, fitted, by_cost=selected, tolerance=budget.tolerance)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the figures."""
        n_members = format_count(self.problem.n_members, "member")
        if self.is_exact:
            how = f"All panels of the {n_members} were scored on the validation samples."
        else:
            how = (
                f"The {n_members} have too many panels to score all of them: panels were found by "
                "greedy selection and swaps, and better panels may exist."
            )
        return (how, self.plan.description)

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Write an HTML report of the frontier, which describes the panel of `at` in detail.

        Parameters
        ----------
        path : str or path-like
            The file to write.
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
        return write_report(report_data(self), path, force=force)

    def featured(self, *samples: object, **options: object) -> ReportSubject:
        """Return the panel of `at` with the whole frontier; used by reports."""
        if any(value is not None for value in (*samples, *options.values())):
            raise InputError(
                "A frontier has its own test set. Pass {X_test} and {y_test} to frontier.",
                X_test=...,
                y_test=...,
            )
        problem, pruning = self.problem, self.at()
        subject = pruning.featured(problem.X_test, problem.y_test, X=problem.X)
        return subject._replace(frontier=self.to_json())

    def to_json(self) -> JsonObject:
        """Return the frontier as JSON values, with scores as they are displayed."""
        scoring, rows = self.problem.scoring, []
        for row in self.table().to_dict("records"):
            shown = {
                name: scoring.display_score(float(row[name]))
                for name in ("validation_score", "upper_bound")
            }
            rows.append(
                {name: row[name] for name in ("cost", "members", "names", "is_optimal")}
                | shown
                | {"score": scoring.display_score(float(row[scoring.key]))}
                | {"half_width": NORMAL_97_5 * float(row["standard_error"])}
                | {"cost_in_turn": row["cost_in_turn"]}
                | {"worst_subgroup": row.get("worst_subgroup")}
            )
        full = float(self.curve.main_score.values[-1])
        assert self.problem.cost is not None
        values: JsonObject = to_json_value(
            {
                "rows": rows,
                "full": {
                    "cost": float(self.problem.cost.sum()),
                    "score": scoring.display_score(full),
                },
                "notes": list(self.notes),
            }
        )
        return values

    def __repr__(self) -> str:
        how = "exact" if self.is_exact else "found by search"
        return (
            f"Frontier({format_count(len(self.panels), 'panel')} of "
            f"{format_count(self.problem.n_members, 'member')}, {how}: cost "
            f"{self.panels[0].cost:g} to {self.panels[-1].cost:g})"
        )

    def _repr_html_(self) -> str:
        from secateurs.report.html_templates import notes_list
        from secateurs.report.sections import frontier as section

        scoring = self.problem.scoring
        table = section.frontier_table(self.to_json(), scoring.label)
        return str(table.__html__()) + str(notes_list(self.notes))
