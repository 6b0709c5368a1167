"""Methods to show beside the one that pruned, on the same rows."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from secateurs._methods import shown_beside
from secateurs.comparison import Comparison
from secateurs.evaluation._contenders import named_pruners
from secateurs.evaluation._curves import Chooser, Chosen, Course, choose, run
from secateurs.evaluation._diagnostics import MOST_IN_HEATMAP as MOST_LIVE
from secateurs.evaluation._rows import Rows, Setting
from secateurs.exceptions import InputError
from secateurs.outputs._predictions import Predictions
from secateurs.pruners import COMEP, BasePruner
from secateurs.pruners._base import is_number, label_of
from secateurs.pruning import Pruning

_LARGEST = 64  # members that orders go up to at least, where they do not go up to all


def compare_around(
    pruning: Pruning, X: Any, X_test: Any, y_test: ArrayLike | None, beside: bool = True
) -> Comparison:
    """Judge the method that pruned at all sizes, and quick methods beside it, on the same rows."""
    ensemble, votes = pruning.ensemble, pruning.votes
    if X is not None and _num_samples(X) != votes.n_samples:
        raise InputError(
            f"X has {_num_samples(X)} rows, but the members were chosen on {votes.n_samples}. "
            "Give those rows."
        )
    asked = ensemble if X is not None or isinstance(ensemble, Predictions) else None
    testing = None
    if X_test is not None or y_test is not None:
        testing = Rows.of_test(ensemble, X_test, y_test)
    setting = Setting(Rows(votes, asked, X), testing)
    keep, largest = len(pruning.member_indices), _largest(votes.n_members, pruning)
    chosen, chooser, remarks = _own_choice(pruning, largest, setting)
    others, _ = named_pruners(
        shown_beside(), votes.n_members, votes.has_missing, weight_of(pruning.pruner), 0
    )
    own = label_of(pruning.pruner)
    choosers: dict[str, Chooser] = {own: chooser}
    for name, pruner in others.items() if beside else ():
        same = name == own or (is_live(pruner) and is_live(pruning.pruner))
        if not same and (pruner.takes_missing or not votes.has_missing):
            choosers[name] = partial(choose, pruner, [keep], largest)
    courses = run(setting, choosers, [keep], given={own: chosen})
    for course in courses.values():  # of sets larger than anybody asked for
        course.chosen = replace(course.chosen, notes=())
    return Comparison(pruning, setting, courses, [keep], remarks)


def _own_choice(
    pruning: Pruning, largest: int, setting: Setting
) -> tuple[Chosen, Chooser, tuple[str, ...]]:
    """Give what the pruning chose, how to choose so again on other rows, and what to say of it."""
    pruner, kept = pruning.pruner, pruning.member_indices.tolist()
    keep = len(kept)
    if pruner.is_nested:
        chooser = partial(choose, pruner, [keep], largest)
        chosen = chooser(pruning.votes)
        if chosen.members(keep) == kept:  # else chance was drawn anew
            return chosen, chooser, ()
    one = Chosen(np.array([keep]), None, {keep: kept}, {keep: pruner})
    rounds = getattr(pruner, "n_iter_", 0)
    most = rounds if pruner.most_rounds is None else pruner.most_rounds
    if setting.testing is not None or rounds <= most:
        return one, partial(choose, pruner, [keep], None), ()
    shorter = pruner.with_keep(keep).set_params(n_iterations=most)
    remark = f"In cross-fitting, {label_of(pruner)} made {most:,} rounds of its {rounds:,}."
    return one, partial(choose, shorter, [keep], None), (remark,)


def _largest(n_members: int, pruning: Pruning) -> int:
    """Say how far orders go: to all members, unless there are very many."""
    if n_members <= MOST_LIVE:
        return n_members
    return min(n_members, max(_LARGEST, 2 * len(pruning.member_indices)))


def pruner_of(course: Course) -> BasePruner:
    """Give the fitted pruner of a course, that of the largest size."""
    (*_, pruner) = course.chosen.fitted.values()
    return pruner


def is_live(pruner: BasePruner) -> bool:
    """Whether the page can make the choice itself."""
    return type(pruner) is COMEP and pruner.is_nested


def weight_of(pruner: BasePruner) -> float:
    """Give a method's weight of diversity, the usual one where it has none."""
    weight: Any = getattr(pruner, "diversity_weight_", getattr(pruner, "diversity_weight", 0.5))
    return weight if is_number(weight) else 0.5


def live_pruner(comparison: Comparison, pruning: Pruning) -> COMEP:
    """Find the COMEP to follow through all weights: the one that pruned, if it is one."""
    others = [pruner_of(course) for course in comparison.courses.values()]
    return next((p for p in (pruning.pruner, *others) if is_live(p)), COMEP())
