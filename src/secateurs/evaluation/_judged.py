"""A pruning judged without test rows: chosen on four fifths of its rows, judged on the fifth."""

import warnings
from typing import Any, NamedTuple

from secateurs.evaluation._alternatives import evaluate_around
from secateurs.evaluation._before_after import Figure, balanced_accuracy, costs, count, cross_fitted
from secateurs.evaluation._curves import on_weights, whole_vote
from secateurs.evaluation._value_per_cost import CostChoice
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners._label import label_of

_TURNS = "chosen on four fifths, judged on the fifth, in turn"


class Judged(NamedTuple):
    """Figures of a pruning, and the rows that they come from.

    Attributes
    ----------
    rows : str
        The rows, in words.
    turns : str
        How members were chosen on them for cross-fitting; empty where they were not.
    figures : dict of str to Figure
        All members and the kept ones, by the name of the figure.
    remarks : tuple of str
        What a reader of the figures should know.
    """

    rows: str
    turns: str
    figures: dict[str, Figure]
    remarks: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The rows, and how they were used, in words."""
        return f"{self.rows}: {self.turns}" if self.turns else self.rows


def judged(
    problem: Problem,
    pruner: BasePruner,
    by_cost: CostChoice | None = None,
    *,
    row: Any = None,
    files: bool = False,
) -> Judged:
    """Judge a pruning by cross-fitting, and measure its size and how long predictions take.

    Of boosted models the first rounds are kept whatever the rows: they are judged on all.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # given already, about all rows
        evaluation = evaluate_around(problem, pruner, by_cost=by_cost, alone=True)
    (curve,) = evaluation.curves.values()
    keep, scored = len(pruner.member_indices_), evaluation.problem
    figures = cross_fitted(scored, curve, keep)
    if not problem.is_regression:
        both = whole_vote(evaluation.split.judged_on), curve.predicted[keep]
        balanced = balanced_accuracy(problem.votes.truth, *both, problem.sample_weight)
        figures = {"accuracy": figures["accuracy"], "balanced accuracy": balanced} | figures
    figures = count(pruner) | figures | costs(scored, pruner, files=files, row=row)
    rows = f"rows chosen on ({problem.votes.n_samples:,})"
    found = figures, (*evaluation.remarks, *_remarks(problem, pruner, evaluation.split))
    if problem.votes.staged:
        return Judged(rows, "", *found)
    return Judged(f"{rows}, cross-fitted", _TURNS, *found)


def weights_remark(problem: Problem, pruner: BasePruner) -> list[str]:
    """Return whether weights of rows entered the choice, if there are any."""
    return [] if problem.sample_weight is None else [on_weights({label_of(pruner): pruner})]


def _remarks(problem: Problem, pruner: BasePruner, split: Any) -> list[str]:
    """Return what weights did, and where the figures are not of what is served."""
    told = weights_remark(problem, pruner)
    if problem.is_soft and split.judged_on.counts_labels and not problem.votes.staged:
        told.append(
            "Labels are counted: the probabilities that the ensemble averages were not collected. "
            "summary(X=…), with the rows chosen on, follows its own vote."
        )
    if problem.refitted is not None:
        told.append("The scores are of the kept members as they were before they were refitted.")
    if problem.votes.staged:
        told.append("Which rounds are kept does not depend on the rows; how many may.")
    return told


def seconds_to_judge(pruner: BasePruner) -> float:
    """Return about how long cross-fitting takes: the method chooses on four fifths, five times."""
    rounds, most = getattr(pruner, "n_iter_", 0), pruner.most_rounds
    part = most / rounds if most is not None and rounds > most else 1.0
    return 4.0 * part * pruner._seconds
