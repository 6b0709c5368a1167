"""`Frontier`: the best panel within every total cost, with its figures. Returned by `frontier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd

from secateurs._methods import DEFAULT_TOLERANCE
from secateurs.evaluation.alternatives import ReportSubject
from secateurs.evaluation.budget import Budget, budget_error
from secateurs.evaluation.cost_selection import (
    CostSelection,
    affordable_full_panel,
    fitted_with_members,
)
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.panel_search import Panel, PanelSearch, limit_with_rounding, panel_within
from secateurs.evaluation.score_table import SizeCurve, score_row
from secateurs.evaluation.selections import Selection
from secateurs.evaluation.tolerance import ToleratedLoss, smallest_tolerated_size
from secateurs.exceptions import BudgetError, InputError
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.problem import Problem
from secateurs.pruners.selector import fit_pruner
from secateurs.pruning._pruning import Pruning
from secateurs.pruning.sequential import panel_of_members
from secateurs.search import TIE
from secateurs.text_format import format_count, to_json_value
from secateurs.typing import FloatArray, JsonObject
from secateurs.units import LOSS


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
            - ``validation_score``, on the samples that the panel was selected on. Like
              ``upper_bound``, it is that of the panel before its weights are optimised.
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
        if isinstance(tolerance, Mapping):
            raise InputError(
                "{tolerance} has several scores, but panels are compared by the first one. Pass a "
                "number.",
                tolerance=tolerance,
            )
        budget = Budget(LOSS.read_parameter("tolerance", tolerance), max_cost=max_cost)
        budget.check_limits(self.problem)
        total = np.inf if max_cost is None else max_cost
        limit = limit_with_rounding(total)
        assert self.problem.cost is not None
        if not self.problem.cost.min() <= limit:
            raise budget_error("max_cost", self.problem, budget)
        allowed = [index for index, panel in enumerate(self.panels) if panel.cost <= limit]
        if max_cost is None and tolerance is None:
            budget = replace(budget, tolerance=DEFAULT_TOLERANCE)
        panel = panel_within(self.all_panels, total)
        if self.max_group_loss is not None:
            allowed = self._within_group_loss(allowed)
            panel = self.panels[allowed[-1]]
        keeps_all = False
        if budget.tolerance is not None:
            panel, keeps_all = self._cheapest_tolerated(allowed, budget)
        return self._pruning(panel, budget, keeps_all)

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

    def _cheapest_tolerated(self, indices: Sequence[int], budget: Budget) -> tuple[Panel, bool]:
        """Return the cheapest panel within the tolerance of the best panel or all members.

        The second value is whether only the full ensemble is within the tolerance.
        """
        scoring, tolerance = self.problem.scoring, budget.tolerance
        assert tolerance is not None
        assert not isinstance(tolerance, Mapping)
        scores = self.curve.main_score.values[[*indices, -1]]
        limits = [ToleratedLoss(scoring.key, scores, tolerance)]
        found = smallest_tolerated_size(np.arange(len(scores)), limits, 0.0, relative_to="best")
        assert found is not None  # the best panel itself is within any tolerance
        if found.size < len(indices):
            return self.panels[indices[found.size]], False
        return affordable_full_panel(self.search, budget, scoring, scores), True

    def _pruning(self, panel: Panel, budget: Budget, keeps_all: bool) -> Pruning:
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
            keeps_all=keeps_all,
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
        return (*self.problem.ensemble.notes, how, self.plan.description)

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
