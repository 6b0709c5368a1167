"""Alternatives to a pruning, scored on the same samples: other methods, other diversity weights."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from secateurs._methods import METHODS, baseline_methods, report_methods
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_table import Evaluation, cross_validate_selections
from secateurs.evaluation.selections import (
    MemberSelector,
    Selection,
    longest_order,
    select_for_sizes,
)
from secateurs.exceptions import InputError
from secateurs.problem import Problem
from secateurs.problem.latency import Latency
from secateurs.pruners import COMEP, BasePruner, make_pruner
from secateurs.pruners.parameters import check_option, is_number
from secateurs.pruners.random_search import resolve_iterations
from secateurs.pruners.selector import SelectorPruner, pruner_from_method, pruner_label
from secateurs.typing import JsonObject, RandomStateLike

FULL_ENSEMBLE = "all members"
SINGLE_BEST = "single best"
# "all", methods, or methods by name; a method is a name, pruner, class or function.
Methods: TypeAlias = str | Iterable[object] | Mapping[str, object]


class ReportSubject(NamedTuple):
    """A pruning and its alternatives, scored on the same samples: the subject of a report."""

    evaluation: Evaluation  # of all methods, including the method of the pruning
    pruner: BasePruner  # fitted
    name: str  # of the pruner in the evaluation
    keep: int
    leaderboard: list[JsonObject] | None = None  # rows of a comparison's leaderboard
    latency: Latency | None = None  # of the full ensemble, if it was measured already
    max_cost: float | None = None  # of members that were selected by their cost
    frontier: JsonObject | None = None  # panels by total cost, see `Frontier.to_json`


def evaluate_with_alternatives(
    problem: Problem,
    pruner: BasePruner,
    beside: bool = True,
    by_cost: CostSelection | None = None,
    *,
    alone: bool = False,
) -> Evaluation:
    """Evaluate a fitted pruner at all sizes, with other methods beside it, on the same samples.

    With ``alone``, only the pruner at its own size is evaluated. Members that were selected by
    their cost are selected again in each fold, at that cost only.
    """
    problem = problem.with_pruner_weights(pruner)
    plan = EvaluationPlan(problem)
    keep = len(pruner.member_indices_)
    largest, asides = longest_order(problem, [keep])
    if by_cost is None:
        selection, selector, remarks = _own_selection(problem, pruner, None if alone else largest)
    else:
        selection = _single_size_selection(problem, pruner)
        selector = by_cost.select_again
        remarks = (f"Members were selected by cost: {by_cost.remark}.",)
    alternatives, _ = named_pruners(report_methods(), problem, diversity_weight_of(pruner), 0)
    own = pruner_label(pruner)
    selectors: dict[str, MemberSelector] = {own: selector}
    for name, other in alternatives.items() if beside and not alone else ():
        is_same = name == own or (can_select_in_browser(other) and can_select_in_browser(pruner))
        if not is_same and is_applicable(other, problem):
            selectors[name] = partial(select_for_sizes, other, [keep], largest)
    curves = cross_validate_selections(plan, selectors, [keep], {own: selection})
    for curve in curves.values():  # their warnings concern larger sets than the kept one
        curve.selection = replace(curve.selection, notes=())
    return Evaluation(plan, curves, [keep], remarks, () if alone else asides)


def is_applicable(pruner: BasePruner, problem: Problem) -> bool:
    """Return whether a method can select by the predictions that a problem has."""
    if problem.ensemble.is_sequential:
        return False  # only the first rounds can be kept
    if problem.is_regression and "numbers" not in pruner.outputs:
        return False
    if problem.is_soft and "probabilities" in pruner.outputs and not problem.has_soft_predictions:
        return False  # without the samples, probabilities cannot be collected
    return pruner.can_fit_missing(problem.predictions)


def _own_selection(
    problem: Problem, pruner: BasePruner, largest: int | None
) -> tuple[Selection, MemberSelector, tuple[str, ...]]:
    """Return a pruner's selection, a selector that repeats it on other samples, and remarks."""
    kept = pruner.member_indices_.tolist()
    keep = len(kept)
    if pruner.is_nested and largest is not None:
        selector = partial(select_for_sizes, pruner, [keep], largest)
        selection = selector(problem)
        if selection.members_at(keep) == kept:  # else its random numbers differ in this fit
            return selection, selector, ()
    selection = _single_size_selection(problem, pruner)
    rounds = getattr(pruner, "n_iter_", 0)
    max_rounds = rounds if pruner.most_rounds is None else pruner.most_rounds
    if problem.has_test_set or rounds <= max_rounds:
        return selection, partial(select_for_sizes, pruner, [keep], None), ()
    shorter = pruner.with_keep(keep).set_params(n_iterations=max_rounds)
    remark = (
        f"In cross-validation, {pruner_label(pruner)} made {max_rounds:,} of its {rounds:,} rounds."
    )
    return selection, partial(select_for_sizes, shorter, [keep], None), (remark,)


