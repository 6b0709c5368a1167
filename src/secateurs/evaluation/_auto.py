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
from secateurs._text import counted, listed, signed
from secateurs.ensembles import CORRECTS
from secateurs.evaluation._alternatives import is_able, pruner_for
from secateurs.evaluation._curves import Evaluation
from secateurs.evaluation._score_curve import NORMAL_97_5
from secateurs.evaluation._trial import Trial, tried
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.outputs._votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners._base import SpreadPruner
from secateurs.pruners._label import label_of
from secateurs.pruners._parameters import resolve_keep
from secateurs.pruners._selector import as_pruner

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


class Advice(NamedTuple):
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
def prior() -> Prior:
    """Return how many points methods were ahead on many data sets: by kind, score and method.

    ``python -m benchmarks.kept`` measures it, see docs/kept.md.
    """
    text = files("secateurs.evaluation").joinpath("prior.json").read_text(encoding="utf-8")
    points: Prior = json.loads(text)["points"]
    return points


def method_for(  # noqa: PLR0917
    problem: Problem,
    pruner: str | BasePruner | None,
    parameters: Mapping[str, Any],
    keep: int | float | str | None,
    rng: np.random.RandomState,
    spread: bool = False,
    random_state: Any = None,
) -> Advice:
    """Return the pruner to fit, with the random state given, or else a seed drawn from ``rng``."""
    if pruner is None or (isinstance(pruner, str) and pruner == AUTO):
        if problem.ensemble.staged:
            return Advice(pruner_for(problem, "es", **parameters), f"es: {CORRECTS}")
        if not parameters:
            return advise(problem, keep, rng, spread=spread)
        pruner = _with_parameters(parameters)
    if not isinstance(pruner, str):
        if parameters:
            names = listed(parameters)
            raise InputError(f"Give {names} to the pruner itself: {type(pruner).__name__}(…).")
        return Advice(clone(as_pruner(pruner)))
    method = pruner_for(problem, pruner, **parameters)
    if not hasattr(method, "random_state"):
        return Advice(method)
    return Advice(method.draw_from(random_state, int(rng.randint(2**31))))


