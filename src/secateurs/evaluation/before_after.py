"""Before and after: figures of the whole ensemble and of the pruned one."""

import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from html import escape
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.evaluation.budget import combined_prediction, make_predictor, time_predictions
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
from secateurs.text_format import format_signed
from secateurs.typing import Array

_N_BOOTSTRAP = 2000
_TIMED = (1, 1000)  # rows


class BeforeAfter(NamedTuple):
    """A figure of the whole ensemble and of the pruned one.

    ``low`` and ``high`` are the 95 % interval of the change, where there is one; ``timings`` are
    the single measurements of both, where the figures are their medians.
    """

    before: float
    after: float
    low: float = np.nan
    high: float = np.nan
    timings: NDArray[np.float64] | None = None


class Summary(pd.DataFrame):
    """Figures before and after, shown whole, with the remarks in ``attrs`` below them."""

    def __repr__(self) -> str:
        return "\n".join([self.to_string(na_rep=""), *self.attrs.get("remarks", ())])

    def _repr_html_(self) -> str:
        remarks = (f"<p>{escape(remark)}</p>" for remark in self.attrs.get("remarks", ()))
        return "\n".join([self.to_html(na_rep=""), *remarks])


def summary_table(
    rows: str,
    figures: Mapping[str, BeforeAfter],
    remarks: Sequence[str],
    scoring: Scoring,
    tolerance: float | None,
) -> Summary:
    """Return figures as a table with remarks, the last of which is whether the tolerance holds."""
    told = list(remarks)
    if tolerance is not None:
        told.append(
            f"On these rows {describe_tolerance(figures[scoring.label], tolerance, scoring)}."
        )
    values = [(f.before, f.after, f.after - f.before, f.low, f.high) for f in figures.values()]
    columns = ["before", "after", "change", "low", "high"]
    table = Summary(values, columns=columns, index=pd.Index(figures, name=rows), dtype=float)
    table.attrs["remarks"] = told
    return table


def describe_tolerance(figure: BeforeAfter, tolerance: float, scoring: Scoring) -> str:
    """Return whether a score is within the tolerance, in words."""
    change = figure.after - figure.before
    within = (change if scoring.larger_is_better else -change) >= -tolerance - 1e-12
    return (
        f"{'within' if within else 'not within'} the tolerance of {tolerance:g}: "
        f"{scoring.label} {format_signed(change, 4)}"
    )


def measure_on_test(
    problem: Problem, pruner: BasePruner, rng: np.random.RandomState, *, files: bool = False
) -> tuple[str, dict[str, BeforeAfter]]:
    """Measure on the test rows; return what they are, and the figures, with file sizes if asked."""
    rows = _describe_test_samples(problem)
    X, truth, weight = problem.X_test, problem.y_test, problem.sample_weight_test
    assert truth is not None
    both = _full_and_kept(pruner)
    figures = member_counts(pruner)
    if isinstance(X, PredictionTable):
        tables = (
            X,
            X if problem.member_weights is None else X.with_member_weights(problem.member_weights),
        )
        before, after = (
            combined_prediction(X, None, some) for X, some in zip(tables, both, strict=True)
        )
    else:
        before, after = (
            np.ravel(predict(X)) for predict in _full_and_pruned_predictors(problem, pruner)
        )
    if problem.is_regression:
        figures |= score_both(problem, (truth, weight), _OF_NUMBERS, before, after)
    else:
        figures |= _bootstrapped_accuracy(truth, before, after, weight, rng)
        shares = _test_probabilities(problem, pruner)
        if shares is not None:
            figures |= score_both(problem, (truth, weight), _OF_PROBABILITIES, *shares)
        if problem.scoring.needs == "probabilities" and shares is not None:
            before, after = shares
    known = figures.get(problem.scoring.label)
    if known is None or np.isnan(known.low):  # the score asked for has an interval
        figures |= score_both(problem, (truth, weight), [problem.scoring], before, after)
    return rows, figures if problem.has_only_predictions else figures | model_costs(
        problem, pruner, files=files
    )


