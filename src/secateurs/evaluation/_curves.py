"""Accuracy by size: what methods choose at each size, and how that votes on rows held out.

Everything is counted in whole rows, so that parts add up exactly.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs._progress import stage
from secateurs._text import counted, listed
from secateurs.evaluation._rows import Ballots, Part, Split, VotedRows
from secateurs.evaluation._score_curve import EQUAL, NORMAL_97_5, Floats, ScoreCurve, Weights
from secateurs.evaluation._selections import Chooser, Selection
from secateurs.measures._scoring import Scoring
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners._selector import weighs_rows

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
class Score:
    """Rows that sub-ensembles of some sizes get right, next to the whole ensemble.

    Attributes
    ----------
    n_rows, whole : int
        Number of rows, and of those that the whole ensemble gets right.
    right, lost, won : ndarray of shape (n_sizes,)
        Number of rows right at each size; rows that the whole ensemble gets right and the
        sub-ensemble wrong; and the other way round.
    """

    n_rows: int
    whole: int
    right: Counts
    lost: Counts
    won: Counts

    def __add__(self, other: "Score") -> "Score":
        return Score(*map(add, vars(self).values(), vars(other).values()))

    @property
    def accuracy(self) -> Floats:
        """Fraction of rows right, by size."""
        return self.right / self.n_rows

    @property
    def whole_accuracy(self) -> float:
        """Fraction of rows that the whole ensemble gets right."""
        return self.whole / self.n_rows

    @property
    def change(self) -> Floats:
        """Accuracy minus that of the whole ensemble, by size."""
        return (self.won - self.lost) / self.n_rows

    @property
    def values(self) -> Floats:
        """The accuracy, under the name that any score has in `ScoreCurve`."""
        return self.accuracy

    @property
    def whole_value(self) -> float:
        """The accuracy of the whole ensemble, under the name that any score has."""
        return self.whole_accuracy

    @property
    def standard_error(self) -> Floats:
        """Standard error of the accuracy, by size."""
        return np.sqrt(self.accuracy * (1 - self.accuracy) / self.n_rows)

    @property
    def half_width(self) -> Floats:
        """Half of the 95 % interval of the change: rows are paired and change by −1, 0 or 1."""
        moved = (self.won + self.lost) / self.n_rows
        return NORMAL_97_5 * np.sqrt((moved - self.change**2) / self.n_rows)


@dataclass(eq=False)
class SizeCurve:
    """What a method selects at each size, and how that does on rows held out.

    Attributes
    ----------
    selection : Selection
        What it selects on all rows to choose on.
    labels, own : Score
        Rows held out that are right: counting labels, and by the ensemble's own vote. Not there
        for numbers.
    scored : Score or ScoreCurve
        The score that matters, on rows held out; ``own`` where that is the accuracy.
    accuracy : Score or ScoreCurve
        The accuracy by the own vote, with weights of rows if there are any. Not there for numbers.
    predicted : dict of int to ndarray
        Codes voted for on the rows judged on, for the sizes asked for; by the own vote.
    parts : list of (ndarray or None, Selection)
        The rows held out of each part, and what was selected without them.
    """

    selection: Selection
    labels: Score = field(init=False)
    own: Score = field(init=False)
    scored: Score | ScoreCurve = field(init=False)
    accuracy: Score | ScoreCurve = field(init=False)
    predicted: dict[int, Array] = field(default_factory=dict)
    parts: list[tuple[NDArray[np.intp] | None, Selection]] = field(default_factory=list)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Methods at several sizes, judged on the same rows.

    Attributes
    ----------
    split : Split
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

    split: Split
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
            fitted = {name: c.selection.fitted for name, c in self.curves.items()}
            about.append(on_weights({name: f[max(f)] for name, f in fitted.items() if f}))
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
        n_choosing = self.problem.votes.n_samples
        if self.problem.has_test:
            n_testing = self.problem.test_votes.n_samples
            others = counted(n_testing, "other")
            return f"Chosen on {counted(n_choosing, 'row')}, judged on {others}."
        return (
            f"Judged by cross-fitting on {counted(n_choosing, 'row')}: chosen on four fifths, "
            "judged on the fifth, five times."
        )


def evaluate(
    split: Split,
    choosers: Mapping[str, Chooser],
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
    n_rows = split.judged_on.votes.n_samples
    total = len(choosers) * split.n_choices - len(known)

    def selected(name: str, problem: Problem) -> Selection:
        selection = choosers[name](problem)
        steps.step()
        return selection

    with stage("choosing on some rows, judging on others", total) as steps:
        everything = split.problem
        curves = {
            name: SizeCurve(known.get(name) or selected(name, everything)) for name in choosers
        }
        for part in split.parts():
            same = part.problem is everything
            chosen = {
                n: c.selection if same else selected(n, part.problem) for n, c in curves.items()
            }
            for name, curve in curves.items():
                curve.parts.append((part.held_out, chosen[name]))
            for ballots in part.ballots() if not everything.is_regression else ():
                for name, curve in curves.items():
                    _judge(curve, chosen[name], ballots, sizes, n_rows)
            scores = [] if everything.counts_rows else [("scored", everything.scoring)]
            if weighs_accuracy:
                scores.append(("accuracy", Scoring.of("accuracy", everything.votes.classes)))
            for name, curve in curves.items():
                for attribute, scoring in scores:
                    _score(curve, attribute, chosen[name], part, scoring, sizes)
        for curve in curves.values():
            if everything.counts_rows:
                curve.scored = curve.own
            if not everything.is_regression and not weighs_accuracy:
                is_asked_for = everything.scoring.name == "accuracy"
                curve.accuracy = curve.scored if is_asked_for else curve.own
    return curves


def _score(  # noqa: PLR0917
    curve: SizeCurve,
    attribute: str,
    selection: Selection,
    part: Part,
    scoring: Scoring,
    sizes: Sequence[int],
) -> None:
    """Add a score on the rows of a part to an attribute of a curve."""
    wanted = [selection.place(size) for size in sizes if size in selection.sizes]
    scored = part.scored(selection.groups, scoring, wanted, selection.group_weights)
    earlier: Any = getattr(curve, attribute, None)
    setattr(curve, attribute, scored if earlier is None else earlier + scored)


def on_weights(pruners: Mapping[str, BasePruner]) -> str:
    """Return what weights of rows do, and which methods do not look at them, in words."""
    blind = [name for name, pruner in pruners.items() if not weighs_rows(pruner)]
    told = "Weights of rows count in scores"
    if not blind:
        return f"{told}, and in what is chosen."
    return f"{told}. They do not enter what {listed(blind, ' and ')} chose."


def whole_vote(rows: VotedRows) -> Array:
    """Return the codes that all members vote for together, by the ensemble's own vote."""
    predicted = np.empty(rows.votes.n_samples, dtype=np.intp)
    everybody = range(rows.votes.n_members)
    for ballots in rows.ballots():
        predicted[ballots.where] = next(ballots.winners([everybody], own=True))
    return predicted


