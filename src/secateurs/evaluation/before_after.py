"""Before and after: figures of the full ensemble and of the pruned ensemble."""

import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from html import escape
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.evaluation.latency import (
    Predictor,
    combined_prediction,
    make_predictor,
    time_predictions,
)
from secateurs.evaluation.score_curve import ScoreCurve, scores_with_interval
from secateurs.evaluation.size_curves import AccuracyCounts, SizeCurve
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.measures.scoring import Scoring
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import true_values
from secateurs.persistence.model_export import onnx_bytes
from secateurs.persistence.skops_files import dump_skops
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.search import TIE
from secateurs.text_format import format_count, format_signed
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, Classifier, FloatArray, Samples

_N_BOOTSTRAP = 2000  # the 2.5 % percentile then rests on 50 resamples
_TIMED_SIZES = (1, 1000)  # samples: the latency of one, and the throughput of many
# Seconds to time each model: for tables that the user asked for, and for a quick look in a
# notebook, where only one sample is kept.
_TIMING_SECONDS, _QUICK_SECONDS = 0.3, 0.1


class BeforeAfter(NamedTuple):
    """A figure of the full ensemble and of the pruned ensemble."""

    before: float
    after: float
    low: float = np.nan  # 95 % interval of the change, if there is one
    high: float = np.nan
    timings: FloatArray | None = None  # single measurements, if the figures are their medians


class Summary(pd.DataFrame):
    """Figures before and after pruning, displayed with all rows and the remarks in ``attrs``."""

    def __repr__(self) -> str:
        return "\n".join([self.to_string(na_rep=""), *self.attrs.get("remarks", ())])

    def _repr_html_(self) -> str:
        remarks = (f"<p>{escape(remark)}</p>" for remark in self.attrs.get("remarks", ()))
        return "\n".join([self.to_html(na_rep=""), *remarks])


def summary_table(
    data_description: str,
    figures: Mapping[str, BeforeAfter],
    remarks: Sequence[str],
    scoring: Scoring,
    tolerance: float | None,
) -> Summary:
    """Return figures as a table with remarks; the last remark is whether the tolerance is met."""
    all_remarks = list(remarks)
    if tolerance is not None:
        result = describe_tolerance(figures[scoring.label], tolerance, scoring)
        all_remarks.append(f"On these samples {result}.")
    values = [(f.before, f.after, f.after - f.before, f.low, f.high) for f in figures.values()]
    columns = ["before", "after", "change", "low", "high"]
    index = pd.Index(figures, name=data_description)
    table = Summary(values, columns=columns, index=index, dtype=float)
    table.attrs["remarks"] = all_remarks
    return table


def describe_tolerance(figure: BeforeAfter, tolerance: float, scoring: Scoring) -> str:
    """Return whether the change of a score is within the tolerance, in words."""
    change = figure.after - figure.before
    is_within = (change if scoring.larger_is_better else -change) >= -tolerance - TIE
    return (
        f"the {scoring.label} is {'within' if is_within else 'not within'} the tolerance of "
        f"{tolerance:g}: {format_signed(change, 4)}"
    )


def measure_on_test(
    problem: Problem, pruner: BasePruner, rng: np.random.RandomState, *, files: bool = False
) -> tuple[str, dict[str, BeforeAfter]]:
    """Return a description of the test set, and figures on it, with file sizes if ``files``."""
    description = _describe_test_samples(problem)
    X, truth, weight = problem.X_test, problem.y_test, problem.sample_weight_test
    assert truth is not None
    figures = member_counts(pruner)
    if isinstance(X, PredictionTable):
        weights = problem.member_weights
        tables = (X, X if weights is None else X.with_member_weights(weights))
        before, after = (
            combined_prediction(table, None, members)
            for table, members in zip(tables, _full_and_kept(pruner), strict=True)
        )
    else:
        before, after = (
            np.ravel(predict(X)) for predict in _full_and_pruned_predictors(problem, pruner)
        )
    if problem.is_regression:
        figures |= score_both(problem, (truth, weight), _REGRESSION_SCORES, before, after)
    else:
        figures |= _bootstrapped_accuracy(truth, before, after, weight, rng)
        probabilities = _test_probabilities(problem, pruner)
        if probabilities is not None:
            scored = score_both(problem, (truth, weight), _PROBABILITY_SCORES, *probabilities)
            figures |= scored
            if problem.scoring.needs == "probabilities":
                before, after = probabilities
    main = figures.get(problem.scoring.label)
    if main is None or np.isnan(main.low):  # the score that the user asked for needs an interval
        figures |= score_both(problem, (truth, weight), [problem.scoring], before, after)
    if not problem.has_only_predictions:
        figures |= model_costs(problem, pruner, files=files)
    return description, figures


_REGRESSION_SCORES = ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error")
_PROBABILITY_SCORES = ("neg_log_loss", "roc_auc")