_OF_NUMBERS = ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error")
_OF_PROBABILITIES = ("neg_log_loss", "roc_auc")


def score_both(
    problem: Problem,
    truths: tuple[Array, Array | None],
    scorings: Iterable[str | Scoring],
    before: Array,
    after: Array,
) -> dict[str, BeforeAfter]:
    """Score two answers to rows, given by the truth and weights, as people know the scores."""
    (truth, weight), classes = truths, problem.scoring.classes
    if len(classes) and not np.isin(truth, classes).all():
        return {}  # a class that the model never saw has no probability
    figures = {}
    for asked in scorings:
        if asked == "roc_auc" and len(np.unique(truth)) != len(classes):
            continue  # undefined where a class is missing
        name = "roc_auc_ovr" if asked == "roc_auc" and len(classes) > 2 else asked
        scoring = name if isinstance(name, Scoring) else Scoring.from_scorer(name, classes)
        with nullcontext() if asked is problem.scoring else suppress(InputError):
            figures[scoring.label] = _score_with_interval(scoring, truth, before, after, weight)
    return figures


def _score_with_interval(
    scoring: Scoring, truth: Array, before: Array, after: Array, weight: Array | None
) -> BeforeAfter:
    """Return a score of two answers, and the 95 % interval of its change by the jackknife."""
    sign = 1.0 if scoring.larger_is_better else -1.0
    whole, kept, half = scores_with_interval(scoring, truth, before, after, weight)
    change = sign * (kept - whole)
    return BeforeAfter(sign * whole, sign * kept, change - half, change + half)


def _test_probabilities(problem: Problem, pruner: BasePruner) -> tuple[Array, Array] | None:
    """Return what the whole ensemble and the pruned one say of the test rows; None by labels."""
    if isinstance(problem.X_test, PredictionTable):
        if not problem.X_test.is_soft:
            return None
        whole, kept = _full_and_kept(pruner)
        scores, weights = problem.soft_test_predictions, problem.member_weights
        own = None if weights is None else weights[kept]
        return scores.average(whole), scores.average(kept, own)
    models = _full_and_pruned_models(problem, pruner)
    if not all(hasattr(model, "predict_proba") for model in models):
        return None
    before, after = (model.predict_proba(problem.X_test) for model in models)
    return before, after


def member_counts(pruner: BasePruner) -> dict[str, BeforeAfter]:
    """Return the number of members."""
    whole, kept = _full_and_kept(pruner)
    return {"members": BeforeAfter(len(whole), len(kept))}


def held_out_scores(problem: Problem, curve: SizeCurve, size: int) -> dict[str, BeforeAfter]:
    """Return the scores on the rows held out in cross-fitting, as people know them."""
    figures = {}
    if not problem.is_regression:
        figures["accuracy"] = _held_out_accuracy(curve, size)
    if problem.scoring.label not in figures or not problem.is_plain_accuracy:
        found = main_held_out_score(curve, size)
        if not problem.scoring.larger_is_better:
            found = BeforeAfter(-found.before, -found.after, -found.high, -found.low)
        figures[problem.scoring.label] = found
    if problem.is_regression or (problem.is_soft and problem.has_soft_predictions):
        others = _OF_NUMBERS if problem.is_regression else _OF_PROBABILITIES
        truth = true_values(problem.predictions)
        both = _cross_validated_predictions(problem, curve, size)
        more = score_both(problem, (truth, problem.sample_weight), others, *both)
        figures |= {name: figure for name, figure in more.items() if name not in figures}
    return figures


def _held_out_accuracy(curve: SizeCurve, size: int) -> BeforeAfter:
    return _before_after_at(curve.accuracy, curve.selection.size_index(size))


