"""Alternatives to a choice, on the same rows: methods by name, and other weights of diversity."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from secateurs._methods import METHODS, baseline_methods, report_methods
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.latency import Latency
from secateurs.evaluation.score_curve import Floats
from secateurs.evaluation.selections import (
    MemberSelector,
    Selection,
    longest_order,
    scored_sizes,
    select_for_sizes,
)
from secateurs.evaluation.size_curves import Evaluation, SizeCurve, evaluate_methods
from secateurs.exceptions import InputError
from secateurs.measures import disagreement
from secateurs.objectives import TDAS
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import COMEP, BasePruner, make_pruner
from secateurs.pruners.parameters import check_option, is_number
from secateurs.pruners.pruner_label import pruner_label
from secateurs.pruners.random_search import resolve_iterations
from secateurs.pruners.selector import SelectorPruner, pruner_from_method

N_WEIGHTS = 21
FULL_ENSEMBLE = "all members"
SINGLE_BEST = "single best"
Methods = str | Iterable[Any] | Mapping[str, Any]  # "all", methods, or methods by name
ALWAYS_EQUAL = -1.0  # marks pairs that vote alike everywhere, whose TDAC is 0 whatever the weight


class ReportSubject(NamedTuple):
    """A choice among others, judged on the same rows: what a report shows.

    Attributes
    ----------
    evaluation : Evaluation
        All methods, the one that chose among them.
    pruner : BasePruner
        The fitted pruner that chose.
    name : str
        Its name in the evaluation.
    keep : int
        The size it was asked for.
    leaderboard : list of dict or None
        Lines of the leaderboard, if the choice comes from one.
    latency : Latency or None
        How long one row takes by the number of members, if that is known already.
    """

    evaluation: Evaluation
    pruner: BasePruner
    name: str
    keep: int
    leaderboard: list[dict[str, Any]] | None = None
    latency: Latency | None = None


def evaluate_with_alternatives(
    problem: Problem,
    pruner: BasePruner,
    beside: bool = True,
    by_cost: CostSelection | None = None,
    *,
    alone: bool = False,
) -> Evaluation:
    """Evaluate a fitted pruner at all sizes, and quick methods beside it, on the same rows.

    With ``alone``, at the size that it keeps, without others. Members chosen by their cost are
    chosen so on other rows too, at that cost alone.
    """
    problem = problem.with_pruner_weights(pruner)
    split = EvaluationPlan(problem)
    keep = len(pruner.member_indices_)
    largest, asides = longest_order(problem, [keep])
    if by_cost is None:
        selection, chooser, remarks = _own_selection(problem, pruner, None if alone else largest)
    else:
        selection = _single_size_selection(problem, pruner)
        chooser, remarks = by_cost.select_by_rule, (f"Chosen by cost: {by_cost.remark}.",)
    others, _ = named_pruners(report_methods(), problem, diversity_weight_of(pruner), 0)
    own = pruner_label(pruner)
    choosers: dict[str, MemberSelector] = {own: chooser}
    for name, other in others.items() if beside and not alone else ():
        same = name == own or (can_select_in_browser(other) and can_select_in_browser(pruner))
        if not same and is_applicable(other, problem):
            choosers[name] = partial(select_for_sizes, other, [keep], largest)
    curves = evaluate_methods(split, choosers, [keep], given={own: selection})
    for curve in curves.values():  # their warnings concern larger sets than were asked for
        curve.selection = replace(curve.selection, notes=())
    return Evaluation(split, curves, [keep], remarks, () if alone else asides)


def is_applicable(pruner: BasePruner, problem: Problem) -> bool:
    """Tell whether a method can choose by what is known of a problem."""
    if problem.ensemble.is_sequential:
        return False  # only the first can be kept
    if problem.is_regression and "numbers" not in pruner.outputs:
        return False
    if problem.is_soft and "probabilities" in pruner.outputs and not problem.has_soft_predictions:
        return False  # the rows are not kept
    return pruner.takes_missing or not problem.predictions.has_missing


def _own_selection(
    problem: Problem, pruner: BasePruner, largest: int | None
) -> tuple[Selection, MemberSelector, tuple[str, ...]]:
    """Return what the pruner selected, a chooser that selects so on other rows, and remarks."""
    kept = pruner.member_indices_.tolist()
    keep = len(kept)
    if pruner.is_nested and largest is not None:
        chooser = partial(select_for_sizes, pruner, [keep], largest)
        selection = chooser(problem)
        if selection.members_at(keep) == kept:  # otherwise it drew random numbers anew
            return selection, chooser, ()
    one = _single_size_selection(problem, pruner)
    rounds = getattr(pruner, "n_iter_", 0)
    most = rounds if pruner.most_rounds is None else pruner.most_rounds
    if problem.has_test_set or rounds <= most:
        return one, partial(select_for_sizes, pruner, [keep], None), ()
    shorter = pruner.with_keep(keep).set_params(n_iterations=most)
    remark = f"In cross-fitting, {pruner_label(pruner)} made {most:,} rounds of its {rounds:,}."
    return one, partial(select_for_sizes, shorter, [keep], None), (remark,)


def _single_size_selection(problem: Problem, pruner: BasePruner) -> Selection:
    """Return what a pruner selected, at that size alone, with weights if there are any."""
    kept = pruner.member_indices_
    weights = {} if problem.member_weights is None else {len(kept): problem.member_weights[kept]}
    sets = {len(kept): kept.tolist()}
    return Selection(np.array([len(kept)]), None, sets, {len(kept): pruner}, weights=weights)


def can_select_in_browser(pruner: BasePruner) -> bool:
    """Whether the page can make the choice itself."""
    return type(pruner) is COMEP and pruner.is_nested


def diversity_weight_of(pruner: BasePruner) -> float:
    """Return a method's weight of diversity, the default one where it has none."""
    weight: Any = getattr(pruner, "diversity_weight_", getattr(pruner, "diversity_weight", 0.5))
    return weight if is_number(weight) else 0.5


