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

from secateurs._labels import Array
from secateurs._text import signed
from secateurs.evaluation._budget import own_vote, predictor, timings
from secateurs.evaluation._curves import Score, SizeCurve
from secateurs.evaluation._score_curve import ScoreCurve, change_of
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.measures._scoring import Scoring
from secateurs.outputs._predictions import Predictions
from secateurs.outputs._scores import true_values
from secateurs.persistence._export import onnx_bytes
from secateurs.persistence._skops import dump_skops
from secateurs.problem import Problem
from secateurs.pruners import BasePruner

_N_BOOTSTRAP = 2000
_TIMED = (1, 1000)  # rows


class Figure(NamedTuple):
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


def summary(
    rows: str,
    figures: Mapping[str, Figure],
    remarks: Sequence[str],
    scoring: Scoring,
    tolerance: float | None,
) -> Summary:
    """Return figures as a table with remarks, the last of which is whether the tolerance holds."""
    told = list(remarks)
    if tolerance is not None:
        told.append(f"On these rows {held(figures[scoring.label], tolerance, scoring)}.")
    values = [(f.before, f.after, f.after - f.before, f.low, f.high) for f in figures.values()]
    columns = ["before", "after", "change", "low", "high"]
    table = Summary(values, columns=columns, index=pd.Index(figures, name=rows), dtype=float)
    table.attrs["remarks"] = told
    return table


def held(figure: Figure, tolerance: float, scoring: Scoring) -> str:
    """Return whether a score is within the tolerance, in words."""
    change = figure.after - figure.before
    within = (change if scoring.larger_is_better else -change) >= -tolerance - 1e-12
    return (
        f"{'within' if within else 'not within'} the tolerance of {tolerance:g}: "
        f"{scoring.label} {signed(change, 4)}"
    )


def measure(
    problem: Problem, pruner: BasePruner, rng: np.random.RandomState, *, files: bool = False
) -> tuple[str, dict[str, Figure]]:
    """Measure on the test rows; return what they are, and the figures, with file sizes if asked."""
    rows = _which_rows(problem)
    X, truth, weight = problem.X_test, problem.y_test, problem.sample_weight_test
    assert truth is not None
    both = _members(pruner)
    figures = count(pruner)
    if isinstance(X, Predictions):
        tables = X, X if problem.weights is None else X.weighted(problem.weights)
        before, after = (own_vote(X, None, some) for X, some in zip(tables, both, strict=True))
    else:
        before, after = (np.ravel(predict(X)) for predict in _predictors(problem, pruner))
    if problem.is_regression:
        figures |= scored(problem, (truth, weight), _OF_NUMBERS, before, after)
    else:
        figures |= _accuracy(truth, before, after, weight, rng)
        shares = _probabilities(problem, pruner)
        if shares is not None:
            figures |= scored(problem, (truth, weight), _OF_PROBABILITIES, *shares)
        if problem.scoring.needs == "probabilities" and shares is not None:
            before, after = shares
    known = figures.get(problem.scoring.label)
    if known is None or np.isnan(known.low):  # the score asked for has an interval
        figures |= scored(problem, (truth, weight), [problem.scoring], before, after)
    return rows, figures if problem.is_predictions else figures | costs(
        problem, pruner, files=files
    )


_OF_NUMBERS = ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error")
_OF_PROBABILITIES = ("neg_log_loss", "roc_auc")


def scored(
    problem: Problem,
    truths: tuple[Array, Array | None],
    scorings: Iterable[str | Scoring],
    before: Array,
    after: Array,
) -> dict[str, Figure]:
    """Score two answers to rows, given by the truth and weights, as people know the scores."""
    (truth, weight), classes = truths, problem.scoring.classes
    if len(classes) and not np.isin(truth, classes).all():
        return {}  # a class that the model never saw has no probability
    figures = {}
    for asked in scorings:
        if asked == "roc_auc" and len(np.unique(truth)) != len(classes):
            continue  # undefined where a class is missing
        name = "roc_auc_ovr" if asked == "roc_auc" and len(classes) > 2 else asked
        scoring = name if isinstance(name, Scoring) else Scoring.of(name, classes)
        with nullcontext() if asked is problem.scoring else suppress(InputError):
            figures[scoring.label] = _figure(scoring, truth, before, after, weight)
    return figures


