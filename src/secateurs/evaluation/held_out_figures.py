"""Cross-validated figures of the full ensemble and of the pruned ensemble."""

from __future__ import annotations

import numpy as np

from secateurs.evaluation.alternatives import evaluate_with_alternatives
from secateurs.evaluation.baselines import held_out_baselines
from secateurs.evaluation.before_after import (
    PROBABILITY_SCORES,
    REGRESSION_SCORES,
    PredictedSamples,
    averaged_predictions,
    balanced_accuracy,
    sample_weight_remark,
    score_both,
    small_subgroups,
    subgroup_figures,
)
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.metrics import PruningFigures
from secateurs.evaluation.refitted_scores import ModelPrediction
from secateurs.evaluation.score_table import (
    SizeCurve,
    coverage_remarks,
    full_ensemble_vote,
    score_row,
)
from secateurs.measures.score_curve import ScoreCurve
from secateurs.measures.scoring import Scoring
from secateurs.measures.vote_counts import AccuracyCounts
from secateurs.outputs.predictions import true_values
from secateurs.problem import Problem
from secateurs.problem.model_costs import (
    BeforeAfter,
    full_and_pruned_predictors,
    member_counts,
    model_costs,
    panel_coverage,
)
from secateurs.pruners import BasePruner
from secateurs.refitting.branches import pruned_node_count
from secateurs.text_format import format_count
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, Samples


def cross_validate_pruning(
    problem: Problem,
    pruner: BasePruner,
    by_cost: CostSelection | None = None,
    *,
    row: Samples = None,
    files: bool = False,
) -> PruningFigures:
    """Return cross-validated scores of a pruning, with its size and its prediction times.

    The first rounds of a boosted model are kept whatever the samples, so it is scored on all.
    """
    with record_warnings():  # the fit on all samples warned already
        evaluation = evaluate_with_alternatives(problem, pruner, by_cost=by_cost, alone=True)
        (curve,) = evaluation.curves.values()
        keep, plan = len(pruner.member_indices_), evaluation.split
        baselines = held_out_baselines(plan, curve, keep)
    figures = held_out_scores(plan, curve, keep)
    costs = model_costs(evaluation.problem, pruner, files=files, row=row)
    figures = member_counts(problem, pruner) | panel_coverage(problem, pruner) | figures | costs
    remarks = [*evaluation.remarks, *sample_weight_remark(problem, pruner, by_cost)]
    remarks += coverage_remarks(problem, pruner.member_indices_)
    remarks += _score_remarks(problem, plan, pruner)
    if problem.sensitive_features is not None:
        remarks += small_subgroups(problem.sensitive_features)
    samples = f"validation set ({format_count(problem.predictions.n_samples, 'sample')})"
    if not plan.has_folds:
        return PruningFigures(samples, "", figures, tuple(remarks), baselines)
    description = problem.cross_validation.description
    return PruningFigures(
        f"{samples}, cross-validated", description, figures, tuple(remarks), baselines
    )


def cross_validated_scores(
    problem: Problem, pruner: BasePruner, by_cost: CostSelection | None = None
) -> dict[str, BeforeAfter]:
    """Return the cross-validated scores of a pruning by label, without its size and times."""
    with record_warnings():
        evaluation = evaluate_with_alternatives(problem, pruner, by_cost=by_cost, alone=True)
    (curve,) = evaluation.curves.values()
    return held_out_scores(evaluation.split, curve, len(pruner.member_indices_))


def selection_figures(
    problem: Problem, pruner: BasePruner, X: Samples = None
) -> dict[str, BeforeAfter]:
    """Return scores of probabilities on the very samples that members were selected on.

    The kept members look better there than they are. Empty without collected probabilities.
    Refitted members need the samples ``X``.
    """
    if not problem.is_soft or problem.ensemble.is_sequential:
        return {}
    soft = problem.__dict__.get("soft_predictions", problem.known_soft_predictions)
    if soft is None and problem.has_only_predictions:
        soft = problem.soft_predictions
    if soft is None:
        return {}
    own, kept = problem.ensemble.weights, pruner.member_indices_.tolist()
    weights = None if own is None else own[kept]
    if problem.member_weights is not None:
        weights = problem.member_weights[kept]
    if problem.refitted is None:
        after = soft.average(kept, weights)
    else:
        model = problem.refitted.as_predictor(sorted(kept))
        brier = Scoring.from_scorer("neg_brier_score", soft.classes)
        after = ModelPrediction(model, X, soft).for_score(brier)
    pair = soft.average(weights=own), after
    predicted = PredictedSamples(true_values(soft), problem.sample_weight, *pair, pair)
    return score_both(problem, predicted, ("neg_brier_score", "roc_auc"))


