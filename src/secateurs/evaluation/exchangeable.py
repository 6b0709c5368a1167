"""How many exchangeable members to keep, such as samples of one language model."""

from __future__ import annotations

from typing import NamedTuple

from secateurs._methods import AUTO, DEFAULT_TOLERANCE
from secateurs.evaluation.budget import Budget
from secateurs.evaluation.tolerance import ToleratedLoss, smallest_tolerated_size
from secateurs.exceptions import InputError
from secateurs.measures.expected_votes import ExpectedVotes, expected_votes
from secateurs.problem import Problem
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.parameters import resolve_keep
from secateurs.pruners.selector import fit_pruner
from secateurs.text_format import format_count


class ExchangeableSelection(NamedTuple):
    """The first members, whose number follows from the expected scores of all numbers."""

    pruner: BasePruner  # fitted
    expected: ExpectedVotes
    reason: str  # for the number of members, with its expected score


def select_exchangeable(
    problem: Problem, pruner: str | BasePruner, keep: int | float | str | None, budget: Budget
) -> ExchangeableSelection:
    """Return the fewest members whose expected accuracy is within the tolerance, or ``keep``.

    Any k members are equally good, so that the first ones are kept.
    """
    _check_options(problem, pruner, budget)
    budget.check_limits(problem)
    expected = expected_votes(problem.predictions, problem.sample_weight)
    if keep is None or keep == AUTO:
        tolerances = budget.tolerances(problem) or {problem.scoring.key: DEFAULT_TOLERANCE}
        if set(tolerances) != {problem.scoring.key}:
            raise InputError(
                "{tolerance} has other scores than accuracy, which {exchangeable} needs. Pass a "
                "number.",
                tolerance=budget.tolerance,
                exchangeable=True,
            )
        tolerance = tolerances[problem.scoring.key]
        limits = [ToleratedLoss(problem.scoring.key, expected.values, tolerance)]
        # Expected scores do not depend on a single draw: larger numbers need not confirm them. They
        # alternate: an even number of members has more tied votes.
        found = smallest_tolerated_size(expected.sizes, limits, 0.0, budget.relative_to)
        assert found is not None  # the reference itself is within any tolerance
        size, reference = found.size, found.reference_size
        assert reference is not None
        rule = (
            f"the fewest within {tolerance:g} of the expected accuracy of "
            f"{format_count(reference, 'member')}, {expected.describe(reference)}"
        )
    else:
        size = resolve_keep(keep, problem.n_members) or 1
        rule = "as passed"
    fitted = fit_pruner(make_pruner("es", keep=size), problem.predictions)
    any_members = f"any {size} members have" if size > 1 else "any member has"
    reason = f"{rule}; {any_members} an expected accuracy of {expected.describe(size)}"
    return ExchangeableSelection(fitted, expected, reason)


def _check_options(problem: Problem, pruner: str | BasePruner, budget: Budget) -> None:
    """Raise an error for options that have no meaning for exchangeable members."""
    if pruner != AUTO:
        raise InputError(
            "exchangeable members are not selected by a method. Leave out {pruner}, or "
            "{exchangeable}.",
            pruner=...,
            exchangeable=...,
        )
    for name in ("max_cost", "max_bytes", "max_latency", "max_group_loss"):
        if getattr(budget, name) is not None:
            raise InputError(
                f"{{exchangeable}} cannot be combined with {{{name}}}. Pass keep or tolerance.",
                exchangeable=True,
                **{name: ...},
            )
    if problem.scoring.name != "accuracy":
        raise InputError(
            "{exchangeable} needs accuracy as the score, not {scoring}. Leave out {scoring}.",
            exchangeable=True,
            scoring=problem.scoring.name,
        )
    if problem.is_soft or problem.is_regression or problem.ensemble.is_sequential:
        raise InputError(
            "{exchangeable} needs labels of members that predict on their own, since it counts "
            "votes. Pass a table of labels.",
            exchangeable=True,
        )
