"""Methods tried on rows held out: how well each does, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from secateurs._progress import stage
from secateurs.evaluation._rows import Split
from secateurs.evaluation._score_curve import Floats, Parts, answers, jackknife
from secateurs.measures._scoring import Scoring
from secateurs.outputs._scores import true_values
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners._selector import fit_pruner


@dataclass(frozen=True, eq=False)
class Trial:
    """Scores of methods on rows held out, larger being better.

    Attributes
    ----------
    values : ndarray of shape (n_methods,)
        The score of what each method chooses.
    errors : ndarray of shape (n_methods, n_methods)
        Standard errors of the differences of two methods on the same rows; NaN where there are too
        few rows to tell.
    """

    values: Floats
    errors: Floats


def tried(
    problem: Problem,
    methods: Sequence[BasePruner],
    rng: np.random.RandomState,
) -> Trial:
    """Try methods by cross-fitting: each chooses on four fifths and is scored on the fifth."""
    scoring = problem.scoring
    if scoring.name == "r2":  # a fold's few rows may have no spread
        scoring = Scoring.of("neg_mean_squared_error", problem.votes.classes)
    outputs = problem.outputs_scored()
    own_weights = problem.ensemble.weights
    n_methods, n_rows = len(methods), outputs.n_samples
    values, variances = np.zeros(n_methods), np.zeros((n_methods, n_methods))
    split = Split(problem.without_rows(), rng)  # with the scores collected for it
    with stage("trying methods", n_methods * (split.n_choices - 1)) as steps:
        for part in split.parts():
            assert part.held_out is not None
            judged = outputs.rows(part.held_out)
            truth = true_values(judged)
            weight = None if problem.sample_weight is None else problem.sample_weight[part.held_out]
            rows = Parts(replace(scoring, classes=judged.classes), truth, weight)
            share = len(truth) / n_rows
            varied = []
            for place, method in enumerate(methods):
                fitted = fit_pruner(
                    clone(method),
                    part.problem.outputs_for(method),
                    sample_weight=part.problem.sample_weight,
                )
                weights = part.problem.weights_of(fitted)
                inside = {} if weights is None else {0: weights}
                groups = [fitted.member_indices_.tolist()]
                (answer,) = answers(judged, groups, scoring.needs, own_weights, inside)
                values[place] += share * rows.score(answer)
                varied.append(rows.left_out(answer))
                steps.step()
            for first in range(n_methods):
                for second in range(first):
                    spread = share**2 * jackknife(varied[first] - varied[second])
                    variances[first, second] += spread
                    variances[second, first] += spread
    return Trial(values, np.sqrt(variances))
