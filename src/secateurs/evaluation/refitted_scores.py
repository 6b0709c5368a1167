"""Held-out scores of selected trees after their leaves were refitted, for comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from secateurs.evaluation.evaluation_plan import EvaluationPlan, Fold
from secateurs.evaluation.score_table import SizeCurve, add_scores, full_ensemble_vote
from secateurs.evaluation.selections import Selection, copy_with_members
from secateurs.exceptions import InputError
from secateurs.measures.group_predictions import ScoredPrediction
from secateurs.measures.scoring import Scoring
from secateurs.measures.vote_counts import AccuracyCounts
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.refitting.refit import LeafRefit, RefitTask, check_refittable
from secateurs.refitting.teacher import LabelledSamples
from secateurs.typing import Array, Samples

REFITTED = ", refitted"  # after the name of a method


@dataclass(frozen=True, eq=False)
class ModelPrediction:
    """The predictions of a fitted model for the samples to score."""

    model: Any
    X: Samples
    outputs: Votes | Predictions  # of the members, on the same samples

    @classmethod
    def in_fold(cls, model: Any, fold: Fold) -> ModelPrediction:
        """Return the prediction of a model for the samples of a fold, or of the test set."""
        problem, held_out = fold.plan.problem, fold.held_out
        outputs = problem.scored_predictions(test=held_out is None)
        if held_out is None:
            return cls(model, problem.X_test, outputs)
        return cls(model, _safe_indexing(problem.X, held_out), outputs.rows(held_out))

    def for_score(self, scoring: Scoring) -> Array:
        """Return the labels, probabilities or values that the score needs."""
        has_labels = scoring.uses_labels(self.outputs) or scoring.is_regression_score
        if has_labels:
            return np.asarray(self.model.predict(self.X))
        shares = np.zeros((self.outputs.n_samples, self.outputs.n_classes))
        columns = np.searchsorted(self.outputs.classes, self.model.classes_)
        shares[:, columns] = self.model.predict_proba(self.X)
        return shares

    @property
    def samples(self) -> SampleRows | None:
        """The samples, for scorers that read them; the model predicts others."""
        rows = self.outputs.samples
        return None if rows is None else replace(rows, given_model=self.model)


def score_refitted(
    plan: EvaluationPlan,
    curves: Mapping[str, SizeCurve],
    sizes: Sequence[int],
    parameters: LeafRefit,
    X_unlabelled: Samples = None,
) -> dict[str, SizeCurve]:
    """Return the curves of refitted members: in each fold, refitted on its training samples."""
    problem = plan.problem
    check_refittable(problem.ensemble)
    if problem.oob and plan.has_folds:
        raise InputError(
            "{refit} cannot be cross-validated with out-of-bag votes: refitting needs all training "
            "samples. Pass {X_test} and {y_test}, or held-out samples as X.",
            refit=True,
            X_test=...,
            y_test=...,
        )
    refitted = {name: _empty_curve(curve.selection, sizes) for name, curve in curves.items()}
    full_codes = None if problem.is_regression else full_ensemble_vote(plan)
    n_folds = max(1, len(plan.fold_indices))
    with open_stage("refitting in each fold", n_folds * len(curves)) as steps:
        for index, fold in enumerate(plan.iter_folds()):
            task = _fold_task(plan, index, parameters, X_unlabelled)
            for name, curve in curves.items():
                _, selection = curve.fold_selections[index]
                models = {
                    size: _refitted_model(task, selection.members_at(size))
                    for size in refitted[name].selection.sizes.tolist()
                }
                predictions = {
                    size: ModelPrediction.in_fold(model, fold) for size, model in models.items()
                }
                add_predictions(refitted[name], predictions, fold, full_codes)
                steps.step()
    for curve in refitted.values():
        finish_curve(curve, problem)
    return {f"{name}{REFITTED}": curve for name, curve in refitted.items()}


def finish_curve(curve: SizeCurve, problem: Problem) -> None:
    """Set the main score and the accuracy of a curve of models, after the last fold."""
    main = curve.scores[problem.scoring.key, None]
    if not problem.is_regression:
        curve.by_labels = curve.by_own_vote
        weighted = curve.scores.get(("accuracy", None))
        curve.accuracy = curve.by_own_vote if weighted is None else weighted
    curve.main_score = curve.by_own_vote if problem.is_plain_accuracy else main


def _empty_curve(selection: Selection, sizes: Sequence[int]) -> SizeCurve:
    """Return a curve of the sizes asked for, without scores."""
    known = [size for size in sizes if size in selection.sizes]
    members = {size: selection.members_at(size) for size in known}
    pruners = {size: pruner_at_size(selection, size) for size in known}
    seconds = {size: max(selection.seconds.values()) for size in known}
    return SizeCurve(Selection(np.array(known), None, members, pruners, seconds))


def pruner_at_size(selection: Selection, size: int) -> BasePruner:
    """Return the pruner fitted for a size; for a nested method, cut from the largest size."""
    if size in selection.fitted_pruners:
        return selection.fitted_pruners[size]
    (pruner,) = selection.fitted_pruners.values()
    return copy_with_members(pruner, pruner.member_indices_[:size].tolist())


def _fold_task(
    plan: EvaluationPlan, index: int, parameters: LeafRefit, X_unlabelled: Samples
) -> RefitTask:
    """Return the task of refitting on the training samples of a fold."""
    problem = plan.problem
    X, y, weight = problem.X, true_values(problem.predictions), problem.sample_weight
    if plan.has_folds:
        training, _ = plan.fold_indices[index]
        X, y = _safe_indexing(X, training), y[training]
        weight = None if weight is None else weight[training]
    samples = LabelledSamples(X, np.asarray(y), problem.oob, weight)
    return RefitTask.from_input(
        problem.ensemble, [0], samples, X_unlabelled, parameters, 0, problem.n_jobs
    )


def _refitted_model(task: RefitTask, members: Sequence[int]) -> Any:
    kept = sorted(members)
    return replace(task, members=kept).refitted_ensemble().as_predictor(kept)


def add_predictions(
    curve: SizeCurve,
    predictions: Mapping[int, ScoredPrediction],
    fold: Fold,
    full_codes: Array | None,
) -> None:
    """Add the scores of predictions by size, on the samples of a fold, to a curve."""
    add_scores(curve.scores, fold.score_models(list(predictions.values())))
    if full_codes is None:
        return
    classes = fold.plan.scored_samples.votes.classes
    accuracy = Scoring.from_scorer("accuracy", classes)
    truth = fold.plan.scored_truth[fold.positions]
    full_right = full_codes[fold.positions] == truth
    counts = np.zeros((3, len(predictions)), dtype=np.int64)
    n_scored = len(fold.plan.scored_indices)
    for index, (size, prediction) in enumerate(predictions.items()):
        codes = np.searchsorted(classes, prediction.for_score(accuracy))
        right = codes == truth
        counts[:, index] = right.sum(), (full_right & ~right).sum(), (right & ~full_right).sum()
        predicted = curve.predicted_codes.setdefault(size, np.empty(n_scored, dtype=np.intp))
        predicted[fold.positions] = codes
    added = AccuracyCounts(len(truth), int(full_right.sum()), *counts)
    is_first = not hasattr(curve, "by_own_vote")
    curve.by_own_vote = added if is_first else curve.by_own_vote + added
