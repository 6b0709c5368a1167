"""Questions to the members of a fitted ensemble: what they predict for some rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from secateurs._labels import Array
from secateurs._progress import stage
from secateurs._text import counted
from secateurs.ensembles import Boosted, Ensemble
from secateurs.exceptions import InputError
from secateurs.outputs._coding import check_number, code_dtype
from secateurs.outputs._score_cells import ScoreFiller
from secateurs.outputs._trees import TreeWalk, answers_of_leaves, winners_of_leaves


class Questions:
    """Rows that members are asked about, checked and converted once."""

    def __init__(self, ensemble: Ensemble, X: Any, n_jobs: int | None) -> None:
        check_number(ensemble.classes)
        self._ensemble, self._n_jobs = ensemble, n_jobs
        self.rows = ensemble.prepare(X)
        self._walk = TreeWalk(ensemble, self.rows)
        self.n_samples = _num_samples(self.rows)

    def codes(self, members: Sequence[int]) -> Array:
        """Return the votes of some members: (members, samples)."""
        ensemble = self._ensemble
        shape = (len(members), self.n_samples)
        codes = np.empty(shape, dtype=code_dtype(len(ensemble.classes)))

        def ask(member: int, row: Array) -> None:
            if member in self._walk:
                self._walk.fill(member, winners_of_leaves(ensemble, member, codes.dtype), row)
            else:
                row[:] = ensemble.codes(self.rows, member)
            steps.step()

        with stage("collecting votes", len(members)) as steps:
            if isinstance(ensemble, Boosted):
                answers = ensemble.stages(self.rows, scores=False)
                for row, answer in zip(codes, answers, strict=True):
                    row[:] = answer
                    steps.step()
                return codes
            Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                delayed(ask)(member, row) for member, row in zip(members, codes, strict=True)
            )
        return codes

    def scores(self, members: Sequence[int], mask: NDArray[np.bool_] | None = None) -> ScoreFiller:
        """Return the scores of some members; masked on some rows (members, samples)."""
        ensemble = self._ensemble
        scores = ScoreFiller(len(members), self.n_samples, ensemble.classes)

        def ask(place: int, member: int) -> None:
            missing = None if mask is None else mask[place]
            if member in self._walk:
                answers = answers_of_leaves(ensemble, member)
                scores.fill(place, answers, missing, self._walk.leaves(member))
            elif ensemble.is_regression:
                scores.fill(place, ensemble.numbers(self.rows, member), missing)
            else:
                scores.fill(place, ensemble.probabilities(self.rows, member), missing)
            steps.step()

        with stage("collecting scores", len(members)) as steps:
            if isinstance(ensemble, Boosted):
                for place, answers in enumerate(ensemble.stages(self.rows, scores=True)):
                    scores.fill(place, answers)
                    steps.step()
                return scores
            Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                delayed(ask)(place, member) for place, member in enumerate(members)
            )
        return scores


def in_bag_mask(
    ensemble: Ensemble, n_samples: int, members: Sequence[int] | None = None
) -> NDArray[np.bool_]:
    """Mark the rows that members were trained on: (members, samples)."""
    wanted = range(ensemble.n_members) if members is None else members
    places = {member: place for place, member in enumerate(wanted)}
    mask = np.zeros((len(places), n_samples), dtype=bool)
    n_trained = getattr(ensemble.model, "_n_samples", n_samples)
    if n_trained != n_samples:
        raise InputError(
            f"Out-of-bag votes need the {n_trained} rows that the ensemble was trained on; X has "
            f"{counted(n_samples, 'row')}. Give the training rows, in their order."
        )
    for member, rows in enumerate(ensemble.in_bag()):
        if member in places:
            mask[places[member], rows] = True
    return mask
