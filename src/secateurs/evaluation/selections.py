"""What methods select at each size, in one run where smaller sets are prefixes of larger ones."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation.score_curve import Floats, GroupWeights
from secateurs.outputs.compiling import start_stopwatch
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import fit_pruner

_MOST_WORK = 2_000_000_000  # members × members chosen × rows: a second or so for a slow method
_MOST_SIZES, _LEAST_SIZES = 512, 64  # of an order that does not contain all members
_MOST_SCORED = 64  # sizes at which a score is computed that does not count rows


@dataclass(frozen=True, eq=False)
class Selection:
    """The members that a method selects, for each of some sizes.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        The sizes asked for, ascending.
    order : list of int or None
        Members in the order of choice, where smaller sets are prefixes of larger ones.
    members_by_size : mapping of int to list of int
        Otherwise the members for each size.
    fitted_pruners : mapping of int to BasePruner
        The fitted pruners, by size; only that of the largest size where there is an order.
    seconds : mapping of int to float
        How long each took.
    notes : tuple of str
        Their warnings.
    weights : mapping of int to ndarray
        Weights of the members, for the sizes that have any.
    """

    sizes: NDArray[np.intp]
    order: list[int] | None = None
    members_by_size: Mapping[int, list[int]] = field(default_factory=dict)
    fitted_pruners: Mapping[int, BasePruner] = field(default_factory=dict)
    seconds: Mapping[int, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    weights: Mapping[int, Floats] = field(default_factory=dict)

    @property
    def largest_pruner(self) -> BasePruner:
        """The fitted pruner of the largest size."""
        return self.fitted_pruners[max(self.fitted_pruners)]

    @property
    def member_groups(self) -> list[list[int]]:
        """The members for each of the sizes."""
        return [self.members_at(size) for size in self.sizes]

    @property
    def group_weights(self) -> GroupWeights:
        """Weights of members in the groups, by the place of the group, where there are any."""
        return {self.size_index(size): weights for size, weights in self.weights.items()}

    def members_at(self, size: int) -> list[int]:
        """Return the members for one of the sizes."""
        return self.members_by_size[size] if self.order is None else self.order[:size]

    def size_index(self, size: int) -> int:
        """Return the position of a size among the sizes."""
        return int(np.searchsorted(self.sizes, size))


MemberSelector = Callable[[Problem], Selection]


def select_for_sizes(
    pruner: BasePruner, sizes: Sequence[int], largest: int | None, problem: Problem
) -> Selection:
    """Let a method select members for each size.

    Where smaller sets are prefixes of larger ones, it selects once, the largest, and all sizes are
    cut from that. Without a largest, it selects for each size in any case. What it warns of are the
    sizes asked for.
    """
    once = pruner.is_nested and largest is not None
    outputs = problem.predictions_for(pruner)
    fitted, seconds = {}, {}
    notes: dict[str, None] = {}
    for size in [largest or 0] if once else sizes:
        elapsed = start_stopwatch()
        fitted[size], warned = _fit_for_size(pruner, size, outputs, problem.sample_weight)
        seconds[size] = elapsed()
        if warned and size not in sizes:
            _, warned = _fit_for_size(pruner, max(sizes), outputs, problem.sample_weight)
        notes |= dict.fromkeys(warned)
    sets = {size: part.member_indices_.tolist() for size, part in fitted.items()}
    known = fitted, seconds, tuple(notes)
    if not once:
        found = {size: problem.weights_for_pruner(part) for size, part in fitted.items()}
        return Selection(np.array(sizes), None, sets, *known, _drop_missing_weights(found))
    (order,) = sets.values()
    found = {size: problem.optimised_weights(order[:size]) for size in sizes if size <= len(order)}
    return Selection(
        scored_sizes(problem, len(order), sizes), order, {}, *known, _drop_missing_weights(found)
    )


def _fit_for_size(
    pruner: BasePruner, size: int, outputs: Any, sample_weight: Floats | None
) -> tuple[BasePruner, list[str]]:
    """Return a pruner fitted for a size, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit_pruner(pruner.with_keep(size), outputs, sample_weight=sample_weight)
    return fitted, [str(warning.message) for warning in caught]


def longest_order(problem: Problem, sizes: Sequence[int]) -> tuple[int, tuple[str, ...]]:
    """Return how many members orders contain, and a remark if these are not all.

    They contain all, unless that takes too long: then twice the sizes asked for, or what is quick.
    """
    n_members, n_rows = problem.n_members, problem.predictions.n_samples
    quick = min(_MOST_SIZES, _MOST_WORK // (n_members * n_rows))
    largest = min(n_members, max(_LEAST_SIZES, 2 * max(sizes), quick))
    if largest == n_members:
        return largest, ()
    return largest, (
        f"Methods are followed up to {largest:,} of the {n_members:,} members: to order all would "
        "take too long.",
    )


def scored_sizes(problem: Problem, largest: int, asked: Sequence[int]) -> NDArray[np.intp]:
    """Return the sizes to judge: all up to the largest where rows are counted, which is quick.

    Another score is computed for some dozens of sizes, denser at the start, and for those asked.
    """
    everything = np.arange(1, largest + 1)
    if problem.is_plain_accuracy or largest <= _MOST_SCORED:
        return everything
    spaced = np.geomspace(1, largest, _MOST_SCORED).round().astype(np.intp)
    return np.union1d(spaced, [size for size in asked if size <= largest])


def _drop_missing_weights(weights: Mapping[int, Floats | None]) -> dict[int, Floats]:
    return {size: found for size, found in weights.items() if found is not None}


def copy_with_members(pruner: BasePruner, members: Sequence[int], scores: Any = None) -> BasePruner:
    """Return a copy of a fitted pruner that keeps these members.

    Without scores, they are the first ones that it keeps. With scores, another rule has chosen
    them: the copy then has no ``objective_`` and no ``weights_``.
    """
    part = pruner.with_keep(len(members))
    given = part.get_params(deep=False)
    part.__dict__.update({name: value for name, value in vars(pruner).items() if name not in given})
    for bound in ("_upper_bound", "_lower_bound"):  # were for another set
        part.__dict__.pop(bound, None)
    part.member_indices_ = np.array(members, dtype=np.intp)
    part.scores_ = pruner.scores_[: len(members)] if scores is None else np.asarray(scores)
    part.support_ = np.isin(np.arange(len(pruner.support_)), part.member_indices_)
    if scores is not None:
        for name in ("objective_", "weights_"):
            part.__dict__.pop(name, None)
    elif hasattr(pruner, "objective_") and len(members) < len(pruner.member_indices_):
        part.objective_ = float(part.scores_[-1])
    return part
