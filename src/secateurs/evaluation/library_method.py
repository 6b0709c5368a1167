"""Method and size for a library of different models, by cross-validated scores.

The reasons and measurements are in docs/decisions/0024-the-default-size.md.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from secateurs.evaluation.alternatives import is_applicable
from secateurs.evaluation.budget import SizeSearch
from secateurs.measures.scoring import Scoring
from secateurs.problem import Problem
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.parameters import resolve_keep
from secateurs.text_format import format_list
from secateurs.typing import Parameters


class MethodAdvice(NamedTuple):
    """The method to use and the reason for it."""

    pruner: BasePruner
    reason: str = ""  # in one line; empty if the user asked for the method


class LibrarySize(NamedTuple):
    """A size, None for the size that the method decides itself, and its cross-validated score."""

    size: int | None
    score: float


# By label. The first is used if others are not better.
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
        return LibrarySize(None, search.cross_validate_own_size(scoring))
    scores = search.cross_validate_score(scoring)
    best = int(np.argmax(scores))
    return LibrarySize(int(search.sizes[best]), float(scores[best]))


def advise_library_method(
    problem: Problem, keep: int | float | str | None, rng: np.random.RandomState
) -> MethodAdvice:
    """Return the candidate with the best cross-validated score, with ``keep`` or at its best size.

    Size and score of the full ensemble play no role: the mean of all models is often poor.
    """
    scoring, seed = library_scoring(problem), int(rng.randint(2**31))
    n_keep = None if keep is None else resolve_keep(keep, problem.n_members)
    scores: dict[str, float] = {}
    pruners = {name: _candidate(problem, name, n_keep, scoring) for name in _CANDIDATES}
    for name, pruner in pruners.items():
        if pruner is None:
            continue
        search = SizeSearch(problem, pruner, np.random.RandomState(seed))  # in the same folds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about folds; those about all samples are shown later
            if n_keep is None and name != "the best single member":
                scores[name] = best_library_size(search, scoring).score
            else:
                scores[name] = search.cross_validate_own_size(scoring)
    chosen = max(scores, key=lambda name: scores[name])
    pruner = pruners[chosen]
    assert pruner is not None
    others = format_list([name for name in scores if name != chosen], " and ")
    size = "" if n_keep is not None else " at its best size"
    return MethodAdvice(
        pruner,
        f"{chosen}: its cross-validated {scoring.label}{size} is the best for this library of "
        f"different models, compared with {others}",
    )


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
