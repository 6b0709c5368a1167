"""Size curves: the members that methods select at each size, and their held-out scores.

Accuracy is counted in numbers of samples, so that folds add up exactly.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from secateurs._renamed_modules import restore_renamed
from secateurs.evaluation.evaluation_plan import EvaluationPlan, Fold, VoteBlock, VotedSamples
from secateurs.evaluation.score_curve import (
    EQUAL_WEIGHTS,
    NORMAL_97_5,
    GroupWeights,
    ScoreCurve,
)
from secateurs.evaluation.selections import MemberSelector, Selection
from secateurs.measures.scoring import Scoring
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import can_use_sample_weight
from secateurs.text_format import format_count, format_list
from secateurs.typing import Array, FloatArray, IndexArray

Counts: TypeAlias = NDArray[np.int64]

_REFITTED = (
    "The kept members were refitted. Curves and cross-validated scores are those of the members "
    "before refitting; scores on a test set are those of the refitted members."
)
_WEIGHED = (
    "The weights of members were optimised for the size that is kept. At other sizes, and for "
    "other methods, all members have the same weight."
)


@dataclass(frozen=True, eq=False)
class AccuracyCounts:
    """Numbers of correctly predicted samples by size, compared with the full ensemble."""

    __setstate__ = restore_renamed(
        n_rows="n_samples", whole="n_right_full", right="n_right", lost="n_lost", won="n_won"
    )

    n_samples: int
    n_right_full: int  # samples that the full ensemble predicts correctly
    n_right: Counts  # by size
    n_lost: Counts  # right in the full ensemble, wrong in the sub-ensemble
    n_won: Counts  # wrong in the full ensemble, right in the sub-ensemble

    def __add__(self, other: "AccuracyCounts") -> "AccuracyCounts":
        return AccuracyCounts(*map(add, vars(self).values(), vars(other).values()))

    @property
    def accuracy(self) -> FloatArray:
        """Fraction of samples predicted correctly, by size."""
        return self.n_right / self.n_samples

    @property
    def full_accuracy(self) -> float:
        """Fraction of samples that the full ensemble predicts correctly."""
        return self.n_right_full / self.n_samples

    @property
    def change(self) -> FloatArray:
        """Accuracy minus that of the full ensemble, by size."""
        return (self.n_won - self.n_lost) / self.n_samples

    @property
    def values(self) -> FloatArray:
        """The accuracy, under the name of the scores of a `ScoreCurve`."""
        return self.accuracy

    @property
    def full_value(self) -> float:
        """The accuracy of the full ensemble, under the name that it has in a `ScoreCurve`."""
        return self.full_accuracy

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the accuracy, by size."""
        return np.sqrt(self.accuracy * (1 - self.accuracy) / self.n_samples)

    @property
    def half_width(self) -> FloatArray:
        """Half of the 95 % interval of the change; each sample contributes −1, 0 or 1 to it."""
        moved = (self.n_won + self.n_lost) / self.n_samples
        return NORMAL_97_5 * np.sqrt((moved - self.change**2) / self.n_samples)