def diversity_sweep_pruner(evaluation: Evaluation, pruner: BasePruner) -> COMEP:
    """Return the COMEP to follow through all weights: the pruner itself, if it is one."""
    others = [curve.selection.largest_pruner for curve in evaluation.curves.values()]
    return next((p for p in (pruner, *others) if can_select_in_browser(p)), COMEP())


def named_pruners(
    methods: Methods,
    problem: Problem,
    diversity_weight: Any,
    random_state: Any,
    drawn: int | None = None,
) -> tuple[dict[str, BasePruner], list[str]]:
    """Return the methods to compare by name, with those to beat, and notes.

    Methods without a name are named by `pruner_label`. λ and the random state, or else the seed drawn,
    are for methods given by their short names, whose long searches are cut to ``most_rounds``.
    Where votes are missing, "all" leaves out methods that need every vote; for numbers, those that
    need classes.
    """
    everything, votes = isinstance(methods, str), problem.predictions
    pruners: dict[str, BasePruner] = {}
    notes = []
    given = [*methods_with_names(methods, METHODS), *((None, name) for name in baseline_methods())]
    for name, method in given:
        if isinstance(method, str):
            pruner, note = _make_named_pruner(method, problem, diversity_weight)
            pruner.draw_from(random_state, drawn)
        else:
            pruner, note = pruner_from_method(method), []
        if everything and problem.is_regression and "numbers" not in pruner.outputs:
            continue
        if everything and votes.has_missing and not pruner.takes_missing:
            notes.append(f"{method} is left out: it cannot work with missing votes.")
            continue
        notes += note
        label = name or pruner_label(pruner)
        if label in pruners and isinstance(pruner, SelectorPruner):
            raise InputError(
                f"{{methods}} has two methods called {label}. Give a dict, with a name for each.",
                methods=...,
            )
        pruners.setdefault(label, pruner)
    return pruners, list(dict.fromkeys(notes))


def methods_with_names(methods: Methods, all_names: Iterable[str]) -> list[tuple[str | None, Any]]:
    """Return methods with the names that they were given; None for those without."""
    if isinstance(methods, str):
        check_option("methods", methods, ("all",))
        return [(None, name) for name in all_names]
    if not isinstance(methods, Mapping):
        return [(None, method) for method in methods]
    for name in methods:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InputError(
                f"{{methods}} has the name {name!r}. Give names that can be printed.", methods=...
            )
        if name in (FULL_ENSEMBLE, SINGLE_BEST):
            raise InputError(
                f"{{methods}} has the name {name!r}, which stands for something else in tables. "
                "Give another name.",
                methods=...,
            )
    return list(methods.items())


def plain_parameters(pruner: BasePruner) -> dict[str, Any]:
    """Return a pruner's parameters in plain values; what is not plain as Python writes it."""
    return {
        name: value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
        for name, value in pruner.get_params(deep=False).items()
    }


