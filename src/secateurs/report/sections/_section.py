"""`ReportSection`, a section of the report page, and `ReportContext`, the input of all sections."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup
from sklearn.utils import check_random_state

from secateurs.evaluation.alternatives import ReportSubject
from secateurs.evaluation.baselines import held_out_baselines
from secateurs.evaluation.before_after import measure_on_test
from secateurs.evaluation.held_out_figures import held_out_scores
from secateurs.evaluation.metrics import PruningFigures
from secateurs.evaluation.score_table import full_ensemble_vote
from secateurs.labels import merge_classes
from secateurs.problem.latency import Latency, full_ensemble_latency, make_predictor
from secateurs.problem.model_costs import member_counts, model_costs, panel_coverage
from secateurs.pruners import COMEP
from secateurs.report.diversity_weights import diversity_sweep_pruner
from secateurs.report.html_templates import HtmlTable, capitalise_first, template_environment
from secateurs.report.member_diagnostics import MOST_LIVE
from secateurs.typing import Array, IndexArray, JsonObject


class ReportContext:
    """The pruning to report, and values that several sections use, computed once."""

    def __init__(self, subject: ReportSubject, command: Sequence[str] | None = None) -> None:
        self.command = command  # the beginning of the equivalent command line
        self.evaluation, self.pruner = subject.evaluation, subject.pruner
        self.method_name, self.keep = subject.name, subject.keep
        self.leaderboard, self.frontier = subject.leaderboard, subject.frontier
        self.max_cost = subject.max_cost
        self._latency, self.evaluation_plan = subject.latency, self.evaluation.split
        self.problem = self.evaluation.problem.with_pruner_weights(self.pruner)
        self.curve = self.evaluation.curves[self.method_name]
        self.kept_members: list[int] = self.pruner.member_indices_.tolist()
        self.predictions = self.problem.predictions
        scored, indices = self.evaluation_plan.scored_samples.votes, self._scored_indices
        self.evaluation_predictions = scored if indices is None else scored.rows(indices)
        self.classes = merge_classes(self.predictions.classes, self.evaluation_predictions.classes)

    @property
    def _scored_indices(self) -> IndexArray | None:
        """The scored samples; None if every sample is scored once, as in the default folds."""
        indices = self.evaluation_plan.scored_indices
        n_samples = self.evaluation_plan.scored_samples.votes.n_samples
        return None if np.array_equal(indices, np.arange(n_samples)) else indices

    @cached_property
    def predicted_codes(self) -> tuple[Array, Array]:
        """Codes that the full and the pruned ensemble predict for the test or held-out samples.

        With models and a test set, the models themselves predict.
        """
        samples, problem = self.evaluation_plan.scored_samples, self.problem
        if not problem.has_test_set or problem.has_only_predictions:
            return full_ensemble_vote(self.evaluation_plan), self.curve.predicted_codes[self.keep]
        ensembles = (
            (problem.ensemble, range(problem.n_members)),
            (problem.served_ensemble, self.kept_members),
        )
        labels = [make_predictor(ensemble, members)(samples.X) for ensemble, members in ensembles]
        before, after = (np.searchsorted(samples.votes.classes, values) for values in labels)
        return before, after

    @cached_property
    def measured(self) -> PruningFigures:
        """Figures of the full and the pruned ensemble, on the test set or cross-validated."""
        problem, pruner, plan = self.problem, self.pruner, self.evaluation_plan
        if problem.has_test_set:
            return measure_on_test(problem, pruner, check_random_state(0), files=True)
        figures = held_out_scores(plan, self.curve, self.keep)
        counts = member_counts(problem, pruner) | panel_coverage(problem, pruner)
        figures = counts | figures | model_costs(problem, pruner)
        baselines = held_out_baselines(plan, self.curve, self.keep)
        return PruningFigures("", "", figures, (), baselines)

    @cached_property
    def row_latency(self) -> Latency | None:
        """Prediction time of one sample by number of members; None if it cannot be measured."""
        return self._latency or full_ensemble_latency(self.problem)

    @cached_property
    def live_comep(self) -> COMEP | None:
        """The COMEP that the page runs itself; None if there are too many members."""
        too_many = self.predictions.n_members > MOST_LIVE
        return None if too_many else diversity_sweep_pruner(self.evaluation, self.pruner)


@dataclass(frozen=True)
class ReportSection:
    """A section of the page: the fields of the data that it adds, and how it renders them."""

    # Anchor in the page, and name of the files: ``kappa-error`` has ``kappa_error.html`` (template)
    # and ``kappa_error.js`` (plot).
    name: str
    title: str  # ``{Score}`` is replaced by the label of the score
    shape: Mapping[str, object]  # fields that `collect_data` adds, see `secateurs.report._schema`
    collect_data: Callable[[ReportContext], JsonObject]
    # From the data of the report to the values of the template, or to its ``table`` if that is the
    # only value; None leaves the section out.
    template_values: Callable[[JsonObject], JsonObject | HtmlTable | None]
    is_drawn: bool = False  # whether it has a plot
    predicts: str | None = "labels"  # "labels", "numbers" (regression), or None for both

    @property
    def file_stem(self) -> str:
        """The name of its template and script, without suffix."""
        return self.name.replace("-", "_")

    def format_heading(self, data: JsonObject) -> str:
        """Return its heading with the label of the score."""
        return self.title.replace("{Score}", capitalise_first(data["score"]["label"]))

    def render_html(self, data: JsonObject) -> Markup:
        """Return the section as HTML without its heading; empty if there is nothing to show."""
        values = self.template_values(data)
        if values is None:
            return Markup()
        values = {"table": values} if isinstance(values, HtmlTable) else values
        template = template_environment().get_template(f"{self.file_stem}.html")
        return Markup(template.render(values, data=data))