def _cross_validated_predictions(
    problem: Problem, curve: SizeCurve, size: int
) -> tuple[Array, Array]:
    """Return what all members, and those chosen without the row, say of each row."""
    scores, weights = problem.soft_predictions, problem.ensemble.weights
    whole = scores.average(weights=weights)
    kept = np.empty_like(whole)
    for rows, chosen in curve.fold_selections:
        assert rows is not None
        members = chosen.members_at(size)
        own = chosen.weights.get(size)
        if weights is not None:
            own = weights[members] * (1.0 if own is None else own)
        kept[rows] = scores.rows(rows).average(members, own)
    return whole, kept


def truth_and_predictions(
    problem: Problem, pruner: BasePruner, curve: SizeCurve, size: int
) -> tuple[Array, Array, Array]:
    """Return the true numbers of held-out rows, and what all and the kept members predict."""
    if not problem.has_test_set:
        return problem.predictions.truth, *_cross_validated_predictions(problem, curve, size)
    if not problem.has_only_predictions:
        before, after = (
            predict(problem.X_test) for predict in _full_and_pruned_predictors(problem, pruner)
        )
        return problem.soft_test_predictions.truth, before, after
    (whole, kept), scores, weights = (
        _full_and_kept(pruner),
        problem.soft_test_predictions,
        problem.member_weights,
    )
    own = None if weights is None else weights[kept]
    return scores.truth, scores.average(whole), scores.average(kept, own)


def main_held_out_score(curve: SizeCurve, size: int) -> BeforeAfter:
    """Return the score that matters on rows held out, as a curve has it."""
    return _before_after_at(curve.main_score, curve.selection.size_index(size))


def _before_after_at(scored: AccuracyCounts | ScoreCurve, place: int) -> BeforeAfter:
    """Return the whole ensemble and one of the sizes of a curve."""
    change, half = float(scored.change[place]), float(scored.half_width[place])
    return BeforeAfter(scored.full_value, float(scored.values[place]), change - half, change + half)


def model_costs(
    problem: Problem, pruner: BasePruner, *, files: bool = True, row: Any = None
) -> dict[str, BeforeAfter]:
    """Measure the models: megabytes, and milliseconds where there are rows to predict.

    With a single ``row``, in place of those that are not kept, it is quick.
    """
    if problem.has_only_predictions:
        return {}
    n_bytes = [len(pickle.dumps(model)) for model in _full_and_pruned_models(problem, pruner)]
    figures = {"megabytes": BeforeAfter(n_bytes[0] / 1e6, n_bytes[1] / 1e6)}
    if files:
        figures |= _file_sizes(problem, pruner, n_bytes)
    X = problem.X_test if problem.has_test_set else problem.X
    if X is not None:
        return figures | _prediction_times(problem, pruner, X, _TIMED)
    return figures if row is None else figures | _prediction_times(problem, pruner, row, [1], 0.1)


def _full_and_kept(pruner: BasePruner) -> tuple[list[int], list[int]]:
    """Return all members, and those kept, in their old order."""
    return list(range(len(pruner.support_))), np.sort(pruner.member_indices_).tolist()


def _full_and_pruned_models(problem: Problem, pruner: BasePruner) -> list[Any]:
    whole, kept = _full_and_kept(pruner)
    return [problem.ensemble.as_predictor(whole), problem.served_ensemble.as_predictor(kept)]


def _full_and_pruned_predictors(problem: Problem, pruner: BasePruner) -> list[Callable[[Any], Any]]:
    whole, kept = _full_and_kept(pruner)
    return [make_predictor(problem.ensemble, whole), make_predictor(problem.served_ensemble, kept)]


def _prediction_times(
    problem: Problem, pruner: BasePruner, X: Any, numbers: Iterable[int], seconds: float = 0.3
) -> dict[str, BeforeAfter]:
    """Time predictions of some numbers of rows, each for so many seconds per model."""
    predicts = _full_and_pruned_predictors(problem, pruner)
    figures = {}
    for n_rows in numbers:
        rows = _safe_indexing(X, np.arange(n_rows) % _num_samples(X))
        times = 1e3 * time_predictions(predicts, rows, seconds)
        before, after = np.median(times, axis=1).tolist()
        figures[f"ms for {n_rows} row{'s' * (n_rows > 1)}"] = BeforeAfter(
            before, after, timings=times
        )
    return figures