@dataclass(eq=False)
class SizeCurve:
    """The members that a method selects at each size, and their scores on held-out samples.

    Regression has neither ``by_labels`` and ``by_own_vote`` nor ``accuracy``.
    """

    __setstate__ = restore_renamed(
        labels="by_labels",
        own="by_own_vote",
        scored="main_score",
        predicted="predicted_codes",
        parts="fold_selections",
    )

    selection: Selection  # on all validation samples
    by_labels: AccuracyCounts = field(init=False)  # counting labels
    by_own_vote: AccuracyCounts = field(init=False)  # with the ensemble's own vote
    # The score that the user asked for; ``by_own_vote`` if that is the accuracy.
    main_score: AccuracyCounts | ScoreCurve = field(init=False)
    # The accuracy of the ensemble's own vote, with sample weights if there are any.
    accuracy: AccuracyCounts | ScoreCurve = field(init=False)
    # Codes predicted for the scored samples by the own vote, for the sizes asked for.
    predicted_codes: dict[int, Array] = field(default_factory=dict)
    # For each fold: the held-out samples, and the selection without them.
    fold_selections: list[tuple[IndexArray | None, Selection]] = field(default_factory=list)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Methods at several sizes, scored on the same samples."""

    split: EvaluationPlan
    curves: Mapping[str, SizeCurve]  # by the names of the methods
    sizes: list[int]
    remarks: tuple[str, ...] = ()  # on the selection itself
    asides: tuple[str, ...] = ()  # on methods that were left out or shortened

    @property
    def problem(self) -> Problem:
        """The ensemble with its validation and test samples."""
        return self.split.problem

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the figures."""
        return (*self.notes_on_figures, *self.notes_on_methods())

    @property
    def notes_on_figures(self) -> tuple[str, ...]:
        """Notes on the figures of all methods."""
        notes = [_REFITTED] if self.problem.refitted is not None else []
        notes += [_WEIGHED] if self.problem.weighing else []
        if self.problem.sample_weight is not None:
            fitted = {name: c.selection.fitted_pruners for name, c in self.curves.items()}
            notes.append(
                describe_sample_weights({name: f[max(f)] for name, f in fitted.items() if f})
            )
        return (self.judged_on, *notes, *self.remarks)

    def notes_on_methods(self, *without: str) -> tuple[str, ...]:
        """Return the notes on methods, except those named."""
        notes = [
            f"{name}: {note}"
            for name, curve in self.curves.items()
            if name not in without
            for note in curve.selection.notes
        ]
        return (*self.asides, *dict.fromkeys(notes))

    @property
    def judged_on(self) -> str:
        """The samples that the scores come from, in words."""
        n_validation = format_count(self.problem.predictions.n_samples, "validation sample")
        if self.problem.has_test_set:
            n_test = format_count(self.problem.test_predictions.n_samples, "test sample")
            return f"Members are selected on {n_validation} and scored on {n_test}."
        return (
            f"Scores are cross-validated on {n_validation}: members are selected on four fifths "
            "and scored on the remaining fifth, five times."
        )


def evaluate_methods(
    plan: EvaluationPlan,
    selectors: Mapping[str, MemberSelector],
    sizes: Sequence[int],
    selections: Mapping[str, Selection] | None = None,
) -> dict[str, SizeCurve]:
    """Return the size curves of methods: their selections, scored at every size.

    Predicted codes are kept for ``sizes``. ``selections`` has the selections on all validation
    samples that are known already.
    """
    known = dict(selections or {})
    problem = plan.problem
    weighted_accuracy = None  # needed beside another main score, if samples have weights
    if not (
        problem.sample_weight is None or problem.is_regression or problem.scoring.name == "accuracy"
    ):
        weighted_accuracy = Scoring.from_scorer("accuracy", problem.predictions.classes)
    n_samples = plan.scored_samples.votes.n_samples
    total = len(selectors) * plan.n_selections - len(known)

    def select(name: str, samples: Problem) -> Selection:
        selection = selectors[name](samples)
        steps.step()
        return selection

    with open_stage("evaluating methods", total) as steps:
        curves = {name: SizeCurve(known.get(name) or select(name, problem)) for name in selectors}
        for fold in plan.iter_folds():
            is_same = fold.problem is problem
            selected = {
                name: curve.selection if is_same else select(name, fold.problem)
                for name, curve in curves.items()
            }
            for name, curve in curves.items():
                curve.fold_selections.append((fold.held_out, selected[name]))
            for block in fold.vote_blocks() if not problem.is_regression else ():
                for name, curve in curves.items():
                    _add_vote_block(curve, selected[name], block, sizes, n_samples)
            for name, curve in curves.items():
                if not problem.is_plain_accuracy:
                    _add_score(curve, "main_score", selected[name], fold, problem.scoring, sizes)
                if weighted_accuracy is not None:
                    _add_score(curve, "accuracy", selected[name], fold, weighted_accuracy, sizes)
        for curve in curves.values():
            if problem.is_plain_accuracy:
                curve.main_score = curve.by_own_vote
            if not problem.is_regression and weighted_accuracy is None:
                is_main = problem.scoring.name == "accuracy"
                curve.accuracy = curve.main_score if is_main else curve.by_own_vote
    return curves


