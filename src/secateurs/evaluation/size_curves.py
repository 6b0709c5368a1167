"""Accuracy by size: what methods choose at each size, and how that votes on rows held out.

Everything is counted in whole rows, so that parts add up exactly.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation.evaluation_plan import EvaluationPlan, Fold, VoteBlock, VotedSamples
from secateurs.evaluation.score_curve import (
    EQUAL_WEIGHTS,
    NORMAL_97_5,
    Floats,
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
from secateurs.typing import Array

Counts = NDArray[np.int64]

_REFITTED = (
    "The kept members were refitted. Curves, and figures of cross-fitting, are of members as they "
    "were; figures on test rows are of the refitted ones."
)
_WEIGHED = (
    "Weights were found for members at the size kept. At other sizes, and by other methods, all "
    "count the same."
)


@dataclass(frozen=True, eq=False)
class AccuracyCounts:
    """Rows that sub-ensembles of some sizes get right, next to the whole ensemble.

    Attributes
    ----------
    n_samples, n_right_full : int
        Number of rows, and of those that the whole ensemble gets right.
    n_right, n_lost, n_won : ndarray of shape (n_sizes,)
        Number of rows right at each size; rows that the whole ensemble gets right and the
        sub-ensemble wrong; and the other way round.
    """

    n_samples: int
    n_right_full: int
    n_right: Counts
    n_lost: Counts
    n_won: Counts

    def __add__(self, other: "AccuracyCounts") -> "AccuracyCounts":
        return AccuracyCounts(*map(add, vars(self).values(), vars(other).values()))

    @property
    def accuracy(self) -> Floats:
        """Fraction of rows right, by size."""
        return self.n_right / self.n_samples

    @property
    def full_accuracy(self) -> float:
        """Fraction of rows that the whole ensemble gets right."""
        return self.n_right_full / self.n_samples

    @property
    def change(self) -> Floats:
        """Accuracy minus that of the whole ensemble, by size."""
        return (self.n_won - self.n_lost) / self.n_samples

    @property
    def values(self) -> Floats:
        """The accuracy, under the name that any score has in `ScoreCurve`."""
        return self.accuracy

    @property
    def full_value(self) -> float:
        """The accuracy of the whole ensemble, under the name that any score has."""
        return self.full_accuracy

    @property
    def standard_error(self) -> Floats:
        """Standard error of the accuracy, by size."""
        return np.sqrt(self.accuracy * (1 - self.accuracy) / self.n_samples)

    @property
    def half_width(self) -> Floats:
        """Half of the 95 % interval of the change: rows are paired and change by −1, 0 or 1."""
        moved = (self.n_won + self.n_lost) / self.n_samples
        return NORMAL_97_5 * np.sqrt((moved - self.change**2) / self.n_samples)


@dataclass(eq=False)
class SizeCurve:
    """What a method selects at each size, and how that does on rows held out.

    Attributes
    ----------
    selection : Selection
        What it selects on all rows to choose on.
    by_labels, by_own_vote : AccuracyCounts
        Rows held out that are right: counting labels, and by the ensemble's own vote. Not there
        for numbers.
    main_score : AccuracyCounts or ScoreCurve
        The score that matters, on rows held out; ``by_own_vote`` where that is the accuracy.
    accuracy : AccuracyCounts or ScoreCurve
        The accuracy by the own vote, with weights of rows if there are any. Not there for numbers.
    predicted_codes : dict of int to ndarray
        Codes voted for on the rows judged on, for the sizes asked for; by the own vote.
    fold_selections : list of (ndarray or None, Selection)
        The rows held out of each part, and what was selected without them.
    """

    selection: Selection
    by_labels: AccuracyCounts = field(init=False)
    by_own_vote: AccuracyCounts = field(init=False)
    main_score: AccuracyCounts | ScoreCurve = field(init=False)
    accuracy: AccuracyCounts | ScoreCurve = field(init=False)
    predicted_codes: dict[int, Array] = field(default_factory=dict)
    fold_selections: list[tuple[NDArray[np.intp] | None, Selection]] = field(default_factory=list)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Methods at several sizes, judged on the same rows.

    Attributes
    ----------
    split : EvaluationPlan
        The problem, and the rows that members are judged on.
    curves : mapping of str to SizeCurve
        What each method selects at each size, and how that does.
    sizes : list of int
        The sizes asked for.
    remarks : tuple of str
        What to know of the choice itself.
    asides : tuple of str
        What to know of methods: which were left out or cut short.
    """

    split: EvaluationPlan
    curves: Mapping[str, SizeCurve]
    sizes: list[int]
    remarks: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()

    @property
    def problem(self) -> Problem:
        """The ensemble and its rows."""
        return self.split.problem

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures should know."""
        return (*self.notes_on_figures, *self.notes_on_methods())

    @property
    def notes_on_figures(self) -> tuple[str, ...]:
        """What to know of the figures, whichever method made them."""
        about = [_REFITTED] if self.problem.refitted is not None else []
        about += [_WEIGHED] if self.problem.weighing else []
        if self.problem.sample_weight is not None:
            fitted = {name: c.selection.fitted_pruners for name, c in self.curves.items()}
            about.append(
                describe_sample_weights({name: f[max(f)] for name, f in fitted.items() if f})
            )
        return (self.judged_on, *about, *self.remarks)

    def notes_on_methods(self, *without: str) -> tuple[str, ...]:
        """What to know of methods, but for some of them."""
        said = [
            f"{name}: {note}"
            for name, curve in self.curves.items()
            if name not in without
            for note in curve.selection.notes
        ]
        return (*self.asides, *dict.fromkeys(said))

    @property
    def judged_on(self) -> str:
        """The rows that the figures come from, in words."""
        n_choosing = self.problem.predictions.n_samples
        if self.problem.has_test_set:
            n_testing = self.problem.test_predictions.n_samples
            others = format_count(n_testing, "other")
            return f"Chosen on {format_count(n_choosing, 'row')}, judged on {others}."
        return (
            f"Judged by cross-fitting on {format_count(n_choosing, 'row')}: chosen on four fifths, "
            "judged on the fifth, five times."
        )


def evaluate_methods(
    split: EvaluationPlan,
    choosers: Mapping[str, MemberSelector],
    sizes: Sequence[int],
    given: Mapping[str, Selection] | None = None,
) -> dict[str, SizeCurve]:
    """Let methods select members, and judge each of them at every size.

    Votes are kept for ``sizes``; ``given`` has selections that methods have already made on all
    rows to choose on.
    """
    known = dict(given or {})
    weighs_accuracy = split.problem.sample_weight is not None and (
        not split.problem.is_regression and split.problem.scoring.name != "accuracy"
    )
    n_rows = split.scored_samples.votes.n_samples
    total = len(choosers) * split.n_selections - len(known)

    def selected(name: str, problem: Problem) -> Selection:
        selection = choosers[name](problem)
        steps.step()
        return selection

    with open_stage("choosing on some rows, judging on others", total) as steps:
        everything = split.problem
        curves = {
            name: SizeCurve(known.get(name) or selected(name, everything)) for name in choosers
        }
        for part in split.iter_folds():
            same = part.problem is everything
            chosen = {
                n: c.selection if same else selected(n, part.problem) for n, c in curves.items()
            }
            for name, curve in curves.items():
                curve.fold_selections.append((part.held_out, chosen[name]))
            for ballots in part.vote_blocks() if not everything.is_regression else ():
                for name, curve in curves.items():
                    _add_vote_block(curve, chosen[name], ballots, sizes, n_rows)
            scores = [] if everything.is_plain_accuracy else [("main_score", everything.scoring)]
            if weighs_accuracy:
                scores.append(
                    ("accuracy", Scoring.from_scorer("accuracy", everything.predictions.classes))
                )
            for name, curve in curves.items():
                for attribute, scoring in scores:
                    _add_score(curve, attribute, chosen[name], part, scoring, sizes)
        for curve in curves.values():
            if everything.is_plain_accuracy:
                curve.main_score = curve.by_own_vote
            if not everything.is_regression and not weighs_accuracy:
                is_asked_for = everything.scoring.name == "accuracy"
                curve.accuracy = curve.main_score if is_asked_for else curve.by_own_vote
    return curves


def _add_score(  # noqa: PLR0917
    curve: SizeCurve,
    attribute: str,
    selection: Selection,
    part: Fold,
    scoring: Scoring,
    sizes: Sequence[int],
) -> None:
    """Add a score on the rows of a part to an attribute of a curve."""
    wanted = [selection.size_index(size) for size in sizes if size in selection.sizes]
    scored = part.score_groups(selection.member_groups, scoring, wanted, selection.group_weights)
    earlier: Any = getattr(curve, attribute, None)
    setattr(curve, attribute, scored if earlier is None else earlier + scored)


def describe_sample_weights(pruners: Mapping[str, BasePruner]) -> str:
    """Return what weights of rows do, and which methods do not look at them, in words."""
    blind = [name for name, pruner in pruners.items() if not can_use_sample_weight(pruner)]
    told = "Weights of rows count in scores"
    if not blind:
        return f"{told}, and in what is chosen."
    return f"{told}. They do not enter what {format_list(blind, ' and ')} chose."


def full_ensemble_vote(rows: VotedSamples) -> Array:
    """Return the codes that all members vote for together, by the ensemble's own vote."""
    predicted = np.empty(rows.votes.n_samples, dtype=np.intp)
    everybody = range(rows.votes.n_members)
    for ballots in rows.vote_blocks():
        predicted[ballots.sample_indices] = next(ballots.winning_codes([everybody], own=True))
    return predicted


