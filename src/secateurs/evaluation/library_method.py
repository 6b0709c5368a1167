"""Method and size for a library of different models, by cross-validated scores.

The reasons and measurements are in docs/decisions/0024-the-default-size.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from secateurs.evaluation.alternatives import is_applicable
from secateurs.evaluation.method_decision import MethodAdvice, MethodScores, decide_method
from secateurs.evaluation.ranking_spread import has_rare_class
from secateurs.evaluation.size_search import SizeSearch
from secateurs.measures.score_curve import ScoreCurve
from secateurs.measures.scoring import Scoring
from secateurs.problem import Problem
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.parameters import resolve_keep
from secateurs.search import TIE
from secateurs.thread_safety import record_warnings
from secateurs.typing import FloatArray, IndexArray, Parameters


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
    """Return the size with the best cross-validated score; the smallest of equal ones.

    If a class is rare, it is the largest size that is worse by at most `size_tolerance`. Perfect
    sizes are left out if there are others, see `is_perfect`.
    """
    pruner = search.pruner
    if pruner.may_decide_size and not pruner.is_nested:
        return LibrarySize(None, float(search.cross_validate_own_size(scoring).values[0]))
    curve, tolerance = search.cross_validate_sizes(scoring), size_tolerance(search.problem, scoring)
    values = np.array([-np.inf if is_perfect(v, scoring) else v for v in curve.values])
    values = values if np.isfinite(values).any() else curve.values
    best = int(_best_indices(values, tolerance))
    return LibrarySize(int(search.sizes[best]), score_at_best_size(curve, tolerance))


def size_tolerance(problem: Problem, scoring: Scoring) -> float:
    """Return by how much a size may be worse than the best one: the error of one sample, or zero.

    If a class is rare and ``scoring`` is not given, more members preserve the ranking. The Brier
    score of a few positive samples hardly shows it: the best size lost more than a point of AUC
    in one of five libraries.
    """
    if problem.scoring.given_scorer is not None or scoring.name != "neg_brier_score":
        return 0.0
    is_rare = has_rare_class(problem.soft_predictions, problem.sample_weight)
    return error_of_one_sample(problem, scoring) if is_rare else 0.0


def _best_indices(values: FloatArray, tolerance: float) -> IndexArray:
    """Return the index of the first best value in the last axis, or the last in the tolerance."""
    good = values >= values.max(axis=-1, keepdims=True) - max(tolerance, TIE)
    if not tolerance:
        return np.asarray(good.argmax(axis=-1))
    return np.asarray(values.shape[-1] - 1 - good[..., ::-1].argmax(axis=-1))


def score_at_best_size(curve: ScoreCurve, tolerance: float = 0.0) -> float:
    """Return the cross-validated score of selecting the size with the best score.

    For each fold, the size is selected on the others. The maximum of the curve would be too high:
    a method with many sizes would look better than one that decides its size itself.
    """
    if len(curve.folds) < 2:
        return float(curve.values[_best_indices(curve.values, tolerance)])
    shares = np.array([fold.weight for fold in curve.folds]) / curve.total_weight
    values = np.array(
        [share * fold.values for share, fold in zip(shares, curve.folds, strict=True)]
    )
    others = (values.sum(axis=0) - values) / (1 - shares[:, None])
    return float(values[np.arange(len(values)), _best_indices(others, tolerance)].sum())


def default_candidate(problem: Problem) -> str:
    """Return the candidate that is used unless another candidate is significantly better.

    The best members are the safest for labels and for accuracy. The weights of ensemble selection
    gain most in regression and for scores of probabilities that the user asks for. For a rare
    class, accuracy says little about members (docs/decisions/0024-the-default-size.md).
    """
    if problem.scoring.given_scorer is None and problem.is_soft:
        is_rare = has_rare_class(problem.soft_predictions, problem.sample_weight)
        return "joint" if is_rare else "best"
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
    with record_warnings():  # about folds; those about all samples are shown later
        default, scores = _candidate_scores(problem, pruners, n_keep, scoring, seed)
    names = list(pruners)
    index, why = decide_method(names, scores, {name: float(name == default) for name in names})
    reason = why.format(kind=f"libraries of different models, by {scoring.label}")
    return MethodAdvice(pruners[names[index]], f"{names[index]}: {reason}")


def _candidate_scores(
    problem: Problem,
    pruners: Mapping[str, BasePruner],
    n_keep: int | None,
    scoring: Scoring,
    seed: int,
) -> tuple[str, MethodScores]:
    """Return the default candidate, and scores in the same folds, with ``n_keep`` or the best size.

    Standard errors take longest. They are computed for candidates that are better than the default
    candidate only, and are otherwise NaN. They are NaN as well, so that the default stays, for a
    perfect score, and for a better Brier score with a lower accuracy if ``scoring`` is not given.
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
    default = default_candidate(problem)
    default = default if default in names else names[0]
    if is_perfect(scores[default], scoring):
        default = "best" if "best" in names else default
    first, errors = names.index(default), np.full((len(names), len(names)), np.nan)
    floor = error_of_one_sample(problem, scoring)
    may_cost_accuracy = scoring.name == "neg_brier_score" and problem.scoring.given_scorer is None
    for index in np.flatnonzero(values > values[first]).tolist():
        if is_perfect(values[index], scoring):
            continue
        pair = [search(at_size[name]) for name in (default, names[index])]
        if may_cost_accuracy:
            accuracy = Scoring.from_scorer("accuracy", problem.predictions.classes)
            before, after = (one.cross_validate_own_size(accuracy).values[0] for one in pair)
            if after < before:
                continue
            pair = [search(at_size[name]) for name in (default, names[index])]
        curves = [one.cross_validate_own_size(scoring) for one in pair]
        errors[first, index] = max(floor, curves[0].difference_error(0, curves[1], 0))
    return default, MethodScores(values, errors)


def is_perfect(score: float, scoring: Scoring) -> bool:
    """Return whether a loss of probabilities is zero, so that the samples show no difference.

    A model that is right on all of a few hundred samples is often certain as well, and its log loss
    on other samples is then large. Several members are safer.
    """
    is_loss = scoring.needs == "probabilities" and not scoring.larger_is_better
    return is_loss and abs(score) <= TIE


def error_of_one_sample(problem: Problem, scoring: Scoring) -> float:
    """Return the change of a mean score if one sample is predicted wrongly instead of rightly.

    It is the least standard error of a difference. An error that none of n samples shows still has
    a rate of up to 3/n at 95 %, which is three of these standard errors. Zero for
    scores other than accuracy and the Brier score.
    """
    if scoring.name not in ("accuracy", "neg_brier_score"):
        return 0.0
    has_both = scoring.name == "neg_brier_score" and len(problem.predictions.classes) > 2
    return (2.0 if has_both else 1.0) / problem.predictions.n_samples


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
