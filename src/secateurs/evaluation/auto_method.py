"""Select the method for ``pruner="auto"``, by benchmark results and cross-validated scores."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache, partial
from importlib.resources import files
from typing import TypeAlias

import numpy as np
from sklearn.base import clone

from secateurs._methods import AUTO, DEFAULT_TOLERANCE
from secateurs.ensembles import CORRECTS
from secateurs.evaluation.alternatives import is_applicable, pruner_for
from secateurs.evaluation.ensemble_kind import ensemble_kind, is_library
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.library_method import advise_library_method
from secateurs.evaluation.method_decision import (
    MIN_STANDARD_ERRORS,
    MethodAdvice,
    MethodScores,
    decide_method,
)
from secateurs.evaluation.score_table import Evaluation, cross_validate_selections
from secateurs.evaluation.selections import select_for_sizes
from secateurs.exceptions import InputError, SecateursWarning, caller_stacklevel
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.problem import Problem
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.base import DistributedPruner
from secateurs.pruners.parameters import resolve_keep
from secateurs.pruners.selector import as_pruner, pruner_label
from secateurs.search import TIE, best_member
from secateurs.text_format import format_count, format_list
from secateurs.thread_safety import record_warnings
from secateurs.typing import Parameters, RandomStateLike

CANDIDATES: dict[str, tuple[str, Parameters]] = {  # by label: short name and parameters
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
# Baselines lead to a warning if they are better; they are never selected.
_BASELINES: dict[str, tuple[str, Parameters]] = {
    "the best single member has": ("best", {"keep": 1}),
    "the first members have": ("es", {}),
    "random members have": ("random", {"random_state": 0}),
}
# The reasons for these values are in docs/decisions/0019-the-plain-call.md.
N_CANDIDATES = 4  # the methods that performed best in the benchmark
# Bounds the time of the comparison: half a million votes, but at least 1000 samples if there are
# very many members.
_MAX_VOTES, _MIN_SAMPLES = 1 << 19, 1000
_NO_CHANGE = 5e-5  # a change of the score that is 0 when rounded to four digits
_KINDS = {
    "alike": "ensembles of equally good members",
    "mixed": "ensembles of better and worse members",
    "weighted": "ensembles with weighted votes",
    "numbers": "ensembles of regressors",
}

# Points by kind of ensemble, kind of score and method.
Prior: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]


@cache
def benchmark_prior() -> Prior:
    """Return each method's lead over the median method in our benchmark, in percentage points.

    ``python -m benchmarks.kept`` creates the file, see docs/kept.md.
    """
    text = files("secateurs.evaluation").joinpath("prior.json").read_text(encoding="utf-8")
    points: Prior = json.loads(text)["points"]
    return points


def resolve_method(  # noqa: PLR0917
    problem: Problem,
    pruner: str | BasePruner | None,
    parameters: Parameters,
    keep: int | float | str | None,
    rng: np.random.RandomState,
    distributed: bool = False,
    random_state: RandomStateLike = None,
) -> MethodAdvice:
    """Return the pruner to fit, with ``random_state`` or else a seed drawn from ``rng``."""
    if pruner is None or (isinstance(pruner, str) and pruner == AUTO):
        if problem.ensemble.is_sequential:
            return MethodAdvice(pruner_for(problem, "es", **parameters), f"es: {CORRECTS}")
        if not parameters and is_library(problem) and not distributed:
            return advise_library_method(problem, keep, rng)
        if not parameters:
            return advise_method(problem, keep, rng, distributed=distributed)
        pruner = _candidate_with_parameters(parameters)
    if not isinstance(pruner, str):
        if parameters:
            names = format_list(parameters)
            raise InputError(f"Pass {names} to the pruner itself: {type(pruner).__name__}(…).")
        return MethodAdvice(clone(as_pruner(pruner)))
    method = pruner_for(problem, pruner, **parameters)
    if not hasattr(method, "random_state"):
        return MethodAdvice(method)
    return MethodAdvice(method.draw_from(random_state, int(rng.randint(2**31))))


def advise_method(
    problem: Problem,
    keep: int | float | str | None,
    rng: np.random.RandomState,
    distributed: bool = False,
) -> MethodAdvice:
    """Return the method to use for a problem, and why, from cross-validated scores of candidates.

    With ``distributed``, the candidates are the methods that can run on an executor.
    """
    n_keep = _evaluated_size(keep, problem.n_members)
    prior = _prior_points(problem)
    candidates = {name: make_candidate(problem, name, n_keep) for name in rank_candidates(prior)}
    usable = [name for name, method in candidates.items() if is_applicable(method, problem)]
    if distributed:
        usable = [name for name in usable if isinstance(candidates[name], DistributedPruner)]
    names = usable[:N_CANDIDATES]
    methods = [candidates[name] for name in names]
    baselines = [make_pruner(name, **{"keep": n_keep, **own}) for name, own in _BASELINES.values()]
    subset = _subsample_problem(problem, rng)
    with record_warnings():  # about folds; warnings about all samples are shown later
        scores = cross_validate_methods(subset, [*methods, *baselines], rng)
    index, why = decide_method(names, scores, prior)
    _warn_if_beaten(index, len(names), scores, problem)
    return MethodAdvice(
        methods[index], f"{names[index]}: {why.format(kind=_KINDS[ensemble_kind(problem)])}"
    )


def cross_validate_methods(
    problem: Problem, methods: Sequence[BasePruner], rng: np.random.RandomState
) -> MethodScores:
    """Return cross-validated scores of methods at their own sizes."""
    problem.scored_predictions()  # collects the predictions before the samples are dropped
    plan = EvaluationPlan(problem.without_samples(), rng)
    selectors = {
        str(index): partial(select_for_sizes, method, [_requested_size(method, problem)], None)
        for index, method in enumerate(methods)
    }
    curves = cross_validate_selections(
        plan,
        selectors,
        sorted({_requested_size(method, problem) for method in methods}),
        title="comparing methods",
        only_folds=True,
        by_labels=False,
        scorings=[problem.scoring],
    )
    scores = [curve.scores[problem.scoring.key, None] for curve in curves.values()]
    errors = np.array([[one.difference_error(0, other, 0) for other in scores] for one in scores])
    np.fill_diagonal(errors, 0.0)
    return MethodScores(np.array([score.values[0] for score in scores]), errors)


def _requested_size(method: BasePruner, problem: Problem) -> int:
    return resolve_keep(method.keep, problem.n_members) or problem.n_members


def score_kind(problem: Problem) -> str:
    """Return the kind of predictions that the score needs, a key of the benchmark's results."""
    if problem.is_regression:
        return "numbers"
    return "probabilities" if problem.scoring.needs == "probabilities" else "labels"