def _score_remarks(problem: Problem, plan: EvaluationPlan, pruner: BasePruner) -> list[str]:
    """Return remarks on differences between scored and served members."""
    remarks = []
    is_sequential = problem.predictions.is_sequential
    if problem.is_soft and plan.scored_samples.counts_labels and not is_sequential:
        remarks.append(
            "Labels are counted, because the probabilities that the ensemble averages were not "
            "collected. Pass the validation samples to use them: summary(X=…)."
        )
    if problem.refitted is not None:
        kept = pruner.member_indices_.tolist()
        n_nodes = pruned_node_count(problem.ensemble, problem.refitted, kept)
        remarks.append(
            "The scores are those of the kept members before they were refitted."
            if n_nodes is None
            else "The scores are those of the kept trees before their branches were pruned to "
            f"{format_count(n_nodes, 'node')}, which can lower them. Pass a test set for the "
            "scores of the pruned ensemble."
        )
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


def held_out_scores(plan: EvaluationPlan, curve: SizeCurve, size: int) -> dict[str, BeforeAfter]:
    """Return cross-validated scores by label, as they are displayed; losses are positive."""
    problem, index, figures = plan.problem, curve.selection.size_index(size), {}
    if not problem.is_regression:
        figures["accuracy"] = before_after_at(curve.accuracy, index)
        codes = full_ensemble_vote(plan), curve.predicted_codes[size]
        figures["balanced accuracy"] = balanced_accuracy(
            plan.scored_truth, *codes, plan.scored_weight
        )
    for scoring in problem.scorings:
        if scoring.label not in figures or not problem.is_plain_accuracy:
            score = before_after_at(curve.score(scoring.key), index)
            figures[scoring.label] = _displayed(scoring, score)
    if problem.is_regression or (problem.is_soft and problem.has_soft_predictions):
        extra = REGRESSION_SCORES if problem.is_regression else PROBABILITY_SCORES
        before, after = _cross_validated_predictions(plan, curve, size)
        truth = true_values(problem.predictions)[plan.scored_indices]
        pair = None if problem.is_regression else (before, after)
        predicted = PredictedSamples(truth, plan.scored_weight, before, after, pair)
        scored = score_both(problem, predicted, extra)
        figures |= {name: figure for name, figure in scored.items() if name not in figures}
    by_group = {
        name: {
            scoring.label: _displayed(
                scoring, before_after_at(curve.scores[scoring.key, name], index)
            )
            for scoring in problem.scorings
        }
        for name in curve.subgroups
    }
    return figures | subgroup_figures(problem, by_group)


def _displayed(scoring: Scoring, score: BeforeAfter) -> BeforeAfter:
    """Return a score as it is displayed: losses are positive."""
    if scoring.larger_is_better:
        return score
    return BeforeAfter(-score.before, -score.after, -score.high, -score.low)


def _cross_validated_predictions(
    plan: EvaluationPlan, curve: SizeCurve, size: int
) -> tuple[Array, Array]:
    """Return predictions of all members, and of the members selected without each sample."""
    problem = plan.problem
    predictions, weights = problem.soft_predictions, problem.ensemble.weights
    full = predictions.average(weights=weights)[plan.scored_indices]
    pruned = np.empty_like(full)
    folds = zip(curve.fold_selections, plan.fold_positions, strict=True)
    for (held_out, selection), positions in folds:
        assert held_out is not None
        members = selection.members_at(size)
        kept_weights = selection.weights.get(size)
        if weights is not None:
            kept_weights = weights[members] * (1.0 if kept_weights is None else kept_weights)
        pruned[positions] = predictions.rows(held_out).average(members, kept_weights)
    return full, pruned


def truth_and_predictions(
    plan: EvaluationPlan, pruner: BasePruner, curve: SizeCurve, size: int
) -> tuple[Array, Array, Array]:
    """Return true values of held-out samples, and predictions of the full and pruned ensemble."""
    problem = plan.problem
    if not problem.has_test_set:
        return plan.scored_truth, *_cross_validated_predictions(plan, curve, size)
    truth = problem.soft_test_predictions.truth
    if problem.has_only_predictions:
        return truth, *averaged_predictions(problem, pruner)
    before, after = (
        predict(problem.X_test) for predict in full_and_pruned_predictors(problem, pruner)
    )
    return truth, before, after


def before_after_at(scored: AccuracyCounts | ScoreCurve, index: int) -> BeforeAfter:
    """Return the scores of the full ensemble and of one size of a curve."""
    row = score_row(scored, index)
    return BeforeAfter(scored.full_value, row["value"], row["low"], row["high"])