def score_both(
    problem: Problem,
    truth_and_weight: tuple[Array, Array | None],
    scorings: Iterable[str | Scoring],
    before: Array,
    after: Array,
) -> dict[str, BeforeAfter]:
    """Return scores of the predictions before and after pruning, by label; losses are positive."""
    (truth, weight), classes = truth_and_weight, problem.scoring.classes
    if len(classes) and not np.isin(truth, classes).all():
        return {}  # classes that the model never saw have no probability
    figures = {}
    for requested in scorings:
        if requested == "roc_auc" and len(np.unique(truth)) != len(classes):
            continue  # undefined if a class is missing
        name = "roc_auc_ovr" if requested == "roc_auc" and len(classes) > 2 else requested
        scoring = name if isinstance(name, Scoring) else Scoring.from_scorer(name, classes)
        # Errors of additional scores leave a row out; errors of the user's score are raised.
        with nullcontext() if requested is problem.scoring else suppress(InputError):
            figures[scoring.label] = _score_with_interval(scoring, truth, before, after, weight)
    return figures


def _score_with_interval(
    scoring: Scoring, truth: Array, before: Array, after: Array, weight: Array | None
) -> BeforeAfter:
    """Return a score before and after, and the jackknife's 95 % interval of its change."""
    sign = 1.0 if scoring.larger_is_better else -1.0
    full, pruned, half = scores_with_interval(scoring, truth, before, after, weight)
    change = sign * (pruned - full)
    return BeforeAfter(sign * full, sign * pruned, change - half, change + half)


def _test_probabilities(problem: Problem, pruner: BasePruner) -> tuple[Array, Array] | None:
    """Return test probabilities of the full and the pruned ensemble; None if there are none."""
    if isinstance(problem.X_test, PredictionTable):
        return _averaged_predictions(problem, pruner) if problem.X_test.is_soft else None
    models = _full_and_pruned_models(problem, pruner)
    if not all(hasattr(model, "predict_proba") for model in models):
        return None
    before, after = (model.predict_proba(problem.X_test) for model in models)
    return before, after


def _averaged_predictions(problem: Problem, pruner: BasePruner) -> tuple[Array, Array]:
    """Return the mean test predictions of all members, and of the kept members."""
    full, kept = _full_and_kept(pruner)
    predictions, weights = problem.soft_test_predictions, problem.member_weights
    kept_weights = None if weights is None else weights[kept]
    return predictions.average(full), predictions.average(kept, kept_weights)


def member_counts(pruner: BasePruner) -> dict[str, BeforeAfter]:
    """Return the numbers of members."""
    full, kept = _full_and_kept(pruner)
    return {"members": BeforeAfter(len(full), len(kept))}


def held_out_scores(problem: Problem, curve: SizeCurve, size: int) -> dict[str, BeforeAfter]:
    """Return cross-validated scores by label, as they are displayed; losses are positive."""
    figures = {}
    if not problem.is_regression:
        figures["accuracy"] = _before_after_at(curve.accuracy, curve.selection.size_index(size))
    if problem.scoring.label not in figures or not problem.is_plain_accuracy:
        main = main_held_out_score(curve, size)
        if not problem.scoring.larger_is_better:
            main = BeforeAfter(-main.before, -main.after, -main.high, -main.low)
        figures[problem.scoring.label] = main
    if problem.is_regression or (problem.is_soft and problem.has_soft_predictions):
        scorings = _REGRESSION_SCORES if problem.is_regression else _PROBABILITY_SCORES
        truth = true_values(problem.predictions)
        predictions = _cross_validated_predictions(problem, curve, size)
        scored = score_both(problem, (truth, problem.sample_weight), scorings, *predictions)
        figures |= {name: figure for name, figure in scored.items() if name not in figures}
    return figures


def _cross_validated_predictions(
    problem: Problem, curve: SizeCurve, size: int
) -> tuple[Array, Array]:
    """Return predictions of all members, and of the members selected without each sample."""
    predictions, weights = problem.soft_predictions, problem.ensemble.weights
    full = predictions.average(weights=weights)
    pruned = np.empty_like(full)
    for held_out, selection in curve.fold_selections:
        assert held_out is not None
        members = selection.members_at(size)
        kept_weights = selection.weights.get(size)
        if weights is not None:
            kept_weights = weights[members] * (1.0 if kept_weights is None else kept_weights)
        pruned[held_out] = predictions.rows(held_out).average(members, kept_weights)
    return full, pruned


def truth_and_predictions(
    problem: Problem, pruner: BasePruner, curve: SizeCurve, size: int
) -> tuple[Array, Array, Array]:
    """Return true values of held-out samples, and predictions of the full and pruned ensemble."""
    if not problem.has_test_set:
        return problem.predictions.truth, *_cross_validated_predictions(problem, curve, size)
    truth = problem.soft_test_predictions.truth
    if problem.has_only_predictions:
        return truth, *_averaged_predictions(problem, pruner)
    before, after = (
        predict(problem.X_test) for predict in _full_and_pruned_predictors(problem, pruner)
    )
    return truth, before, after