def make_candidate(problem: Problem, name: str, n_keep: int) -> BasePruner:
    """Return the candidate with this label, with ``keep=n_keep``."""
    method, parameters = CANDIDATES[name]
    return pruner_for(problem, method, keep=n_keep, **parameters)


def best_method_size(evaluation: Evaluation, names: Sequence[str]) -> tuple[str, int]:
    """Return the best method and size: the fewest members within the tolerance, or the best score.

    At each size, the method is the one that "auto" selects, if it was compared. The best score is
    used if no size is within the default tolerance, and in a library of different models, where
    sizes are not compared with the full ensemble.
    """
    advised = [(advised_method(evaluation, names, size), size) for size in evaluation.sizes]
    scores = [_score_and_change(evaluation, method, size) for method, size in advised]
    limit = -DEFAULT_TOLERANCE - TIE
    if not is_library(evaluation.problem):
        tolerated = [p for p, (_, change) in zip(advised, scores, strict=True) if change >= limit]
        if tolerated:
            return tolerated[0]
    return advised[best_member(np.array([value for value, _ in scores]))]


def describe_advice(evaluation: Evaluation, method: str, size: int) -> str:
    """Return the advice to use a method and a size, in one line."""
    scoring, n_members = evaluation.problem.scoring, evaluation.problem.n_members
    n_kept = len(evaluation.curves[method].selection.members_at(size))
    value, change = _score_and_change(evaluation, method, size)
    if abs(change) < _NO_CHANGE:
        difference = "the same as"
    elif "accuracy" in scoring.name:
        difference = f"{abs(100 * change):.1f} points {'below' if change < 0 else 'above'}"
    else:
        difference = f"{abs(change):.3f} {'worse' if change < 0 else 'better'} than"
    return (
        f"use {method} with {format_count(n_kept, 'member')}: {scoring.label} "
        f"{scoring.display_score(value):.3f}, {difference} the full ensemble of {n_members}; "
        f"{n_members / n_kept:.3g} × smaller"
    )


