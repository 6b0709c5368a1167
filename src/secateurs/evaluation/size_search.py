"""Search for the number of members that meets a budget, by cross-validated scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from secateurs.ensembles import Ensemble
from secateurs.evaluation.budget import (
    Budget,
    budget_error,
    largest_within_limit,
    with_member_weights,
)
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_table import SizeCurve, cross_validate_selections
from secateurs.evaluation.selections import MemberSelector, Selection
from secateurs.evaluation.tolerance import (
    STEADY_SHARE,
    ToleratedLoss,
    ToleratedSize,
    smallest_tolerated_size,
)
from secateurs.exceptions import BudgetError
from secateurs.measures.score_curve import ScoreCurve
from secateurs.measures.scoring import Scoring
from secateurs.problem import Problem
from secateurs.problem.latency import measure_latencies
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import fit_pruner
from secateurs.text_format import format_count, format_list
from secateurs.typing import FloatArray, IndexArray
from secateurs.units import format_milliseconds

# Methods that need a new search for each size are evaluated at about this many sizes.
_N_SEARCHED_SIZES = 20
_SUBGROUP = "subgroup "  # before the name of a subgroup, among names of limits


@dataclass(frozen=True, eq=False)
class SizeSearch:
    """Search for the number of members that meets a budget, among a pruner's selections."""

    problem: Problem
    pruner: BasePruner
    rng: np.random.RandomState

    def members_at(self, n_keep: int) -> list[int]:
        """Return the members that the pruner selects with ``keep=n_keep``."""
        return self.members_and_weights(n_keep)[0]

    def members_and_weights(self, n_keep: int) -> tuple[list[int], FloatArray | None]:
        """Return the members for ``keep=n_keep``, and their weights if the method has weights."""
        if self.pruner.is_nested:
            return self._member_order[:n_keep], None
        fitted = self._fit_at_size(n_keep)
        return fitted.member_indices_.tolist(), self.problem.weights_from_pruner(fitted)

    def _fit_at_size(self, n_keep: int | float | str | None) -> BasePruner:
        pruner, problem = self.pruner.with_keep(n_keep), self.problem
        pruner._is_silent = True  # warnings are about the selection of the final size
        return fit_pruner(
            pruner, problem.predictions_for(pruner), sample_weight=problem.sample_weight
        )

    @cached_property
    def _member_order(self) -> list[int]:
        return self._fit_at_size(self.problem.n_members).member_indices_.tolist()

    def find_size(self, budget: Budget, vote: str) -> ToleratedSize:
        """Return the size that meets the budget: the smallest tolerated, or the largest allowed."""
        limit_names = [
            name for name in ("max_bytes", "max_latency") if getattr(budget, name) is not None
        ]
        largest = min((self._largest_allowed(name, budget) for name in limit_names), default=None)
        if not budget.limits_score:
            assert largest is not None
            return ToleratedSize(largest, decided_by=self._describe_limit(limit_names, largest))
        tolerated = self._tolerated_size(budget, vote)
        if largest is not None and tolerated.size > largest:
            sizes, curves = self.held_out_scores(vote, budget)
            scoring = next(s for s in self.problem.scorings if s.key in curves)
            scores = curves[scoring.key]
            raise BudgetError(
                f"The budget allows at most {format_count(largest, 'member')}, and no such "
                f"sub-ensemble meets {{tolerance}}: the best cross-validated {scoring.label} is "
                f"{scoring.display_score(scores[sizes <= largest].max()):.4f}, compared with "
                f"{scoring.display_score(scores[-1]):.4f} for the full ensemble. Pass a larger "
                "budget, or a larger tolerance.",
                tolerance=budget.tolerance,
            )
        return tolerated

    def _tolerated_size(self, budget: Budget, vote: str) -> ToleratedSize:
        """Return the smallest size whose cross-validated scores are within all tolerances."""
        sizes, scores = self.held_out_scores(vote, budget)
        limits = [
            ToleratedLoss(key, scores[key], loss)
            for key, loss in budget.tolerances(self.problem).items()
        ]
        if budget.max_group_loss is not None:
            limits += [
                ToleratedLoss(name, values, budget.max_group_loss)
                for name, values in scores.items()
                if name.startswith(_SUBGROUP)
            ]
        tolerated = smallest_tolerated_size(sizes, limits, self._steady_share, budget.relative_to)
        if tolerated is None:
            of_subgroup = f"{self.problem.scoring.label} of subgroup "
            names = format_list(
                [limit.name.replace(_SUBGROUP, of_subgroup, 1) for limit in limits], " and "
            )
            raise BudgetError(
                f"No size is within all tolerances ({names}) at the same time. Pass larger "
                "tolerances, or {relative_to} to compare with the full ensemble.",
                relative_to="full",
            )
        return tolerated

    @property
    def _steady_share(self) -> float:
        """Share of the larger sizes that must be within the tolerances as well."""
        return 1.0 if self.problem.predictions.is_sequential else STEADY_SHARE

    @cached_property
    def _scores_by_vote(self) -> dict[str, tuple[IndexArray, dict[str, FloatArray]]]:
        return {}

    def held_out_scores(
        self, vote: str, budget: Budget
    ) -> tuple[IndexArray, dict[str, FloatArray]]:
        """Return sizes and their cross-validated scores; the last size is the full ensemble.

        The scores are those that have a tolerance, by their keys, and the score to optimise in
        each subgroup if its loss is limited.
        """
        if vote not in self._scores_by_vote:
            self._scores_by_vote[vote] = self._cross_validate_sizes(vote, budget)
        return self._scores_by_vote[vote]

    def _cross_validate_sizes(
        self, vote: str, budget: Budget
    ) -> tuple[IndexArray, dict[str, FloatArray]]:
        problem, own = self.problem.without_samples(), vote == "auto"  # without a test set
        if own and not problem.is_regression:
            problem = problem.with_validation_set(self.problem.X)
        if budget.max_group_loss is None:
            problem = replace(problem, sensitive_features=None)
        keys = budget.tolerances(problem)
        scorings = [s for s in problem.scorings if s.key in keys] or [problem.scoring]
        if budget.max_group_loss is not None and scorings[0] is not problem.scoring:
            scorings = [problem.scoring, *(s for s in scorings if s is not problem.scoring)]
        is_counted = scorings == [problem.scoring] and problem.is_plain_accuracy
        is_counted = is_counted and problem.sensitive_features is None
        curve = cross_validate_selections(
            EvaluationPlan(problem, self.rng),
            {"": self._select_all_sizes},
            (),
            title="finding the size",
            only_folds=True,
            by_labels=None if is_counted else not own,
            scorings=scorings,
        )[""]
        values = _values_by_key(curve, scorings, own if is_counted else None)
        if budget.max_group_loss is not None:
            key = problem.scoring.key
            subgroups = {name: curve.scores[key, name].values for name in curve.subgroups}
            values |= {
                f"{_SUBGROUP}{name}": by_size
                for name, by_size in subgroups.items()
                if not np.isnan(by_size).any()
            }
        return self.sizes, values

    def cross_validate_sizes(self, scoring: Scoring) -> ScoreCurve:
        """Return the cross-validated score of the ensemble's own vote for each of the sizes."""
        return self._cross_validate(scoring, self._select_all_sizes, ())

    def cross_validate_own_size(self, scoring: Scoring) -> ScoreCurve:
        """Return the cross-validated score for the pruner's own ``keep``, a single size."""

        def select(problem: Problem) -> Selection:
            fitted = SizeSearch(problem, self.pruner, self.rng)._fit_at_size(self.pruner.keep)
            weights = problem.weights_from_pruner(fitted)
            given = {} if weights is None else {0: weights}
            members = {0: fitted.member_indices_.tolist()}
            return Selection(np.array([0]), None, members, weights=given)

        return self._cross_validate(scoring, select, [0])

    def _cross_validate(
        self, scoring: Scoring, select: MemberSelector, sizes: Sequence[int]
    ) -> ScoreCurve:
        self.problem.scored_predictions()  # collects them before the samples are dropped
        problem = replace(self.problem.without_samples(), sensitive_features=None)
        curve = cross_validate_selections(
            EvaluationPlan(problem, self.rng),
            {"": select},
            sizes,
            title="finding the size",
            only_folds=True,
            by_labels=False,
            scorings=[scoring],
        )[""]
        return curve.scores[scoring.key, None]

    @property
    def sizes(self) -> IndexArray:
        """The sizes that are cross-validated; the last is the full ensemble."""
        n_members = self.problem.n_members
        if self.pruner.is_nested:
            return np.arange(1, n_members + 1)
        # Denser at small sizes, where scores change most.
        spaced = np.geomspace(1, n_members, _N_SEARCHED_SIZES)
        return np.unique(spaced.round().astype(np.intp))

    def _select_all_sizes(self, problem: Problem) -> Selection:
        """Return the members that the pruner selects for each size; all for the last."""
        search, sizes = SizeSearch(problem, self.pruner, self.rng), self.sizes
        n_members = problem.n_members
        selected = {int(size): search.members_and_weights(int(size)) for size in sizes[:-1]}
        members = {size: group for size, (group, _) in selected.items()}
        is_nested = self.pruner.is_nested
        members[n_members] = search.members_at(n_members) if is_nested else [*range(n_members)]
        weights = {size: given for size, (_, given) in selected.items() if given is not None}
        return Selection(sizes, None, members, weights=weights)

    def _largest_allowed(self, name: str, budget: Budget) -> int:
        """Return the largest size within a limit; raise an error if one member is too many."""
        size = largest_within_limit(
            name, self.problem, budget, self.problem.n_members, self._served_at_size
        )
        if size == 0:
            raise budget_error(name, self.problem, budget, self.members_at(1))
        return size

    def _describe_limit(self, limit_names: Sequence[str], size: int) -> str:
        """Return the timings that decided, if the latency is the only limit."""
        if limit_names != ["max_latency"]:
            return ""
        own, _ = measure_latencies(self.problem, self.problem.n_members, self._served_at_size)
        taken = format_milliseconds(own.seconds_for(size))
        text = f"max_latency: {format_count(size, 'member')} take {taken} for one sample"
        if size == self.problem.n_members:
            return text
        return f"{text}, one more {format_milliseconds(own.seconds_for(size + 1))}"

    def _served_at_size(self, n_keep: int) -> tuple[list[int], Ensemble]:
        """Return the members for a size, and the ensemble with their weights, if they have any."""
        members, weights = self.members_and_weights(n_keep)
        if weights is None:
            weights = self.problem.optimised_weights(members)
        return members, with_member_weights(self.problem.ensemble, members, weights)


def _values_by_key(
    curve: SizeCurve, scorings: Sequence[Scoring], counted_by_own_vote: bool | None
) -> dict[str, FloatArray]:
    """Return the scores by size of each scoring; exact accuracies if votes were counted."""
    if counted_by_own_vote is None:
        return {s.key: curve.scores[s.key, None].values for s in scorings}
    counts = curve.by_own_vote if counted_by_own_vote else curve.by_labels
    return {scorings[0].key: counts.accuracy}
