"""Guards: warnings if a pruned ensemble is bad in a way that the score asked for does not show.

Thresholds are wide enough that a safe pruning hardly ever has a warning: how often was measured by
``python -m benchmarks.kept safe`` (docs/kept-safe.md).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from secateurs._methods import DEFAULT_TOLERANCE
from secateurs.evaluation.metrics import (
    BEST_MEMBER,
    FIRST_MEMBERS,
    PruningFigures,
    constant_name,
)
from secateurs.evaluation.tolerance import tolerances_by_key
from secateurs.exceptions import SecateursWarning, caller_stacklevel
from secateurs.measures.scoring import Scoring
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.problem import Problem
from secateurs.problem.model_costs import BeforeAfter
from secateurs.text_format import format_count, format_list, format_signed

_MAX_AUC_LOSS, _SURE_AUC_LOSS = 0.02, 0.01  # change, and the end of its interval
_MAX_BRIER_RATIO, _SURE_BRIER_RATIO = 1.1, 1.05
# The log loss of a few unrefitted trees rises by a tenth in many safe cases, because of single
# samples whose class no tree predicts.
_MAX_LOG_LOSS_RATIO = 1.5
# Above, an ensemble ranks samples usefully even if its accuracy is that of the majority class. This
# is common for rare classes, and caused 6 of 11 false alarms of a benchmark (docs/kept-safe.md).
_USEFUL_AUC = 0.6
_LOG_LOSS, _UNKNOWN = "log loss", BeforeAfter(math.nan, math.nan)
_SURE_LEAD = 3 / NORMAL_97_5  # of a baseline, in half widths of its 95 % interval
_BETTER = {  # subject of the sentence, and advice
    BEST_MEMBER: ("The best single member has", "Keep that member alone"),
    FIRST_MEMBERS: ("As many of the first members have", "Keep them, with the method 'es'"),
}
# An interval of five points and more has an alarm: the samples show next to nothing. Smaller ones
# have a note, because a pruning is safe in nearly all of these cases.
_SEVERE_HALF_WIDTH = 0.05
_LOSS_TO_TELL = 0.01  # a point: the loss that validation samples should show, without a tolerance


def find_alarms(
    problem: Problem,
    measured: PruningFigures,
    tolerance: float | Mapping[str, float] | None = None,
    *,
    only_raised: bool = False,
) -> list[str]:
    """Return what is bad about a pruning, in sentences; empty for a good pruning.

    Differences that may be due to chance are left out. With ``only_raised``, so is a worse log loss
    if AUC and Brier score are as before: single samples whose class no kept tree predicts are often
    the reason, and a line is enough.
    """
    alarms = _worse_than_baselines(problem, measured)
    if problem.has_test_set:
        alarms += _missed_tolerances(problem, measured.figures, tolerance)
    figures = measured.figures
    if only_raised and not _collapsed_scores(problem, {**figures, _LOG_LOSS: _UNKNOWN}):
        figures = {}
    alarms += find_collapses(problem, figures)
    precision = _describe_few_samples(problem, measured, tolerance)
    return alarms + ([precision.text] if precision.is_severe else [])


def warn_alarms(alarms: Sequence[str]) -> None:
    """Issue a warning for each alarm, whose location is the line that called the package."""
    for alarm in alarms:
        warnings.warn(SecateursWarning(alarm), stacklevel=caller_stacklevel())


def _worse_than_baselines(problem: Problem, measured: PruningFigures) -> list[str]:
    """Return alarms for predictions that are not better than simple ones."""
    scoring = problem.scoring
    figure = measured.figures.get(scoring.label)
    if figure is None:
        return []
    sign = 1.0 if scoring.larger_is_better else -1.0
    label, constant_label = scoring.label, constant_name(scoring)
    constant = measured.baseline_scores.get(constant_label)
    alarms = []
    lead = np.nan if constant is None else sign * (figure.after - constant)
    is_full_better = constant is not None and sign * (figure.before - constant) > 0
    # If the full ensemble is not better than the constant either, or by chance only, pruning is not
    # the reason. There is an alarm only if the pruned ensemble does not rank samples usefully.
    is_lost = is_full_better and lead <= 0
    is_by_chance = figure.low <= 0 <= figure.high
    is_worse = (lead < 0 or is_lost) and not _ranks_usefully(measured)
    if is_worse or (is_lost and not is_by_chance):
        who = "The pruned ensemble has no" if is_full_better else "Even the full ensemble has no"
        alarms.append(
            f"{who} better {label} than the {constant_label}: {figure.before:z.4f} before and "
            f"{figure.after:z.4f} after pruning, compared with {constant:z.4f}. "
            f"{'Keep more members' if is_full_better else _advice_for_ensemble(problem)}."
        )
    for name, (subject, advice) in _BETTER.items():
        baseline = measured.baselines.get(name)
        if baseline is not None and _is_surely_better(baseline, scoring):
            alarms.append(
                f"{subject} a better {label} than the pruned ensemble: {baseline.after:.4f}, "
                f"compared with {baseline.before:.4f}. {advice}, or compare methods with "
                "secateurs.compare."
            )
    return alarms


def _ranks_usefully(measured: PruningFigures) -> bool:
    """Return whether the pruned ensemble has a useful AUC."""
    areas = [value.after for key, value in measured.figures.items() if key.startswith("ROC AUC")]
    return any(area > _USEFUL_AUC for area in areas)


def _is_surely_better(baseline: BeforeAfter, scoring: Scoring) -> bool:
    """Return whether a baseline is better than the pruned ensemble by three standard errors.

    A lead within the default tolerance does not count.
    """
    sign, least = (1.0, DEFAULT_TOLERANCE) if scoring.larger_is_better else (-1.0, 0.0)
    lead = sign * (baseline.after - baseline.before)
    # An unknown interval is NaN, and no lead is larger.
    return lead > least and lead > _SURE_LEAD * (baseline.high - baseline.low) / 2


def _advice_for_ensemble(problem: Problem) -> str:
    """Return what to do if even the full ensemble is not better than a constant."""
    scoring, other = problem.scoring, None
    if problem.is_regression:
        other = "neg_mean_absolute_error"  # with which outliers count less
    elif scoring.needs != "probabilities" and problem.is_soft:
        other = "roc_auc" if len(problem.predictions.classes) == 2 else "roc_auc_ovr"
    if other in (None, scoring.name):
        return "Improve the ensemble"
    return f"Pass another score, such as {other!r}, or improve the ensemble"


def _half_width(figure: BeforeAfter) -> float:
    """Return half of the interval of the change; 0 if it is unknown."""
    half = (figure.high - figure.low) / 2
    return half if math.isfinite(half) else 0.0


def find_collapses(problem: Problem, figures: Mapping[str, BeforeAfter]) -> list[str]:
    """Return alarms for scores of probabilities, other than ``scoring``, that became much worse.

    Cross-validated scores of refitted members are those before refitting, which refitting often
    makes good: they have a note instead.
    """
    return [] if _is_before_refitting(problem) else describe_collapses(problem, figures)


def describe_collapses(problem: Problem, figures: Mapping[str, BeforeAfter]) -> list[str]:
    """Return the alarm for scores of probabilities that became much worse, if any did.

    `prune` warns of them by the validation samples themselves, where the pruned ensemble looks
    better than it is, and with a tolerance by cross-validated scores.
    """
    collapsed = _collapsed_scores(problem, figures)
    if not collapsed:
        return []
    return [
        f"Scores other than {_asked_scores(problem)} are much worse after pruning: "
        f"{format_list(collapsed)}. Keep more members, leave out the budget, or pass a score of "
        "probabilities as scoring."
    ]


def _is_before_refitting(problem: Problem) -> bool:
    return problem.refitted is not None and not problem.has_test_set


def _asked_scores(problem: Problem) -> str:
    return format_list([scoring.label for scoring in problem.scorings], " and ")


def _collapsed_scores(problem: Problem, figures: Mapping[str, BeforeAfter]) -> list[str]:
    asked = {scoring.label for scoring in problem.scorings}
    return [
        f"{label} {figure.before:.4f} → {figure.after:.4f}"
        for label, figure in figures.items()
        if label not in asked and _is_collapse(label, figure)
    ]


def _is_collapse(label: str, figure: BeforeAfter) -> bool:
    """Return whether a score of probabilities is much worse after pruning, beyond chance."""
    before, after = figure.before, figure.after
    if not math.isfinite(figure.low):
        return False
    if label.startswith("ROC AUC"):
        return after - before < -_MAX_AUC_LOSS and figure.high < -_SURE_AUC_LOSS
    if label == "Brier score":
        is_sure = figure.low > (_SURE_BRIER_RATIO - 1) * before
        return after > _MAX_BRIER_RATIO * before and is_sure
    return label == _LOG_LOSS and after > _MAX_LOG_LOSS_RATIO * before and figure.low > 0


def _missed_tolerances(
    problem: Problem,
    figures: Mapping[str, BeforeAfter],
    tolerance: float | Mapping[str, float] | None,
) -> list[str]:
    """Return alarms for tolerances that are missed on the test set by more than chance."""
    alarms = []
    for scoring, limit in _limits(problem, tolerance).items():
        figure = figures.get(scoring.label)
        if figure is None:
            continue
        least_loss = -figure.high if scoring.larger_is_better else figure.low
        if least_loss > limit:
            change = abs(figure.after - figure.before)
            alarms.append(
                f"On the test set, the {scoring.label} is worse by {change:.4f}, more than the "
                f"tolerance of {limit:g}. Keep more members, or use more validation samples."
            )
    return alarms


def _limits(
    problem: Problem, tolerance: float | Mapping[str, float] | None
) -> dict[Scoring, float]:
    given = tolerances_by_key(tolerance, problem.scoring.key)
    return {scoring: given[scoring.key] for scoring in problem.scorings if scoring.key in given}


class _Precision(NamedTuple):
    """How many samples would tell a loss from chance; without text if there are enough."""

    text: str = ""
    is_severe: bool = False


def describe_precision(
    problem: Problem,
    measured: PruningFigures,
    tolerance: float | Mapping[str, float] | None = None,
) -> list[str]:
    """Return how many samples would tell a loss from chance, and which losses cannot be excluded.

    Far too few samples have an alarm instead.
    """
    open_risks = _open_risks(problem, measured.figures)
    collapsed = _collapsed_scores(problem, measured.figures)
    if collapsed and _is_before_refitting(problem):
        open_risks.append(
            f"Before refitting, scores other than {_asked_scores(problem)} are much worse: "
            f"{format_list(collapsed)}. Pass a test set for the scores after refitting."
        )
    precision = _describe_few_samples(problem, measured, tolerance)
    is_note = precision.text and not precision.is_severe
    return [precision.text, *open_risks] if is_note else open_risks


def _describe_few_samples(
    problem: Problem, measured: PruningFigures, tolerance: float | Mapping[str, float] | None
) -> _Precision:
    """Return how many samples would tell a loss from chance, if there are too few.

    The half width of an interval shrinks with the square root of the number of samples.
    """
    scoring = problem.scoring
    figure = measured.figures.get(scoring.label)
    limit = _limits(problem, tolerance).get(scoring, _LOSS_TO_TELL) or _LOSS_TO_TELL
    if figure is None or not scoring.larger_is_better:
        return _Precision()
    n_samples = problem.predictions.n_samples
    if problem.has_test_set:
        assert problem.y_test is not None
        n_samples = len(problem.y_test)
    half = _half_width(figure)
    # If hardly any prediction changes, the interval is too narrow, and it is 0 if none changes. As
    # in the interval of Agresti and Min for paired proportions, one more change is counted.
    of_one_change = NORMAL_97_5 if scoring.name == "accuracy" else 0.0
    widened = math.hypot(half, of_one_change / n_samples)
    if widened <= limit:
        return _Precision()
    interval = f"its 95 % interval is ±{half:.4f}"
    if half <= limit:
        interval = f"with one more change, its 95 % interval is ±{widened:.4f}"
    # The number for which the widened interval is the limit.
    squares = n_samples * half**2
    needed = (squares + math.hypot(squares, 2 * of_one_change * limit)) / (2 * limit**2)
    text = (
        f"{format_count(n_samples, 'sample')} are too few to tell a change of {limit:g} in "
        f"{scoring.label} from chance: {interval}. About {_round_up_to_two_digits(needed):,} "
        "samples would do."
    )
    return _Precision(text, is_severe=half > max(limit, _SEVERE_HALF_WIDTH))


def _open_risks(problem: Problem, figures: Mapping[str, BeforeAfter]) -> list[str]:
    """Return scores of probabilities, other than ``scoring``, that may be much worse."""
    asked = {scoring.label for scoring in problem.scorings}
    risks = []
    for label, figure in figures.items():
        if label in asked or not math.isfinite(figure.low) or _is_collapse(label, figure):
            continue  # a collapse has an alarm
        may_fall = label.startswith("ROC AUC") and figure.low < -_MAX_AUC_LOSS
        limit = (_MAX_BRIER_RATIO - 1) * figure.before
        may_rise = label == "Brier score" and figure.high > limit
        if may_fall or may_rise:
            risks.append(
                f"{label} ({format_signed(figure.low, 4)} to {format_signed(figure.high, 4)})"
            )
    if not risks:
        return []
    return [
        f"These samples cannot exclude much worse scores after pruning: {format_list(risks)}, the "
        "95 % interval of the change. Keep more members, or use more samples."
    ]


def _round_up_to_two_digits(value: float) -> int:
    """Return a number rounded up to two digits, such as 1,300 for 1,234."""
    unit = 10 ** max(0, int(np.floor(np.log10(value))) - 1)
    return int(math.ceil(value / unit - 1e-9) * unit)
