"""COMEP at every diversity weight: its selections, and their held-out scores."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from secateurs.evaluation.alternatives import can_select_in_browser
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_table import Evaluation, SizeCurve, cross_validate_selections
from secateurs.evaluation.selections import MemberSelector, Selection, scored_sizes
from secateurs.measures import disagreement
from secateurs.objectives import TDAS
from secateurs.outputs.votes import Votes
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import COMEP, BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.typing import FloatArray, MemberIndices

N_WEIGHTS = 21  # diversity weights in steps of 0.05
ALWAYS_EQUAL = -1.0  # marks pairs with equal votes on all samples: their TDAC is 0 at every weight


def diversity_sweep_pruner(evaluation: Evaluation, pruner: BasePruner) -> COMEP:
    """Return the COMEP to evaluate at all diversity weights: the pruner itself if it is COMEP."""
    alternatives = [curve.selection.largest_pruner for curve in evaluation.curves.values()]
    return next((p for p in (pruner, *alternatives) if can_select_in_browser(p)), COMEP())


def diversity_weight_grid(*more: float) -> list[float]:
    """Return the diversity weights 0, 0.05, … 1, and ``more``, in ascending order."""
    steps = [step / (N_WEIGHTS - 1) for step in range(N_WEIGHTS)]
    return sorted({*steps, *more})


def information_distances(votes: Votes) -> FloatArray:
    """Return the variation of information of all pairs; `ALWAYS_EQUAL` if all votes are equal."""
    return np.where(disagreement.matrix(votes) == 0, ALWAYS_EQUAL, TDAS(votes, 1.0).matrix())


def diversity_weight_selectors(
    pruner: COMEP, weights: Sequence[float], largest: int, asked: Sequence[int] = ()
) -> dict[str, MemberSelector]:
    """Return COMEP's selectors for several diversity weights, by the weight as text.

    Examples
    --------
    >>> from secateurs import COMEP
    >>> from secateurs.report.diversity_weights import diversity_weight_selectors
    >>> from secateurs.problem import Problem
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    >>> problem = Problem.from_input(votes, y=[0, 0, 1, 1])
    >>> diversity_weight_selectors(COMEP(), [0.0, 0.3], 2)["0.3"](problem).order
    [0, 2]
    """
    # All selectors are called for the votes of one fold before the next fold.
    cached_distances = lru_cache(maxsize=1)(information_distances)

    def select_with(weight: float, problem: Problem) -> Selection:
        distances = cached_distances(problem.predictions)
        objective = _PrecomputedTDAS(problem.predictions, weight, distances)
        with open_stage("selecting members"):  # its steps are not those of the evaluation
            members, _ = pruner.grow(objective, largest, pruner.rng)
        return Selection(scored_sizes(problem, len(members), asked), list(members))

    return {repr(weight): partial(select_with, weight) for weight in weights}


class DiversityWeightCurve(NamedTuple):
    """COMEP at every diversity weight λ."""

    weights: list[float]
    curves: list[SizeCurve]  # one per weight
    accuracy: FloatArray  # held-out accuracy at one size, by weight
    half_width: FloatArray  # half of the 95 % interval of its change against the full ensemble
    overlap: FloatArray  # Jaccard index of the members selected at that size and the kept members


def diversity_weight_curve(
    plan: EvaluationPlan, pruner: COMEP, kept: Sequence[int], keep: int
) -> DiversityWeightCurve:
    """Evaluate COMEP at all diversity weights, and compare its selections with the kept members.

    The pruner determines the first member, and a weight in addition to the grid.
    """
    own_weight = pruner.diversity_weight
    grid = diversity_weight_grid(*([float(own_weight)] if is_number(own_weight) else []))
    selectors = diversity_weight_selectors(pruner, grid, plan.problem.n_members, [keep])
    problem = replace(plan.problem, other_scorings=(), sensitive_features=None)
    main_only = EvaluationPlan(problem, plan.seed)
    curves = list(cross_validate_selections(main_only, selectors, [keep]).values())
    sets = [set(curve.selection.members_at(keep)) for curve in curves]
    index = curves[0].selection.size_index(keep)
    return DiversityWeightCurve(
        grid,
        curves,
        np.array([curve.accuracy.values[index] for curve in curves]),
        np.array([curve.accuracy.half_width[index] for curve in curves]),
        np.array([len(members & set(kept)) / len(members | set(kept)) for members in sets]),
    )


class _PrecomputedTDAS(TDAS):
    """TDAS from precomputed distances."""

    def __init__(self, votes: Votes, weight: float, distances: FloatArray) -> None:
        super().__init__(votes, weight)
        relevance = (self.relevance[:, None] + self.relevance) / 2
        self._distances = np.where(
            distances == ALWAYS_EQUAL, 0.0, weight * distances + (1 - weight) * relevance
        )

    def _compute_rows(self, members: MemberIndices) -> FloatArray:
        return self._distances[members]

    def matrix(self) -> FloatArray:
        """Return TDAC of all pairs."""
        return self._distances.copy()
