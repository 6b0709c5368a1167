"""Methods to show beside the one that pruned, on the same rows."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from secateurs._methods import shown_beside
from secateurs.evaluation._contenders import named_pruners
from secateurs.evaluation._curves import Chooser, Evaluation, Selection, choose, evaluate
from secateurs.evaluation._diagnostics import MOST_LIVE
from secateurs.evaluation._rows import Split
from secateurs.problem import Problem
from secateurs.pruners import COMEP, BasePruner
from secateurs.pruners._base import is_number, label_of

_LARGEST = 64  # members that orders go up to at least, where they do not go up to all


class Featured(NamedTuple):
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
    """

    evaluation: Evaluation
    pruner: BasePruner
    name: str
    keep: int
    leaderboard: list[dict[str, Any]] | None = None


def evaluate_around(problem: Problem, pruner: BasePruner, beside: bool = True) -> Evaluation:
    """Evaluate a fitted pruner at all sizes, and quick methods beside it, on the same rows."""
    split, votes = Split(problem), problem.votes
    keep, largest = len(pruner.member_indices_), _largest(pruner)
    selection, chooser, remarks = _own_selection(problem, pruner, largest)
    others, _ = named_pruners(shown_beside(), votes, weight_of(pruner), 0)
    own = label_of(pruner)
    choosers: dict[str, Chooser] = {own: chooser}
    for name, other in others.items() if beside else ():
        same = name == own or (is_live(other) and is_live(pruner))
        if not same and (other.takes_missing or not votes.has_missing):
            choosers[name] = partial(choose, other, [keep], largest)
    curves = evaluate(split, choosers, [keep], given={own: selection})
    for curve in curves.values():  # their warnings concern larger sets than were asked for
        curve.selection = replace(curve.selection, notes=())
    return Evaluation(split, curves, [keep], remarks)


def _own_selection(
    problem: Problem, pruner: BasePruner, largest: int
) -> tuple[Selection, Chooser, tuple[str, ...]]:
    """Return what the pruner selected, a chooser that selects so on other rows, and remarks."""
    kept = pruner.member_indices_.tolist()
    keep = len(kept)
    if pruner.is_nested:
        chooser = partial(choose, pruner, [keep], largest)
        selection = chooser(problem.votes)
        if selection.members(keep) == kept:  # otherwise it drew random numbers anew
            return selection, chooser, ()
    one = Selection(np.array([keep]), None, {keep: kept}, {keep: pruner})
    rounds = getattr(pruner, "n_iter_", 0)
    most = rounds if pruner.most_rounds is None else pruner.most_rounds
    if problem.has_test or rounds <= most:
        return one, partial(choose, pruner, [keep], None), ()
    shorter = pruner.with_keep(keep).set_params(n_iterations=most)
    remark = f"In cross-fitting, {label_of(pruner)} made {most:,} rounds of its {rounds:,}."
    return one, partial(choose, shorter, [keep], None), (remark,)


def _largest(pruner: BasePruner) -> int:
    """Return how many members orders contain: all, unless there are very many."""
    n_members = len(pruner.support_)
    if n_members <= MOST_LIVE:
        return n_members
    return min(n_members, max(_LARGEST, 2 * len(pruner.member_indices_)))


def is_live(pruner: BasePruner) -> bool:
    """Whether the page can make the choice itself."""
    return type(pruner) is COMEP and pruner.is_nested


def weight_of(pruner: BasePruner) -> float:
    """Return a method's weight of diversity, the default one where it has none."""
    weight: Any = getattr(pruner, "diversity_weight_", getattr(pruner, "diversity_weight", 0.5))
    return weight if is_number(weight) else 0.5


def live_pruner(evaluation: Evaluation, pruner: BasePruner) -> COMEP:
    """Return the COMEP to follow through all weights: the pruner itself, if it is one."""
    others = [curve.selection.pruner for curve in evaluation.curves.values()]
    return next((p for p in (pruner, *others) if is_live(p)), COMEP())
