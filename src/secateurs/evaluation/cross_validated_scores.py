"""A pruning judged without test rows: chosen on four fifths of its rows, judged on the fifth."""

import warnings
from typing import Any, NamedTuple

from secateurs.evaluation.alternatives import evaluate_with_alternatives
from secateurs.evaluation.before_after import (
    BeforeAfter,
    balanced_accuracy,
    held_out_scores,
    member_counts,
    model_costs,
)
from secateurs.evaluation.cost_selection import CostSelection
from secateurs.evaluation.size_curves import describe_sample_weights, full_ensemble_vote
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.pruner_label import pruner_label

_TURNS = "chosen on four fifths, judged on the fifth, in turn"


class CrossValidatedScores(NamedTuple):
    """Figures of a pruning, and the rows that they come from.

    Attributes
    ----------
    data_description : str
        The rows, in words.
    fold_description : str
        How members were chosen on them for cross-fitting; empty where they were not.
    figures : dict of str to BeforeAfter
        All members and the kept ones, by the name of the figure.
    remarks : tuple of str
        What a reader of the figures should know.
    """

    data_description: str
    fold_description: str
    figures: dict[str, BeforeAfter]
    remarks: tuple[str, ...] = ()

    @property
    def source_description(self) -> str:
        """The rows, and how they were used, in words."""
        return (
            f"{self.data_description}: {self.fold_description}"
            if self.fold_description
            else self.data_description
        )


def cross_validate_pruning(
    problem: Problem,
    pruner: BasePruner,
    by_cost: CostSelection | None = None,
    *,
    row: Any = None,
    files: bool = False,
) -> CrossValidatedScores:
    """Judge a pruning by cross-fitting, and measure its size and how long predictions take.

    Of boosted models the first rounds are kept whatever the rows: they are judged on all.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # given already, about all rows
        evaluation = evaluate_with_alternatives(problem, pruner, by_cost=by_cost, alone=True)
    (curve,) = evaluation.curves.values()
    keep, scored = len(pruner.member_indices_), evaluation.problem
    figures = held_out_scores(scored, curve, keep)
    if not problem.is_regression:
        both = full_ensemble_vote(evaluation.split.scored_samples), curve.predicted_codes[keep]
        balanced = balanced_accuracy(problem.predictions.truth, *both, problem.sample_weight)
        figures = {"accuracy": figures["accuracy"], "balanced accuracy": balanced} | figures
    figures = member_counts(pruner) | figures | model_costs(scored, pruner, files=files, row=row)
    rows = f"rows chosen on ({problem.predictions.n_samples:,})"
    found = figures, (*evaluation.remarks, *_score_remarks(problem, pruner, evaluation.split))
    if problem.predictions.is_sequential:
        return CrossValidatedScores(rows, "", *found)
    return CrossValidatedScores(f"{rows}, cross-fitted", _TURNS, *found)


def sample_weight_remark(problem: Problem, pruner: BasePruner) -> list[str]:
    """Return whether weights of rows entered the choice, if there are any."""
    return (
        []
        if problem.sample_weight is None
        else [describe_sample_weights({pruner_label(pruner): pruner})]
    )


def _score_remarks(problem: Problem, pruner: BasePruner, split: Any) -> list[str]:
    """Return what weights did, and where the figures are not of what is served."""
    told = sample_weight_remark(problem, pruner)
    if (
        problem.is_soft
        and split.scored_samples.counts_labels
        and not problem.predictions.is_sequential
    ):
        told.append(
            "Labels are counted: the probabilities that the ensemble averages were not collected. "
            "summary(X=…), with the rows chosen on, follows its own vote."
        )
    if problem.refitted is not None:
        told.append("The scores are of the kept members as they were before they were refitted.")
    if problem.predictions.is_sequential:
        told.append("Which rounds are kept does not depend on the rows; how many may.")
    return told


def cross_validation_seconds(pruner: BasePruner) -> float:
    """Return about how long cross-fitting takes: the method chooses on four fifths, five times."""
    rounds, most = getattr(pruner, "n_iter_", 0), pruner.most_rounds
    part = most / rounds if most is not None and rounds > most else 1.0
    return 4.0 * part * pruner._selection_seconds