# What writes a model, and up to what size of its pickle and number of members it does so just for
# a figure: at these limits each takes about a second; all figures together, about two.
_FORMATS: dict[str, tuple[Callable[[Any], bytes], int, float]] = {
    "megabytes as .skops": (dump_skops, 40_000_000, np.inf),
    "megabytes as .onnx": (onnx_bytes, 8_000_000, 100),
}
_written: "WeakKeyDictionary[BasePruner, dict[str, BeforeAfter]]" = WeakKeyDictionary()


def _file_sizes(
    problem: Problem, pruner: BasePruner, n_bytes: Sequence[int]
) -> dict[str, BeforeAfter]:
    """Return the size in each format that holds the pruned ensemble; found once per pruner.

    That of the whole ensemble is NaN where it is too large, or of a kind that cannot be written.
    """
    if pruner not in _written:
        n_members = map(len, _full_and_kept(pruner))
        both = list(zip(_full_and_pruned_models(problem, pruner), n_members, n_bytes, strict=True))
        found = {}
        for name in _FORMATS:
            before, after = (_file_megabytes(name, *facts) for facts in both)
            if not np.isnan(after):
                found[name] = BeforeAfter(before, after)
        _written[pruner] = found
    return _written[pruner]


def _file_megabytes(name: str, model: Any, n_members: int, n_bytes: int) -> float:
    write, most_bytes, most_members = _FORMATS[name]
    if n_bytes > most_bytes or n_members > most_members:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about how converters call scikit-learn
        try:
            return len(write(model)) / 1e6
        except Exception:  # the format does not hold such a model, or its extra is not installed
            return np.nan


def _describe_test_samples(problem: Problem) -> str:
    """Return what the test rows are, and warn if the members were chosen on some of them."""
    n_rows, n_reused = _num_samples(problem.y_test), problem.n_reused_samples
    if n_reused == 0:
        return f"held-out rows ({n_rows})"
    warnings.warn(
        SecateursWarning(
            f"{n_reused:,} of {n_rows:,} test rows are also among the rows chosen on, where the "
            "pruned ensemble looks better than it is. Leave them out."
        ),
        stacklevel=5,
    )
    if n_reused == n_rows:
        return f"rows chosen on ({n_rows})"
    return f"test rows ({n_rows}, {n_reused} also chosen on)"


def _bootstrapped_accuracy(
    truth: Array, before: Array, after: Array, weight: Array | None, rng: np.random.RandomState
) -> dict[str, BeforeAfter]:
    right, still = before == truth, after == truth
    # Each row is worth −1, 0 or 1 of change: resampling rows is drawing from those three.
    n_rows = len(truth)
    if weight is None:
        lost, won = (right & ~still).sum() / n_rows, (still & ~right).sum() / n_rows
        draws = rng.multinomial(n_rows, [lost, won, max(0.0, 1 - lost - won)], size=_N_BOOTSTRAP)
        changes = (draws[:, 1] - draws[:, 0]) / n_rows
    else:  # the rows drawn, with their weights
        counts = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=_N_BOOTSTRAP) * weight
        changes = counts @ (still.astype(float) - right) / counts.sum(axis=1)
    low, high = np.percentile(changes, [2.5, 97.5])
    was, now = (float(np.average(found, weights=weight)) for found in (right, still))
    return {
        "accuracy": BeforeAfter(was, now, float(low), float(high)),
        "balanced accuracy": balanced_accuracy(truth, before, after, weight),
    }


def balanced_accuracy(
    truth: Array, before: Array, after: Array, weight: Array | None = None
) -> BeforeAfter:
    """Return the mean, over classes, of the fraction of rows right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that only predictions show
        score = partial(balanced_accuracy_score, truth, sample_weight=weight)
        return BeforeAfter(float(score(before)), float(score(after)))
