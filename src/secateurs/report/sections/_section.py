"""What a section of the page is, and what its numbers are worked out from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from markupsafe import Markup
from sklearn.utils import check_random_state

from secateurs.evaluation import before_after
from secateurs.evaluation.alternatives import ReportSubject, diversity_sweep_pruner
from secateurs.evaluation.before_after import BeforeAfter
from secateurs.evaluation.budget import full_ensemble_latency, make_predictor
from secateurs.evaluation.latency import Latency
from secateurs.evaluation.member_diagnostics import MOST_LIVE
from secateurs.evaluation.size_curves import full_ensemble_vote
from secateurs.labels import merge_classes
from secateurs.pruners import COMEP
from secateurs.report.html_templates import HtmlTable, capitalise_first, template_environment
from secateurs.typing import Array

JsonObject = dict[str, Any]


class ReportContext:
    """A choice to report, with what several sections need of it, worked out once.

    ``command`` is the beginning of the command line that makes such a choice.
    """

    def __init__(self, featured: ReportSubject, command: Sequence[str] | None = None) -> None:
        self.command = command
        self.evaluation, self.pruner, self.method_name, self.keep, self.leaderboard, known = (
            featured
        )
        self._latency, self.evaluation_plan = known, self.evaluation.split
        self.problem = self.evaluation.problem.with_pruner_weights(self.pruner)
        self.curve = self.evaluation.curves[self.method_name]
        self.kept_members: list[int] = self.pruner.member_indices_.tolist()
        self.predictions, self.evaluation_predictions = (
            self.problem.predictions,
            self.evaluation_plan.scored_samples.votes,
        )
        self.classes = merge_classes(self.predictions.classes, self.evaluation_predictions.classes)

    @cached_property
    def predicted_codes(self) -> tuple[Array, Array]:
        """The codes that all and the kept members vote for on the rows judged on.

        They are predicted by the models themselves where there are models and test rows.
        """
        rows, problem = self.evaluation_plan.scored_samples, self.problem
        if not problem.has_test_set or problem.has_only_predictions:
            return full_ensemble_vote(rows), self.curve.predicted_codes[self.keep]
        both = (
            (problem.ensemble, range(problem.n_members)),
            (problem.served_ensemble, self.kept_members),
        )
        labels = [make_predictor(ensemble, members)(rows.X) for ensemble, members in both]
        before, after = (np.searchsorted(rows.votes.classes, one) for one in labels)
        return before, after

    @cached_property
    def before_after_figures(self) -> dict[str, BeforeAfter]:
        """Figures of all and of the kept members, on test rows or else cross-fitted."""
        problem, pruner = self.problem, self.pruner
        if problem.has_test_set:
            return before_after.measure_on_test(problem, pruner, check_random_state(0), files=True)[
                1
            ]
        figures = before_after.held_out_scores(problem, self.curve, self.keep)
        if not problem.is_regression:
            weight = problem.sample_weight
            balanced = before_after.balanced_accuracy(
                problem.predictions.truth, *self.predicted_codes, weight
            )
            figures = {"accuracy": figures["accuracy"], "balanced accuracy": balanced} | figures
        return (
            before_after.member_counts(pruner) | figures | before_after.model_costs(problem, pruner)
        )

    @cached_property
    def row_latency(self) -> Latency | None:
        """How long one row takes by the number of members, where that can be measured."""
        return self._latency or full_ensemble_latency(self.problem)

    @cached_property
    def live_comep(self) -> COMEP | None:
        """The COMEP that the page runs itself; None where there are too many members."""
        too_many = self.predictions.n_members > MOST_LIVE
        return None if too_many else diversity_sweep_pruner(self.evaluation, self.pruner)


@dataclass(frozen=True)
class ReportSection:
    """A section of the page: its part of the data, and what its template shows of it.

    Parameters
    ----------
    name : str
        Its address in the page, and the name of its files: ``kappa-error`` has the template
        ``kappa_error.html`` and the drawing ``kappa_error.js``.
    title : str
        Its heading; ``{Score}`` in it stands for the score that matters.
    shape : mapping of str to shape
        The fields of the data that are its own; see `secateurs.report._schema`.
    collect_data : callable(context) -> dict
        These fields.
    template_values : callable(data) -> dict, HtmlTable or None
        Values for the template, or its ``table`` alone, from the data of the whole report; None to
        leave the section out.
    is_drawn : bool, default=False
        Whether it has a drawing.
    predicts : {"labels", "numbers"} or None, default="labels"
        What members must predict for it to make sense; None for anything.
    """

    name: str
    title: str
    shape: Mapping[str, Any]
    collect_data: Callable[[ReportContext], JsonObject]
    template_values: Callable[[JsonObject], JsonObject | HtmlTable | None]
    is_drawn: bool = False
    predicts: str | None = "labels"

    @property
    def file_stem(self) -> str:
        """The name of its files."""
        return self.name.replace("-", "_")

    def format_heading(self, data: JsonObject) -> str:
        """Return its heading for this data."""
        return self.title.replace("{Score}", capitalise_first(data["score"]["label"]))

    def render_html(self, data: JsonObject) -> Markup:
        """Return the section without its heading; empty if there is nothing to show."""
        view = self.template_values(data)
        if view is None:
            return Markup()
        view = {"table": view} if isinstance(view, HtmlTable) else view
        return Markup(
            template_environment().get_template(f"{self.file_stem}.html").render(view, data=data)
        )
