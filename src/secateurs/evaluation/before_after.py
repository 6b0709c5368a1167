"""Figures of the full ensemble and of the pruned ensemble on a test set."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.validation import _num_samples

from secateurs.evaluation.baselines import baselines_on_test, table_prediction
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.metrics import PruningFigures
from secateurs.evaluation.score_table import coverage_remarks, describe_sample_weights
from secateurs.exceptions import InputError, SecateursWarning, caller_stacklevel
from secateurs.measures.score_curve import scores_with_interval
from secateurs.measures.scoring import Scoring
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.sample_rows import SampleRows
from secateurs.problem import Problem
from secateurs.problem.model_costs import (
    BeforeAfter,
    full_and_kept,
    full_and_pruned_models,
    full_and_pruned_predictors,
    member_counts,
    model_costs,
    panel_coverage,
)
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import pruner_label
from secateurs.text_format import format_count, format_list
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, IndexArray

_N_BOOTSTRAP = 2000  # the 2.5 % percentile then rests on 50 resamples
REGRESSION_SCORES = ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error")
PROBABILITY_SCORES = ("neg_log_loss", "neg_brier_score", "roc_auc")
# Subgroups with fewer samples are named as small: the standard error of a proportion is then up to
# nine points.
_SMALL_SUBGROUP = 30


def measure_on_test(
    problem: Problem, pruner: BasePruner, rng: np.random.RandomState, *, files: bool = False
) -> PruningFigures:
    """Return figures on the test set, with file sizes if ``files``."""
    description = _describe_test_samples(problem)
    X, truth, weight = problem.X_test, problem.y_test, problem.sample_weight_test
    assert truth is not None
    figures = member_counts(problem, pruner) | panel_coverage(problem, pruner, test=True)
    if isinstance(X, PredictionTable):
        weights = problem.member_weights
        tables = (X, X if weights is None else X.with_member_weights(weights))
        before, after = (
            table_prediction(problem, table, members)
            for table, members in zip(tables, full_and_kept(pruner), strict=True)
        )
    else:
        before, after = (
            np.ravel(predict(X)) for predict in full_and_pruned_predictors(problem, pruner)
        )
    predicted = PredictedSamples(truth, weight, before, after, samples=_test_rows(problem, pruner))
    if problem.is_regression:
        figures |= score_both(problem, predicted, REGRESSION_SCORES)
    else:
        figures |= _bootstrapped_accuracy(truth, before, after, weight, rng)
        predicted = predicted._replace(probabilities=_test_probabilities(problem, pruner))
        if predicted.probabilities is not None:
            figures |= score_both(problem, predicted, PROBABILITY_SCORES)
    for scoring in problem.scorings:  # scores that the user asked for need an interval
        known = figures.get(scoring.label)
        if known is None or np.isnan(known.low):
            figures |= score_both(problem, predicted, [scoring])
    groups = problem.sensitive_features_test
    remarks = sample_weight_remark(problem, pruner)
    remarks += coverage_remarks(problem, pruner.member_indices_)
    if groups is not None:
        by_group = {
            name: score_both(problem, predicted.on_part(np.flatnonzero(groups == name)), [], name)
            for name in np.unique(groups).tolist()
        }
        figures |= subgroup_figures(problem, by_group)
        remarks += small_subgroups(groups)
    pruned = predicted.for_score(problem.scoring)[1]
    baselines = baselines_on_test(
        problem, pruned, len(pruner.member_indices_), predicted.samples[1]
    )
    if not problem.has_only_predictions:
        figures |= model_costs(problem, pruner, files=files)
    return PruningFigures(description, "", figures, tuple(remarks), baselines)


class PredictedSamples(NamedTuple):
    """True values of scored samples, and the predictions of the full and the pruned ensemble."""

    truth: Array
    weight: Array | None
    before: Array  # labels or values
    after: Array
    probabilities: tuple[Array, Array] | None = None
    samples: tuple[SampleRows | None, SampleRows | None] = (None, None)

    def for_score(self, scoring: Scoring) -> tuple[Array, Array]:
        """Return the predictions that a score needs."""
        if scoring.needs in ("probabilities", "any") and self.probabilities is not None:
            return self.probabilities
        return self.before, self.after

    def on_part(self, part: IndexArray) -> PredictedSamples:
        """Return the predictions for some of the samples."""
        before, after = self.samples
        return PredictedSamples(
            self.truth[part],
            None if self.weight is None else self.weight[part],
            self.before[part],
            self.after[part],
            self.probabilities and (self.probabilities[0][part], self.probabilities[1][part]),
            (before and before.take(part), after and after.take(part)),
        )


def _test_rows(problem: Problem, pruner: BasePruner) -> tuple[SampleRows | None, SampleRows | None]:
    """Return the test samples for scorers that read them, with the models of both ensembles."""
    if not any(scoring.reads_samples for scoring in problem.scorings):
        return None, None
    if isinstance(problem.X_test, PredictionTable):
        rows = problem.test_predictions.samples
        return rows, rows
    full, kept = full_and_kept(pruner)
    return (
        SampleRows(problem.X_test, problem.ensemble).predicted_by(full),
        SampleRows(problem.X_test, problem.served_ensemble).predicted_by(kept),
    )


def score_both(
    problem: Problem,
    predicted: PredictedSamples,
    scorings: Iterable[str | Scoring],
    subgroup: str | None = None,
) -> dict[str, BeforeAfter]:
    """Return scores of the predictions before and after pruning, by label; losses are positive.

    An additional score that cannot be computed is left out; errors of the user's scores are raised.
    In a subgroup, only the user's scores are computed, and undefined scores are left out.
    """
    truth, classes = predicted.truth, problem.scoring.classes
    if len(classes) and not np.isin(truth, classes).all():
        return {}  # classes that the model never saw have no probability
    figures = {}
    for requested in problem.scorings if subgroup is not None else scorings:
        if requested == "roc_auc" and len(np.unique(truth)) != len(classes):
            continue  # undefined if a class is missing
        name = "roc_auc_ovr" if requested == "roc_auc" and len(classes) > 2 else requested
        scoring = name if isinstance(name, Scoring) else Scoring.from_scorer(name, classes)
        is_required = isinstance(requested, Scoring) and subgroup is None
        with nullcontext() if is_required else suppress(InputError):
            figures[scoring.label] = _score_with_interval(scoring, predicted)
    return figures


def _score_with_interval(scoring: Scoring, predicted: PredictedSamples) -> BeforeAfter:
    """Return a score before and after, and the jackknife's 95 % interval of its change."""
    sign = 1.0 if scoring.larger_is_better else -1.0
    full, pruned, half = scores_with_interval(
        scoring,
        predicted.truth,
        *predicted.for_score(scoring),
        predicted.weight,
        samples=predicted.samples,
    )
    change = sign * (pruned - full)
    return BeforeAfter(sign * full, sign * pruned, change - half, change + half)


