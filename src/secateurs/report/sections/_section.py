"""What a section of the page is, and what its numbers are worked out from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from markupsafe import Markup
from sklearn.utils import check_random_state

from secateurs._labels import Array, merge_classes
from secateurs.evaluation import _before_after
from secateurs.evaluation._alternatives import Featured, live_pruner
from secateurs.evaluation._before_after import Figure
from secateurs.evaluation._budget import own_latency, predictor
from secateurs.evaluation._curves import whole_vote
from secateurs.evaluation._diagnostics import MOST_LIVE
from secateurs.evaluation._latency import Latency
from secateurs.pruners import COMEP
from secateurs.report._templates import Table, environment, titled

Plain = dict[str, Any]


class Subject:
    """A choice to report, with what several sections need of it, worked out once.

    ``command`` is the beginning of the command line that makes such a choice.
    """

    def __init__(self, featured: Featured, command: Sequence[str] | None = None) -> None:
        self.command = command
        self.evaluation, self.pruner, self.name, self.keep, self.leaderboard, known = featured
        self._latency, self.split = known, self.evaluation.split
        self.problem = self.evaluation.problem.serving(self.pruner)
        self.curve = self.evaluation.curves[self.name]
        self.kept: list[int] = self.pruner.member_indices_.tolist()
        self.votes, self.judged = self.problem.votes, self.split.judged_on.votes
        self.classes = merge_classes(self.votes.classes, self.judged.classes)

    @cached_property
    def voted(self) -> tuple[Array, Array]:
        """The codes that all and the kept members vote for on the rows judged on.

        They are predicted by the models themselves where there are models and test rows.
        """
        rows, problem = self.split.judged_on, self.problem
        if not problem.has_test or problem.is_predictions:
            return whole_vote(rows), self.curve.predicted[self.keep]
        both = (problem.ensemble, range(problem.n_members)), (problem.served, self.kept)
        labels = [predictor(ensemble, members)(rows.X) for ensemble, members in both]
        before, after = (np.searchsorted(rows.votes.classes, one) for one in labels)
        return before, after

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Figures of all and of the kept members, on test rows or else cross-fitted."""
        problem, pruner = self.problem, self.pruner
        if problem.has_test:
            return _before_after.measure(problem, pruner, check_random_state(0), files=True)[1]
        figures = _before_after.cross_fitted(problem, self.curve, self.keep)
        if not problem.is_regression:
            weight = problem.sample_weight
            balanced = _before_after.balanced_accuracy(problem.votes.truth, *self.voted, weight)
            figures = {"accuracy": figures["accuracy"], "balanced accuracy": balanced} | figures
        return _before_after.count(pruner) | figures | _before_after.costs(problem, pruner)

    @cached_property
    def latency(self) -> Latency | None:
        """How long one row takes by the number of members, where that can be measured."""
        return self._latency or own_latency(self.problem)

    @cached_property
    def live(self) -> COMEP | None:
        """The COMEP that the page runs itself; None where there are too many members."""
        too_many = self.votes.n_members > MOST_LIVE
        return None if too_many else live_pruner(self.evaluation, self.pruner)


@dataclass(frozen=True)
class Section:
    """A section of the page: its part of the data, and what its template shows of it.

    Parameters
    ----------
    name : str
        Its address in the page, and the name of its files: ``kappa-error`` has the template
        ``kappa_error.html`` and the drawing ``kappa_error.js``.
    title : str
        Its heading; ``{Score}`` in it stands for the score that matters.
    shape : mapping of str to shape
        The fields of the data that are its own; see `secateurs.report._schema`.
    facts : callable(subject) -> dict
        These fields.
    view : callable(data) -> dict, Table or None
        Values for the template, or its ``table`` alone, from the data of the whole report; None to
        leave the section out.
    is_drawn : bool, default=False
        Whether it has a drawing.
    predicts : {"labels", "numbers"} or None, default="labels"
        What members must predict for it to make sense; None for anything.
    """

    name: str
    title: str
    shape: Mapping[str, Any]
    facts: Callable[[Subject], Plain]
    view: Callable[[Plain], Plain | Table | None]
    is_drawn: bool = False
    predicts: str | None = "labels"

    @property
    def stem(self) -> str:
        """The name of its files."""
        return self.name.replace("-", "_")

    def heading(self, data: Plain) -> str:
        """Return its heading for this data."""
        return self.title.replace("{Score}", titled(data["score"]["label"]))

    def html(self, data: Plain) -> Markup:
        """Return the section without its heading; empty if there is nothing to show."""
        view = self.view(data)
        if view is None:
            return Markup()
        view = {"table": view} if isinstance(view, Table) else view
        return Markup(environment().get_template(f"{self.stem}.html").render(view, data=data))