def count_correct(
    ballots: VoteBlock,
    groups: Sequence[Sequence[int]],
    own: bool,
    wanted: Container[int] = (),
    weights: GroupWeights = EQUAL_WEIGHTS,
) -> tuple[AccuracyCounts, dict[int, Array]]:
    """Count the rows that groups get right, and return the votes of the wanted groups.

    These are added up in the order of the members, as in a sliced ensemble, so that near ties round
    as they do there.
    """
    truth = ballots.votes.truth
    whole = next(ballots.winning_codes([range(ballots.votes.n_members)], own)) == truth
    counts = np.zeros((3, len(groups)), dtype=np.int64)
    voted = {}
    for place, winner in enumerate(ballots.winning_codes(groups, own, weights)):
        if place in wanted and place in weights:
            voted[place] = winner
        elif place in wanted:
            voted[place] = next(ballots.winning_codes([sorted(groups[place])], own))
        right = voted.get(place, winner) == truth
        counts[:, place] = right.sum(), (whole & ~right).sum(), (right & ~whole).sum()
    return AccuracyCounts(len(truth), int(whole.sum()), *counts), voted


def _add_vote_block(
    curve: SizeCurve, selection: Selection, ballots: VoteBlock, sizes: Sequence[int], n_rows: int
) -> None:
    """Add a block of rows to a curve."""
    groups = selection.member_groups
    places = {size: selection.size_index(size) for size in sizes if size in selection.sizes}
    more = places.values(), selection.group_weights
    labels, voted = count_correct(ballots, groups, False, *more)
    own = labels
    if ballots.contributions is not None:
        own, voted = count_correct(ballots, groups, True, *more)
    first = not hasattr(curve, "by_own_vote")
    curve.by_labels = labels if first else curve.by_labels + labels
    curve.by_own_vote = own if first else curve.by_own_vote + own
    for size, place in places.items():
        into = curve.predicted_codes.setdefault(size, np.empty(n_rows, dtype=np.intp))
        into[ballots.sample_indices] = voted[place]