def subgroup_figures(
    problem: Problem, by_group: Mapping[str, Mapping[str, BeforeAfter]]
) -> dict[str, BeforeAfter]:
    """Return a row for each score and subgroup, for the worst subgroup and the largest gap."""
    figures: dict[str, BeforeAfter] = {}
    for scoring in problem.scorings:
        label = scoring.label
        known = {name: scores[label] for name, scores in by_group.items() if label in scores}
        figures |= {f"{label}, {name}": figure for name, figure in known.items()}
        values = [(f.before, f.after) for f in known.values() if np.isfinite(f.before)]
        if len(values) > 1:
            before, after = np.array(values).T
            worst = np.min if scoring.larger_is_better else np.max
            figures[f"{label}, worst subgroup"] = BeforeAfter(worst(before), worst(after))
            figures[f"{label}, largest gap"] = BeforeAfter(np.ptp(before), np.ptp(after))
    return figures


def small_subgroups(groups: Array) -> list[str]:
    """Return a remark that names subgroups with few samples, if there are any."""
    names, counts = np.unique(groups, return_counts=True)
    small = [
        f"{name} ({count})"
        for name, count in zip(names, counts, strict=True)
        if count < _SMALL_SUBGROUP
    ]
    if not small:
        return []
    return [
        f"Subgroups with fewer than {_SMALL_SUBGROUP} samples, whose figures are uncertain: "
        f"{format_list(small)}."
    ]


