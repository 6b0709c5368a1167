"""Rows to choose on and rows to be judged on, with everybody's vote on them.

Members are chosen on some rows and judged on others: on test rows if there are any, else on each
fifth of the rows in turn, chosen on the other four.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs._labels import Array
from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.outputs import _vote_kernels
from secateurs.outputs._collect import votes_of
from secateurs.outputs._folds import N_FOLDS, folds
from secateurs.outputs._predictions import Predictions
from secateurs.outputs._votes import Votes

_MOST_SHARES = 1 << 24  # numbers of the members' own votes held at once

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ballots:
    """Votes on some rows, and what each member adds to the ensemble's own vote there.

    Attributes
    ----------
    where : ndarray of shape (n_rows,)
        Which rows.
    votes : Votes
        The labels, with the true ones.
    shares : ndarray of shape (n_members, n_rows, n_ensemble_classes) or None
        The ensemble's own vote, where it is not simply to count labels.
    classes : ndarray of shape (n_ensemble_classes,)
        Codes of the ensemble's classes among those of the votes.
    """

    where: NDArray[np.intp]
    votes: Votes
    shares: Floats | None
    classes: NDArray[np.intp]

    def winners(self, groups: Iterable[Sequence[int]], own: bool) -> Iterator[Array]:
        """Give the codes that groups vote for; groups that begin with the one before are quick."""
        n_rows, tally = self.votes.n_samples, None
        joined: list[int] = []
        soft = own and self.shares is not None
        for group in groups:
            if tally is None or list(group[: len(joined)]) != joined:
                n_classes = len(self.classes) if soft else self.votes.n_classes
                tally = np.zeros((n_rows, n_classes), dtype=float if soft else np.int32)
                joined = []
            for member in group[len(joined) :]:
                self._add(member, tally, soft)
            joined = list(group)
            yield self._winner(tally, len(joined), soft)

    def _add(self, member: int, tally: Array, soft: bool) -> None:
        if soft:
            assert self.shares is not None
            tally += self.shares[member]
        else:
            _vote_kernels.tally_votes(self.votes.codes([member]), 1, tally)

    def _winner(self, tally: Array, n_joined: int, soft: bool) -> Array:
        if soft:  # means rather than sums: what rounds to a tie in the model does so here
            return self.classes[(tally / n_joined).argmax(axis=1)]
        winner = np.empty(len(tally), dtype=np.intp)
        _vote_kernels.winners(tally, winner)
        return winner


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their votes and true labels, and the ensemble to ask for its own vote on them.

    Attributes
    ----------
    votes : Votes
        The members' labels, with the true ones.
    ensemble : Ensemble or None
        Whose own vote counts; None where its rows are not at hand, so that labels are counted.
    X : object
        The rows, as the ensemble's predict takes them.
    """

    votes: Votes
    ensemble: Ensemble | None = None
    X: Any = None

    @classmethod
    def of_test(
        cls, ensemble: Ensemble, X: Any, y: ArrayLike | None, n_jobs: int | None = None
    ) -> "Rows":
        """Collect votes on test rows; for predictions, from such a table on other rows."""
        if y is None or X is None:
            raise InputError("X_test and y_test go together. Give both, or none.")
        n_labels = len(np.asarray(y))
        if _num_samples(X) != n_labels:
            raise InputError(
                f"X_test has {_num_samples(X)} rows but y_test has {n_labels} labels. "
                "Give one true label for each row."
            )
        if not isinstance(ensemble, Predictions):
            return cls(votes_of(ensemble, X, y, n_jobs=n_jobs), ensemble, X)
        table = Predictions(X)
        if table.n_members != ensemble.n_members:
            raise InputError(
                f"The table to test on has {table.n_members} members, the one pruned "
                f"{ensemble.n_members}. Give predictions of all members."
            )
        return cls(table.votes.with_labels(y), table)

    @property
    def counts_labels(self) -> bool:
        """Whether the vote is simply to count labels."""
        return self.ensemble is None or (not self.ensemble.soft and self.ensemble.weights is None)

    def ballots(self, rows: NDArray[np.intp] | None = None) -> Iterator[Ballots]:
        """Give the votes on some rows, so many at once as fit in memory."""
        where = np.arange(self.votes.n_samples) if rows is None else rows
        if self.ensemble is None or self.counts_labels:
            yield Ballots(where, self._votes_on(where), None, np.arange(self.votes.n_classes))
            return
        classes = np.searchsorted(self.votes.classes, self.ensemble.classes)
        prepared = self.ensemble.prepare(self.X)
        step = max(1, _MOST_SHARES // (self.votes.n_members * len(classes)))
        for first in range(0, len(where), step):
            block = where[first : first + step]
            votes = self._votes_on(block)
            yield Ballots(block, votes, self._shares(prepared, block, votes), classes)

    def _votes_on(self, rows: NDArray[np.intp]) -> Votes:
        return self.votes if len(rows) == self.votes.n_samples else self.votes.rows(rows)

    def _shares(self, prepared: Any, rows: NDArray[np.intp], votes: Votes) -> Floats:
        assert self.ensemble is not None
        some = _safe_indexing(prepared, rows)
        shares = np.stack([self.ensemble.contribution(some, m) for m in range(votes.n_members)])
        if votes.has_missing:  # nobody votes on rows that it was trained on
            for member, share in enumerate(shares):
                share[votes.codes([member])[0] == votes.n_classes] = 0.0
        return shares


@dataclass(frozen=True, eq=False)
class Setting:
    """Rows to choose on, and rows to be judged on: others, or the same by cross-fitting."""

    choosing: Rows
    testing: Rows | None = None
    seed: int = 0

    @property
    def judged_on(self) -> Rows:
        """The rows that sub-ensembles are judged on."""
        return self.choosing if self.testing is None else self.testing

    @property
    def n_choices(self) -> int:
        """How often a method has to choose: on all rows, and on each four fifths."""
        folded = self.testing is None
        return 1 + folded * min(N_FOLDS, self.choosing.votes.n_samples)

    def parts(self) -> Iterator[tuple[Votes, Iterator[Ballots]]]:
        """Give votes to choose by and votes to judge on, five times when cross-fitting."""
        votes = self.choosing.votes
        if self.testing is not None:
            yield votes, self.testing.ballots()
            return
        for chosen_on, held_out in folds(votes.truth, np.random.RandomState(self.seed)):
            yield votes.rows(chosen_on), self.choosing.ballots(held_out)
