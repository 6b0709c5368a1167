"""Cross-validated scores of methods, and the standard errors of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_curve import (
    JackknifeBlocks,
    group_predictions,
    jackknife_variance,
)
from secateurs.measures.scoring import Scoring
from secateurs.outputs.predictions import true_values
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import fit_pruner
from secateurs.typing import FloatArray


@dataclass(frozen=True, eq=False)
class MethodScores:
    """Cross-validated scores of methods; larger is better."""

    values: FloatArray  # (n_methods,)
    # Standard errors of the differences of two methods on the same samples, (n_methods, n_methods);
    # NaN if there are too few samples.
    difference_errors: FloatArray


def cross_validate_methods(
    problem: Problem,
    methods: Sequence[BasePruner],
    rng: np.random.RandomState,
) -> MethodScores:
    """Return cross-validated scores of methods: members are selected on four of five folds."""
    scoring = problem.scoring
    if scoring.name == "r2":  # undefined if all target values of a small fold are equal
        scoring = Scoring.from_scorer("neg_mean_squared_error", problem.predictions.classes)
    outputs = problem.scored_predictions()
    own_weights = problem.ensemble.weights
    n_methods, n_samples = len(methods), outputs.n_samples
    values, variances = np.zeros(n_methods), np.zeros((n_methods, n_methods))
    plan = EvaluationPlan(problem.without_samples(), rng)  # keeps the predictions collected above
    with open_stage("comparing methods", n_methods * (plan.n_selections - 1)) as steps:
        for fold in plan.iter_folds():
            assert fold.held_out is not None
            held_out = outputs.rows(fold.held_out)
            truth = true_values(held_out)
            weight = None if problem.sample_weight is None else problem.sample_weight[fold.held_out]
            blocks = JackknifeBlocks(replace(scoring, classes=held_out.classes), truth, weight)
            share = len(truth) / n_samples
            left_out_scores = []
            for index, method in enumerate(methods):
                fitted = fit_pruner(
                    clone(method),
                    fold.problem.predictions_for(method),
                    sample_weight=fold.problem.sample_weight,
                )
                weights = fold.problem.weights_for_pruner(fitted)
                group_weights = {} if weights is None else {0: weights}
                groups = [fitted.member_indices_.tolist()]
                (prediction,) = group_predictions(
                    held_out, groups, scoring.needs, own_weights, group_weights
                )
                values[index] += share * blocks.score_on(prediction)
                left_out_scores.append(blocks.left_out_scores(prediction))
                steps.step()
            for first in range(n_methods):
                for second in range(first):
                    difference = left_out_scores[first] - left_out_scores[second]
                    variance = share**2 * jackknife_variance(difference)
                    variances[first, second] += variance
                    variances[second, first] += variance
    return MethodScores(values, np.sqrt(variances))
