"""Cross-validated scores of a pruning, for a summary without a test set."""

from typing import NamedTuple

from secateurs.evaluation.alternatives import evaluate_with_alternatives
from secateurs.evaluation.before_after import (
    BeforeAfter,
    balanced_accuracy,
    held_out_scores,
    member_counts,
    model_costs,
)
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.size_curves import describe_sample_weights, full_ensemble_vote
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.pruner_label import pruner_label
from secateurs.text_format import format_count
from secateurs.thread_safety import record_warnings
from secateurs.typing import Samples

_FOLDS = "selected on four fifths, scored on the remaining fifth, five times"


class CrossValidatedScores(NamedTuple):
    """Figures of a pruning, and the samples that they come from."""

    data_description: str  # of the samples, in words
    fold_description: str  # how members were selected in folds; empty without cross-validation
    figures: dict[str, BeforeAfter]
    remarks: tuple[str, ...] = ()

    @property
    def source_description(self) -> str:
        """The samples, and how they were used, in words."""
        return (
            f"{self.data_description}: {self.fold_description}"
            if self.fold_description
            else self.data_description
        )


def cross_validate_pruning(
    problem: Problem,
    pruner: BasePruner,
    by_cost: CostSelection | None = None,
    *,
    row: Samples = None,
    files: bool = False,
) -> CrossValidatedScores:
    """Return cross-validated scores of a pruning, with its size and its prediction times.

    The first rounds of a boosted model are kept whatever the samples, so it is scored on all.
    """
    with record_warnings():  # the fit on all samples warned already
        evaluation = evaluate_with_alternatives(problem, pruner, by_cost=by_cost, alone=True)
    (curve,) = evaluation.curves.values()
    keep, weighted_problem, plan = len(pruner.member_indices_), evaluation.problem, evaluation.split
    figures = held_out_scores(weighted_problem, curve, keep)
    if not problem.is_regression:
        codes = full_ensemble_vote(plan.scored_samples), curve.predicted_codes[keep]
        balanced = balanced_accuracy(problem.predictions.truth, *codes, problem.sample_weight)
        figures = {"accuracy": figures["accuracy"], "balanced accuracy": balanced} | figures
    costs = model_costs(weighted_problem, pruner, files=files, row=row)
    figures = member_counts(pruner) | figures | costs
    remarks = (*evaluation.remarks, *_score_remarks(problem, pruner, plan))
    samples = f"validation set ({format_count(problem.predictions.n_samples, 'sample')})"
    if problem.predictions.is_sequential:
        return CrossValidatedScores(samples, "", figures, remarks)
    return CrossValidatedScores(f"{samples}, cross-validated", _FOLDS, figures, remarks)


def sample_weight_remark(problem: Problem, pruner: BasePruner) -> list[str]:
    """Return a remark on how sample weights were used, if there are any."""
    if problem.sample_weight is None:
        return []
    return [describe_sample_weights({pruner_label(pruner): pruner})]


def _score_remarks(problem: Problem, pruner: BasePruner, plan: EvaluationPlan) -> list[str]:
    """Return remarks on sample weights, and on differences between scored and served members."""
    remarks = sample_weight_remark(problem, pruner)
    is_sequential = problem.predictions.is_sequential
    if problem.is_soft and plan.scored_samples.counts_labels and not is_sequential:
        remarks.append(
            "Labels are counted, because the probabilities that the ensemble averages were not "
            "collected. Pass the validation samples to use them: summary(X=…)."
        )
    if problem.refitted is not None:
        remarks.append("The scores are those of the kept members before they were refitted.")
    if is_sequential:
        remarks.append(
            "The first rounds are kept whatever the samples; only their number depends on them."
        )
    return remarks


def cross_validation_seconds(pruner: BasePruner) -> float:
    """Return an estimate of the seconds that cross-validating a fitted pruner takes."""
    rounds, max_rounds = getattr(pruner, "n_iter_", 0), pruner.most_rounds
    share = max_rounds / rounds if max_rounds is not None and rounds > max_rounds else 1.0
    # Five selections, each on four fifths of the samples, take four times as long as one.
    return 4.0 * share * pruner._selection_seconds
