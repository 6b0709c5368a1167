"""Methods tried on rows held out: how well each does, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_curve import (
    Floats,
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


@dataclass(frozen=True, eq=False)
class MethodScores:
    """Scores of methods on rows held out, larger being better.

    Attributes
    ----------
    values : ndarray of shape (n_methods,)
        The score of what each method chooses.
    difference_errors : ndarray of shape (n_methods, n_methods)
        Standard errors of the differences of two methods on the same rows; NaN where there are too
        few rows to tell.
    """

    values: Floats
    difference_errors: Floats


def cross_validate_methods(
    problem: Problem,
    methods: Sequence[BasePruner],
    rng: np.random.RandomState,
) -> MethodScores:
    """Try methods by cross-fitting: each chooses on four fifths and is scored on the fifth."""
    scoring = problem.scoring
    if scoring.name == "r2":  # a fold's few rows may have no spread
        scoring = Scoring.from_scorer("neg_mean_squared_error", problem.predictions.classes)
    outputs = problem.scored_predictions()
    own_weights = problem.ensemble.weights
    n_methods, n_rows = len(methods), outputs.n_samples
    values, variances = np.zeros(n_methods), np.zeros((n_methods, n_methods))
    split = EvaluationPlan(problem.without_samples(), rng)  # with the scores collected for it
    with open_stage("trying methods", n_methods * (split.n_selections - 1)) as steps:
        for part in split.iter_folds():
            assert part.held_out is not None
            judged = outputs.rows(part.held_out)
            truth = true_values(judged)
            weight = None if problem.sample_weight is None else problem.sample_weight[part.held_out]
            rows = JackknifeBlocks(replace(scoring, classes=judged.classes), truth, weight)
            share = len(truth) / n_rows
            varied = []
            for place, method in enumerate(methods):
                fitted = fit_pruner(
                    clone(method),
                    part.problem.predictions_for(method),
                    sample_weight=part.problem.sample_weight,
                )
                weights = part.problem.weights_for_pruner(fitted)
                inside = {} if weights is None else {0: weights}
                groups = [fitted.member_indices_.tolist()]
                (answer,) = group_predictions(judged, groups, scoring.needs, own_weights, inside)
                values[place] += share * rows.score_on(answer)
                varied.append(rows.left_out_scores(answer))
                steps.step()
            for first in range(n_methods):
                for second in range(first):
                    spread = share**2 * jackknife_variance(varied[first] - varied[second])
                    variances[first, second] += spread
                    variances[second, first] += spread
    return MethodScores(values, np.sqrt(variances))