def _score_and_change(evaluation: Evaluation, method: str, size: int) -> tuple[float, float]:
    """Return the score of a method at a size, and its change against the full ensemble."""
    curve = evaluation.curves[method]
    index = curve.selection.size_index(size)
    return float(curve.main_score.values[index]), float(curve.main_score.change[index])


def advised_method(evaluation: Evaluation, names: Sequence[str], size: int) -> str:
    """Return the method to use at a size, of the methods that were compared.

    It is the method of "auto" with the same random state. If that was not compared, or compared
    with and without refitting, the scores of the comparison decide.
    """
    curves = [evaluation.curves[name] for name in names]
    # A comparison may name its methods differently.
    labels = [_label_without_scoring(curve.selection.largest_pruner) for curve in curves]
    if evaluation.split.start is not None:
        with record_warnings():  # about baselines, which the comparison shows
            rng = deepcopy(evaluation.split.start)
            advice = resolve_method(evaluation.problem, AUTO, {}, size, rng)
        label = _label_without_scoring(advice.pruner)
        if labels.count(label) == 1:
            return names[labels.index(label)]
    scores = [(c.main_score, c.selection.size_index(size)) for c in curves]
    values = np.array([score.values[index] for score, index in scores])
    widths = np.array([score.half_width[index] for score, index in scores]) / NORMAL_97_5
    # Only the errors of changes against the full ensemble are known: treat them as independent.
    errors = np.sqrt(widths[:, None] ** 2 + widths**2)
    prior = _prior_points(evaluation.problem)
    index, _ = decide_method(labels, MethodScores(values, errors), prior)
    return names[index]


def _label_without_scoring(pruner: BasePruner) -> str:
    """Return the label of a method, whatever score it optimises.

    In a library, "auto" passes the score that decides, and a comparison the score of the problem.
    """
    if getattr(pruner, "scoring", None) is None:
        return pruner_label(pruner)
    return pruner_label(clone(pruner).set_params(scoring=None))


def _prior_points(problem: Problem) -> Mapping[str, float]:
    """Return the benchmark's points of methods for ensembles and scores of this kind."""
    by_score = benchmark_prior()[ensemble_kind(problem)]
    return by_score.get(score_kind(problem), by_score[next(iter(by_score))])


def rank_candidates(prior: Mapping[str, float]) -> list[str]:
    """Return the labels of the candidates in the order of their benchmark points."""
    return sorted((name for name in CANDIDATES if name in prior), key=lambda name: -prior[name])


def _candidate_with_parameters(parameters: Parameters) -> str:
    """Return the first candidate method that has these parameters."""
    for method, _ in CANDIDATES.values():
        if set(parameters) <= set(make_pruner(method).get_params(deep=False)):
            return method
    raise InputError(
        f"{{pruner}} has no candidate method with the parameters {format_list(parameters)}. Pass "
        "the name of a method.",
        pruner=AUTO,
    )


def _evaluated_size(keep: int | float | str | None, n_members: int) -> int:
    """Return the size to compare methods at: ``keep``, or a tenth but at least five members."""
    if keep is None:
        return min(n_members, max(5, round(0.1 * n_members)))
    return resolve_keep(keep, n_members) or 1


def _subsample_problem(problem: Problem, rng: np.random.RandomState) -> Problem:
    """Return the problem on a random subset of its samples, if there are more than needed."""
    n_samples = problem.predictions.n_samples
    max_samples = max(_MIN_SAMPLES, _MAX_VOTES // problem.n_members)
    if n_samples <= max_samples or problem.cross_validation.cv is not None:
        return problem  # the user's folds refer to all samples
    return problem.on_samples(np.sort(rng.choice(n_samples, max_samples, replace=False)))


def _warn_if_beaten(index: int, n_methods: int, scores: MethodScores, problem: Problem) -> None:
    """Warn if a baseline has a significantly better cross-validated score than the method."""
    for baseline, name in enumerate(_BASELINES, n_methods):
        lead = scores.values[baseline] - scores.values[index]
        if lead > MIN_STANDARD_ERRORS * scores.difference_errors[index, baseline]:
            warnings.warn(
                SecateursWarning(
                    f"In cross-validation, {name} a better {problem.scoring.label} than the "
                    f"selected members, by {lead:.4f}. Compare methods and sizes with "
                    "secateurs.compare."
                ),
                stacklevel=caller_stacklevel(),
            )