def _figure(
    scoring: Scoring, truth: Array, before: Array, after: Array, weight: Array | None
) -> Figure:
    """Return a score of two answers, and the 95 % interval of its change by the jackknife."""
    sign = 1.0 if scoring.larger_is_better else -1.0
    whole, kept, half = change_of(scoring, truth, before, after, weight)
    change = sign * (kept - whole)
    return Figure(sign * whole, sign * kept, change - half, change + half)


def _probabilities(problem: Problem, pruner: BasePruner) -> tuple[Array, Array] | None:
    """Return what the whole ensemble and the pruned one say of the test rows; None by labels."""
    if isinstance(problem.X_test, Predictions):
        if not problem.X_test.soft:
            return None
        whole, kept = _members(pruner)
        scores, weights = problem.test_scores, problem.weights
        own = None if weights is None else weights[kept]
        return scores.average(whole), scores.average(kept, own)
    models = _models(problem, pruner)
    if not all(hasattr(model, "predict_proba") for model in models):
        return None
    before, after = (model.predict_proba(problem.X_test) for model in models)
    return before, after


def count(pruner: BasePruner) -> dict[str, Figure]:
    """Return the number of members."""
    whole, kept = _members(pruner)
    return {"members": Figure(len(whole), len(kept))}


def cross_fitted(problem: Problem, curve: SizeCurve, size: int) -> dict[str, Figure]:
    """Return the scores on the rows held out in cross-fitting, as people know them."""
    figures = {}
    if not problem.is_regression:
        figures["accuracy"] = _accuracy_of(curve, size)
    if problem.scoring.label not in figures or not problem.counts_rows:
        found = held_out_score(curve, size)
        if not problem.scoring.larger_is_better:
            found = Figure(-found.before, -found.after, -found.high, -found.low)
        figures[problem.scoring.label] = found
    if problem.is_regression or (problem.is_soft and problem.knows_scores):
        others = _OF_NUMBERS if problem.is_regression else _OF_PROBABILITIES
        truth = true_values(problem.votes)
        both = _held_out(problem, curve, size)
        more = scored(problem, (truth, problem.sample_weight), others, *both)
        figures |= {name: figure for name, figure in more.items() if name not in figures}
    return figures


def _accuracy_of(curve: SizeCurve, size: int) -> Figure:
    return _figure_of(curve.accuracy, curve.selection.place(size))


def _held_out(problem: Problem, curve: SizeCurve, size: int) -> tuple[Array, Array]:
    """Return what all members, and those chosen without the row, say of each row."""
    scores, weights = problem.scores, problem.ensemble.weights
    whole = scores.average(weights=weights)
    kept = np.empty_like(whole)
    for rows, chosen in curve.parts:
        assert rows is not None
        members = chosen.members(size)
        own = chosen.weights.get(size)
        if weights is not None:
            own = weights[members] * (1.0 if own is None else own)
        kept[rows] = scores.rows(rows).average(members, own)
    return whole, kept


def both_answers(
    problem: Problem, pruner: BasePruner, curve: SizeCurve, size: int
) -> tuple[Array, Array, Array]:
    """Return the true numbers of held-out rows, and what all and the kept members predict."""
    if not problem.has_test:
        return problem.votes.truth, *_held_out(problem, curve, size)
    if not problem.is_predictions:
        before, after = (predict(problem.X_test) for predict in _predictors(problem, pruner))
        return problem.test_scores.truth, before, after
    (whole, kept), scores, weights = _members(pruner), problem.test_scores, problem.weights
    own = None if weights is None else weights[kept]
    return scores.truth, scores.average(whole), scores.average(kept, own)


def held_out_score(curve: SizeCurve, size: int) -> Figure:
    """Return the score that matters on rows held out, as a curve has it."""
    return _figure_of(curve.scored, curve.selection.place(size))


def _figure_of(scored: Score | ScoreCurve, place: int) -> Figure:
    """Return the whole ensemble and one of the sizes of a curve."""
    change, half = float(scored.change[place]), float(scored.half_width[place])
    return Figure(scored.whole_value, float(scored.values[place]), change - half, change + half)