def _make_named_pruner(
    name: str, problem: Problem, diversity_weight: Any
) -> tuple[BasePruner, list[str]]:
    pruner = pruner_for(problem, name)
    if hasattr(pruner, "diversity_weight"):
        pruner.set_params(diversity_weight=diversity_weight)
    rounds, most = resolve_iterations("auto", problem.n_members), pruner.most_rounds
    if most is None or rounds <= most:
        return pruner, []
    pruner.set_params(n_iterations=most)
    return pruner, [
        f"{name.lower()} made {most:,} rounds of the {rounds:,} it makes by itself; more may "
        "find better sets."
    ]


def pruner_for(problem: Problem, name: str, **parameters: Any) -> BasePruner:
    """Return a method by its name; one that optimises a score gets the score that matters."""
    pruner = make_pruner(name, **parameters)
    if "scoring" in pruner.get_params(deep=False) and "scoring" not in parameters:
        pruner.set_params(scoring=problem.scoring.given_scorer)
    return pruner


def diversity_weight_grid(*more: float) -> list[float]:
    """Return the weights 0, 0.05, … 1, and further ones, in order."""
    steps = [step / (N_WEIGHTS - 1) for step in range(N_WEIGHTS)]
    return sorted({*steps, *more})


def information_distances(votes: Votes) -> Floats:
    """Return the variation of information of all pairs; `ALWAYS_EQUAL` where two always vote alike."""
    return np.where(disagreement.matrix(votes) == 0, ALWAYS_EQUAL, TDAS(votes, 1.0).matrix())


def diversity_weight_selectors(
    pruner: COMEP, weights: Sequence[float], largest: int, asked: Sequence[int] = ()
) -> dict[str, MemberSelector]:
    """Return COMEP's choosers for several weights, by their text; distances are computed once.

    Examples
    --------
    >>> from secateurs import COMEP
    >>> from secateurs.evaluation.alternatives import diversity_weight_selectors
    >>> from secateurs.problem import Problem
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    >>> problem = Problem.from_input(votes, y=[0, 0, 1, 1])
    >>> diversity_weight_selectors(COMEP(), [0.0, 0.3], 2)["0.3"](problem).order
    [0, 2]
    """
    known = lru_cache(maxsize=1)(
        information_distances
    )  # choosers are asked in turn about the same votes

    def choose_with(weight: float, problem: Problem) -> Selection:
        objective = _PrecomputedTDAS(problem.predictions, weight, known(problem.predictions))
        members, _ = pruner.grow(objective, largest, pruner.rng)
        return Selection(scored_sizes(problem, len(members), asked), list(members))

    return {repr(weight): partial(choose_with, weight) for weight in weights}


class DiversityWeightCurve(NamedTuple):
    """COMEP at every weight of diversity.

    Attributes
    ----------
    weights : list of float
        Weights of diversity (λ).
    curves : list of SizeCurve
        What COMEP selects with each, and how that votes on rows held out.
    accuracy, half_width : ndarray of shape (n_weights,)
        Accuracy at one size, and half of the 95 % interval of its change against all members.
    overlap : ndarray of shape (n_weights,)
        Jaccard index of the members selected at that size and the members kept.
    """

    weights: list[float]
    curves: list[SizeCurve]
    accuracy: Floats
    half_width: Floats
    overlap: Floats


def diversity_weight_curve(
    split: EvaluationPlan, pruner: COMEP, kept: Sequence[int], keep: int
) -> DiversityWeightCurve:
    """Evaluate COMEP at all weights of diversity, and compare its choices of a size with others.

    The pruner determines the start, and a weight to include besides the grid.
    """
    own = pruner.diversity_weight
    grid = diversity_weight_grid(*([float(own)] if is_number(own) else []))
    choosers = diversity_weight_selectors(pruner, grid, split.problem.n_members, [keep])
    curves = list(evaluate_methods(split, choosers, [keep]).values())
    chosen = [set(curve.selection.members_at(keep)) for curve in curves]
    place = curves[0].selection.size_index(keep)
    return DiversityWeightCurve(
        grid,
        curves,
        np.array([curve.accuracy.values[place] for curve in curves]),
        np.array([curve.accuracy.half_width[place] for curve in curves]),
        np.array([len(one & set(kept)) / len(one | set(kept)) for one in chosen]),
    )


class _PrecomputedTDAS(TDAS):
    """TDAS from distances that are known."""

    def __init__(self, votes: Votes, weight: float, apart: Floats) -> None:
        super().__init__(votes, weight)
        relevance = (self.relevance[:, None] + self.relevance) / 2
        self._distances = np.where(
            apart == ALWAYS_EQUAL, 0.0, weight * apart + (1 - weight) * relevance
        )

    def _compute_rows(self, members: Any) -> Floats:
        return self._distances[members]

    def matrix(self) -> Floats:
        """Return TDAC of all pairs."""
        return self._distances.copy()
