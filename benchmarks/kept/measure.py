"""Measure every method in every situation on one split of a data set."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.kept import data
from benchmarks.kept.situations import SITUATIONS, Situation
from secateurs import make_pruner
from secateurs._methods import METHODS
from secateurs.evaluation.alternatives import is_applicable
from secateurs.evaluation.auto_method import cross_validate_methods
from secateurs.evaluation.method_decision import MethodScores
from secateurs.measures.group_predictions import group_predictions
from secateurs.measures.scoring import Scoring
from secateurs.outputs.predictions import true_values
from secateurs.problem import Problem
from secateurs.pruners import BasePruner

VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in METHODS},
    "comep λ=0.1": {"diversity_weight": 0.1},
    "comep λ=0.2": {"diversity_weight": 0.2},
    "comep λ=0.3": {"diversity_weight": 0.3},
    "joint refined": {"refine": True},
    "caruana log loss": {"scoring": "neg_log_loss"},
}
TRIED = (
    *(
        "comep λ=0.1",
        "comep λ=0.2",
        "comep λ=0.3",
        "joint",
        "re",
        "oo",
        "drep",
        "mdm",
        "uwa",
        "best",
    ),
    *("caruana", "caruana log loss"),
)
SLOW = ("pcomep",)  # measured on one split and at one size only
GUARDS = ("es", "random", "single best")


def method(variant: str, keep: int) -> BasePruner:
    """Return a method of `VARIANTS`; long searches are shortened as in `compare`."""
    if variant == "single best":
        return make_pruner("best", keep=1)
    pruner = make_pruner(variant.split(maxsplit=1)[0], keep=keep, **VARIANTS[variant])
    if pruner.most_rounds is not None:
        pruner.set_params(n_iterations=pruner.most_rounds)
    return pruner.seed(0)


def measured(name: str, split: int, folder: Any) -> Iterator[dict[str, Any]]:
    """Yield a record for each situation and size of a data set."""
    table = data.read(name, folder)
    if table is None:
        return
    rows = data.parts(table, split)
    built: dict[Any, Any] = {}
    for situation in SITUATIONS:
        if situation.is_regression != table.is_regression:
            continue
        if situation.build not in built:
            X, y = table.X[rows.train], table.y[rows.train]
            built[situation.build] = situation.build(X, y, split)
        problem = problem_of(situation, built[situation.build], table, rows)
        if problem.n_members < 2 * max(situation.sizes):
            continue  # boosting stopped early, because no errors were left
        for size in situation.sizes:
            about = {"data": name, "family": table.family, "split": split, "size": size}
            about |= {"situation": situation.name, "n_rows": len(table.X)}
            first = size == situation.sizes[0]
            yield about | figures(problem, size, first, slow=first and split == 0)


def problem_of(situation: Situation, ensemble: Any, table: data.Table, rows: data.Parts) -> Problem:
    """Return the pruning problem of a situation, with its test set."""
    validation = rows.train if situation.oob else rows.choose
    X, y = table.X[validation], table.y[validation]
    test = {"X_test": table.X[rows.test], "y_test": table.y[rows.test]}
    return Problem.from_input(ensemble, X, y, oob=situation.oob, **test)


def figures(problem: Problem, size: int, trials: bool, slow: bool) -> dict[str, Any]:
    """Measure every method at one size, and cross-validate the candidates of "auto"."""
    able = [
        name for name in VARIANTS if _is_able(name, problem, size) and (slow or name not in SLOW)
    ]
    found: dict[str, Any] = {}
    for name in able:
        start = time.process_time()
        fitted = method(name, size)
        fitted.fit(problem.predictions_for(fitted))
        seconds = time.process_time() - start
        found[name] = scores(problem, fitted) | {"seconds": seconds}
    found["single best"] = scores(problem, method("single best", 1).fit(problem.predictions))
    full = make_pruner("es", keep=problem.n_members).fit(problem.predictions)
    record = {"methods": found, "whole": scores(problem, full)}
    if not trials:
        return record
    names = [*(name for name in TRIED if name in able), *GUARDS]
    methods = [method(name, size) for name in names]
    start = time.process_time()
    for score in scores_of(problem):
        record |= {score: shown(cross_validate_methods(on_score(problem, score), methods, _rng()))}
    seconds = time.process_time() - start
    return record | {"features": features(problem), "tried": names, "trial seconds": seconds}


def _rng() -> np.random.RandomState:
    return np.random.RandomState(0)


def _is_able(name: str, problem: Problem, size: int) -> bool:
    pruner = method(name, size)
    if name == "caruana log loss" and not problem.is_soft:
        return False
    return is_applicable(pruner, problem)


def on_score(problem: Problem, score: str) -> Problem:
    """Return the problem with another score."""
    return replace(problem, scoring=Scoring.from_scorer(score, problem.predictions.classes))


def scores_of(problem: Problem) -> list[str]:
    """Return the names of the measured scores."""
    if problem.is_regression:
        return ["r2"]
    return ["accuracy", "neg_log_loss"] if problem.is_soft else ["accuracy"]


def scores(problem: Problem, fitted: BasePruner) -> dict[str, float]:
    """Return the test scores of the members that a fitted pruner keeps, with its weights."""
    members = fitted.member_indices_.tolist()
    weights = problem.weights_for_pruner(fitted)
    inside = {} if weights is None else {0: weights}
    outputs = problem.scored_predictions(test=True)
    truth = true_values(outputs)
    found = {}
    for name in scores_of(problem):
        scoring = Scoring.from_scorer(name, outputs.classes)
        own = problem.ensemble.weights
        (prediction,) = group_predictions(outputs, [members], own, inside)
        found[name] = scoring(prediction.for_score(scoring), truth, None)
    return found


def features(problem: Problem) -> dict[str, float]:
    """Return the similarity of members on the validation set."""
    from secateurs.evaluation.ensemble_kind import member_similarity

    return member_similarity(problem)


def shown(trial: MethodScores) -> dict[str, Any]:
    """Return cross-validated scores as plain values."""
    return {"values": trial.values.tolist(), "errors": trial.difference_errors.tolist()}