def costs(
    problem: Problem, pruner: BasePruner, *, files: bool = True, row: Any = None
) -> dict[str, Figure]:
    """Measure the models: megabytes, and milliseconds where there are rows to predict.

    With a single ``row``, in place of those that are not kept, it is quick.
    """
    if problem.is_predictions:
        return {}
    n_bytes = [len(pickle.dumps(model)) for model in _models(problem, pruner)]
    figures = {"megabytes": Figure(n_bytes[0] / 1e6, n_bytes[1] / 1e6)}
    if files:
        figures |= _file_sizes(problem, pruner, n_bytes)
    X = problem.X_test if problem.has_test else problem.X
    if X is not None:
        return figures | _milliseconds(problem, pruner, X, _TIMED)
    return figures if row is None else figures | _milliseconds(problem, pruner, row, [1], 0.1)


def _members(pruner: BasePruner) -> tuple[list[int], list[int]]:
    """Return all members, and those kept, in their old order."""
    return list(range(len(pruner.support_))), np.sort(pruner.member_indices_).tolist()


def _models(problem: Problem, pruner: BasePruner) -> list[Any]:
    whole, kept = _members(pruner)
    return [problem.ensemble.serve(whole), problem.served.serve(kept)]


def _predictors(problem: Problem, pruner: BasePruner) -> list[Callable[[Any], Any]]:
    whole, kept = _members(pruner)
    return [predictor(problem.ensemble, whole), predictor(problem.served, kept)]


def _milliseconds(
    problem: Problem, pruner: BasePruner, X: Any, numbers: Iterable[int], seconds: float = 0.3
) -> dict[str, Figure]:
    """Time predictions of some numbers of rows, each for so many seconds per model."""
    predicts = _predictors(problem, pruner)
    figures = {}
    for n_rows in numbers:
        rows = _safe_indexing(X, np.arange(n_rows) % _num_samples(X))
        times = 1e3 * timings(predicts, rows, seconds)
        before, after = np.median(times, axis=1).tolist()
        figures[f"ms for {n_rows} row{'s' * (n_rows > 1)}"] = Figure(before, after, timings=times)
    return figures


# What writes a model, and up to what size of its pickle and number of members it does so just for
# a figure: at these limits each takes about a second; all figures together, about two.
_FORMATS: dict[str, tuple[Callable[[Any], bytes], int, float]] = {
    "megabytes as .skops": (dump_skops, 40_000_000, np.inf),
    "megabytes as .onnx": (onnx_bytes, 8_000_000, 100),
}
_written: "WeakKeyDictionary[BasePruner, dict[str, Figure]]" = WeakKeyDictionary()


def _file_sizes(problem: Problem, pruner: BasePruner, n_bytes: Sequence[int]) -> dict[str, Figure]:
    """Return the size in each format that holds the pruned ensemble; found once per pruner.

    That of the whole ensemble is NaN where it is too large, or of a kind that cannot be written.
    """
    if pruner not in _written:
        n_members = map(len, _members(pruner))
        both = list(zip(_models(problem, pruner), n_members, n_bytes, strict=True))
        found = {}
        for name in _FORMATS:
            before, after = (_megabytes(name, *facts) for facts in both)
            if not np.isnan(after):
                found[name] = Figure(before, after)
        _written[pruner] = found
    return _written[pruner]


def _megabytes(name: str, model: Any, n_members: int, n_bytes: int) -> float:
    write, most_bytes, most_members = _FORMATS[name]
    if n_bytes > most_bytes or n_members > most_members:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about how converters call scikit-learn
        try:
            return len(write(model)) / 1e6
        except Exception:  # the format does not hold such a model, or its extra is not installed
            return np.nan


def _which_rows(problem: Problem) -> str:
    """Return what the test rows are, and warn if the members were chosen on some of them."""
    n_rows, n_reused = _num_samples(problem.y_test), problem.n_reused
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


def _accuracy(
    truth: Array, before: Array, after: Array, weight: Array | None, rng: np.random.RandomState
) -> dict[str, Figure]:
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
        "accuracy": Figure(was, now, float(low), float(high)),
        "balanced accuracy": balanced_accuracy(truth, before, after, weight),
    }


def balanced_accuracy(
    truth: Array, before: Array, after: Array, weight: Array | None = None
) -> Figure:
    """Return the mean, over classes, of the fraction of rows right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that only predictions show
        score = partial(balanced_accuracy_score, truth, sample_weight=weight)
        return Figure(float(score(before)), float(score(after)))