def advise(
    problem: Problem,
    keep: int | float | str | None,
    rng: np.random.RandomState,
    spread: bool = False,
) -> Advice:
    """Return the method to take for a problem, and why: candidates are tried on rows held out.

    With ``spread``, only methods whose work can be spread over an executor.
    """
    n_keep = _size(keep, problem.n_members)
    before = _before(problem)
    known = {name: candidate(problem, name, n_keep) for name in ranked(before)}
    able = [name for name, method in known.items() if is_able(method, problem)]
    if spread:
        able = [name for name in able if isinstance(known[name], SpreadPruner)]
    names = able[:N_CANDIDATES]
    methods = [known[name] for name in names]
    guards = [make_pruner(name, **{"keep": n_keep} | own) for name, own in _GUARDS.values()]
    sample = _sampled(problem, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rows held out; those on all rows are shown
        trial = tried(sample, [*methods, *guards], rng)
    place, why = decide(names, trial, before)
    _guard(place, len(names), trial, problem)
    return Advice(methods[place], f"{names[place]}: {why.format(kind=_KINDS[kind_of(problem)])}")


def kind_of(problem: Problem) -> str:
    """Return what kind of ensemble it is, by what its members are like on the rows."""
    weighted = problem.ensemble.weights is not None and not problem.ensemble.soft
    return kind_by(likeness(problem)["spread"], problem.is_regression, weighted)


def kind_by(spread: float, numbers: bool, weighted: bool) -> str:
    """Return the kind of an ensemble: members whose scores hardly differ are alike.

    Examples
    --------
    >>> from secateurs.evaluation._auto import kind_by
    >>> kind_by(0.02, numbers=False, weighted=False), kind_by(0.5, numbers=False, weighted=False)
    ('alike', 'mixed')
    """
    if numbers:
        return "numbers"
    if weighted:
        return "weighted"
    return "alike" if spread < _MIXED else "mixed"


def likeness(problem: Problem) -> dict[str, float]:
    """Return how members differ on the rows: in how good they are, and in what they answer.

    ``spread`` is the standard deviation of their error rates beyond what chance explains, and
    ``gap`` the lead of the best one, both as shares of the mean error rate; of regressors, of the
    squared errors.
    """
    votes = problem.votes
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


def score_of(problem: Problem) -> str:
    """Return what the score is of, by which methods were compared before."""
    if problem.is_regression:
        return "numbers"
    return "probabilities" if problem.scoring.needs == "probabilities" else "labels"


def candidate(problem: Problem, name: str, n_keep: int) -> BasePruner:
    """Return a candidate by its name here."""
    method, parameters = CANDIDATES[name]
    return pruner_for(problem, method, keep=n_keep, **parameters)


def decide(names: Sequence[str], trial: Trial, before: Mapping[str, float]) -> tuple[int, str]:
    """Return the place of the method to take, and why.

    It is the one that did best before, unless another one is ahead of it by more than the noise of
    the trial.
    """
    favourite = max(range(len(names)), key=lambda place: before.get(names[place], -np.inf))
    lead = trial.values[: len(names)] - trial.values[favourite]
    errors = trial.errors[favourite, : len(names)]
    sure = [p for p in range(len(names)) if lead[p] > _NOISE * errors[p]]  # never where NaN
    best = "did best on other {kind}"
    if not sure:
        return favourite, f"{best}, and no other method is ahead on these rows beyond noise"
    place = max(sure, key=lambda p: lead[p])
    return place, (
        f"on rows held out it is {signed(lead[place], 4)} ahead of {names[favourite]}, which {best}"
    )


def best_of(evaluation: Evaluation, names: Sequence[str]) -> tuple[str, int]:
    """Return method and size to take: the fewest members within the tolerance, else the best."""
    found = [(advised(evaluation, names, size), size) for size in evaluation.sizes]
    change = [_scored(evaluation, *one)[1] for one in found]
    enough = [one for one, c in zip(found, change, strict=True) if c >= -DEFAULT_TOLERANCE - 1e-12]
    return enough[0] if enough else found[int(np.argmax(change))]


def in_words(evaluation: Evaluation, method: str, size: int) -> str:
    """Return the advice to take a method and a size, in one line."""
    scoring, n_members = evaluation.problem.scoring, evaluation.problem.n_members
    n_kept = len(evaluation.curves[method].selection.members(size))
    value, change = _scored(evaluation, method, size)
    if abs(change) < _SAME:
        against = "as"
    elif "accuracy" in scoring.name:
        against = f"{abs(100 * change):.1f} points {'below' if change < 0 else 'above'}"
    else:
        against = f"{abs(change):.3f} {'worse' if change < 0 else 'better'} than"
    return (
        f"take {method}, {counted(n_kept, 'member')}: {scoring.label} {scoring.shown(value):.3f}, "
        f"{against} all {n_members}; {n_members / n_kept:.3g} × smaller"
    )


def _scored(evaluation: Evaluation, method: str, size: int) -> tuple[float, float]:
    """Return the score of a method at a size, and its change against all members."""
    curve = evaluation.curves[method]
    place = curve.selection.place(size)
    return float(curve.scored.values[place]), float(curve.scored.change[place])


def advised(evaluation: Evaluation, names: Sequence[str], size: int) -> str:
    """Return which of the methods compared to take at a size.

    How sure their differences are is taken from their changes against all members.
    """
    curves = [evaluation.curves[name] for name in names]
    places = [curve.selection.place(size) for curve in curves]
    both = list(zip(curves, places, strict=True))
    values = np.array([curve.scored.values[place] for curve, place in both])
    widths = np.array([curve.scored.half_width[place] for curve, place in both]) / NORMAL_97_5
    errors = np.sqrt(widths[:, None] ** 2 + widths**2)
    known = [label_of(curve.selection.pruner) for curve in curves]  # whatever they are called here
    place, _ = decide(known, Trial(values, errors), _before(evaluation.problem))
    return names[place]


def _before(problem: Problem) -> Mapping[str, float]:
    """Return how far methods were ahead before, with ensembles of this kind."""
    known = prior()[kind_of(problem)]
    return known.get(score_of(problem), known[next(iter(known))])


def ranked(before: Mapping[str, float]) -> list[str]:
    """Return the candidates, the one that did best before first."""
    return sorted((name for name in CANDIDATES if name in before), key=lambda name: -before[name])


def _with_parameters(parameters: Mapping[str, Any]) -> str:
    """Return the first candidate that takes some parameters."""
    for method, _ in CANDIDATES.values():
        if set(parameters) <= set(make_pruner(method).get_params(deep=False)):
            return method
    raise InputError(
        f"{{pruner}} takes no method that has {listed(parameters)}. Give a method by name.",
        pruner=AUTO,
    )


def _size(keep: int | float | str | None, n_members: int) -> int:
    """Return the size at which methods are tried: a tenth, but five members, unless it is given."""
    if keep is None:
        return min(n_members, max(5, round(0.1 * n_members)))
    return resolve_keep(keep, n_members) or 1


def _sampled(problem: Problem, rng: np.random.RandomState) -> Problem:
    """Return the problem on some of its rows, where there are more than a trial needs."""
    n_rows = problem.votes.n_samples
    n_most = max(_LEAST_ROWS, _MOST_VOTES // problem.n_members)
    if n_rows <= n_most:
        return problem
    return problem.on(np.sort(rng.choice(n_rows, n_most, replace=False)))


def _guard(place: int, n_methods: int, trial: Trial, problem: Problem) -> None:
    """Warn where something that needs no method at all does better on rows held out."""
    scoring = problem.scoring
    for row, name in enumerate(_GUARDS, n_methods):
        lead = trial.values[row] - trial.values[place]
        if lead > _NOISE * trial.errors[place, row]:
            warnings.warn(
                SecateursWarning(
                    f"On rows held out, {name} {lead:.4f} more {scoring.label} than the "
                    "members chosen. Compare methods and sizes with secateurs.compare."
                ),
                stacklevel=4,
            )