def main_held_out_score(curve: SizeCurve, size: int) -> BeforeAfter:
    """Return the held-out score that the user asked for, with the sign of scikit-learn's scorer."""
    return _before_after_at(curve.main_score, curve.selection.size_index(size))


def _before_after_at(scored: AccuracyCounts | ScoreCurve, index: int) -> BeforeAfter:
    """Return the scores of the full ensemble and of one size of a curve."""
    change, half = float(scored.change[index]), float(scored.half_width[index])
    return BeforeAfter(scored.full_value, float(scored.values[index]), change - half, change + half)


def model_costs(
    problem: Problem, pruner: BasePruner, *, files: bool = True, row: Samples = None
) -> dict[str, BeforeAfter]:
    """Measure the models: megabytes, and milliseconds if there are samples to predict.

    If the samples are not kept, only the single sample ``row`` is timed, which is quick.
    """
    if problem.has_only_predictions:
        return {}
    n_bytes = [len(pickle.dumps(model)) for model in _full_and_pruned_models(problem, pruner)]
    figures = {"megabytes": BeforeAfter(n_bytes[0] / 1e6, n_bytes[1] / 1e6)}
    if files:
        figures |= _file_sizes(problem, pruner, n_bytes)
    predictors = _full_and_pruned_predictors(problem, pruner)
    X = problem.X_test if problem.has_test_set else problem.X
    if X is not None:
        figures |= _prediction_times(predictors, X, _TIMED_SIZES, _TIMING_SECONDS)
    elif row is not None:
        figures |= _prediction_times(predictors, row, [1], _QUICK_SECONDS)
    return figures


def _full_and_kept(pruner: BasePruner) -> tuple[list[int], list[int]]:
    """Return all members and the kept members, in their original order."""
    return list(range(len(pruner.support_))), np.sort(pruner.member_indices_).tolist()


def _full_and_pruned_models(problem: Problem, pruner: BasePruner) -> list[Classifier]:
    full, kept = _full_and_kept(pruner)
    return [problem.ensemble.as_predictor(full), problem.served_ensemble.as_predictor(kept)]


def _full_and_pruned_predictors(problem: Problem, pruner: BasePruner) -> list[Predictor]:
    full, kept = _full_and_kept(pruner)
    return [make_predictor(problem.ensemble, full), make_predictor(problem.served_ensemble, kept)]


def _prediction_times(
    predictors: Sequence[Predictor], X: Samples, sizes: Iterable[int], seconds: float
) -> dict[str, BeforeAfter]:
    """Time predictions of several numbers of samples, each for ``seconds`` per model."""
    figures = {}
    for size in sizes:
        samples = _safe_indexing(X, np.arange(size) % _num_samples(X))
        times = 1e3 * time_predictions(predictors, samples, seconds)
        before, after = np.median(times, axis=1).tolist()
        figures[f"ms for {size} row{'s' * (size > 1)}"] = BeforeAfter(before, after, timings=times)
    return figures


# For each format: the function that writes it, and the largest pickle and number of members for
# which it is written just to report its size. At these limits each model takes about a second, and
# all figures together about two.
_FORMATS: dict[str, tuple[Callable[[object], bytes], int, float]] = {
    "megabytes as .skops": (dump_skops, 40_000_000, np.inf),
    "megabytes as .onnx": (onnx_bytes, 8_000_000, 100),
}
_file_sizes_by_pruner: "WeakKeyDictionary[BasePruner, dict[str, BeforeAfter]]" = WeakKeyDictionary()


def _file_sizes(
    problem: Problem, pruner: BasePruner, n_bytes: Sequence[int]
) -> dict[str, BeforeAfter]:
    """Return the file sizes in each format that supports the pruned ensemble; cached per pruner.

    The size of the full ensemble is NaN if it is too large or cannot be written.
    """
    sizes = _file_sizes_by_pruner.get(pruner)
    if sizes is None:
        n_members = map(len, _full_and_kept(pruner))
        models = _full_and_pruned_models(problem, pruner)
        full_and_pruned = list(zip(models, n_members, n_bytes, strict=True))
        sizes = {}
        for name in _FORMATS:
            before, after = (_file_megabytes(name, *model) for model in full_and_pruned)
            if not np.isnan(after):
                sizes[name] = BeforeAfter(before, after)
        _file_sizes_by_pruner[pruner] = sizes
    return sizes


def _file_megabytes(name: str, model: object, n_members: int, n_bytes: int) -> float:
    write, max_bytes, max_members = _FORMATS[name]
    if n_bytes > max_bytes or n_members > max_members:
        return np.nan
    with record_warnings():  # converters call deprecated functions of scikit-learn
        try:
            return len(write(model)) / 1e6
        except Exception:  # the format does not support the model, or its extra is not installed
            return np.nan


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
        stacklevel=5,
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