def _test_probabilities(problem: Problem, pruner: BasePruner) -> tuple[Array, Array] | None:
    """Return test probabilities of the full and the pruned ensemble; None if there are none."""
    if isinstance(problem.X_test, PredictionTable):
        return averaged_predictions(problem, pruner) if problem.X_test.is_soft else None
    models = full_and_pruned_models(problem, pruner)
    if not all(hasattr(model, "predict_proba") for model in models):
        return None
    before, after = (model.predict_proba(problem.X_test) for model in models)
    return before, after


def averaged_predictions(problem: Problem, pruner: BasePruner) -> tuple[Array, Array]:
    """Return the mean test predictions of all members, and of the kept members."""
    full, kept = full_and_kept(pruner)
    predictions, weights = problem.soft_test_predictions, problem.member_weights
    kept_weights = None if weights is None else weights[kept]
    return predictions.average(full), predictions.average(kept, kept_weights)


def sample_weight_remark(
    problem: Problem, pruner: BasePruner, by_cost: CostSelection | None = None
) -> list[str]:
    """Return a remark on how sample weights were used, if there are any."""
    if problem.sample_weight is None:
        return []
    if by_cost is not None:
        return ["Sample weights are used in scores and in the selection."]
    return [describe_sample_weights({pruner_label(pruner): pruner})]


def _describe_test_samples(problem: Problem) -> str:
    """Return a description of the test set, and warn about samples used for the selection."""
    n_samples, n_reused = _num_samples(problem.y_test), problem.n_reused_samples
    described = format_count(n_samples, "sample")
    if n_reused == 0:
        return f"test set ({described})"
    warnings.warn(
        SecateursWarning(
            f"{n_reused:,} of {n_samples:,} test samples are also in the validation set, where "
            "the pruned ensemble looks better than it is. Leave them out of the test set."
        ),
        stacklevel=caller_stacklevel(),
    )
    if n_reused == n_samples:
        return f"validation set ({described})"
    return f"test set ({described}, {n_reused:,} also in the validation set)"


def _bootstrapped_accuracy(
    truth: Array, before: Array, after: Array, weight: Array | None, rng: np.random.RandomState
) -> dict[str, BeforeAfter]:
    """Return accuracy with its paired bootstrap interval, and balanced accuracy."""
    full_right, pruned_right = before == truth, after == truth
    n_samples = len(truth)
    if weight is None:
        # Each sample changes the accuracy by −1, 0 or 1 samples, so that resampling the samples is
        # the same as drawing their numbers from a multinomial distribution, which is quick.
        lost = (full_right & ~pruned_right).sum() / n_samples
        won = (pruned_right & ~full_right).sum() / n_samples
        shares = [lost, won, max(0.0, 1 - lost - won)]
        draws = rng.multinomial(n_samples, shares, size=_N_BOOTSTRAP)
        changes = (draws[:, 1] - draws[:, 0]) / n_samples
    else:
        equal = np.full(n_samples, 1 / n_samples)
        counts = rng.multinomial(n_samples, equal, size=_N_BOOTSTRAP) * weight
        changes = counts @ (pruned_right.astype(float) - full_right) / counts.sum(axis=1)
    low, high = np.percentile(changes, [2.5, 97.5])
    full, pruned = (float(np.average(r, weights=weight)) for r in (full_right, pruned_right))
    return {
        "accuracy": BeforeAfter(full, pruned, float(low), float(high)),
        "balanced accuracy": balanced_accuracy(truth, before, after, weight),
    }


def balanced_accuracy(
    truth: Array, before: Array, after: Array, weight: Array | None = None
) -> BeforeAfter:
    """Return the balanced accuracy (mean recall of the classes) before and after pruning."""
    with record_warnings():  # about classes that occur in predictions only
        score = partial(balanced_accuracy_score, truth, sample_weight=weight)
        return BeforeAfter(float(score(before)), float(score(after)))
