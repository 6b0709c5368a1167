"""What methods choose at each size, and how that votes on rows held out.

Everything is counted in whole rows, so that parts add up exactly.
"""

import time
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs.evaluation._rows import Ballots, Floats, Rows, Setting
from secateurs.outputs._votes import Votes
from secateurs.pruners import BasePruner

_Z = 1.959964  # 97.5 % of a normal distribution lie below

Counts = NDArray[np.int64]
Progress = Callable[[int, int, str], object]


@dataclass(frozen=True, eq=False)
class Score:
    """Rows that sub-ensembles of some sizes get right, next to the whole ensemble.

    Attributes
    ----------
    n_rows, whole : int
        Number of rows, and of those that the whole ensemble gets right.
    right, lost, won : ndarray of shape (n_sizes,)
        Rows right at each size; of these, rows that the whole has right and the part wrong, and
        the other way round.
    """

    n_rows: int
    whole: int
    right: Counts
    lost: Counts
    won: Counts

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.n_rows + other.n_rows,
            self.whole + other.whole,
            self.right + other.right,
            self.lost + other.lost,
            self.won + other.won,
        )

    @property
    def accuracy(self) -> Floats:
        """Share of rows right, by size."""
        return self.right / self.n_rows

    @property
    def whole_accuracy(self) -> float:
        """Share of rows that the whole ensemble gets right."""
        return self.whole / self.n_rows

    @property
    def change(self) -> Floats:
        """Accuracy less that of the whole ensemble, by size."""
        return (self.won - self.lost) / self.n_rows

    @property
    def half_width(self) -> Floats:
        """Half of the 95 % interval of the change: rows are paired and change by −1, 0 or 1."""
        moved = (self.won + self.lost) / self.n_rows
        return _Z * np.sqrt((moved - self.change**2) / self.n_rows)


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a method chooses, for each of some sizes.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        How many were asked for, ascending.
    order : list of int or None
        Members in the order of choice, where smaller sets are beginnings of larger ones.
    sets : mapping of int to list of int
        Else the members for each size.
    fitted : mapping of int to BasePruner
        The fitted pruners, by size; one for the largest where there is an order.
    seconds : mapping of int to float
        How long each took.
    notes : tuple of str
        What they warned of.
    """

    sizes: NDArray[np.intp]
    order: list[int] | None = None
    sets: Mapping[int, list[int]] = field(default_factory=dict)
    fitted: Mapping[int, BasePruner] = field(default_factory=dict)
    seconds: Mapping[int, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def members(self, size: int) -> list[int]:
        """Give the members for one of the sizes."""
        return self.sets[size] if self.order is None else self.order[:size]

    def place(self, size: int) -> int:
        """Give the place of a size among the sizes."""
        return int(np.searchsorted(self.sizes, size))


@dataclass(eq=False)
class Course:
    """What a method chooses at each size, and how it does.

    Attributes
    ----------
    chosen : Chosen
        What it chooses on all rows to choose on.
    labels, own : Score
        How that votes on rows held out: counting labels, and by the ensemble's own vote.
    predicted : dict of int to ndarray
        Codes voted for on the rows judged on, for the sizes asked for; by the own vote.
    """

    chosen: Chosen
    labels: Score = field(init=False)
    own: Score = field(init=False)
    predicted: dict[int, Array] = field(default_factory=dict)


Chooser = Callable[[Votes], Chosen]


def choose(pruner: BasePruner, sizes: Sequence[int], largest: int | None, votes: Votes) -> Chosen:
    """Let a method choose so many, for each size.

    Where smaller sets begin larger ones, it chooses once: the largest, and all sizes are cut from
    that. Without a largest, it chooses for each size in any case.
    """
    once = pruner.is_nested and largest is not None
    fitted, seconds = {}, {}
    notes: dict[str, None] = {}
    for size in [largest or 0] if once else sizes:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            fitted[size] = pruner.with_keep(size).fit(votes)
            seconds[size] = time.perf_counter() - start
        notes |= {str(warning.message): None for warning in caught}
    sets = {size: part.member_indices_.tolist() for size, part in fitted.items()}
    if not once:
        return Chosen(np.array(sizes), None, sets, fitted, seconds, tuple(notes))
    (order,) = sets.values()
    return Chosen(np.arange(1, len(order) + 1), order, {}, fitted, seconds, tuple(notes))


def run(
    setting: Setting,
    choosers: Mapping[str, Chooser],
    sizes: Sequence[int],
    callback: Progress | None = None,
    given: Mapping[str, Chosen] | None = None,
) -> dict[str, Course]:
    """Let methods choose, and judge every size of every one.

    Parameters
    ----------
    setting : Setting
        The rows.
    choosers : mapping of str to callable(votes) -> Chosen
        The methods.
    sizes : sequence of int
        Sizes of which to keep the votes.
    callback : callable(done, total, name), optional
        Called after each choice.
    given : mapping of str to Chosen, optional
        What some methods have chosen already on all rows to choose on.

    Returns
    -------
    dict of str to Course
    """
    known = dict(given or {})
    total, done = len(choosers) * setting.n_choices - len(known), 0

    def chosen_by(name: str, votes: Votes) -> Chosen:
        nonlocal done
        chosen = choosers[name](votes)
        done += 1
        if callback is not None:
            callback(done, total, name)
        return chosen

    everything = setting.choosing.votes
    courses = {name: Course(known.get(name) or chosen_by(name, everything)) for name in choosers}
    for votes, blocks in setting.parts():
        same = votes is everything
        chosen = {n: c.chosen if same else chosen_by(n, votes) for n, c in courses.items()}
        for ballots in blocks:
            for name, course in courses.items():
                _judge(course, chosen[name], ballots, sizes, setting.judged_on.votes.n_samples)
    return courses


def whole_vote(rows: Rows) -> Array:
    """Give the codes that all members vote for together, by the ensemble's own vote."""
    predicted = np.empty(rows.votes.n_samples, dtype=np.intp)
    everybody = range(rows.votes.n_members)
    for ballots in rows.ballots():
        predicted[ballots.where] = next(ballots.winners([everybody], own=True))
    return predicted


