"""Method and size for a library of different models, by cross-validated scores.

The reasons and measurements are in docs/decisions/0024-the-default-size.md.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from secateurs.evaluation.alternatives import is_applicable
from secateurs.evaluation.budget import SizeSearch
from secateurs.evaluation.method_decision import MethodAdvice, MethodScores, decide_method
from secateurs.measures.score_curve import ScoreCurve
from secateurs.measures.scoring import Scoring
from secateurs.problem import Problem
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.parameters import resolve_keep
from secateurs.typing import Parameters


class LibrarySize(NamedTuple):
    """A size, None for the size that the method decides itself, and its cross-validated score."""

    size: int | None
    score: float  # selecting the size is part of the cross-validation
    curve: ScoreCurve
    index: int  # of the size on the curve


# By label.
_CANDIDATES: dict[str, tuple[str, Parameters]] = {
    "best": ("best", {}),
    "joint": ("joint", {}),
    "caruana": ("caruana", {}),
    # "best" orders members by accuracy or squared error; this is the best one for the score.
    "the best single member": ("caruana", {"keep": 1, "max_models": 1}),
}


def library_scoring(problem: Problem) -> Scoring:
    """Return the score that decides: the one asked for, or else one that the members serve best.

    That is the Brier score of probabilities, the accuracy of labels, or the squared error.
    """
    if problem.scoring.given_scorer is not None:
        return problem.scoring
    if problem.is_regression:
        name = "neg_mean_squared_error"
    else:
        name = "neg_brier_score" if problem.is_soft else "accuracy"
    return Scoring.from_scorer(name, problem.predictions.classes)


def best_library_size(search: SizeSearch, scoring: Scoring) -> LibrarySize:
    """Return the size with the best cross-validated score; the smallest of equal ones."""
    pruner = search.pruner
    if pruner.may_decide_size and not pruner.is_nested:
        curve = search.cross_validate_own_size(scoring)
        return LibrarySize(None, float(curve.values[0]), curve, 0)
    curve = search.cross_validate_curve(scoring)
    best = int(np.argmax(curve.values))
    return LibrarySize(int(search.sizes[best]), score_at_best_size(curve), curve, best)


def score_at_best_size(curve: ScoreCurve) -> float:
    """Return the cross-validated score of selecting the size with the best score.

    For each fold, the size is selected on the others. The maximum of the curve would be too high:
    a method with many sizes would look better than one that decides its size itself.
    """
    if len(curve.folds) < 2:
        return float(curve.values.max())
    shares = np.array([fold.weight for fold in curve.folds]) / curve.total_weight
    values = np.array(
        [share * fold.values for share, fold in zip(shares, curve.folds, strict=True)]
    )
    others = values.sum(axis=0) - values
    return float(values[np.arange(len(values)), others.argmax(axis=1)].sum())


def default_candidate(problem: Problem) -> str:
    """Return the candidate that is used if no other one is significantly better.

    The best members are the safest for labels and for accuracy. The weights of ensemble selection
    gain most in regression and for scores of probabilities that the user asks for
    (docs/decisions/0024-the-default-size.md).
    """
    asked = problem.scoring.given_scorer is not None and problem.scoring.needs == "probabilities"
    may_weigh = problem.weighing is not False
    return "caruana" if may_weigh and (asked or problem.is_regression) else "best"


def advise_library_method(
    problem: Problem, keep: int | float | str | None, rng: np.random.RandomState
) -> MethodAdvice:
    """Return a candidate by cross-validated scores, with ``keep`` or at its best size.

    Size and score of the full ensemble play no role: the mean of all models is often poor.
    """
    scoring, seed = library_scoring(problem), int(rng.randint(2**31))
    n_keep = None if keep is None else resolve_keep(keep, problem.n_members)
    found: dict[str, LibrarySize] = {}
    candidates = {name: _candidate(problem, name, n_keep, scoring) for name in _CANDIDATES}
    pruners = {name: pruner for name, pruner in candidates.items() if pruner is not None}
    for name, pruner in pruners.items():
        search = SizeSearch(problem, pruner, np.random.RandomState(seed))  # in the same folds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about folds; those about all samples are shown later
            if n_keep is None and name != "the best single member":
                found[name] = best_library_size(search, scoring)
            else:
                curve = search.cross_validate_own_size(scoring)
                found[name] = LibrarySize(n_keep, float(curve.values[0]), curve, 0)
    names, default = list(found), default_candidate(problem)
    scores = MethodScores(
        np.array([size.score for size in found.values()]),
        np.array([[_difference_error(a, b) for b in found.values()] for a in found.values()]),
    )
    prior = {name: float(name == default) for name in names}
    index, why = decide_method(names, scores, prior)
    reason = why.format(kind=f"libraries of different models, by {scoring.label}")
    return MethodAdvice(pruners[names[index]], f"{names[index]}: {reason}")


def _difference_error(one: LibrarySize, other: LibrarySize) -> float:
    return 0.0 if one is other else one.curve.difference_error(one.index, other.curve, other.index)


def _candidate(
    problem: Problem, name: str, n_keep: int | None, scoring: Scoring
) -> BasePruner | None:
    """Return a candidate; None if it does not apply to the problem or to the number of members."""
    method, parameters = _CANDIDATES[name]
    if method == "caruana":
        if problem.weighing is False or (name != method and n_keep is not None):
            return None
        given = None if scoring.name in ("accuracy", "r2") else scoring.given_scorer
        parameters = {"scoring": given, **parameters}
    if n_keep is not None:
        parameters = {**parameters, "keep": n_keep}
    pruner = make_pruner(method, **parameters)
    return pruner if is_applicable(pruner, problem) else None
