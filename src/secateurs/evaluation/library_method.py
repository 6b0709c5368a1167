"""Method and size for a library of different models, by cross-validated scores.

The reasons and measurements are in docs/decisions/0024-the-default-size.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from secateurs.evaluation.alternatives import is_applicable
from secateurs.evaluation.method_decision import MethodAdvice, MethodScores, decide_method
from secateurs.evaluation.size_search import SizeSearch
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


SINGLE_MEMBER = "the best single member"
# By label.
_CANDIDATES: dict[str, tuple[str, Parameters]] = {
    "best": ("best", {}),
    "joint": ("joint", {}),
    "caruana": ("caruana", {}),
    # "best" orders members by accuracy or squared error; this is the best one for the score.
    SINGLE_MEMBER: ("caruana", {"keep": 1, "max_models": 1}),
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
        return LibrarySize(None, float(search.cross_validate_own_size(scoring).values[0]))
    curve = search.cross_validate_sizes(scoring)
    best = int(np.argmax(curve.values))
    return LibrarySize(int(search.sizes[best]), score_at_best_size(curve))


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
    """Return the candidate that is used unless another candidate is significantly better.

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
    candidates = {name: _candidate(problem, name, n_keep, scoring) for name in _CANDIDATES}
    pruners = {name: pruner for name, pruner in candidates.items() if pruner is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folds; those about all samples are shown later
        scores = _candidate_scores(problem, pruners, n_keep, scoring, seed)
    names, default = list(pruners), default_candidate(problem)
    index, why = decide_method(names, scores, {name: float(name == default) for name in names})
    reason = why.format(kind=f"libraries of different models, by {scoring.label}")
    return MethodAdvice(pruners[names[index]], f"{names[index]}: {reason}")


def _candidate_scores(
    problem: Problem,
    pruners: Mapping[str, BasePruner],
    n_keep: int | None,
    scoring: Scoring,
    seed: int,
) -> MethodScores:
    """Return cross-validated scores in the same folds, each with ``n_keep`` or at its best size.

    Standard errors take longest. They are computed for candidates that are better than the default
    candidate only, and are otherwise NaN.
    """

    def search(pruner: BasePruner) -> SizeSearch:
        return SizeSearch(problem, pruner, np.random.RandomState(seed))

    at_size, scores = dict(pruners), dict[str, float]()
    for name, pruner in pruners.items():
        if n_keep is None and name != SINGLE_MEMBER:
            size, scores[name] = best_library_size(search(pruner), scoring)
            at_size[name] = pruner if size is None else pruner.with_keep(size)
        else:
            scores[name] = float(search(pruner).cross_validate_own_size(scoring).values[0])
    names, values = list(scores), np.array(list(scores.values()))
    default = names.index(default_candidate(problem)) if default_candidate(problem) in names else 0
    errors = np.full((len(names), len(names)), np.nan)
    for index in np.flatnonzero(values > values[default]).tolist():
        curves = [
            search(at_size[names[i]]).cross_validate_own_size(scoring) for i in (default, index)
        ]
        errors[default, index] = curves[0].difference_error(0, curves[1], 0)
    return MethodScores(values, errors)


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