def score(
    ballots: Ballots, groups: Sequence[Sequence[int]], own: bool, wanted: Container[int] = ()
) -> tuple[Score, dict[int, Array]]:
    """Count the rows that groups get right; give the votes of some groups, by their place.

    These are added up in the order of the members, as in a sliced ensemble, so that near ties round
    as they do there.
    """
    truth = ballots.votes.truth
    whole = next(ballots.winners([range(ballots.votes.n_members)], own)) == truth
    counts = np.zeros((3, len(groups)), dtype=np.int64)
    voted = {}
    for place, winner in enumerate(ballots.winners(groups, own)):
        if place in wanted:
            voted[place] = next(ballots.winners([sorted(groups[place])], own))
        right = voted.get(place, winner) == truth
        counts[:, place] = right.sum(), (whole & ~right).sum(), (right & ~whole).sum()
    return Score(len(truth), int(whole.sum()), *counts), voted


def _judge(
    course: Course, chosen: Chosen, ballots: Ballots, sizes: Sequence[int], n_rows: int
) -> None:
    """Add some rows to what is known of a course."""
    groups = [chosen.members(size) for size in chosen.sizes]
    places = {size: chosen.place(size) for size in sizes if size in chosen.sizes}
    labels, voted = score(ballots, groups, own=False, wanted=places.values())
    own = labels
    if ballots.shares is not None:
        own, voted = score(ballots, groups, own=True, wanted=places.values())
    first = not hasattr(course, "own")
    course.labels = labels if first else course.labels + labels
    course.own = own if first else course.own + own
    for size, place in places.items():
        into = course.predicted.setdefault(size, np.empty(n_rows, dtype=np.intp))
        into[ballots.where] = voted[place]
