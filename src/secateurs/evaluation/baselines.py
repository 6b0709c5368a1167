"""Baselines: simple predictions that a pruned ensemble should beat, scored on the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from secateurs.ensembles import Ensemble
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.metrics import BEST_MEMBER, FIRST_MEMBERS, constant_name
from secateurs.evaluation.score_table import SizeCurve, constant_scores, cross_validate_selections
from secateurs.evaluation.selections import select_for_sizes
from secateurs.exceptions import InputError
from secateurs.measures.group_predictions import ConstantPrediction
from secateurs.measures.score_curve import scores_with_interval
from secateurs.measures.scoring import Scoring
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.outputs.missing_answers import fill_unanswered
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.sample_rows import SampleRows
from secateurs.problem import Problem
from secateurs.problem.latency import combined_prediction
from secateurs.problem.model_costs import BeforeAfter
from secateurs.pruners import make_pruner
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array


def baselines_on_test(
    problem: Problem, pruned: Array, n_kept: int, rows: SampleRows | None
) -> dict[str, BeforeAfter]:
    """Return the test scores of simple predictions, each beside that of the pruned ensemble.

    The best member is the best on the validation set. Scores that are not defined are left out.
    ``pruned`` are the predictions that the score to optimise needs, and ``rows`` the samples for
    scorers that read them.
    """
    scoring, truth, weight = problem.scoring, problem.y_test, problem.sample_weight_test
    assert truth is not None
    baselines: dict[str, BeforeAfter] = {}
    if len(scoring.classes) and not np.isin(truth, scoring.classes).all():
        return baselines

    def compare(predicted: Array, predicted_rows: SampleRows | None) -> BeforeAfter:
        before, after, half = scores_with_interval(
            scoring, truth, pruned, predicted, weight, samples=(rows, predicted_rows)
        )
        return _displayed(scoring, before, after, half)

    with suppress(InputError):
        baselines[constant_name(scoring)] = compare(_constant_prediction(problem), rows)
    if problem.ensemble.is_sequential:
        return baselines
    with suppress(InputError), record_warnings():
        (best,) = make_pruner("best", keep=1).fit(problem.predictions).member_indices_.tolist()
        for name, members in ((BEST_MEMBER, [best]), (FIRST_MEMBERS, [*range(n_kept)])):
            own_rows = None if rows is None else rows.predicted_by(members)
            baselines[name] = compare(_test_prediction(problem, members, pruned.ndim), own_rows)
    return baselines


def _displayed(scoring: Scoring, before: float, after: float, half: float) -> BeforeAfter:
    before, after = scoring.display_score(before), scoring.display_score(after)
    return BeforeAfter(before, after, after - before - half, after - before + half)


def _constant_prediction(problem: Problem) -> Array:
    outputs = problem.predictions
    constant = ConstantPrediction(outputs.truth, outputs).for_score(problem.scoring)
    assert problem.y_test is not None
    return np.repeat(constant[:1], len(problem.y_test), axis=0)


def _test_prediction(problem: Problem, members: Sequence[int], n_dimensions: int) -> Array:
    """Return the test predictions of some members: probabilities if they have two dimensions."""
    if isinstance(problem.X_test, PredictionTable):
        outputs = problem.scored_predictions(test=True)
        if isinstance(outputs, Predictions) and n_dimensions == 2:
            return outputs.average(members)
        return table_prediction(problem, problem.X_test, members)
    model = problem.ensemble.as_predictor(list(members))
    predict = model.predict_proba if n_dimensions == 2 else model.predict
    return np.asarray(predict(problem.X_test))


def table_prediction(problem: Problem, table: Ensemble, members: Sequence[int]) -> Array:
    """Return the combined test prediction of some members, filled in for scores."""
    outputs = problem.test_predictions
    if problem.is_regression:
        weights = None if table.weights is None else table.weights[list(members)]
        return np.asarray(outputs.average(members, weights))
    predicted = combined_prediction(table, None, members)
    return fill_unanswered(predicted, outputs.has_prediction(members), outputs)


def held_out_baselines(plan: EvaluationPlan, curve: SizeCurve, size: int) -> dict[str, BeforeAfter]:
    """Return the held-out scores of simple predictions, beside that of a curve at a size."""
    problem, scoring = plan.problem, plan.problem.scoring
    constant = constant_scores(plan, [scoring])[scoring.key, None]
    own = float(curve.score(scoring.key).values[curve.selection.size_index(size)])
    baselines = {
        constant_name(scoring): _displayed(scoring, own, float(constant.values[0]), np.nan)
    }
    if problem.ensemble.is_sequential:
        return baselines
    selectors = {
        BEST_MEMBER: partial(select_for_sizes, make_pruner("best", keep=1), [1], None),
        FIRST_MEMBERS: partial(select_for_sizes, make_pruner("es", keep=size), [size], None),
    }
    if problem.oob:  # a single member is out of bag for a third of the samples only
        del selectors[BEST_MEMBER]
    known = iter([selection for _, selection in curve.fold_selections])
    curves = cross_validate_selections(
        plan,
        {"": lambda _: next(known), **selectors},
        sorted({1, size}),
        only_folds=plan.has_folds,
        by_labels=problem.is_soft and not problem.has_soft_predictions,
        scorings=[scoring],
    )
    pruned = curves.pop("")
    index, kept = pruned.selection.size_index(size), pruned.scores[scoring.key, None]
    for name, other in curves.items():
        score, at = other.scores[scoring.key, None], other.selection.size_index
        position = at(1 if name == BEST_MEMBER else size)
        half = NORMAL_97_5 * kept.difference_error(index, score, position)
        values = float(kept.values[index]), float(score.values[position])
        baselines[name] = _displayed(scoring, *values, half)
    return baselines