def score(
    ballots: Ballots,
    groups: Sequence[Sequence[int]],
    own: bool,
    wanted: Container[int] = (),
    weights: Weights = EQUAL,
) -> tuple[Score, dict[int, Array]]:
    """Count the rows that groups get right, and return the votes of the wanted groups.

    These are added up in the order of the members, as in a sliced ensemble, so that near ties round
    as they do there.
    """
    truth = ballots.votes.truth
    whole = next(ballots.winners([range(ballots.votes.n_members)], own)) == truth
    counts = np.zeros((3, len(groups)), dtype=np.int64)
    voted = {}
    for place, winner in enumerate(ballots.winners(groups, own, weights)):
        if place in wanted and place in weights:
            voted[place] = winner
        elif place in wanted:
            voted[place] = next(ballots.winners([sorted(groups[place])], own))
        right = voted.get(place, winner) == truth
        counts[:, place] = right.sum(), (whole & ~right).sum(), (right & ~whole).sum()
    return Score(len(truth), int(whole.sum()), *counts), voted


def _judge(
    curve: SizeCurve, selection: Selection, ballots: Ballots, sizes: Sequence[int], n_rows: int
) -> None:
    """Add a block of rows to a curve."""
    groups = selection.groups
    places = {size: selection.place(size) for size in sizes if size in selection.sizes}
    more = places.values(), selection.group_weights
    labels, voted = score(ballots, groups, False, *more)
    own = labels
    if ballots.contributions is not None:
        own, voted = score(ballots, groups, True, *more)
    first = not hasattr(curve, "own")
    curve.labels = labels if first else curve.labels + labels
    curve.own = own if first else curve.own + own
    for size, place in places.items():
        into = curve.predicted.setdefault(size, np.empty(n_rows, dtype=np.intp))
        into[ballots.where] = voted[place]
