"""Selections: the members that a method selects at each size, in one fit for nested methods."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from secateurs._renamed_modules import restore_renamed
from secateurs.measures.group_predictions import GroupWeights
from secateurs.outputs.compiling import start_stopwatch
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import fit_pruner
from secateurs.thread_safety import record_warnings
from secateurs.typing import FloatArray, IndexArray

# An order contains all members unless that is too much work: members × selected members × samples,
# about a second for a slow method. Then its length is between these two. A step of thousands of
# members takes no less time with few samples.
_MAX_WORK = 2_000_000_000
_MIN_SAMPLES = 1_600
_MIN_ORDER, _MAX_ORDER = 64, 512
# Scores other than plain accuracy are computed from predictions at each size, which takes long.
_MAX_SCORED_SIZES = 64


@dataclass(frozen=True, eq=False)
class Selection:
    """The members that a method selects for each of some sizes."""

    __setstate__ = restore_renamed(sets="members_by_size", fitted="fitted_pruners")

    sizes: IndexArray  # ascending
    order: list[int] | None = None  # of a nested method: smaller sets are prefixes of it
    members_by_size: Mapping[int, list[int]] = field(default_factory=dict)  # of other methods
    # By size; with an order, that of the largest size only.
    fitted_pruners: Mapping[int, BasePruner] = field(default_factory=dict)
    seconds: Mapping[int, float] = field(default_factory=dict)  # that each fit took
    notes: tuple[str, ...] = ()  # warnings of the fits
    weights: Mapping[int, FloatArray] = field(default_factory=dict)  # for sizes that have weights

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
        """Weights of the members of groups, by the index of the group."""
        return {self.size_index(size): weights for size, weights in self.weights.items()}

    def members_at(self, size: int) -> list[int]:
        """Return the members for one of the sizes."""
        return self.members_by_size[size] if self.order is None else self.order[:size]

    def size_index(self, size: int) -> int:
        """Return the position of a size among the sizes."""
        return int(np.searchsorted(self.sizes, size))


MemberSelector: TypeAlias = Callable[[Problem], Selection]


def select_for_sizes(
    pruner: BasePruner, sizes: Sequence[int], largest: int | None, problem: Problem
) -> Selection:
    """Return the members that a method selects for each size.

    A nested method is fitted once, for the ``largest`` size, and smaller sets are cut from its
    order. Without ``largest``, every method is fitted for each size.
    """
    is_fitted_once = pruner.is_nested and largest is not None
    outputs = problem.predictions_for(pruner)
    fitted, seconds = {}, {}
    notes: dict[str, None] = {}
    for size in [largest or 0] if is_fitted_once else sizes:
        elapsed = start_stopwatch()
        fitted[size], messages = _fit_for_size(pruner, size, outputs, problem.sample_weight)
        seconds[size] = elapsed()
        if messages and size not in sizes:  # warnings must be about the sizes asked for
            messages = _messages_at_size(fitted[size], max(sizes), outputs, messages)
        notes |= dict.fromkeys(messages)
    sets = {size: fit.member_indices_.tolist() for size, fit in fitted.items()}
    fits = fitted, seconds, tuple(notes)
    if not is_fitted_once:
        weights = {size: problem.weights_for_pruner(fit) for size, fit in fitted.items()}
        return Selection(np.array(sizes), None, sets, *fits, _drop_missing_weights(weights))
    (order,) = sets.values()
    weights = {
        size: problem.optimised_weights(order[:size]) for size in sizes if size <= len(order)
    }
    return Selection(
        scored_sizes(problem, len(order), sizes), order, {}, *fits, _drop_missing_weights(weights)
    )


def _fit_for_size(
    pruner: BasePruner, size: int, outputs: Votes | Predictions, sample_weight: FloatArray | None
) -> tuple[BasePruner, list[str]]:
    """Return a pruner fitted for a size, and the messages of its warnings."""
    with record_warnings() as recorded:
        fitted = fit_pruner(pruner.with_keep(size), outputs, sample_weight=sample_weight)
    return fitted, [str(warning) for warning in recorded]


def _messages_at_size(
    fitted: BasePruner, size: int, outputs: Votes | Predictions, messages: Sequence[str]
) -> list[str]:
    """Return the messages of the warnings of a nested method that keeps ``size`` members only."""
    votes = getattr(fitted, "_predictions", outputs)  # a ``fit`` of the user's may not set it
    members = fitted.member_indices_
    about_all = set(fitted._selection_warnings(votes, members))
    others = [message for message in messages if message not in about_all]
    return others + list(fitted._selection_warnings(votes, members[:size]))


def longest_order(problem: Problem, sizes: Sequence[int]) -> tuple[int, tuple[str, ...]]:
    """Return the number of members that orders contain, and a remark if it is not all of them.

    If ordering all members takes too long, it is at least twice the largest of ``sizes``.
    """
    n_members, n_samples = problem.n_members, problem.predictions.n_samples
    quick = min(_MAX_ORDER, _MAX_WORK // (n_members * max(n_samples, _MIN_SAMPLES)))
    largest = min(n_members, max(_MIN_ORDER, 2 * max(sizes), quick))
    if largest == n_members:
        return largest, ()
    return largest, (
        f"Methods are evaluated up to {largest:,} of the {n_members:,} members, because ordering "
        "all members would take too long.",
    )


def scored_sizes(problem: Problem, largest: int, asked: Sequence[int]) -> IndexArray:
    """Return the sizes to score: all up to the largest for plain accuracy, which is quick.

    Other scores are computed for some dozens of sizes, denser among small sizes, and for ``asked``.
    """
    all_sizes = np.arange(1, largest + 1)
    if problem.is_plain_accuracy or largest <= _MAX_SCORED_SIZES:
        return all_sizes
    spaced = np.geomspace(1, largest, _MAX_SCORED_SIZES).round().astype(np.intp)
    return np.union1d(spaced, [size for size in asked if size <= largest])


def _drop_missing_weights(weights: Mapping[int, FloatArray | None]) -> dict[int, FloatArray]:
    return {size: given for size, given in weights.items() if given is not None}


def copy_with_members(
    pruner: BasePruner, members: Sequence[int], scores: ArrayLike | None = None
) -> BasePruner:
    """Return a copy of a fitted pruner that keeps these members.

    Without ``scores``, they are the first members that it selected. With ``scores``, another rule
    selected them, so that the copy has neither ``objective_`` nor ``weights_``.
    """
    copied = pruner.with_keep(len(members))
    parameters = copied.get_params(deep=False)
    fitted = {name: value for name, value in vars(pruner).items() if name not in parameters}
    copied.__dict__.update(fitted)
    for bound in ("_upper_bound", "_lower_bound"):  # of another set
        copied.__dict__.pop(bound, None)
    copied.member_indices_ = np.array(members, dtype=np.intp)
    copied.scores_ = pruner.scores_[: len(members)] if scores is None else np.asarray(scores)
    copied.support_ = np.isin(np.arange(len(pruner.support_)), copied.member_indices_)
    if scores is not None:
        for name in ("objective_", "weights_"):
            copied.__dict__.pop(name, None)
    elif hasattr(pruner, "objective_") and len(members) < len(pruner.member_indices_):
        copied.objective_ = float(copied.scores_[-1])
    return copied
