"""Which method to take: what many data sets taught, and what the rows given say against it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from secateurs._methods import AUTO, DEFAULT_TOLERANCE
from secateurs.ensembles import CORRECTS
from secateurs.evaluation._method_scores import MethodScores, cross_validate_methods
from secateurs.evaluation.alternatives import is_applicable, pruner_for
from secateurs.evaluation.score_curve import NORMAL_97_5
from secateurs.evaluation.size_curves import Evaluation
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.base import DistributedPruner
from secateurs.pruners.parameters import resolve_keep
from secateurs.pruners.pruner_label import pruner_label
from secateurs.pruners.selector import as_pruner
from secateurs.text_format import format_count, format_list, format_signed

CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "comep λ=0.1": ("comep", {"diversity_weight": 0.1}),
    "comep λ=0.3": ("comep", {"diversity_weight": 0.3}),
    "joint": ("joint", {}),
    "re": ("re", {}),
    "oo": ("oo", {}),
    "mdm": ("mdm", {}),
    "uwa": ("uwa", {}),
    "oep": ("oep", {}),
    "best": ("best", {}),
    "caruana": ("caruana", {}),
}
_GUARDS: dict[str, tuple[str, dict[str, Any]]] = {
    "the best single member scores": ("best", {"keep": 1}),
    "the first members score": ("es", {}),
    "random members score": ("random", {"random_state": 0}),
}
N_CANDIDATES = 4  # those that did best before
_NOISE = 3.0  # standard errors that a method must be ahead of the one that did best before
_MIXED = 0.1  # spread from which members count as different kinds
_MOST_VOTES = 1 << 19  # rows × members of a trial; more rows are sampled
_LEAST_ROWS = 1000
_SAME = 5e-5  # a change of the score that rounds to nothing
_KINDS = {
    "alike": "ensembles of equally good members",
    "mixed": "ensembles of better and worse members",
    "weighted": "ensembles of weighted votes",
    "numbers": "ensembles of regressors",
}

Prior = Mapping[str, Mapping[str, Mapping[str, float]]]  # kind, score and method to points


class MethodAdvice(NamedTuple):
    """The method to take, and why.

    Attributes
    ----------
    pruner : BasePruner
        The method.
    reason : str
        Why, in one line; that it was asked for goes without saying.
    """

    pruner: BasePruner
    reason: str = ""


@cache
def benchmark_prior() -> Prior:
    """Return how many points methods were ahead on many data sets: by kind, score and method.

    ``python -m benchmarks.kept`` measures it, see docs/kept.md.
    """
    text = files("secateurs.evaluation").joinpath("prior.json").read_text(encoding="utf-8")
    points: Prior = json.loads(text)["points"]
    return points


def resolve_method(  # noqa: PLR0917
    problem: Problem,
    pruner: str | BasePruner | None,
    parameters: Mapping[str, Any],
    keep: int | float | str | None,
    rng: np.random.RandomState,
    spread: bool = False,
    random_state: Any = None,
) -> MethodAdvice:
    """Return the pruner to fit, with the random state given, or else a seed drawn from ``rng``."""
    if pruner is None or (isinstance(pruner, str) and pruner == AUTO):
        if problem.ensemble.is_sequential:
            return MethodAdvice(pruner_for(problem, "es", **parameters), f"es: {CORRECTS}")
        if not parameters:
            return advise_method(problem, keep, rng, spread=spread)
        pruner = _candidate_with_parameters(parameters)
    if not isinstance(pruner, str):
        if parameters:
            names = format_list(parameters)
            raise InputError(f"Give {names} to the pruner itself: {type(pruner).__name__}(…).")
        return MethodAdvice(clone(as_pruner(pruner)))
    method = pruner_for(problem, pruner, **parameters)
    if not hasattr(method, "random_state"):
        return MethodAdvice(method)
    return MethodAdvice(method.draw_from(random_state, int(rng.randint(2**31))))


def advise_method(
    problem: Problem,
    keep: int | float | str | None,
    rng: np.random.RandomState,
    spread: bool = False,
) -> MethodAdvice:
    """Return the method to take for a problem, and why: candidates are tried on rows held out.

    With ``spread``, only methods whose work can be spread over an executor.
    """
    n_keep = _trial_size(keep, problem.n_members)
    before = _prior_points(problem)
    known = {name: make_candidate(problem, name, n_keep) for name in rank_candidates(before)}
    able = [name for name, method in known.items() if is_applicable(method, problem)]
    if spread:
        able = [name for name in able if isinstance(known[name], DistributedPruner)]
    names = able[:N_CANDIDATES]
    methods = [known[name] for name in names]
    guards = [make_pruner(name, **{"keep": n_keep} | own) for name, own in _GUARDS.values()]
    sample = _subsample_problem(problem, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rows held out; those on all rows are shown
        trial = cross_validate_methods(sample, [*methods, *guards], rng)
    place, why = decide_method(names, trial, before)
    _warn_if_beaten(place, len(names), trial, problem)
    return MethodAdvice(
        methods[place], f"{names[place]}: {why.format(kind=_KINDS[ensemble_kind(problem)])}"
    )


def ensemble_kind(problem: Problem) -> str:
    """Return what kind of ensemble it is, by what its members are like on the rows."""
    weighted = problem.ensemble.weights is not None and not problem.ensemble.is_soft
    return kind_from_spread(member_similarity(problem)["spread"], problem.is_regression, weighted)


def kind_from_spread(spread: float, numbers: bool, weighted: bool) -> str:
    """Return the kind of an ensemble: members whose scores hardly differ are alike.

    Examples
    --------
    >>> from secateurs.evaluation.auto_method import kind_from_spread
    >>> kind_from_spread(0.02, numbers=False, weighted=False)
    'alike'
    >>> kind_from_spread(0.5, numbers=False, weighted=False)
    'mixed'
    """
    if numbers:
        return "numbers"
    if weighted:
        return "weighted"
    return "alike" if spread < _MIXED else "mixed"


def member_similarity(problem: Problem) -> dict[str, float]:
    """Return how members differ on the rows: in how good they are, and in what they answer.

    ``spread`` is the standard deviation of their error rates beyond what chance explains, and
    ``gap`` the lead of the best one, both as shares of the mean error rate; of regressors, of the
    squared errors.
    """
    votes = problem.predictions
    if not isinstance(votes, Votes):
        errors = votes.squared_errors
        mean = max(float(errors.mean()), 1e-300)
        return {"spread": float(errors.std()) / mean, "gap": 1 - float(errors.min()) / mean}
    n_voted = np.maximum(1, votes.n_voted)
    wrong = 1 - votes.n_right / n_voted
    mean = max(float(wrong.mean()), 1e-9)
    by_chance = float(np.mean(wrong * (1 - wrong) / n_voted))
    beyond = float(np.sqrt(max(0.0, float(wrong.var()) - by_chance)))
    return {"spread": beyond / mean, "gap": 1 - float(wrong.min()) / mean}


def score_kind(problem: Problem) -> str:
    """Return what the score is of, by which methods were compared before."""
    if problem.is_regression:
        return "numbers"
    return "probabilities" if problem.scoring.needs == "probabilities" else "labels"


def make_candidate(problem: Problem, name: str, n_keep: int) -> BasePruner:
    """Return a candidate by its name here."""
    method, parameters = CANDIDATES[name]
    return pruner_for(problem, method, keep=n_keep, **parameters)


def decide_method(
    names: Sequence[str], trial: MethodScores, before: Mapping[str, float]
) -> tuple[int, str]:
    """Return the place of the method to take, and why.

    It is the one that did best before, unless another one is ahead of it by more than the noise of
    the trial.
    """
    favourite = max(range(len(names)), key=lambda place: before.get(names[place], -np.inf))
    lead = trial.values[: len(names)] - trial.values[favourite]
    errors = trial.difference_errors[favourite, : len(names)]
    sure = [p for p in range(len(names)) if lead[p] > _NOISE * errors[p]]  # never where NaN
    best = "did best on other {kind}"
    if not sure:
        return favourite, f"{best}, and no other method is ahead on these rows beyond noise"
    place = max(sure, key=lambda p: lead[p])
    return place, (
        f"on rows held out it is {format_signed(lead[place], 4)} ahead of {names[favourite]}, which {best}"
    )


def best_method_size(evaluation: Evaluation, names: Sequence[str]) -> tuple[str, int]:
    """Return method and size to take: the fewest members within the tolerance, else the best."""
    found = [(advised_method(evaluation, names, size), size) for size in evaluation.sizes]
    change = [_score_and_change(evaluation, *one)[1] for one in found]
    enough = [one for one, c in zip(found, change, strict=True) if c >= -DEFAULT_TOLERANCE - 1e-12]
    return enough[0] if enough else found[int(np.argmax(change))]


def describe_advice(evaluation: Evaluation, method: str, size: int) -> str:
    """Return the advice to take a method and a size, in one line."""
    scoring, n_members = evaluation.problem.scoring, evaluation.problem.n_members
    n_kept = len(evaluation.curves[method].selection.members_at(size))
    value, change = _score_and_change(evaluation, method, size)
    if abs(change) < _SAME:
        against = "as"
    elif "accuracy" in scoring.name:
        against = f"{abs(100 * change):.1f} points {'below' if change < 0 else 'above'}"
    else:
        against = f"{abs(change):.3f} {'worse' if change < 0 else 'better'} than"
    return (
        f"take {method}, {format_count(n_kept, 'member')}: {scoring.label} {scoring.display_score(value):.3f}, "
        f"{against} all {n_members}; {n_members / n_kept:.3g} × smaller"
    )


def _score_and_change(evaluation: Evaluation, method: str, size: int) -> tuple[float, float]:
    """Return the score of a method at a size, and its change against all members."""
    curve = evaluation.curves[method]
    place = curve.selection.size_index(size)
    return float(curve.main_score.values[place]), float(curve.main_score.change[place])


def advised_method(evaluation: Evaluation, names: Sequence[str], size: int) -> str:
    """Return which of the methods compared to take at a size.

    How sure their differences are is taken from their changes against all members.
    """
    curves = [evaluation.curves[name] for name in names]
    places = [curve.selection.size_index(size) for curve in curves]
    both = list(zip(curves, places, strict=True))
    values = np.array([curve.main_score.values[place] for curve, place in both])
    widths = np.array([curve.main_score.half_width[place] for curve, place in both]) / NORMAL_97_5
    errors = np.sqrt(widths[:, None] ** 2 + widths**2)
    known = [
        pruner_label(curve.selection.largest_pruner) for curve in curves
    ]  # whatever they are called here
    place, _ = decide_method(known, MethodScores(values, errors), _prior_points(evaluation.problem))
    return names[place]


def _prior_points(problem: Problem) -> Mapping[str, float]:
    """Return how far methods were ahead before, with ensembles of this kind."""
    known = benchmark_prior()[ensemble_kind(problem)]
    return known.get(score_kind(problem), known[next(iter(known))])


def rank_candidates(before: Mapping[str, float]) -> list[str]:
    """Return the candidates, the one that did best before first."""
    return sorted((name for name in CANDIDATES if name in before), key=lambda name: -before[name])


def _candidate_with_parameters(parameters: Mapping[str, Any]) -> str:
    """Return the first candidate that takes some parameters."""
    for method, _ in CANDIDATES.values():
        if set(parameters) <= set(make_pruner(method).get_params(deep=False)):
            return method
    raise InputError(
        f"{{pruner}} takes no method that has {format_list(parameters)}. Give a method by name.",
        pruner=AUTO,
    )


def _trial_size(keep: int | float | str | None, n_members: int) -> int:
    """Return the size at which methods are tried: a tenth, but five members, unless it is given."""
    if keep is None:
        return min(n_members, max(5, round(0.1 * n_members)))
    return resolve_keep(keep, n_members) or 1


def _subsample_problem(problem: Problem, rng: np.random.RandomState) -> Problem:
    """Return the problem on some of its rows, where there are more than a trial needs."""
    n_rows = problem.predictions.n_samples
    n_most = max(_LEAST_ROWS, _MOST_VOTES // problem.n_members)
    if n_rows <= n_most:
        return problem
    return problem.on_samples(np.sort(rng.choice(n_rows, n_most, replace=False)))


def _warn_if_beaten(place: int, n_methods: int, trial: MethodScores, problem: Problem) -> None:
    """Warn where something that needs no method at all does better on rows held out."""
    scoring = problem.scoring
    for row, name in enumerate(_GUARDS, n_methods):
        lead = trial.values[row] - trial.values[place]
        if lead > _NOISE * trial.difference_errors[place, row]:
            warnings.warn(
                SecateursWarning(
                    f"On rows held out, {name} {lead:.4f} more {scoring.label} than the "
                    "members chosen. Compare methods and sizes with secateurs.compare."
                ),
                stacklevel=4,
            )