def _single_size_selection(problem: Problem, pruner: BasePruner) -> Selection:
    """Return a pruner's selection at its own size only, with weights if there are any."""
    kept = pruner.member_indices_
    weights = {} if problem.member_weights is None else {len(kept): problem.member_weights[kept]}
    sets = {len(kept): kept.tolist()}
    return Selection(np.array([len(kept)]), None, sets, {len(kept): pruner}, weights=weights)


def can_select_in_browser(pruner: BasePruner) -> bool:
    """Return whether the report page itself can repeat the selection."""
    return type(pruner) is COMEP and pruner.is_nested


def diversity_weight_of(pruner: BasePruner) -> float:
    """Return a method's diversity weight; the default, 0.5, if it has none."""
    weight = getattr(pruner, "diversity_weight_", getattr(pruner, "diversity_weight", 0.5))
    return weight if is_number(weight) else 0.5


def named_pruners(
    methods: Methods,
    problem: Problem,
    diversity_weight: float | str,
    random_state: RandomStateLike,
    drawn_seed: int | None = None,
) -> tuple[dict[str, BasePruner], list[str]]:
    """Return the pruners to compare by their labels, including baselines, and notes.

    Methods without a name are named by `pruner_label`. λ and the random state, or else the drawn
    seed, apply to methods given by short name, whose long searches are cut to ``most_rounds``.
    "all" leaves out methods that need complete votes if votes are missing, and methods that need
    classes in regression.
    """
    is_all = isinstance(methods, str)
    pruners: dict[str, BasePruner] = {}
    notes = []
    baselines = [(None, name) for name in baseline_methods()]
    for name, method in [*methods_with_names(methods, METHODS), *baselines]:
        if isinstance(method, str):
            pruner, note = _make_named_pruner(method, problem, diversity_weight)
            pruner.draw_from(random_state, drawn_seed)
        else:
            pruner, note = pruner_from_method(method), []
        if is_all and problem.is_regression and "numbers" not in pruner.outputs:
            continue
        if is_all and not pruner.can_fit_missing(problem.predictions):
            notes.append(f"{method} is left out: it cannot work with missing votes.")
            continue
        notes += note
        label = name or pruner_label(pruner)
        if label in pruners and isinstance(pruner, SelectorPruner):
            raise InputError(
                f"{{methods}} has two methods called {label}. Pass a dict with a name for each.",
                methods=...,
            )
        pruners.setdefault(label, pruner)
    return pruners, list(dict.fromkeys(notes))


def methods_with_names(
    methods: Methods, all_names: Iterable[str]
) -> list[tuple[str | None, object]]:
    """Return methods with the names that the user gave them; None for methods without a name."""
    if isinstance(methods, str):
        check_option("methods", methods, ("all",))
        return [(None, name) for name in all_names]
    if not isinstance(methods, Mapping):
        return [(None, method) for method in methods]
    for name in methods:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InputError(
                f"{{methods}} has the name {name!r}. Pass names that can be printed.", methods=...
            )
        if name in (FULL_ENSEMBLE, SINGLE_BEST):
            raise InputError(
                f"{{methods}} has the name {name!r}, which has another meaning in tables. "
                "Pass another name.",
                methods=...,
            )
    return list(methods.items())


def plain_parameters(pruner: BasePruner) -> JsonObject:
    """Return a pruner's parameters as JSON values; other objects as their ``repr``."""
    return {
        name: value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
        for name, value in pruner.get_params(deep=False).items()
    }


def _make_named_pruner(
    name: str, problem: Problem, diversity_weight: float | str
) -> tuple[BasePruner, list[str]]:
    """Return a pruner by short name, with a note if its search is cut to ``most_rounds``."""
    pruner = pruner_for(problem, name)
    if hasattr(pruner, "diversity_weight"):
        pruner.set_params(diversity_weight=diversity_weight)
    rounds, max_rounds = resolve_iterations("auto", problem.n_members), pruner.most_rounds
    if max_rounds is None or rounds <= max_rounds:
        return pruner, []
    pruner.set_params(n_iterations=max_rounds)
    return pruner, [
        f"{name.lower()} made {max_rounds:,} instead of its default {rounds:,} rounds; more "
        "rounds may find better sets."
    ]


def pruner_for(problem: Problem, name: str, **parameters: object) -> BasePruner:
    """Return a pruner by short name; a method with ``scoring`` gets the problem's score."""
    pruner = make_pruner(name, **parameters)
    if "scoring" in pruner.get_params(deep=False) and "scoring" not in parameters:
        pruner.set_params(scoring=problem.scoring.given_scorer)
    return pruner