def _add_score(  # noqa: PLR0917
    curve: SizeCurve,
    attribute: Literal["main_score", "accuracy"],
    selection: Selection,
    fold: Fold,
    scoring: Scoring,
    sizes: Sequence[int],
) -> None:
    """Add the score on the samples of a fold to an attribute of a curve."""
    wanted = [selection.size_index(size) for size in sizes if size in selection.sizes]
    scored = fold.score_groups(selection.member_groups, scoring, wanted, selection.group_weights)
    previous: ScoreCurve | None = getattr(curve, attribute, None)
    setattr(curve, attribute, scored if previous is None else previous + scored)


def describe_sample_weights(pruners: Mapping[str, BasePruner]) -> str:
    """Return how sample weights are used, and which methods ignore them, in words."""
    without = [name for name, pruner in pruners.items() if not can_use_sample_weight(pruner)]
    if not without:
        return "Sample weights are used in scores and in the selection."
    names = format_list(without, " and ")
    return f"Sample weights are used in scores, but not in the selection by {names}."


def full_ensemble_vote(samples: VotedSamples) -> Array:
    """Return the codes that the full ensemble predicts, by its own vote."""
    predicted = np.empty(samples.votes.n_samples, dtype=np.intp)
    members = range(samples.votes.n_members)
    for block in samples.vote_blocks():
        predicted[block.sample_indices] = next(block.winning_codes([members], own=True))
    return predicted


def count_correct(
    block: VoteBlock,
    groups: Sequence[Sequence[int]],
    own: bool,
    wanted: Container[int] = (),
    weights: GroupWeights = EQUAL_WEIGHTS,
) -> tuple[AccuracyCounts, dict[int, Array]]:
    """Count the samples that groups predict correctly; return the codes of wanted groups too."""
    truth = block.votes.truth
    full_right = next(block.winning_codes([range(block.votes.n_members)], own)) == truth
    counts = np.zeros((3, len(groups)), dtype=np.int64)
    codes = {}
    for index, winner in enumerate(block.winning_codes(groups, own, weights)):
        if index in wanted and index in weights:
            codes[index] = winner
        elif index in wanted:
            # Sum votes in the order of members, so that near ties round as in a sliced ensemble.
            codes[index] = next(block.winning_codes([sorted(groups[index])], own))
        right = codes.get(index, winner) == truth
        counts[:, index] = right.sum(), (full_right & ~right).sum(), (right & ~full_right).sum()
    return AccuracyCounts(len(truth), int(full_right.sum()), *counts), codes


def _add_vote_block(
    curve: SizeCurve, selection: Selection, block: VoteBlock, sizes: Sequence[int], n_samples: int
) -> None:
    """Add the counts of a block of samples to a curve."""
    groups = selection.member_groups
    indices = {size: selection.size_index(size) for size in sizes if size in selection.sizes}
    options = indices.values(), selection.group_weights
    by_labels, codes = count_correct(block, groups, False, *options)
    by_own_vote = by_labels
    if block.contributions is not None:
        by_own_vote, codes = count_correct(block, groups, True, *options)
    is_first = not hasattr(curve, "by_own_vote")
    curve.by_labels = by_labels if is_first else curve.by_labels + by_labels
    curve.by_own_vote = by_own_vote if is_first else curve.by_own_vote + by_own_vote
    for size, index in indices.items():
        predicted = curve.predicted_codes.setdefault(size, np.empty(n_samples, dtype=np.intp))
        predicted[block.sample_indices] = codes[index]
